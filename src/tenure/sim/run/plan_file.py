"""A plan as a file: written where one was made small, read to be played again, and refused where it is none."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import msgspec

from tenure.errors import InvalidError
from tenure.runtime.bounded_read import read_at_most
from tenure.runtime.stored_json import decode_stored
from tenure.sim.run.plan import DEEDS, FAULTS, Deed, Fault, Plan
from tenure.sim.world.world import LEDGERS, STORES, Shape

PLAN_BYTES = 16 << 20
"""A drawn plan has less than 20 kB; one that was written by hand, or joined from many, has room."""
LONGEST_S = 86_400.0
NODES = 8


def plan_text(plan: Plan) -> str:
    return msgspec.json.format(msgspec.json.encode(plan)).decode()


def read_plan(path: Path) -> Plan:
    """
    Raises:
        InvalidError: it is no plan, or one that cannot be played.
        OSError: it cannot be read.
    """
    try:
        with path.open("rb") as file:
            plan = decode_stored(read_at_most(file, PLAN_BYTES), Plan)
    except ValueError as error:  # a longer file ends where it was cut, which is no JSON
        raise InvalidError(f"{path} is no plan of a simulated seed: {error}.", field="plan") from error
    problem = next(problems(plan), None)
    if problem is not None:
        raise InvalidError(f"{path} cannot be played: {problem}.", field="plan")
    return plan


def problems(plan: Plan) -> Iterator[str]:
    """Why it cannot be played."""
    yield from _of_shape(plan.shape)
    for deed in plan.deeds:
        yield from _of_deed(deed)
    for fault in plan.faults:
        yield from _of_fault(fault)


def _of_shape(shape: Shape) -> Iterator[str]:
    if not 1 <= len(shape.nodes) <= NODES or any(capacity < 1 for node in shape.nodes for capacity in node):
        yield f"`nodes` are 1 to {NODES} pairs of capacities, each of them 1 at least"
    if len(shape.wrong_by_ms) != len(shape.nodes) + 1:
        yield "`wrong_by_ms` has one number for the hub and one for each node"
    if shape.renew_every_s <= 0:
        yield "`renew_every_s` is more than 0"
    if shape.ledger not in LEDGERS:
        yield f"{shape.ledger!r} is no `ledger`; known: {', '.join(LEDGERS)}"
    if shape.stores not in STORES:
        yield f"{shape.stores!r} are no `stores`; known: {', '.join(STORES)}"


def _of_deed(deed: Deed) -> Iterator[str]:
    if deed.kind not in DEEDS:
        yield f"{deed.kind!r} is no deed; known: {', '.join(sorted(DEEDS))}"
    yield from _of_times(deed.kind, deed.at_s, deed.length_s)


def _of_fault(fault: Fault) -> Iterator[str]:
    if fault.kind not in FAULTS:
        yield f"{fault.kind!r} is no fault; known: {', '.join(FAULTS)}"
    if not 0 <= fault.size <= 1:
        yield f"{fault.kind}: `size` is from 0 to 1, and not {fault.size}"
    if fault.steps < 0 or fault.victim < 0:
        yield f"{fault.kind}: `steps` and `victim` are 0 or more"
    yield from _of_times(fault.kind, fault.at_s, fault.length_s)


def _of_times(what: str, *times: float) -> Iterator[str]:
    for one in times:
        if not (math.isfinite(one) and 0 <= one <= LONGEST_S):
            yield f"{what}: {one} is no time from 0 to {LONGEST_S:g} s"
