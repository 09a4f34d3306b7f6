"""The search: breadth first from the first state, to the fixpoint or to a broken rule, with the shortest trace.

After the last state liveness is judged backwards over the stored steps: from every state a good one must be within reach
of what goes on for ever (hub, nodes, network, time), first without any person, then with them."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

from msgspec import Struct

from tenure.runtime.clock import RealClock, process_cpu_ns
from tenure.sim.explore.bounds import NamedWorld
from tenure.sim.explore.faults import fault_moves
from tenure.sim.explore.graph import Graph
from tenure.sim.explore.hits import Hits, hits_of
from tenure.sim.explore.label import FAIR, PERSON, Label
from tenure.sim.explore.liveness import at_rest, attended, stuck
from tenure.sim.explore.product import Product
from tenure.sim.explore.reading import NodeReading
from tenure.sim.explore.step import Next, State

LIMIT = 5_000_000
"""States of one world, unless another limit is given: about a thousand bytes each (docs/internals/model-checker.md)."""
NS = 1_000_000_000


class PathStep(NamedTuple):
    """A step of a trace: its label, the state before it and the one after it."""

    label: Label
    before: State
    after: State


class Violation(Struct, frozen=True):
    """`rule`: the sentence of what is broken, its name first. `trace`: the shortest way there, a line for each step."""

    rule: str
    trace: tuple[str, ...]
    path: tuple[PathStep, ...] = ()


class Exploration(Struct, frozen=True, kw_only=True):
    """What became of a world. `complete`: every state was reached and judged. `records`: states of the hub's record alone.
    `seconds` went by; for `cpu_s` of them this process was at work."""

    world: str
    states: int
    steps: int
    depth: int
    seconds: float
    cpu_s: float
    complete: bool
    records: int
    violation: Violation | None = None
    hits: Hits = Hits()


def explore(
    world: NamedWorld,
    *,
    reading: NodeReading | None = None,
    limit: int | None = None,
    safety_only: bool = False,
) -> Exploration:
    """Explore a world to its end, to the first broken rule, or to `limit` states. Deterministic; one process."""
    clock = RealClock()
    began_ns, cpu_ns = clock.awake_ns(), process_cpu_ns()
    product = Product(world.bound, reading or NodeReading())
    graph = Graph(product.first())
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        depth, is_complete, broken = _search(product, graph, limit or LIMIT)
        if is_complete and broken is None and not safety_only:
            broken = _liveness(product, graph)
        hits = hits_of(product, graph) if is_complete else Hits()
    finally:
        if was_enabled:
            gc.enable()
    return Exploration(
        world=world.name,
        states=len(graph.states),
        steps=len(graph.to),
        depth=depth,
        seconds=(clock.awake_ns() - began_ns) / NS,
        cpu_s=(process_cpu_ns() - cpu_ns) / NS,
        complete=is_complete,
        records=len(product.hub.worlds),
        violation=broken,
        hits=hits,
    )


def _search(product: Product, graph: Graph, limit: int) -> tuple[int, bool, Violation | None]:
    """The depth, whether everything was reached, and what is broken."""
    states, numbers = graph.states, graph.numbers
    place, depth, level_ends = 0, 0, 1
    check, form = product.checks.of_state, product.form
    while place < len(states):
        if place == level_ends:
            depth, level_ends = depth + 1, len(states)
        if len(states) > limit:
            return depth, False, None
        state = states[place]
        graph.begins.append(len(graph.to))
        for label, reached, broken in every_step(product, state):
            after, wrong = form(reached), broken
            number = numbers.get(after)
            if number is None:
                wrong = wrong or check(after)
                if not wrong:
                    number = numbers[after] = len(states)
                    states.append(after)
                    graph.parent.append(place)
                    graph.how.append(label)
            if wrong:
                return depth + 1, False, Violation(wrong, *_trace(product, graph, place, label, after))
            if number is not None and number != place:
                graph.to.append(number)
                graph.by.append(label)
        place += 1
    graph.begins.append(len(graph.to))
    return depth, True, None


def every_step(product: Product, state: State) -> Iterator[Next]:
    """What goes on from a state by itself and by people, and what may go wrong."""
    return chain(product.steps(state), fault_moves(product, state))


def _trace(
    product: Product, graph: Graph, place: int, label: int | None = None, after: State | None = None
) -> tuple[tuple[str, ...], tuple[PathStep, ...]]:
    """The way to a state, and one step further."""
    path: list[PathStep] = []
    if label is not None and after is not None:
        path.append(PathStep(product.labels.known[label], graph.states[place], after))
    while place > 0:
        before = graph.parent[place]
        found = product.labels.known[graph.how[place]]
        path.append(PathStep(found, graph.states[before], graph.states[place]))
        place = before
    path.reverse()
    return tuple(step.label.text for step in path), tuple(path)


def _liveness(product: Product, graph: Graph) -> Violation | None:
    """A state from which nothing good can be reached any more, with the shortest way to it."""
    groups = bytes(min(255, label.group) for label in product.labels.known)
    for rule, goal, most in (
        ("never_silent: it neither ends nor is a person asked, whatever goes on", attended, FAIR),
        ("never_silent: no person can bring it to rest", at_rest, PERSON),
    ):
        good = bytearray(1 if goal(product, state) else 0 for state in graph.states)
        place = stuck(graph.begins, graph.to, graph.by, groups, good, most)
        if place is not None:
            return Violation(rule, *_trace(product, graph, place))
    return None
