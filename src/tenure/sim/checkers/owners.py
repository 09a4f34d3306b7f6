"""At most one owner whose writes are accepted."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise

from tenure.sim.checkers.history import History
from tenure.sim.checkers.notes import Notes
from tenure.sim.checkers.writes import Write, accepted

HOLDS = ("one_owner",)
RULE = "Two Deliveries of a Task never both hold it: the times between the first and last accepted write do not overlap."


def look(history: History, notes: Notes) -> None:
    writes: dict[str, dict[str, list[Write]]] = defaultdict(lambda: defaultdict(list))
    for one in accepted(history):
        notes.judged()
        writes[one.entry.task_id][one.entry.delivery_id].append(one)
    for task_id, deliveries in writes.items():
        held = [times for each in deliveries.values() if (times := _surely_held(each)) is not None]
        held.sort(key=lambda times: times[0].by)
        for earlier, later in pairwise(held):
            if later[0].by < earlier[1].since:
                notes.find(
                    f"{task_id} was held by {earlier[0].entry.delivery_id} and {later[0].entry.delivery_id} at once",
                    *(one.entry for one in (*earlier, *later)),
                )


def _surely_held(writes: list[Write]) -> tuple[Write, Write] | None:
    """From the write that was accepted first to the one that was made last; None where that is no stretch of time."""
    first, last = min(writes, key=lambda one: one.by), max(writes, key=lambda one: one.since)
    return (first, last) if first.by < last.since else None
