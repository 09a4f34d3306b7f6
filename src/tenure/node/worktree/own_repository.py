"""A repository of an Attempt's own, for an agent that must not touch the cache which all Attempts share.

Under the isolations `user` and `sandbox` the worktree's file `.git` names `own/<task>-<n>/`, a complete git directory: the
agent may write settings, hooks and refs there as it likes, and nobody else ever runs git in it. The cache's objects are
seen through `objects/info/alternates` (a sandbox binds them read-only), or linked (files of the node's user that another
user can read and not change).

When the run is over `take_back` brings the work home, and from then on the worktree is like any other. What lies in the
own repository is the agent's word, so none of it is trusted:

- nothing in it is opened through a link, and git never runs with its settings, hooks or alternates;
- objects are copied as plain files into a scratch repository, packs are indexed anew, and the cache *fetches* from there,
  which computes each object's name from its content and asks for all that a commit needs;
- of refs, HEAD and reflog only full commit ids are read, and they count only if those commits are there.

The folder is deleted last; so one that is there has not been taken back, and after a crash half-way it is done again.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import stat
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, final

from msgspec import Struct

from tenure.errors import ConflictError, TooLargeError, UnsafePathError
from tenure.node.worktree.pin import REFLOG_BYTES
from tenure.node.worktree.repository_cache import PRISTINE_CONFIG
from tenure.node.worktree.snapshot import Scratch, Snapshots
from tenure.node.worktree.store_folder import delete_folder, is_real_folder, opened_folder
from tenure.node.worktree.worktree import OWN, WORKTREES, Worktree, WorktreeStore, folder_name, pin_name
from tenure.runtime.git import Git

MAX_OBJECTS_BYTES = 8 << 30
"""New objects of one Attempt; more is refused, since they are copied before they are looked at."""
BLOCK_BYTES = 4_096
"""What the smallest object counts for: it takes a block, and without this there would be no end to empty ones."""
TAKE_BACK_TIMEOUT_S = 900.0
REFS = 2_000
"""Refs of an agent that are read."""
LINE_BYTES = 4_096

_SHA = re.compile(r"[0-9a-f]{40}")
_OBJECT_FOLDER = re.compile(r"[0-9a-f]{2}|pack")
_LOOSE = re.compile(r"[0-9a-f]{38}")
_PACK = re.compile(r"pack-[0-9a-f]{40}\.pack")
_BRANCH = re.compile(r"ref: (refs/heads/[^\s\x00-\x1f\x7f]+)")
_WHO = "Tenure <tenure@localhost.invalid> 0 +0000"
_READABLE = 0o444
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC

InExecutor = Callable[[Callable[[], Any]], Awaitable[Any]]


class Owner(Struct, frozen=True):
    """The user who is to own a worktree and its repository."""

    uid: int
    gid: int


class Said(Struct, frozen=True, kw_only=True):
    """What the own repository says: where HEAD and the Attempt's branch are, and all commit ids it names."""

    head_sha: str
    is_on_branch: bool
    branch_sha: str | None
    named: frozenset[str]
    moves: frozenset[str]


@final
class OwnRepositories:
    """Makes them, and takes back what was done in them."""

    def __init__(self, store: WorktreeStore, git: Git, snapshots: Snapshots, in_executor: InExecutor) -> None:
        self._store = store
        self._git = git
        self._snapshots = snapshots
        self._in_executor = in_executor

    def path(self, worktree: Worktree) -> Path:
        return self._store.root / OWN / folder_name(worktree.attempt_id)

    def exists(self, worktree: Worktree) -> bool:
        """Is there one, so that its work has not been taken back yet?

        Raises:
            UnsafePathError: something else stands in its place.
        """
        return is_real_folder(self._store.root, OWN, folder_name(worktree.attempt_id))

    async def make(self, worktree: Worktree, owner: Owner | None) -> Path:
        """Gives a worktree, in which nothing was started, a repository of its own; returns its folder. Repeatable.

        `owner`: who is to own both, and then the objects are linked; None: the node's own user, over alternates.

        Raises:
            GitFailedError: git refused.
            StorageFullError: the disk is full.
            OSError: a file cannot be made, or given to its owner.
        """
        path = self.path(worktree)
        await self._in_executor(partial(delete_folder, self._store.root, OWN, path.name))
        path.mkdir(mode=0o700)
        init = ("init", "--quiet", "--bare", "--template=", "--object-format=sha1", "--", str(path))
        await self._git.must("make an Attempt's own repository", path.parent, *init)
        await self._in_executor(partial(fill, worktree, path, owner))
        await self._git.must(
            "set up an own repository", path, "config", "--file", str(path / "config"), "core.bare", "false"
        )
        await self._copy_refs(worktree, path)
        await self._in_executor(partial(self._hand_over, worktree, path, owner))
        return path

    async def take_back(self, worktree: Worktree) -> None:
        """Brings commits, branch and reflog into the cache, and makes the worktree one of the cache again.

        Raises:
            ConflictError: HEAD names no commit that is there.
            TooLargeError: there are too many new objects.
            UnsafePathError: a link or a special file stands in the way.
            GitFailedError: the objects are damaged or incomplete.
            StorageFullError: the disk is full.
            OSError: a file cannot be read or written.
        """
        said = await self._in_executor(partial(self._said, worktree))
        async with self._snapshots.scratch(worktree, keep=False) as scratch:
            await self._copy_objects(worktree, scratch)
            commits = await self._commits(scratch, said)
            if said.head_sha not in commits:
                raise ConflictError(f"HEAD of the own repository names {said.head_sha}, which is not there")
            await self._fetch(worktree, scratch, sorted(commits))
        branch = said.branch_sha if said.branch_sha in commits else None
        await self._move(worktree, said, branch)
        await self._in_executor(partial(self._come_home, worktree, sorted(said.moves & commits)))

    # -- making

    async def _copy_refs(self, worktree: Worktree, path: Path) -> None:
        listed = await self._git.must(
            "list upstream branches",
            worktree.cache,
            *("for-each-ref", "--format=create %(refname) %(objectname)", "refs/remotes"),
        )
        lines = listed.output + f"create refs/heads/{worktree.branch} {worktree.base_sha}\n".encode()
        await self._git.must(
            "copy upstream branches", path, "update-ref", "--stdin", stdin=lines, env={"GIT_DIR": str(path)}
        )
        (path / "HEAD").write_text(f"ref: refs/heads/{worktree.branch}\n")

    def _hand_over(self, worktree: Worktree, path: Path, owner: Owner | None) -> None:
        self._point(worktree, path)
        worktree.path.chmod(0o700)
        if owner is not None:
            give_tree(path, owner)
            give_tree(worktree.path, owner)

    def _point(self, worktree: Worktree, git_folder: Path) -> None:
        """Replaces the worktree's file `.git`, whatever a link there may lead to."""
        with opened_folder(self._store.root, WORKTREES, folder_name(worktree.attempt_id)) as folder:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(".git.new", dir_fd=folder)
            how = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            with os.fdopen(os.open(".git.new", how, 0o644, dir_fd=folder), "wb") as file:
                file.write(b"gitdir: " + os.fsencode(git_folder) + b"\n")
            os.rename(".git.new", ".git", src_dir_fd=folder, dst_dir_fd=folder)

    # -- taking back

    def _said(self, worktree: Worktree) -> Said:
        """Reads what it says, through no link.

        Raises:
            ConflictError: its HEAD names nothing.
        """
        refs = dict(self._refs(worktree))
        own = f"refs/heads/{worktree.branch}"
        head = self._read(worktree, LINE_BYTES, "HEAD").decode("utf-8", "replace").strip()
        symbolic = _BRANCH.fullmatch(head)
        head_sha = refs.get(symbolic[1]) if symbolic else head
        if head_sha is None or not _SHA.fullmatch(head_sha):
            raise ConflictError(f"HEAD of the Attempt's own repository names no commit ({head[:80]!r})")
        reflog = self._read(worktree, REFLOG_BYTES, "logs", "HEAD").decode("utf-8", "replace")
        moves = {
            word for line in reflog.splitlines() for word in line.split(" ", 2)[:2] if _SHA.fullmatch(word)
        }
        return Said(
            head_sha=head_sha,
            is_on_branch=symbolic is not None and symbolic[1] == own,
            branch_sha=refs.get(own),
            named=frozenset({head_sha, *refs.values(), *moves} - {"0" * 40}),
            moves=frozenset(moves),
        )

    def _refs(self, worktree: Worktree) -> Iterator[tuple[str, str]]:
        """Refs and where they point; a loose one comes later and outranks a packed one."""
        for line in self._read(worktree, REFLOG_BYTES, "packed-refs").decode("utf-8", "replace").splitlines():
            sha, _, name = line.partition(" ")
            if _SHA.fullmatch(sha) and not name.startswith("refs/remotes/"):
                yield name, sha
        pending: list[tuple[str, ...]] = [("refs",)]
        seen = 0
        while pending:
            at = pending.pop()
            with (
                contextlib.suppress(FileNotFoundError, UnsafePathError),
                self._opened(worktree, *at) as folder,
                os.scandir(folder) as entries,
            ):
                for entry in islice(entries, REFS + 1 - seen):  # an agent may have put millions into it
                    seen += 1
                    if entry.is_dir(follow_symlinks=False) and (*at, entry.name) != ("refs", "remotes"):
                        pending.append((*at, entry.name))
                    elif entry.is_file(follow_symlinks=False):
                        sha = (
                            self._read(worktree, LINE_BYTES, *at, entry.name)
                            .decode("utf-8", "replace")
                            .strip()
                        )
                        if _SHA.fullmatch(sha):
                            yield "/".join((*at, entry.name)), sha
            if seen > REFS:
                return

    def _opened(self, worktree: Worktree, *names: str) -> contextlib.AbstractContextManager[int]:
        return opened_folder(self._store.root, OWN, folder_name(worktree.attempt_id), *names)

    def _read(self, worktree: Worktree, limit: int, *names: str) -> bytes:
        """The end of a plain file; nothing where there is none."""
        *folders, name = names
        with contextlib.suppress(OSError, UnsafePathError), self._opened(worktree, *folders) as folder:
            return read_plain(folder, name, limit)
        return b""

    async def _copy_objects(self, worktree: Worktree, scratch: Scratch) -> None:
        objects = Path(scratch.environment["GIT_DIR"]) / "objects"
        (objects / "info").mkdir(exist_ok=True)
        # In a file too: the git that serves the fetch does not get the variable.
        (objects / "info" / "alternates").write_text(f"{worktree.cache / 'objects'}\n")
        await self._in_executor(partial(self._copy_files, worktree, objects))
        for pack in sorted((objects / "pack").glob("pack-*.pack")):
            await self._git.must(
                "index an agent's pack",
                scratch.folder,
                *("index-pack", str(pack)),
                env=scratch.environment,
                timeout_s=TAKE_BACK_TIMEOUT_S,
            )

    def _copy_files(self, worktree: Worktree, objects: Path) -> None:
        room = MAX_OBJECTS_BYTES
        with self._opened(worktree, "objects") as top, os.scandir(top) as entries:
            names = [
                entry.name
                for entry in entries
                if entry.is_dir(follow_symlinks=False) and _OBJECT_FOLDER.fullmatch(entry.name)
            ]
        for name in names:
            wanted = _PACK if name == "pack" else _LOOSE
            with self._opened(worktree, "objects", name) as folder, os.scandir(folder) as entries:
                for entry in entries:
                    if wanted.fullmatch(entry.name):
                        room -= copy_plain(folder, entry.name, objects / name, room)

    async def _commits(self, scratch: Scratch, said: Said) -> set[str]:
        found = await self._git.must(
            "look at an agent's commits",
            scratch.folder,
            *("cat-file", "--batch-check=%(objectname) %(objecttype)"),
            stdin="".join(f"{sha}\n" for sha in sorted(said.named)).encode(),
            env=scratch.environment,
        )
        pairs = [line.split() for line in found.output.decode().splitlines()]
        return {pair[0] for pair in pairs if pair[1:] == ["commit"]}

    async def _fetch(self, worktree: Worktree, scratch: Scratch, commits: list[str]) -> None:
        lines = "".join(f"create refs/tenure/import/{sha} {sha}\n" for sha in commits)
        await self._git.must(
            "name an agent's commits",
            scratch.folder,
            *("update-ref", "--stdin"),
            stdin=lines.encode(),
            env=scratch.environment,
        )
        await self._git.must(
            "take over an agent's commits",
            worktree.cache,
            *("fetch", "--quiet", "--no-write-fetch-head", "--no-tags", "--", scratch.environment["GIT_DIR"]),
            f"+refs/tenure/import/*:{pin_name(worktree.attempt_id, 'own')}/*",
            timeout_s=TAKE_BACK_TIMEOUT_S,
        )

    async def _move(self, worktree: Worktree, said: Said, branch_sha: str | None) -> None:
        """Moves the branch, HEAD and the index of the worktree to where the agent left its own."""
        if branch_sha is not None:
            name = f"refs/heads/{worktree.branch}"
            await self._git.must("move the branch", worktree.cache, "update-ref", name, branch_sha)
        at = {"GIT_DIR": str(worktree.admin), "GIT_WORK_TREE": str(worktree.path)}
        if not said.is_on_branch:
            words = ("update-ref", "--no-deref", "HEAD", said.head_sha)
            await self._git.must("move HEAD", worktree.cache, *words, env=at)
        # Known files stay known, though `.gitignore` may exclude them; and only what differs is read again.
        await self._git.must("move the index", worktree.cache, "read-tree", "--reset", said.head_sha, env=at)

    def _come_home(self, worktree: Worktree, moves: list[str]) -> None:
        zero = "0" * 40
        with (worktree.admin / "logs" / "HEAD").open("a", encoding="ascii") as file:
            file.writelines(f"{zero} {sha} {_WHO}\ttaken back\n" for sha in moves)
        path = self.path(worktree)
        with (
            contextlib.suppress(OSError, UnsafePathError),
            opened_folder(self._store.root, WORKTREES, folder_name(worktree.attempt_id)) as folder,
        ):
            if read_plain(folder, ".git", LINE_BYTES).strip() == b"gitdir: " + os.fsencode(path):
                self._point(worktree, worktree.admin)
        delete_folder(self._store.root, OWN, path.name)


def fill(worktree: Worktree, path: Path, owner: Owner | None) -> None:
    """Puts in what comes from the cache: settings, objects, index."""
    shutil.copyfile(worktree.cache / PRISTINE_CONFIG, path / "config")
    shutil.copyfile(worktree.admin / "index", path / "index")
    if (worktree.cache / "shallow").exists():
        shutil.copyfile(worktree.cache / "shallow", path / "shallow")
    source, target = worktree.cache / "objects", path / "objects"
    if owner is None:
        (target / "info").mkdir(exist_ok=True)
        (target / "info" / "alternates").write_text(f"{source}\n")
        return
    for folder, _, names in os.walk(source):
        inside = target / Path(folder).relative_to(source)
        inside.mkdir(exist_ok=True)
        for name in names:
            with contextlib.suppress(FileNotFoundError):  # packed meanwhile
                link_or_copy(Path(folder) / name, inside / name)


def link_or_copy(source: Path, target: Path) -> None:
    if source.stat().st_mode & _READABLE == _READABLE:
        target.hardlink_to(source)
    else:
        shutil.copyfile(source, target)


def give_tree(top: Path, owner: Owner) -> None:
    """Gives a folder and all in it to its owner; files that others link to stay whose they are."""
    os.chown(top, owner.uid, owner.gid, follow_symlinks=False)
    for _, folders, files, at in os.fwalk(top, follow_symlinks=False):
        for name in (*folders, *files):
            status = os.stat(name, dir_fd=at, follow_symlinks=False)
            if stat.S_ISDIR(status.st_mode) or status.st_nlink == 1:
                os.chown(name, owner.uid, owner.gid, dir_fd=at, follow_symlinks=False)


def read_plain(folder: int, name: str, limit: int) -> bytes:
    """The end of a plain file in an opened folder.

    Raises:
        UnsafePathError: it is no plain file.
        OSError: it cannot be read; a link is not followed.
    """
    descriptor = os.open(name, _FILE, dir_fd=folder)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise UnsafePathError(f"{name} is not a plain file")
        return os.pread(descriptor, limit, max(0, status.st_size - limit))
    finally:
        os.close(descriptor)


def copy_plain(folder: int, name: str, target: Path, room: int) -> int:
    """Copies a new object file, and returns what it counts for; one that was linked from the cache is left out.

    Raises:
        UnsafePathError: it is no plain file.
        TooLargeError: it has more than `room` bytes.
        OSError: it cannot be read or written.
    """
    with os.fdopen(os.open(name, _FILE, dir_fd=folder), "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise UnsafePathError(f"{name} is not a plain file")
        if status.st_nlink > 1 and status.st_uid == os.geteuid():
            return 0
        if status.st_size > room:
            raise TooLargeError(f"the Attempt made more than {MAX_OBJECTS_BYTES} bytes of git objects")
        target.mkdir(exist_ok=True)
        with (target / name).open("xb") as copy:
            shutil.copyfileobj(file, copy)
    return max(status.st_size, BLOCK_BYTES)
