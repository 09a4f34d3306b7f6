"""Logging: structlog for our own events, and our dependencies' records of the standard library beside them.

One event is one line: JSON for machines, or coloured text for a person at a terminal. Secrets never get into
a line: values whose key says that they are secret are replaced, and so is everything that looks like one of
our tokens or a bearer credential, in whatever value, exception text or nested container it stands.
"""

from __future__ import annotations

import itertools
import logging
import re
import sys
from collections.abc import Mapping, MutableMapping
from typing import Any, Literal, TextIO, cast

import structlog

from tenure.runtime.ids import TOKEN_PREFIX

REDACTED = "[redacted]"
SECRET_WORDS = frozenset(
    {
        "token",
        "secret",
        "authorization",
        "credential",
        "credentials",
        "password",
        "passwd",
        "apikey",
        "cookie",
    }
)
"""A key is secret when one of its words (`lease_token`, `X-Api-Key`, `clientSecret`) is one of these."""
SECRET_PAIRS = frozenset({("api", "key"), ("private", "key"), ("access", "key")})
MAX_DEPTH = 16
"""Containers nested deeper than this are shown as their type only, so that no value can hang the log."""

Style = Literal["json", "console"]

_STRUCTLOG_KEYS = frozenset({"_record", "_from_structlog", "_logger", "_name"})
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_OUR_TOKEN = re.compile(rf"{TOKEN_PREFIX}[A-Za-z0-9_\-]+")
_CREDENTIAL = re.compile(r"(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=\-]{8,}")
_URL_PASSWORD = re.compile(r"(?<=://)[^/\s:@]*:[^/\s@]+(?=@)")


def configure_logging(*, style: Style = "json", level: str = "info", stream: TextIO | None = None) -> None:
    """Sets up logging for this process. The command that starts it calls this once; a second call replaces.

    `stream` defaults to stderr, because stdout belongs to the command's own output.

    Raises:
        ValueError: `level` is not a level's name.
    """
    out = sys.stderr if stream is None else stream
    threshold = logging.getLevelNamesMapping().get(level.upper())
    if threshold is None:
        raise ValueError(f"unknown log level {level!r}: expected debug, info, warning, error or critical")
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True, key="at"),
        structlog.stdlib.ExtraAdder(),
        structlog.processors.StackInfoRenderer(),
        # Before redaction, so that a secret in an exception's text is found as well.
        structlog.processors.format_exc_info,
        redact_secrets,
    ]
    handler = logging.StreamHandler(out)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, _renderer(style, out)],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(threshold)
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=False,
    )


def redact_secrets(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """A structlog processor: the event with every secret replaced, and its containers copied."""
    for key in event.keys() - _STRUCTLOG_KEYS:
        event[key] = redacted(key, event[key])
    return event


def redacted(key: str, value: Any, depth: int = 0) -> Any:
    """A value as it may be logged under this key."""
    if value is None or isinstance(value, bool):
        return value
    if is_secret_key(key):
        return REDACTED
    if isinstance(value, int | float):
        return value
    if isinstance(value, str):
        return redacted_text(value)
    if isinstance(value, bytes | bytearray):
        return redacted_text(value.decode("utf-8", "replace"))
    if depth >= MAX_DEPTH:
        return f"<{type(value).__name__}>"
    if isinstance(value, Mapping):
        items = cast("Mapping[Any, Any]", value).items()
        return {str(name): redacted(str(name), inner, depth + 1) for name, inner in items}
    if isinstance(value, list | tuple | set | frozenset):
        return [redacted("", inner, depth + 1) for inner in cast("list[Any]", value)]
    return redacted_text(repr(value))


def redacted_text(text: str) -> str:
    """A text without our tokens, bearer credentials and passwords in URLs."""
    text = _OUR_TOKEN.sub(TOKEN_PREFIX + REDACTED, text)
    text = _CREDENTIAL.sub(rf"\1 {REDACTED}", text)
    return _URL_PASSWORD.sub(REDACTED, text)


def is_secret_key(key: str) -> bool:
    """Does this key's name say that its value is secret? `input_tokens`, a count, is not."""
    words = [word.lower() for word in _WORD.findall(key)]
    return not SECRET_WORDS.isdisjoint(words) or not SECRET_PAIRS.isdisjoint(itertools.pairwise(words))


def _renderer(style: Style, out: TextIO) -> structlog.typing.Processor:
    if style == "json":
        return structlog.processors.JSONRenderer(ensure_ascii=False)
    return structlog.dev.ConsoleRenderer(colors=out.isatty())
