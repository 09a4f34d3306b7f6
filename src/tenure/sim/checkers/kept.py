"""What was acknowledged stands in the record."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any

from tenure.sim.checkers.entry import (
    Ack,
    Answer,
    Begin,
    Call,
    Cancel,
    Claim,
    Recorded,
    Renew,
    Report,
    Retry,
    Submit,
)
from tenure.sim.checkers.history import History
from tenure.sim.checkers.notes import Notes
from tenure.sim.checkers.words import DELIVERED, FINAL_ANSWERS, HANDED_BACK, LATE, RECORDED, RENEWED

HOLDS = ("durable",)
RULE = "Every acknowledged submit, cancellation, retry, grant, receipt, renewal, report, Effect and answer has its event."
Fact = tuple[Hashable, ...]
_WRITES: dict[str, Callable[[str, dict[str, Any]], Fact]] = {
    "task_submitted": lambda stream, _: ("submit", stream),
    "cancel_advanced": lambda stream, says: ("cancel", stream, says["step"]),
    "attempt_created": lambda stream, says: ("attempt", stream, says["number"]),
    "delivery_granted": lambda _, says: ("grant", says["delivery_id"], says["fence"]),
    "delivery_acknowledged": lambda _, says: ("receipt", says["delivery_id"]),
    "lease_renewed": lambda _, says: ("renewal", says["delivery_id"]),
    "report_recorded": lambda _, says: ("report", says["delivery_id"], says["outcome"]["verdict"]),
    "handed_back": lambda _, says: ("hand-back", says["delivery_id"]),
    "late_heard": lambda _, says: ("late word", says["delivery_id"], says["kind"]),
    "effect_begun": lambda _, says: ("effect", says["effect_id"]),
    "effect_adopted": lambda _, says: ("effect", says["effect_id"]),
    "attempt_reconciled": lambda stream, says: ("answer", f"{stream}/{says['number']}", says["answer"]),
}
"""What an event is the record of."""


def look(history: History, notes: Notes) -> None:
    if "record" not in history.observed:
        return
    there = {_WRITES[one.kind](one.stream, one.body) for one in history.of(Recorded) if one.kind in _WRITES}
    for what, call in _acknowledged(history):
        notes.judged()
        if what not in there:
            notes.find(f"the record does not have {' '.join(map(str, what))}", call)


def _acknowledged(history: History) -> Iterator[tuple[Fact, Call]]:
    for kind, facts in (
        (Submit, _of_person),
        (Cancel, _of_person),
        (Retry, _of_person),
        (Answer, _of_answer),
        (Claim, _of_node),
        (Ack, _of_node),
        (Renew, _of_node),
        (Report, _of_report),
        (Begin, _of_node),
    ):
        for one in history.of(kind):
            if one.acknowledged_at is not None:
                yield from ((what, one) for what in facts(one))


def _of_person(call: Call) -> Iterable[Fact]:
    match call:
        case Submit() if call.task_id is not None:
            yield "submit", call.task_id
        case Cancel() if call.number is None:
            yield "cancel", call.task_id, "requested"
        case Retry() if call.made is not None:
            yield "attempt", call.task_id, call.made
        case _:
            pass


def _of_answer(call: Call) -> Iterable[Fact]:
    if not isinstance(call, Answer):
        return
    if call.made is not None and call.task_id is not None:
        yield "attempt", call.task_id, call.made
    if call.item_id.startswith("unknown:") and call.choice in FINAL_ANSWERS:
        yield "answer", f"{call.task_id}/{call.number}", call.choice


def _of_node(call: Call) -> Iterable[Fact]:
    match call:
        case Claim():
            yield from (("grant", one.delivery_id, one.fence) for one in call.grants)
        case Ack() if call.said == DELIVERED:
            yield "receipt", call.delivery_id
        case Renew() if call.said == RENEWED:
            yield "renewal", call.delivery_id
        case Begin() if call.effect_id:
            yield "effect", call.effect_id
        case _:
            pass


def _of_report(call: Call) -> Iterable[Fact]:
    match call:
        case Report() if call.said == RECORDED:
            yield "report", call.delivery_id, call.verdict
        case Report() if call.said == HANDED_BACK:
            yield "hand-back", call.delivery_id
        case Report() if call.said == LATE:
            yield "late word", call.delivery_id, "report"
        case _:
            pass
