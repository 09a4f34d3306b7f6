"""JSON in and out, within bounds.

Untrusted bytes are measured before they are decoded: size first, then by one linear scan nesting depth, because decoders
recurse, and the number of values, because each takes more memory than its text. Errors name the field and the value's
place, never echo a whole body."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from functools import cache
from typing import Any, TypeVar

import msgspec

from tenure.core.limits import FIRST_INSTANT_MS, JSON_DEPTH, JSON_VALUES, LAST_INSTANT_MS
from tenure.errors import InvalidError, TooDeepError, TooLargeError

T = TypeVar("T")

_STRINGS = re.compile(rb'"(?:[^"\\]++|\\.|\\\Z)*+(?:"|\Z)', re.DOTALL)
_RUN = re.compile(rb'(?:[^"]++|"(?:[^"\\]++|\\.|\\\Z)*+(?:"|\Z)){1,4000}+', re.DOTALL)
# Possessive, and an unterminated string is taken to the end: else a body of escaped quotes costs quadratic time.
_ONE_KIND = bytes.maketrans(b"{}", b"[]")
_NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))

PROBLEM_LENGTH = 500
"""Characters of what a decoder says is wrong."""

_encoder = msgspec.json.Encoder()


@cache
def _decoder(kind: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(kind)


def encode(value: Any) -> bytes:
    """A message as JSON."""
    return _encoder.encode(value)


def decode(kind: type[T], body: bytes, limit_bytes: int) -> T:
    """Parse untrusted JSON as `kind`.

    Raises:
        TooLargeError: it has more than `limit_bytes`, or more values than `limits.JSON_VALUES`; it was not decoded.
        TooDeepError: it is nested deeper than `limits.JSON_DEPTH`; it was not decoded.
        InvalidError: it is not JSON, or not a `kind`.
    """
    if len(body) > limit_bytes:
        raise TooLargeError(
            f"the body has {len(body)} bytes; at most {limit_bytes} are read. Send less at once.",
            bytes=len(body),
            limit_bytes=limit_bytes,
        )
    refuse_shape(body)
    try:
        return _decoder(kind).decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        # It names fields that nobody knows, and these may be as long as the body.
        problem = str(error)[:PROBLEM_LENGTH]
        raise InvalidError(f"the body is not what is expected here: {problem}", problem=problem) from error


def refuse_repeated_names(body: bytes) -> None:
    """Refuse a JSON text in which an object names a field twice: decoders take the last one, so that two readers of
    one body (a proxy, a log, this hub) may see two requests.

    For bodies that `decode` took. It is one linear scan in C with a call for each object; it takes about as long as
    `decode` itself for a small body, and less for a large one.

    Raises:
        InvalidError: there is one.
    """
    try:
        _names.decode(body.decode())
    except ValueError as error:
        raise InvalidError(f"the body is not what is expected here: {error}", problem=str(error)) from error


def _name_once(pairs: list[tuple[str, Any]]) -> None:
    if len(dict(pairs)) < len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise InvalidError(
                    f"the body names {name[:80]!r} twice in one object; say which of the two is meant.",
                    field=name[:80],
                )
            seen.add(name)


# Numbers are only passed over: making integers of thousands of digits would cost more than the scan.
_names = json.JSONDecoder(object_pairs_hook=_name_once, parse_int=len, parse_float=len, strict=False)


def refuse_shape(body: bytes, most_values: int = JSON_VALUES) -> None:
    """Refuse, before it is decoded, a JSON text of too many levels or values.

    Raises:
        TooDeepError: it is nested deeper than `limits.JSON_DEPTH`.
        TooLargeError: it has more values than that.
    """
    if body.count(b",") > most_values or _many_brackets(body):
        brackets, commas = _skeleton(body)
        if commas > most_values:
            raise TooLargeError(
                f"the JSON has {commas} values; at most {most_values} are read. Send less at once.",
                values=commas,
                limit=most_values,
            )
        depth = _depth(brackets)
        if depth > JSON_DEPTH:
            raise TooDeepError(
                f"the JSON is nested {depth} levels deep; at most {JSON_DEPTH} are read. Flatten it.",
                depth=depth,
                limit=JSON_DEPTH,
            )


def nesting_depth(body: bytes) -> int:
    """The nesting of arrays and objects in a JSON text, counted no further than one past the bound; brackets
    within strings do not count. For bytes that are not JSON the number is only an upper bound, which is all a guard needs."""
    return _depth(_skeleton(body)[0]) if _many_brackets(body) else 0


def _many_brackets(body: bytes) -> bool:
    return body.count(b"[") + body.count(b"{") > JSON_DEPTH


def _skeleton(body: bytes) -> tuple[bytes, int]:
    """The brackets of a JSON text outside of its strings, all of one kind, and how many commas there are.

    A run of text is taken at a time: its strings are cut out, and the pieces that are left of it are objects of their own,
    dozens of bytes for each of text if they were all there at once."""
    brackets, commas, at = bytearray(), 0, 0
    while run := _RUN.match(body, at):
        at = run.end()
        bare = _STRINGS.sub(b"", run[0])
        commas += bare.count(b",")
        brackets += bare.translate(_ONE_KIND, _NOT_BRACKETS)
    return bytes(brackets), commas


def _depth(brackets: bytes) -> int:
    """Each pass over the bare brackets takes away the innermost pairs, so the number of passes is the depth."""
    depth = 0
    while brackets and depth <= JSON_DEPTH:
        inner = brackets.replace(b"[]", b"")
        if len(inner) == len(brackets):
            return depth + len(brackets)
        brackets = inner
        depth += 1
    return depth


def instant(at_ms: int) -> str:
    """Milliseconds since the epoch as RFC 3339 in UTC with milliseconds.

    Total: what lies outside the years that RFC 3339 can write is shown as its nearest end, since a record is shown
    whatever stands in it.
    """
    at_ms = min(max(at_ms, FIRST_INSTANT_MS), LAST_INSTANT_MS)
    moment = datetime.fromtimestamp(at_ms // 1000, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{at_ms % 1000:03d}Z"


def instant_or_none(at_ms: int | None) -> str | None:
    return None if at_ms is None else instant(at_ms)


def parse_instant(text: str) -> int:
    """RFC 3339 to milliseconds since the epoch.

    Raises:
        InvalidError: it is anything else, or a time without a zone.
    """
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise InvalidError(f"{text[:80]!r} is not an RFC 3339 time such as 2026-01-31T08:00:00Z") from error
    if moment.tzinfo is None:
        raise InvalidError(f"{text[:80]!r} has no time zone; write Z or an offset such as +02:00")
    return round(moment.timestamp() * 1000)
