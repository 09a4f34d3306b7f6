"""The fence of a Task grows with every grant, and with every end of a lease."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from tenure.sim.checkers.entry import Entry
from tenure.sim.checkers.history import History
from tenure.sim.checkers.moves import Highest, ends, moves
from tenure.sim.checkers.notes import Notes
from tenure.sim.checkers.sweep import sweep
from tenure.sim.checkers.writes import Grant, accepted, grants

HOLDS = ("one_owner",)
RULE = "No two grants of a Task share a fence, and every grant and end has a higher one than all that was known before it."


class Moving(Struct, frozen=True):
    """A grant, or an end of a lease, that moves the fence of a Task to this."""

    task_id: str
    what: str
    fence: int
    entry: Entry


def look(history: History, notes: Notes) -> None:
    made = grants(history)
    _twice(made, notes)
    highest = Highest()

    def judge(one: Moving) -> None:
        notes.judged()
        before = highest.of(one.task_id)
        if before is not None and one.fence <= before.fence:
            notes.find(
                f"{one.task_id} {one.what} under fence {one.fence} after {before.fence}",
                before.entry,
                one.entry,
            )

    sweep(moves(history, accepted(history)), highest.learn, _movings(history, made), judge)


def _twice(made: list[Grant], notes: Notes) -> None:
    by_fence: dict[tuple[str, int], Grant] = {}
    for one in made:
        other = by_fence.setdefault((one.view.task_id, one.view.fence), one)
        if other is not one:
            notes.find(
                f"{one.view.task_id} has fence {one.view.fence} twice: {other.view.delivery_id} and {one.view.delivery_id}",
                other.entry,
                one.entry,
            )


def _movings(history: History, made: list[Grant]) -> Iterator[tuple[int, Moving]]:
    for one in made:
        yield one.since, Moving(one.view.task_id, "was granted", one.view.fence, one.entry)
    for at, end in ends(history):
        yield at, Moving(end.task_id, "was free again", end.fence, end.entry)
