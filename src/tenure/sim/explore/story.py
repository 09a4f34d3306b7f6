"""The events of a trace, in order, with an instant each: what `tenure draw` makes a picture from."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from tenure.core.stream import TaskEvent
from tenure.ledger.batch import kind_of
from tenure.sim.explore.bounds import NamedWorld
from tenure.sim.explore.canonical_form import NOW, TICK_MS
from tenure.sim.explore.explore import Violation
from tenure.sim.explore.hub import Hub

STEP_MS = 10
"""Between two steps of the same tick."""


class Moment(NamedTuple):
    """An event of a Task as the hub's API would give it, decoded."""

    task_id: str
    at_ms: int
    kind: str
    body: dict[str, Any]


def moments_of(world: NamedWorld, violation: Violation) -> list[Moment]:
    """Every event of a Task on the way to a violation, in the order of the record."""
    hub = Hub(world.bound)
    found: list[Moment] = []
    at_ms, number = NOW.wall_ms, 0
    for event in hub.opening:
        _add(found, event, at_ms)
    for step in violation.path:
        at_ms += TICK_MS if step.label.request is None and step.label.row == "a tick passes" else STEP_MS
        request = step.label.request
        if request is None:
            number = hub.tick(number) if step.label.row == "a tick passes" else number
            continue
        for event in hub.events_of(number, request):
            _add(found, event, at_ms)
        number = hub.hear(number, request).hub
    return found


def _add(found: list[Moment], event: Any, at_ms: int) -> None:
    if isinstance(event, TaskEvent):
        body = msgspec.to_builtins(event)
        found.append(Moment(event.task_id, at_ms, kind_of(event), body))
