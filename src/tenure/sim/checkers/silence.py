"""Nothing waits without a reason."""

from __future__ import annotations

from tenure.sim.checkers.history import History
from tenure.sim.checkers.notes import Notes
from tenure.sim.checkers.words import ENDED

HOLDS = ("never_silent",)
RULE = "In the end every Task has ended or says what it waits for."


def look(history: History, notes: Notes) -> None:
    for task_id, (read, view) in history.final_tasks.items():
        if view.why is None:
            continue  # its reason was not shown
        notes.judged()
        if view.state not in ENDED and not view.why:
            notes.find(f"{task_id} is {view.state} and does not say why", read)
