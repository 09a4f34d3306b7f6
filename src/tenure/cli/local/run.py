"""The runs whose folders are on this machine, as their own files tell of them. Nothing is asked of hub or node."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from tenure.cli.process.data_files import NODES, node_names
from tenure.cli.process.process_mark import ProcessMark, boot_id, mark_of
from tenure.node.run.folder import Found, RunnerState, probe, read_launch

RUNS = "runs"


class LocalRun(Struct, frozen=True, kw_only=True):
    """One run folder: the Attempt that it belongs to, and what became of its runner."""

    node: str
    delivery_id: str
    task_id: str
    number: int
    folder: Path
    steps: tuple[str, ...]
    state: RunnerState

    @property
    def attempt(self) -> str:
        return f"{self.task_id}/{self.number}"

    @property
    def is_running(self) -> bool:
        return self.state.found is Found.RUNNING


def local_runs(home: Path) -> Iterator[LocalRun]:
    """Every run whose folder is here, the oldest Delivery first. A folder that cannot be read is left out."""
    boot = boot_id()
    for node in node_names(home):
        runs = home / NODES / node / RUNS
        folders = sorted(runs.iterdir()) if runs.is_dir() else []
        for folder in folders:
            with contextlib.suppress(OSError):
                run = read_run(node, folder, boot)
                if run is not None:
                    yield run


def read_run(node: str, folder: Path, boot: str) -> LocalRun | None:
    """What a run folder says; None where it holds no launch of this version."""
    launch = read_launch(folder)
    if launch is None or not launch.steps:
        return None
    return LocalRun(
        node=node,
        delivery_id=launch.delivery_id,
        task_id=launch.task_id,
        number=launch.number,
        folder=folder,
        steps=tuple(step.name for step in launch.steps),
        state=probe(folder, boot),
    )


def runs_of(home: Path, task_id: str, number: int) -> list[LocalRun]:
    """The runs of one Attempt that are here; more than one where a Delivery was handed back before."""
    return [run for run in local_runs(home) if (run.task_id, run.number) == (task_id, number)]


def running_here(home: Path) -> list[LocalRun]:
    """The runs whose runner is at work on this machine now."""
    return [run for run in local_runs(home) if run.is_running]


async def processes_of(run: LocalRun) -> tuple[ProcessMark, ProcessMark] | None:
    """Runner and program of a run; None when it does not run, or its step is over.

    The runner names its program; it is that program's parent, and nobody else can be.
    """
    from tenure.errors import TenureError
    from tenure.node.run.link import connect

    try:
        async with await connect(run.folder) as control:
            pid = (await control.status()).status.pid
    except TenureError:
        return None
    parent = parent_of(pid) if pid else 0
    if not pid or not parent:
        return None
    return mark_of(parent, f"runner of {run.attempt}"), mark_of(pid, f"program of {run.attempt}")


def parent_of(pid: int) -> int:
    """The parent of a process; 0 where that cannot be told."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return 0
    return int(stat[stat.rindex(b")") + 2 :].split()[1])
