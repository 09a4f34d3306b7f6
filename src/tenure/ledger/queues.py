"""Who stands in which queue, as a batch sees it: the record's order, less who has left in this batch, plus who
has come.

A claim looks at the head of its queues only. What the record has is read once for all claims of a batch, as
many places as they may take together; what the batch itself has changed lies over it. If a queue's places run
out although the record has more, more are read, so nobody is passed over."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from tenure.core.ids import TaskId

if TYPE_CHECKING:
    from tenure.core.task import Task
    from tenure.ledger.store import Place

Read = Callable[[Mapping[str, int], int], dict[str, "list[Place]"]]


class _Queue:
    """The head of one queue as the record has it. `start` passes over those that have left; `whole` says that
    the record has no more that are ready."""

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
        self._queues: dict[str, _Queue] = {}
        self._moved: dict[str, str | None] = {}
        self._joined: dict[str, dict[str, int]] = {}
        self._reserved: set[str] = set()

    def expect(self, limits: Mapping[str, int]) -> None:
        """Read ahead: so many places of each queue."""
        for queue, places in self._read(limits, self._now_ms).items():
            self._queues[queue] = _Queue(places, len(places) < limits[queue])
        for queue in limits.keys() - self._queues.keys():
            self._queues[queue] = _Queue([], whole=True)

    def note(self, task: Task) -> None:
        """A Task changed in this batch: from now on only what it says here counts."""
        before = self._moved.get(task.task_id)
        if before is not None:
            del self._joined[before][task.task_id]
        self._moved[task.task_id] = task.queue_key
        if task.queue_key is not None:
            self._joined.setdefault(task.queue_key, {})[task.task_id] = task.ready_at_ms

    def first(self, queues: Iterable[str], limit: int) -> list[TaskId]:
        """The first `limit` Tasks of these queues that are ready, the longest ready first."""
        places: list[Place] = []
        for queue in queues:
            places += self._head(queue, limit)
            joined = self._joined.get(queue)
            if joined:
                places += [(ready, task) for task, ready in joined.items() if ready <= self._now_ms]
        places.sort()
        return [TaskId(task) for _, task in places[:limit]]

    def reserve(self, queues: Iterable[str], limit: int) -> list[TaskId]:
        """Whom a claim will probably get, if earlier ones of this batch get theirs, and the one after, whom it
        will look at before it stops. Only for reading ahead."""
        places: list[Place] = []
        for queue in queues:
            known = self._queues.get(queue)
            if known is not None:
                free = (place for place in known.places if place[1] not in self._reserved)
                places += [place for place, _ in zip(free, range(limit + 1), strict=False)]
        places.sort()
        found = [TaskId(task) for _, task in places[: limit + 1]]
        self._reserved.update(found[:limit])
        return found

    def _head(self, queue: str, limit: int) -> list[Place]:
        known = self._queues.get(queue)
        if known is None:
            return self._more(queue, limit)
        places, moved = known.places, self._moved
        while known.start < len(places) and places[known.start][1] in moved:
            known.start += 1
        found: list[Place] = []
        for place in range(known.start, len(places)):
            if places[place][1] not in moved:
                found.append(places[place])
                if len(found) == limit:
                    return found
        return found if known.whole else self._more(queue, limit)

    def _more(self, queue: str, limit: int) -> list[Place]:
        # The record still has everybody who moved in this batch, so as many more must be read.
        self.expect({queue: limit + len(self._moved)})
        head = self._queues[queue]
        return [place for place in head.places if place[1] not in self._moved][:limit]
