"""What may be left of an unknown Attempt after its final answer: somebody stays asked, and a person may say that it is gone."""

from __future__ import annotations

from typing import Any

import pytest

from tenure.core import commands as cm
from tenure.core.attempt import Answer, Verdict
from tenure.core.attention import AttentionKind
from tenure.core.delivery import Delivery
from tenure.core.events import SlotFreed
from tenure.core.ids import TaskId
from tests.core.lab import Lab


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
    assert lab.open_items() == ["late_evidence"]
    item = lab.item(AttentionKind.LATE_EVIDENCE, f"{task_id}/1")
    assert item is not None
    assert "--tree-gone" in item.summary


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
    assert lab.item(AttentionKind.LATE_EVIDENCE, f"{task_id}/1") is None


def test_a_machine_that_is_declared_gone_closes_the_question(lab: Lab) -> None:
    _, delivery = answered(lab)
    lab.run(cm.ForgetNode(delivery.node_id, "ann", "it burned"))
    assert lab.open_items() == []


def test_a_late_report_that_nobody_has_read_stays_on_the_list_when_the_unit_is_freed(lab: Lab) -> None:
    task_id, delivery = answered(lab)
    assert lab.report(delivery, Verdict.UNKNOWN, tree_gone=False) == "late"
    lab.answer(task_id, 1, Answer.RERUN, tree_gone=True)
    assert lab.open_items() == ["late_evidence"]
