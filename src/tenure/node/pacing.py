"""Waiting: for a signal, with a bound, and between two tries.

All waits are on the event loop's own timers, so a loop with a clock of its own can hold every part of the node.
"""

from __future__ import annotations

import asyncio
import hashlib
from typing import final

from tenure.core.clock import IdSource

_HASH_BITS = 64


@final
class Signal:
    """Wakes all who wait at the moment it is given. Look first, then wait: nothing is kept for who comes later."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def give(self) -> None:
        event, self._event = self._event, asyncio.Event()
        event.set()

    async def wait(self, at_most_s: float | None = None) -> bool:
        """True when the signal was given, False when the time was over before."""
        return await wait_for_event(self._event, at_most_s)


@final
class Backoff:
    """Pauses that double up to a bound, each shortened by chance, so that many nodes do not come back at once."""

    def __init__(self, ids: IdSource, first_s: float, longest_s: float) -> None:
        self._ids = ids
        self._first_s = first_s
        self._longest_s = longest_s
        self._tries = 0

    @property
    def tries(self) -> int:
        """Pauses since the last `reset`."""
        return self._tries

    def reset(self) -> None:
        self._tries = 0

    def next_s(self) -> float:
        """The next pause: from half of its full length up to all of it."""
        full = min(self._first_s * 2 ** min(self._tries, 30), self._longest_s)
        self._tries += 1
        return full * (0.5 + self._chance() / 2)

    async def pause(self, awake: asyncio.Event | None = None) -> None:
        """Waits for the next pause, or until `awake` is set."""
        await wait_for_event(awake or asyncio.Event(), self.next_s())

    def _chance(self) -> float:
        """A number from 0 to 1; the source of ids is the only chance that the node is handed."""
        digest = hashlib.sha256(self._ids.token().encode()).digest()
        return int.from_bytes(digest[: _HASH_BITS // 8]) / 2**_HASH_BITS


async def wait_for_event(event: asyncio.Event, at_most_s: float | None) -> bool:
    """True when the event is set, False when the time was over before."""
    try:
        async with asyncio.timeout(at_most_s):
            await event.wait()
    except TimeoutError:
        return False
    return True


async def pause(seconds: float) -> None:
    """Waits for so long on the event loop's clock."""
    await wait_for_event(asyncio.Event(), seconds)
