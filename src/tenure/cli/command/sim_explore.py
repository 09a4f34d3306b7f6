"""`tenure sim explore`: the model checker over the real core."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from tenure.cli.invocation import Invocation
from tenure.cli.text.counting import counted

if TYPE_CHECKING:
    from tenure.sim.explore.bounds import NamedWorld
    from tenure.sim.explore.explore import Exploration

EXIT_BROKEN, EXIT_INCOMPLETE = 1, 3
NS = 1_000_000_000


class ExploreOptions(NamedTuple):
    """What `explore` takes."""

    listed: Annotated[bool, typer.Option("--list", help="List the worlds and what each asks.")] = False
    jobs: Annotated[
        int | None, typer.Option("--jobs", min=1, max=64, help="Processes; else one for each core.")
    ] = None
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, help="States of one world; else five million.")
    ] = None
    grants: Annotated[int | None, typer.Option("--grants", min=1, max=6, help="Deliveries at most.")] = None
    renewals: Annotated[int | None, typer.Option("--renewals", min=0, max=6, help="Of each lease.")] = None
    attempts: Annotated[int | None, typer.Option("--attempts", min=1, max=6, help="Of each task.")] = None
    crashes: Annotated[int | None, typer.Option("--crashes", min=0, max=6, help="Of daemons.")] = None
    wide: Annotated[
        bool, typer.Option("--wide", help="The largest worlds with everything at once; takes much longer.")
    ] = False
    safety_only: Annotated[bool, typer.Option("--safety-only", help="Leave liveness out.")] = False
    hits: Annotated[
        bool, typer.Option("--hits", help="Show each transition by fault, and explain every zero.")
    ] = False
    svg: Annotated[
        Path | None, typer.Option("--svg", metavar="FILE", help="Write the picture of a broken rule there.")
    ] = None


def explore_worlds(
    cli: Invocation,
    names: Annotated[
        list[str] | None, typer.Argument(metavar="WORLD", help="Some (see --list); else all.")
    ] = None,
    *,
    options: ExploreOptions,
) -> int:
    """Explore every state of small worlds around the real core.

    Each world is explored to its end, with messages lost, late, repeated and reordered, crashes, time, and people. In every
    state the rules are checked, and from every state something good must stay within reach. Ends with 1 if a rule is broken
    (with the shortest trace, also as a picture), and with 3 if a limit was hit.
    """
    from tenure.cli.local.result_file import check_result_file
    from tenure.runtime.clock import RealClock
    from tenure.sim.explore.many import Wish, explore_all
    from tenure.sim.explore.worlds import WORLDS

    if options.listed:
        cli.out.data({"worlds": {one.name: one.about for one in WORLDS.values()}})
        cli.out.table(("world", "about"), ((one.name, one.about) for one in WORLDS.values()))
        return 0
    worlds = chosen(names, options)
    if options.svg is not None:
        check_result_file(options.svg)
    clock = RealClock()
    began_ns = clock.awake_ns()
    jobs = options.jobs or os.cpu_count() or 1
    wish = Wish(options.limit, options.safety_only)
    found = explore_all(worlds, wish, jobs, lambda one: cli.out.say(told(one)))
    took_s = (clock.awake_ns() - began_ns) / NS
    cli.out.data({"worlds": [_plain(one) for one in found], "took_s": round(took_s, 1)})
    is_explained = not options.hits or _tell_hits(cli, found, is_whole=not names)
    for world, one in zip(worlds, found, strict=True):
        if one.violation is not None:
            _tell_violation(cli, world, one, options.svg)
    states, steps = sum(one.states for one in found), sum(one.steps for one in found)
    cpu_s = sum(one.cpu_s for one in found)
    cli.out.say(
        f"{counted(len(found), 'world')}: {counted(states, 'state')}, {counted(steps, 'step')}, {took_s:.0f} s on"
        f" {counted(jobs, 'process', 'processes')}"
        f" ({cpu_s:.0f} s of CPU)"
    )
    if not is_explained or any(one.violation is not None for one in found):
        return EXIT_BROKEN
    if not all(one.complete for one in found):
        cli.out.say("NOT COMPLETE: a limit was hit; nothing is claimed beyond it")
        return EXIT_INCOMPLETE
    return 0


def chosen(names: list[str] | None, options: ExploreOptions) -> list[NamedWorld]:
    """The worlds that were named, with the bounds that were given.

    Raises:
        InvalidError: there is no world of that name.
    """
    from msgspec.structs import replace

    from tenure.errors import InvalidError
    from tenure.sim.explore.worlds import WIDE, WORLDS

    unknown = [name for name in names or () if name not in WORLDS]
    if unknown:
        raise InvalidError(f"no world is named {unknown[0]!r}; `tenure sim explore --list` lists all.")
    given = {
        "grants": options.grants,
        "renewals": options.renewals,
        "attempts": options.attempts,
        "daemon_crashes": options.crashes,
    }
    wider = {name: value for name, value in given.items() if value is not None}
    known = WIDE if options.wide else WORLDS
    found = [known[name] for name in names] if names else list(known.values())
    return [replace(one, bound=replace(one.bound, **wider)) for one in found]


def told(one: Exploration) -> str:
    """A world in a line."""
    word = "BROKEN" if one.violation is not None else "holds" if one.complete else "NOT COMPLETE"
    return (
        f"[{word}] {one.world}: {counted(one.states, 'state')}, {counted(one.steps, 'step')}, depth {one.depth},"
        f" {counted(one.records, 'record')} of the hub, {one.seconds:.1f} s ({one.cpu_s:.1f} s of CPU)"
    )


def _plain(one: Exploration) -> dict[str, object]:
    broken = one.violation
    return {
        "world": one.world,
        "states": one.states,
        "steps": one.steps,
        "depth": one.depth,
        "records": one.records,
        "seconds": round(one.seconds, 1),
        "cpu_s": round(one.cpu_s, 1),
        "complete": one.complete,
        "rule": broken.rule if broken else None,
        "trace": list(broken.trace) if broken else [],
        "hits": one.hits.events,
    }


def _tell_violation(cli: Invocation, world: NamedWorld, one: Exploration, svg: Path | None) -> None:
    from tenure.cli.command.draw import Format, drawn, terminal_width
    from tenure.cli.drawing.draft import Told
    from tenure.cli.drawing.telling import story_of
    from tenure.cli.local.result_file import write_result_file
    from tenure.sim.explore.story import moments_of

    if one.violation is None:
        return
    cli.out.say(f"\n{one.world}: {one.violation.rule}")
    for line in one.violation.trace:
        cli.out.say(f"    {line}")
    moments = moments_of(world, one.violation)
    for task_id in dict.fromkeys(moment.task_id for moment in moments):
        events = [Told(*moment[1:]) for moment in moments if moment.task_id == task_id]
        story = story_of(task_id, events)
        cli.out.say(drawn(story, Format.TEXT, width=terminal_width(cli)))
        if svg is not None and task_id == moments[0].task_id:
            write_result_file(svg, drawn(story, Format.SVG))
            cli.out.note(f"{svg}: {counted(len(events), 'event')} of {task_id}")


def _tell_hits(cli: Invocation, found: list[Exploration], *, is_whole: bool) -> bool:
    """The table, and what is wrong with its explanations; those are judged where all worlds were explored."""
    from tenure.sim.explore.hits import COLUMNS, summed
    from tenure.sim.explore.zeros import explained, problems

    hits = summed(one.hits for one in found)
    rows = ((kind, *(str(row[name] or "-") for name in COLUMNS)) for kind, row in hits.events.items())
    cli.out.table(("transition", *COLUMNS), rows)
    cli.out.table(("step", "times"), ((name, str(times)) for name, times in sorted(hits.steps.items())))
    if not is_whole:
        return True
    for line in explained(hits):
        cli.out.say(line)
    wrong = problems(hits)
    for line in wrong:
        cli.out.say(line)
    return not wrong
