"""What an agent need not say about its own work, since git knows it: branch, head, tree, and the last commit's text."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tenure.errors import InvalidError, RepositoryNotFoundError

if TYPE_CHECKING:
    from tenure.cli.invocation import Invocation
    from tenure.runtime.git import Git


class Head(NamedTuple):
    """HEAD of the worktree. `branch` is None where it is detached; `base` is the branch that `origin` calls its own."""

    sha: str
    tree: str
    branch: str | None
    base: str | None
    title: str
    body: str


async def head_of(cli: Invocation) -> Head:
    """What stands at HEAD in the working folder.

    Raises:
        RepositoryNotFoundError: the working folder is in no repository, or it has no commit.
        GitTimeoutError: git took too long.
    """
    from tenure.runtime.git import Git

    git, here = Git(cli.env), Path.cwd()
    found = await git.ask(
        "read HEAD", here, "show", "--no-patch", "--no-show-signature", "--format=%H%n%T%n%B", "HEAD"
    )
    if not found.ok:
        raise RepositoryNotFoundError(
            f"there is no commit to read in {here}: {found.error}; run this in your worktree, or give the options",
            repository=str(here),
        )
    sha, tree, *text = found.output.decode("utf-8", "replace").splitlines()
    title, _, body = "\n".join(text).strip().partition("\n")
    return Head(
        sha=sha,
        tree=tree,
        branch=await _symbolic(git, here, "HEAD"),
        base=await _symbolic(git, here, "refs/remotes/origin/HEAD"),
        title=title.strip(),
        body=body.strip(),
    )


async def _symbolic(git: Git, here: Path, name: str) -> str | None:
    """The branch that a symbolic reference stands for."""
    found = await git.ask("read a branch", here, "symbolic-ref", "--quiet", name)
    if not found.ok:
        return None
    return found.line.removeprefix("refs/heads/").removeprefix("refs/remotes/origin/")


async def push_head(cli: Invocation, remote: str, branch: str) -> str:
    """Pushes HEAD to the hub's own git endpoint, as `branch`; what git said.

    Raises:
        BranchConflictError: the branch moved on meanwhile.
        StaleFenceError: the endpoint refuses the capability: the Attempt was replaced.
        GitFailedError: git or the endpoint refused for another reason, which the message has.
        GitTimeoutError: git took too long.
    """
    from tenure.cli.asking.capability import capability_of
    from tenure.runtime.git import Git, with_setting

    capability = capability_of(cli)
    env: dict[str, str] = {}
    if capability and remote.startswith(("http://", "https://")) and not _has_login(cli):
        # In the environment, where other users of the machine cannot read it.
        env = with_setting(cli.env, f"http.{remote}.extraHeader", f"Authorization: Bearer {capability}")
    done = await Git(cli.env).ask(
        "push",
        Path.cwd(),
        *("push", "--porcelain", "--end-of-options", remote, f"HEAD:refs/heads/{branch}"),
        env=env,
        timeout_s=300.0,
    )
    said = "\n".join(part for part in (done.output.decode("utf-8", "replace").strip(), done.error) if part)
    if not done.ok:
        _refuse(branch, said)
    return said


def _has_login(cli: Invocation) -> bool:
    """Has the node told git already how to log in?"""
    return any(
        value.lower().endswith(".extraheader")
        for name, value in cli.env.items()
        if name.startswith("GIT_CONFIG_KEY_")
    )


def _refuse(branch: str, said: str) -> None:
    """Turns what git said into what to do.

    Raises:
        BranchConflictError: the branch moved on meanwhile.
        StaleFenceError: the endpoint refuses the capability: the Attempt was replaced.
        GitFailedError: git or the endpoint refused for another reason, which the message has.
    """
    from tenure.errors import BranchConflictError, GitFailedError, StaleFenceError

    low = said.lower()
    if any(
        word in low for word in ("stale_fence", "authentication failed", "returned error: 401", "error: 403")
    ):
        raise StaleFenceError(
            f"the hub refuses this attempt's push: stop, it was replaced, has ended, or may not push. It said: {said}",
            branch=branch,
        )
    if any(word in low for word in ("non-fast-forward", "fetch first", "stale info")):
        raise BranchConflictError(
            f"{branch} has commits that HEAD does not have: fetch it and rebase onto it, then push again. Nothing is ever "
            f"forced. It said: {said}",
            branch=branch,
        )
    raise GitFailedError(f"the push to {branch} was refused: {said}", branch=branch)


def own_branch(named: str | None, head: Head) -> str:
    """The branch that was named, else the one that is checked out.

    Raises:
        InvalidError: none was named, and HEAD is detached.
    """
    branch = named or head.branch
    if branch is None:
        raise InvalidError("HEAD is on no branch here; name one with --head", field="head")
    return branch
