"""`tenure demo` and `tenure demo race`: tell a story from beginning to end, and end with 1 if any of it is not so."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeVar

import typer

from tenure.cli.invocation import Invocation, command, commands_below, family
from tenure.cli.text.counting import counted

if TYPE_CHECKING:
    from tenure.cli.demo.stage import Stage
    from tenure.cli.demo.story import Story

NOT_SO = 1

Scene = TypeVar("Scene")
KeepOption = Annotated[bool, typer.Option("--keep", help="Keep the folder, to look into it.")]

HELP = """See it survive crashes, for real.

Without a name the main job is shown, `main`. Each story starts real processes in a temporary folder, checks at every step
that what is told is so, ends with 1 if anything is not, and leaves nothing behind."""

app = family()


class Tally(NamedTuple):
    """What the record holds at the end."""

    tasks: int
    attempts: int
    events: int
    rows: int


async def main(
    cli: Invocation,
    repo: Annotated[
        Path,
        typer.Option(
            "--repo", metavar="PATH", help="The repository to work on a copy of, else the one you are in."
        ),
    ] = Path(),
    keep: KeepOption = False,
) -> int:
    """Show the main job through crashes, in under two minutes.

    Starts a hub and a node in a temporary folder, on a copy of a repository, kills and stops them and what they run, and
    checks at every step that what is told is so. Leaves nothing behind. The last line is a summary.
    """
    from tenure.cli.asking.task_request import absolute
    from tenure.cli.demo.acts import ACTS
    from tenure.cli.demo.stage import staged

    async def played(story: Story) -> Tally:
        async with staged(cli.out, story, absolute(str(repo)), keep=keep) as stage:
            await play(story, stage, ACTS)
            return await told_to_the_end(story, stage)

    return await performed(cli, "main", [part for part, _, _ in ACTS], played)


async def race(
    cli: Invocation,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="Where to write the picture (SVG).")
    ] = Path("tenure-race.svg"),
    keep: KeepOption = False,
) -> int:
    """Show two workers race for one attempt, and a pull request whose answer is lost.

    A lease expires, a stale heartbeat comes, a provider is asked what became of a call, a person answers, a replacement takes
    over, and there is one pull request. With a hub, two nodes, a git remote and a forge, in under a minute. Needs the extra
    `forges`. Writes a picture of it. The last line is a summary.
    """
    from tenure.cli.asking.task_request import absolute
    from tenure.cli.demo.race_acts import ACTS
    from tenure.cli.demo.race_stage import race_staged

    picture = absolute(str(output))

    async def played(story: Story) -> Tally:
        async with race_staged(cli.out, story, keep=keep) as race:
            race.picture = picture
            await play(story, race, ACTS)
            return await told_to_the_end(story, race.stage)

    return await performed(cli, "race", [part for part, _, _ in ACTS], played)


async def recovery(cli: Invocation, keep: KeepOption = False) -> int:
    """Drive one task through every class of failure, to the end of its budget.

    A scripted agent fails in another way at each attempt: what it may not do, what it lacks, a provider without room, a death,
    a base that moved, words that contradict its exit code, a check that does not pass. Each gets the default response. The
    last question says what was tried to somebody who was not there. The last line is a summary.
    """
    from tenure.cli.demo.recovery_acts import ACTS, moved_base
    from tenure.cli.demo.recovery_stage import recovery_staged

    async def played(story: Story) -> Tally:
        async with recovery_staged(cli.out, story, keep=keep) as stage:
            await moved_base(stage)
            await play(story, stage, ACTS)
            return await told_to_the_end(story, stage)

    return await performed(cli, "recovery", [part for part, _, _ in ACTS], played)


async def cancel(cli: Invocation, keep: KeepOption = False) -> int:
    """Cancel tasks: acknowledged, not acknowledged, and with a word that comes too late.

    Real programs with children in sessions of their own, some of which ignore signals, and a node that is stopped. Every step
    is an event, and nothing is left running. The last line is a summary.
    """
    from tenure.cli.demo.cancel_acts import ACTS, SETTINGS
    from tenure.cli.demo.stage import staged

    async def played(story: Story) -> Tally:
        async with staged(cli.out, story, None, keep=keep, settings=SETTINGS) as stage:
            await play(story, stage, ACTS)
            return await told_to_the_end(story, stage)

    return await performed(cli, "cancel", [part for part, _, _ in ACTS], played)


demo_app = commands_below(app, "demo", HELP, main)
command(demo_app, "main")(main)
command(demo_app, "race")(race)
command(demo_app, "recovery")(recovery)
command(demo_app, "cancel")(cancel)


async def performed(
    cli: Invocation, name: str, parts: list[str], played: Callable[[Story], Awaitable[Tally]]
) -> int:
    """A story's exit code: 0 if it was told to its end, and all of it is so."""
    from tenure.cli.demo.story import NotSoError, Story
    from tenure.runtime.clock import RealClock

    story = Story(cli.out, RealClock())
    tally, problem = None, None
    try:
        story.begin("", "Setting the stage")
        tally = await played(story)
    except NotSoError as error:
        problem = error.message
    absent = [part for part in parts if part not in story.told]
    tell_summary(cli, story, tally, problem, absent, name)
    return 0 if problem is None and not absent and tally else NOT_SO


async def play(
    story: Story, stage: Scene, acts: Iterable[tuple[str, str, Callable[[Story, Scene], Awaitable[None]]]]
) -> None:
    """Every part, in the order in which they can happen."""
    for part, title, act in acts:
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
        report.agrees,
        f"the record agrees with itself: {counted(report.head.events, 'event')}, {counted(report.rows, 'row')}",
    )
    story.begin("", "Taking everything away")
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
    cli: Invocation,
    story: Story,
    tally: Tally | None,
    problem: str | None,
    absent: list[str],
    name: str = "main",
) -> None:
    """The last line: everything in one."""
    from tenure.cli.text.counting import counted

    parts = "".join(sorted(set(story.told)))
    went_well = problem is None and not absent and tally is not None
    cli.out.data(
        {
            "story": name,
            "ok": went_well,
            "parts": sorted(set(story.told)),
            "absent": absent,
            "problem": problem,
            "seconds": round(story.seconds, 1),
            "tally": tally._asdict() if tally else None,
            **story.facts,
        }
    )
    lacking = f", absent: {' '.join(absent)}" if absent else ", none absent"
    if problem is not None:
        where = f" in part ({story.part})" if story.part else ""
        line = f"demo {name}: NOT SO{where}: {problem} (parts shown: {parts or 'none'}{lacking}, {story.seconds:.0f} s)"
    else:
        counted = (
            f"{counted(tally.tasks, 'task')}, {counted(tally.attempts, 'attempt')}, {counted(tally.events, 'event')} verified"
            if tally
            else "no tally"
        )
        line = f"demo {name}: ok: parts {' '.join(parts)} shown{lacking}; {counted}; nothing left running; {story.seconds:.0f} s"
    cli.out.say(" ".join(line.split()))
