"""`tenure sim faults`: plants mistakes into core, one at a time and in memory only, and looks whether exploring finds each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from tenure.cli.invocation import Invocation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tenure.sim.planted.fault import PlantedFault
    from tenure.sim.planted.found import Found

LIMIT = 400_000
EXIT_ESCAPED = 1
SHOWN = 90
"""Characters of a rule or of a reason in the table; `--json` has it whole, with the trace."""


async def hunt_faults(
    cli: Invocation,
    names: Annotated[
        list[str] | None, typer.Option("--fault", metavar="NAME", help="Only this one; may be repeated.")
    ] = None,
    *,
    listed: Annotated[
        bool, typer.Option("--list", help="List the faults, what each attacks and where; hunt none.")
    ] = False,
    jobs: Annotated[int, typer.Option("--jobs", min=1, max=64, help="Hunts at a time.")] = 2,
    limit: Annotated[
        int, typer.Option("--limit", min=1, help="States of one world before the next is tried.")
    ] = LIMIT,
) -> int:
    """Plant known mistakes into core and the node's model, one at a time, and explore until a rule is broken.

    Lists each with the world that showed it, the length of the shortest trace, and the rule that caught it. Something else that
    was raised is a crash and catches nothing. Ends with 1 if a fault escaped. Nothing on disk changes; each hunt is a
    process of its own.
    """
    from tenure.sim.planted.hunting import hunted

    wanted = chosen(names)
    if listed:
        cli.out.data({"faults": [_plain(one) for one in wanted]})
        cli.out.table(("fault", "attacks", "planted in"), ((one.name, one.rule, one.place) for one in wanted))
        return 0
    found = [one async for one in hunted(wanted, jobs=jobs, limit=limit, env=dict(cli.env))]
    order = {one.name: place for place, one in enumerate(wanted)}
    found.sort(key=lambda one: order[one.fault])
    escaped = [one.fault for one in found if one.world is None]
    cli.out.data({"faults": found, "escaped": escaped})
    cli.out.table(("fault", "world", "steps", "caught by", "seconds"), map(_row, found))
    cli.out.say(f"{len(found) - len(escaped)} of {len(found)} planted faults were caught")
    return EXIT_ESCAPED if escaped else 0


def chosen(names: Sequence[str] | None) -> list[PlantedFault]:
    """The faults of these names; all if none is given.

    Raises:
        InvalidError: there is no fault of that name.
    """
    from tenure.errors import InvalidError
    from tenure.sim.planted.catalogue import catalogue

    known = {one.name: one for one in catalogue()}
    unknown = [name for name in names or () if name not in known]
    if unknown:
        raise InvalidError(f"no planted fault is named {unknown[0]!r}; `tenure sim faults --list` lists all.")
    return [one for one in known.values() if not names or one.name in names]


def _plain(one: PlantedFault) -> dict[str, Any]:
    return {
        "name": one.name,
        "rule": one.rule,
        "place": one.place,
        "worlds": one.worlds,
        "variant": one.variant,
        "instead": one.instead or None,
    }


def _row(found: Found) -> tuple[str, ...]:
    seconds = f"{found.seconds:.1f}"
    if found.world is not None:
        rule = (found.invariant or "").partition("; ")[0]
        return found.fault, found.world, str(len(found.trace)), rule[:SHOWN], seconds
    why = f"CRASHED: {found.crash}" if found.crash else "ESCAPED"
    return found.fault, "", "", why[:SHOWN], seconds
