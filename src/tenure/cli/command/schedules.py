"""`tenure schedule`: tasks that are submitted again and again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from tenure.cli.asking.task_options import TaskOptions
from tenure.cli.invocation import Invocation, command, commands_below, family

if TYPE_CHECKING:
    from tenure.core.schedule import Missed, Overlap
    from tenure.wire.api import TaskRequest
    from tenure.wire.schedules import OccurrenceBody, ScheduleBody

app = family()
schedule_app = commands_below(app, "schedule", "Submit a task again and again, at times of a time zone.")
NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="The schedule's name.")]
BecauseOption = Annotated[str, typer.Option("--because", metavar="REASON", help="Why; it is kept.")]


class AddOptions(NamedTuple):
    """What `schedule add` takes beside the options of every Task."""

    cron: Annotated[
        str,
        typer.Option(
            "--cron",
            metavar="CRON",
            help="Minute, hour, day of month, month, day of week: '0 9 * * 1-5' is nine o'clock from Monday to Friday.",
        ),
    ]
    zone: Annotated[str, typer.Option("--zone", metavar="ZONE", help="Whose clocks: Europe/Berlin, UTC, …")]
    missed: Annotated[
        str,
        typer.Option(
            "--missed",
            metavar="RULE",
            help="When no hub was there: fire the `latest` occurrence, `skip` them, or fire `all` (100 at most).",
        ),
    ] = "latest"
    overlap: Annotated[
        str,
        typer.Option(
            "--overlap",
            metavar="RULE",
            help="While the task before has not ended: `allow` another one, or `skip` the occurrence.",
        ),
    ] = "allow"
    replace: Annotated[
        bool, typer.Option("--replace", help="Give the schedule of this name other content.")
    ] = False
    objective: Annotated[
        str | None, typer.Option("--objective", "-m", metavar="TEXT", help="What is to be done each time.")
    ] = None
    file: Annotated[
        Path | None,
        typer.Option("--file", "-F", metavar="FILE", help="A TOML or JSON file that describes the task."),
    ] = None


@command(schedule_app, "add", context_settings={"allow_interspersed_args": True})
async def add(
    cli: Invocation,
    name: NameArgument,
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[OBJECTIVE] [PROGRAM]",
            help="As for `submit`: what is to be done, in one quoted text; after `--` a program of its own for it.",
            show_default=False,
        ),
    ] = None,
    *,
    options: AddOptions,
    task: TaskOptions,
) -> None:
    """Add a schedule, or give one other content.

    Each occurrence submits one task under the key schedule:NAME:INSTANT, so that none is submitted twice. Added again with
    the same content it changes nothing; other content needs --replace. Every task begins from the commit that is the base
    now; --replace moves it.
    """
    from tenure.cli.asking.lookup import connected
    from tenure.cli.asking.near import tell_far_folder
    from tenure.wire.schedules import ScheduleRequest

    asked = await request_of(cli, name, words or [], options, task)
    missed, overlap = rules_of(options)
    request = ScheduleRequest(
        name=name,
        cron=options.cron,
        zone=options.zone,
        task=asked,
        missed=missed,
        overlap=overlap,
        replace=options.replace,
    )
    async with connected(cli) as hub:
        await tell_far_folder(cli, hub, (asked,))
        body = await hub.add_schedule(request)
    cli.out.data(body)
    if not cli.out.json:
        known = "is there already" if body.replayed else "is added"
        cli.out.say(f"{body.name} {known}: {body.cron} in {body.zone}, to {body.to}")
        tell_next(cli, body)


async def request_of(
    cli: Invocation, name: str, words: list[str], options: AddOptions, task: TaskOptions
) -> TaskRequest:
    """The request of every Task.

    Raises:
        InvalidError: an option that means one Task only is given, or nothing says what is to be done.
    """
    from tenure.cli.command.submission import filed_request, flagged_request, work_in
    from tenure.errors import InvalidError

    of_one = {
        "--key": task.key,
        "--after": task.after,
        "--after-failure": task.after_failure,
        "--after-end": task.after_end,
        "--not-before": task.not_before,
        "--deadline": task.deadline,
    }
    for flag, value in of_one.items():
        if value is not None:
            raise InvalidError(
                f"{flag} is about one task, and a schedule submits many; leave it out", option=flag
            )
    work = work_in(cli, words, options.objective)
    if options.file is None:
        if not work.objective and not work.program:
            raise InvalidError(
                f"say what is to be done each time: tenure schedule add {name} 'OBJECTIVE' --cron … --zone …"
            )
        return await flagged_request(cli, work, task)
    from tenure.cli.asking.task_file import read_task_file

    tables = read_task_file(options.file)
    if len(tables) != 1:
        raise InvalidError("a schedule has one task; the file describes several")
    if "key" in tables[0]:
        raise InvalidError(
            "a `key` is about one task, and a schedule submits many; leave it out", field="key"
        )
    return await filed_request(cli, tables[0], work, task)


def rules_of(options: AddOptions) -> tuple[Missed, Overlap]:
    """The two rules by their names.

    Raises:
        InvalidError: one is none.
    """
    from tenure.core.schedule import Missed, Overlap
    from tenure.errors import InvalidError

    for flag, word, known in (("--missed", options.missed, Missed), ("--overlap", options.overlap, Overlap)):
        if word not in list(known):
            raise InvalidError(f"{flag} is {word[:40]!r}; known: {', '.join(known)}", option=flag)
    return Missed(options.missed), Overlap(options.overlap)


@command(schedule_app, "list")
async def list_schedules(
    cli: Invocation,
    removed: Annotated[bool, typer.Option("--all", "-a", help="Removed ones as well.")] = False,
) -> None:
    """List schedules."""
    from tenure.cli.asking.lookup import connected

    async with connected(cli) as hub:
        found = await hub.schedules(removed=removed)
    cli.out.data({"schedules": found})
    if cli.out.json:
        return
    if not found:
        cli.out.note("there are no schedules; `tenure schedule add` makes one")
        return
    rows = (
        (
            one.name,
            one.state,
            one.cron,
            one.zone,
            one.next_at or "",
            " ".join(part for part in (one.last_outcome, one.last_task) if part),
            one.submitted_by,
        )
        for one in found
    )
    cli.out.table(("schedule", "state", "cron", "zone", "next", "last", "by"), rows)


@command(schedule_app, "show")
async def show(
    cli: Invocation,
    name: NameArgument,
    occurrences: Annotated[
        int, typer.Option("--occurrences", "-n", metavar="N", help="How many of its next occurrences.")
    ] = 5,
) -> None:
    """Show a schedule and when it fires next."""
    from tenure.cli.asking.lookup import connected
    from tenure.cli.command.schedule_text import spec_lines

    async with connected(cli) as hub:
        body = await hub.schedule(name, occurrences)
    cli.out.data(body)
    if cli.out.json:
        return
    cli.out.say(f"{body.name}  {body.state}  {body.cron}  {body.zone}")
    if body.next_at is None:
        because = f": {body.state_because}" if body.state_because else ""
        cli.out.say(f"  {body.state} by {body.state_by} at {body.state_at}{because}")
    cli.out.say(f"  submits to {body.to}, in the name of {body.submitted_by}: {body.objective}")
    for line in spec_lines(body.task):
        cli.out.say(f"  {line}")
    cli.out.say(f"  missed occurrences: {body.missed}; while the task before runs: {body.overlap}")
    cli.out.say(f"  {body.fired} fired, {body.skipped} skipped, {body.failed} failed")
    if body.last_at is not None:
        detail = f": {body.last_detail}" if body.last_detail else ""
        cli.out.say(f"  last: {body.last_at} {body.last_outcome}{detail}")
    if body.last_task is not None:
        cli.out.say(f"  last task: {body.last_task}")
    tell_next(cli, body)


@command(schedule_app, "next")
async def upcoming(
    cli: Invocation,
    limit: Annotated[int, typer.Option("--limit", "-n", metavar="N", help="How many, 100 at most.")] = 10,
) -> None:
    """Show what fires next, of all schedules."""
    from tenure.cli.asking.lookup import connected

    async with connected(cli) as hub:
        found = await hub.occurrences(limit)
    cli.out.data({"occurrences": found})
    if cli.out.json:
        return
    if not found:
        cli.out.note("nothing fires; no schedule is active")
        return
    cli.out.table(("at", "schedule", "there"), ((one.at, one.schedule, there(one)) for one in found))


@command(schedule_app, "pause")
async def pause(cli: Invocation, name: NameArgument, because: BecauseOption) -> None:
    """Fire no occurrence until it is resumed.

    Those in between are not made up for.
    """
    from tenure.cli.asking.lookup import connected

    async with connected(cli) as hub:
        body = await hub.pause_schedule(name, because)
    tell(cli, body, f"{name} is paused")


@command(schedule_app, "resume")
async def resume(cli: Invocation, name: NameArgument) -> None:
    """Go on with the first occurrence after now."""
    from tenure.cli.asking.lookup import connected

    async with connected(cli) as hub:
        body = await hub.resume_schedule(name)
    tell(cli, body, f"{name} goes on")
    if not cli.out.json:
        tell_next(cli, body)


@command(schedule_app, "remove")
async def remove(cli: Invocation, name: NameArgument, because: BecauseOption) -> None:
    """Fire no occurrence any more.

    Its tasks go on; `tenure cancel` ends them. The record keeps it, and adding the name again brings it back.
    """
    from tenure.cli.asking.lookup import connected

    async with connected(cli) as hub:
        body = await hub.remove_schedule(name, because)
    tell(cli, body, f"{name} is removed")


def tell(cli: Invocation, body: ScheduleBody, done: str) -> None:
    cli.out.data(body)
    if not cli.out.json:
        cli.out.say(done + (" already" if body.replayed else ""))


def tell_next(cli: Invocation, body: ScheduleBody) -> None:
    for number, one in enumerate(body.occurrences):
        cli.out.say(f"  {'next:' if number == 0 else '     '} {one.at}  {there(one)}")


def there(one: OccurrenceBody) -> str:
    """An occurrence as the clocks of its zone show it."""
    return f"{one.local_at.replace('T', ' ')} {one.zone}"
