"""What is read in the end is what the record tells."""

from __future__ import annotations

from tenure.sim.checkers.history import History
from tenure.sim.checkers.notes import Notes
from tenure.sim.checkers.retelling import retold
from tenure.sim.checkers.words import ENDED

HOLDS = ("durable", "frozen")
RULE = "Every event speaks of what there is, and what was read last of a Task that ended is what the events add up to."


def look(history: History, notes: Notes) -> None:
    record = retold(history)
    if record is None:
        return
    for event in record.unfounded:
        notes.find(f"event {event.seq} speaks of what no event has made", event)
    for task_id, (read, shown) in history.last_tasks.items():
        notes.judged()
        _, view = record.history.last_tasks.get(task_id, (None, None))
        if view is None:
            notes.find(f"{task_id} was read, and the record does not have it", read)
        elif view.state in ENDED and shown.state in ENDED and view.state != shown.state:
            notes.find(f"{task_id} was read as {shown.state}, the record says {view.state}", read)
    for (task_id, number), (read, attempt) in history.last_attempts.items():
        _, same = record.history.last_attempts.get((task_id, number), (None, None))
        known = same is not None and same.verdict is not None and attempt.verdict is not None
        if known and same is not None and same.verdict != attempt.verdict:
            notes.find(
                f"{task_id}/{number} was read as {attempt.verdict}, the record says {same.verdict}", read
            )
