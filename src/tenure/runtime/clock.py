"""The machine's own clocks."""

from __future__ import annotations

import sys
import time
from typing import final

if sys.platform == "darwin":
    # Darwin's CLOCK_MONOTONIC runs on through a sleep and CLOCK_UPTIME_RAW does not: the reverse of Linux's
    # names.
    _BOOT = time.CLOCK_MONOTONIC
    _AWAKE = time.CLOCK_UPTIME_RAW
else:
    _BOOT = time.CLOCK_BOOTTIME
    _AWAKE = time.CLOCK_MONOTONIC


@final
class RealClock:
    """`core.clock.Clock` over the operating system's clocks. It holds nothing; any number of them agree."""

    def wall_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def awake_ns(self) -> int:
        return time.clock_gettime_ns(_AWAKE)

    def boot_ns(self) -> int:
        return time.clock_gettime_ns(_BOOT)


def process_cpu_ns() -> int:
    """The time for which this process was at work, its own code and the system's for it."""
    return time.process_time_ns()
