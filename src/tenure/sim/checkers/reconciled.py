"""Nothing follows an Attempt while it is not known what became of its Effects."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from msgspec import Struct

from tenure.sim.checkers.entry import Call, Read
from tenure.sim.checkers.history import History
from tenure.sim.checkers.notes import Notes
from tenure.sim.checkers.standing import standing
from tenure.sim.checkers.words import ENDED
from tenure.sim.checkers.writes import grants

HOLDS = ("reconcile_first",)
RULE = "While an Effect is neither confirmed nor absent, no Delivery of its Task is granted and its Task does not end."


class Following(Struct, frozen=True):
    """Something that must not follow an open Effect happened, not before `since` and not after `by`."""

    what: str
    since: int
    by: int
    entry: Call


def look(history: History, notes: Notes) -> None:
    if "issues" not in history.observed:
        return  # how Effects were settled was not seen
    following: dict[str, list[Following]] = defaultdict(list)
    for task_id, one in _following(history):
        following[task_id].append(one)
    for effect in standing(history):
        for one in following.get(effect.begin.task_id, ()):
            notes.judged()
            if effect.since < one.since and one.by < effect.until:
                notes.find(
                    f"{effect.begin.task_id} {one.what} while {effect.begin.key} was open",
                    effect.begin,
                    one.entry,
                )


def _following(history: History) -> Iterator[tuple[str, Following]]:
    for grant in grants(history):
        yield grant.view.task_id, Following("was granted", grant.since, grant.by, grant.entry)
    for read in history.of(Read):
        at = read.acknowledged_at
        for view in read.tasks if at is not None else ():
            if at is not None and view.state in ENDED:
                yield view.task_id, Following("was shown to have ended", read.began, at, read)
