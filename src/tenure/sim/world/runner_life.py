"""The life of one runner, from the moment it holds its folder until it lets go of it.

Three clocks as in the real one: the deadline counts on the clock that runs through a suspend, graces on the one that stands
still, and the time limit on that one less the pauses."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Protocol, final

from msgspec.structs import replace

from tenure.node.run.folder import forbidden_outcome
from tenure.node.run.messages import Launch, Outcome, Push
from tenure.sim.world.agent import Script
from tenure.sim.world.loop import SimLoop, pause
from tenure.sim.world.machine import Machine
from tenure.sim.world.run_state import Run, ended_step, never_started

NS = 1_000_000_000
TICK_S = 1.0
RECORD_S = 0.004


class RunnerHost(Protocol):
    """What a runner executes, and who hears of it."""

    def script(self, launch: Launch, step: int) -> Script: ...

    def work(self, launch: Launch, step: int, script: Script, run: Run) -> Coroutine[None, None, None]:
        """What the program does until it exits by itself."""
        ...

    def started(self, run: Run, launch: Launch) -> None: ...

    def ended(self, run: Run, how: str) -> None: ...

    def note(self, what: str) -> None: ...


@final
class Life:
    def __init__(self, loop: SimLoop, machine: Machine, run: Run, launch: Launch, host: RunnerHost) -> None:
        self._loop = loop
        self._machine = machine
        self._run = run
        self._launch = launch
        self._host = host
        self._interrupted = False

    async def live(self) -> None:
        run, launch, machine = self._run, self._launch, self._machine
        name = run.runner.name if run.runner else ""
        if launch.boot_id != machine.boot_id:
            await self._record(never_started(launch, name, machine, "other boot"))
            return
        if machine.boot_ns() >= run.deadline_ns:
            await self._record(never_started(launch, name, machine, "deadline"))
            return
        await self._record(await self._steps(name))

    async def _steps(self, name: str) -> Outcome:
        run, launch, machine = self._run, self._launch, self._machine
        outcome = forbidden_outcome(launch, name, machine)
        steps = list(outcome.steps)
        began = False
        result: str | None = None
        for number in range(len(launch.steps)):
            if not await self._may_begin():
                break
            at = machine.wall_ms(), machine.boot_ns()
            script = self._start(number)
            began = True
            await self._until_ended()
            steps[number] = ended_step(launch, number, run, at, machine)
            if number == 0 and run.ended_by is None:
                result = script.result
            if steps[number].exit_code != 0:
                break
        return replace(
            outcome,
            never_started=None if began else "ended before its start",
            steps=tuple(steps),
            canceled=run.is_canceled,
            timed_out=run.is_out_of_time,
            killed_stale=run.is_stale,
            ended_by=run.ended_by,
            paused_s=run.paused_ns / NS,
            counter=run.counter,
            held_by="subreaper",
            protocol_lines=0 if result is None else 1,
            result_line=result,
            tree_gone=True,
        )

    async def _may_begin(self) -> bool:
        """Nothing starts past the deadline."""
        while self._machine.boot_ns() >= self._run.deadline_ns and not self._is_over():
            await self._wait(TICK_S)
        return not self._is_over()

    def _is_over(self) -> bool:
        run = self._run
        return run.is_canceled or run.is_stale or run.is_out_of_time

    def _start(self, number: int) -> Script:
        run = self._run
        script = self._host.script(self._launch, number)
        run.exit, run.script = None, script
        run.tree = self._machine.new_process(f"agent {run.name}")
        self._loop.count()
        if number == 0:
            self._host.started(run, self._launch)
        self._loop.start(run.tree, self._program(number, script))
        self.push("step")
        return script

    async def _program(self, number: int, script: Script) -> None:
        await self._host.work(self._launch, number, script, self._run)
        self._exits(script.exit_code, script.signal)

    def _exits(self, code: int | None, signal: int | None) -> None:
        """In the tree's own process, which is over with it."""
        run = self._run
        if run.exit is None:
            run.exit = (code, signal)
            self._loop.count()
            self._host.ended(run, "exited")
        if run.runner is not None:
            self._loop.tell(run.runner, run.wake)
        if run.tree is not None:
            self._machine.forget(run.tree)

    # -- while it runs

    async def _until_ended(self) -> None:
        run = self._run
        while run.exit is None:
            self._judge_deadline()
            if run.is_stale:
                self._kill("SIGKILL")
                break
            self._judge_time()
            self._judge_stop()
            if run.exit is None:
                await self._wait(self._longest_s())
        self._end_pause()
        self.push("step")

    def _judge_deadline(self) -> None:
        run, now_ns = self._run, self._machine.boot_ns()
        if now_ns >= run.deadline_ns and not run.is_paused and run.tree is not None:
            run.is_paused, run.paused_since_ns = True, self._machine.awake_ns()
            self._loop.stop_process(run.tree)
            self._host.note("paused at the deadline")
            self._loop.count()
            self.push("paused")
        elif now_ns < run.deadline_ns and run.is_paused and run.tree is not None:
            self._end_pause()
            self._loop.continue_process(run.tree)
            self._host.note("resumed")
            self._loop.count()
            self.push("resumed")

    def _judge_time(self) -> None:
        run = self._run
        limit_s = self._launch.timeout_s
        if limit_s is None or run.is_paused or run.kill_at_ns is not None or run.started is None:
            return
        awake_ns = self._machine.awake_ns()
        if not hasattr(self, "_began_ns"):
            self._began_ns = awake_ns
        if (awake_ns - self._began_ns - run.paused_ns) / NS >= limit_s:
            run.is_out_of_time = True
            run.kill_at_ns = awake_ns + int(self._launch.cancel_grace_s * NS)

    def _judge_stop(self) -> None:
        run = self._run
        if run.kill_at_ns is None:
            return
        if self._machine.awake_ns() >= run.kill_at_ns:
            self._kill("SIGKILL")
        elif not self._interrupted and run.tree is not None:
            self._interrupted = True
            run.ended_by = "SIGINT"
            self._loop.tell(run.tree, self._interrupt)

    def _interrupt(self) -> None:
        """The tree is asked to end; some programs do not listen."""
        run = self._run
        if run.tree is not None and run.script is not None and run.script.obeys_s is not None:
            self._loop.start(run.tree, self._obey(run.script.obeys_s))

    async def _obey(self, seconds: float) -> None:
        await pause(seconds)
        self._exits(None, 2)

    def _kill(self, step: str) -> None:
        run = self._run
        run.ended_by = step
        run.exit = (None, 9)
        self._loop.count()
        if run.tree is not None and run.has_tree:
            self._host.ended(run, "killed")
            self._machine.forget(run.tree)

    def _end_pause(self) -> None:
        run = self._run
        if run.is_paused:
            run.is_paused = False
            run.paused_ns += self._machine.awake_ns() - run.paused_since_ns

    def _longest_s(self) -> float:
        run, machine = self._run, self._machine
        waits = [3600.0]
        if not run.is_paused:
            waits.append((run.deadline_ns - machine.boot_ns()) / NS)
            if self._launch.timeout_s is not None:
                waits.append(self._launch.timeout_s)
        if run.kill_at_ns is not None:
            waits.append((run.kill_at_ns - machine.awake_ns()) / NS)
        return max(0.001, min(waits))

    async def _wait(self, longest_s: float) -> None:
        """Until something is told, the time is over, or a suspend: a real one looks every second, so soon after it."""
        run = self._run
        run.changed.clear()
        awakes = self._machine.resumes
        told = asyncio.ensure_future(run.changed.wait())
        awake = asyncio.ensure_future(awakes.wait())
        try:
            await asyncio.wait({told, awake}, timeout=longest_s, return_when=asyncio.FIRST_COMPLETED)
        finally:
            told.cancel()
            awake.cancel()
        if awakes.is_set():
            await pause(TICK_S / 2)

    # -- the end

    async def _record(self, outcome: Outcome) -> None:
        run, machine = self._run, self._machine
        await pause(RECORD_S)
        run.outcome = replace(outcome, ended_at_ms=machine.wall_ms(), ended_boottime_ns=machine.boot_ns())
        self._loop.count()
        self._host.note("outcome recorded")
        self.push("ended")
        await pause(RECORD_S)

    def push(self, what: str) -> None:
        for line in tuple(self._run.lines):
            line.push(Push(push=what, status=self._run.status()))  # type: ignore[arg-type]  # one of its words
