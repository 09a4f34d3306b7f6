"""The fence of a Task grows with every grant."""

from __future__ import annotations

from tenure.sim.checkers.history import History
from tenure.sim.checkers.notes import Notes
from tenure.sim.checkers.sweep import sweep
from tenure.sim.checkers.writes import Grant, grants

RULE = "No two grants of a Task share a fence, and a grant made after another one has the higher fence."


def look(history: History, notes: Notes) -> None:
    made = grants(history)
    by_fence: dict[tuple[str, int], Grant] = {}
    highest: dict[str, Grant] = {}
    for one in made:
        other = by_fence.setdefault((one.view.task_id, one.view.fence), one)
        if other is not one:
            notes.find(
                f"{one.view.task_id} has fence {one.view.fence} twice: {other.view.delivery_id} and {one.view.delivery_id}",
                other.entry,
                one.entry,
            )

    def learn(one: Grant) -> None:
        before = highest.get(one.view.task_id)
        if before is None or one.view.fence > before.view.fence:
            highest[one.view.task_id] = one

    def judge(one: Grant) -> None:
        notes.judged()
        before = highest.get(one.view.task_id)
        if before is not None and one.view.fence <= before.view.fence:
            notes.find(
                f"{one.view.task_id} was granted under fence {one.view.fence} after {before.view.fence}",
                before.entry,
                one.entry,
            )

    sweep(((one.by, one) for one in made), learn, ((one.since, one) for one in made), judge)
