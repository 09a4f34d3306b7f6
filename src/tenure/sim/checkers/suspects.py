"""A lease that runs out is suspect first, and nothing of it begins until it is renewed."""

from __future__ import annotations

from collections import defaultdict

from msgspec import Struct

from tenure.sim.checkers.entry import Begin, Cancel, Entry, Expired, Issue, Renew, Revoked
from tenure.sim.checkers.history import History
from tenure.sim.checkers.notes import Notes
from tenure.sim.checkers.writes import accepted

HOLDS = ("expiry_is_suspect",)
RULE = "A lease is taken away only while it is suspect, or to be canceled; no Effect begins or is issued while it is suspect."


class Moment(Struct, frozen=True):
    """Something about a lease that happened not before `since` and not after `by`."""

    since: int
    by: int
    entry: Entry


def look(history: History, notes: Notes) -> None:
    if not history.of(Expired) and not history.of(Revoked):
        return  # nobody saw what becomes of leases
    expired = {name: sorted(each, key=_since) for name, each in _expired(history).items()}
    renewed: dict[str, list[Moment]] = defaultdict(list)
    effects: list[tuple[str, Moment]] = []
    for write in accepted(history):
        moment = Moment(write.since, write.by, write.entry)
        if isinstance(write.entry, Renew):
            renewed[write.entry.delivery_id].append(moment)
        elif isinstance(write.entry, Begin | Issue):
            effects.append((write.entry.delivery_id, moment))
    for name, effect in effects:
        notes.judged()
        before = [one for one in expired.get(name, ()) if one.by < effect.since]
        if before and not any(one.by > before[-1].since and one.since < effect.by for one in renewed[name]):
            notes.find(f"{name} had an Effect while it was suspect", before[-1].entry, effect.entry)
    canceled = _canceled(history)
    for end in history.of(Revoked):
        notes.judged()
        asked = min(
            canceled.get((end.task_id, None), end.at), canceled.get((end.task_id, end.number), end.at)
        )
        before = [one for one in expired.get(end.delivery_id, ()) if one.since < end.at]
        is_suspect = bool(before) and not any(
            one.since > before[-1].by and one.by < end.at for one in renewed[end.delivery_id]
        )
        if not is_suspect and asked >= end.at:
            notes.find(f"{end.delivery_id} was taken away, and it was neither suspect nor canceled", end)


def _expired(history: History) -> dict[str, list[Moment]]:
    found: dict[str, list[Moment]] = defaultdict(list)
    for one in history.of(Expired):
        found[one.delivery_id].append(Moment(one.at, one.at, one))
    return found


def _since(moment: Moment) -> int:
    return moment.since


def _canceled(history: History) -> dict[tuple[str, int | None], int]:
    """When the end of a Task, or of one of its Attempts, was asked for first."""
    first: dict[tuple[str, int | None], int] = {}
    for one in history.of(Cancel):
        if one.may_have_happened:
            name = (one.task_id, one.number)
            first[name] = min(first.get(name, one.began), one.began)
    return first
