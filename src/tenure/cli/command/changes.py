"""`tenure diff`, `fetch`, `worktree` and `gc`: what an Attempt made, and giving its space back.

What was reported stands in the evidence. The rest (the whole patch, commits, files) is in the store of the node that ran it,
and is reached where that store is in this data folder.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from tenure.cli.invocation import Invocation, command, family

if TYPE_CHECKING:
    from pathlib import Path

    from tenure.cli.asking.lookup import Located
    from tenure.wire.api import AttemptBody, TaskBody

AttemptArgument = Annotated[
    str, typer.Argument(metavar="TASK", help="The task (its newest attempt), or one attempt of it (TASK/2).")
]

app = family()


class LocalTree(NamedTuple):
    """What a node's store in this data folder has of an Attempt: its commits in the cache, and its worktree unless that
    was removed."""

    cache: Path
    path: Path
    is_there: bool


@command(app, "diff")
async def diff(cli: Invocation, task: AttemptArgument) -> int:
    """Show what an attempt changed, as a patch.

    Against its base, with what it did not commit. From the evidence, or in full from the store of the node that ran it
    where that is on this machine. Apply it with `git apply`.
    """
    import sys

    from tenure.cli.local.output import write_bytes
    from tenure.cli.text.evidence import patch_of

    located = await located_attempt(cli, task)
    patch = patch_of(located.body)
    text, cut = str(patch.get("text", "")), bool(patch.get("truncated"))
    if cut or not patch:
        whole = await whole_patch(cli, located)
        text, cut = (whole, False) if whole is not None else (text, cut)
    cli.out.data(
        {"attempt_id": located.name, "patch": text, "truncated": cut, "size_bytes": patch.get("size_bytes")}
    )
    if not cli.out.json:
        write_bytes(sys.stdout, text.encode("utf-8", "surrogateescape"))
    if cut:
        cli.out.note(
            f"only the beginning of {patch.get('size_bytes')} bytes was reported; `tenure fetch` has all of it"
        )
    if not text:
        cli.out.note(
            f"{located.name} changed nothing" if patch else f"{located.name} has reported no changes (yet)"
        )
    return 0


@command(app, "fetch")
async def fetch(
    cli: Invocation,
    task: AttemptArgument,
    repo: Annotated[
        str,
        typer.Option("--repo", metavar="PATH", help="The repository to fetch into, else the one you are in."),
    ] = ".",
    uncommitted: Annotated[
        bool,
        typer.Option("--uncommitted", help="With what the attempt left uncommitted, as a commit on top."),
    ] = False,
) -> None:
    """Fetch an attempt's commits into your repository, as a branch.

    The branch is `tenure/TASK/N`. Nothing is checked out; index and files are not touched, and a branch that points
    elsewhere is never moved.
    """
    from tenure.cli.asking.task_request import absolute
    from tenure.cli.text.evidence import left_uncommitted
    from tenure.client.repository import UserRepository
    from tenure.runtime.git import Git

    located = await located_attempt(cli, task)
    sha = fetched_sha(located, uncommitted=uncommitted)
    tree = local_tree_or_refuse(cli, located)
    user = UserRepository(absolute(repo), Git(cli.env))
    await user.resolve(located.task.base_sha or "")
    result = await user.fetch_result(str(tree.cache), sha, located.branch)
    cli.out.data(
        {
            "attempt_id": located.name,
            "branch": result.branch,
            "sha": result.sha,
            "change": result.change,
            "left_uncommitted": 0 if uncommitted else left_uncommitted(located.body),
        }
    )
    if not cli.out.json:
        cli.out.say(result.branch)
        cli.out.note(f"{result.change}, at {result.sha[:12]}; `git merge {result.branch}` takes it over")
    if not uncommitted:
        warn_of_uncommitted(cli, located, tree, result.sha)


def warn_of_uncommitted(cli: Invocation, located: Found, tree: LocalTree, sha: str) -> None:
    """Says what the branch lacks of the Attempt's work, and where that is."""
    from tenure.cli.text.counting import counted
    from tenure.cli.text.evidence import left_uncommitted

    count = left_uncommitted(located.body)
    if not count:
        return
    nothing = (
        f"{located.name} committed nothing: this branch is only its base. "
        if sha == located.task.base_sha
        else ""
    )
    where = f"; see {tree.path}" if tree.is_there else ""
    cli.out.note(
        f"warning: {nothing}{counted(count, 'changed file was', 'changed files were')} not committed and not fetched{where}. "
        f"`tenure fetch {located.name} --uncommitted` brings them, as a commit on top"
    )


def fetched_sha(located: Found, *, uncommitted: bool) -> str:
    """The commit to fetch.

    Raises:
        NotFoundError: the Attempt has left none.
    """
    from tenure.cli.text.evidence import worktree_of
    from tenure.errors import NotFoundError

    tree = worktree_of(located.body)
    sha = tree.get("wip_sha") if uncommitted else None
    sha = sha or located.body.head_sha or tree.get("head_sha")
    if not isinstance(sha, str):
        raise NotFoundError(f"{located.name} has reported no commit (yet): `tenure show {located.name}`")
    return sha


@command(app, "worktree")
async def worktree(cli: Invocation, task: AttemptArgument) -> None:
    """Say where an attempt's worktree is.

    For `cd "$(tenure worktree TASK)"`. It is the attempt's own place while that runs: look, and leave it alone.
    """
    located = await located_attempt(cli, task)
    tree = local_tree_or_refuse(cli, located)
    path = tree.path
    cli.out.data(
        {
            "attempt_id": located.name,
            "path": str(path),
            "exists": tree.is_there,
            "branch": located.branch,
        }
    )
    if not tree.is_there:
        refuse_removed(located, path)
    if not cli.out.json:
        cli.out.say(str(path))


def refuse_removed(located: Found, path: Path) -> None:
    """Says that a worktree is not there any more.

    Raises:
        NotFoundError: always.
    """
    from tenure.errors import NotFoundError

    raise NotFoundError(
        f"{path} was removed; `tenure fetch {located.name}` still brings its commits", path=str(path)
    )


@command(app, "gc", asks_no_hub=True)
async def gc(
    cli: Invocation,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", "-n", help="Say what would become of each, and change nothing.")
    ] = False,
    nested: Annotated[
        bool,
        typer.Option(
            "--nested", help="Also those that hold repositories of their own, which are kept nowhere else."
        ),
    ] = False,
) -> None:
    """Remove worktrees and run folders that nobody needs any more.

    A worktree goes only if its attempt is closed at its node and everything in it is stored elsewhere: its commits stay,
    so `diff` and `fetch` work afterwards. Everything else is kept and named with the reason.
    """
    from tenure.cli.local.clean_up import clean_up

    items = await clean_up(cli, dry_run=dry_run, nested_too=nested)
    freed = sum(item.size_bytes for _, item in items if item.removed)
    listed = [
        {
            "node": node,
            "name": item.name,
            "path": str(item.path),
            "removed": item.removed,
            "reason": item.reason,
            "size_bytes": item.size_bytes,
        }
        for node, item in items
    ]
    cli.out.data({"dry_run": dry_run, "items": listed, "freed_bytes": freed})
    if cli.out.json:
        return
    verb = "would go" if dry_run else "removed"
    for _, item in items:
        cli.out.say(
            f"{verb if item.removed else 'kept':8}  {item.name}  {megabytes(item.size_bytes)}  {item.reason}"
        )
    cli.out.note(f"{megabytes(freed)} {'could be given back' if dry_run else 'given back'}")


class Found(NamedTuple):
    """An Attempt, and its Task."""

    attempt: Located
    task: TaskBody

    @property
    def name(self) -> str:
        return self.attempt.name

    @property
    def body(self) -> AttemptBody:
        return self.attempt.body

    @property
    def branch(self) -> str:
        return f"tenure/{self.name}"


async def located_attempt(cli: Invocation, task: str) -> Found:
    from tenure.cli.asking.lookup import attempt_of, connected

    async with connected(cli) as hub:
        located = await attempt_of(hub, task)
        return Found(located, await hub.task(located.task_id))


def local_tree(home: Path, found: Found) -> LocalTree | None:
    """What a node's store here has of the Attempt; None where none began a worktree of it.

    The record of a worktree goes with it, the pins in the cache of its repository stay.
    """
    from tenure.cli.process.data_files import NODES, node_names
    from tenure.core.ids import AttemptId
    from tenure.node.worktree.repository_cache import repository_source
    from tenure.node.worktree.worktree import WorktreeStore, pin_name

    if found.task.repository is None:
        return None
    attempt = AttemptId(found.name)
    for node in node_names(home):
        store = WorktreeStore(home / NODES / node)
        cache = store.cache(repository_source(found.task.repository).digest)
        if store.read(attempt) is not None or is_pinned(cache, pin_name(attempt, "base")):
            return LocalTree(cache, store.tree(attempt), store.is_there(attempt))
    return None


def is_pinned(cache: Path, ref: str) -> bool:
    """Has this bare repository such a ref? Looked up in its files, packed or not."""
    if (cache / ref).is_file():
        return True
    try:
        packed = (cache / "packed-refs").read_text("utf-8", "replace")
    except OSError:
        return False
    return any(line.endswith(f" {ref}") for line in packed.splitlines())


def local_tree_or_refuse(cli: Invocation, found: Found) -> LocalTree:
    """As `local_tree`.

    Raises:
        NotFoundError: no node of this data folder ran it.
    """
    from tenure.errors import NotFoundError

    tree = local_tree(cli.home, found)
    if tree is None:
        raise NotFoundError(
            f"no node of {cli.home} has anything of {found.name}: {why_not_here(found)}", attempt=found.name
        )
    return tree


def why_not_here(found: Found) -> str:
    """Why nothing of an Attempt is on this machine, and what can be done from here."""
    if found.task.repository is None:
        return "its task has no repository"
    if found.body.recipient is None:
        return "it has not been handed to anybody"
    return f"it ran on {found.body.recipient}; `tenure diff {found.name} | git apply` takes over its changes from here"


async def whole_patch(cli: Invocation, located: Found) -> str | None:
    """The whole difference from the store of the node; None where it is not here or has not been pinned."""
    from tenure.cli.text.evidence import worktree_of
    from tenure.errors import TenureError
    from tenure.runtime.git import CACHE_OVERRIDES, Git

    tree = local_tree(cli.home, located)
    end = worktree_of(located.body).get("wip_sha") or located.body.head_sha
    if tree is None or not isinstance(end, str):
        return None
    words: Any = (
        "diff",
        "--no-ext-diff",
        "--no-textconv",
        "--full-index",
        "--binary",
        located.task.base_sha or "",
        end,
        "--",
    )
    try:
        made = await Git(cli.env, CACHE_OVERRIDES).must(
            "write the patch", tree.cache, *words, output_bytes=1 << 30
        )
    except TenureError:
        return None
    return made.output.decode("utf-8", "surrogateescape")


def megabytes(size_bytes: int) -> str:
    return f"{size_bytes / 1_000_000:.1f} MB"
