"""`python -m tenure.sim.faults.hunt NAME`: plant one fault in this process and explore until it shows. One line of JSON."""

from __future__ import annotations

import sys

import msgspec
from msgspec.structs import replace

from tenure.sim.faults.catalogue import fault_named
from tenure.sim.faults.fault import Fault
from tenure.sim.faults.found import Found
from tenure.sim.faults.planting import plant

LIMIT = 400_000
"""States of one world after which the next one is tried."""


def hunt(fault: Fault, limit: int = LIMIT) -> Found:
    """Explore the worlds that can show the fault until one does. This process is spoiled afterwards."""
    plant(fault.edits)
    # Only now: core must be imported with its fault.
    from tenure.sim.explore.explore import explore
    from tenure.sim.explore.reading import NodeReading
    from tenure.sim.explore.worlds import WORLDS

    reading = NodeReading(**{name: not getattr(NodeReading(), name) for name in fault.reading})
    states, seconds = 0, 0.0
    for name in fault.worlds:
        world = WORLDS[name]
        world = replace(world, bound=replace(world.bound, **fault.bound))
        explored = explore(world, reading=reading, limit=limit)
        states, seconds = states + explored.states, seconds + explored.seconds
        if explored.violation is not None:
            trace = explored.violation.trace
            return Found(fault.name, name, explored.violation.rule, trace, states, seconds)
    return Found(fault.name, None, None, (), states, seconds)


def main() -> None:
    found = hunt(fault_named(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else LIMIT)
    sys.stdout.write(msgspec.json.encode(found).decode() + "\n")


if __name__ == "__main__":
    main()
