"""Where the outcome of something is unknown, nothing new is given until a person has answered."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from itertools import accumulate

from msgspec import Struct

from tenure.sim.checkers.entry import NEVER, Ack, Answer, Call, Entry, Read, Report, Revoked
from tenure.sim.checkers.history import History
from tenure.sim.checkers.notes import Notes
from tenure.sim.checkers.words import FINAL_ANSWERS, RECORDED, UNKNOWN
from tenure.sim.checkers.writes import accepted, grants

HOLDS = ("no_guess",)
RULE = "Between the moment an outcome is known to be unknown and its answer, its recipient gets no grant and no receipt."


class Unknown(Struct, frozen=True):
    """An outcome was known to be unknown from `since` on, and was not answered before `until`."""

    task_id: str
    number: int
    recipient: str
    since: int
    until: int
    entry: Entry


def look(history: History, notes: Notes) -> None:
    blocks: dict[str, list[Unknown]] = defaultdict(list)
    for one in _unknowns(history):
        blocks[one.recipient].append(one)
    longest = {where: _longest(each) for where, each in blocks.items()}
    for where, what, since, by, call in _given(history):
        notes.judged()
        begun = blocks.get(where, [])
        before = bisect_left(begun, since, key=lambda one: one.since)
        block = longest[where][before - 1] if before else None
        if block is not None and block.until > by:
            notes.find(
                f"{where} {what} while {block.task_id}/{block.number} is unknown there", block.entry, call
            )


def _longest(each: list[Unknown]) -> list[Unknown]:
    """For each place in the order of their beginnings: the one so far that lasts longest."""
    each.sort(key=lambda one: one.since)
    return list(accumulate(each, lambda best, one: one if one.until > best.until else best))


def _unknowns(history: History) -> Iterator[Unknown]:
    answered: dict[tuple[str, int], int] = {}
    for one in history.of(Answer):
        if one.may_have_happened and one.choice in FINAL_ANSWERS and one.number is not None:
            name = (str(one.task_id), one.number)
            answered[name] = min(answered.get(name, one.began), one.began)
    first: dict[tuple[str, int], Unknown] = {}
    for task_id, number, recipient, since, entry in _known(history):
        name = (task_id, number)
        before = first.get(name)
        if before is None or since < before.since:
            first[name] = Unknown(task_id, number, recipient, since, answered.get(name, NEVER), entry)
    return iter(first.values())


def _known(history: History) -> Iterator[tuple[str, int, str, int, Entry]]:
    for one in history.of(Revoked):
        yield one.task_id, one.number, one.recipient, one.at, one
    for one in history.of(Report):
        at = one.acknowledged_at
        if at is not None and one.said == RECORDED and one.verdict == UNKNOWN and one.recipient:
            yield one.task_id, one.number, one.recipient, at, one
    for read in history.of(Read):
        at = read.acknowledged_at
        for task in read.tasks if at is not None else ():
            for view in task.tries:
                if at is not None and view.verdict == UNKNOWN and view.recipient is not None:
                    yield task.task_id, view.number, view.recipient, at, read


def _given(history: History) -> Iterator[tuple[str, str, int, int, Call]]:
    for grant in grants(history):
        yield grant.view.recipient, "was granted work", grant.since, grant.by, grant.entry
    for write in accepted(history):
        if isinstance(write.entry, Ack) and write.entry.recipient:
            yield write.entry.recipient, "had a receipt accepted", write.since, write.by, write.entry
