"""The machine never tries the same again after a failure whose cause does not pass."""

from __future__ import annotations

from tenure.sim.checkers.history import History
from tenure.sim.checkers.notes import Notes
from tenure.sim.checkers.view import AttemptView
from tenure.sim.checkers.words import FAILURES, MACHINE, TRANSIENT

HOLDS = ("reasoned_retry",)
RULE = (
    "An Attempt that the machine makes after a failure changes something, unless the cause passes by itself."
)


def look(history: History, notes: Notes) -> None:
    for read, task in history.last_with_tries.values():
        by_number = {one.number: one for one in task.tries}
        for one in task.tries:
            before = by_number.get(one.number - 1)
            if before is None or not is_automatic(one) or before.verdict not in FAILURES:
                continue
            notes.judged()
            if before.failure_class not in TRANSIENT and not _is_changed(one):
                notes.find(
                    f"{task.task_id}/{one.number} repeats {before.number}, which {before.verdict} ({before.failure_class})",
                    read,
                )


def is_automatic(one: AttemptView) -> bool:
    return one.made_by is not None and one.made_by.startswith(MACHINE)


def _is_changed(one: AttemptView) -> bool:
    return one.before != one.after or any(before != after for before, after in one.changes)
