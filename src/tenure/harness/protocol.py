"""The harness protocol: JSON lines by which a program tells progress, usage, session, question and result.

A program writes one JSON object per line to the descriptor in `TENURE_PROTOCOL_FD`, or appends it to the file
in `TENURE_PROTOCOL_FILE`; docs/reference/harness-protocol.md is the contract. Everything here is untrusted,
so nothing here raises: a line that cannot be used becomes `Bad`. Lines are bounded, and so is nesting before
anything is decoded, since decoders recurse.

The hard case is a damaged line that was perhaps the result. To skip it would turn a result of `failed` into
"exit code 0, no result". So `Bad` says whether the line looked like one (`maybe_result`), and that is held
against a completion.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final, cast, final

from msgspec.structs import replace

from tenure.core import limits
from tenure.harness.message import Bad, Object, ProtocolLine, parse_message

MAX_LINE_BYTES: Final = 1_048_576
"""A longer line is dropped unread; it is far more than the largest valid message."""
MAX_NUMBER_DIGITS: Final = 20

# An unterminated string matches as well, so that the search is linear whatever the text is.
_TOKEN = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)|[\[\]{}]', re.DOTALL)
_RESULT = re.compile(rb'"type"[ \t]{0,16}:[ \t]{0,16}"(?:result|ask)"')
_OVERLAP: Final = 64
"""Bytes kept between two pieces of an over-long line, so that `_RESULT` is found across the cut."""


def parse_line(raw: bytes) -> ProtocolLine:
    """One line, without its line feed, as a message. Never raises."""
    parsed = parse_bytes(raw)
    if isinstance(parsed, Bad) and not parsed.maybe_result and _RESULT.search(raw):
        return replace(parsed, maybe_result=True)
    return parsed


def parse_bytes(raw: bytes) -> ProtocolLine:
    """As `parse_line`, but for what a damaged line may have been."""
    if len(raw) > MAX_LINE_BYTES:
        return Bad(reason=f"longer than {MAX_LINE_BYTES} bytes")
    # A program may print bytes that are no UTF-8; one of them must not cost the whole result.
    text = raw.decode("utf-8", "replace").strip("\ufeff\x00 \t\r\n")
    if nesting(text) > limits.JSON_DEPTH:
        return Bad(reason=f"nested deeper than {limits.JSON_DEPTH} levels")
    try:
        value: Any = json.loads(text, parse_constant=_not_a_number, parse_int=_bounded_int)
    except (ValueError, RecursionError):
        return Bad(reason="not JSON")
    if not isinstance(value, dict):
        return Bad(reason="not a JSON object")
    return parse_message(cast("Object", value))


@final
class ProtocolReader:
    """Cuts a growing stream of bytes into messages, with bounded memory. Not thread-safe."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._dropping = False
        self._maybe_result = False

    def feed(self, data: bytes) -> list[ProtocolLine]:
        """The messages that these further bytes complete, in order. Blank lines are passed over."""
        *ended, rest = data.split(b"\n")
        found = [line for piece in ended if (line := self._end_line(piece)) is not None]
        self._add(rest)
        return found

    def close(self) -> list[ProtocolLine]:
        """The message in a last line without a line feed, if there is one."""
        line = self._end_line(b"")
        return [] if line is None else [line]

    def _end_line(self, piece: bytes) -> ProtocolLine | None:
        self._add(piece)
        raw, dropping, maybe_result = bytes(self._buffer), self._dropping, self._maybe_result
        self._buffer.clear()
        self._dropping = self._maybe_result = False
        if dropping:
            return Bad(reason=f"longer than {MAX_LINE_BYTES} bytes", maybe_result=maybe_result)
        return parse_line(raw) if raw.strip(b"\x00 \t\r") else None

    def _add(self, piece: bytes) -> None:
        self._buffer += piece
        if self._dropping or len(self._buffer) > MAX_LINE_BYTES:
            self._dropping = True
            self._maybe_result = self._maybe_result or _RESULT.search(self._buffer) is not None
            del self._buffer[:-_OVERLAP]


def protocol_lines(chunks: Iterable[bytes]) -> Iterator[ProtocolLine]:
    """The messages of a whole stream, read piece by piece: what `judge` is given when a step has ended."""
    reader = ProtocolReader()
    for chunk in chunks:
        yield from reader.feed(chunk)
    yield from reader.close()


def recorded_lines(chunks: Iterable[bytes], last_word: str | None, dropped: int) -> Iterator[ProtocolLine]:
    """The messages of a stream that was stored within bounds, so that some may be missing.

    `dropped`: how many lines were not stored. `last_word`: the last `result` or `ask` that was seen, stored or
    not. Where lines are missing and no last word is known, one of them may have been it, and that is said.
    """
    word = None if last_word is None else parse_line(last_word.encode("utf-8", "replace"))
    seen = False
    for line in protocol_lines(chunks):
        seen = seen or line == word
        yield line
    if dropped > 0:
        yield Bad(reason=f"{dropped} lines were not stored", maybe_result=word is None)
    if word is not None and not seen:
        yield word


def nesting(text: str) -> int:
    """How deep the brackets of a JSON text are nested, those in strings left out.

    Stops counting just past the bound. Text that is no JSON gets some number.
    """
    depth = 0
    deepest = 0
    for token in _TOKEN.finditer(text):
        if token[0] in "[{":
            depth += 1
            deepest = max(deepest, depth)
            if deepest > limits.JSON_DEPTH:
                break
        elif token[0] in "]}":
            depth -= 1
    return deepest


def _not_a_number(_name: str) -> float:
    return math.nan


def _bounded_int(digits: str) -> int | float:
    # Python itself refuses very long ones with an error; either way no field accepts them.
    return int(digits) if len(digits) <= MAX_NUMBER_DIGITS else math.inf
