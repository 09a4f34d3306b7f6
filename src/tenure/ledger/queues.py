"""Who stands in which queue, as a batch sees it: the record's order, less who has left in this batch, plus who
has come.

A queue has a line for each project, so that a claim can take turns between them (`core.fairness`). A claim looks at the
heads of the lines of its queues only. What the record has is read once for all claims of a batch, as many places as they
may take together; what the batch itself has changed lies over it. If a line's places run out although the record has
more, more are read, so nobody is passed over."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from tenure.core.ids import TaskId

if TYPE_CHECKING:
    from tenure.core.task import Task
    from tenure.ledger.store import Place

Lines = dict[str, list["Place"]]
"""The places of one queue, by project."""
Read = Callable[[Mapping[str, int], int], dict[str, Lines]]


class _Line:
    """The head of one project's line in one queue, as the record has it. `start` passes over those that have left;
    `whole` says that the record has no more that are ready."""

    __slots__ = ("places", "start", "whole")

    def __init__(self, places: list[Place], whole: bool) -> None:
        self.places = places
        self.start = 0
        self.whole = whole


class Queues:
    """Lives for one batch."""

    def __init__(self, read: Read, now_ms: int) -> None:
        self._read = read
        self._now_ms = now_ms
        self._queues: dict[str, dict[str, _Line]] = {}
        self._moved: dict[str, str | None] = {}
        self._joined: dict[str, dict[str, Task]] = {}
        self._reserved: set[str] = set()

    def expect(self, limits: Mapping[str, int]) -> None:
        """Read ahead: so many places of each line of each queue."""
        found = self._read(limits, self._now_ms)
        for queue, limit in limits.items():
            lines = found.get(queue, {})
            self._queues[queue] = {
                project: _Line(places, len(places) < limit) for project, places in lines.items()
            }

    def note(self, task: Task) -> None:
        """A Task changed in this batch: from now on only what it says here counts."""
        before = self._moved.get(task.task_id)
        if before is not None:
            del self._joined[before][task.task_id]
        self._moved[task.task_id] = task.queue_key
        if task.queue_key is not None:
            self._joined.setdefault(task.queue_key, {})[task.task_id] = task

    def first(self, queues: Iterable[str], limit: int) -> Lines:
        """For each project the first `limit` places of its Tasks in these queues that are ready, in order."""
        found: Lines = {}
        for queue in queues:
            for project, places in self._heads(queue, limit).items():
                found.setdefault(project, []).extend(places)
            for task in self._joined.get(queue, {}).values():
                if task.ready_at_ms <= self._now_ms:
                    found.setdefault(task.project, []).append((task.order_ms, task.task_id))
        return {project: sorted(places)[:limit] for project, places in found.items() if places}

    def projects(self, queue: str) -> list[str]:
        """The projects that have a line in this queue."""
        return [*self._queues.get(queue, {}), *(one.project for one in self._joined.get(queue, {}).values())]

    def reserve(self, queues: Iterable[str], limit: int) -> list[TaskId]:
        """Whom a claim will probably get, if earlier ones of this batch get theirs, and the one after, whom it
        will look at before it stops. Only for reading ahead: it takes no turns between projects."""
        places: list[Place] = []
        for queue in queues:
            for line in self._queues.get(queue, {}).values():
                free = (place for place in line.places if place[1] not in self._reserved)
                places += [place for place, _ in zip(free, range(limit + 1), strict=False)]
        places.sort()
        found = [TaskId(task) for _, task in places[: limit + 1]]
        self._reserved.update(found[:limit])
        return found

    def _heads(self, queue: str, limit: int) -> Lines:
        lines = self._queues.get(queue)
        if lines is None:
            self.expect({queue: limit})
            lines = self._queues[queue]
        found: Lines = {}
        for project, line in lines.items():
            found[project] = self._head(line, limit)
            if len(found[project]) < limit and not line.whole:
                return self._more(queue, limit)
        return found

    def _head(self, line: _Line, limit: int) -> list[Place]:
        places, moved = line.places, self._moved
        while line.start < len(places) and places[line.start][1] in moved:
            line.start += 1
        found: list[Place] = []
        for place in range(line.start, len(places)):
            if places[place][1] not in moved:
                found.append(places[place])
                if len(found) == limit:
                    break
        return found

    def _more(self, queue: str, limit: int) -> Lines:
        # The record still has everybody who moved in this batch, so as many more must be read.
        self.expect({queue: limit + len(self._moved)})
        return {project: self._head(line, limit) for project, line in self._queues[queue].items()}
