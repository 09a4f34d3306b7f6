"""Unknown outcomes: `no_guess`, block and slot, and a person's four answers. Every step is also checked by `core.invariants` (in the Lab)."""

from __future__ import annotations

import pytest

from tenure.core import commands as cm
from tenure.core.attempt import Answer, Verdict
from tenure.core.attention import Attention, AttentionKind, item_id
from tenure.core.delivery import DeliveryState
from tenure.core.ids import TaskId
from tenure.core.task import TaskState
from tests.core.lab import Lab


def test_revocation_is_one_commit_of_fence_verdict_block_and_question(lab: Lab) -> None:
    _, task_id, delivery = lab.running()
    lab.lose(delivery)
    task, delivery = lab.task(task_id), lab.get(type(delivery), delivery.delivery_id)
    assert (task.state, task.fence) == (TaskState.INPUT_REQUIRED, 2)
    assert lab.attempt(task_id).verdict is Verdict.UNKNOWN
    assert delivery.state is DeliveryState.DELIVERED
    assert delivery.revoked_at_ms is not None
    assert lab.recipient().blocks == (f"{task_id}/1",)
    assert lab.open_items() == ["unknown"]


def test_a_blocked_recipient_gets_neither_a_grant_nor_a_receipt_and_goes_on_with_what_it_has(
    lab: Lab,
) -> None:
    node = lab.node(capacity=3)
    for _ in range(4):
        lab.submit()
    first, second, third = lab.claim(node, 3)
    lab.ack(first)
    lab.ack(second)
    assert lab.report(first, Verdict.UNKNOWN) == "recorded"
    assert lab.ack(third) == "blocked"
    assert lab.ack(third) == "blocked"
    assert lab.claim(node, 3) == []
    assert lab.renew(second).answer == "renewed"
    assert lab.report(second) == "recorded"


def test_a_block_survives_forgetting_and_enrolling_the_node_again(lab: Lab) -> None:
    node, task_id, delivery = lab.running()
    lab.lose(delivery)
    lab.run(cm.ForgetNode(node, "ann", "new disk"))
    fresh = lab.node()
    assert fresh != node
    lab.submit()
    assert lab.claim(fresh) == []
    lab.answer(task_id, 1, Answer.RETIRE)
    assert len(lab.claim(fresh)) == 1


def test_a_rerun_keeps_the_slot_until_the_node_says_that_the_tree_is_gone(lab: Lab) -> None:
    node, task_id, delivery = lab.running()
    lab.lose(delivery)
    reply = lab.answer(task_id, 1, Answer.RERUN)
    assert reply.successor == 2
    assert lab.claim(node) == []
    held = cm.Holding(delivery.delivery_id, delivery.fence, "started", tree_gone=True)
    lab.run(cm.Snapshot(node, lab.live(node), 1, (held,)))
    (second,) = lab.claim(node)
    assert (second.number, lab.recipient().blocks) == (2, ())
    spec = lab.attempt(task_id, 2).spec
    assert spec.hypothesis is not None
    assert spec.hypothesis.because == "I looked"
    assert spec.follows == 1


def test_a_person_may_state_that_the_tree_is_gone(lab: Lab) -> None:
    node, task_id, delivery = lab.running()
    lab.lose(delivery)
    lab.answer(task_id, 1, Answer.RERUN, tree_gone=True)
    assert lab.recipient().slots_used == 0
    assert len(lab.claim(node)) == 1


def test_an_unknown_report_frees_the_slot_only_with_the_word_that_the_tree_is_gone(lab: Lab) -> None:
    _, _, delivery = lab.running()
    lab.report(delivery, Verdict.UNKNOWN, tree_gone=False)
    assert lab.recipient().slots_used == 1
    other = Lab()
    _, _, delivery = other.running()
    other.report(delivery, Verdict.UNKNOWN, tree_gone=True)
    assert other.recipient().slots_used == 0
    assert other.recipient().is_blocked


@pytest.mark.parametrize("answer", [Answer.RERUN, Answer.RETIRE])
def test_a_final_answer_is_given_once_and_a_second_person_is_told_who_gave_it(
    lab: Lab, answer: Answer
) -> None:
    _, task_id, delivery = lab.running()
    lab.lose(delivery)
    assert lab.answer(task_id, 1, Answer.INVESTIGATE).answer is Answer.INVESTIGATE
    assert lab.attempt(task_id).answer_by == "ann"
    assert lab.answer(task_id, 1, answer).answer is answer
    recorded = len(lab.events)
    assert lab.answer(task_id, 1, answer).answer is answer, "the same word of the same person is told again"
    assert len(lab.events) == recorded
    for again in set(Answer) - {answer}:
        refusal = lab.answer(task_id, 1, again)
        assert isinstance(refusal, cm.Refusal)
        assert refusal.code == "conflict"
        assert "ann" in refusal.message
    assert lab.attempt(task_id).verdict is Verdict.UNKNOWN


def test_an_answer_to_facts_that_have_changed_meanwhile_is_refused(lab: Lab) -> None:
    _, task_id, delivery = lab.running()
    lab.lose(delivery)
    lab.report(delivery)
    refusal = lab.answer(task_id, 1, Answer.RERUN, item_version=1)
    assert refusal.code == "conflict"
    assert refusal.facts["item_version"] == 2


def test_accept_names_the_late_report_and_gives_the_task_its_end(lab: Lab) -> None:
    _, task_id, delivery = lab.running()
    lab.lose(delivery)
    assert lab.answer(task_id, 1, Answer.ACCEPT).code == "not_offered"
    lab.report(delivery)
    assert lab.answer(task_id, 1, Answer.ACCEPT, late_id="d_else").code == "invalid"
    (late,) = lab.world.reports_of(lab.attempt(task_id).attempt_id)
    assert lab.answer(task_id, 1, Answer.ACCEPT, late_id=late.late_id).answer is Answer.ACCEPT
    assert lab.task(task_id).state is TaskState.COMPLETED
    assert lab.recipient().blocks == ()


def test_evidence_after_the_answer_opens_a_new_item_and_changes_nothing(lab: Lab) -> None:
    _, task_id, delivery = lab.running()
    lab.lose(delivery)
    lab.answer(task_id, 1, Answer.RERUN)
    before = lab.task(task_id)
    assert lab.report(delivery) == "late"
    assert lab.open_items() == ["late_evidence"]
    assert lab.task(task_id) == before
    key = item_id(AttentionKind.LATE_EVIDENCE, f"{task_id}/1")
    version = lab.get(Attention, key).version
    assert lab.run(cm.CloseAttention(key, version + 1, "ann", "read")).code == "conflict"
    assert lab.run(cm.CloseAttention(key, version, "ann", "read")) == cm.Done()
    assert lab.run(cm.CloseAttention(key, version, "ann", "read")) == cm.Done(replayed=True)


def test_an_unknown_attempt_is_not_closed_by_reading_it(lab: Lab) -> None:
    _, task_id, delivery = lab.running()
    lab.lose(delivery)
    key = item_id(AttentionKind.UNKNOWN, f"{task_id}/1")
    assert lab.run(cm.CloseAttention(key, 1, "ann", "read")).code == "not_offered"


def test_an_answer_needs_a_reason(lab: Lab) -> None:
    _, task_id, delivery = lab.running()
    lab.lose(delivery)
    assert lab.answer(task_id, 1, Answer.RERUN, because="  ").code == "invalid"


def test_a_known_attempt_cannot_be_reconciled(lab: Lab) -> None:
    _, task_id, delivery = lab.running()
    assert lab.answer(task_id, 1, Answer.RERUN).code == "not_offered"
    lab.report(delivery)
    assert lab.answer(task_id, 1, Answer.RERUN).code == "not_offered"
    assert lab.answer(TaskId("t_none"), 1, Answer.RERUN).code == "not_found"
