"""Server-sent events as they arrive: bytes in, events out.

Source: the HTML standard, 9.2 (server-sent events); of it the fields `id`, `event` and `data`, and comments."""

from __future__ import annotations

from collections.abc import AsyncIterator

from msgspec import Struct

from tenure.errors import InvalidError

EVENT_BYTES = 16 * 2**20
"""The longest event that is read; the record's largest one is a report with its evidence."""


FIELDS = frozenset({"id", "event", "data"})


class SentEvent(Struct, frozen=True):
    """One event. `event_id` is what to name in `Last-Event-ID` to go on after it; empty if it had none."""

    event_id: str
    kind: str
    data: str


async def sent_events(chunks: AsyncIterator[bytes]) -> AsyncIterator[SentEvent]:
    """The events of a stream, comments left out. What an unfinished event had said is dropped.

    Raises:
        InvalidError: a line is not UTF-8, or an event is longer than `EVENT_BYTES`.
    """
    fields: dict[str, list[str]] = {}
    size = 0
    async for line in _lines(chunks):
        size = size + len(line) if line else 0
        if size > EVENT_BYTES:
            raise InvalidError(f"an event is longer than {EVENT_BYTES} bytes")
        if line:
            name, _, value = line.partition(":")
            if name in FIELDS:
                fields.setdefault(name, []).append(value.removeprefix(" "))
        elif "data" in fields:
            kind, event_id = fields.get("event", ["message"])[-1], fields.get("id", [""])[-1]
            yield SentEvent(event_id, kind, "\n".join(fields["data"]))
            fields = {}
        else:
            fields = {}


async def _lines(chunks: AsyncIterator[bytes]) -> AsyncIterator[str]:
    rest = bytearray()
    async for chunk in chunks:
        *whole, last = chunk.split(b"\n")
        for piece in whole:
            line, rest = bytes(rest + piece), bytearray()
            try:
                yield line.removesuffix(b"\r").decode()
            except UnicodeDecodeError as error:
                raise InvalidError("the event stream is not UTF-8") from error
        rest += last
        if len(rest) > EVENT_BYTES:
            raise InvalidError(f"an event is longer than {EVENT_BYTES} bytes")
