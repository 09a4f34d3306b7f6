"""The machine makes no Attempt beyond the budget."""

from __future__ import annotations

from tenure.sim.checkers.history import History
from tenure.sim.checkers.notes import Notes
from tenure.sim.checkers.retries import is_automatic
from tenure.sim.checkers.words import REFUNDED

RULE = (
    "Before each Attempt that the machine makes there were fewer Attempts that count than the budget allows."
)


def look(history: History, notes: Notes) -> None:
    for read, task in history.last_with_tries.values():
        if task.budget is None:
            continue
        counted = 0
        for one in sorted(task.tries, key=lambda one: one.number):
            notes.judged()
            if is_automatic(one) and counted >= task.budget:
                notes.find(
                    f"{task.task_id}/{one.number} was made after {counted} Attempts that count, allowed are {task.budget}",
                    read,
                )
            counted += one.failure_class != REFUNDED
