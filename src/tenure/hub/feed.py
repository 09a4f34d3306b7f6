"""Live events: first the history, then what happens, without a gap and without a repeat.

A reader holds nothing but its place in the record. It reads on from there until there is no more, then sleeps
until a commit touches its stream. It listens before it reads, so a commit in between wakes it; and it reads from
the record itself, so it can be as slow as it likes at no cost to anybody."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import final

from tenure.errors import OverloadedError
from tenure.ledger.port import Committed, Reads, Recorded

READERS = 1_000
"""Live streams at a time; each costs a read for every commit that touches it."""
BEAT_S = 15.0
PAGE = 100
ALL = ""


@final
class Feed:
    def __init__(self, ledger: Reads) -> None:
        self._ledger = ledger
        self._readers: dict[str, dict[asyncio.Event, None]] = {}
        self._count = 0
        self._closed = False

    def heard(self, committed: Committed) -> None:
        """Wake the readers of what this commit touched."""
        if not self._readers:
            return
        for stream in {ALL, *(event.stream for event in committed.events)}:
            for woken in self._readers.get(stream, ()):
                woken.set()

    def close(self) -> None:
        """The hub ends: every stream ends."""
        self._closed = True
        for readers in self._readers.values():
            for woken in readers:
                woken.set()

    def check_room(self) -> None:
        """May one more follow?

        Raises:
            OverloadedError: as many follow as may.
        """
        if self._count >= READERS:
            raise OverloadedError(
                f"{READERS} live streams are open; close one, or read pages.", limit=READERS
            )

    async def follow(self, stream: str | None, after: int) -> AsyncIterator[list[Recorded]]:
        """Events of one stream after a version, or (`stream` None) of all after a `seq`, as they become known. An
        empty list means that nothing has happened for a while.

        Raises:
            OverloadedError: as many follow as may.
        """
        if self._count >= READERS:
            raise OverloadedError(
                f"{READERS} live streams are open; close one, or read pages.", limit=READERS
            )
        key = stream or ALL
        woken = asyncio.Event()
        self._readers.setdefault(key, {})[woken] = None
        self._count += 1
        try:
            while True:
                woken.clear()
                while found := await self._page(stream, after):
                    after = found[-1].version if stream else found[-1].seq
                    yield found
                if self._closed:
                    return
                try:
                    async with asyncio.timeout(BEAT_S):
                        await woken.wait()
                except TimeoutError:
                    yield []
        finally:
            self._count -= 1
            del self._readers[key][woken]
            if not self._readers[key]:
                del self._readers[key]

    async def _page(self, stream: str | None, after: int) -> list[Recorded]:
        if stream is None:
            return await self._ledger.events(after, PAGE)
        return await self._ledger.stream(stream, after, PAGE)
