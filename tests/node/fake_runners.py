"""Runners in virtual time: what a real one promises, without a process.

They outlive the daemon, hold their folder, pause at the deadline by themselves, and record how it ended. Every start is held
against the rules: the receipt was accepted, the deadline lies ahead, nobody else has the folder.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from tenure.errors import OutcomeUnknownError, UnavailableError
from tenure.node.pacing import Signal
from tenure.node.run.folder import Found, RunnerState, forbidden_outcome, unreached
from tenure.node.run.link import Spawned, SpawnResult
from tenure.node.run.messages import Launch, Outcome, Push, Reply, Started, Status
from tenure.node.run.sweep import SweepResult
from tests.node.virtual import FakeClock

NS = 1_000_000_000
BOOT = "boot1"


@dataclass
class Program:
    """What a harness does: works for so long, then exits so. `ignores_cancel`: until it is killed."""

    work_s: float = 1.0
    exit_code: int | None = 0
    signal: int | None = None
    start_error: str | None = None
    ignores_cancel: bool = False


@dataclass
class FakeRun:
    """One run folder."""

    launch: Launch | None = None
    started: Started | None = None
    outcome: Outcome | None = None
    is_alive: bool = False
    is_frozen: bool = False
    left_s: float = 0.0
    deadline_ns: int = 0
    counter: int = 0
    paused: bool = False
    pauses: int = 0
    cancel: bool = False
    stale: bool = False
    killed_at_ns: int | None = None
    processes_left: bool = False
    changed: Signal = field(default_factory=Signal)
    lines: "list[FakeLine]" = field(default_factory=list)
    task: asyncio.Task[None] | None = None


class FakeRunners:
    """`Runners` that survive the daemon. `may_start` is asked at every start of a harness."""

    def __init__(self, clock: FakeClock) -> None:
        self.clock = clock
        self.runs: dict[str, FakeRun] = {}
        self.program: Callable[[Launch], Program] = lambda _: Program()
        self.may_start: Callable[[Launch], None] = lambda _: None
        self.executed: list[str] = []
        self.spawn_result: SpawnResult | None = None
        self.spawn_delay_s = 0.014
        self.forbid_error: Exception | None = None
        self.boot_id = BOOT
        self.swept: list[str] = []
        self.sweep_gone = True

    def run(self, run_dir: Path) -> FakeRun:
        return self.runs.setdefault(run_dir.name, FakeRun())

    # -- the port

    async def write_launch(self, run_dir: Path, launch: Launch) -> None:
        self.run(run_dir).launch = launch

    async def spawn(self, run_dir: Path) -> SpawnResult:
        # The process starts whatever becomes of who started it.
        starting = asyncio.get_running_loop().create_task(self._spawned(run_dir))
        return await asyncio.shield(starting)

    async def connect(self, run_dir: Path) -> "FakeLine":
        run = self.run(run_dir)
        if not run.is_alive or run.is_frozen:
            raise UnavailableError("nobody listens")
        line = FakeLine(self, run)
        run.lines.append(line)
        return line

    async def probe(self, run_dir: Path) -> RunnerState:
        run = self.run(run_dir)
        other_boot = run.started is not None and run.started.boot_id != self.boot_id
        if run.outcome is not None:
            return RunnerState(
                found=Found.ENDED, started=run.started, outcome=run.outcome, other_boot=other_boot
            )
        if run.is_alive:
            return RunnerState(found=Found.RUNNING, started=run.started)
        if run.started is not None:
            reason = "the machine was restarted" if other_boot else "the runner is gone"
            return RunnerState(found=Found.UNKNOWN, started=run.started, reason=reason, other_boot=other_boot)
        return RunnerState(found=Found.NEVER_STARTED)

    async def forbid_start(self, run_dir: Path, launch: Launch, incarnation: str) -> bool:
        if self.forbid_error is not None:
            raise self.forbid_error
        run = self.run(run_dir)
        if run.is_alive or run.started is not None:
            return False
        if run.outcome is None:
            run.outcome = forbidden_outcome(launch, incarnation, self.clock)
        return run.outcome.never_started is not None

    async def sweep(self, run_dir: Path) -> SweepResult:
        self.swept.append(run_dir.name)
        if self.sweep_gone:
            self.run(run_dir).processes_left = False
        return SweepResult(gone=self.sweep_gone)

    # -- what happens to them

    def kill_runner(self, delivery_id: str) -> None:
        """As the OOM killer would: no record, and the tools of the harness are left."""
        run = self.runs[delivery_id]
        run.is_alive, run.processes_left = False, True
        if run.task:
            run.task.cancel()
        for line in run.lines:
            line.cut()

    def alive(self) -> list[str]:
        return [name for name, run in self.runs.items() if run.is_alive]

    # -- one runner

    async def _spawned(self, run_dir: Path) -> SpawnResult:
        await asyncio.wait([asyncio.get_running_loop().create_future()], timeout=self.spawn_delay_s)
        run = self.run(run_dir)
        if self.spawn_result is not None:
            if self.spawn_result.spawned is Spawned.UNRECORDED and run.launch:
                run.started = self._took(run.launch)
            return self.spawn_result
        if run.is_alive or run.started is not None or run.outcome is not None:
            return SpawnResult(spawned=Spawned.LOST)
        launch = run.launch
        assert launch is not None
        run.started = self._took(launch)
        run.is_alive, run.deadline_ns = True, launch.deadline_boottime_ns
        run.task = asyncio.get_running_loop().create_task(self._execute(run, launch))
        return SpawnResult(spawned=Spawned.STARTED)

    def _took(self, launch: Launch) -> Started:
        return Started(
            version=1,
            delivery_id=launch.delivery_id,
            fence=launch.fence,
            runner_id="i_runner",
            boot_id=self.boot_id,
            started_at_ms=self.clock.wall_ms(),
            started_boottime_ns=self.clock.boot_ns(),
        )

    async def _execute(self, run: FakeRun, launch: Launch) -> None:
        outcome = ended(forbidden_outcome(launch, "i_runner", self.clock))
        if self.clock.boot_ns() >= run.deadline_ns:
            self._finish(run, replace(outcome, never_started="deadline"))
            return
        self.may_start(launch)
        self.executed.append(launch.delivery_id)
        program = self.program(launch)
        began_ns, began_ms = self.clock.boot_ns(), self.clock.wall_ms()
        run.left_s = program.work_s
        ended_by = await self._worked(run, program)
        steps = [
            replace(
                unreached(step.name, step.kind == "check"),
                ran=True,
                exit_code=0 if ended_by is None else None,
                signal=None if ended_by is None else 9,
                started_at_ms=began_ms,
                started_boottime_ns=began_ns,
                ended_at_ms=self.clock.wall_ms(),
                ended_boottime_ns=self.clock.boot_ns(),
            )
            for step in launch.steps
        ]
        if ended_by is None:
            steps[0] = replace(
                steps[0],
                exit_code=None if program.signal or program.start_error else program.exit_code,
                signal=program.signal,
                start_error=program.start_error,
            )
        failed = next((n for n, step in enumerate(steps) if step.exit_code != 0), len(steps))
        for number in range(failed + 1, len(steps)):
            steps[number] = unreached(steps[number].name, True)
        self._finish(
            run,
            replace(
                outcome,
                never_started="exec failed" if program.start_error else None,
                steps=tuple(steps),
                canceled=run.cancel,
                killed_stale=run.stale,
                ended_by=ended_by,
                counter=run.counter,
                held_by="subreaper",
            ),
        )

    async def _worked(self, run: FakeRun, program: Program) -> str | None:
        """Until the work is done or it was ended; then by what."""
        while True:
            if run.stale:
                return "SIGKILL"
            if run.cancel and not program.ignores_cancel:
                return "SIGINT"
            now_ns = self.clock.boot_ns()
            if now_ns >= run.deadline_ns and not run.paused:
                run.paused = True
                run.pauses += 1
                self._push(run, "paused")
            elif now_ns < run.deadline_ns and run.paused:
                run.paused = False
                self._push(run, "resumed")
            if run.paused:
                await run.changed.wait()
                continue
            if run.left_s <= 1e-6:
                return None
            awake_ns = self.clock.awake_ns()
            await run.changed.wait(min(run.left_s, (run.deadline_ns - now_ns) / NS))
            run.left_s -= (self.clock.awake_ns() - awake_ns) / NS

    def _finish(self, run: FakeRun, outcome: Outcome) -> None:
        run.outcome = replace(
            outcome, ended_at_ms=self.clock.wall_ms(), ended_boottime_ns=self.clock.boot_ns()
        )
        self._push(run, "ended")
        run.is_alive = False
        for line in run.lines:
            line.cut()

    def _push(self, run: FakeRun, what: Any) -> None:
        for line in run.lines:
            line.queue.put_nowait(Push(push=what, status=status_of(run)))


class FakeLine:
    """`RunnerLine` to a fake runner."""

    def __init__(self, runners: FakeRunners, run: FakeRun) -> None:
        self.runners = runners
        self.live = run
        self.queue: asyncio.Queue[Push | None] = asyncio.Queue()
        self.is_cut = False

    async def status(self) -> Reply:
        return self._reply()

    async def renew(self, fence: int, counter: int, deadline_boottime_ns: int) -> Reply:
        launch = self.live.launch
        if launch is None or fence != launch.fence:
            return self._reply("wrong_fence")
        if counter <= self.live.counter:
            return self._reply("old_counter")
        self.live.counter, self.live.deadline_ns = counter, deadline_boottime_ns
        self.live.changed.give()
        return self._reply()

    async def cancel(self, grace_s: float) -> Reply:
        self.live.cancel = True
        self.live.changed.give()
        return self._reply()

    async def stale(self, fence: int) -> Reply:
        self.live.stale = True
        self.live.changed.give()
        return self._reply()

    async def pushes(self) -> AsyncIterator[Push]:
        while (push := await self.queue.get()) is not None:
            yield push

    async def close(self) -> None:
        self.cut()

    def cut(self) -> None:
        if not self.is_cut:
            self.is_cut = True
            self.queue.put_nowait(None)

    def _reply(self, error: str | None = None) -> Reply:
        if self.is_cut or self.live.is_frozen:
            raise OutcomeUnknownError("the runner's answer did not come")
        return Reply(re=1, error=error, status=status_of(self.live))


def ended(outcome: Outcome) -> Outcome:
    """As a run that did execute something."""
    return replace(outcome, never_started=None)


def status_of(run: FakeRun) -> Status:
    return Status(
        state="paused" if run.paused else "running",
        step="turn",
        pid=1234,
        deadline_boottime_ns=run.deadline_ns,
        counter=run.counter,
        output_bytes=10,
        protocol_lines=0,
        cpu_ms=100,
        processes=1,
        quiet_s=0.0,
        paused_s=0.0,
    )
