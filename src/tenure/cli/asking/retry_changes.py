"""What another try shall do otherwise, out of options."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from tenure.errors import BaseNotFoundError

if TYPE_CHECKING:
    from tenure.cli.invocation import Invocation
    from tenure.core.scope import Scope
    from tenure.wire.api import TaskBody
    from tenure.wire.recovery import ChangesRequest


class ChangeOptions(NamedTuple):
    """What may be changed; what is not given stays."""

    objective: Annotated[
        str | None, typer.Option("--objective", "-m", metavar="TEXT", help="Another objective.")
    ] = None
    add: Annotated[str | None, typer.Option("--add", metavar="TEXT", help="Add this to the objective.")] = (
        None
    )
    base: Annotated[
        str | None,
        typer.Option("--base", metavar="REVISION", help="Begin from this revision of its repository."),
    ] = None
    to: Annotated[str | None, typer.Option("--to", metavar="NAME[@NODE]", help="Send it there instead.")] = (
        None
    )
    model: Annotated[
        str | None, typer.Option("--model", metavar="NAME", help="Only a recipient with this model.")
    ] = None
    timeout: Annotated[
        str | None, typer.Option("--timeout", metavar="DURATION", help="The longest it may take.")
    ] = None
    elsewhere: Annotated[
        bool, typer.Option("--elsewhere", help="On another recipient of the same name or pool.")
    ] = False
    check: Annotated[
        list[str] | None,
        typer.Option(
            "--check", metavar="COMMAND", help="These checks instead of those it had. May be given again."
        ),
    ] = None
    may: Annotated[
        list[str] | None,
        typer.Option(
            "--may",
            metavar="KIND",
            help="What it may do outside, instead of what it might. May be given again.",
        ),
    ] = None
    target: Annotated[
        list[str] | None,
        typer.Option(
            "--target", metavar="PATTERN", help="Where, instead of where it might. May be given again."
        ),
    ] = None
    branch: Annotated[
        list[str] | None,
        typer.Option("--branch", metavar="PATTERN", help="Which branches, as well. May be given again."),
    ] = None
    path: Annotated[
        list[str] | None,
        typer.Option("--path", metavar="PATTERN", help="Which files a push may change. May be given again."),
    ] = None
    approve: Annotated[
        list[str] | None,
        typer.Option(
            "--approve", metavar="KIND", help="Each of this kind needs a person. May be given again."
        ),
    ] = None
    most: Annotated[int | None, typer.Option("--most", metavar="N", help="At most so many effects.")] = None


async def changes_in(
    cli: Invocation, options: ChangeOptions, program: list[str], task: TaskBody
) -> ChangesRequest:
    """The changes, with a revision looked up in the Task's own repository if that is on this machine.

    Raises:
        BaseNotFoundError: the revision is not there, or cannot be looked up from here.
        InvalidError: an option cannot be read.
    """
    from tenure.cli.asking.task_request import shell_checks, whole_seconds
    from tenure.cli.text.moment import parse_duration_s
    from tenure.wire.recovery import ChangesRequest

    return ChangesRequest(
        objective=options.objective,
        add=options.add,
        base_sha=await base_in(cli, options.base, task) if options.base else None,
        to=options.to,
        model=options.model,
        command=tuple(program) or None,
        timeout_s=whole_seconds(parse_duration_s(options.timeout)) if options.timeout else None,
        elsewhere=options.elsewhere,
        checks=shell_checks(options.check, None) if options.check else None,
        scope=scope_of(options, task),
    )


def scope_of(options: ChangeOptions, task: TaskBody) -> Scope | None:
    """The Task's scope with what the options say instead; None where they say nothing.

    Raises:
        InvalidError: a kind is none, or nothing could ever be done under it.
    """
    from msgspec.structs import asdict

    from tenure.cli.asking.task_scope import scope_in

    said = (options.may, options.target, options.branch, options.path, options.approve, options.most)
    if all(one is None for one in said):
        return None
    return scope_in(asdict(task.scope) if task.scope is not None else None, options)


async def base_in(cli: Invocation, revision: str, task: TaskBody) -> str:
    """The full commit id of a revision.

    Raises:
        BaseNotFoundError: it is not there, or cannot be looked up from here.
    """
    from tenure.cli.asking.task_request import is_remote, remote_source
    from tenure.client.repository import UserRepository
    from tenure.runtime.git import Git

    if task.repository is None:
        raise BaseNotFoundError(
            f"{task.task_id} has no repository, so it has no base either", task_id=task.task_id
        )
    if is_remote(task.repository):
        return remote_source(task.repository, revision).base_sha
    return await UserRepository(Path(task.repository), Git(cli.env)).resolve(revision)
