"""`tenure sim faults`: plants mistakes into core, one at a time and in memory only, and looks whether exploring finds each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tenure.cli.invocation import Invocation

if TYPE_CHECKING:
    from tenure.sim.faults.found import Found

LIMIT = 400_000
RULE_SHOWN = 90
"""Characters of a rule in the table; `--json` has it whole, with the trace."""


async def hunt_faults(
    cli: Invocation,
    names: Annotated[list[str] | None, typer.Argument(metavar="[FAULT]...", help="Some; else all.")] = None,
    jobs: Annotated[int, typer.Option("--jobs", min=1, max=64, help="Hunts at a time.")] = 2,
    limit: Annotated[
        int, typer.Option("--limit", min=1, help="States of one world before the next is tried.")
    ] = LIMIT,
) -> int:
    """Plant each known mistake into core or the node's model, and explore until a rule is broken.

    Lists each with the world that showed it, the length of the shortest trace, and the rule that caught it. Ends with 1 if one
    is not caught. Nothing on disk changes; each hunt is a process of its own.

    Raises:
        InvalidError: there is no fault of that name.
    """
    from tenure.errors import InvalidError
    from tenure.sim.faults.catalogue import catalogue
    from tenure.sim.faults.hunting import hunted

    known = {one.name: one for one in catalogue()}
    unknown = [name for name in names or () if name not in known]
    if unknown:
        raise InvalidError(f"no planted fault is named {unknown[0]!r}; `tenure sim faults --json` lists all.")
    wanted = [one for one in known.values() if not names or one.name in names]
    found = [one async for one in hunted(wanted, jobs=jobs, limit=limit, env=dict(cli.env))]
    order = {one.name: place for place, one in enumerate(wanted)}
    found.sort(key=lambda one: order[one.fault])
    missed = [one for one in found if one.world is None]
    cli.out.data({"faults": found, "missed": [one.fault for one in missed]})
    if not cli.out.json:
        cli.out.table(("fault", "world", "steps", "caught by", "seconds"), map(_row, found))
        cli.out.say(f"{len(found) - len(missed)} of {len(found)} planted faults were caught")
    return 1 if missed else 0


def _row(found: Found) -> tuple[str, ...]:
    if found.world is None:
        return found.fault, "", "", "NOT CAUGHT " + "".join(found.trace)[:RULE_SHOWN], f"{found.seconds:.1f}"
    rule = (found.invariant or "").partition("; ")[0][:RULE_SHOWN]
    return found.fault, found.world, str(len(found.trace)), rule, f"{found.seconds:.1f}"
