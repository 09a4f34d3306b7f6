"""The messages of the harness protocol, and how one is read from a JSON object that nobody can trust.

Reading never raises. A field that cannot be used is left out, with a note on the message; a message that
cannot be used without it becomes `Bad`. Text is bounded and freed of NUL, terminal control characters and
lone surrogates; numbers are finite and bounded.
"""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any, Final, cast, final

from msgspec import Struct

from tenure.core import limits
from tenure.core.failure import Artifact, FailureClass
from tenure.core.turn import Word

MAX_MESSAGE: Final = 500
"""Characters of a progress message; it travels with every renewal."""
MAX_TEXT: Final = 4_000
"""Characters of a summary or a question."""
MAX_LABEL: Final = 200
"""Characters of a name, a session id, a tool, an option."""
MAX_OPTIONS: Final = 20
MAX_ARTIFACTS: Final = 100
MAX_DETAILS: Final = 65_536
"""Characters of a result's evidence as JSON."""
MAX_WAIT_S: Final = 8 * 86_400
"""The longest wait that is believed: quotas are counted by the week at most."""
MAX_SCORE: Final = 1e15
LAST_INSTANT_S: Final = 253_402_300_799
"""The end of the year 9999, the last that RFC 3339 can write."""

STATED_WORDS: Final = frozenset(Word) - {Word.UNREADABLE}
"""What `verdict` may say in a result."""

Object = dict[str, Any]

_CONTROL = {code: "\ufffd" for code in [*range(32), 127, *range(128, 160)] if chr(code) not in "\t\n"}


class Progress(Struct, frozen=True, kw_only=True, tag="progress"):
    """What the program is doing. `fraction` is from 0 to 1."""

    message: str = ""
    fraction: float | None = None
    tool: str | None = None
    notes: tuple[str, ...] = ()


class UsageSaid(Struct, frozen=True, kw_only=True, tag="usage"):
    """What the turn has used so far, in total. None: not said."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd_micros: int | None = None
    tool_calls: int | None = None
    notes: tuple[str, ...] = ()


class Session(Struct, frozen=True, kw_only=True, tag="session"):
    """The session by which the turn can be resumed."""

    session_id: str
    notes: tuple[str, ...] = ()


class Ask(Struct, frozen=True, kw_only=True, tag="ask"):
    """A question that the turn ends with, and the answers it suggests."""

    question: str
    options: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class Result(Struct, frozen=True, kw_only=True, tag="result"):
    """The program's own verdict. `details` is the JSON object it sent as evidence, as text. `retry_after_s` is at most
    `MAX_WAIT_S`; `reset_at_ms` is not held against any clock here."""

    verdict: Word
    summary: str = ""
    failure_class: FailureClass | None = None
    http_status: int | None = None
    retry_after_s: float | None = None
    reset_at_ms: int | None = None
    score: float | None = None
    details: str | None = None
    artifacts: tuple[Artifact, ...] = ()
    notes: tuple[str, ...] = ()


class Ignored(Struct, frozen=True, kw_only=True, tag="ignored"):
    """A message of a type that this version does not know."""

    kind: str


class Bad(Struct, frozen=True, kw_only=True, tag="bad"):
    """A line that cannot be used, and why. `maybe_result`: it looked like a result or a question."""

    reason: str
    maybe_result: bool = False


ProtocolLine = Progress | UsageSaid | Session | Ask | Result | Ignored | Bad


def parse_message(message: Object) -> ProtocolLine:
    """A JSON object as a message. Its nesting must be bounded already."""
    kind = message.get("type")
    if not isinstance(kind, str):
        return Bad(reason="without a type")
    parse = _PARSERS.get(kind)
    return Ignored(kind=clean_text(kind, MAX_LABEL)) if parse is None else parse(message, Notes())


@final
class Notes:
    """What was odd about one message, gathered while it is parsed."""

    def __init__(self) -> None:
        self.found: list[str] = []

    def add(self, note: str) -> None:
        self.found.append(note)

    @property
    def told(self) -> tuple[str, ...]:
        return tuple(self.found)


def parse_progress(message: Object, notes: Notes) -> ProtocolLine:
    fraction = message.get("fraction")
    if fraction is not None and not (is_number(fraction) and 0 <= fraction <= 1):
        notes.add("progress: fraction is not a number from 0 to 1")
        fraction = None
    return Progress(
        message=text_of(message, "message", MAX_MESSAGE, notes) or "",
        fraction=None if fraction is None else float(fraction),
        tool=text_of(message, "tool", MAX_LABEL, notes),
        notes=notes.told,
    )


def parse_usage(message: Object, notes: Notes) -> ProtocolLine:
    return UsageSaid(
        input_tokens=count_of(message, "input_tokens", notes),
        output_tokens=count_of(message, "output_tokens", notes),
        cost_usd_micros=count_of(message, "cost_usd_micros", notes),
        tool_calls=count_of(message, "tool_calls", notes),
        notes=notes.told,
    )


def parse_session(message: Object, notes: Notes) -> ProtocolLine:
    session_id = text_of(message, "session_id", MAX_LABEL, notes)
    if not session_id:
        return Bad(reason="session without session_id")
    if session_id.startswith("-"):
        # It becomes a word of a command line when the session is resumed.
        return Bad(reason="session_id begins with a dash")
    return Session(session_id=session_id, notes=notes.told)


def parse_ask(message: Object, notes: Notes) -> ProtocolLine:
    question = text_of(message, "question", MAX_TEXT, notes)
    if not question:
        return Bad(reason="ask without question", maybe_result=True)
    options = list_of(message, "options", MAX_OPTIONS, notes)
    texts = tuple(clean_text(option, MAX_LABEL) for option in options if isinstance(option, str))
    if len(texts) < len(options):
        notes.add("ask: an option is not text")
    return Ask(question=question, options=texts, notes=notes.told)


def parse_result(message: Object, notes: Notes) -> ProtocolLine:
    said = message.get("verdict")
    if not isinstance(said, str) or said not in STATED_WORDS:
        return Bad(reason="result without a known verdict", maybe_result=True)
    verdict = Word(said)
    evidence = object_of(message, "evidence", notes)
    # Beside the verdict or in the evidence, where the HTTP status stands as well.
    measures = {
        name: message.get(name, evidence.get(name)) for name in ("retry_after_s", "reset_at", "score")
    }
    return Result(
        verdict=verdict,
        summary=text_of(message, "summary", MAX_TEXT, notes) or "",
        failure_class=class_of(message, verdict, notes),
        http_status=status_of(evidence, notes),
        retry_after_s=wait_of(measures["retry_after_s"], notes),
        reset_at_ms=reset_of(measures["reset_at"], notes),
        score=score_of(measures["score"], notes),
        details=details_of(evidence, notes),
        artifacts=tuple(parse_artifacts(message, notes)),
        notes=notes.told,
    )


def parse_artifacts(message: Object, notes: Notes) -> Iterator[Artifact]:
    """The artifacts of a result; one that cannot be used, or whose path leaves the worktree, is left out."""
    for item in list_of(message, "artifacts", MAX_ARTIFACTS, notes):
        if not isinstance(item, dict):
            notes.add("artifact: not an object")
            continue
        artifact = cast("Object", item)
        name = text_of(artifact, "name", MAX_LABEL, notes)
        path, uri = text_of(artifact, "path", MAX_TEXT, notes), text_of(artifact, "uri", MAX_TEXT, notes)
        if not name or (path is None and uri is None):
            notes.add("artifact: needs a name, and a path or a uri")
        elif path is not None and (path.startswith("/") or ".." in path.split("/")):
            notes.add("artifact: path leaves the worktree")
        else:
            yield Artifact(
                name=name,
                path=path,
                uri=uri,
                media_type=text_of(artifact, "media_type", MAX_LABEL, notes),
                sha256=text_of(artifact, "sha256", MAX_LABEL, notes),
            )


def class_of(message: Object, verdict: Word, notes: Notes) -> FailureClass | None:
    """The failure class that a result names."""
    said = message.get("class")
    if said is None:
        return None
    if verdict is not Word.FAILED:
        notes.add(f"result: class beside the verdict {verdict}")
        return None
    if not isinstance(said, str) or said not in set(FailureClass):
        notes.add("result: class is not known")
        return None
    return FailureClass(said)


def status_of(evidence: Object, notes: Notes) -> int | None:
    """The HTTP status in a result's evidence."""
    status = evidence.get("http_status")
    if status is None:
        return None
    if isinstance(status, bool) or not isinstance(status, int) or not 100 <= status <= 599:
        notes.add("result: evidence.http_status is not a status from 100 to 599")
        return None
    return status


def wait_of(value: Any, notes: Notes) -> float | None:
    """How long to wait before the next try, in seconds."""
    if value is None:
        return None
    if not is_number(value) or value < 0:
        notes.add("result: retry_after_s is not a number of seconds from 0")
        return None
    if value > MAX_WAIT_S:
        notes.add(f"result: retry_after_s is {value:g}; at most {MAX_WAIT_S} is believed")
        return float(MAX_WAIT_S)
    return float(value)


def reset_of(value: Any, notes: Notes) -> int | None:
    """When there is room again, in milliseconds since the epoch: from RFC 3339 with a zone, or from seconds."""
    if value is None:
        return None
    seconds: float | None = None
    if isinstance(value, str):
        with contextlib.suppress(ValueError, OverflowError):
            moment = datetime.fromisoformat(value)
            seconds = moment.timestamp() if moment.tzinfo else None
    elif is_number(value):
        seconds = value
    if seconds is None or not 0 <= seconds <= LAST_INSTANT_S:
        notes.add("result: reset_at is neither an RFC 3339 time with a zone nor seconds since 1970")
        return None
    return round(seconds * 1000)


def score_of(value: Any, notes: Notes) -> float | None:
    """How good the program says its result is."""
    if value is None:
        return None
    if not is_number(value) or abs(value) > MAX_SCORE:
        notes.add(f"result: score is not a number from -{MAX_SCORE:g} to {MAX_SCORE:g}")
        return None
    return float(value)


def details_of(evidence: Object, notes: Notes) -> str | None:
    """A result's evidence as JSON text that every reader accepts."""
    if not evidence:
        return None
    try:
        text = json.dumps(clean_value(evidence), allow_nan=False, ensure_ascii=False, sort_keys=True)
    except ValueError:
        notes.add("result: evidence holds a number that JSON does not have")
        return None
    if len(text) > MAX_DETAILS:
        notes.add(f"result: evidence is longer than {MAX_DETAILS} characters")
        return None
    return text


def text_of(message: Object, key: str, length: int, notes: Notes) -> str | None:
    """A text field, cleaned and cut to `length` characters."""
    value = message.get(key)
    if value is None:
        return None
    if not isinstance(value, str):
        notes.add(f"{key} is not text")
        return None
    if len(value) > length:
        notes.add(f"{key} was cut to {length} characters")
    return clean_text(value, length)


def count_of(message: Object, key: str, notes: Notes) -> int | None:
    """A count from 0 to the largest integer that JSON readers keep exact."""
    value = message.get(key)
    if value is None:
        return None
    if not is_number(value) or value != int(value) or not 0 <= value <= limits.INTEGER:
        notes.add(f"usage: {key} is not a whole number from 0 to {limits.INTEGER}")
        return None
    return int(value)


def list_of(message: Object, key: str, length: int, notes: Notes) -> list[Any]:
    """A list field, cut to `length` entries."""
    value = message.get(key)
    if value is None:
        return []
    if not isinstance(value, list):
        notes.add(f"{key} is not a list")
        return []
    items = cast("list[Any]", value)
    if len(items) > length:
        notes.add(f"{key} was cut to {length} entries")
    return items[:length]


def object_of(message: Object, key: str, notes: Notes) -> Object:
    """An object field."""
    value = message.get(key)
    if value is None:
        return {}
    if not isinstance(value, dict):
        notes.add(f"{key} is not an object")
        return {}
    return cast("Object", value)


def is_number(value: Any) -> bool:
    """Is it a finite number? JSON's true and false are none, although Python's are."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def clean_text(text: str, length: int) -> str:
    """Text that a terminal and a database can take, cut to `length` characters.

    Control characters but tab and line feed become U+FFFD, lone surrogates a question mark.
    """
    return text[:length].translate(_CONTROL).encode("utf-8", "replace").decode("utf-8")


def clean_value(value: Any) -> Any:
    """A JSON value with all its texts cleaned. Its depth is bounded by the line's."""
    if isinstance(value, str):
        return clean_text(value, MAX_DETAILS)
    if isinstance(value, list):
        return [clean_value(item) for item in cast("list[Any]", value)]
    if isinstance(value, dict):
        return {clean_text(key, MAX_LABEL): clean_value(item) for key, item in cast("Object", value).items()}
    return value


_PARSERS: dict[str, Callable[[Object, Notes], ProtocolLine]] = {
    "progress": parse_progress,
    "usage": parse_usage,
    "session": parse_session,
    "ask": parse_ask,
    "result": parse_result,
}
