"""The machine makes no Attempt beyond the budget."""

from __future__ import annotations

from collections import defaultdict

from tenure.sim.checkers.entry import Exhausted, Made, Raised, Unseen
from tenure.sim.checkers.history import History
from tenure.sim.checkers.notes import Notes
from tenure.sim.checkers.retries import is_automatic
from tenure.sim.checkers.words import MACHINE, REFUNDED

HOLDS = ("bounded",)
RULE = "Before each Attempt that the machine makes fewer count than the budget allows, and none follows a budget that is used up."


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
    _after_the_end(history, notes)


def _after_the_end(history: History, notes: Notes) -> None:
    told: dict[str, list[Unseen]] = defaultdict(list)
    for kind in (Exhausted, Raised, Made):
        for one in history.of(kind):
            told[one.task_id].append(one)
    for task_id, each in told.items():
        used_up: Exhausted | None = None
        for one in sorted(each, key=lambda one: one.at):
            if isinstance(one, Exhausted):
                used_up = one
            elif isinstance(one, Raised):
                used_up = None
            elif isinstance(one, Made) and (one.by or "").startswith(MACHINE):
                notes.judged()
                if used_up is not None:
                    notes.find(f"{task_id}/{one.number} was made after its budget was used up", used_up, one)
