"""One decision in the making.

A `Draft` lies over a World: each event emitted is evolved at once, so later steps of the same decision see
it. Nothing reaches the World until the caller lets it `accept` the changes; a decision that is refused leaves
no trace."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tenure.core.attempt import Attempt
from tenure.core.evolve import evolve
from tenure.core.ids import TaskId, attempt_id
from tenure.core.world import Changes, E, Entity, World, get

if TYPE_CHECKING:
    from tenure.core.delivery import Now, Terms
    from tenure.core.events import Event
    from tenure.core.task import Task


class Draft:
    """A World seen through the events that one decision has emitted so far."""

    __slots__ = ("changes", "events", "now", "terms", "world")

    def __init__(self, world: World, now: Now, terms: Terms) -> None:
        self.world = world
        self.now = now
        self.terms = terms
        self.changes: Changes = {}
        self.events: list[Event] = []

    def find(self, kind: type[E], key: str) -> E | None:
        changed = self.changes.get(kind)
        if changed is not None and key in changed:
            return changed[key]
        return self.world.entities[kind].get(key)

    def get(self, kind: type[E], key: str) -> E:
        """The entity; raises `InvariantError` if it is not in the record."""
        return get(self, kind, key)

    def attempt(self, task_id: TaskId, number: int) -> Attempt:
        return get(self, Attempt, attempt_id(task_id, number))

    def newest_attempt(self, task: Task) -> Attempt:
        return self.attempt(task.task_id, task.attempts)

    def put(self, entity: Entity) -> None:
        kind = type(entity)
        changed = self.changes.get(kind)
        if changed is None:
            changed = self.changes[kind] = {}
        changed[entity.key] = entity

    def emit(self, event: Event) -> None:
        """Record an event and let it take effect for the rest of this decision."""
        self.events.append(event)
        evolve(self, event, self.now)
