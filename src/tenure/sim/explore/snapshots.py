"""Snapshots: what a node tells of its store, and what it makes of the hub's advice."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from tenure.sim.explore.bounds import Bound
from tenure.sim.explore.machine import NOTHING_HELD, Held, HubWord, Machine, Phase, Row, Run, reported
from tenure.sim.explore.moves import Request
from tenure.sim.explore.reading import NodeReading

MIRRORED, ACKNOWLEDGED, STARTED, ENDED, CLOSED = 1, 2, 3, 4, 5
"""As in `commands.STAGES`."""
GONE = 10


def may_compare(machine: Machine, bound: Bound) -> bool:
    """It is sent between two claims only, so never while a grant is on its way."""
    return (
        machine.phase is Phase.UP
        and len(machine.snapshots) < bound.snapshots
        and not any(one.offered for one in machine.held)
    )


def snapshot_of(machine: Machine, reading: NodeReading) -> Machine:
    """The machine once it has sent what its store says now."""
    told_now = tuple(stage_of(one, reading) for one in machine.held)
    if not reading.snapshot_tells_all:
        told_now = tuple(0 if stage == STARTED else stage for stage in told_now)
    return replace(machine, snapshots=(*machine.snapshots, told_now))


def stage_of(held: Held, reading: NodeReading) -> int:
    """What a snapshot says of a Delivery; 0: nothing."""
    if held.row in (Row.NONE, Row.RELEASED):
        return 0
    if held.row is Row.MIRRORED:
        stage = STARTED if held.taken else ACKNOWLEDGED if held.accepted else MIRRORED
        return stage if reading.gone_is_proven else stage + GONE
    stage = ENDED if held.row is Row.ENDED else CLOSED
    return stage + GONE if held.gone else stage


def told(machine: Machine, node: int) -> Iterator[Request]:
    """Snapshots that may arrive now."""
    if machine.speaks:
        for number, content in enumerate(machine.snapshots, 1):
            yield ("snapshot", node, number, *content)


def advised(machine: Machine, request: Request, answer: str) -> Machine:
    """The machine once the daemon has done what it was advised, where that is still up to date."""
    if not machine.is_up or not answer.startswith("compared "):
        return machine
    for part in answer.removeprefix("compared ").split():
        name, _, advice = part.partition("=")
        place = int(name[2:]) - 1
        held = machine.held[place]
        stage = int(request[3 + place])
        if _stage_now(held) == stage % GONE:
            machine = machine.having(place, _heeds(held, advice))
    return machine


def _stage_now(held: Held) -> int:
    return stage_of(held, NodeReading()) % GONE


def _heeds(held: Held, advice: str) -> Held:
    if held.row is Row.CLOSED:
        if advice in ("close", "stop") and held.gone:
            return _released(held)
        if advice in ("go_on", "report"):
            return reported(held, held.ending)
    if held.row is Row.MIRRORED and advice in ("close", "stop"):
        return replace(held, told=HubWord.STALE)
    return held


def _released(held: Held) -> Held:
    """Nothing is left of it here but what it has done."""
    if held.run is Run.NONE and not held.starts and not held.begun:
        return replace(NOTHING_HELD, row=Row.RELEASED)
    return replace(NOTHING_HELD, row=Row.RELEASED, starts=held.starts, run=Run.GONE, begun=held.begun)
