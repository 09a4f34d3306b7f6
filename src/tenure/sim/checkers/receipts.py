"""Who has not confirmed a Delivery writes nothing under it."""

from __future__ import annotations

from tenure.sim.checkers.entry import Ack
from tenure.sim.checkers.history import History
from tenure.sim.checkers.notes import Notes
from tenure.sim.checkers.writes import accepted

HOLDS = ("fenced_writes", "no_start_before_handoff")
RULE = "No renewal, report or Effect is accepted of a Delivery before its receipt could have been."


def look(history: History, notes: Notes) -> None:
    if "legs" not in history.observed:
        return
    sent: dict[str, int] = {}
    for one in history.of(Ack):
        if one.may_have_happened:
            sent[one.delivery_id] = min(sent.get(one.delivery_id, one.began), one.began)
    for write in accepted(history):
        if isinstance(write.entry, Ack):
            continue
        notes.judged()
        name = write.entry.delivery_id
        if sent.get(name, write.by) >= write.by:
            notes.find(f"{name} was written to, and nobody had confirmed it", write.entry)
