"""One event loop in virtual time, for every process of the world.

Nothing waits: when nobody is ready, time moves to the next timer. Who a callback belongs to is told by its context: each
process sets `CURRENT` in its first task, and all that this starts inherits it. So a process can be

- killed: none of its callbacks ever runs again, no `finally` of it either (kill -9 lets nobody clean up);
- stopped: its callbacks are kept, in order, until it is continued (SIGSTOP, a suspend, a frozen cgroup).

`time()` is the clock of the machine on which the caller runs, which stands still in a suspend; so are its timers.

Steps are counted: a callback of a timer, and whatever else the world counts with `count` (a message that arrived, a
process act, a write, a fault). Callbacks that follow at once from another one are no steps of their own.

What a killed process left is kept until the world ends: were it collected earlier, its `finally` blocks would run."""

from __future__ import annotations

import asyncio
import heapq
from collections import deque
from collections.abc import Callable, Coroutine, Generator
from concurrent.futures import Executor
from contextvars import Context, ContextVar, copy_context
from typing import Any, Protocol, TypeVar, final

T = TypeVar("T")

TURNS = 200_000
"""Callbacks in a row without a timer; more of them turn in a circle."""
CALLBACK_S = 1e-6
"""What each callback takes: time passes while somebody works, as it does on a machine."""


class StuckError(AssertionError):
    """Nobody is ready and nobody ever will be; or everybody turns at one instant."""


class Clockwork(Protocol):
    """What a process runs on, as far as time is concerned."""

    slept_s: float
    """How long it was suspended, all together."""
    is_suspended: bool


class Process:
    """Whoever runs code in the world: a daemon, a runner, an agent, a person."""

    __slots__ = ("clockwork", "dead_ends", "is_alive", "is_stopped", "kept", "mourners", "name", "steps")

    def __init__(self, name: str, clockwork: Clockwork) -> None:
        self.name = name
        self.clockwork = clockwork
        self.is_alive = True
        self.is_stopped = False
        self.steps = 0
        self.kept: deque[asyncio.Handle] = deque()
        self.dead_ends: list[asyncio.Handle] = []
        self.mourners: list[Callable[[], None]] = []
        """Called when it dies: what the kernel does for it."""

    @property
    def is_held(self) -> bool:
        return self.is_stopped or self.clockwork.is_suspended


CURRENT: ContextVar[Process] = ContextVar("process")


@final
class SimLoop(asyncio.BaseEventLoop):
    """`now_s` is the true time, which nobody in the world sees."""

    def __init__(self) -> None:
        super().__init__()
        self.now_s = 0.0
        self.steps = 0
        self.is_over = False
        self._soon: deque[asyncio.Handle] = deque()
        self._timers: list[tuple[float, int, asyncio.TimerHandle]] = []
        self._count = 0
        self._at_once = 0
        self.on_step: Callable[[Process], None] = lambda _: None
        self.complaints: list[str] = []
        self.set_exception_handler(self._complain)

    # -- what asyncio asks for

    def time(self) -> float:
        process = CURRENT.get(None)
        return self.now_s if process is None else self.now_s - process.clockwork.slept_s

    def call_soon(
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        handle = asyncio.Handle(callback, args, self, context)
        if not self.is_over:
            self._soon.append(handle)
        return handle

    def call_soon_threadsafe(
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        return self.call_soon(callback, *args, context=context)

    def call_at(
        self, when: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        context = context or copy_context()
        handle = asyncio.TimerHandle(when, callback, args, self, context)
        process = context.get(CURRENT)
        self._push(when if process is None else when + process.clockwork.slept_s, handle)
        return handle

    def run_in_executor(self, executor: Any, func: Callable[..., T], *args: Any) -> asyncio.Future[T]:
        """Runs it here, when `executor` says so (`SimExecutor`); else at once."""
        future: asyncio.Future[T] = self.create_future()
        if isinstance(executor, SimExecutor):
            executor.take(self, future, lambda: func(*args))
        else:
            settle(future, lambda: func(*args))
        return future

    def _run_once(self) -> None:
        if not self._soon:
            self._advance()
        handle = self._soon.popleft()
        if handle.cancelled():
            return
        process = context_of(handle).get(CURRENT)
        if process is not None and not (process.is_alive and not process.is_held):
            (process.kept if process.is_alive else process.dead_ends).append(handle)
            return
        self._at_once += 1
        self.now_s += CALLBACK_S
        if self._at_once > TURNS:
            name = process.name if process else "the world"
            raise StuckError(f"{TURNS} callbacks in a row, the last of {name}: {handle!r}")
        if process is not None:
            process.steps += 1
            self.on_step(process)
            if not process.is_alive or process.is_held:  # a fault struck just before this callback
                (process.kept if process.is_alive else process.dead_ends).append(handle)
                return
        handle._run()  # noqa: SLF001 - the loop's own part of a handle

    def _process_events(self, event_list: Any) -> None:
        """There are none: nothing is ever read from outside."""

    def _write_to_self(self) -> None:
        """Nobody sleeps in a selector."""

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """It is passed over when its time comes."""

    # -- what the world asks for

    def count(self) -> None:
        """Something happened in the world."""
        self.steps += 1

    def start(self, process: Process, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Starts a task in a process."""
        context = copy_context()
        context.run(CURRENT.set, process)
        return self.create_task(work, context=context)

    def tell(self, process: Process, callback: Callable[..., object], *args: Any) -> None:
        """Has something heard by a process as soon as it listens."""
        context = copy_context()
        context.run(CURRENT.set, process)
        self.call_soon(callback, *args, context=context)

    def after(
        self, delay_s: float, process: Process, callback: Callable[..., object], *args: Any
    ) -> asyncio.TimerHandle:
        """The same, in so many true seconds."""
        context = copy_context()
        context.run(CURRENT.set, process)
        handle = asyncio.TimerHandle(self.now_s + delay_s, callback, args, self, context)
        self._push(self.now_s + delay_s, handle)
        return handle

    def kill(self, process: Process) -> None:
        """It is gone between two of its callbacks. Repeatable."""
        if not process.is_alive:
            return
        process.is_alive = False
        process.dead_ends.extend(process.kept)
        process.kept.clear()
        mourners, process.mourners = process.mourners, []
        for mourner in mourners:
            mourner()

    def stop_process(self, process: Process) -> None:
        process.is_stopped = True

    def continue_process(self, process: Process) -> None:
        process.is_stopped = False
        self.release(process)

    def release(self, process: Process) -> None:
        """What was kept for it runs now, in its order, unless it is held for another reason."""
        if process.is_alive and not process.is_held:
            self._soon.extend(process.kept)
            process.kept.clear()

    def timers_of(self, clockwork: Clockwork) -> list[tuple[float, asyncio.TimerHandle]]:
        """Takes the timers of a machine out: its clock stands still."""
        mine: list[tuple[float, asyncio.TimerHandle]] = []
        others: list[tuple[float, int, asyncio.TimerHandle]] = []
        for entry in self._timers:
            process = context_of(entry[2]).get(CURRENT)
            if process is not None and process.clockwork is clockwork:
                mine.append((entry[0], entry[2]))
            else:
                others.append(entry)
        heapq.heapify(others)
        self._timers = others
        return sorted(mine, key=lambda one: one[0])

    def put_back(self, timers: list[tuple[float, asyncio.TimerHandle]], later_s: float) -> None:
        for at_s, handle in timers:
            self._push(at_s + later_s, handle)

    def end(self) -> None:
        """Nothing is taken any more."""
        self.is_over = True
        self._soon.clear()
        self._timers.clear()

    def _push(self, at_s: float, handle: asyncio.TimerHandle) -> None:
        self._count += 1
        handle._scheduled = True  # noqa: SLF001 - as the base class does
        if not self.is_over:
            heapq.heappush(self._timers, (at_s, self._count, handle))

    def _advance(self) -> None:
        while self._timers:
            at_s, _, handle = heapq.heappop(self._timers)
            if handle.cancelled():
                continue
            self.now_s = max(self.now_s, at_s)
            self._at_once = 0
            self.steps += 1
            self._soon.append(handle)
            return
        raise StuckError("everybody waits for something that nobody will do")

    def _complain(self, _: Any, context: dict[str, Any]) -> None:
        error = context.get("exception")
        self.complaints.append(f"{context.get('message')}: {error!r}")


class SimExecutor(Executor):
    """Where blocking work of one process runs: the work is done at one instant, and its result is known a little later.

    `serial`: one thread, so each begins when the one before has ended."""

    def __init__(self, pause_s: Callable[[], tuple[float, float]], *, serial: bool = False) -> None:
        """`pause_s` draws how long the work waits to be done, and then its result to be told."""
        self._pause_s = pause_s
        self._serial = serial
        self._free_at_s = 0.0

    def take(self, loop: SimLoop, future: asyncio.Future[T], work: Callable[[], T]) -> None:
        before_s, after_s = self._pause_s()
        process = CURRENT.get()
        if self._serial:
            before_s += max(0.0, self._free_at_s - loop.now_s)
            self._free_at_s = loop.now_s + before_s + after_s
        if before_s <= 0:
            self._do(loop, process, future, work, after_s)
        else:
            loop.after(before_s, process, self._do, loop, process, future, work, after_s)

    def _do(
        self,
        loop: SimLoop,
        process: Process,
        future: asyncio.Future[T],
        work: Callable[[], T],
        after_s: float,
    ) -> None:
        done: asyncio.Future[T] = loop.create_future()
        settle(done, work)
        if after_s <= 0:
            pass_on(done, future)
        else:
            loop.after(after_s, process, pass_on, done, future)


def settle(future: asyncio.Future[T], work: Callable[[], T]) -> None:
    try:
        result = work()
    except Exception as error:  # noqa: BLE001 - an executor hands on whatever is raised
        if not future.done():
            future.set_exception(error)
    else:
        if not future.done():
            future.set_result(result)


def pass_on(done: asyncio.Future[T], future: asyncio.Future[T]) -> None:
    error = done.exception()
    if future.done():
        return
    if error is None:
        future.set_result(done.result())
    else:
        future.set_exception(error)


def context_of(handle: asyncio.Handle) -> Context:
    return handle._context  # noqa: SLF001 - who it belongs to stands nowhere else


class pause:  # noqa: N801 - it is awaited like the function of that name elsewhere
    """`await pause(seconds)`: on the clock of whoever waits."""

    __slots__ = ("_seconds",)

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def __await__(self) -> Generator[Any, None, None]:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()
        timer = loop.call_later(self._seconds, set_unless_done, future)
        try:
            yield from future
        finally:
            timer.cancel()


def set_unless_done(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
