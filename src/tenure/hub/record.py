"""The record as a whole: its head, and all of it in order.

The head is what an auditor keeps elsewhere: it pins every commit up to it (docs/adr/0006). It is known without a read,
because a hub's own start is a commit and every later one is heard."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import final

from msgspec import Raw, Struct

from tenure.errors import UnavailableError
from tenure.ledger.port import PAGE, Committed, Reads
from tenure.wire.codec import encode, instant


class Head(Struct, frozen=True):
    """The last commit: its number, its hash in the chain over commits, when it was made, and the last event."""

    commit_no: int
    hash: str
    at: str
    seq: int


class ExportedEvent(Struct, frozen=True):
    """One line of an export: an event with what the record keeps around it."""

    seq: int
    stream: str
    version: int
    at_ms: int
    kind: str
    body: Raw
    hash: str


@final
class Record:
    def __init__(self, ledger: Reads) -> None:
        self._ledger = ledger
        self._head: Head | None = None

    def heard(self, committed: Committed) -> None:
        if not committed.events:
            return
        self._head = Head(
            commit_no=committed.commit_no,
            hash=committed.hash,
            at=instant(committed.wall_ms),
            seq=committed.events[-1].seq,
        )

    def head(self) -> Head:
        """The last commit that was heard.

        Raises:
            UnavailableError: the hub is only starting.
        """
        if self._head is None:
            raise UnavailableError("the hub is starting; nothing was committed yet")
        return self._head

    async def export(self) -> AsyncIterator[bytes]:
        """Every event up to the head as of now, in order, as JSON Lines in pieces of some lines."""
        last, after = self.head().seq, 0
        while after < last:
            page = await self._ledger.events(after, min(PAGE, last - after))
            if not page:
                return
            after = page[-1].seq
            lines = (
                ExportedEvent(
                    one.seq, one.stream, one.version, one.at_ms, one.kind, Raw(one.body.encode()), one.hash
                )
                for one in page
            )
            yield b"".join(encode(line) + b"\n" for line in lines)
