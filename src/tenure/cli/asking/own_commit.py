"""A commit of an agent's own work, which says whose it is.

Nobody outside the node can see a local commit, so no hub is asked for it. What makes it once is its content: the same
tree again is the commit that is there. Its trailers name Task, Attempt and fence, so that whoever finds it later, in a
branch or after a crash, knows which Attempt made it and under which authority."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tenure.errors import ConfigurationError, GitFailedError, InvalidError

if TYPE_CHECKING:
    from tenure.cli.invocation import Invocation

TRAILERS = {"Tenure-Task": "TENURE_TASK", "Tenure-Attempt": "TENURE_ATTEMPT", "Tenure-Fence": "TENURE_FENCE"}
"""Each with the variable that the node gives it by."""
MESSAGE_BYTES = 65_536


class Made(NamedTuple):
    """`replayed`: HEAD was this very commit already."""

    sha: str
    tree: str
    replayed: bool


async def commit_own(cli: Invocation, message: str, *, everything: bool) -> Made:
    """Commits what is staged (with `everything` first all that has changed) with the Attempt's trailers. Repeatable: with
    nothing new to commit it is the Attempt's own commit at HEAD.

    Raises:
        ConfigurationError: this is no Attempt's environment.
        InvalidError: there is nothing to commit, or no message.
        GitFailedError: git refused, a hook perhaps; its words are in the message.
        RepositoryNotFoundError: the working folder is in no repository.
        GitTimeoutError: git took too long.
    """
    from tenure.cli.asking.own_worktree import head_of
    from tenure.runtime.git import Git

    trailers = own_trailers(cli)
    if not message.strip() or len(message.encode("utf-8", "surrogatepass")) > MESSAGE_BYTES:
        raise InvalidError(
            f"a commit needs a message of 1 to {MESSAGE_BYTES} bytes; give -m", field="message"
        )
    git, here, head = Git(cli.env), Path.cwd(), await head_of(cli)
    if everything:
        await git.must("stage all changes", here, "add", "--all")
    tree = (await git.must("write the tree", here, "write-tree")).line
    if tree == head.tree:
        if all(f"{name}: {value}" in head.body.splitlines() for name, value in trailers.items()):
            return Made(head.sha, tree, replayed=True)
        raise InvalidError(f"nothing is staged in {here}: use `git add`, or --all", field="tree")
    words = [word for name, value in trailers.items() for word in ("--trailer", f"{name}: {value}")]
    done = await git.ask("commit", here, "commit", "--quiet", f"--message={message}", *words)
    if not done.ok:
        raise GitFailedError(f"git made no commit: {done.error or done.output.decode('utf-8', 'replace')}")
    after = await head_of(cli)
    return Made(after.sha, after.tree, replayed=False)


def own_trailers(cli: Invocation) -> dict[str, str]:
    """The trailers of this Attempt's commits.

    Raises:
        ConfigurationError: this is no Attempt's environment.
    """
    missing = [variable for variable in TRAILERS.values() if not cli.env.get(variable)]
    if missing:
        raise ConfigurationError(
            f"{', '.join(missing)} is not set: this is for an agent within its attempt. Use `git commit` here",
            missing=missing,
        )
    return {name: cli.env[variable] for name, variable in TRAILERS.items()}
