"""`tenure effect`: what an agent has done outside, once each, and what people see and say of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from tenure.cli.command import effect_answers
from tenure.cli.invocation import Invocation, command, commands_below, family

if TYPE_CHECKING:
    from tenure.cli.asking.own_worktree import Head
    from tenure.wire.effects import EffectBody

TEXT_BYTES = 1 << 20
"""Of a text that is read from a file; the hub takes less and says how much."""

HELP = """Ask for effects outside (pull requests, comments, …), and look at them.

Inside an attempt, with the capability it was given, an agent has them done: each once, however often it asks. The exit
code is 0 when it is done; else the error says what to do. `list`, `show` and `settle` are for people, too."""

app = family()
effect_app = commands_below(app, "effect", HELP)

NumberArgument = Annotated[
    int, typer.Argument(metavar="NUMBER", help="The issue's or pull request's number.")
]


class EffectOptions(NamedTuple):
    """What every Effect takes."""

    target: Annotated[
        str | None,
        typer.Option(
            "--target",
            metavar="PROVIDER:WHAT",
            help="Where, as github:owner/repo. Else the first of the task's scope that does this.",
        ),
    ] = None
    key: Annotated[
        str | None,
        typer.Option(
            "--key", metavar="KEY", help="A name of your own for this operation. Else kind, task and subject."
        ),
    ] = None
    again: Annotated[
        str | None,
        typer.Option(
            "--again", metavar="REASON", help="Do once more what was done, on purpose; the reason is kept."
        ),
    ] = None
    wait: Annotated[
        str,
        typer.Option("--wait", metavar="SECONDS", help="How long to wait until it is done (or 2m, 1h)."),
    ] = "45"


class TextOptions(NamedTuple):
    """A text, given or read."""

    body: Annotated[str | None, typer.Option("--body", metavar="TEXT", help="The text.")] = None
    body_file: Annotated[
        Path | None,
        typer.Option("--body-file", metavar="FILE", help="A file with the text; - is standard input."),
    ] = None


class PullRequestOptions(NamedTuple):
    """What `effect pr` takes beside the options of every Effect."""

    base: Annotated[
        str | None,
        typer.Option(
            "--base", metavar="BRANCH", help="The branch to merge into. Else the default one of `origin`."
        ),
    ] = None
    head: Annotated[
        str | None,
        typer.Option(
            "--head", metavar="BRANCH", help="The branch to merge, which was pushed. Else the current one."
        ),
    ] = None
    title: Annotated[
        str | None,
        typer.Option("--title", metavar="TEXT", help="The title. Else the last commit's first line."),
    ] = None
    draft: Annotated[bool, typer.Option("--draft", help="As a draft.")] = False


@command(effect_app, "pr")
async def pull_request(
    cli: Invocation, pull: PullRequestOptions, text: TextOptions, options: EffectOptions
) -> None:
    """Open a pull request.

    From the current branch, which must have been pushed, at exactly the commit of HEAD. Without --title and --body the
    last commit's message is taken. The same head and base are one pull request, whoever asks for it.
    """
    from tenure.cli.asking.own_worktree import head_of, own_branch
    from tenure.core.scope import EffectKind

    head = await head_of(cli)
    branch = own_branch(pull.head, head)
    body = text_of(text)
    own = {"head_sha": head.sha, "tree": head.tree} if branch == head.branch else {}
    params = {
        "head": branch,
        "base": base_of(pull, head),
        "title": pull.title or head.title,
        "body": own_text(pull, head) if body is None else body,
        "draft": pull.draft,
        **own,
    }
    await have_done(cli, EffectKind.PULL_REQUEST, params, options)


def base_of(pull: PullRequestOptions, head: Head) -> str:
    """The branch to merge into.

    Raises:
        InvalidError: none was named, and git knows of none.
    """
    from tenure.errors import InvalidError

    base = pull.base or head.base
    if base is None:
        raise InvalidError(
            "say which branch to merge into: --base BRANCH (`origin` names none here)", field="base"
        )
    return base


def own_text(pull: PullRequestOptions, head: Head) -> str:
    """The last commit's text below its first line, unless the title is another one."""
    return "" if pull.title else head.body


class PushOptions(NamedTuple):
    """What `effect push` takes."""

    branch: Annotated[
        str | None,
        typer.Option("--branch", metavar="BRANCH", help="The branch to push to. Else the current one."),
    ] = None
    target: Annotated[
        str | None,
        typer.Option(
            "--target",
            metavar="PROVIDER:WHAT",
            help="Where, as github:owner/repo. Else what the node has told git.",
        ),
    ] = None
    again: Annotated[
        str | None,
        typer.Option("--again", metavar="REASON", help="Push once more what was pushed, on purpose."),
    ] = None


@command(effect_app, "push")
async def push(cli: Invocation, options: PushOptions) -> None:
    """Push HEAD to the hub's git endpoint.

    The endpoint checks that the attempt still holds its lease and may push there, and forwards it to the real remote. It
    is a plain `git push`; nothing is ever forced.
    """
    from tenure.cli.asking.own_worktree import head_of, own_branch, push_head, push_remote
    from tenure.client.agent import told_to
    from tenure.errors import TenureError

    remote = await push_remote(cli, options.target)
    head = await head_of(cli)
    name = own_branch(options.branch, head)
    try:
        said = await push_head(cli, remote, name, options.again)
    except TenureError as error:
        raise type(error)(told_to(error), **error.facts) from error
    cli.out.data({"branch": name, "sha": head.sha, "said": said})
    if not cli.out.json:
        cli.out.note(said)
        cli.out.say(f"{name} is at {head.sha}")


@command(effect_app, "commit")
async def commit(
    cli: Invocation,
    message: Annotated[
        str, typer.Option("--message", "-m", metavar="TEXT", help="The commit's message.")
    ] = "",
    everything: Annotated[
        bool, typer.Option("--all", "-a", help="Stage all changes first, new files too.")
    ] = False,
) -> None:
    """Commit the attempt's work, with trailers that name task, attempt and fence.

    A plain `git commit` in the worktree. The same content again is the commit that is there.
    """
    from tenure.cli.asking.own_commit import commit_own

    made = await commit_own(cli, message, everything=everything)
    cli.out.data({"sha": made.sha, "tree": made.tree, "replayed": made.replayed})
    if not cli.out.json:
        cli.out.say(f"{made.sha} is {'there already' if made.replayed else 'made'}")


@command(effect_app, "comment")
async def comment(cli: Invocation, number: NumberArgument, text: TextOptions, options: EffectOptions) -> None:
    """Comment on an issue or a pull request."""
    from tenure.core.scope import EffectKind

    await have_done(cli, EffectKind.COMMENT, {"number": number, "body": text_of(text) or ""}, options)


@command(effect_app, "label")
async def label(
    cli: Invocation,
    number: NumberArgument,
    labels: Annotated[list[str], typer.Argument(metavar="LABEL", help="Labels to add.")],
    options: EffectOptions,
) -> None:
    """Put labels on an issue or a pull request, beside those that are there."""
    from tenure.core.scope import EffectKind

    await have_done(cli, EffectKind.LABEL, {"number": number, "labels": labels}, options)


class StatusOptions(NamedTuple):
    """What `effect status` takes beside the options of every Effect."""

    context_name: Annotated[
        str, typer.Option("--context", metavar="NAME", help="Whose status it is: a name for it.")
    ] = "tenure"
    sha: Annotated[
        str | None, typer.Option("--sha", metavar="COMMIT", help="The commit's full id. Else HEAD.")
    ] = None
    description: Annotated[str, typer.Option("--description", metavar="TEXT", help="A few words.")] = ""
    url: Annotated[str | None, typer.Option("--url", metavar="URL", help="Where there is more.")] = None


@command(effect_app, "status")
async def status(
    cli: Invocation,
    word: Annotated[str, typer.Argument(metavar="STATE", help="pending, success, failure or error.")],
    more: StatusOptions,
    options: EffectOptions,
) -> None:
    """Set a commit's status."""
    from tenure.core.scope import EffectKind

    params = {
        "sha": more.sha or await own_sha(cli),
        "context": more.context_name,
        "state": word,
        "description": more.description,
        "url": more.url,
    }
    await have_done(cli, EffectKind.STATUS, params, options)


class MergeOptions(NamedTuple):
    """What `effect merge` takes beside the options of every Effect."""

    head_sha: Annotated[
        str | None,
        typer.Option(
            "--head-sha",
            metavar="COMMIT",
            help="What its head must be: one that moved on is not merged. Else HEAD.",
        ),
    ] = None
    method: Annotated[str, typer.Option("--method", metavar="HOW", help="merge, squash or rebase.")] = "merge"


@command(effect_app, "merge")
async def merge(cli: Invocation, number: NumberArgument, more: MergeOptions, options: EffectOptions) -> None:
    """Merge a pull request, at exactly one commit."""
    from tenure.core.scope import EffectKind

    params = {"number": number, "head_sha": more.head_sha or await own_sha(cli), "method": more.method}
    await have_done(cli, EffectKind.MERGE, params, options)


class HttpOptions(NamedTuple):
    """What `effect http` takes beside the options of every Effect."""

    method: Annotated[str, typer.Option("--method", metavar="METHOD", help="POST, PUT or PATCH.")] = "POST"
    path: Annotated[
        str, typer.Option("--path", metavar="PATH", help="Behind the webhook's configured address.")
    ] = ""
    content_type: Annotated[str, typer.Option("--content-type", metavar="TYPE", help="What the text is.")] = (
        "application/json"
    )


@command(effect_app, "http")
async def http(cli: Invocation, more: HttpOptions, text: TextOptions, options: EffectOptions) -> None:
    """Send a request to a configured webhook, signed by the hub."""
    from tenure.core.scope import EffectKind

    params = {
        "body": text_of(text) or "",
        "method": more.method,
        "path": more.path,
        "content_type": more.content_type,
    }
    await have_done(cli, EffectKind.HTTP, params, options)


async def own_sha(cli: Invocation) -> str:
    from tenure.cli.asking.own_worktree import head_of

    return (await head_of(cli)).sha


def text_of(options: TextOptions) -> str | None:
    """The text that was given, or is in the file; None where there is neither.

    Raises:
        InvalidError: there are both, or the file is too long or no text.
    """
    import sys

    from tenure.errors import InvalidError

    if options.body_file is None:
        return options.body
    if options.body is not None:
        raise InvalidError("the text is given twice: with --body and with --body-file", field="body")
    if str(options.body_file) == "-":
        text = sys.stdin.read(TEXT_BYTES + 1)
    else:
        with options.body_file.open("rb") as file:
            try:
                text = file.read(TEXT_BYTES + 1).decode("utf-8")
            except UnicodeDecodeError as error:
                raise InvalidError(f"{options.body_file} is no text in UTF-8", field="body") from error
    if len(text) > TEXT_BYTES:
        raise InvalidError(f"{options.body_file} has more than {TEXT_BYTES} characters", field="body")
    return text


async def have_done(cli: Invocation, kind: Any, params: dict[str, Any], options: EffectOptions) -> None:
    """Asks for an Effect and tells what became of it.

    Raises:
        TenureError: it is not done; the sentence says why, and what to do.
    """
    from tenure.cli.asking.capability import connected_agent
    from tenure.cli.text.moment import parse_duration_s
    from tenure.client.agent import problem_of
    from tenure.wire.effects import EffectRequest

    wait_s = parse_duration_s(options.wait)
    async with connected_agent(cli) as agent:
        asked = EffectRequest(
            kind=kind,
            target=await agent.target(options.target),
            params={name: value for name, value in params.items() if value is not None},
            key=options.key,
            again=options.again,
            wait_s=wait_s,
        )
        effect = await agent.perform(asked)
    cli.out.data(effect)
    problem = problem_of(effect)
    if problem is not None:
        raise problem
    if not cli.out.json:
        tell_done(cli, effect)


def tell_done(cli: Invocation, effect: EffectBody) -> None:
    from tenure.cli.text.effect import effect_line

    if effect.adopted:
        cli.out.note("it was there already, under another key; nothing was done again")
    elif effect.replayed:
        cli.out.note("it was done before, under this key; nothing was done again")
    cli.out.say(effect_line(effect))


command(effect_app, "list")(effect_answers.list_effects)
command(effect_app, "show")(effect_answers.show_effect)
command(effect_app, "settle")(effect_answers.settle)
