"""How far the fence of each Task has surely come, and by when."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from tenure.sim.checkers.entry import Entry, Read, Report, Revoked, Voided
from tenure.sim.checkers.history import History
from tenure.sim.checkers.writes import Write, grants


class Moved(Struct, frozen=True):
    """The fence of a Task was at least this."""

    task_id: str
    fence: int
    entry: Entry


class Highest:
    """The highest fence of each Task so far."""

    def __init__(self) -> None:
        self._highest: dict[str, Moved] = {}

    def learn(self, moved: Moved) -> None:
        before = self._highest.get(moved.task_id)
        if before is None or moved.fence > before.fence:
            self._highest[moved.task_id] = moved

    def of(self, task_id: str) -> Moved | None:
        return self._highest.get(task_id)


def moves(history: History, writes: list[Write]) -> Iterator[tuple[int, Moved]]:
    """Each with the instant by which it had happened. `writes`: those that were accepted."""
    for grant in grants(history):
        yield grant.by, Moved(grant.view.task_id, grant.view.fence, grant.entry)
    for write in writes:
        # A lease ends with a report, and that moves the fence once more.
        fence = write.entry.fence + (1 if isinstance(write.entry, Report) else 0)
        yield write.by, Moved(write.entry.task_id, fence, write.entry)
    yield from ends(history)
    for read in history.of(Read):
        at = read.acknowledged_at
        for view in read.tasks if at is not None else ():
            if at is not None:
                yield at, Moved(view.task_id, view.fence, read)


def ends(history: History) -> Iterator[tuple[int, Moved]]:
    """The ends of leases that nobody outside has brought about."""
    for kind in (Voided, Revoked):
        for one in history.of(kind):
            yield one.at, Moved(one.task_id, one.fence, one)
