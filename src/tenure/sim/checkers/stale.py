"""A write under an old fence changes nothing."""

from __future__ import annotations

from tenure.sim.checkers.history import History
from tenure.sim.checkers.moves import Highest, moves
from tenure.sim.checkers.notes import Notes
from tenure.sim.checkers.sweep import sweep
from tenure.sim.checkers.writes import Write, accepted

HOLDS = ("fenced_writes",)
RULE = "No write is accepted under a fence once a higher one of that Task was granted, shown, or brought about by an end."


def look(history: History, notes: Notes) -> None:
    writes = accepted(history)
    highest = Highest()

    def judge(write: Write) -> None:
        notes.judged()
        moved = highest.of(write.entry.task_id)
        if moved is not None and write.entry.fence < moved.fence:
            notes.find(
                f"{write.entry.delivery_id} wrote to {moved.task_id} under fence {write.entry.fence}, it was {moved.fence}",
                moved.entry,
                write.entry,
            )

    sweep(moves(history, writes), highest.learn, ((one.since, one) for one in writes), judge)
