"""Removing the worktrees of closed Attempts, so that nothing is lost and nothing outside the store is
touched.

`plan` looks and changes nothing. A worktree is removed only if all of this is so:

- its Attempt is closed, and this node made the tree;
- it is a real folder of the store, and nothing is mounted in it;
- what it holds is safe: it is clean and its commits are the base's or upstream's, or the pinned evidence says
  exactly what is there now;
- it holds no repository of its own (its commits are pinned nowhere), unless the caller says that such may go.

`remove` takes the repository's lock, then asks whether the Attempt is closed and judges again (a daemon beside it
mirrors a Delivery before it takes that lock), pins every commit the tree ever had as head, writes `removing` into
the record and only then deletes. After a crash from there on the next call goes on deleting.
There is no other way of deleting to fall back on: what cannot be deleted so is kept and named. Files that
`.gitignore` excludes go with the tree.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import final

from msgspec import Struct, structs

from tenure.core.ids import AttemptId
from tenure.errors import TenureError
from tenure.node.worktree.evidence import WorktreeState
from tenure.node.worktree.snapshot import Scratch
from tenure.node.worktree.store_folder import FolderSize, folder_size
from tenure.node.worktree.workspace import Workspace
from tenure.node.worktree.worktree import WORKTREES, Phase, Worktree, WorktreeRecord, attempt_of
from tenure.runtime.git import path_text

LOCK_WAIT_S = 30.0
"""Clean-up can come back later; a fetch under way may take long."""
REPACK_TIMEOUT_S = 900.0
LOOSE_OBJECTS = 6700
"""Git's own measure of when a repository is worth packing again."""

IsClosed = Callable[[AttemptId], Awaitable[bool]]


class CleanUpItem(Struct, frozen=True, kw_only=True):
    """One thing in `worktrees/`: what becomes (or became) of it and why. `size_bytes` is what it takes (or took) on disk."""

    name: str
    path: Path
    attempt_id: AttemptId | None
    removed: bool
    reason: str
    size_bytes: int = 0


@final
class CleanUp:
    """Clean-up of one workspace.

    `is_closed` says of an Attempt whether its hub has answered all that this node had to report of it; it is asked anew
    each time. `nested_too` lets trees go that hold repositories of their own.
    """

    def __init__(self, workspace: Workspace, is_closed: IsClosed, *, nested_too: bool = False) -> None:
        self._workspace = workspace
        self._store = workspace.store
        self._taker = workspace.evidence_taker
        self._is_closed = is_closed
        self._nested_too = nested_too

    async def plan(self) -> list[CleanUpItem]:
        """What `remove` would do now with each thing in `worktrees/`. Changes nothing.

        Raises:
            UnsafePathError: `worktrees` itself is not a real folder.
        """
        return [await self._planned(name) for name in self._store.names()]

    async def remove(self, items: Iterable[CleanUpItem]) -> list[CleanUpItem]:
        """Removes what was planned to be and still may go. Returns what became of each item.

        One that cannot be removed is kept, with the reason; the others go on. Safe to repeat.
        """
        done: list[CleanUpItem] = []
        digests: set[str] = set()
        for item in items:
            if not item.removed or item.attempt_id is None:
                done.append(item)
                continue
            try:
                record = self._store.read(item.attempt_id)
                done.append(await self._removed(item, item.attempt_id, record) if record else item)
                digests |= {record.digest} if record else set()
            except (TenureError, OSError, RecursionError) as error:
                done.append(structs.replace(item, removed=False, reason=f"could not be removed: {error}"))
        for digest in digests:
            await self._repack(digest)
        return done

    async def _planned(self, name: str) -> CleanUpItem:
        attempt_id = attempt_of(name)
        path = self._store.root / WORKTREES / name
        kept = CleanUpItem(
            name=path_text(os.fsencode(name)), path=path, attempt_id=attempt_id, removed=False, reason=""
        )
        if attempt_id is None:
            return structs.replace(kept, reason="it was not made by Tenure")
        try:
            size = await self._size(name) if self._store.is_there(attempt_id) else FolderSize(0)
            record = self._store.read(attempt_id)
            item = structs.replace(kept, size_bytes=size.size_bytes)
            if record is None:
                return structs.replace(item, reason="this node has no record of making it")
            if not await self._is_closed(attempt_id):
                return structs.replace(item, reason="its Attempt is not closed")
            if size.foreign:
                return structs.replace(item, reason=f"{size.foreign} inside it")
            return await self._judged(item, record, keep=False)
        except (TenureError, OSError) as error:
            return structs.replace(kept, reason=str(error))

    async def _size(self, name: str) -> FolderSize:
        measuring = partial(folder_size, self._store.root, WORKTREES, name)
        return await self._workspace.in_executor(measuring)

    async def _judged(self, item: CleanUpItem, record: WorktreeRecord, *, keep: bool) -> CleanUpItem:
        """The item with the verdict on its worktree. With `keep`, and if it may go, its commits are pinned as well."""
        worktree = self._store.worktree(record)
        if record.phase is Phase.MAKING:
            return structs.replace(
                item, removed=True, reason="it is half-made, and nothing was started in it"
            )
        if record.phase is Phase.REMOVING:
            return structs.replace(
                item, removed=True, reason="its commits are pinned and its removal was begun"
            )
        async with self._taker.snapshots.scratch(worktree, keep=keep) as scratch:
            state = await self._taker.state(worktree, scratch)
            if not self._store.is_there(worktree.attempt_id):
                found = (True, "its folder is gone; only the record is left")
            else:
                found = await self._safe_to_delete(worktree, scratch, state)
            if keep and found[0]:
                await self._taker.pinner.pin(worktree, scratch, state.head_sha, None)
        return structs.replace(item, removed=found[0], reason=found[1])

    async def _safe_to_delete(
        self, worktree: Worktree, scratch: Scratch, state: WorktreeState
    ) -> tuple[bool, str]:
        snapshot = state.snapshot
        if not state.head_known:
            return False, "its head cannot be found out"
        if snapshot.problems:
            return False, f"it cannot be read in full: {'; '.join(snapshot.problems)}"
        if snapshot.nested and not self._nested_too:
            return (
                False,
                f"it holds repositories of their own, which are not pinned: {', '.join(snapshot.nested)}",
            )
        pins = await self._taker.pinner.read(worktree)
        clean = snapshot.tree_sha == await self._taker.pinner.tree_of(scratch, state.head_sha)
        stored = pins.head_sha == state.head_sha and (clean or pins.wip_tree == snapshot.tree_sha)
        if stored:
            return True, "its evidence is stored"
        if not clean:
            return False, "it has uncommitted work that is not in stored evidence"
        if await self._is_upstream(worktree, state.head_sha):
            return True, "it is clean, and its commits are upstream"
        return False, "it has commits that are neither upstream nor in stored evidence"

    async def _is_upstream(self, worktree: Worktree, head_sha: str) -> bool:
        if head_sha == worktree.base_sha:
            return True
        options = ("--count=1", "--format=%(refname)", "--contains", head_sha)
        found = await self._workspace.git.ask(
            "look for head upstream", worktree.cache, *("for-each-ref", *options, "refs/remotes")
        )
        return found.ok and bool(found.line)

    async def _removed(self, item: CleanUpItem, attempt_id: AttemptId, record: WorktreeRecord) -> CleanUpItem:
        holder = f"clean-up of Attempt {attempt_id}"
        async with self._workspace.locked(record.digest, holder, LOCK_WAIT_S) as lock:
            if not await self._is_closed(attempt_id):
                return structs.replace(item, removed=False, reason="its Attempt is not closed")
            judged = await self._judged(item, record, keep=True)
            if not judged.removed:
                return judged
            self._store.write(structs.replace(record, phase=Phase.REMOVING))
            worktree = self._store.worktree(record)
            await self._workspace.delete(worktree)
            await self._workspace.git.ask(
                "delete the branch of a removed worktree",
                worktree.cache,
                *("update-ref", "-d", f"refs/heads/{worktree.branch}"),
                keep=(lock,),
            )
            self._store.forget(attempt_id)
            return judged

    async def _repack(self, digest: str) -> None:
        """Packs the cache when git thinks it time, since it never does so by itself here. Prunes nothing that a reflog names."""
        settings = (
            f"gc.auto={LOOSE_OBJECTS}",
            "gc.autoDetach=false",
            "gc.reflogExpire=never",
            "gc.reflogExpireUnreachable=never",
            "gc.worktreePruneExpire=never",
        )
        words = [word for setting in settings for word in ("-c", setting)]
        with suppress(TenureError):  # only a service to later calls
            async with self._workspace.locked(digest, "packing", LOCK_WAIT_S) as lock:
                await self._workspace.git.ask(
                    "pack the cache",
                    self._store.cache(digest),
                    *(*words, "gc", "--auto", "--quiet"),
                    timeout_s=REPACK_TIMEOUT_S,
                    keep=(lock,),
                )
