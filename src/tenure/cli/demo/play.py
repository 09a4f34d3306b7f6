"""`tenure demo main`: tells the story from beginning to end, and ends with 1 if any of it is not so."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from tenure.cli.invocation import Invocation, command, commands_below, family

if TYPE_CHECKING:
    from tenure.cli.demo.stage import Stage
    from tenure.cli.demo.story import Story

NOT_SO = 1

app = family()
demo_app = commands_below(app, "demo", "See it survive crashes, on a copy of a repository.")


class Tally(NamedTuple):
    """What the record holds at the end."""

    tasks: int
    attempts: int
    events: int
    rows: int


@command(demo_app, "main")
async def main(
    cli: Invocation,
    repo: Annotated[
        Path,
        typer.Option(
            "--repo", metavar="PATH", help="The repository to work on a copy of, else the one you are in."
        ),
    ] = Path(),
    keep: Annotated[bool, typer.Option("--keep", help="Keep the folder, to look into it.")] = False,
) -> int:
    """Show the main job through crashes, in under two minutes.

    Starts a hub and a node in a temporary folder, on a copy of a repository, kills and stops them and what they run, and
    checks at every step that what is told is so. Leaves nothing behind. The last line is a summary.
    """
    from tenure.cli.asking.task_request import absolute
    from tenure.cli.demo.acts import PARTS
    from tenure.cli.demo.stage import staged
    from tenure.cli.demo.story import NotSoError, Story
    from tenure.runtime.clock import RealClock

    story = Story(cli.out, RealClock())
    tally, problem = None, None
    try:
        story.begin("", "Bringing up a hub and a node")
        async with staged(cli.out, story, absolute(str(repo)), keep=keep) as stage:
            await play(story, stage)
            tally = await told_to_the_end(story, stage)
            story.begin("", "Taking everything away")
    except NotSoError as error:
        problem = error.message
    absent = [part for part in PARTS if part not in story.told]
    tell_summary(cli, story, tally, problem, absent)
    return 0 if problem is None and not absent and tally else NOT_SO


async def play(story: Story, stage: Stage) -> None:
    """Every part, in the order in which they can happen."""
    from tenure.cli.demo.acts import ACTS

    for part, title, act in ACTS:
        story.begin(part, title)
        await act(story, stage)
        story.end()


async def told_to_the_end(story: Story, stage: Stage) -> Tally:
    """Each Task's timeline, and the audit of the record."""
    from tenure.cli.command.audit import opened
    from tenure.ledger import audit as ledger_audit

    attempts = 0
    for task_id in stage.tasks:
        task, attempt = await stage.newest(task_id)
        attempts += attempt.number
        story.begin("", f"{task_id}: {task.objective} ({task.state})")
        await timeline(stage, task_id)
    story.begin("", "tenure audit verify")
    with opened(stage.cli, None) as connection:
        report = ledger_audit.verify(connection)
    for finding in report.findings:
        story.say(str(finding))
    story.expect(
        report.agrees, f"the record agrees with itself: {report.head.events} events, {report.rows} rows"
    )
    return Tally(len(stage.tasks), attempts, report.head.events, report.rows)


async def timeline(stage: Stage, task_id: str) -> None:
    """What was recorded of a Task, with the seconds since it was submitted; a row of renewals is one line."""
    import msgspec

    from tenure.cli.text.counting import counted
    from tenure.cli.text.event import event_text
    from tenure.cli.text.output import one_line
    from tenure.wire.codec import parse_instant

    events = (await stage.hub.events(task_id, limit=500)).events
    began_ms = parse_instant(events[0].at)
    renewals = 0
    for event in events:
        if event.kind == "lease_renewed":
            renewals += 1
            continue
        if renewals:
            stage.cli.out.say(f"           {counted(renewals, 'renewal')} of the lease")
            renewals = 0
        body: dict[str, Any] = msgspec.json.decode(event.body)
        after_s = (parse_instant(event.at) - began_ms) / 1000
        stage.cli.out.say(f"  {after_s:6.2f} s  {one_line(event_text(event.kind, body), 110)}")


def tell_summary(
    cli: Invocation, story: Story, tally: Tally | None, problem: str | None, absent: list[str]
) -> None:
    """The last line: everything in one."""
    from tenure.cli.text.counting import counted

    parts = "".join(sorted(set(story.told)))
    went_well = problem is None and not absent and tally is not None
    cli.out.data(
        {
            "ok": went_well,
            "parts": sorted(set(story.told)),
            "absent": absent,
            "problem": problem,
            "seconds": round(story.seconds, 1),
            "tally": tally._asdict() if tally else None,
        }
    )
    lacking = f", absent: {' '.join(absent)}" if absent else ", none absent"
    if problem is not None:
        where = f" in part ({story.part})" if story.part else ""
        line = f"demo main: NOT SO{where}: {problem} (parts shown: {parts or 'none'}{lacking}, {story.seconds:.0f} s)"
    else:
        counted = (
            f"{counted(tally.tasks, 'task')}, {counted(tally.attempts, 'attempt')}, {counted(tally.events, 'event')} verified"
            if tally
            else "no tally"
        )
        line = f"demo main: ok: parts {' '.join(parts)} shown{lacking}; {counted}; nothing left running; {story.seconds:.0f} s"
    cli.out.say(" ".join(line.split()))
