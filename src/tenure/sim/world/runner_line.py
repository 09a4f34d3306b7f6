"""A daemon's connection to one runner: requests are handled by the runner when it runs, and by nobody when it is gone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any, final

from tenure.errors import OutcomeUnknownError
from tenure.node.run.messages import Push, Reply
from tenure.sim.world.loop import CURRENT, SimLoop

if TYPE_CHECKING:
    from tenure.sim.world.run_state import Run

REPLY_BOUND_S = 20.0
ANSWER_S = 0.001


@final
class SimLine:
    """`RunnerLine`. `is_cut`: the connection has ended, by whoever."""

    def __init__(self, loop: SimLoop, run: Run) -> None:
        self._loop = loop
        self._run = run
        self._daemon = CURRENT.get()
        self._pushes: asyncio.Queue[Push | None] = asyncio.Queue()
        self.is_cut = False
        run.lines.append(self)
        if run.runner is not None:
            run.runner.mourners.append(self.cut)

    async def status(self) -> Reply:
        return await self._ask(lambda: None)

    async def renew(self, fence: int, counter: int, deadline_boottime_ns: int) -> Reply:
        def act() -> str | None:
            run = self._run
            if run.launch is None or fence != run.launch.fence:
                return "wrong_fence"
            if counter <= run.counter:
                return "old_counter"
            run.counter, run.deadline_ns = counter, deadline_boottime_ns
            run.wake()
            return None

        return await self._ask(act)

    async def cancel(self, grace_s: float) -> Reply:
        def act() -> None:
            run = self._run
            run.is_canceled = True
            end_ns = self._clock_ns() + int(grace_s * 1e9)
            run.kill_at_ns = end_ns if run.kill_at_ns is None else min(run.kill_at_ns, end_ns)
            run.wake()

        return await self._ask(act)

    async def stale(self, fence: int) -> Reply:
        def act() -> str | None:
            if self._run.launch is None or fence != self._run.launch.fence:
                return "wrong_fence"
            self._run.is_stale = True
            self._run.wake()
            return None

        return await self._ask(act)

    async def pushes(self) -> AsyncIterator[Push]:
        while (push := await self._pushes.get()) is not None:
            yield push
        self._pushes.put_nowait(None)

    async def close(self) -> None:
        self.cut()

    def cut(self) -> None:
        if not self.is_cut:
            self.is_cut = True
            if self in self._run.lines:
                self._run.lines.remove(self)
            self._loop.tell(self._daemon, self._pushes.put_nowait, None)

    def push(self, push: Push) -> None:
        """The runner tells something unasked; it is heard a little later."""
        self._loop.after(ANSWER_S, self._daemon, self._hear, push)

    def _hear(self, push: Push) -> None:
        self._loop.count()
        if not self.is_cut or push.push == "ended":
            self._pushes.put_nowait(push)

    def _clock_ns(self) -> int:
        runner = self._run.runner
        awake: Any = getattr(runner.clockwork, "awake_ns", None) if runner is not None else None
        return awake() if awake is not None else 0

    async def _ask(self, act: Callable[[], str | None]) -> Reply:
        """Has the runner do something, and waits for its reply.

        Raises:
            OutcomeUnknownError: no answer came.
        """
        runner = self._run.runner
        if self.is_cut or runner is None or not runner.is_alive:
            raise OutcomeUnknownError("the runner's answer did not come")
        answer: asyncio.Future[Reply | None] = self._loop.create_future()

        def serve() -> None:
            self._loop.count()
            reply = Reply(re=1, error=act(), status=self._run.status())
            self._loop.after(ANSWER_S, self._daemon, settle_once, answer, reply)

        def lose() -> None:
            self._loop.tell(self._daemon, settle_once, answer, None)

        runner.mourners.append(lose)
        self._loop.tell(runner, serve)
        reply = await within(REPLY_BOUND_S, answer)
        if lose in runner.mourners:
            runner.mourners.remove(lose)
        if reply is None:
            raise OutcomeUnknownError("the runner's answer did not come")
        return reply


def settle_once(answer: asyncio.Future[Reply | None], reply: Reply | None) -> None:
    if not answer.done():
        answer.set_result(reply)


async def within(seconds: float, answer: asyncio.Future[Reply | None]) -> Reply | None:
    """The answer; None if it does not come in time."""
    try:
        async with asyncio.timeout(seconds):
            return await answer
    except TimeoutError:
        return None
