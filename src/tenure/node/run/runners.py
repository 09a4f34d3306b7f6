"""Runners as the daemon sees them: started, asked, spoken to, swept up after; and this machine's own.

A port of its own, so that a simulator can hold runners that are no processes. What each call means, and what survives a
crash, stands in `link`, `folder` and `sweep`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Executor
from functools import partial
from pathlib import Path
from typing import Protocol, TypeVar, final

from tenure.core.clock import Clock
from tenure.node.run import link
from tenure.node.run.folder import RunnerState, forbid_start, probe, write_launch
from tenure.node.run.link import SpawnResult
from tenure.node.run.messages import Launch, Push, Reply
from tenure.node.run.sweep import SweepResult, sweep
from tenure.runtime.process import RunChild

T = TypeVar("T")


class RunnerLine(Protocol):
    """A connection to one runner."""

    async def status(self) -> Reply: ...

    async def renew(self, fence: int, counter: int, deadline_boottime_ns: int) -> Reply: ...

    async def cancel(self, grace_s: float) -> Reply: ...

    async def stale(self, fence: int) -> Reply: ...

    def pushes(self) -> AsyncIterator[Push]: ...

    async def close(self) -> None: ...


class Runners(Protocol):
    """All runners of one node, by their run folders."""

    async def write_launch(self, run_dir: Path, launch: Launch) -> None: ...

    async def spawn(self, run_dir: Path) -> SpawnResult: ...

    async def connect(self, run_dir: Path) -> RunnerLine:
        """Raises UnavailableError where nobody listens; `probe` says why."""
        ...

    async def probe(self, run_dir: Path) -> RunnerState: ...

    async def forbid_start(self, run_dir: Path, launch: Launch, incarnation: str) -> bool: ...

    async def sweep(self, run_dir: Path) -> SweepResult: ...


@final
class LocalRunners:
    """Real processes on this machine. `boot_id` is this boot's."""

    def __init__(self, executor: Executor, clock: Clock, run_child: RunChild, boot_id: str) -> None:
        self._executor = executor
        self._clock = clock
        self._run_child = run_child
        self._boot_id = boot_id

    async def write_launch(self, run_dir: Path, launch: Launch) -> None:
        await self._in_executor(partial(write_launch, run_dir, launch))

    async def spawn(self, run_dir: Path) -> SpawnResult:
        return await link.spawn(run_dir, self._run_child)

    async def connect(self, run_dir: Path) -> RunnerLine:
        return await link.connect(run_dir)

    async def probe(self, run_dir: Path) -> RunnerState:
        return await self._in_executor(partial(probe, run_dir, self._boot_id))

    async def forbid_start(self, run_dir: Path, launch: Launch, incarnation: str) -> bool:
        return await self._in_executor(partial(forbid_start, run_dir, launch, incarnation, self._clock))

    async def sweep(self, run_dir: Path) -> SweepResult:
        return await sweep(run_dir, self._boot_id, self._clock, self._executor)

    async def _in_executor(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._executor, work)
