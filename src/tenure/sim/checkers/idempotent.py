"""The same key names the same thing, whoever repeats it and however often."""

from __future__ import annotations

from tenure.sim.checkers.entry import Begin, Call, Report, Submit
from tenure.sim.checkers.history import History
from tenure.sim.checkers.notes import Notes
from tenure.sim.checkers.words import RECORDED

HOLDS = ("once",)
RULE = (
    "Calls with one idempotency key get one result; one result never belongs to two keys of different things."
)


def look(history: History, notes: Notes) -> None:
    same: dict[tuple[str, ...], tuple[str, Call]] = {}

    def agree(what: str, name: tuple[str, ...], result: str, call: Call) -> None:
        notes.judged()
        before, earlier = same.setdefault((what, *name), (result, call))
        if before != result:
            notes.find(f"{what} {' '.join(name)}: {before} and {result}", earlier, call)

    for one in history.of(Submit):
        if one.acknowledged_at is not None and one.task_id is not None:
            agree("the Task under key", (one.client, one.key), one.task_id, one)
            agree("what was asked for under key", (one.client, one.key), one.digest, one)
            agree("the key of", (one.task_id,), f"{one.client} {one.key}", one)
    for one in history.of(Begin):
        if one.acknowledged_at is not None and one.effect_id:
            agree("the Effect under key", (one.task_id, one.key), one.effect_id, one)
    for one in history.of(Report):
        if one.acknowledged_at is not None and one.said == RECORDED:
            agree("the recorded report of", (one.delivery_id,), f"{one.verdict} {one.digest}", one)
