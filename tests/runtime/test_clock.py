"""The machine's own clocks."""

import time

from tenure.core.clock import Clock
from tenure.runtime.clock import RealClock

SLACK_NS = 5_000_000_000


def test_the_wall_clock_is_utc_in_milliseconds() -> None:
    before = time.time_ns() // 1_000_000
    now = RealClock().wall_ms()
    after = time.time_ns() // 1_000_000
    assert before <= now <= after


def test_the_running_clocks_never_go_back_and_advance_alike_while_awake() -> None:
    clock: Clock = RealClock()
    awake, boot = clock.awake_ns(), clock.boot_ns()
    for _ in range(1000):
        now_awake, now_boot = clock.awake_ns(), clock.boot_ns()
        assert now_awake >= awake
        assert now_boot >= boot
        awake, boot = now_awake, now_boot


def test_the_boot_clock_counts_suspended_time_on_top_of_the_awake_clock() -> None:
    clock = RealClock()
    awake = clock.awake_ns()
    assert clock.boot_ns() >= awake
    assert abs(clock.awake_ns() - time.monotonic_ns()) < SLACK_NS
