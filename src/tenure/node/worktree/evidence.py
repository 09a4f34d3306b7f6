"""What an Attempt did to its worktree, as facts that can be reported and kept.

Taking evidence reads the worktree and its index and writes neither; it pins the work in the cache
(`node/worktree/pin.py`), and then `stored` is true. It never fails: whatever state the agent left things in, what can
still be said is said, and what cannot stands in `problem`. It may be taken again at any time, also after a
crash half-way, and says and pins the same about the same state.
"""

from __future__ import annotations

import os
import re
from collections.abc import Awaitable
from concurrent.futures import Executor
from typing import TypeVar, final

import msgspec
from msgspec import Struct

from tenure.core.ids import AttemptId
from tenure.errors import TenureError, UnsafePathError
from tenure.node.worktree.pin import Pinner, Pins
from tenure.node.worktree.snapshot import NAMES, SNAPSHOT_TIMEOUT_S, Scratch, Snapshot, Snapshots
from tenure.node.worktree.store_folder import end_of_file
from tenure.node.worktree.worktree import Worktree, WorktreeStore
from tenure.runtime.git import Git, GitResult, path_text, split_z

PATCH_BYTES = 1_048_576
PROBLEM_LENGTH = 4_000
GIT_FILE_BYTES = 8_192
SUBJECT_LENGTH = 200
OTHER_REPOSITORY = (
    "another repository stands in the place of the worktree's file .git; its commits are not pinned"
)

_COMPARE = ("diff-tree", "-r", "-M", "--no-ext-diff", "--no-textconv", "--no-color", "--no-relative")
_SHORT_STAT = re.compile(r"(\d+) ((?:file|insertion|deletion)s?)")

T = TypeVar("T")


class Names(Struct, frozen=True):
    """How many there are, and the first of them."""

    count: int = 0
    first: tuple[str, ...] = ()


class CommitLine(Struct, frozen=True):
    """A commit's id and the first line of its message."""

    sha: str
    subject: str


class Commits(Struct, frozen=True):
    """The commits from base to head, newest first. `descends` is false where head does not come from the base."""

    count: int = 0
    first: tuple[CommitLine, ...] = ()
    descends: bool | None = None


class FileChange(Struct, frozen=True):
    """One changed file. Both counts are None for a binary one; `old_path` is set for a rename."""

    path: str
    insertions: int | None
    deletions: int | None
    old_path: str | None = None


class Changes(Struct, frozen=True):
    """How the worktree differs from the base, uncommitted and untracked work included."""

    files: int = 0
    insertions: int = 0
    deletions: int = 0
    first: tuple[FileChange, ...] = ()


class Patch(Struct, frozen=True):
    """The same difference as text: the beginning of it, the size of the whole, and whether something is missing."""

    text: str = ""
    size_bytes: int = 0
    truncated: bool = False


class Evidence(Struct, frozen=True, kw_only=True):
    """What is known of an Attempt's worktree.

    `head_sha` and `tree_sha` (git's digest of the content, ignored files apart) are None when they could not
    be found out, as is `dirty`. `uncommitted` counts untracked files, too. `wip_sha` is the pinned commit of
    the uncommitted work, `lost_sha` the one that holds commits no longer reached. `nested` names repositories
    of their own inside the worktree; they are not pinned. `stored`: head, uncommitted work and lost commits
    are pinned and nothing was left out.
    """

    attempt_id: AttemptId
    base_sha: str
    head_sha: str | None = None
    tree_sha: str | None = None
    wip_sha: str | None = None
    lost_sha: str | None = None
    commits: Commits = Commits()
    changes: Changes = Changes()
    dirty: bool | None = None
    uncommitted: Names = Names()
    untracked: Names = Names()
    nested: tuple[str, ...] = ()
    patch: Patch = Patch()
    stored: bool = False
    problem: str | None = None


class WorktreeState(Struct, frozen=True, kw_only=True):
    """Head and content of a worktree, and what is wrong with it.

    Where head cannot be found out, `head_known` is false and the base stands in its place for comparisons.
    """

    head_sha: str
    head_known: bool
    snapshot: Snapshot
    problems: tuple[str, ...]


@final
class EvidenceTaker:
    """Takes evidence. Any number may run side by side; it waits for no lock."""

    def __init__(self, store: WorktreeStore, git: Git, executor: Executor) -> None:
        self._store = store
        self._git = git
        self.snapshots = Snapshots(store, git, executor)
        self.pinner = Pinner(git)

    async def take(self, worktree: Worktree, patch_bytes: int = PATCH_BYTES) -> Evidence:
        """The evidence of this moment, pinned in the cache. `patch_bytes` bounds the text of the patch."""
        problems: list[str] = []
        try:
            async with self.snapshots.scratch(worktree, keep=True) as scratch:
                return await self._taken(worktree, scratch, patch_bytes, problems)
        except (TenureError, OSError) as error:
            problems.append(str(error))
        return Evidence(
            attempt_id=worktree.attempt_id, base_sha=worktree.base_sha, problem=_problem_text(problems)
        )

    async def state(self, worktree: Worktree, scratch: Scratch) -> WorktreeState:
        """Head and content as they are; what is wrong with them is told in the answer."""
        problems: list[str] = []
        found = await self._head(worktree, problems)
        head_sha = found or worktree.base_sha
        try:
            if self._store.is_there(worktree.attempt_id):
                snapshot = await self.snapshots.take(worktree, scratch, head_sha)
                state_of_file = _git_file_problem(worktree)
                if state_of_file == OTHER_REPOSITORY:
                    snapshot = msgspec.structs.replace(snapshot, nested=(".", *snapshot.nested))
                problems += [state_of_file] if state_of_file else []
            else:
                snapshot = Snapshot(problems=(f"the worktree {worktree.path} is gone",))
        except UnsafePathError as error:
            snapshot = Snapshot(problems=(error.message,))
        return WorktreeState(
            head_sha=head_sha, head_known=found is not None, snapshot=snapshot, problems=tuple(problems)
        )

    async def _taken(
        self, worktree: Worktree, scratch: Scratch, patch_bytes: int, problems: list[str]
    ) -> Evidence:
        state = await self.state(worktree, scratch)
        snapshot = state.snapshot
        problems += (*state.problems, *snapshot.problems)
        pins = await _or_problem(
            problems, self.pinner.pin(worktree, scratch, state.head_sha, snapshot), Pins()
        )
        head_tree = await _or_problem(problems, self.pinner.tree_of(scratch, state.head_sha), None)
        now = snapshot.tree_sha or head_tree or worktree.base_sha
        compare = _Comparison(self._git, scratch, worktree.base_sha, state.head_sha, now)
        return Evidence(
            attempt_id=worktree.attempt_id,
            base_sha=worktree.base_sha,
            head_sha=state.head_sha if state.head_known else None,
            tree_sha=snapshot.tree_sha,
            wip_sha=pins.wip_sha,
            lost_sha=pins.lost_sha,
            commits=await _or_problem(problems, compare.commits(), Commits()),
            changes=await _or_problem(problems, compare.changes(), Changes()),
            dirty=None if snapshot.tree_sha is None else snapshot.tree_sha != head_tree,
            uncommitted=await _or_problem(problems, compare.uncommitted(), Names()),
            untracked=Names(snapshot.untracked_count, snapshot.untracked),
            nested=snapshot.nested,
            patch=await _or_problem(problems, compare.patch(patch_bytes), Patch()),
            stored=pins.head_sha is not None and state.head_known and snapshot.complete,
            problem=_problem_text(problems),
        )

    async def _head(self, worktree: Worktree, problems: list[str]) -> str | None:
        """The commit that the agent left as head, else that of the Attempt's branch; None when neither is known."""
        head_sha = await _or_problem(problems, self.pinner.head_of(worktree), None)
        if head_sha:
            return head_sha
        branch = await _or_problem(problems, self.pinner.branch_tip(worktree), None)
        instead = f"head is taken from branch {worktree.branch}" if branch else "where head was is not known"
        problems.append(f"the worktree's HEAD names no commit, or is gone; {instead}")
        return branch


@final
class _Comparison:
    """Compares base, head and the tree of the moment, in a scratch repository."""

    def __init__(self, git: Git, scratch: Scratch, base_sha: str, head_sha: str, now: str) -> None:
        self._git = git
        self._scratch = scratch
        self._base_sha = base_sha
        self._head_sha = head_sha
        self._now = now

    async def commits(self) -> Commits:
        between = f"{self._base_sha}..{self._head_sha}"
        counted = await self._must("count the commits", "rev-list", "--count", between, "--")
        format_ = ("--format=%H %s", "--encoding=UTF-8", "--no-decorate", "-z")
        listed = await self._must("list the commits", "log", f"--max-count={NAMES}", *format_, between, "--")
        pairs = [item.decode("utf-8", "replace").partition(" ") for item in split_z(listed.output)]
        ancestry = ("merge-base", "--is-ancestor", self._base_sha, self._head_sha)
        descends = await self._git.ask(
            "compare base and head", self._scratch.folder, *ancestry, env=self._scratch.environment
        )
        return Commits(
            count=int(counted.line),
            first=tuple(CommitLine(sha, subject[:SUBJECT_LENGTH]) for sha, _, subject in pairs),
            descends=descends.exit_code == 0 if descends.exit_code in {0, 1} else None,
        )

    async def changes(self) -> Changes:
        listed = await self._must("list the changes", *_COMPARE, "--numstat", "-z", self._base_sha, self._now)
        total = await self._must("count the changes", *_COMPARE, "--shortstat", self._base_sha, self._now)
        numbers = {word.rstrip("s"): int(number) for number, word in _SHORT_STAT.findall(total.line)}
        return Changes(
            files=numbers.get("file", 0),
            insertions=numbers.get("insertion", 0),
            deletions=numbers.get("deletion", 0),
            first=tuple(file_changes(listed.output)),
        )

    async def uncommitted(self) -> Names:
        head_tree = f"{self._head_sha}^{{tree}}"
        listed = await self._must(
            "list uncommitted files", "diff-tree", "-r", "-z", "--name-only", head_tree, self._now
        )
        names = split_z(listed.output, truncated=listed.truncated)
        return Names(len(names), tuple(path_text(name) for name in names[:NAMES]))

    async def patch(self, patch_bytes: int) -> Patch:
        options = ("--patch", "--full-index", "--src-prefix=a/", "--dst-prefix=b/")
        made = await self._git.must(
            "write the patch",
            self._scratch.folder,
            *(*_COMPARE, *options, self._base_sha, self._now),
            env=self._scratch.environment,
            timeout_s=SNAPSHOT_TIMEOUT_S,
            output_bytes=patch_bytes,
        )
        text = made.output.decode("utf-8", "backslashreplace")
        return Patch(text=text, size_bytes=made.size, truncated=made.truncated)

    async def _must(self, purpose: str, *words: str) -> GitResult:
        return await self._git.must(
            purpose,
            self._scratch.folder,
            *words,
            env=self._scratch.environment,
            timeout_s=SNAPSHOT_TIMEOUT_S,
        )


def file_changes(numstat: bytes) -> list[FileChange]:
    """Reads the beginning of `--numstat -z`: `insertions TAB deletions TAB path`, or for a rename an empty
    path and then two items, old and new.
    """
    found: list[FileChange] = []
    items = iter(split_z(numstat[: numstat.rfind(b"\0") + 1]))
    for item in items:
        insertions, deletions, path = item.split(b"\t", 2)
        old_path = None
        if not path:
            old_path, path = next(items, b""), next(items, b"")
        if len(found) == NAMES or not path:
            break
        found.append(
            FileChange(
                path=path_text(path),
                insertions=_count(insertions),
                deletions=_count(deletions),
                old_path=path_text(old_path) if old_path is not None else None,
            )
        )
    return found


async def _or_problem(problems: list[str], work: Awaitable[T], instead: T) -> T:
    """The result, or, if it could not be had, `instead` and one problem more."""
    try:
        return await work
    except (TenureError, OSError) as error:
        problems.append(str(error))
        return instead


def _git_file_problem(worktree: Worktree) -> str | None:
    """What is wrong with the file `.git`, by which git finds the worktree's repository; None when it is as it was made."""
    try:
        content = end_of_file(worktree.path / ".git", GIT_FILE_BYTES)
    except FileNotFoundError:
        return "the worktree's file .git was deleted"
    except (UnsafePathError, OSError):
        return OTHER_REPOSITORY
    return None if content.strip() == b"gitdir: " + os.fsencode(worktree.admin) else OTHER_REPOSITORY


def _problem_text(problems: list[str]) -> str | None:
    return "; ".join(problems)[:PROBLEM_LENGTH] or None


def _count(number: bytes) -> int | None:
    return int(number) if number.isdigit() else None
