"""`tenure cancel`: of a Task, of a Task with all that waits for it, or of one Attempt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from tenure.cli.invocation import Invocation, command, family

if TYPE_CHECKING:
    from tenure.wire.recovery import CancelReply

WAIT_S = 600.0

app = family()


class CancelOptions(NamedTuple):
    """What `cancel` takes."""

    because: Annotated[
        str, typer.Option("--because", metavar="REASON", help="Why; it is kept with the task.")
    ] = ""
    tree: Annotated[
        bool, typer.Option("--tree", help="Also every task that waits for it, and those that wait for them.")
    ] = False
    wait: Annotated[
        bool, typer.Option("--wait", "-w", help="Show the steps until nothing of it runs any more.")
    ] = False
    wait_s: Annotated[
        str | None,
        typer.Option(
            "--wait-s", metavar="DURATION", help="As --wait, at most so long; else it is ten minutes."
        ),
    ] = None


@command(app, "cancel")
async def cancel(
    cli: Invocation,
    task: Annotated[
        str, typer.Argument(metavar="TASK", help="The task, or one attempt of it (TASK/2) alone.")
    ],
    options: CancelOptions,
) -> int:
    """Cancel a task.

    From now on nothing of it is started. What runs is asked to stop, and its node says how it ended; if it says nothing
    in time, the outcome is unknown, and that is what is recorded. After an attempt alone its task waits for what you say
    next. `cancel` ends with 0 once the request is recorded; with `--wait` with 0 once nothing runs any more, with 4 if
    nobody knows how it ended, with 124 if it is not over in time.
    """
    from tenure.cli.asking.lookup import attempt_of, connected
    from tenure.cli.asking.task_name import parse_task_name
    from tenure.cli.command.stop_steps import Watched, watch_steps
    from tenure.cli.text.moment import parse_duration_s

    bound_s = parse_duration_s(options.wait_s) if options.wait_s else WAIT_S
    async with connected(cli) as hub:
        located = await attempt_of(hub, task)
        number = located.number if parse_task_name(task).number is not None else None
        reply = await hub.cancel(located.task_id, options.because, tree=options.tree, number=number)
        if not options.wait and options.wait_s is None:
            tell_reply(cli, reply)
            return 0
        tell_tree(cli, reply)
        waits = [one.task_id for one in reply.tree if one.step] if options.tree else [located.task_id]
        return await watch_steps(cli, hub, [Watched(one, number) for one in waits], bound_s)


def tell_reply(cli: Invocation, reply: CancelReply) -> None:
    """What was recorded."""
    cli.out.data(reply)
    if cli.out.json:
        return
    if reply.tree:
        tell_tree(cli, reply)
        return
    name = reply.task_id if reply.number is None else f"{reply.task_id}/{reply.number}"
    cli.out.say(f"{name}: cancel {reply.step}")


def tell_tree(cli: Invocation, reply: CancelReply) -> None:
    """What was recorded of each Task of a tree."""
    if cli.out.json or not reply.tree:
        return
    rows = (
        (one.task_id, one.step or "not canceled", str((one.error or {}).get("detail", "")))
        for one in reply.tree
    )
    cli.out.table(("task", "cancel", "note"), rows)
    if reply.more:
        cli.out.note("more tasks wait for these; each is canceled when what it waits for has ended")
