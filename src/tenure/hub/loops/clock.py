"""Watching the clocks against each other.

The wall clock is compared with the clock that runs through a suspend: a difference is somebody setting the time,
and a large one is put before a person. The latter is compared with the clock that stops in suspend: a difference is
the machine's sleep, after which every loop that slept until an instant has slept too long and is rung up."""

from __future__ import annotations

from collections.abc import Callable
from typing import final

from tenure.core.clock import Clock
from tenure.core.commands import NoteClockStep
from tenure.core.limits import CLOCK_STEP_MS
from tenure.hub.loops.endurance import pause, run_enduring
from tenure.ledger.port import Ledger

EVERY_S = 5.0
NOTICED_MS = 500
"""A smaller difference between two looks is how clocks are read, not a step."""
MILLISECOND_NS = 1_000_000


@final
class ClockLoop:
    def __init__(self, ledger: Ledger, clock: Clock, on_jump: Callable[[], None]) -> None:
        """`on_jump` is called when the wall clock is elsewhere than the time slept would have it."""
        self._ledger = ledger
        self._clock = clock
        self._on_jump = on_jump
        self._before = self._read()

    async def run(self) -> None:
        await run_enduring("clock", self.turn, lambda: None)

    async def turn(self) -> None:
        await pause(EVERY_S)
        await self.look()

    async def look(self) -> None:
        """Compare with the look before."""
        wall_ms, boot_ms, awake_ms = (
            after - before for after, before in zip(self._read(), self._before, strict=True)
        )
        step_ms = wall_ms - boot_ms
        if abs(wall_ms - awake_ms) >= NOTICED_MS:
            self._on_jump()
        if abs(step_ms) >= CLOCK_STEP_MS:
            await self._ledger.execute(NoteClockStep(step_ms))
        # Only once it is recorded: a store that is away must not swallow the step.
        wall, boot, awake = self._before
        self._before = (wall + wall_ms, boot + boot_ms, awake + awake_ms)

    def _read(self) -> tuple[int, int, int]:
        clock = self._clock
        return clock.wall_ms(), clock.boot_ns() // MILLISECOND_NS, clock.awake_ns() // MILLISECOND_NS
