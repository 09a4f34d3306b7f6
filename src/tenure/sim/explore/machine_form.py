"""One form for all machines that behave alike under the same record.

What a machine holds of a Delivery matters less and less: an answered message that the network repeats changes nothing, and
of a Delivery whose lease has ended only what is still alive, what is still to be said, and what was ever started. A world
whose bound says `duplicates` keeps every message, so that this is a claim that can be held against it; so does
`tests/sim/explore/test_machine_form.py`, state by state."""

from __future__ import annotations

from msgspec.structs import replace

from tenure.sim.explore.bounds import Bound
from tenure.sim.explore.facts import Marks
from tenure.sim.explore.machine import (
    ALIVE,
    HANDBACK,
    NOTHING_HELD,
    RENEWED,
    TOLD_CANCEL,
    TOLD_STALE,
    Held,
    Machine,
    Row,
    Run,
)


def form_of(machine: Machine, marks: Marks, bound: Bound) -> Machine:
    """The machine without what cannot matter any more, by what the record has of each grant."""
    kept = tuple(
        one if one.is_blank else _held_form(one, marks.of(place), bound)
        for place, one in enumerate(machine.held)
    )
    return machine if kept == machine.held else replace(machine, held=kept)


def _held_form(held: Held, mark: Marks, bound: Bound) -> Held:
    is_news = HANDBACK in held.reports and (mark.slots or not mark.over)
    if not is_news and held.row in (Row.CLOSED, Row.RELEASED) and not held.spawned and not bound.duplicates:
        return _closed_form(held, bound)
    if held.taken and (held.accepted or held.tried):
        held = replace(held, accepted=False, tried=False)
    if held.left and held.run not in ALIVE and not held.accepted and not held.spawned:
        held = replace(held, left=0)
    if bound.duplicates:
        return held
    if held.receipt and not held.awaits_receipt and (mark.over or mark.received):
        held = replace(held, receipt=False)
    return _over_form(held, bound) if mark.over else held


def _closed_form(held: Held, bound: Bound) -> Held:
    """It was reported and answered."""
    return replace(
        NOTHING_HELD,
        row=held.row,
        starts=held.starts,
        run=Run.GONE if held.starts else Run.NONE,
        gone=held.gone if bound.snapshots else False,
        ending=held.ending if bound.snapshots else "",
    )


def _over_form(held: Held, bound: Bound) -> Held:
    """Its lease has ended: the hub's only word on it is that its fence is stale, and that can be asked for at any time."""
    still = held.awaits_renewal and held.renewal_said & (RENEWED | TOLD_CANCEL)
    renewals = 0 if held.row is Row.NONE else bound.renewals
    return replace(
        held,
        refusal=False,
        begun=bound.effect and held.run in ALIVE,
        renewals=renewals,
        spent=renewals,
        awaits_renewal=bool(still),
        renewal_age=held.renewal_age if still else 0,
        renewal_said=held.renewal_said | TOLD_STALE if still else 0,
    )
