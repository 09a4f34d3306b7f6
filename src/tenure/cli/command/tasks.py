"""`tenure list`, `show`, `watch` and `why`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from tenure.cli.invocation import Invocation, command, family

if TYPE_CHECKING:
    from tenure.cli.asking.lookup import Located
    from tenure.client.hub import HubClient
    from tenure.wire.api import TaskBody

app = family()

TaskArgument = Annotated[
    str, typer.Argument(metavar="TASK", help="The task: its id, or the beginning of it.")
]
AttemptArgument = Annotated[
    str, typer.Argument(metavar="TASK", help="The task, or one attempt of it (TASK/2).")
]


class ListOptions(NamedTuple):
    """What `list` takes."""

    state: Annotated[
        list[str] | None,
        typer.Option("--state", metavar="STATE", help="Only tasks in this state. May be given again."),
    ] = None
    to: Annotated[str | None, typer.Option("--to", metavar="NAME", help="Only tasks that go there.")] = None
    by: Annotated[str | None, typer.Option("--by", metavar="NAME", help="Only tasks submitted by them.")] = (
        None
    )
    label: Annotated[
        list[str] | None,
        typer.Option("--label", metavar="KEY=VALUE", help="Only tasks with this label. May be given again."),
    ] = None
    limit: Annotated[int, typer.Option("--limit", "-n", metavar="N", help="At most so many.", min=1)] = 20
    every: Annotated[bool, typer.Option("--all", "-a", help="All of them.")] = False


@command(app, "list")
async def list_tasks(cli: Invocation, options: ListOptions) -> None:
    """List tasks, the newest first."""
    from tenure.cli.asking.lookup import connected
    from tenure.cli.command.task_text import spoken
    from tenure.cli.text.moment import shown_age
    from tenure.cli.text.output import one_line
    from tenure.runtime.clock import RealClock

    async with connected(cli) as hub:
        tasks = await listed(hub, options)
    cli.out.data({"tasks": tasks})
    if cli.out.json:
        return
    if not tasks:
        cli.out.note("no tasks" + ("" if options == ListOptions() else " like that"))
        return
    now_ms = RealClock().wall_ms()
    rows = (
        (one.task_id, spoken(one), one.to, shown_age(one.submitted_at, now_ms), one_line(one.objective))
        for one in tasks
    )
    cli.out.table(("task", "state", "to", "submitted", "objective"), rows)


async def listed(hub: HubClient, options: ListOptions) -> list[TaskBody]:
    """The tasks that were asked for, page by page."""
    from tenure.cli.asking.task_request import parse_labels

    labels = [f"{name}={value}" for name, value in parse_labels(options.label or ()).items()]
    # Several values of one filter are a list, which HTTP sends as the same name several times.
    filters: dict[str, Any] = {
        "state": options.state or None,
        "to": options.to,
        "submitted_by": options.by,
        "label": labels or None,
    }
    found: list[TaskBody] = []
    async for task in hub.every_task(**filters):
        found.append(task)
        if len(found) >= options.limit and not options.every:
            break
    return found


@command(app, "show")
async def show(
    cli: Invocation,
    task: AttemptArgument,
    every: Annotated[
        bool, typer.Option("--all", "-a", help="With the handing over: fences, leases, digests.")
    ] = False,
) -> None:
    """Show a task with its attempts.

    What it is, why it is where it is, what each attempt did and used, and what you may answer where it needs you.
    """
    from tenure.cli.asking.lookup import attempt_of, connected
    from tenure.cli.asking.task_name import parse_task_name
    from tenure.cli.command.task_text import task_lines
    from tenure.runtime.clock import RealClock

    async with connected(cli) as hub:
        located = await attempt_of(hub, task)
        body = await hub.task(located.task_id)
        attempts = await hub.attempts(located.task_id)
        effects = await hub.effects(located.task_id)
    if parse_task_name(task).number is not None:
        attempts = tuple(one for one in attempts if one.number == located.number)
        effects = tuple(one for one in effects if one.number == located.number)
    processes = await processes_here(cli, located) if every else None
    more = {"processes": processes} if every else {}
    cli.out.data({"task": body, "attempts": attempts, "effects": effects, **more})
    if not cli.out.json:
        now_ms = RealClock().wall_ms()
        for line in task_lines(body, attempts, now_ms, details=every, effects=effects):
            cli.out.say(line)
        for name, pid in (processes or {}).items():
            cli.out.say(f"  {name:<11} process {pid} on this machine")


async def processes_here(cli: Invocation, located: Located) -> dict[str, int] | None:
    """Runner and program of an Attempt that runs on this machine, by their ids."""
    from tenure.cli.local.run import processes_of, runs_of

    for run in runs_of(cli.home, located.task_id, located.number):
        if run.is_running and (both := await processes_of(run)) is not None:
            return {"runner": both[0].pid, "program": both[1].pid}
    return None


@command(app, "watch")
async def watch(
    cli: Invocation,
    task: TaskArgument,
    every: Annotated[
        bool,
        typer.Option("--all", "-a", help="Also what the handing over consists of; each event with --json."),
    ] = False,
    output: Annotated[
        bool, typer.Option("--output", "-o", help="Also what its program writes, if it runs on this machine.")
    ] = False,
    wait_s: Annotated[
        str | None, typer.Option("--wait-s", metavar="DURATION", help="Watch at most so long.")
    ] = None,
) -> int:
    """Follow a task until it ends or needs you.

    It needs you when its outcome is unknown, when it asks something, when it failed and its policy knows no way on, when
    its budget is used up, when it must be approved before it starts, or when what it waits for did not complete. The exit
    code says how it ended. If the hub goes away meanwhile it goes on when the hub is back.
    """
    from tenure.cli.asking.lookup import connected, task_id_of
    from tenure.cli.command.following import FollowOptions, follow
    from tenure.cli.command.task_text import tell_ending
    from tenure.cli.text.moment import parse_duration_s

    bound_s = parse_duration_s(wait_s) if wait_s else None
    async with connected(cli) as hub:
        task_id = await task_id_of(hub, task)
        ending = await follow(cli, hub, task_id, FollowOptions(details=every, output=output, wait_s=bound_s))
    tell_ending(cli, ending, beside_output=output)
    return ending.exit_code


@command(app, "why")
async def why(cli: Invocation, task: TaskArgument) -> None:
    """Say why a task is where it is."""
    from tenure.cli.asking.lookup import connected, task_id_of

    async with connected(cli) as hub:
        reason = await hub.why(await task_id_of(hub, task))
    cli.out.data(reason)
    if not cli.out.json:
        cli.out.say(reason.sentence + (f" (until {reason.until_at})" if reason.until_at else ""))
