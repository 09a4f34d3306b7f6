"""A Task does not come to its end by an outcome that nobody knows."""

from __future__ import annotations

from tenure.sim.checkers.entry import Read
from tenure.sim.checkers.history import History
from tenure.sim.checkers.notes import Notes
from tenure.sim.checkers.words import DECIDED, FINAL_ANSWERS, UNKNOWN

HOLDS = ("no_guess",)
RULE = "No Task is shown to have completed or failed whose last Attempt is unknown and was not answered."


def look(history: History, notes: Notes) -> None:
    for read in history.of(Read):
        for task in read.tasks:
            if task.state not in DECIDED or not task.tries or read.acknowledged_at is None:
                continue
            notes.judged()
            newest = max(task.tries, key=lambda one: one.number)
            if newest.verdict == UNKNOWN and newest.answer not in FINAL_ANSWERS:
                notes.find(
                    f"{task.task_id} is {task.state}, and nobody has said what became of {newest.number}",
                    read,
                )
