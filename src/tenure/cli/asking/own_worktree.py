"""What an agent need not say about its own work, since git knows it: branch, head, tree, and the last commit's text."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tenure.errors import (
    BranchConflictError,
    ConfigurationError,
    GitFailedError,
    InvalidError,
    RepositoryNotFoundError,
    TenureError,
    UnauthenticatedError,
    all_errors,
)

if TYPE_CHECKING:
    from tenure.cli.invocation import Invocation
    from tenure.runtime.git import Git


PUSH_S = 300.0
_CODE = re.compile(r"^remote: (?:tenure: )?(?:refused \()?(\w+)\)?: ", re.MULTILINE)
"""How the endpoint names why it refused: of a branch, and of the whole conversation."""


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


async def push_remote(cli: Invocation, target: str | None) -> str:
    """The hub's git endpoint: that of the target that was named, else TENURE_GIT_REMOTE, else the remote that the node
    told git of.

    Raises:
        ConfigurationError: there is none here.
    """
    from tenure.cli.asking.capability import agent_address
    from tenure.runtime.git import Git
    from tenure.wire.push import REMOTE, push_address

    if target is not None:
        return push_address(agent_address(cli).url, target)
    if remote := cli.env.get("TENURE_GIT_REMOTE"):
        return remote
    found = await Git(cli.env).ask("look for the hub", Path.cwd(), "config", "--get", f"remote.{REMOTE}.url")
    if found.ok:
        return REMOTE
    raise ConfigurationError(
        "there is no git endpoint to push to here: neither TENURE_GIT_REMOTE nor a remote `tenure` is set, and no --target was "
        "given. Commit your work; the node keeps the commits, and a person brings them over with `tenure fetch`"
    )


async def push_head(cli: Invocation, remote: str, branch: str, again: str | None) -> str:
    """Pushes HEAD to the hub's own git endpoint, as `branch`; what git said.

    Raises:
        BranchConflictError: the branch moved on meanwhile.
        UnauthenticatedError: the endpoint does not take the capability.
        GitFailedError: git could not push, for a reason that the message has.
        TenureError: what the endpoint refused it with.
        GitTimeoutError: git took too long.
    """
    from tenure.cli.asking.capability import capability_of
    from tenure.runtime.git import Git, with_setting

    capability = capability_of(cli)
    env: dict[str, str] = {}
    if capability and remote.startswith(("http://", "https://")) and not _has_login(cli):
        # In the environment, where other users of the machine cannot read it.
        env = with_setting(cli.env, f"http.{remote}.extraHeader", f"Authorization: Bearer {capability}")
    options = ("--push-option", f"again={again}") if again else ()
    done = await Git(cli.env).ask(
        "push",
        Path.cwd(),
        *("push", "--porcelain", *options, "--end-of-options", remote, f"HEAD:refs/heads/{branch}"),
        env=env,
        timeout_s=PUSH_S,
    )
    # Git fills what the other side says up with spaces, to overwrite what stood on the line.
    lines = f"{done.output.decode('utf-8', 'replace')}\n{done.error}".splitlines()
    said = "\n".join(line.rstrip() for line in lines if line.strip())
    if not done.ok:
        error = refusal_of(branch, said)
        raise error
    return said


def _has_login(cli: Invocation) -> bool:
    """Has the node told git already how to log in to the hub?"""
    settings = [value.lower() for name, value in cli.env.items() if name.startswith("GIT_CONFIG_KEY_")]
    return any(
        one.startswith(("credential.http://", "credential.https://")) or one.endswith(".extraheader")
        for one in settings
    )


def refusal_of(branch: str, said: str) -> TenureError:
    """What git said, as the error that the endpoint named, or as what git itself could not do."""
    kinds = (all_errors().get(one[1]) for one in _CODE.finditer(said))
    kind = next((one for one in kinds if one is not None), None)
    low = said.lower()
    if kind is not None:
        return kind(f"the push to {branch} was refused: {said}", branch=branch)
    if any(one in low for one in ("could not read username", "authentication failed", "error: 401")):
        return UnauthenticatedError(
            f"the hub does not take this attempt's capability. It said: {said}", branch=branch
        )
    if any(one in low for one in ("non-fast-forward", "fetch first", "stale info")):
        return BranchConflictError(
            f"{branch} has commits that HEAD does not have: fetch it and rebase onto it, then push again. Nothing is ever "
            f"forced. It said: {said}",
            branch=branch,
        )
    return GitFailedError(f"the push to {branch} failed: {said}", branch=branch)


def own_branch(named: str | None, head: Head) -> str:
    """The branch that was named, else the one that is checked out.

    Raises:
        InvalidError: none was named, and HEAD is detached.
    """
    branch = named or head.branch
    if branch is None:
        raise InvalidError("HEAD is on no branch here; name one with --head", field="head")
    return branch
