"""Liveness: from every state something good must stay within reach."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

from tenure.sim.explore.machine import ALIVE, Phase
from tenure.sim.explore.step import FIRST_MACHINE, State

if TYPE_CHECKING:
    from tenure.sim.explore.product import Product


def attended(product: Product, state: State) -> bool:
    """Has every Task ended with settled Effects, or is a person asked about it? One that waits for something that is not its
    own counts where that cannot come by itself: the world's bound of grants is reached, its machines are gone, or what
    blocks them is on the attention list."""
    facts = product.hub.facts(state[0])
    if facts.attended:
        return True
    if not facts.outside:
        return False
    if facts.told or len(facts.node_of) >= product.bound.grants:
        return True
    return any(product.machines[one].phase is Phase.GONE for one in state[FIRST_MACHINE:]) or bool(
        facts.gone_nodes
    )


def at_rest(product: Product, state: State) -> bool:
    """Is everything over: Tasks ended, unknown Attempts answered, no unit taken and no tree alive on a machine that can be
    reached? Or is the world's bound reached, so that it must not be judged?"""
    facts = product.hub.facts(state[0])
    if not facts.rests:
        return len(facts.node_of) >= product.bound.grants and facts.outside and not facts.asked
    if facts.marks.slots:
        return False
    for one in state[FIRST_MACHINE:]:
        machine = product.machines[one]
        if machine.phase in (Phase.UP, Phase.DOWN) and any(held.run in ALIVE for held in machine.held):
            return False
    return True


def stuck(
    begins: array[int], to: array[int], by: array[int], groups: bytes, good: bytearray, most: int
) -> int | None:
    """The first state from which no good one is within reach of steps whose group is at most `most`. `good` is filled up.

    States are swept from the last to the first, since most steps lead forward; so a few sweeps are enough."""
    waiting = [place for place in range(len(good) - 1, -1, -1) if not good[place]]
    while waiting:
        left: list[int] = []
        for place in waiting:
            for step in range(begins[place], begins[place + 1]):
                if good[to[step]] and groups[by[step]] <= most:
                    good[place] = 1
                    break
            else:
                left.append(place)
        if len(left) == len(waiting):
            return min(left)
        waiting = left
    return None
