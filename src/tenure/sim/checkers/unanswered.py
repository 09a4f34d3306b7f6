"""A Task does not come to its end by an outcome that nobody knows."""

from __future__ import annotations

from tenure.sim.checkers.history import History
from tenure.sim.checkers.notes import Notes
from tenure.sim.checkers.words import DECIDED, FINAL_ANSWERS, UNKNOWN

HOLDS = ("no_guess",)
RULE = "In the end no Task has completed or failed whose last Attempt is unknown and was not answered."


def look(history: History, notes: Notes) -> None:
    for task_id, (read, task) in history.last_with_tries.items():
        if task.state not in DECIDED or not history.is_final(read.began):
            continue
        notes.judged()
        newest = max(task.tries, key=lambda one: one.number)
        if newest.verdict == UNKNOWN and newest.answer not in FINAL_ANSWERS:
            notes.find(f"{task_id} is {task.state}, and nobody has said what became of {newest.number}", read)
