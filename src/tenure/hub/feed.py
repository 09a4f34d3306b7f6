"""Live events: first the history, then what happens, without a gap and without a repeat.

A reader holds nothing but its place in the record. It reads on from there until there is no more, then sleeps
until a commit touches its stream. It listens before it reads, so a commit in between wakes it; and it reads from
the record itself, so it can be as slow as it likes at no cost to anybody.

A reader whose token is bound to projects goes past what others do in long strides, which the ledger takes. Before each piece
a reader asks whether its token still counts, and a revocation wakes every reader: a stream that nobody may read any more ends
at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import final

from tenure.core.events import CredentialRevoked
from tenure.errors import OverloadedError
from tenure.hub.sight import Sight
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
        if any(isinstance(fact, CredentialRevoked) for fact in committed.facts):
            self._wake_all()
        for stream in dict.fromkeys((ALL, *(event.stream for event in committed.events))):
            for woken in self._readers.get(stream, ()):
                woken.set()

    def missed(self) -> None:
        """A commit may have gone by unheard: every reader reads on."""
        self._wake_all()

    def close(self) -> None:
        """The hub ends: every stream ends."""
        self._closed = True
        self._wake_all()

    def _wake_all(self) -> None:
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

    async def follow(
        self,
        stream: str | None,
        after: int,
        sight: Sight | None = None,
        counts: Callable[[], Awaitable[bool]] | None = None,
    ) -> AsyncIterator[list[Recorded]]:
        """Events of one stream after a version, or (`stream` None) of all after a `seq`, as they become known. An
        empty list means that nothing has happened for a while. It ends once the reader's token counts no more.

        Raises:
            OverloadedError: as many follow as may.
        """
        self.check_room()
        key = stream or ALL
        woken = asyncio.Event()
        self._readers.setdefault(key, {})[woken] = None
        self._count += 1
        try:
            while True:
                woken.clear()
                while True:
                    found, following = await self.page(stream, after, PAGE, sight)
                    if counts is not None and not await counts():
                        return
                    if following == after:
                        break
                    after = following
                    if found:
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

    async def page(
        self, stream: str | None, after: int, limit: int, sight: Sight | None
    ) -> tuple[list[Recorded], int]:
        """At most `limit` events as `follow` gives them, and the place to go on from: the same one at the end."""
        while True:
            found, following = await self._read(stream, after, limit, sight)
            # The ledger leaves out what others did; whether the rest may be known is judged in one place for all questions.
            seen = found if sight is None else await sight.events(found)
            if seen or following == after:
                return seen, following
            after = following

    async def _read(
        self, stream: str | None, after: int, limit: int, sight: Sight | None
    ) -> tuple[list[Recorded], int]:
        if stream is not None:
            found = await self._ledger.stream(stream, after, limit)
            return found, found[-1].version if found else after
        if sight is not None:
            return await self._ledger.events_of(sight.projects, after, limit)
        found = await self._ledger.events(after, limit)
        return found, found[-1].seq if found else after
