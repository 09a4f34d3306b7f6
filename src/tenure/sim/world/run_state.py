"""One run folder with what lives from it: the runner that holds its lock, and the tree of processes that it owns."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Protocol, final

from msgspec.structs import replace

from tenure.node.run.folder import forbidden_outcome, unreached
from tenure.node.run.messages import Launch, Outcome, Push, Started, Status, StepOutcome
from tenure.sim.world.loop import Process
from tenure.sim.world.machine import Machine

if TYPE_CHECKING:
    from tenure.sim.world.agent import Script


class Line(Protocol):
    """A connection of a daemon to the runner."""

    def push(self, push: Push) -> None: ...


@final
class Run:
    """What is on disk (`launch`, `started`, `outcome`) survives everything; the rest is processes."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.launch: Launch | None = None
        self.started: Started | None = None
        self.outcome: Outcome | None = None
        self.runner: Process | None = None
        self.tree: Process | None = None
        self.script: Script | None = None
        self.exit: tuple[int | None, int | None] | None = None
        self.deadline_ns = 0
        self.counter = 0
        self.is_paused = False
        self.paused_ns = 0
        self.paused_since_ns = 0
        self.is_canceled = False
        self.is_stale = False
        self.is_out_of_time = False
        self.kill_at_ns: int | None = None
        self.ended_by: str | None = None
        self.stubborn_until_s = 0.0
        self.acts = 0
        self.changed = asyncio.Event()
        self.lines: list[Line] = []

    @property
    def is_held(self) -> bool:
        """Does a runner hold its lock?"""
        return self.runner is not None and self.runner.is_alive

    @property
    def has_tree(self) -> bool:
        return self.tree is not None and self.tree.is_alive

    def wake(self) -> None:
        self.changed.set()

    def status(self) -> Status:
        is_stopping = self.kill_at_ns is not None
        return Status(
            state="paused" if self.is_paused else "stopping" if is_stopping else "running",
            step="turn",
            pid=100 if self.has_tree else None,
            deadline_boottime_ns=self.deadline_ns,
            counter=self.counter,
            output_bytes=100 * self.acts,
            protocol_lines=0,
            cpu_ms=10 * self.acts,
            processes=1 if self.has_tree else 0,
            quiet_s=0.0,
            paused_s=0.0,
        )


def started_by(launch: Launch, runner: str, clock: Machine) -> Started:
    return Started(
        version=1,
        delivery_id=launch.delivery_id,
        fence=launch.fence,
        runner_id=runner,
        boot_id=clock.boot_id,
        started_at_ms=clock.wall_ms(),
        started_boottime_ns=clock.boot_ns(),
    )


def never_started(launch: Launch, runner: str, clock: Machine, why: str) -> Outcome:
    return replace(forbidden_outcome(launch, runner, clock), never_started=why, held_by="subreaper")


def ended_step(launch: Launch, number: int, run: Run, began: tuple[int, int], clock: Machine) -> StepOutcome:
    """How a step that was executed has ended."""
    spec = launch.steps[number]
    code, signal = run.exit or (None, 9)
    return replace(
        unreached(spec.name, spec.kind == "check"),
        ran=True,
        exit_code=code,
        signal=signal,
        timed_out=run.is_out_of_time,
        started_at_ms=began[0],
        started_boottime_ns=began[1],
        ended_at_ms=clock.wall_ms(),
        ended_boottime_ns=clock.boot_ns(),
    )
