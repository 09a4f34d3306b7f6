"""A lease that runs out is suspect first, and nothing of it begins until it is renewed."""

from __future__ import annotations

from collections import defaultdict

from tenure.sim.checkers.entry import Ack, Begin, Cancel, Expired, Issue, Renew, Revoked
from tenure.sim.checkers.history import History
from tenure.sim.checkers.notes import Notes
from tenure.sim.checkers.writes import Write, accepted

HOLDS = ("expiry_is_suspect",)
RULE = (
    "What is suspect was confirmed; a lease is taken away only while it is suspect or to be canceled; no Effect begins or is issued"
    " while it is suspect."
)


class Leases:
    """What became of each Delivery: its receipt, its renewals, and when it ran out."""

    def __init__(self, history: History) -> None:
        self.confirmed: dict[str, int] = {}
        self.effects: list[Write] = []
        self._renewed: dict[str, list[Write]] = defaultdict(list)
        self._expired: dict[str, list[Expired]] = defaultdict(list)
        for write in accepted(history):
            if isinstance(write.entry, Renew):
                self._renewed[write.entry.delivery_id].append(write)
            elif isinstance(write.entry, Ack):
                self.confirmed[write.entry.delivery_id] = write.since
            elif isinstance(write.entry, Begin | Issue):
                self.effects.append(write)
        for one in sorted(history.of(Expired), key=lambda one: one.at):
            self._expired[one.delivery_id].append(one)

    def suspect_during(self, delivery_id: str, since: int, by: int) -> Expired | None:
        """Since which expiry it surely was suspect in all of this time; None if it may have been renewed."""
        before = [one for one in self._expired[delivery_id] if one.at < since]
        is_renewed = before and any(
            one.by > before[-1].at and one.since < by for one in self._renewed[delivery_id]
        )
        return None if is_renewed or not before else before[-1]


def look(history: History, notes: Notes) -> None:
    if not history.of(Expired) and not history.of(Revoked):
        return  # nobody saw what becomes of leases
    leases = Leases(history)
    for one in history.of(Expired):
        notes.judged()
        if leases.confirmed.get(one.delivery_id, one.at) >= one.at:
            notes.find(f"{one.delivery_id} is suspect, and nobody had confirmed it", one)
    for effect in leases.effects:
        notes.judged()
        expiry = leases.suspect_during(effect.entry.delivery_id, effect.since, effect.by)
        if expiry is not None:
            notes.find(f"{effect.entry.delivery_id} had an Effect while it was suspect", expiry, effect.entry)
    canceled = _canceled(history)
    for end in history.of(Revoked):
        notes.judged()
        asked = (canceled.get((end.task_id, number), end.at) for number in (None, end.number))
        if min(asked) >= end.at and leases.suspect_during(end.delivery_id, end.at, end.at) is None:
            notes.find(f"{end.delivery_id} was taken away, and it was neither suspect nor canceled", end)


def _canceled(history: History) -> dict[tuple[str, int | None], int]:
    """When the end of a Task, or of one of its Attempts, was asked for first."""
    first: dict[tuple[str, int | None], int] = {}
    for one in history.of(Cancel):
        if one.may_have_happened:
            name = (one.task_id, one.number)
            first[name] = min(first.get(name, one.began), one.began)
    return first
