"""A clock that is moved by whoever waits for it, and an event loop that lives by it.

When nothing is ready the loop does not wait: it moves the clock to its next timer. So hours pass in milliseconds, and the
same test takes the same way each time.
"""

import asyncio
import selectors
from collections.abc import Coroutine
from concurrent.futures import Executor, Future
from typing import Any, TypeVar

T = TypeVar("T")

NS = 1_000_000_000
BOUND_S = 24 * 3600


class FakeClock:
    """`core.clock.Clock`, moved by hand or by the loop."""

    def __init__(self) -> None:
        self.now_ns = 1_000 * NS
        self.suspended_ns = 0
        self.epoch_ms = 1_700_000_000_000

    def wall_ms(self) -> int:
        return self.epoch_ms + self.boot_ns() // 1_000_000

    def awake_ns(self) -> int:
        return self.now_ns

    def boot_ns(self) -> int:
        return self.now_ns + self.suspended_ns

    def pass_s(self, seconds: float) -> None:
        """Time passes and nobody does anything, as for a process that is stopped."""
        self.now_ns += int(seconds * NS)

    def suspend_s(self, seconds: float) -> None:
        """The machine sleeps."""
        self.suspended_ns += int(seconds * NS)


class StuckError(AssertionError):
    """Nothing is ready and nothing ever will be."""


class _Selector(selectors.DefaultSelector):
    def __init__(self, clock: FakeClock) -> None:
        super().__init__()
        self._clock = clock

    def select(self, timeout: float | None = None) -> Any:
        ready = super().select(0)
        if ready or timeout == 0:
            return ready
        if timeout is None:
            raise StuckError("everybody waits for something that nobody will do")
        self._clock.now_ns += int(timeout * NS) + 1
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self, clock: FakeClock) -> None:
        super().__init__(_Selector(clock))
        self._clock = clock
        # A timer that is nearly due must move the clock, or who waits for its last nanosecond waits for ever.
        self._clock_resolution = 5e-13

    def time(self) -> float:
        return self._clock.awake_ns() / NS


class InPlace(Executor):
    """Runs what it is given at once, in the loop's own thread."""

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:  # noqa: BLE001 - an executor hands on whatever is raised
            future.set_exception(error)
        return future


def live(scenario: Coroutine[Any, Any, T], clock: FakeClock) -> T:
    """Runs a test in virtual time, within a bound of it."""
    loop = VirtualLoop(clock)
    try:
        return loop.run_until_complete(asyncio.wait_for(scenario, BOUND_S))
    finally:
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()


async def until(condition: Any, within_s: float = 600.0, what: str = "") -> Any:
    """The first true value of a condition, looked at now and then in virtual time."""
    loop = asyncio.get_running_loop()
    end = loop.time() + within_s
    while not (value := condition()):
        if loop.time() > end:
            raise AssertionError(f"not within {within_s:g} virtual seconds: {what or condition}")
        await pause(0.05)
    return value


async def pause(seconds: float) -> None:
    """Lets virtual time pass."""
    await asyncio.wait([asyncio.get_running_loop().create_future()], timeout=seconds)
