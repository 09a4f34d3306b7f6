"""A write under an old fence changes nothing."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from tenure.sim.checkers.entry import Entry, Read, Report
from tenure.sim.checkers.history import History
from tenure.sim.checkers.notes import Notes
from tenure.sim.checkers.sweep import sweep
from tenure.sim.checkers.writes import Write, accepted, grants

RULE = "No write is accepted under a fence once a higher one of that Task was granted or shown."


class Moved(Struct, frozen=True):
    """The fence of a Task was at least this."""

    task_id: str
    fence: int
    entry: Entry


def look(history: History, notes: Notes) -> None:
    writes = accepted(history)
    highest: dict[str, Moved] = {}

    def learn(moved: Moved) -> None:
        before = highest.get(moved.task_id)
        if before is None or moved.fence > before.fence:
            highest[moved.task_id] = moved

    def judge(write: Write) -> None:
        notes.judged()
        moved = highest.get(write.entry.task_id)
        if moved is not None and write.entry.fence < moved.fence:
            notes.find(
                f"{write.entry.delivery_id} wrote to {moved.task_id} under fence {write.entry.fence}, it was {moved.fence}",
                moved.entry,
                write.entry,
            )

    sweep(_moves(history, writes), learn, ((one.since, one) for one in writes), judge)


def _moves(history: History, writes: list[Write]) -> Iterator[tuple[int, Moved]]:
    for grant in grants(history):
        yield grant.by, Moved(grant.view.task_id, grant.view.fence, grant.entry)
    for write in writes:
        # A lease ends with a report, and that moves the fence once more.
        fence = write.entry.fence + (1 if isinstance(write.entry, Report) else 0)
        yield write.by, Moved(write.entry.task_id, fence, write.entry)
    for read in history.of(Read):
        at = read.acknowledged_at
        for view in read.tasks if at is not None else ():
            if at is not None:
                yield at, Moved(view.task_id, view.fence, read)
