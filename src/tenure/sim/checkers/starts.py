"""Nothing starts before the hub has accepted the receipt for it, and nothing starts twice."""

from __future__ import annotations

from tenure.sim.checkers.entry import Ack, Recorded, Start
from tenure.sim.checkers.history import History
from tenure.sim.checkers.notes import Notes
from tenure.sim.checkers.words import DELIVERED

HOLDS = ("no_start_before_handoff",)
RULE = "Each execution began after the receipt of its Delivery, under its fence, was answered `delivered`, and once."
ACCEPTED = frozenset({DELIVERED, "lease_expired"})
"""The second: it was accepted earlier, and the start waits for a renewal."""


def look(history: History, notes: Notes) -> None:
    started: dict[str, Start] = {}
    answered = _answered(history)
    recorded = _recorded(history)
    for start in history.of(Start):
        notes.judged()
        other = started.setdefault(start.delivery_id, start)
        if other is not start:
            notes.find(f"{start.delivery_id} was started twice", other, start)
        ack = answered.get((start.delivery_id, start.fence))
        if "legs" in history.observed and (ack is None or (ack.ended or 0) > start.at):
            notes.find(
                f"{start.delivery_id} started before its receipt was accepted", *([ack] if ack else []), start
            )
        if "record" in history.observed and start.delivery_id not in recorded:
            notes.find(f"{start.delivery_id} started, and the record knows of no receipt", start)


def _answered(history: History) -> dict[tuple[str, int], Ack]:
    """The first answer that says that the receipt is accepted, for each Delivery and fence."""
    found: dict[tuple[str, int], Ack] = {}
    for one in history.of(Ack):
        if one.acknowledged_at is not None and one.said in ACCEPTED:
            before = found.get((one.delivery_id, one.fence))
            if before is None or one.acknowledged_at < (before.acknowledged_at or 0):
                found[one.delivery_id, one.fence] = one
    return found


def _recorded(history: History) -> set[str]:
    return {
        str(one.body.get("delivery_id"))
        for one in history.of(Recorded)
        if one.kind == "delivery_acknowledged"
    }
