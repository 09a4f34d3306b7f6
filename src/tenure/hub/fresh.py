"""Tasks that are just being submitted, as their own commit made them.

The answer to a submit shows the Task. Reading it back would cost as much as recording it did, so the events of the
commit are folded here, by the same `evolve` that made the rows. Only Tasks that somebody waits to show are kept, and
only until they are shown."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import final

from tenure.core import events as ev
from tenure.core.attempt import Attempt
from tenure.core.delivery import Now
from tenure.core.evolve import evolve
from tenure.core.ids import IncarnationId, TaskId, attempt_id
from tenure.core.task import Task
from tenure.core.world import World
from tenure.ledger.port import Committed


@final
class Fresh:
    def __init__(self) -> None:
        self._wanted: dict[TaskId, World] = {}

    @contextmanager
    def watch(self, task_id: TaskId) -> Generator[None]:
        """Keep this Task for the time of the context, if it is recorded in it."""
        self._wanted[task_id] = World()
        try:
            yield
        finally:
            del self._wanted[task_id]

    def heard(self, committed: Committed) -> None:
        if not self._wanted:
            return
        now = Now(wall_ms=committed.wall_ms, awake_ms=0, hub=IncarnationId(""))
        for fact in committed.facts:
            if isinstance(fact, ev.TaskSubmitted | ev.AttemptCreated):
                world = self._wanted.get(fact.task_id)
                if world is not None:
                    evolve(world, fact, now)

    def find(self, task_id: TaskId) -> tuple[Task, Attempt] | None:
        """The Task and its first Attempt as they were recorded; None if that was earlier."""
        world = self._wanted.get(task_id)
        task = world.find(Task, task_id) if world else None
        attempt = world.find(Attempt, attempt_id(task_id, 1)) if world else None
        return None if task is None or attempt is None else (task, attempt)
