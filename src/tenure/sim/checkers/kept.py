"""What was acknowledged stands in the record."""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from tenure.sim.checkers.entry import Ack, Answer, Call, Cancel, Claim, Recorded, Report, Submit
from tenure.sim.checkers.history import History
from tenure.sim.checkers.notes import Notes
from tenure.sim.checkers.words import DELIVERED, FINAL_ANSWERS, RECORDED

RULE = "Every acknowledged submit, cancellation, grant, receipt, report and answer has its event."


def look(history: History, notes: Notes) -> None:
    if "record" not in history.observed:
        return
    there = set(_recorded(history))
    for what, call in _acknowledged(history):
        notes.judged()
        if what not in there:
            notes.find(f"the record does not have {' '.join(map(str, what))}", call)


def _recorded(history: History) -> Iterator[tuple[Hashable, ...]]:
    for one in history.of(Recorded):
        says = one.body.get
        match one.kind:
            case "task_submitted":
                yield "submit", one.stream
            case "cancel_advanced" if says("step") == "requested":
                yield "cancel", one.stream
            case "delivery_granted":
                yield "grant", says("delivery_id"), says("fence")
            case "delivery_acknowledged":
                yield "receipt", says("delivery_id")
            case "report_recorded":
                yield "report", says("delivery_id"), _verdict(says("outcome"))
            case "attempt_reconciled":
                yield "answer", f"{one.stream}/{says('number')}", says("answer")
            case _:
                pass


def _verdict(outcome: object) -> object:
    return outcome.get("verdict") if isinstance(outcome, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - JSON as it came


def _acknowledged(history: History) -> Iterator[tuple[tuple[Hashable, ...], Call]]:
    for kind in (Submit, Cancel, Claim, Ack, Report, Answer):
        for one in history.of(kind):
            if one.acknowledged_at is not None:
                yield from ((what, one) for what in _said(one))


def _said(call: Call) -> Iterator[tuple[Hashable, ...]]:
    match call:
        case Submit() if call.task_id is not None:
            yield "submit", call.task_id
        case Cancel() if call.number is None:
            yield "cancel", call.task_id
        case Claim():
            yield from (("grant", one.delivery_id, one.fence) for one in call.grants)
        case Ack() if call.said == DELIVERED:
            yield "receipt", call.delivery_id
        case Report() if call.said == RECORDED:
            yield "report", call.delivery_id, call.verdict
        case Answer() if call.item_id.startswith("unknown:") and call.choice in FINAL_ANSWERS:
            yield "answer", f"{call.task_id}/{call.number}", call.choice
        case _:
            pass
