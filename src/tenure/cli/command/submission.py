"""`tenure run` and `tenure submit`."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from tenure.cli.asking.task_options import TaskOptions
from tenure.cli.invocation import Invocation, command, family

if TYPE_CHECKING:
    from tenure.cli.command.following import Ending
    from tenure.client.hub import HubClient
    from tenure.wire.api import TaskBody, TaskRequest

app = family()


class RunOptions(NamedTuple):
    """What `run` takes beside the options of every Task."""

    objective: Annotated[
        str | None,
        typer.Option("--objective", "-m", metavar="TEXT", help="What it is for; the program's prompt."),
    ] = None
    wait_s: Annotated[
        str | None,
        typer.Option("--wait-s", metavar="DURATION", help="Wait at most so long; the task goes on."),
    ] = None


class SubmitOptions(NamedTuple):
    """What `submit` takes beside the options of every Task."""

    objective: Annotated[
        str | None,
        typer.Option("--objective", "-m", metavar="TEXT", help="What is to be done; as the quoted text."),
    ] = None
    file: Annotated[
        Path | None,
        typer.Option(
            "--file", "-F", metavar="FILE", help="A TOML or JSON file that describes the task, or several."
        ),
    ] = None
    wait: Annotated[bool, typer.Option("--wait", "-w", help="Wait until it ends or needs you.")] = False
    wait_s: Annotated[
        str | None,
        typer.Option("--wait-s", metavar="DURATION", help="Wait at most so long; the task goes on."),
    ] = None


@command(app, "run", context_settings={"allow_interspersed_args": False})
async def run(
    cli: Invocation,
    program: Annotated[list[str], typer.Argument(help="The program and its arguments.", metavar="PROGRAM")],
    options: RunOptions,
    task: TaskOptions,
) -> int:
    """Run a program as a task, wait for it and show its result.

    It runs in a worktree of its own, made from your last commit; your files stay as they are. What it writes to standard
    output comes out here, everything else is told on standard error. Write the program after `--`. A failure of the program is
    the end of the task, as you are there to see it; with `--policy default` it is met as that of a submitted task.
    """
    from msgspec.structs import replace

    from tenure.cli.asking.lookup import connected
    from tenure.cli.asking.task_request import task_request
    from tenure.cli.command.following import FollowOptions
    from tenure.cli.command.task_text import tell_ending
    from tenure.core.policy import ONCE

    async with connected(cli) as hub:
        asked = await task_request(cli, options.objective or shlex.join(program), program, task)
        asked = replace(asked, policy=asked.policy or ONCE.name)
        submitted = await submit_one(cli, hub, asked, task)
        cli.out.note(f"{submitted.task_id} submitted to {submitted.to}")
        follow_options = FollowOptions(output=True, wait_s=seconds(options.wait_s))
        ending = await follow_or_say(cli, hub, submitted.task_id, follow_options)
        tell_ending(cli, ending, beside_output=True)
    return ending.exit_code


@command(app, "submit", context_settings={"allow_interspersed_args": True})
async def submit(
    cli: Invocation,
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[OBJECTIVE] [PROGRAM]",
            help="What is to be done, in one quoted text; after `--` a program of its own for it, as for `run`.",
            show_default=False,
        ),
    ] = None,
    *,
    options: SubmitOptions,
    task: TaskOptions,
) -> int:
    """Submit a task.

    The objective is the agent's prompt. With a program after `--` that program is run, and without an objective its
    words are the objective, as with `run`; else the recipient's own program is run. Prints the task's id; with `--wait`
    it follows the task, and its exit code says how it ended.
    """
    from tenure.cli.asking.lookup import connected

    work = work_in(cli, words or [], options.objective)
    async with connected(cli) as hub:
        if options.file is not None:
            from tenure.cli.asking.task_file import read_task_file

            tables = read_task_file(options.file)
            if len(tables) != 1 or "tasks" in tables[0]:
                refuse_work(work)
                return await submit_several(cli, hub, tables, task)
            asked = await filed_request(cli, tables[0], work, task)
            task = task._replace(key=task.key or tables[0].get("key"))
        else:
            asked = await flagged_request(cli, work, task)
        warn_of_recipient(cli, asked)
        submitted = await submit_one(cli, hub, asked, task)
        return await told(cli, hub, submitted, options)


class Work(NamedTuple):
    """What is to be done: the objective, and a program of its own for it; what was not given is empty."""

    objective: str
    program: list[str]


def work_in(cli: Invocation, words: list[str], option: str | None) -> Work:
    """The objective, which stands before `--` or as an option, and the program, which stands after it.

    Raises:
        InvalidError: an objective was not quoted, or there are two.
    """
    from tenure.errors import InvalidError

    written = cli.arguments
    after = len(written) - 1 - written.index("--") if "--" in written else 0
    loose, program = words[: len(words) - after], words[len(words) - after :]
    if len(loose) > 1:
        raise InvalidError(
            "quote the objective, so that it is one word; a program of its own stands after `--`"
        )
    if loose and option is not None:
        raise InvalidError("the objective is given twice: in a text of its own and with --objective")
    return Work(loose[0] if loose else option or "", program)


async def flagged_request(cli: Invocation, work: Work, task: TaskOptions) -> TaskRequest:
    """The request out of the command line.

    Raises:
        InvalidError: there is neither an objective nor a program.
    """
    from tenure.cli.asking.task_request import task_request
    from tenure.errors import InvalidError

    if not work.objective and not work.program:
        raise InvalidError(
            "say what is to be done: tenure submit 'OBJECTIVE', tenure submit -- PROGRAM, or name a file with --file"
        )
    return await task_request(cli, work.objective or shlex.join(work.program), work.program, task)


async def filed_request(cli: Invocation, table: dict[str, Any], work: Work, task: TaskOptions) -> TaskRequest:
    """The request out of a file; what the command line says stands over it."""
    from tenure.cli.asking.task_file import request_in

    over: dict[str, Any] = {"objective": work.objective} if work.objective else {}
    if work.program:
        over["command"] = work.program
    return await request_in(cli, {**table, **over}, task)


def refuse_work(work: Work) -> None:
    """A file with several tasks says itself what each is.

    Raises:
        InvalidError: the command line says it, too.
    """
    from tenure.errors import InvalidError

    if work.objective or work.program:
        raise InvalidError(
            "a file with several tasks takes neither objective nor program; write them into the file"
        )


def warn_of_recipient(cli: Invocation, asked: TaskRequest) -> None:
    """Says so before the node does where a recipient of this machine's settings has no program for this task, or takes
    none of the task's own."""
    from tenure.cli.asking.address import is_local
    from tenure.cli.process.default_recipient import recipients_of

    name, _, node = asked.to.partition("@")
    if not is_local(cli) or node not in {"", cli.settings.node.name}:
        return
    for one in recipients_of(cli.settings):
        if one.name != name:
            continue
        if not asked.command and not one.argv and one.script is None:
            cli.out.note(
                f"warning: {name} has no program of its own, so this task will fail there; give one after `--`, or "
                "send the task to a recipient that has one"
            )
        elif asked.command and not one.allow_command:
            cli.out.note(
                f"warning: {name} takes no program of a task's own (allow_command in the settings), so this task will "
                "fail there"
            )


async def submit_one(cli: Invocation, hub: HubClient, asked: TaskRequest, task: TaskOptions) -> TaskBody:
    """Submits one Task, its dependencies named in full.

    Raises:
        OutcomeUnknownError: it cannot be told whether it was recorded; the message has the key to repeat it under.
    """
    from msgspec.structs import replace

    from tenure.cli.asking.lookup import task_id_of
    from tenure.cli.asking.near import tell_far_folder
    from tenure.errors import OutcomeUnknownError
    from tenure.runtime.clock import RealClock
    from tenure.runtime.ids import RealIds

    async def whole(filed: tuple[str, ...], given: list[str] | None) -> tuple[str, ...]:
        names = [*filed, *(given or ())]
        return tuple([one if one.startswith("key:") else await task_id_of(hub, one) for one in names])

    asked = replace(
        asked,
        after=await whole(asked.after, task.after),
        after_failure=await whole(asked.after_failure, task.after_failure),
        after_end=await whole(asked.after_end, task.after_end),
    )
    await tell_far_folder(cli, hub, (asked,))
    key = task.key or RealIds(RealClock()).new_id("k")
    try:
        submitted = await hub.submit(asked, key)
    except OutcomeUnknownError as error:
        raise OutcomeUnknownError(
            f"{error.message} Its key is {key}: repeat it with --key {key}", key=key
        ) from error
    if submitted.replayed:
        cli.out.note(f"this key had made {submitted.task_id} before; nothing new was submitted")
    return submitted


async def told(cli: Invocation, hub: HubClient, submitted: TaskBody, options: SubmitOptions) -> int:
    """Prints the id, or follows the Task and prints how it ended."""
    from tenure.cli.command.following import FollowOptions
    from tenure.cli.command.task_text import tell_ending

    if not options.wait and options.wait_s is None:
        cli.out.data(submitted)
        if not cli.out.json:
            cli.out.say(submitted.task_id)
            cli.out.note(f"to {submitted.to}: {submitted.why.sentence}")
        return 0
    cli.out.note(f"{submitted.task_id} submitted to {submitted.to}")
    ending = await follow_or_say(cli, hub, submitted.task_id, FollowOptions(wait_s=seconds(options.wait_s)))
    tell_ending(cli, ending, beside_output=False)
    return ending.exit_code


async def follow_or_say(cli: Invocation, hub: HubClient, task_id: str, options: Any) -> Ending:
    """Follows a Task; on Ctrl-C it says that the Task goes on.

    Raises:
        CancelledError: Ctrl-C.
    """
    import asyncio

    from tenure.cli.command.following import follow

    try:
        return await follow(cli, hub, task_id, options)
    except asyncio.CancelledError:
        cli.out.note(
            f"\nthe task goes on; `tenure watch {task_id}` watches it, `tenure cancel {task_id}` ends it"
        )
        raise


async def submit_several(
    cli: Invocation, hub: HubClient, tables: list[dict[str, Any]], task: TaskOptions
) -> int:
    """Submits the tasks of a file as one batch, each under its own key.

    Raises:
        InvalidError: flags were given, which could be meant for any of them.
    """
    from tenure.cli.asking.near import tell_far_folder
    from tenure.cli.asking.task_file import batch_in
    from tenure.errors import InvalidError

    if task != TaskOptions():
        raise InvalidError("a file with several tasks takes no options of a task; write them into the file")
    items = await batch_in(cli, tables)
    await tell_far_folder(cli, hub, [one.task for one in items])
    reply = await hub.submit_batch(items)
    cli.out.data(reply)
    if not cli.out.json:
        rows = (
            (
                one.key,
                one.task_id or "",
                "known already" if one.replayed else str((one.error or {}).get("detail", "")),
            )
            for one in reply.results
        )
        cli.out.table(("key", "task", "note"), rows)
    return 65 if any(one.error for one in reply.results) else 0


def seconds(text: str | None) -> float | None:
    """A duration from an option; None where it was not given."""
    from tenure.cli.text.moment import parse_duration_s

    return None if text is None else parse_duration_s(text)
