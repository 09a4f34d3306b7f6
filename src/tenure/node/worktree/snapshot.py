"""The content of a worktree as a git tree, taken without touching the worktree's own repository.

Git runs with a git directory of ours (`scratch/…`), a copy of the worktree's index and the agent's folder as
work tree. So it does not matter what the agent did to its repository: a left-over `index.lock`, a rebase
under way, a deleted `.git`, hooks, filters or a file monitor in its configuration. Nothing of the worktree or
its index is written. New objects go into the cache, or, for a look without consequences, into the scratch
folder.

The index is copied because it knows which files are unchanged; reading all files again would take minutes in
a large repository. Its marks "assume unchanged" and "skip worktree" are taken back where they hide a file
that is there.

Not part of a snapshot: what `.gitignore` excludes, and what lies in repositories of their own inside the
worktree (those are named).
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import AsyncGenerator, Generator
from concurrent.futures import Executor
from functools import partial
from pathlib import Path
from typing import final

from msgspec import Struct

from tenure.errors import TenureError
from tenure.node.worktree.store_folder import delete_folder
from tenure.node.worktree.worktree import SCRATCH, Worktree, WorktreeStore, folder_name
from tenure.runtime.git import Git, path_text, split_z

SNAPSHOT_TIMEOUT_S = 300.0
LIST_BYTES = 67_108_864
"""All paths of a repository with half a million files."""
NAMES = 50
"""Names of a list that evidence keeps; the count is of all."""

_GITLINK = b"160000"


class Snapshot(Struct, frozen=True, kw_only=True):
    """The tree, and what it cannot hold.

    `tree_sha` is None when no tree could be made. `nested` names repositories of their own inside the
    worktree. `problems` says in words why the tree is not all there is; empty means it is.
    """

    tree_sha: str | None = None
    untracked_count: int = 0
    untracked: tuple[str, ...] = ()
    nested: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        return self.tree_sha is not None and not self.problems and not self.nested


class Scratch(Struct, frozen=True):
    """A git directory of ours for one call, and the variables that make git use it."""

    folder: Path
    environment: dict[str, str]


@final
class Snapshots:
    """Takes snapshots. Any number may run side by side, of one worktree too."""

    def __init__(self, store: WorktreeStore, git: Git, executor: Executor) -> None:
        self._store = store
        self._git = git
        self._executor = executor

    @contextlib.asynccontextmanager
    async def scratch(self, worktree: Worktree, *, keep: bool) -> AsyncGenerator[Scratch]:
        """A scratch git directory over the cache's objects. With `keep`, new objects go into the cache, else
        they vanish.

        Raises:
            StorageFullError: the disk is full.
            GitFailedError: git refused.
            OSError: the scratch folder cannot be made.
        """
        with _scratch_folder(self._store.root / SCRATCH, folder_name(worktree.attempt_id)) as folder:
            # `init` finds out what the file system can do (file modes, case), which decides what counts as a change.
            await self._git.must(
                "make a scratch repository",
                folder,
                *("init", "--quiet", "--template=", "--object-format=sha1", "--", "own"),
            )
            own = folder / "own" / ".git"
            shallow = worktree.cache / "shallow"
            if shallow.exists():
                shutil.copyfile(shallow, own / "shallow")
            objects = {"GIT_ALTERNATE_OBJECT_DIRECTORIES": str(worktree.cache / "objects")}
            if keep:
                objects = {"GIT_OBJECT_DIRECTORY": str(worktree.cache / "objects")}
            index = {"GIT_INDEX_FILE": str(own / "index"), "GIT_WORK_TREE": str(worktree.path)}
            yield Scratch(folder, {"GIT_DIR": str(own), **index, **objects})

    async def take(self, worktree: Worktree, scratch: Scratch, head_sha: str) -> Snapshot:
        """The snapshot; whatever goes wrong is told in it.

        The caller has checked that the worktree's folder is a real one.
        """
        problems: list[str] = []
        untracked: list[bytes] = []
        nested: list[bytes] = []
        tree_sha = None
        try:
            nested += await self._load_index(worktree, scratch, head_sha, problems)
            found = await self._list(worktree, scratch, problems, "--others", "--exclude-standard")
            nested += [name for name in found if name.endswith(b"/")]
            untracked = [name for name in found if not name.endswith(b"/")]
            tree_sha = await self._write_tree(worktree, scratch, problems)
        except (TenureError, OSError) as error:
            problems.append(str(error))
        return Snapshot(
            tree_sha=tree_sha,
            untracked_count=len(untracked),
            untracked=tuple(path_text(name) for name in untracked[:NAMES]),
            nested=tuple(path_text(name) for name in nested[:NAMES]),
            problems=tuple(problems),
        )

    async def _load_index(
        self, worktree: Worktree, scratch: Scratch, head_sha: str, problems: list[str]
    ) -> list[bytes]:
        """Fills the scratch index and returns the submodules that have been filled with files."""
        own = Path(scratch.environment["GIT_DIR"])
        copying = partial(_copy_index, worktree.admin, own)
        await asyncio.get_running_loop().run_in_executor(self._executor, copying)
        readable = await self._git.ask(
            "read the index",
            worktree.path,
            *("ls-files", "--cached", "-z"),
            env=scratch.environment,
            output_bytes=1,
        )
        if not readable.ok or readable.size == 0:
            # Missing, damaged, or emptied: start from the last commit and read every file.
            (own / "index").unlink(missing_ok=True)
            await self._git.must(
                "read the last commit", worktree.path, "read-tree", head_sha, env=scratch.environment
            )
        entries = await self._list(worktree, scratch, problems, "--stage", "-v")
        await self._take_back_marks(worktree, scratch, entries)
        links = [_path_of(entry) for entry in entries if entry[2:].startswith(_GITLINK)]
        return [link for link in links if _exists(worktree.path, link + b"/.git")]

    async def _take_back_marks(self, worktree: Worktree, scratch: Scratch, entries: list[bytes]) -> None:
        """Makes git look at files it was told to pass over. An absent one stays passed over: that is a sparse checkout."""
        marked = {
            "--no-assume-unchanged": [_path_of(entry) for entry in entries if entry[:1].islower()],
            "--no-skip-worktree": [
                _path_of(entry)
                for entry in entries
                if entry[:1] in b"Ss" and _exists(worktree.path, _path_of(entry))
            ],
        }
        for option, paths in marked.items():
            if paths:
                await self._git.must(
                    "look at files marked as unchanged",
                    worktree.path,
                    *("update-index", option, "-z", "--stdin"),
                    env=scratch.environment,
                    stdin=b"".join(path + b"\0" for path in paths),
                )

    async def _write_tree(self, worktree: Worktree, scratch: Scratch, problems: list[str]) -> str:
        added = await self._git.ask(
            "read the worktree",
            worktree.path,
            *("add", "--all", "--ignore-errors", "--", "."),
            env=scratch.environment,
            timeout_s=SNAPSHOT_TIMEOUT_S,
        )
        if not added.ok:
            problems.append(f"not every file could be read: {added.error}")
        written = await self._git.must(
            "write a tree", worktree.path, "write-tree", env=scratch.environment, timeout_s=SNAPSHOT_TIMEOUT_S
        )
        return written.line

    async def _list(
        self, worktree: Worktree, scratch: Scratch, problems: list[str], *options: str
    ) -> list[bytes]:
        listed = await self._git.must(
            "list files",
            worktree.path,
            *("ls-files", "-z", *options),
            env=scratch.environment,
            timeout_s=SNAPSHOT_TIMEOUT_S,
            output_bytes=LIST_BYTES,
        )
        if listed.truncated:
            problems.append(
                f"the list of files is longer than {LIST_BYTES} bytes; counts are of its beginning"
            )
        return split_z(listed.output, truncated=listed.truncated)


def sweep_scratch(store: WorktreeStore) -> None:
    """Deletes what calls left in the scratch folder when their process died. Blocks; call it at the start of a node."""
    top = store.root / SCRATCH
    with _locked_folder(top, fcntl.LOCK_EX):
        for name in [entry.name for entry in os.scandir(top)]:
            with (
                contextlib.suppress(OSError, TenureError),
                _locked_folder(top / name, fcntl.LOCK_EX | fcntl.LOCK_NB),
            ):
                delete_folder(store.root, SCRATCH, name)


@contextlib.contextmanager
def _scratch_folder(top: Path, prefix: str) -> Generator[Path]:
    """A new folder, locked for as long as it is used, so that `sweep_scratch` can tell it from a left-over."""
    with contextlib.ExitStack() as stack:
        with _locked_folder(top, fcntl.LOCK_SH):
            folder = Path(tempfile.mkdtemp(prefix=f"{prefix}-", dir=top))
            stack.callback(shutil.rmtree, folder, ignore_errors=True)
            stack.enter_context(_locked_folder(folder, fcntl.LOCK_SH))
        yield folder


@contextlib.contextmanager
def _locked_folder(folder: Path, how: int) -> Generator[None]:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, how)
        yield
    finally:
        os.close(descriptor)


def _copy_index(admin: Path, own: Path) -> None:
    """Copies the index, and the part that a split index keeps beside it, where there is one."""
    with contextlib.suppress(FileNotFoundError):
        for shared in admin.glob("sharedindex.*"):
            shutil.copyfile(shared, own / shared.name, follow_symlinks=False)
        shutil.copyfile(admin / "index", own / "index", follow_symlinks=False)


def _path_of(entry: bytes) -> bytes:
    return entry.partition(b"\t")[2]


def _exists(top: Path, path: bytes) -> bool:
    return os.path.lexists(os.fsencode(top) + b"/" + path)
