"""Runners that are no processes of this machine: what a real one promises, and how it dies.

A runner outlives the daemon, holds its folder's lock for its whole life, starts nothing past the deadline, pauses the tree
at it and resumes it on a renewal, climbs the ladder of a stop, and records how it ended before it lets go. It may be killed
at any instant: then its tree runs on, unpaused, until somebody sweeps it up."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path
from typing import final

from tenure.errors import UnavailableError
from tenure.node.run.folder import Found, RunnerState, forbidden_outcome, write_launch
from tenure.node.run.link import Spawned, SpawnResult
from tenure.node.run.messages import Launch
from tenure.node.run.runners import RunnerLine
from tenure.node.run.sweep import SweepResult
from tenure.sim.world.loop import Process, SimLoop, pause
from tenure.sim.world.machine import Machine
from tenure.sim.world.run_state import Run, started_by
from tenure.sim.world.runner_life import Life, RunnerHost
from tenure.sim.world.runner_line import SimLine

CONNECT_BOUND_S = 20.0


@final
class SimRunners:
    """`Runners` of one machine. `host` says what is executed, and hears of it."""

    def __init__(self, loop: SimLoop, machine: Machine, chance: random.Random, host: RunnerHost) -> None:
        self._loop = loop
        self._machine = machine
        self._chance = chance
        self._host = host
        self.runs: dict[str, Run] = {}

    def run(self, run_dir: Path) -> Run:
        return self.runs.setdefault(run_dir.name, Run(run_dir.name))

    # -- the port

    async def write_launch(self, run_dir: Path, launch: Launch) -> None:
        await self._disk()
        write_launch(run_dir, launch)
        self.run(run_dir).launch = launch

    async def spawn(self, run_dir: Path) -> SpawnResult:
        self._step("spawn")
        answer: asyncio.Future[SpawnResult] = self._loop.create_future()
        run = self.run(run_dir)
        process = self._machine.new_process(f"runner {run.name}")
        self._loop.start(process, self._begun(process, run, answer))
        # It starts whatever becomes of who has started it.
        return await asyncio.shield(answer)

    async def connect(self, run_dir: Path) -> RunnerLine:
        run = self.run(run_dir)
        await pause(0.001)
        runner = run.runner
        if runner is None or not runner.is_alive:
            raise UnavailableError("nobody listens there")
        if runner.is_held:
            await pause(CONNECT_BOUND_S)
            raise UnavailableError("the runner there does not answer")
        self._loop.count()
        return SimLine(self._loop, run)

    async def probe(self, run_dir: Path) -> RunnerState:
        await self._disk()
        run, boot_id = self.run(run_dir), self._machine.boot_id
        other_boot = run.started is not None and run.started.boot_id != boot_id
        if run.outcome is not None:
            return RunnerState(
                found=Found.ENDED, started=run.started, outcome=run.outcome, other_boot=other_boot
            )
        if run.started is None:
            return RunnerState(found=Found.NEVER_STARTED)
        if run.is_held:
            return RunnerState(found=Found.RUNNING, started=run.started)
        reason = "the machine was restarted" if other_boot else "the runner is gone and recorded no outcome"
        return RunnerState(found=Found.UNKNOWN, started=run.started, reason=reason, other_boot=other_boot)

    async def forbid_start(self, run_dir: Path, launch: Launch, incarnation: str) -> bool:
        await self._disk()
        self._step("forbid")
        run = self.run(run_dir)
        if run.is_held or run.started is not None:
            return False
        if run.outcome is None:
            run.outcome = forbidden_outcome(launch, incarnation, self._machine)
        return run.outcome.never_started is not None

    async def sweep(self, run_dir: Path) -> SweepResult:
        await self._disk()
        self._step("sweep")
        run = self.run(run_dir)
        if run.is_held:
            return SweepResult(gone=False, is_held=True)
        if run.has_tree and run.stubborn_until_s > self._loop.now_s:
            return SweepResult(gone=False, survivors=1)
        killed = int(run.has_tree)
        if run.tree is not None and run.has_tree:
            self._host.ended(run, "swept")
            self._machine.forget(run.tree)
        return SweepResult(gone=True, killed=killed)

    # -- what happens to them

    def kill_runner(self, run: Run) -> None:
        """As the OOM killer does: no record, and the tree is left."""
        if run.runner is None or not run.runner.is_alive:
            return
        if self._chance.random() < 0.15:
            run.stubborn_until_s = self._loop.now_s + 600.0 * self._chance.random()
        self._machine.forget(run.runner)

    def kill_tree(self, run: Run) -> None:
        """As the OOM killer does to the program: its runner sees it die."""
        if run.tree is None or not run.has_tree:
            return
        run.exit = (None, 9)
        self._host.ended(run, "killed by the system")
        self._machine.forget(run.tree)
        if run.runner is not None:
            self._loop.tell(run.runner, run.wake)

    def rebooted(self) -> None:
        """Nothing of an earlier boot runs any more."""
        for run in self.runs.values():
            if run.has_tree:
                self._host.ended(run, "reboot")
            run.stubborn_until_s = 0.0

    def living(self) -> list[Run]:
        return [run for run in self.runs.values() if run.is_held or run.has_tree]

    # --

    async def _begun(self, process: Process, run: Run, answer: asyncio.Future[SpawnResult]) -> None:
        await pause(0.02 + 0.3 * self._chance.random() ** 3)
        launch = run.launch
        if run.is_held or run.started is not None or run.outcome is not None or launch is None:
            spawned = Spawned.LOST
        else:
            spawned = Spawned.STARTED
            run.started = started_by(launch, process.name, self._machine)
            run.runner = process
            run.deadline_ns = launch.deadline_boottime_ns
            self._step("runner takes its folder")
        if not answer.done():
            answer.set_result(SpawnResult(spawned=spawned))
        if launch is not None and spawned is Spawned.STARTED:
            life = Life(self._loop, self._machine, run, launch, self._host)
            await life.live()
        self._machine.forget(process)

    async def _disk(self) -> None:
        await pause(0.0005 + 0.004 * self._chance.random())

    def _step(self, what: str) -> None:
        self._loop.count()
        self._host.note(what)
