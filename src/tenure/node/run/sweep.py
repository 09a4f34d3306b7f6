"""After a runner's death: finding what is left of its tree, killing it, and saying whether that is proven.

The daemon holds the folder's lock meanwhile, so no runner can be at work there. The proof that a tree is gone is
one of these: the machine was started anew since; the run's own cgroup is empty, twice; or, without one, two walks
over all processes find neither the marker nor a descendant of who carries it, and no orphan of this user, born
since the start, hides its environment. Where none of them can be had the answer is "not proven", never "gone".
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
from concurrent.futures import Executor
from pathlib import Path

from msgspec import Struct

from tenure.core.clock import Clock
from tenure.errors import StorageFullError
from tenure.node.run.folder import STARTED, locked, read_launch, read_outcome, read_started
from tenure.node.run.messages import Launch, Outcome
from tenure.node.runner.process_tree import HAS_PROC, Tree
from tenure.runtime.data_folder import write_atomically

SWEPT = "swept"
"""This file says that a sweep proved the tree gone. The cgroup, the best proof, goes with it."""
_NS = 1_000_000_000
_START_SLACK_S = 1
"""Start times in /proc are rounded, and the runner notes its own a little later than it is."""


class SweepResult(Struct, frozen=True, kw_only=True):
    """`gone`: it is proven that nothing is left, so the slot may be freed.

    `is_held`: a runner holds the folder, and nothing was done. `killed`: how many processes were found.
    `survivors`: how many did not die. `suspects`: orphans that hide their environment, any of which may be ours.
    """

    gone: bool
    is_held: bool = False
    killed: int = 0
    survivors: int = 0
    suspects: int = 0


async def sweep(run_dir: Path, boot_id: str, clock: Clock, executor: Executor | None = None) -> SweepResult:
    """Kills what a dead runner left behind. Repeatable; it takes up to ten seconds if something does not die.

    `boot_id`: this boot's. `executor`: where it runs; None is the loop's own.
    """
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(executor, sweep_now, run_dir, boot_id, clock)


async def tree_gone(run_dir: Path, boot_id: str, clock: Clock, executor: Executor | None = None) -> bool:
    """Whether it is proven that nothing of this run is left. Looks only, and kills nothing."""
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(executor, look_now, run_dir, boot_id, clock)


def sweep_now(run_dir: Path, boot_id: str, clock: Clock) -> SweepResult:
    with locked(run_dir, fcntl.LOCK_EX) as is_free:
        if not is_free:
            return SweepResult(gone=False, is_held=True)
        launch = read_launch(run_dir)
        if is_gone_by_record(run_dir, boot_id):
            if launch:
                tree_of(launch, clock).remove_cgroup()  # if the runner died before it did
            return SweepResult(gone=True)
        if launch is None or not HAS_PROC:
            return SweepResult(gone=False)
        tree = tree_of(launch, clock)
        found = len(tree.members(deep=True))
        survivors = tree.kill()
        suspects = count_suspects(tree, run_dir)
        if not survivors and not suspects:
            with contextlib.suppress(
                OSError, StorageFullError
            ):  # else it is proven again when it is asked again
                write_atomically(run_dir / SWEPT, b"")
            tree.remove_cgroup()
    return SweepResult(
        gone=survivors == 0 and suspects == 0, killed=found, survivors=survivors, suspects=suspects
    )


def look_now(run_dir: Path, boot_id: str, clock: Clock) -> bool:
    with locked(run_dir, fcntl.LOCK_SH) as is_free:
        if not is_free:
            return False
        if is_gone_by_record(run_dir, boot_id):
            return True
        launch = read_launch(run_dir)
        if launch is None or not HAS_PROC:
            return False
        tree = tree_of(launch, clock)
        return tree.is_empty() and count_suspects(tree, run_dir) == 0


def is_gone_by_record(run_dir: Path, boot_id: str) -> bool:
    """Whether the folder itself proves it: nothing was ever started, another boot, or a proof that was given."""
    if not (run_dir / STARTED).exists() or (run_dir / SWEPT).exists():
        return True
    started = read_started(run_dir)
    if started and boot_id and started.boot_id and started.boot_id != boot_id:
        return True
    outcome = read_outcome(run_dir)
    return isinstance(outcome, Outcome) and outcome.tree_gone is True


def tree_of(launch: Launch, clock: Clock) -> Tree:
    return Tree(launch.marker, launch.cgroup, lambda: clock.awake_ns() / _NS)


def count_suspects(tree: Tree, run_dir: Path) -> int:
    """None to count where the run has a cgroup of its own: nobody leaves that unseen."""
    started = read_started(run_dir)
    if tree.cgroup or started is None:
        return 0
    since_s = started.started_boottime_ns / _NS - _START_SLACK_S
    return tree.suspects(int(since_s * os.sysconf("SC_CLK_TCK")))
