"""Private refs in the cache that keep an Attempt's work from being pruned, whatever becomes of its worktree.

`head` is the last commit, `wip` a commit of the uncommitted and untracked work on top of it, `lost` a commit
whose parents are all commits that were head once and that `head` no longer reaches (after a reset, an amend,
a rebase, a change of branch), and the branch where it points elsewhere.

Nothing that was pinned is ever let go: what a pin held before is kept as a parent of what it holds now, or in
`lost`. Pinning the same state again changes nothing, since the commits made here have a fixed author and
date.
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import final

from msgspec import Struct, structs

from tenure.core.ids import AttemptId
from tenure.errors import UnsafePathError
from tenure.node.worktree.snapshot import Scratch, Snapshot
from tenure.node.worktree.store_folder import end_of_file
from tenure.node.worktree.worktree import Worktree, pin_name
from tenure.runtime.git import Git

PARENTS = 200
"""Parents of one commit; more are kept as a chain of such commits."""
REFLOG_BYTES = 1_048_576
"""The end of the reflog that is read: some five thousand moves of head."""

_SHA_LENGTH = 40
_AUTHOR = {
    "GIT_AUTHOR_NAME": "Tenure",
    "GIT_AUTHOR_EMAIL": "tenure@localhost.invalid",
    "GIT_AUTHOR_DATE": "@0 +0000",
    "GIT_COMMITTER_NAME": "Tenure",
    "GIT_COMMITTER_EMAIL": "tenure@localhost.invalid",
    "GIT_COMMITTER_DATE": "@0 +0000",
}


class Pins(Struct, frozen=True, kw_only=True):
    """What is pinned of an Attempt; None where there is nothing of the kind."""

    head_sha: str | None = None
    wip_sha: str | None = None
    wip_tree: str | None = None
    lost_sha: str | None = None


@final
class Pinner:
    """Reads and writes the pins of Attempts."""

    def __init__(self, git: Git) -> None:
        self._git = git

    async def read(self, worktree: Worktree) -> Pins:
        """What is pinned now.

        Raises:
            GitFailedError: the cache cannot be read.
            GitTimeoutError: git took too long.
        """
        wip = pin_name(worktree.attempt_id, "wip")
        return Pins(
            head_sha=await self._resolve(worktree, pin_name(worktree.attempt_id, "head")),
            wip_sha=await self._resolve(worktree, wip),
            wip_tree=await self._resolve(worktree, f"{wip}^{{tree}}"),
            lost_sha=await self._resolve(worktree, pin_name(worktree.attempt_id, "lost")),
        )

    async def left_by(self, worktree: Worktree, earlier: AttemptId) -> Pins:
        """What an earlier Attempt left in the cache of this worktree: its head, and its uncommitted work where that stands on
        this head. Empty where nothing of it was pinned here.

        Raises:
            GitFailedError: the cache cannot be read.
            GitTimeoutError: git took too long.
        """
        there = structs.replace(worktree, attempt_id=earlier)
        pins = await self.read(there)
        under = await self._resolve(there, f"{pin_name(earlier, 'wip')}^1") if pins.wip_sha else None
        wip_sha = pins.wip_sha if under and under == pins.head_sha else None
        return Pins(head_sha=pins.head_sha, wip_sha=wip_sha)

    async def pin(
        self, worktree: Worktree, scratch: Scratch, head_sha: str, snapshot: Snapshot | None
    ) -> Pins:
        """Pins head, lost commits and, where a snapshot is given and differs from head, the uncommitted work.

        `wip_sha` of the result is None when there is no uncommitted work, even if an older one stays pinned.
        All refs move in one transaction, durably.

        Raises:
            GitFailedError: git refused.
            StorageFullError: the disk is full.
            GitTimeoutError: git took too long.
        """
        before = await self.read(worktree)
        lost_sha = await self._lost(worktree, scratch, head_sha, before)
        wip_sha = None
        if snapshot and snapshot.tree_sha and snapshot.tree_sha != await self.tree_of(scratch, head_sha):
            wip_sha = await self._wip(scratch, head_sha, snapshot.tree_sha, before)
        wanted = {"head": head_sha, "wip": wip_sha, "lost": lost_sha}
        lines = [
            f"update {pin_name(worktree.attempt_id, what)} {sha}\n" for what, sha in wanted.items() if sha
        ]
        await self._git.must(
            "pin an Attempt's work", worktree.cache, "update-ref", "--stdin", stdin="".join(lines).encode()
        )
        tree = snapshot.tree_sha if snapshot and wip_sha else None
        return Pins(head_sha=head_sha, wip_sha=wip_sha, wip_tree=tree, lost_sha=lost_sha)

    async def tree_of(self, scratch: Scratch, sha: str) -> str | None:
        """The tree of a commit; None when the commit is missing. A scratch repository knows no replacements of an agent's."""
        found = await self._git.ask(
            "look at a commit", scratch.folder, *_RESOLVE, f"{sha}^{{tree}}", env=scratch.environment
        )
        return found.line if found.ok else None

    async def head_of(self, worktree: Worktree) -> str | None:
        """The commit that the worktree's HEAD names, read from git's own folder; None when it names none."""
        if not worktree.admin.is_dir():
            return None
        environment = {"GIT_DIR": str(worktree.admin)}
        found = await self._git.ask(
            "read the worktree's HEAD", worktree.cache, *_RESOLVE, "HEAD^{commit}", env=environment
        )
        return found.line if found.ok else None

    async def branch_tip(self, worktree: Worktree) -> str | None:
        """Where the Attempt's branch points; None when it is gone."""
        return await self._resolve(worktree, f"refs/heads/{worktree.branch}^{{commit}}")

    async def _resolve(self, worktree: Worktree, name: str) -> str | None:
        found = await self._git.ask("resolve a name", worktree.cache, *_RESOLVE, name)
        return found.line if found.ok else None

    async def _wip(self, scratch: Scratch, head_sha: str, tree_sha: str, before: Pins) -> str:
        parents = [head_sha]
        if before.wip_sha:
            first = await self._git.ask(
                "look at pinned work",
                scratch.folder,
                *_RESOLVE,
                f"{before.wip_sha}^1",
                env=scratch.environment,
            )
            if before.wip_tree == tree_sha and first.line == head_sha:
                return before.wip_sha
            parents.append(before.wip_sha)
        return await self._commit(scratch, tree_sha, parents, "Uncommitted work of an Attempt")

    async def _lost(self, worktree: Worktree, scratch: Scratch, head_sha: str, before: Pins) -> str | None:
        """The commit that holds all lost ones; the one already pinned when nothing was lost since."""
        once = reflog_commits(worktree.admin / "logs" / "HEAD")
        once |= {sha for sha in (await self.branch_tip(worktree), before.head_sha) if sha}
        once -= {head_sha, worktree.base_sha}
        known = await self._commits_among(scratch, once)
        if not known:
            return before.lost_sha
        kept = [head_sha, worktree.base_sha, *([before.lost_sha] if before.lost_sha else [])]
        names = "".join(f"{sha}\n" for sha in (*sorted(known), *(f"^{sha}" for sha in kept)))
        reached = await self._git.must(
            "look for lost commits",
            scratch.folder,
            *("rev-list", "--ignore-missing", "--stdin"),
            stdin=names.encode(),
            env=scratch.environment,
        )
        lost = sorted(known.intersection(reached.output.decode().split()))
        pin = before.lost_sha
        tree_sha = await self.tree_of(scratch, worktree.base_sha)
        for start in range(0, len(lost), PARENTS):
            parents = [*([pin] if pin else []), *lost[start : start + PARENTS]]
            pin = await self._commit(scratch, tree_sha or "", parents, "Commits that an Attempt left behind")
        return pin

    async def _commits_among(self, scratch: Scratch, shas: set[str]) -> set[str]:
        if not shas:
            return set()
        names = "".join(f"{sha}\n" for sha in sorted(shas)).encode()
        options = ("cat-file", "--batch-check=%(objectname) %(objecttype)")
        found = await self._git.must(
            "look at former heads", scratch.folder, *options, stdin=names, env=scratch.environment
        )
        pairs = [line.split() for line in found.output.decode().splitlines()]
        return {pair[0] for pair in pairs if pair[1:] == ["commit"]}

    async def _commit(self, scratch: Scratch, tree_sha: str, parents: list[str], message: str) -> str:
        words = [word for parent in parents for word in ("-p", parent)]
        made = await self._git.must(
            "make a commit of pinned work",
            scratch.folder,
            *("commit-tree", *words, "-m", message, tree_sha),
            env={**scratch.environment, **_AUTHOR},
        )
        return made.line


_RESOLVE = ("rev-parse", "--verify", "--quiet", "--end-of-options")


def reflog_commits(path: Path) -> set[str]:
    """All commits that a worktree's HEAD has named, from the end of its reflog. Empty when there is none."""
    found: set[str] = set()
    with contextlib.suppress(UnsafePathError, OSError):
        for line in end_of_file(path, REFLOG_BYTES).splitlines():
            found |= {word.decode() for word in line.split(b" ", 2)[:2] if _is_sha(word)}
    return found


def _is_sha(word: bytes) -> bool:
    return (
        len(word) == _SHA_LENGTH
        and word.strip(b"0") != b""
        and all(sign in b"0123456789abcdef" for sign in word)
    )
