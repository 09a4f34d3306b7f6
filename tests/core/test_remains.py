"""What may be left of an unknown Attempt after its final answer: somebody stays asked, and a person may say that it is gone."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tenure.core import commands as cm
from tenure.core.answers import Subject, answers_to
from tenure.core.attempt import Answer, Verdict
from tenure.core.attention import Attention, AttentionKind, Severity, item_id, severity_of
from tenure.core.delivery import Delivery
from tenure.core.events import SlotFreed, SnapshotHeard
from tenure.core.ids import TaskId
from tenure.core.resolving import Word, resolution
from tests.core.lab import Lab

BLOCKED = AttentionKind.RECIPIENT_BLOCKED


def answered(lab: Lab, answer: Answer = Answer.RERUN, **more: Any) -> tuple[TaskId, Delivery]:
    """An unknown Attempt with a final answer, on a node that has said nothing of it."""
    _, task_id, delivery = lab.running()
    lab.lose(delivery)
    assert lab.answer(task_id, 1, answer, **more).answer is answer
    return task_id, delivery


@pytest.mark.parametrize("answer", [Answer.RERUN, Answer.RETIRE])
def test_a_final_answer_that_leaves_the_recipient_blocked_leaves_somebody_asked(
    lab: Lab, answer: Answer
) -> None:
    task_id, _ = answered(lab, answer)
    assert lab.recipient().is_blocked
    assert lab.open_items() == ["recipient_blocked"]
    item = lab.item(BLOCKED, f"{task_id}/1")
    assert item is not None
    assert f"on {lab.recipient().address} may still run" in item.summary
    assert severity_of(item.kind) is Severity.WARNING


def test_nobody_is_asked_where_the_answer_says_that_nothing_is_left(lab: Lab) -> None:
    answered(lab, tree_gone=True)
    assert lab.open_items() == []
    assert not lab.recipient().is_blocked


def test_nobody_is_asked_where_the_node_has_said_that_nothing_is_left(lab: Lab) -> None:
    _, task_id, delivery = lab.running()
    assert lab.report(delivery, Verdict.UNKNOWN, tree_gone=True) == "recorded"
    lab.answer(task_id, 1, Answer.RERUN)
    assert lab.open_items() == []


def test_a_person_may_say_later_that_nothing_is_left_and_work_goes_on(lab: Lab) -> None:
    task_id, delivery = answered(lab)
    assert lab.claim(delivery.node_id) == []
    said = lab.answer(
        task_id, 1, Answer.RERUN, because="its disk is new, the machine was off", tree_gone=True
    )
    assert (said.answer, said.successor) == (Answer.RERUN, 2)
    assert lab.open_items() == []
    assert [one.number for one in lab.claim(delivery.node_id)] == [2]
    attempt = lab.attempt(task_id)
    assert (attempt.answer_by, attempt.answer_because) == ("ann", "I looked")
    (freed,) = [event for _, event in lab.record if isinstance(event, SlotFreed)]
    assert (freed.by, "its disk is new" in freed.reason) == ("ann", True)


def test_that_word_is_taken_once_with_a_reason_and_only_with_the_answer_that_was_given(lab: Lab) -> None:
    task_id, _ = answered(lab)
    for wrong, code in (
        ({"answer": Answer.RETIRE, "tree_gone": True}, "conflict"),
        ({"answer": Answer.RERUN, "because": "another one"}, "conflict"),
        ({"answer": Answer.RERUN, "because": " ", "tree_gone": True}, "invalid"),
        ({"answer": Answer.INVESTIGATE, "tree_gone": True}, "conflict"),
    ):
        refusal = lab.answer(task_id, 1, **wrong)
        assert (type(refusal), refusal.code) == (cm.Refusal, code)
    assert lab.recipient().is_blocked
    assert lab.answer(task_id, 1, Answer.RERUN, tree_gone=True).successor == 2
    before = len(lab.record)
    assert lab.answer(task_id, 1, Answer.RERUN, tree_gone=True).successor == 2
    assert len(lab.record) == before


def test_the_word_of_the_node_closes_the_question_by_itself(lab: Lab) -> None:
    task_id, delivery = answered(lab)
    held = cm.Holding(delivery.delivery_id, delivery.fence, "closed", True)
    lab.run(cm.Snapshot(delivery.node_id, lab.live(delivery.node_id), 1, (held,)))
    assert lab.open_items() == []
    assert not lab.recipient().is_blocked
    assert lab.item(BLOCKED, f"{task_id}/1") is None


def test_a_machine_that_is_declared_gone_closes_the_question(lab: Lab) -> None:
    _, delivery = answered(lab)
    lab.run(cm.ForgetNode(delivery.node_id, "ann", "it burned"))
    assert lab.open_items() == []


def test_a_late_report_that_proves_nothing_is_a_question_of_its_own_and_stays_when_the_unit_is_freed(
    lab: Lab,
) -> None:
    task_id, delivery = answered(lab)
    asked = lab.item(BLOCKED, f"{task_id}/1")
    assert lab.report(delivery, Verdict.UNKNOWN, tree_gone=False) == "late"
    assert lab.open_items() == ["late_evidence", "recipient_blocked"]
    assert lab.item(BLOCKED, f"{task_id}/1") == asked
    late = item_id(AttentionKind.LATE_EVIDENCE, f"{task_id}/1")
    assert lab.run(cm.CloseAttention(late, 1, "ann", "read")) == cm.Done()
    assert lab.recipient().is_blocked
    assert lab.open_items() == ["recipient_blocked"]
    lab.answer(task_id, 1, Answer.RERUN, tree_gone=True)
    assert lab.open_items() == []


@pytest.mark.parametrize("by", ["its end", "its late report"])
def test_reading_that_a_recipient_is_blocked_closes_nothing(lab: Lab, by: str) -> None:
    task_id, delivery = answered(lab)
    if by == "its late report":
        lab.report(delivery, Verdict.UNKNOWN, tree_gone=False)
    before = len(lab.record)
    refusal = lab.run(cm.CloseAttention(item_id(BLOCKED, f"{task_id}/1"), 1, "ann", "read"))
    assert (type(refusal), refusal.code) == (cm.Refusal, "not_offered")
    assert len(lab.record) == before
    assert lab.recipient().is_blocked


def resolved(lab: Lab, task_id: TaskId, word: Word) -> Any:
    """An answer as the desk gives it."""
    item = lab.get(Attention, item_id(BLOCKED, f"{task_id}/1"))
    about = Subject(task=lab.task(task_id), attempt=lab.attempt(task_id))
    step = resolution(item, about, lab.attempt(task_id, lab.task(task_id).attempts), word)
    return step if isinstance(step, cm.Done | cm.Refusal) else lab.run(step)


def test_the_answer_gone_frees_the_recipient_and_is_given_once(lab: Lab) -> None:
    task_id, delivery = answered(lab)
    item = lab.get(Attention, item_id(BLOCKED, f"{task_id}/1"))
    about = Subject(task=lab.task(task_id), attempt=lab.attempt(task_id))
    assert list(answers_to(item, about)) == ["gone"]
    gone = Word(answer="gone", item_version=1, by="bob", because="the machine was off")
    assert resolved(lab, task_id, replace(gone, because=" ")).code == "invalid"
    assert resolved(lab, task_id, replace(gone, item_version=2)).code == "conflict"
    for other in ("close", "rerun", "forget"):
        assert resolved(lab, task_id, replace(gone, answer=other)).code == "not_offered"
    assert lab.recipient().is_blocked
    assert resolved(lab, task_id, gone) == cm.Reconciled(task_id, 1, Answer.RERUN, 2)
    assert not lab.recipient().is_blocked
    closed = lab.get(Attention, item_id(BLOCKED, f"{task_id}/1"))
    assert (closed.open, closed.closed_by) == (False, "bob")
    assert "the machine was off" in (closed.closed_because or "")
    before = len(lab.record)
    assert resolved(lab, task_id, gone) == cm.Done(replayed=True)
    for late in (replace(gone, by="eve"), replace(gone, because="it burned")):
        assert resolved(lab, task_id, late).code == "not_offered"
    assert len(lab.record) == before
    assert [one.number for one in lab.claim(delivery.node_id)] == [2]


def test_a_record_that_never_asked_about_a_blocked_recipient_asks_when_its_node_says_what_it_holds(
    lab: Lab,
) -> None:
    task_id, delivery = answered(lab)
    del lab.world.entities[Attention][item_id(BLOCKED, f"{task_id}/1")]
    lab.run(cm.Snapshot(delivery.node_id, lab.live(delivery.node_id), 1, ()))
    assert lab.open_items() == ["recipient_blocked"]
    before = len(lab.record)
    lab.run(cm.Snapshot(delivery.node_id, lab.live(delivery.node_id), 2, ()))
    assert [type(event) for _, event in lab.record[before:]] == [SnapshotHeard]
