"""The worktree of one Attempt: its names, its places in the node's store, and the record that says how far it
has come.

    repos/<digest>.git         the bare cache of one repository
    repos/<digest>.lock        taken by whoever changes that cache or its worktrees
    worktrees/<task>-<n>/      the tree of one Attempt, on branch `tenure/<task>/<n>` of the cache
    worktrees/<task>-<n>.json  its record
    own/<task>-<n>/            its own repository, while an isolated agent works in it (`own_repository`)
    scratch/                   git directories of calls under way

Under `refs/tenure/<task>/<n>/` the cache pins what must outlive the tree: `base`, `head`, `wip` (uncommitted
and untracked work as a commit) and `lost` (commits that were head once and are no longer reached from it).

The record is written before the tree is begun (`making`) and after it is finished (`ready`), each time
durably. Hence: a tree without a record is not ours and is never touched; `making` is one that nobody can have
started in, since `prepare` has not returned; in `ready` somebody may work; `removing` is one whose commits
are pinned and which only waits to be deleted.
"""

from __future__ import annotations

import os
import re
from enum import StrEnum
from pathlib import Path
from typing import final

import msgspec
from msgspec import Struct

from tenure.core.ids import AttemptId
from tenure.errors import BaseNotFoundError, ConflictError, UnsafePathError
from tenure.node.worktree.store_folder import is_real_folder, opened_folder
from tenure.runtime.data_folder import sync_folder, write_atomically
from tenure.runtime.stored_json import read_stored

REPOS = "repos"
WORKTREES = "worktrees"
OWN = "own"
SCRATCH = "scratch"
RECORD_SUFFIX = ".json"
RECORD_BYTES = 1 << 20
"""Far more than one says: names, a commit and the environment's own words."""
ADMIN_FOLDER = "worktrees"
"""Inside a git directory: what git itself keeps of each worktree (its HEAD, index and reflog)."""

_ATTEMPT = re.compile(r"(t_[0-9a-z]{1,40})/([1-9][0-9]{0,8})")
_FOLDER_NAME = re.compile(r"t_[0-9a-z]{1,40}-[1-9][0-9]{0,8}")
_SHA = re.compile(r"[0-9a-f]{40}")


class Phase(StrEnum):
    """How far a worktree has come; the module's docstring says what follows from each."""

    MAKING = "making"
    READY = "ready"
    REMOVING = "removing"


class Worktree(Struct, frozen=True, kw_only=True):
    """The worktree of an Attempt.

    `repository` has no user name or password in it. `environment` is to be added to the harness's: an
    identity for commits, where the user has configured none. `boot_id` names the boot of the machine in which
    the tree was made.
    """

    attempt_id: AttemptId
    path: Path
    cache: Path
    repository: str
    base_sha: str
    branch: str
    environment: dict[str, str]
    boot_id: str

    @property
    def admin(self) -> Path:
        """Git's own folder for this worktree inside the cache. It is there even if the agent deletes `.git`."""
        return self.cache / ADMIN_FOLDER / folder_name(self.attempt_id)


class WorktreeRecord(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the store keeps of a worktree; places are derived, so that a moved data folder stays good."""

    attempt_id: AttemptId
    phase: Phase
    digest: str
    repository: str
    base_sha: str
    environment: dict[str, str]
    boot_id: str


@final
class WorktreeStore:
    """The folders and records of the node's store. All calls block; they touch a few small files."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()

    def open(self) -> None:
        """Makes the folders that are missing.

        Raises:
            UnsafePathError: a symbolic link stands in the place of one.
            OSError: one cannot be made.
        """
        for name in (REPOS, WORKTREES, OWN, SCRATCH):
            (self.root / name).mkdir(mode=0o700, parents=True, exist_ok=True)
            is_real_folder(self.root, name)

    def tree(self, attempt_id: AttemptId) -> Path:
        return self.root / WORKTREES / folder_name(attempt_id)

    def cache(self, digest: str) -> Path:
        return self.root / REPOS / f"{digest}.git"

    def lock(self, digest: str) -> Path:
        return self.root / REPOS / f"{digest}.lock"

    def worktree(self, record: WorktreeRecord) -> Worktree:
        return Worktree(
            attempt_id=record.attempt_id,
            path=self.tree(record.attempt_id),
            cache=self.cache(record.digest),
            repository=record.repository,
            base_sha=record.base_sha,
            branch=branch_name(record.attempt_id),
            environment=record.environment,
            boot_id=record.boot_id,
        )

    def read(self, attempt_id: AttemptId) -> WorktreeRecord | None:
        """The record of an Attempt's worktree; None when this store never began one.

        Raises:
            ConflictError: the record cannot be read, or speaks of another Attempt.
        """
        path = self._record_path(attempt_id)
        try:
            record = read_stored(path, WorktreeRecord, RECORD_BYTES)
        except FileNotFoundError:
            return None
        except ValueError as error:
            raise ConflictError(
                f"{path} cannot be read ({error}); look at the worktree beside it and move both away",
                path=str(path),
            ) from error
        if record.attempt_id != attempt_id:
            raise ConflictError(f"{path} speaks of Attempt {record.attempt_id}", path=str(path))
        return record

    def write(self, record: WorktreeRecord) -> None:
        """Replaces the record durably.

        Raises:
            StorageFullError: the disk is full.
            OSError: the write failed for another reason.
        """
        write_atomically(self._record_path(record.attempt_id), msgspec.json.encode(record))

    def forget(self, attempt_id: AttemptId) -> None:
        """Deletes the record durably; one that is missing is deleted already."""
        path = self._record_path(attempt_id)
        path.unlink(missing_ok=True)
        sync_folder(path.parent)

    def names(self) -> list[str]:
        """The names of all that stands in `worktrees/`, records apart, and of records that have no folder any
        more.

        Raises:
            UnsafePathError: `worktrees` is not a real folder.
        """
        with opened_folder(self.root, WORKTREES) as folder:
            found = [entry.name for entry in os.scandir(folder)]
        return sorted({name.removesuffix(RECORD_SUFFIX) for name in found if not name.startswith(".")})

    def is_there(self, attempt_id: AttemptId) -> bool:
        """Does the tree stand where it should?

        Raises:
            UnsafePathError: something else stands in its place.
        """
        return is_real_folder(self.root, WORKTREES, folder_name(attempt_id))

    def _record_path(self, attempt_id: AttemptId) -> Path:
        return self.root / WORKTREES / f"{folder_name(attempt_id)}{RECORD_SUFFIX}"


def folder_name(attempt_id: AttemptId) -> str:
    """`t_…-3` for Attempt `t_…/3`.

    Raises:
        UnsafePathError: it is not the id of an Attempt, so it could lead anywhere.
    """
    found = _ATTEMPT.fullmatch(attempt_id)
    if not found:
        raise UnsafePathError(
            f"{attempt_id!r} is not the id of an Attempt (expected `t_…/3`)", attempt_id=attempt_id
        )
    return f"{found[1]}-{found[2]}"


def attempt_of(name: str) -> AttemptId | None:
    """The Attempt that a folder is named for; None when it is named otherwise."""
    if not _FOLDER_NAME.fullmatch(name):
        return None
    task, _, number = name.rpartition("-")
    return AttemptId(f"{task}/{number}")


def branch_name(attempt_id: AttemptId) -> str:
    """The branch that the agent finds checked out; `tenure fetch` makes one of the same name."""
    folder_name(attempt_id)
    return f"tenure/{attempt_id}"


def pin_name(attempt_id: AttemptId, what: str) -> str:
    """The private ref of the cache that pins `base`, `head`, `wip` or `lost` of an Attempt."""
    folder_name(attempt_id)
    return f"refs/tenure/{attempt_id}/{what}"


def checked_sha(sha: str) -> str:
    """The full commit id, unchanged.

    Raises:
        BaseNotFoundError: it is no full commit id, and might be read as something else.
    """
    if not _SHA.fullmatch(sha):
        raise BaseNotFoundError(
            f"base {sha[:80]!r} is not a full commit id (40 digits of 0-9a-f)", base_sha=sha[:80]
        )
    return sha
