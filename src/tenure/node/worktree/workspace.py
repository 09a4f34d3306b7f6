"""The worktrees of this node: one per Attempt, made from a cached clone, each step safe to repeat.

`prepare` runs under a lock of the repository: calls for one repository queue up, those for different ones go
side by side. It writes the record `making`, lets git make the tree, then writes `ready` (see
`node/worktree/worktree.py`). After a crash half-way:

- before `making`: nothing of the Attempt exists;
- in `making`: nobody can have started in the tree, since `prepare` has not returned. It is deleted and made
  again, branch included;
- in `ready`: the tree is returned as it is and never touched, because an agent may be at work in it.

A tree that is `ready` from an earlier boot may have lost file contents in a power cut (git does not sync the
files of a checkout). Whoever calls `prepare` has started nothing in it; so what it holds is pinned, and it is
made again.

Git runs here with the hooks, file monitor and the like of the cache turned off, since every agent on the
cache could have set them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from concurrent.futures import Executor
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TypeVar, final

from msgspec import Struct, structs

from tenure.core.ids import AttemptId
from tenure.errors import ConflictError, TenureError, WorkspaceBusyError
from tenure.node.worktree.evidence import PATCH_BYTES, Evidence, EvidenceTaker
from tenure.node.worktree.own_repository import Owner, OwnRepositories
from tenure.node.worktree.pin import Pins
from tenure.node.worktree.repository_cache import (
    FETCH_TIMEOUT_S,
    RepositoryCache,
    RepositorySource,
    repository_source,
)
from tenure.node.worktree.snapshot import sweep_scratch
from tenure.node.worktree.store_folder import delete_folder
from tenure.node.worktree.worktree import (
    ADMIN_FOLDER,
    OWN,
    REPOS,
    WORKTREES,
    Phase,
    Worktree,
    WorktreeRecord,
    WorktreeStore,
    branch_name,
    checked_sha,
    folder_name,
    pin_name,
)
from tenure.runtime.file_lock import file_lock
from tenure.runtime.git import CACHE_OVERRIDES, Git
from tenure.runtime.process import RunChild, run_child

CHECKOUT_TIMEOUT_S = 900.0
AGENT_NAME = "Tenure agent"
AGENT_EMAIL = "agent@tenure.invalid"

T = TypeVar("T")


class WorkspaceLimits(Struct, frozen=True, kw_only=True):
    """How long things may take, in seconds. A wait for the lock must outlast a fetch by another."""

    lock_wait_s: float = FETCH_TIMEOUT_S + CHECKOUT_TIMEOUT_S
    fetch_s: float = FETCH_TIMEOUT_S
    checkout_s: float = CHECKOUT_TIMEOUT_S


class WorkspaceTools(Struct, frozen=True, kw_only=True):
    """What the workspace is handed: an executor for calls that block, how to run a child, git's name, and this boot's id."""

    environment: Mapping[str, str]
    executor: Executor
    boot_id: str
    run: RunChild = run_child
    git: str = "git"


@final
class Workspace:
    """The worktrees in one node's store. Several may be open on one store, in one process or several."""

    def __init__(self, root: Path, tools: WorkspaceTools, limits: WorkspaceLimits | None = None) -> None:
        self.store = WorktreeStore(root)
        self.store.open()
        self.git = Git(tools.environment, CACHE_OVERRIDES, run=tools.run, program=tools.git)
        self.evidence_taker = EvidenceTaker(self.store, self.git, tools.executor)
        self._own = OwnRepositories(self.store, self.git, self.evidence_taker.snapshots, self.in_executor)
        self._tools = tools
        self._limits = limits or WorkspaceLimits()
        # In one process calls take their turns by this, in order and without polling; between processes by the file.
        self._turns: dict[str, asyncio.Lock] = {}
        self._caches = RepositoryCache(self.store, self.git, self._limits.fetch_s)
        sweep_scratch(self.store)

    async def prepare(
        self, repository: str, base_sha: str, attempt_id: AttemptId, earlier: AttemptId | None = None
    ) -> Worktree:
        """The worktree of an Attempt, with its branch checked out at the base; made if it is not there.

        With `earlier` it begins with what that Attempt left: its commits and its uncommitted work, as they were pinned on
        this node; at the base where nothing was. What is told of its own work still counts from the base.

        May be called again for the same Attempt, by several at once, and after a crash anywhere in it. Call
        it only for an Attempt in which nothing was started.

        Raises:
            RepositoryNotFoundError: the address is wrong or cannot be reached; the fact `reason` says which.
            BaseNotFoundError: the repository has no such commit.
            WorkspaceBusyError: another one held the repository's lock for too long.
            StorageFullError: the disk is full; what was begun has been deleted as far as possible.
            UnsafePathError: something that is not this Attempt's worktree stands in its place.
            ConflictError: the Attempt has a worktree of another repository or base.
            GitFailedError: git refused for another reason.
            GitTimeoutError: git took too long.
        """
        source = repository_source(repository)
        checked_sha(base_sha)
        wanted = WorktreeRecord(
            attempt_id=attempt_id,
            phase=Phase.MAKING,
            digest=source.digest,
            repository=source.shown,
            base_sha=base_sha,
            environment={},
            boot_id=self._tools.boot_id,
        )
        ready = self._ready(wanted)
        if ready:
            return ready
        async with self.locked(source.digest, f"Attempt {attempt_id}") as lock:
            ready = self._ready(wanted)  # another call may have made it while this one waited
            return ready or await self._made(source, wanted, earlier, lock)

    def find(self, attempt_id: AttemptId) -> Worktree | None:
        """The finished worktree of an Attempt, as it is; None where `prepare` has not returned one, or it was
        removed.

        Raises:
            UnsafePathError: the id is not an Attempt's, or something else stands in the worktree's place.
            ConflictError: the record cannot be read.
        """
        record = self.store.read(attempt_id)
        if record is None or record.phase is not Phase.READY or not self.store.is_there(attempt_id):
            return None
        return self.store.worktree(record)

    async def evidence(self, worktree: Worktree, patch_bytes: int = PATCH_BYTES) -> Evidence:
        """What the worktree holds now, pinned. Never fails: see `node/worktree/evidence.py`.

        Work in a repository of its own is taken back first; call it when the run is over."""
        try:
            if self._own.exists(worktree):
                await self._own.take_back(worktree)
        except (TenureError, OSError) as error:
            evidence = await self.evidence_taker.take(worktree, patch_bytes)
            told = f"the agent's own repository could not be taken back: {error}"
            problem = "; ".join(part for part in (told, evidence.problem) if part)
            return structs.replace(evidence, stored=False, problem=problem)
        return await self.evidence_taker.take(worktree, patch_bytes)

    async def separate(self, worktree: Worktree, owner: Owner | None) -> Path:
        """Gives the worktree a repository of its own, so that nothing done in it reaches the cache; see
        `node/worktree/own_repository.py`. Returns that repository's folder.

        Raises:
            TenureError: git refused, or the disk is full.
            OSError: a file cannot be made, or given to its owner.
        """
        return await self._own.make(worktree, owner)

    def cache(self, repository: str) -> Path:
        """Where the cache of a repository is, from which results are fetched by the pins' names; it may not
        exist.

        Raises:
            RepositoryNotFoundError: the address is wrong.
        """
        return self.store.cache(repository_source(repository).digest)

    @asynccontextmanager
    async def locked(self, digest: str, holder: str, wait_s: float | None = None) -> AsyncGenerator[int]:
        """Holds the lock of one repository, waited for at most `wait_s`; yields the descriptor for git to
        keep.

        Raises:
            WorkspaceBusyError: another one held it for too long.
        """
        bound = self._limits.lock_wait_s if wait_s is None else wait_s
        turn = self._turns.setdefault(digest, asyncio.Lock())
        try:
            async with asyncio.timeout(bound):
                await turn.acquire()
        except TimeoutError as error:
            raise WorkspaceBusyError(
                f"another call of this process worked on the repository for {bound:g} s; try again later",
                waited_s=bound,
            ) from error
        try:
            async with file_lock(self.store.lock(digest), bound, holder) as lock:
                yield lock
        finally:
            turn.release()

    async def delete(self, worktree: Worktree) -> None:
        """Deletes the worktree's folder and git's entry for it, whatever they hold; the branch and the pins
        stay. Under the lock.

        Raises:
            UnsafePathError: something else stands in the place of either; nothing outside the store was
                touched.
            OSError: a part cannot be deleted.
        """
        await self.in_executor(partial(self._delete_folders, worktree))

    async def in_executor(self, work: Callable[[], T]) -> T:
        """Runs a blocking call elsewhere, so that leases are renewed meanwhile."""
        return await asyncio.get_running_loop().run_in_executor(self._tools.executor, work)

    def _ready(self, wanted: WorktreeRecord) -> Worktree | None:
        record = self.store.read(wanted.attempt_id)
        if record is None:
            return None
        if (record.digest, record.base_sha) != (wanted.digest, wanted.base_sha):
            raise ConflictError(
                f"Attempt {wanted.attempt_id} has a worktree of {record.repository} at {record.base_sha}, and is now to"
                f" have one of {wanted.repository} at {wanted.base_sha}",
                attempt_id=wanted.attempt_id,
            )
        return self.find(wanted.attempt_id) if record.boot_id == wanted.boot_id else None

    async def _made(
        self, source: RepositorySource, wanted: WorktreeRecord, earlier: AttemptId | None, lock: int
    ) -> Worktree:
        await self._caches.ensure(source, lock)
        await self._caches.ensure_commit(source, wanted.base_sha, lock)
        await self._unmake(wanted)
        record = structs.replace(wanted, environment=await self._identity(source))
        self.store.write(record)
        worktree = self.store.worktree(record)
        try:
            left = await self.evidence_taker.pinner.left_by(worktree, earlier) if earlier else Pins()
            await self._add(worktree, left.head_sha or worktree.base_sha, lock)
            if left.wip_sha:
                await self._put_back(worktree, left.wip_sha, lock)
        except BaseException:
            # Gives the space back at once; the next call would do the same.
            with suppress(TenureError, OSError):
                await self.delete(worktree)
            raise
        self.store.write(structs.replace(record, phase=Phase.READY))
        return worktree

    async def _unmake(self, wanted: WorktreeRecord) -> None:
        """Clears the place: of a half-made tree, or of one from before a reboot once its content is pinned.

        Raises:
            UnsafePathError: what stands there was not made by this node.
            ConflictError: it holds work that cannot be pinned.
        """
        there = self.store.is_there(wanted.attempt_id)
        record = self.store.read(wanted.attempt_id)
        worktree = self.store.worktree(record or wanted)
        if record is None and there:
            raise ConflictError(
                f"{worktree.path} exists, but this node has no record of making it; look at it and move it away",
                path=str(worktree.path),
            )
        if record and record.phase is Phase.READY:
            evidence = await self.evidence(worktree, patch_bytes=0)
            if there and not evidence.stored:
                raise ConflictError(
                    f"{worktree.path} is from before a reboot and cannot be pinned ({evidence.problem}); look at it and"
                    " move it away",
                    path=str(worktree.path),
                )
        await self.delete(worktree)

    def _delete_folders(self, worktree: Worktree) -> None:
        name = folder_name(worktree.attempt_id)
        delete_folder(self.store.root, WORKTREES, name)
        delete_folder(self.store.root, OWN, name)
        # Without its entry in the cache git would take the branch for checked out and refuse to make the tree again.
        delete_folder(self.store.root, REPOS, worktree.cache.name, ADMIN_FOLDER, name)

    async def _add(self, worktree: Worktree, start_sha: str, lock: int) -> None:
        """Has git make the tree. It is locked in git's sense, so that no `git worktree prune` of an agent takes it away."""
        name = worktree.attempt_id
        tip = await self.evidence_taker.pinner.branch_tip(worktree)
        if tip and tip not in {worktree.base_sha, start_sha}:
            await self.git.must(
                "pin a branch that is made anew",
                worktree.cache,
                "update-ref",
                pin_name(name, f"former/{tip}"),
                tip,
            )
        options = ("--lock", "--reason", f"Tenure: Attempt {name}", "-B", branch_name(name))
        await self.git.must(
            f"make the worktree of Attempt {name}",
            worktree.cache,
            *("-c", "worktree.guessRemote=false", "worktree", "add", "--quiet", *options),
            *("--", str(worktree.path), start_sha),
            timeout_s=self._limits.checkout_s,
            keep=(lock,),
        )
        await self.git.must(
            "pin the base",
            worktree.cache,
            "update-ref",
            pin_name(name, "base"),
            worktree.base_sha,
            keep=(lock,),
        )

    async def _put_back(self, worktree: Worktree, wip_sha: str, lock: int) -> None:
        """Makes the files those of a pinned commit of uncommitted work; to git they are uncommitted again."""
        environment = {"GIT_DIR": str(worktree.admin), "GIT_WORK_TREE": str(worktree.path)}
        for words in (("--reset", "-u", f"{wip_sha}^{{tree}}"), ("HEAD",)):
            await self.git.must(
                "put uncommitted work back",
                worktree.path,
                *("read-tree", *words),
                env=environment,
                timeout_s=self._limits.checkout_s,
                keep=(lock,),
            )

    async def _identity(self, source: RepositorySource) -> dict[str, str]:
        """What git would not find out by itself: an identity that only the user's own repository has, or a stand-in
        where there is none at all.
        """
        known = self.git.environment
        found: dict[str, str] = {}
        for part, fallback in (("name", AGENT_NAME), ("email", AGENT_EMAIL)):
            value = await self._setting(source.folder or self.store.root, f"user.{part}")
            everywhere = await self._setting(self.store.root, f"user.{part}")
            for role in ("AUTHOR", "COMMITTER"):
                variable = f"GIT_{role}_{part.upper()}"
                if variable not in known and (value != everywhere or not value):
                    found[variable] = value or fallback
        return found

    async def identity(self) -> dict[str, str]:
        """Who commits, in full: for an agent that cannot read the user's own settings.

        Raises:
            TenureError: git cannot be run.
        """
        found: dict[str, str] = {}
        for part, fallback in (("name", AGENT_NAME), ("email", AGENT_EMAIL)):
            value = await self._setting(self.store.root, f"user.{part}") or fallback
            found |= {f"GIT_{role}_{part.upper()}": value for role in ("AUTHOR", "COMMITTER")}
        return found

    async def _setting(self, at: Path, name: str) -> str:
        """A git setting as it holds in a folder, which need not be in a repository; empty where it is not set."""
        outside = {"GIT_CEILING_DIRECTORIES": str(self.store.root.parent)}
        found = await self.git.ask("read the user's settings", at, "config", "--get", name, env=outside)
        return found.line if found.ok else ""
