"""Which transitions of the core were taken, and after which faults: what was explored, and what was not.

A transition is a kind of event, so the list of all of them is the core's own. A cell counts the steps that committed such an
event in a state before which the fault had happened; `none`: before any fault."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from msgspec import Struct

from tenure.sim.explore.faults import most_of
from tenure.sim.explore.graph import Graph
from tenure.sim.explore.step import FAULTS
from tenure.sim.transition import every_transition

if TYPE_CHECKING:
    from tenure.sim.explore.product import Product

NONE = "none"
COLUMNS = (NONE, *FAULTS)


class Hits(Struct, frozen=True):
    """`events`: by kind and fault; `steps`: of nodes, network and provider, and the hub's answers, by what they are called;
    `possible`: the faults that the worlds have in which a kind of event was committed at all."""

    events: dict[str, dict[str, int]] = {}
    steps: dict[str, int] = {}
    possible: dict[str, frozenset[str]] = {}


def hits_of(product: Product, graph: Graph) -> Hits:
    """The hits of a world that was explored."""
    counted: Counter[tuple[int, int, int]] = Counter()
    for place, state in enumerate(graph.states):
        for step in range(graph.begins[place], graph.begins[place + 1]):
            counted[graph.by[step], state[2], state[0]] += 1
    events: dict[str, Counter[str]] = {}
    steps: Counter[str] = Counter()
    names = [_names(product.faults[fault]) for fault in range(len(product.faults))]
    for (by, fault, hub), times in counted.items():
        label = product.labels.known[by]
        steps[label.row] += times
        kinds = product.hub.hear(hub, label.request).kinds if label.request is not None else ()
        for kind in set(kinds):
            row = events.setdefault(kind, Counter())
            for name in names[fault]:
                row[name] += times
    faults = (name for name, most in zip(FAULTS, most_of(product.bound), strict=True) if most)
    possible = dict.fromkeys(events, frozenset((NONE, *faults)))
    return Hits({kind: dict(row) for kind, row in events.items()}, dict(steps), possible)


def _names(counts: tuple[int, ...]) -> tuple[str, ...]:
    return tuple(name for name, count in zip(FAULTS, counts, strict=True) if count) or (NONE,)


def summed(many: Iterable[Hits]) -> Hits:
    """The hits of several worlds together, with a row for every kind and a column for every fault."""
    events = {kind: dict.fromkeys(COLUMNS, 0) for kind in every_transition()}
    steps: Counter[str] = Counter()
    possible: dict[str, frozenset[str]] = {}
    for one in many:
        steps.update(one.steps)
        for kind, faults in one.possible.items():
            possible[kind] = possible.get(kind, frozenset[str]()) | faults
        for kind, row in one.events.items():
            for name, times in row.items():
                events[kind][name] += times
    return Hits(events, dict(steps), possible)
