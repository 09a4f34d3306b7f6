"""After a cancellation was acknowledged nothing of the Task begins any more."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from tenure.sim.checkers.entry import Ack, Begin, Call, Cancel, Issue, Retry
from tenure.sim.checkers.history import History
from tenure.sim.checkers.notes import Notes
from tenure.sim.checkers.sweep import sweep
from tenure.sim.checkers.words import CANCELED, ENDED
from tenure.sim.checkers.writes import accepted, grants

HOLDS = ("no_resurrection",)
RULE = "After an acknowledged cancellation there is no grant, no receipt, no Effect and no further Attempt; the end is `canceled`."


class Beginning(Struct, frozen=True):
    """Something of a Task began, not before `since`."""

    task_id: str
    what: str
    since: int
    entry: Call


def look(history: History, notes: Notes) -> None:
    canceled: dict[str, Cancel] = {}

    def learn(one: Cancel) -> None:
        canceled.setdefault(one.task_id, one)

    def judge(one: Beginning) -> None:
        notes.judged()
        cancel = canceled.get(one.task_id)
        if cancel is not None:
            notes.find(f"{one.task_id} {one.what} after its cancellation", cancel, one.entry)

    facts = [
        (at, one)
        for one in history.of(Cancel)
        if one.number is None and (at := one.acknowledged_at) is not None
    ]
    sweep(facts, learn, ((one.since, one) for one in _beginnings(history)), judge)
    for task_id, cancel in canceled.items():
        _judge_end(history, notes, task_id, cancel)
    for _, cancel in facts:
        if cancel.task_id not in canceled:
            _judge_end(history, notes, cancel.task_id, cancel)


def _judge_end(history: History, notes: Notes, task_id: str, cancel: Cancel) -> None:
    read, view = history.last_tasks.get(task_id, (None, None))
    if read is not None and view is not None and view.state in ENDED and view.state != CANCELED:
        notes.find(f"{task_id} was to be canceled and ended {view.state}", cancel, read)


def _beginnings(history: History) -> Iterator[Beginning]:
    for grant in grants(history):
        yield Beginning(grant.view.task_id, "was granted", grant.since, grant.entry)
    for write in accepted(history):
        if isinstance(write.entry, Ack):
            yield Beginning(write.entry.task_id, "had a receipt accepted", write.since, write.entry)
        elif isinstance(write.entry, Begin | Issue):
            yield Beginning(write.entry.task_id, "had an Effect", write.since, write.entry)
    for one in history.of(Retry):
        if one.acknowledged_at is not None and not one.replayed:
            yield Beginning(one.task_id, "was tried again", one.began, one)
