"""Letting go: run folders whose reports the hub has and needs no more, the oldest first.

The newest `keep_runs` stay, within a bound on bytes, so that `tenure log` can show them. With a run folder goes the worktree
of its Attempt, if it may: clean-up judges that, pins what it holds, and refuses where work could be lost. One that is
refused stays, and its row with it, since the row is what lets `tenure gc` remove it later; it is asked about now and then.
The folder goes first and its row last, so that a crash in between only repeats.

A run folder without a row is what a crash has left of that, and goes too, unless a runner holds it.

A folder stays, whatever else is said here, while it is not proven that nothing of its run is left: only from it can that be
found out.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor
from functools import partial
from pathlib import Path
from typing import TypeVar, final

from msgspec import Struct

from tenure.core.ids import AttemptId, DeliveryId
from tenure.errors import TenureError
from tenure.node.delivery.holding import Holdings, Phase
from tenure.node.delivery.mirror import Mirror
from tenure.node.delivery.mirrored import Released
from tenure.node.pacing import pause
from tenure.node.run.folder import Found
from tenure.node.run.runners import Runners
from tenure.node.worktree.clean_up import CleanUp, CleanUpItem
from tenure.node.worktree.store_folder import delete_folder, folder_size
from tenure.node.worktree.workspace import Workspace
from tenure.node.worktree.worktree import folder_name

EVERY_S = 60.0
"""Between two looks: nobody waits for the space."""
RUNS = "runs"
RUNS_BYTES = 16 << 30
"""All kept run folders together, whatever their number: a disk is for the work first."""
AT_ONCE = 100
"""Folders deleted in one look, so that the executor is free for others in between."""

REPORTED = frozenset({"recorded", "replayed", "late"})
"""Answers after which the Attempt is not granted again, so that nobody wants its worktree as it is."""
ASK_AGAIN = 60
"""Looks until one is asked about again that could not go: judging a worktree walks over all of it."""

T = TypeVar("T")

log = logging.getLogger(__name__)


class RetentionTools(Struct, frozen=True, kw_only=True):
    """`store`: the node's folder, which holds `runs`. `keep_runs`: how many run folders stay. `can_prove_gone`: can this
    machine prove that a tree is gone? Where it cannot, no folder waits for that."""

    mirror: Mirror
    holdings: Holdings
    runners: Runners
    workspace: Workspace
    executor: Executor
    store: Path
    keep_runs: int
    can_prove_gone: bool = True


@final
class Retention:
    def __init__(self, tools: RetentionTools) -> None:
        self._tools = tools
        self._sizes: dict[str, int] = {}
        self._stays: dict[DeliveryId, int] = {}
        """Those that could not go, each with the number of the look at which it is asked about again."""
        self._looks = 0

    async def run(self) -> None:
        """Looks now and then until it is canceled. What fails is tried again with the next look."""
        await self._tried(self._delete_orphans())
        while True:
            await self._tried(self._save())
            await self._tried(self._let_go())
            await pause(EVERY_S)

    async def _tried(self, work: Coroutine[None, None, None]) -> None:
        try:
            await work
        except (TenureError, OSError) as error:
            log.warning("something could not be tidied up yet: %s", error)
        except Exception:
            # Nothing depends on it, so nothing may end because of it.
            log.exception("tidying up met an error that nobody expected")

    async def _save(self) -> None:
        """Stores what the disk had no room for when it happened."""
        for holding in [one for one in self._tools.holdings if one.is_unsaved and one.ending is not None]:
            if holding.ending is not None:
                await self._tools.mirror.end(holding.ending)
            if holding.phase is Phase.CLOSED and holding.answer is not None:
                await self._tools.mirror.close_all({holding.delivery_id: holding.answer})
            holding.is_unsaved = False
            holding.forget_ending()

    async def _let_go(self) -> None:
        self._looks += 1
        released = await self._tools.mirror.released()
        kept = await self._kept([one.delivery_id for one in released])
        for row in [one for one in released if one.delivery_id not in kept and self._is_asked(one)][:AT_ONCE]:
            # One that cannot be deleted must not keep the others.
            await self._tried(self._let_one_go(row))

    async def _let_one_go(self, row: Released) -> None:
        is_gone = row.tree_gone or await self._is_proven_gone(row.delivery_id)
        if is_gone:
            await self._delete_run(row.delivery_id)
        if not is_gone or not await self._has_let_worktree_go(row):
            self._stays[row.delivery_id] = self._looks + ASK_AGAIN
            return
        await self._tools.mirror.drop([row.delivery_id])
        self._sizes.pop(row.delivery_id, None)
        self._stays.pop(row.delivery_id, None)

    async def _has_let_worktree_go(self, row: Released) -> bool:
        if row.answer in REPORTED:
            return await self._delete_worktree(row.attempt_id)
        return await self._in_executor(partial(self._tools.workspace.store.read, row.attempt_id)) is None

    def _is_asked(self, row: Released) -> bool:
        return self._stays.get(row.delivery_id, 0) <= self._looks

    async def _is_proven_gone(self, name: str) -> bool:
        """Whether nothing of a run is left, or nobody here could ever tell."""
        if not self._tools.can_prove_gone:
            return True
        result = await self._tools.runners.sweep(self._tools.store / RUNS / name)
        if not result.gone:
            log.warning("%s: its processes are not proven gone, so its folder stays: %s", name, result)
        return result.gone

    async def _kept(self, oldest_first: list[DeliveryId]) -> set[DeliveryId]:
        """The newest, as many as may stay by number and by size."""
        newest = oldest_first[-self._tools.keep_runs :] if self._tools.keep_runs else []
        kept: set[DeliveryId] = set()
        room = RUNS_BYTES
        for one in reversed(newest):
            room -= await self._size(one)
            if room < 0:
                break
            kept.add(one)
        return kept

    async def _size(self, delivery_id: DeliveryId) -> int:
        """What its folder takes on disk. Nothing is written there any more, so it is measured once."""
        if delivery_id not in self._sizes:
            measuring = partial(folder_size, self._tools.store, RUNS, delivery_id)
            try:
                self._sizes[delivery_id] = (await self._in_executor(measuring)).size_bytes
            except FileNotFoundError:
                self._sizes[delivery_id] = 0
        return self._sizes[delivery_id]

    async def _delete_run(self, delivery_id: str) -> None:
        await self._in_executor(partial(delete_folder, self._tools.store, RUNS, delivery_id))

    async def _delete_worktree(self, attempt_id: AttemptId) -> bool:
        """Lets clean-up remove the worktree, if it may go; False where it stays. That is judged under the repository's lock,
        and so is whether the Attempt has no other Delivery here by now."""
        name = folder_name(attempt_id)
        item = CleanUpItem(
            name=name,
            path=self._tools.workspace.store.tree(attempt_id),
            attempt_id=attempt_id,
            removed=True,
            reason="its Attempt is closed",
        )
        (done,) = await CleanUp(self._tools.workspace, self._tools.mirror.is_closed).remove([item])
        if not done.removed:
            log.info("the worktree of %s is kept: %s", attempt_id, done.reason)
        return done.removed

    async def _delete_orphans(self) -> None:
        """Run folders without a row. The folders are listed first: a row is committed before its folder is made."""
        runs = self._tools.store / RUNS
        names = await self._in_executor(lambda: [one.name for one in runs.iterdir() if one.is_dir()])
        known = await self._tools.mirror.known()
        for name in sorted(set(names) - known):
            state = await self._tools.runners.probe(runs / name)
            if state.found is Found.RUNNING:
                log.warning("%s has a runner, and this store knows nothing of it; it is left alone", name)
            elif state.found is Found.NEVER_STARTED or await self._is_proven_gone(name):
                await self._delete_run(name)

    async def _in_executor(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._tools.executor, work)
