"""`python -m tenure.sim.planted.hunt JOB`: plant one fault in this process and explore until it shows. One line of JSON."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from tenure.sim.planted.catalogue import fault_named
from tenure.sim.planted.fault import PlantedFault
from tenure.sim.planted.found import Found
from tenure.sim.planted.planting import plant

if TYPE_CHECKING:
    from tenure.sim.explore.explore import Exploration

RAISED = re.compile(r"engine: (?!InvariantError)\w+: ")
"""What the explorer says of something that core raised and that is none of its own checks."""


class Job(Struct, frozen=True, kw_only=True):
    """`limit`: states of one world after which the next one is tried. `without`: the one world to explore as it is, to see
    that it breaks nothing when the fault is not there."""

    fault: str
    limit: int
    without: str | None = None


def main() -> None:
    job = msgspec.json.decode(sys.argv[1], type=Job)
    fault = fault_named(job.fault)
    found = hunt(fault, job.limit) if job.without is None else control(fault, job.without, job.limit)
    sys.stdout.write(msgspec.json.encode(found).decode() + "\n")


def hunt(fault: PlantedFault, limit: int) -> Found:
    """Explore the worlds that can show the fault until one does. This process is spoiled afterwards."""
    plant(fault.edits)
    states, seconds = 0, 0.0
    for world in fault.worlds:
        explored = _explored(fault, world, fault.reading, limit)
        states, seconds = states + explored.states, seconds + explored.seconds
        if explored.violation is not None:
            return judged(fault, world, explored, states, seconds)
    return Found(fault=fault.name, states=states, seconds=seconds)


def control(fault: PlantedFault, world: str, limit: int) -> Found:
    """The same world without the fault: what is found here was not the fault's doing."""
    explored = _explored(fault, world, (), limit)
    return judged(fault, world, explored, explored.states, explored.seconds)


def _explored(fault: PlantedFault, name: str, turned: tuple[str, ...], limit: int) -> Exploration:
    # Only now: core must be imported with its fault.
    from tenure.sim.explore.explore import explore
    from tenure.sim.explore.reading import NodeReading
    from tenure.sim.explore.worlds import WORLDS

    reading = NodeReading(**{switch: not getattr(NodeReading(), switch) for switch in turned})
    world = WORLDS[name]
    world = replace(world, bound=replace(world.bound, **fault.bound))
    return explore(world, reading=reading, limit=limit)


def judged(fault: PlantedFault, world: str, explored: Exploration, states: int, seconds: float) -> Found:
    """A rule that was broken is a catch, and so is a check of core's own. Anything else that was raised is a crash."""
    found = Found(fault=fault.name, states=states, seconds=seconds)
    if explored.violation is None:
        return found
    rule, trace = explored.violation.rule, explored.violation.trace
    if RAISED.match(rule):
        return replace(found, crash=f"in {world}, {rule}", trace=trace)
    return replace(found, world=world, invariant=rule, trace=trace)


if __name__ == "__main__":
    main()
