"""Nothing follows an Attempt while it is not known what became of its Effects."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from msgspec import Struct

from tenure.sim.checkers.entry import Begin, Call, Read, Settle
from tenure.sim.checkers.history import History
from tenure.sim.checkers.notes import Notes
from tenure.sim.checkers.words import ENDED
from tenure.sim.checkers.writes import accepted, grants

RULE = "While an Effect is neither confirmed nor absent, no other Delivery of its Task is granted and its Task does not end."
NEVER = 1 << 63


class Open(Struct, frozen=True):
    """An Effect was surely open from `since` to `until`."""

    begin: Begin
    since: int
    until: int


class Following(Struct, frozen=True):
    """Something that must not follow an open Effect happened, not before `since` and not after `by`."""

    what: str
    delivery_id: str
    since: int
    by: int
    entry: Call


def look(history: History, notes: Notes) -> None:
    if "issues" not in history.observed:
        return  # how Effects were settled was not seen
    following: dict[str, list[Following]] = defaultdict(list)
    for task_id, one in _following(history):
        following[task_id].append(one)
    for effect in _opens(history):
        for one in following.get(effect.begin.task_id, ()):
            notes.judged()
            is_own = one.delivery_id == effect.begin.delivery_id
            if not is_own and effect.since < one.since and one.by < effect.until:
                notes.find(
                    f"{effect.begin.task_id} {one.what} while {effect.begin.key} was open",
                    effect.begin,
                    one.entry,
                )


def _opens(history: History) -> Iterator[Open]:
    """For each accepted begin: until it was settled for the first time after it."""
    settled: dict[str, list[Settle]] = defaultdict(list)
    for one in history.of(Settle):
        if one.may_have_happened:
            settled[one.key].append(one)
    for write in accepted(history):
        if isinstance(write.entry, Begin):
            ends = settled[write.entry.key]
            later = [one.began for one in ends if one.ended is None or one.ended > write.since]
            yield Open(write.entry, write.by, min(later, default=NEVER))


def _following(history: History) -> Iterator[tuple[str, Following]]:
    for grant in grants(history):
        name = grant.view.delivery_id
        yield grant.view.task_id, Following("was granted", name, grant.since, grant.by, grant.entry)
    for read in history.of(Read):
        at = read.acknowledged_at
        for view in read.tasks if at is not None else ():
            if at is not None and view.state in ENDED:
                yield view.task_id, Following("was shown to have ended", "", read.began, at, read)
