"""Reports, hand-backs and snapshots at their edges: what is late, whose slot it frees, and what a node is told to do."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tenure.core import commands as cm
from tenure.core import desk_commands as dc
from tenure.core import events as ev
from tenure.core import recovery_events as rv
from tenure.core.attempt import Answer, Outcome, Verdict
from tenure.core.attention import AttentionKind
from tenure.core.canonical import digest
from tenure.core.decide import decide
from tenure.core.delivery import Delivery
from tenure.core.ids import AttemptId, DeliveryId, IncarnationId, NodeId
from tenure.core.late import Late
from tenure.core.limits import REASON_LENGTH
from tenure.core.reporting import proves_gone
from tenure.core.task import CancelStep, TaskState
from tests.core.lab import Lab


def hand_back(lab: Lab, delivery: Delivery, **proof: Any) -> str:
    return lab.run(cm.HandBack(lab.proof(delivery, **proof), "nothing was started")).answer


def snapshot(lab: Lab, node_id: NodeId, sequence: int, *held: cm.Holding, **more: Any) -> Any:
    incarnation = more.get("incarnation", lab.live(node_id))
    return lab.run(cm.Snapshot(node_id, incarnation, sequence, held))


def advice(lab: Lab, delivery: Delivery, stage: str, tree_gone: bool = False) -> str:
    node = lab.get(Delivery, delivery.delivery_id).node_id
    lab.count += 1
    held = cm.Holding(delivery.delivery_id, delivery.fence, stage, tree_gone)
    return snapshot(lab, node, lab.count, held).advice[delivery.delivery_id]


@pytest.mark.parametrize("leg", ["report", "hand back"])
def test_what_a_superseded_incarnation_says_counts_for_nothing_and_it_is_told_to_stop(
    lab: Lab, leg: str
) -> None:
    node, task_id, delivery = lab.running()
    old = lab.live(node)
    lab.node()
    recorded = len(lab.events)
    if leg == "report":
        assert lab.report(delivery, incarnation=old) == "superseded"
    else:
        assert hand_back(lab, delivery, incarnation=old) == "superseded"
    assert (len(lab.events), lab.task(task_id).lease) == (recorded, delivery.delivery_id)


@pytest.mark.parametrize(
    ("verdict", "tree_gone", "gone"),
    [
        (Verdict.COMPLETED, False, True),
        (Verdict.FAILED, True, True),
        (Verdict.UNKNOWN, True, True),
        (Verdict.UNKNOWN, False, False),
    ],
)
def test_which_reports_prove_that_no_process_is_left(verdict: Verdict, tree_gone: bool, gone: bool) -> None:
    assert proves_gone(Outcome(verdict, tree_gone=tree_gone)) is gone


@pytest.mark.parametrize(("tree_gone", "slots"), [(False, 1), (True, 0)])
def test_a_late_unknown_report_frees_the_slot_only_with_the_word_that_the_tree_is_gone(
    lab: Lab, tree_gone: bool, slots: int
) -> None:
    _, _, delivery = lab.running()
    lab.lose(delivery)
    assert lab.report(delivery, Verdict.UNKNOWN, tree_gone) == "late"
    assert lab.recipient().slots_used == slots


def test_a_slot_that_is_free_is_not_freed_again_by_the_next_late_report(lab: Lab) -> None:
    _, _, delivery = lab.running()
    lab.lose(delivery)
    lab.report(delivery)
    lab.report(delivery, Verdict.FAILED)
    assert len([one for one in lab.events if isinstance(one, ev.SlotFreed)]) == 1


def test_the_same_late_report_again_is_told_so_and_asks_nobody_again(lab: Lab) -> None:
    _, task_id, delivery = lab.running()
    lab.lose(delivery)
    lab.report(delivery)
    item = lab.item(AttentionKind.UNKNOWN, f"{task_id}/1")
    recorded = len(lab.events)
    assert lab.report(delivery) == "late"
    assert (len(lab.events), lab.item(AttentionKind.UNKNOWN, f"{task_id}/1")) == (recorded, item)


def test_a_late_report_about_what_has_a_verdict_asks_nobody(lab: Lab) -> None:
    _, _, delivery = lab.running()
    lab.report(delivery, Verdict.FAILED)
    before = lab.open_items()
    assert lab.report(delivery, Verdict.COMPLETED) == "late"
    assert lab.open_items() == before


@pytest.mark.parametrize(("summary", "said"), [("", "completed"), ("all done", "all done")])
def test_a_task_ends_with_the_words_of_the_report_or_its_verdict(lab: Lab, summary: str, said: str) -> None:
    _, task_id, delivery = lab.running()
    outcome = Outcome(Verdict.COMPLETED, summary=summary)
    lab.run(cm.Report(lab.proof(delivery), digest(outcome), outcome))
    assert lab.task(task_id).end_reason == said


@pytest.mark.parametrize(("summary", "said"), [("", "unknown"), ("the runner is gone", "the runner is gone")])
def test_the_question_about_an_unknown_report_has_its_words_or_its_verdict(
    lab: Lab, summary: str, said: str
) -> None:
    _, task_id, delivery = lab.running()
    outcome = Outcome(Verdict.UNKNOWN, summary=summary)
    lab.run(cm.Report(lab.proof(delivery), digest(outcome), outcome))
    item = lab.item(AttentionKind.UNKNOWN, f"{task_id}/1")
    assert item is not None
    assert item.summary.endswith(f"ended: {said}")


def test_an_effect_that_was_never_called_is_absent_once_its_attempt_is_reported(lab: Lab) -> None:
    task_id, delivery = lab.performing()
    effect_id = lab.begin(delivery).effect_id
    lab.report(delivery)
    assert lab.effect(effect_id).state == "absent"
    assert lab.task(task_id).state is TaskState.COMPLETED


def test_a_hand_back_of_what_was_never_acknowledged_is_a_refusal_of_the_offer(lab: Lab) -> None:
    node = lab.node()
    task_id = lab.submit()
    (delivery,) = lab.claim(node)
    assert hand_back(lab, delivery) == "refused"
    assert lab.task(task_id).voided_offers == 1
    assert len(lab.claim(node)) == 1


@pytest.mark.parametrize(("token", "slots"), [(None, 0), ("0" * 64, 1)])
def test_a_hand_back_that_comes_too_late_still_proves_that_the_slot_is_free(
    lab: Lab, token: str | None, slots: int
) -> None:
    _, _, delivery = lab.running()
    lab.lose(delivery)
    proof = {} if token is None else {"token_digest": token}
    for _ in range(2):
        assert hand_back(lab, delivery, **proof) == "stale_fence"
    assert lab.recipient().slots_used == slots
    assert len([one for one in lab.events if isinstance(one, ev.SlotFreed)]) == 1 - slots


def test_a_hand_back_under_another_fence_frees_nothing_of_a_lease_that_is_open(lab: Lab) -> None:
    _, _, delivery = lab.running()
    assert hand_back(lab, delivery, fence=9) == "stale_fence"
    assert lab.recipient().slots_used == 1


def test_a_hand_back_after_an_effect_is_evidence_that_disagrees_and_is_not_taken(lab: Lab) -> None:
    task_id, delivery = lab.performing()
    lab.begin(delivery)
    assert hand_back(lab, delivery) == "stale_fence"
    assert lab.task(task_id).lease == delivery.delivery_id


def test_a_hand_back_of_what_was_asked_to_cancel_ends_its_task_as_acknowledged(lab: Lab) -> None:
    _, task_id, delivery = lab.running()
    lab.cancel(task_id)
    assert hand_back(lab, delivery) == "handed_back"
    steps = [str(one.step) for one in lab.events if isinstance(one, ev.CancelAdvanced)]
    assert steps == ["requested", "acknowledged", "reconciled", "terminated"]
    assert lab.task(task_id).state is TaskState.CANCELED
    assert lab.attempt(task_id).verdict is Verdict.CANCELED


def test_a_hand_back_of_what_was_asked_to_stop_is_an_acknowledgment(lab: Lab) -> None:
    _, task_id, delivery = lab.running()
    lab.run(dc.StopAttempt(task_id, 1, "ann", "it does harm"))
    assert hand_back(lab, delivery) == "handed_back"
    steps = [one.step for one in lab.events if isinstance(one, rv.StopAdvanced)]
    assert CancelStep.ACKNOWLEDGED in steps


def test_a_snapshot_of_a_node_that_the_record_does_not_know_is_refused(lab: Lab) -> None:
    command = cm.Snapshot(NodeId("n_none"), IncarnationId("i_1"), 1, ())
    assert lab.run(command).code == "superseded"


@pytest.mark.parametrize("sequence", [4, 5])
def test_a_snapshot_that_is_not_newer_than_the_last_is_ignored(lab: Lab, sequence: int) -> None:
    node, _, delivery = lab.running()
    assert not snapshot(lab, node, 5).ignored
    again = snapshot(lab, node, sequence, cm.Holding(delivery.delivery_id, 1, "started", False))
    assert (again.ignored, again.advice) == (True, {})
    assert not snapshot(lab, node, 6).ignored


def test_a_node_that_holds_what_is_granted_to_another_is_told_to_stop_and_somebody_is_asked(lab: Lab) -> None:
    _, _, delivery = lab.running()
    other = lab.node("other")
    held = cm.Holding(delivery.delivery_id, 1, "started", False)
    assert snapshot(lab, other, 1, held).advice == {delivery.delivery_id: "stop"}
    unknown = cm.Holding(DeliveryId("d_none"), 1, "started", False)
    assert snapshot(lab, other, 2, unknown).advice == {"d_none": "stop"}
    assert lab.open_items() == ["unknown_delivery", "unknown_delivery"]


def test_who_holds_its_lease_is_told_to_go_on_or_to_report(lab: Lab) -> None:
    _, _, delivery = lab.running()
    for stage in ("mirrored", "acknowledged", "started"):
        assert advice(lab, delivery, stage) == "go_on"
    assert advice(lab, delivery, "ended") == "report"
    assert advice(lab, delivery, "started", tree_gone=True) == "go_on"
    assert lab.recipient().slots_used == 1, "a lease that is open keeps its slot, whatever the snapshot says"


def test_who_lost_its_lease_is_told_to_stop_until_it_has_ended_and_then_to_report_once(lab: Lab) -> None:
    _, _, delivery = lab.running()
    lab.lose(delivery)
    assert advice(lab, delivery, "started") == "stop"
    assert lab.recipient().slots_used == 1
    assert advice(lab, delivery, "started", tree_gone=True) == "stop"
    assert lab.recipient().slots_used == 0
    assert advice(lab, delivery, "ended", tree_gone=True) == "report"
    lab.report(delivery)
    assert advice(lab, delivery, "ended", tree_gone=True) == "close"
    assert advice(lab, delivery, "closed") == "close"
    assert len([one for one in lab.events if isinstance(one, ev.SlotFreed)]) == 1


def test_what_was_reported_is_closed_whatever_stage_its_node_has_it_in(lab: Lab) -> None:
    _, _, delivery = lab.running()
    lab.report(delivery)
    for stage in ("started", "ended", "closed"):
        assert advice(lab, delivery, stage) == "close"


def test_what_was_closed_without_a_report_is_closed(lab: Lab) -> None:
    _, _, delivery = lab.running()
    lab.lose(delivery)
    assert advice(lab, delivery, "closed") == "close"


def test_a_late_report_of_an_earlier_delivery_does_not_close_a_later_one(lab: Lab) -> None:
    node, _, first = lab.running()
    lab.node()
    lab.run(cm.HandBack(lab.proof(first), "nothing started"))
    second = lab.work(node)
    lab.lose(second)
    late = Outcome(Verdict.COMPLETED, summary="of the first")
    assert lab.run(cm.Report(lab.proof(first), digest(late), late)).answer == "late"
    assert advice(lab, second, "ended") == "report"


def test_a_delivery_that_a_snapshot_leaves_out_is_denied_once_and_its_lease_runs_on(lab: Lab) -> None:
    node, _, delivery = lab.running()
    snapshot(lab, node, 1)
    snapshot(lab, node, 2)
    assert len([one for one in lab.events if isinstance(one, ev.DeliveryDenied)]) == 1
    assert lab.renew(delivery).answer == "renewed"
    assert not lab.get(Delivery, delivery.delivery_id).denied


def test_a_delivery_that_has_ended_is_not_denied_by_a_snapshot_that_leaves_it_out(lab: Lab) -> None:
    node, _, delivery = lab.running()
    lab.lose(delivery)
    snapshot(lab, node, 1)
    assert not lab.get(Delivery, delivery.delivery_id).denied
    assert lab.recipient().slots_used == 1


# -- a person's answers


def test_an_answer_about_a_task_without_that_attempt_is_not_found(lab: Lab) -> None:
    _, task_id, delivery = lab.running()
    lab.lose(delivery)
    assert lab.answer(task_id, 2, Answer.RETIRE).code == "not_found"
    lab.world.entities[type(lab.attempt(task_id))]["t_none/1"] = replace(
        lab.attempt(task_id), attempt_id=AttemptId("t_none/1")
    )
    command = cm.Reconcile(type(task_id)("t_none"), 1, Answer.RETIRE, 1, "ann", "no")
    reply = decide(lab.world, command, lab.now, lab.terms).reply
    assert isinstance(reply, cm.Refusal)
    assert reply.code == "not_found"


def test_the_same_answer_again_is_told_with_its_successor(lab: Lab) -> None:
    _, task_id, delivery = lab.running()
    lab.lose(delivery)
    assert lab.answer(task_id, 1, Answer.RERUN).successor == 2
    recorded = len(lab.events)
    assert lab.answer(task_id, 1, Answer.RERUN).successor == 2
    assert len(lab.events) == recorded


def test_the_same_answer_without_a_successor_has_none_either(lab: Lab) -> None:
    _, task_id, delivery = lab.running()
    lab.lose(delivery)
    for _ in range(2):
        assert lab.answer(task_id, 1, Answer.INVESTIGATE).successor is None
    for _ in range(2):
        assert lab.answer(task_id, 1, Answer.RETIRE).successor is None


@pytest.mark.parametrize("by", ["ann", "bob"])
def test_accept_is_told_again_only_for_the_report_and_the_person_it_was(lab: Lab, by: str) -> None:
    _, task_id, delivery = lab.running()
    lab.lose(delivery)
    lab.report(delivery)
    lab.report(delivery, Verdict.FAILED)
    completed, failed = lab.world.reports_of(lab.attempt(task_id).attempt_id)
    if str(completed.outcome.verdict if completed.outcome else "") != "completed":
        completed, failed = failed, completed

    def accept(late: Late, by: str = "ann") -> Any:
        return lab.run(cm.Reconcile(task_id, 1, Answer.ACCEPT, version, by, "I looked", late_id=late.late_id))

    item = lab.item(AttentionKind.UNKNOWN, f"{task_id}/1")
    assert item is not None
    version = item.version
    assert accept(completed).answer is Answer.ACCEPT
    recorded = len(lab.events)
    if by == "ann":
        assert accept(completed).answer is Answer.ACCEPT
    assert accept(failed, by).code == "conflict"
    assert len(lab.events) == recorded


def test_a_word_about_the_tree_that_comes_with_the_same_answer_again_is_not_swallowed(lab: Lab) -> None:
    _, task_id, delivery = lab.running()
    lab.lose(delivery)
    lab.answer(task_id, 1, Answer.INVESTIGATE)
    assert lab.recipient().slots_used == 1
    assert lab.answer(task_id, 1, Answer.INVESTIGATE, tree_gone=True).answer is Answer.INVESTIGATE
    assert lab.recipient().slots_used == 0
    recorded = len(lab.events)
    assert lab.answer(task_id, 1, Answer.INVESTIGATE, tree_gone=True).answer is Answer.INVESTIGATE
    assert len(lab.events) == recorded


def test_a_word_about_a_tree_that_is_gone_already_frees_nothing_more(lab: Lab) -> None:
    _, task_id, delivery = lab.running()
    lab.report(delivery, Verdict.UNKNOWN, tree_gone=True)
    lab.answer(task_id, 1, Answer.RETIRE, tree_gone=True)
    assert not [one for one in lab.events if isinstance(one, ev.SlotFreed)]


@pytest.mark.parametrize("off", [-1, 1])
def test_an_answer_to_another_version_than_the_one_that_is_asked_is_refused(lab: Lab, off: int) -> None:
    _, task_id, delivery = lab.running()
    lab.lose(delivery)
    refusal = lab.answer(task_id, 1, Answer.RETIRE, item_version=1 + off)
    assert (refusal.code, refusal.facts["item_version"]) == ("conflict", 1)


def test_the_reason_of_an_answer_has_its_length(lab: Lab) -> None:
    _, task_id, delivery = lab.running()
    lab.lose(delivery)
    assert lab.answer(task_id, 1, Answer.RETIRE, because="x" * (REASON_LENGTH + 1)).code == "invalid"
    assert lab.answer(task_id, 1, Answer.RETIRE, because="x" * REASON_LENGTH).answer is Answer.RETIRE


def test_the_refusal_of_an_answer_says_what_became_of_the_attempt_and_which_reports_there_are(
    lab: Lab,
) -> None:
    _, task_id, delivery = lab.running()
    assert "(delivered)" in lab.answer(task_id, 1, Answer.RETIRE).message
    lab.lose(delivery)
    lab.report(delivery)
    lab.report(delivery, Verdict.ASKED)
    message = lab.answer(task_id, 1, Answer.ACCEPT, late_id="d_else").message
    ends = {one.late_id: one.outcome.verdict for one in lab.world.every(Late) if one.outcome}
    assert [name in message for name, verdict in ends.items() if verdict is Verdict.COMPLETED] == [True]
    assert [name in message for name, verdict in ends.items() if verdict is Verdict.ASKED] == [False]


def test_the_refusal_of_an_answer_to_what_has_ended_names_its_verdict(lab: Lab) -> None:
    _, task_id, delivery = lab.running()
    lab.report(delivery)
    assert "(completed)" in lab.answer(task_id, 1, Answer.RETIRE).message


@pytest.mark.parametrize("off", [-1, 1])
def test_a_question_is_closed_only_by_who_read_it_as_it_is(lab: Lab, off: int) -> None:
    node = lab.node()
    task_id = lab.submit()
    for _ in range(lab.terms.max_offers):
        (delivery,) = lab.claim(node)
        lab.ack(delivery, refused="no space left")
    item = lab.item(AttentionKind.OFFERS_VOIDED, task_id)
    assert item is not None
    assert lab.run(cm.CloseAttention(item.item_id, item.version + off, "ann", "read")).code == "conflict"
    assert lab.run(cm.CloseAttention(item.item_id, item.version, "ann", "read")) == cm.Done()
    assert lab.run(cm.CloseAttention("none", 1, "ann", "read")).code == "not_found"
    assert lab.run(cm.CloseAttention(item.item_id, item.version, "bob", "read")).code == "not_offered"
