"""How far the wall clock is from the one that never goes back.

Who reckons by the wall clock how long something must wait, and then waits by the other one, has to reckon anew once the wall
clock is set: else it would wait for an hour that was set back, and set right again."""

from __future__ import annotations

from typing import final

from tenure.core.clock import Clock

STEP_MS = 1_000
"""A larger difference is a step; less is what two readings and a clock that is slowly put right come to."""


@final
class ClocksApart:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._apart_ms = self._now_apart_ms()

    def have_moved(self) -> bool:
        """Was the wall clock set since this was last so?"""
        apart_ms = self._now_apart_ms()
        if abs(apart_ms - self._apart_ms) <= STEP_MS:
            return False
        self._apart_ms = apart_ms
        return True

    def _now_apart_ms(self) -> int:
        return self._clock.wall_ms() - self._clock.boot_ns() // 1_000_000
