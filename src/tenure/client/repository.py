"""The user's side of a repository: what it holds when a Task is submitted, and a result brought into it
afterwards.

Looking never writes, not even git's index. Fetching writes objects and one branch; it makes no checkout,
leaves index and working tree alone, and never moves a branch by force.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Literal, final

from msgspec import Struct

from tenure.errors import BaseNotFoundError, BranchConflictError, NotFoundError, RepositoryNotFoundError
from tenure.runtime.git import Git, path_text, refuse, split_z, with_setting, without_password

DIRTY_NAMES = 20
"""Names shown of a dirty base; the count is of all."""
FETCH_TIMEOUT_S = 1800.0
SOURCE = "tenure-source"

_NO_SHA = "0" * 40
_BRANCH = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./-]{0,200}")
_REF_OR_SHA = re.compile(r"[0-9a-f]{40}|refs/[A-Za-z0-9_./-]{1,200}")
_RESOLVE = ("rev-parse", "--verify", "--quiet", "--end-of-options")


class RepositoryState(Struct, frozen=True, kw_only=True):
    """A repository at one moment.

    `head_sha` is None before the first commit, `branch` where HEAD is detached. `dirty` holds the first names
    of changed and untracked files, `dirty_count` counts all: a Task starts from `head_sha`, without them.
    `remote` is the branch's own remote or `origin`, without a password. A bare repository has its git
    directory as `top_level` and is never dirty.
    """

    top_level: Path
    head_sha: str | None
    branch: str | None
    dirty_count: int
    dirty: tuple[str, ...]
    remote: str | None
    bare: bool


class FetchedResult(Struct, frozen=True, kw_only=True):
    """Where a result stands in the user's repository now.

    `change`: `created`, `moved` forward, `unchanged`, or `ahead` where the branch holds the result and
    commits on top; those stay.
    """

    branch: str
    sha: str
    previous_sha: str | None
    change: Literal["created", "moved", "unchanged", "ahead"]


@final
class UserRepository:
    """A repository of the user's, reached with the user's own git, settings and credentials."""

    def __init__(self, path: Path, git: Git) -> None:
        self._path = path
        self._git = git

    async def inspect(self) -> RepositoryState:
        """Its state, dirty files named.

        Raises:
            RepositoryNotFoundError: the path is not in a repository, or git does not trust its owner.
            GitTimeoutError: git took too long.
        """
        top_level, bare = await self._top_level()
        head = await self._git.ask("read HEAD", top_level, *_RESOLVE, "HEAD^{commit}")
        branch = await self._git.ask(
            "read the branch", top_level, "symbolic-ref", "--quiet", "--short", "HEAD"
        )
        dirty = [] if bare else await self._dirty(top_level)
        return RepositoryState(
            top_level=top_level,
            head_sha=head.line if head.ok else None,
            branch=branch.line if branch.ok else None,
            dirty_count=len(dirty),
            dirty=tuple(path_text(name) for name in dirty[:DIRTY_NAMES]),
            remote=await self._remote(top_level, branch.line if branch.ok else None),
            bare=bare,
        )

    async def resolve(self, revision: str) -> str:
        """The full id of the commit that a revision names (`main`, `v1.2`, `HEAD~3`, an abbreviated id).

        Raises:
            RepositoryNotFoundError: the path is not in a repository.
            BaseNotFoundError: it names no commit there.
            GitTimeoutError: git took too long.
        """
        top_level, _ = await self._top_level()
        if revision and not revision.startswith("-") and "\x00" not in revision:
            found = await self._git.ask("resolve a revision", top_level, *_RESOLVE, f"{revision}^{{commit}}")
            if found.ok:
                return found.line
            if revision == "HEAD":
                raise BaseNotFoundError(
                    f"{top_level} has no commit yet, and a task begins from one: make it (`git add .`, then `git commit "
                    "-m Begin`), or give the task no repository (--no-repo)",
                    repository=str(top_level),
                    revision=revision,
                )
        shown = path_text(os.fsencode(revision[:80]))
        raise BaseNotFoundError(
            f"{shown!r} names no commit in {top_level}; fetch it, or name another base",
            repository=str(top_level),
            revision=shown,
        )

    async def fetch_result(self, source: str, ref: str, branch: str) -> FetchedResult:
        """Brings a commit from `source` (a path or URL; `ref` is a full id or a ref there) onto a branch of
        the user's.

        Safe to repeat. The branch is made, moved forward, or left alone; the working tree and the index are
        never touched. After a crash half-way the branch is as it was or as it should be.

        Raises:
            BranchConflictError: the branch points elsewhere, or is checked out and would have to move.
            NotFoundError: the source has no such ref or commit.
            RepositoryNotFoundError: the user's path is not in a repository.
            GitFailedError: git could not fetch.
            GitTimeoutError: git took too long.
        """
        top_level, _ = await self._top_level()
        if not _BRANCH.fullmatch(branch) or not _REF_OR_SHA.fullmatch(ref):
            raise NotFoundError(
                f"{ref[:80]!r} or {branch[:80]!r} cannot be the name of a result", ref=ref, branch=branch
            )
        sha = await self._fetched(top_level, source, ref)
        name = f"refs/heads/{branch}"
        before = await self._git.ask("look for the branch", top_level, *_RESOLVE, f"{name}^{{commit}}")
        old_sha = before.line if before.ok else None
        change = await self._change(top_level, branch, old_sha, sha)
        if change in {"created", "moved"}:
            # The expected old value makes this lose against whoever moves the branch at the same moment.
            words = ("update-ref", "--create-reflog", "-m", "tenure fetch", name, sha, old_sha or _NO_SHA)
            updated = await self._git.ask("move the branch", top_level, *words)
            if not updated.ok:
                raise BranchConflictError(f"branch {branch} could not be set: {updated.error}", branch=branch)
        return FetchedResult(branch=branch, sha=sha, previous_sha=old_sha, change=change)

    async def _top_level(self) -> tuple[Path, bool]:
        if not self._path.is_dir():
            raise RepositoryNotFoundError(
                f"there is no folder {self._path}", repository=str(self._path), reason="not_found"
            )
        found = await self._git.ask(
            "look for the repository", self._path, "rev-parse", "--is-bare-repository", "--absolute-git-dir"
        )
        if not found.ok:
            unsafe = "dubious ownership" in found.error
            raise RepositoryNotFoundError(
                f"{self._path} is not in a git repository: {found.error}",
                repository=str(self._path),
                reason="unsafe_owner" if unsafe else "not_found",
            )
        is_bare, _, git_dir = found.line.partition("\n")
        if is_bare == "true":
            return Path(git_dir), True
        top = await self._git.ask("look for the top folder", self._path, "rev-parse", "--show-toplevel")
        if not top.ok:
            raise RepositoryNotFoundError(
                f"{self._path} is inside a git directory, not in a working tree: {top.error}",
                repository=str(self._path),
                reason="not_found",
            )
        return Path(top.output.removesuffix(b"\n").decode("utf-8", "surrogateescape")), False

    async def _dirty(self, top_level: Path) -> list[bytes]:
        listed = await self._git.must(
            "look for uncommitted files",
            top_level,
            *("status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=normal"),
        )
        return [entry[3:] for entry in split_z(listed.output, truncated=listed.truncated)]

    async def _remote(self, top_level: Path, branch: str | None) -> str | None:
        named = None
        if branch:
            named = await self._git.ask(
                "look for the remote", top_level, "config", "--get", f"branch.{branch}.remote"
            )
        name = named.line if named and named.ok and named.line != "." else "origin"
        url = await self._git.ask("look for the remote", top_level, "config", "--get", f"remote.{name}.url")
        return without_password(url.line) if url.ok and url.line else None

    async def _fetched(self, top_level: Path, source: str, ref: str) -> str:
        """Fetches without writing any ref, and says which commit it is.

        Raises:
            NotFoundError: the source has no such ref or commit.
        """
        setting = with_setting(self._git.environment, f"remote.{SOURCE}.url", source)
        sha = ref
        if ref.startswith("refs/"):
            listed = await self._git.ask(
                "look for the result", top_level, "ls-remote", SOURCE, ref, env=setting
            )
            sha = next(
                (line.split("\t")[0] for line in listed.line.splitlines() if line.endswith(f"\t{ref}")), ""
            )
            if listed.ok and not sha:
                raise NotFoundError(f"{without_password(source)} has no {ref}", ref=ref)
            if not listed.ok:
                refuse("look for the result", listed)
        fetched = await self._git.ask(
            "fetch the result",
            top_level,
            *("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--update-shallow", SOURCE, sha),
            env=setting,
            timeout_s=FETCH_TIMEOUT_S,
        )
        if not fetched.ok and "not our ref" in fetched.error:
            raise NotFoundError(f"{without_password(source)} has no commit {sha}", ref=ref)
        if not fetched.ok:
            refuse("fetch the result", fetched)
        return sha

    async def _change(
        self, top_level: Path, branch: str, old_sha: str | None, sha: str
    ) -> Literal["created", "moved", "unchanged", "ahead"]:
        if old_sha is None:
            return "created"
        if old_sha == sha:
            return "unchanged"
        if await self._is_ancestor(top_level, sha, old_sha):
            return "ahead"
        if not await self._is_ancestor(top_level, old_sha, sha):
            raise BranchConflictError(
                f"branch {branch} is at {old_sha[:12]}, which the result {sha[:12]} does not contain; rename or delete"
                " the branch, then fetch again",
                branch=branch,
                branch_sha=old_sha,
                sha=sha,
            )
        if await self._checked_out(top_level, branch):
            raise BranchConflictError(
                f"branch {branch} is checked out; moving it to {sha[:12]} would leave its working tree behind. Switch to"
                f" another branch, or run `git merge {sha[:12]}` there",
                branch=branch,
                branch_sha=old_sha,
                sha=sha,
            )
        return "moved"

    async def _is_ancestor(self, top_level: Path, older: str, newer: str) -> bool:
        found = await self._git.ask(
            "compare two commits", top_level, "merge-base", "--is-ancestor", older, newer
        )
        return found.ok

    async def _checked_out(self, top_level: Path, branch: str) -> bool:
        listed = await self._git.must("list worktrees", top_level, "worktree", "list", "--porcelain", "-z")
        return f"branch refs/heads/{branch}".encode() in split_z(listed.output)
