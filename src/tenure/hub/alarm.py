"""Sleeping until an instant of the wall clock, or until somebody names an earlier one.

The loops know from the store when time will next change something. A commit may bring that forward: it names the
new instant here. One that is named while a loop still computes counts for its next sleep, so none is missed."""

from __future__ import annotations

import asyncio
import math
from typing import final

from tenure.core.clock import Clock


@final
class Alarm:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._until_ms = math.inf
        self._moved = asyncio.Event()

    def no_later_than(self, at_ms: float) -> None:
        """Something falls due at this instant; earlier ones stay as they are."""
        if at_ms < self._until_ms:
            self._until_ms = at_ms
            self._moved.set()

    def ring(self) -> None:
        """It is time now, whatever was computed: the clock itself has moved."""
        self.no_later_than(-math.inf)

    def begin(self) -> None:
        """A loop begins to compute its next instant; what is named from here on counts for it."""
        self._until_ms = math.inf
        self._moved.clear()

    async def sleep(self, until_ms: float | None) -> None:
        """Return at `until_ms` or at an earlier instant named since `begin`; None waits for one to be named."""
        self._until_ms = min(self._until_ms, math.inf if until_ms is None else until_ms)
        while (left_ms := self._until_ms - self._clock.wall_ms()) > 0:
            self._moved.clear()
            try:
                # Not `wait_for`: it swallows a cancellation that comes with the event, and the loop would never end.
                async with asyncio.timeout(None if math.isinf(left_ms) else left_ms / 1000):
                    await self._moved.wait()
            except TimeoutError:
                continue
