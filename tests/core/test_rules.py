"""The rules of DESIGN 4, one by one, on the smallest story that shows each. Every step is also checked by `core.invariants` (in the Lab)."""

from __future__ import annotations

from typing import Any

import pytest

from tenure.core import commands as cm
from tenure.core.attempt import Answer, AttemptState, Outcome, Verdict
from tenure.core.attention import Attention, AttentionKind, item_id
from tenure.core.canonical import digest
from tenure.core.delivery import DeliveryState, Progress
from tenure.core.ids import DeliveryId, TaskId
from tenure.core.late import Late
from tenure.core.task import CancelStep, Check, TaskState
from tests.core.lab import SHA, Lab


@pytest.fixture
def lab() -> Lab:
    return Lab()


# -- the happy path, and once ----------------------------------------------------------------------------------------


def test_a_task_goes_from_submit_to_completed_and_its_fence_moves_at_grant_and_report(lab: Lab) -> None:
    _, task_id, delivery = lab.running()
    assert delivery.fence == 1
    assert lab.report(delivery) == "recorded"
    task = lab.task(task_id)
    assert (task.state, task.fence, task.lease) == (TaskState.COMPLETED, 2, None)
    assert lab.attempt(task_id).verdict is Verdict.COMPLETED
    assert lab.recipient().slots_used == 0


def test_the_same_key_and_spec_is_the_same_task_and_another_spec_is_refused(lab: Lab) -> None:
    first = lab.submit("key", objective="one")
    assert lab.submit("key", objective="one") == first
    spec = cm.TaskSpec(objective="two", route="claude")
    refusal = lab.run(cm.Submit(TaskId("t_x"), spec, "ann", "key"))
    assert refusal.code == "idempotency_mismatch" and refusal.facts["task_id"] == first
    assert lab.submit("key", by="bob", objective="two") != first


def test_a_repeated_claim_gets_the_same_unacknowledged_grants_and_nothing_more(lab: Lab) -> None:
    node = lab.node(capacity=2)
    for _ in range(2):
        lab.submit()
    (first,) = lab.claim(node, 1, "c_1")
    assert [one.delivery_id for one in lab.claim(node, 2, "c_1")] == [first.delivery_id]
    lab.ack(first)
    assert lab.claim(node, 2, "c_1") == []


def test_a_repeated_ack_and_a_repeated_report_are_answered_as_the_first_time(lab: Lab) -> None:
    _, _, delivery = lab.running()
    assert lab.ack(delivery) == "delivered"
    assert lab.report(delivery) == "recorded"
    assert lab.report(delivery) == "replayed"
    assert not list(lab.world.every(Late))


def test_grants_never_exceed_the_units_that_the_hub_itself_believes_free(lab: Lab) -> None:
    node = lab.node(capacity=2)
    for _ in range(5):
        lab.submit()
    assert len(lab.claim(node, 5)) == 2
    assert lab.claim(node, 5) == []


def test_the_task_that_has_been_ready_longest_is_granted_first(lab: Lab) -> None:
    node = lab.node(capacity=3)
    late = lab.submit(not_before_ms=lab.now.wall_ms + 5000)
    early = lab.submit()
    assert [one.task_id for one in lab.claim(node, 3)] == [early]
    lab.pass_s(5)
    assert [one.task_id for one in lab.claim(node, 3)] == [late]


# -- one_owner, fenced_writes ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("change", [{"fence": 0}, {"fence": 2}, {"token_digest": "0" * 64}])
def test_a_write_without_fence_and_token_changes_nothing_on_any_leg(lab: Lab, change: dict[str, Any]) -> None:
    _, task_id, delivery = lab.running()
    task, attempt = lab.task(task_id), lab.attempt(task_id)
    assert lab.ack(delivery, **change) == "stale_fence"
    assert lab.renew(delivery, 5, **change).answer == "stale_fence"
    assert lab.report(delivery, **change) in ("late", "stale_fence")
    assert lab.run(cm.HandBack(lab.proof(delivery, **change), "x")).answer == "stale_fence"
    assert (lab.task(task_id), lab.attempt(task_id)) == (task, attempt)
    assert lab.get(type(delivery), delivery.delivery_id).counter == 0


def test_what_a_stale_owner_says_is_kept_once_as_late(lab: Lab) -> None:
    _, task_id, delivery = lab.running()
    lab.lose(delivery)
    assert lab.report(delivery) == "late"
    assert lab.report(delivery) == "late"
    assert lab.renew(delivery).answer == "stale_fence"
    assert lab.renew(delivery).answer == "stale_fence"
    kinds = sorted(str(one.kind) for one in lab.world.every(Late))
    assert kinds == ["renew", "report"]
    assert lab.attempt(task_id).verdict is Verdict.UNKNOWN


def test_who_does_not_know_the_token_leaves_no_late_message_behind(lab: Lab) -> None:
    _, _, delivery = lab.running()
    lab.lose(delivery)
    assert lab.report(delivery, token_digest="0" * 64) == "stale_fence"
    assert not list(lab.world.every(Late))


def test_late_messages_of_one_delivery_are_bounded(lab: Lab) -> None:
    _, _, delivery = lab.running()
    lab.lose(delivery)
    for number in range(80):
        outcome = Outcome(verdict=Verdict.COMPLETED, summary=str(number))
        assert lab.run(cm.Report(lab.proof(delivery), digest(outcome), outcome)).answer == "late"
    assert len(list(lab.world.every(Late))) == 50


# -- no_start_before_handoff -----------------------------------------------------------------------------------------


def test_an_offer_nobody_confirms_is_voided_and_the_same_attempt_offered_under_a_higher_fence(lab: Lab) -> None:
    node = lab.node()
    task_id = lab.submit()
    (first,) = lab.claim(node)
    lab.pass_s(10)
    assert lab.sweep() == ["voided"]
    assert lab.ack(first) == "stale_fence"
    (second,) = lab.claim(node)
    assert (second.number, second.fence) == (1, 3)
    assert lab.task(task_id).attempts == 1


def test_a_late_ack_is_accepted_until_the_commit_that_voids_the_grant(lab: Lab) -> None:
    node = lab.node()
    lab.submit()
    (delivery,) = lab.claim(node)
    lab.pass_s(60)
    assert lab.ack(delivery) == "delivered"
    assert lab.sweep() == []


def test_a_refused_receipt_voids_and_after_too_many_a_person_is_asked_until_somebody_takes_it(lab: Lab) -> None:
    node = lab.node()
    lab.submit()
    for _ in range(lab.terms.max_offers):
        (delivery,) = lab.claim(node)
        assert lab.ack(delivery, refused="no space left") == "refused"
        assert lab.ack(delivery, refused="no space left") == "refused"
    assert lab.open_items() == ["offers_voided"]
    (delivery,) = lab.claim(node)
    assert lab.ack(delivery) == "delivered"
    assert lab.open_items() == []


def test_a_delivery_acknowledged_by_an_earlier_incarnation_is_handed_back_and_offered_again(lab: Lab) -> None:
    node, task_id, delivery = lab.running()
    lab.node()
    assert lab.ack(delivery) == "other_incarnation"
    back = cm.HandBack(lab.proof(delivery), "started_by is ours and empty")
    assert lab.run(back).answer == "handed_back"
    assert lab.run(back).answer == "replayed"
    assert lab.attempt(task_id).state is AttemptState.PENDING
    assert lab.recipient().slots_used == 0
    (again,) = lab.claim(node)
    assert (again.number, again.fence) == (1, 3)


# -- expiry_is_suspect, time -----------------------------------------------------------------------------------------


def test_an_expired_lease_is_suspect_and_a_renewal_makes_it_whole_again(lab: Lab) -> None:
    _, task_id, delivery = lab.running()
    lab.pass_s(30)
    assert lab.sweep() == ["suspect"]
    assert lab.attempt(task_id).state is AttemptState.SUSPECT
    assert lab.ack(delivery) == "lease_expired"
    assert lab.renew(delivery).answer == "renewed"
    assert lab.attempt(task_id).state is AttemptState.DELIVERED
    assert lab.report(delivery) == "recorded"


def test_expiry_is_judged_by_the_clock_of_the_commit_not_by_the_sweep(lab: Lab) -> None:
    _, task_id, delivery = lab.running()
    lab.pass_s(31)
    assert lab.attempt(task_id).state is AttemptState.DELIVERED
    assert lab.ack(delivery) == "lease_expired"


def test_a_suspect_may_report_and_its_report_counts(lab: Lab) -> None:
    _, task_id, delivery = lab.running()
    lab.pass_s(30)
    lab.sweep()
    assert lab.report(delivery) == "recorded"
    assert lab.task(task_id).state is TaskState.COMPLETED


def test_a_repeated_renewal_extends_nothing(lab: Lab) -> None:
    _, _, delivery = lab.running()
    lab.pass_s(10)
    assert lab.renew(delivery, 3).term_ms == 30_000
    due = lab.get(type(delivery), delivery.delivery_id).due_at_ms
    lab.pass_s(10)
    again = lab.renew(delivery, 3)
    assert (again.answer, again.term_ms) == ("replayed", None)
    assert lab.renew(delivery, 2).answer == "replayed"
    assert lab.get(type(delivery), delivery.delivery_id).due_at_ms == due


@pytest.mark.parametrize("how", ["sleep", "restart"])
def test_a_sleep_or_a_restart_of_the_hub_costs_no_lease(lab: Lab, how: str) -> None:
    _, task_id, delivery = lab.running()
    lab.pass_s(5)
    if how == "sleep":
        lab.sleep_s(3600)
    else:
        lab.restart_hub(3600)
    assert lab.sweep() == ["not_yet"]
    lab.pass_s(24)
    assert lab.sweep() == ["not_yet"]
    lab.pass_s(6)
    assert lab.sweep() == ["suspect"]
    lab.restart_hub(3600)
    assert lab.sweep() == ["not_yet"]
    assert lab.renew(delivery).answer == "renewed"
    assert lab.attempt(task_id).state is AttemptState.DELIVERED


def test_a_wall_clock_that_goes_back_only_delays(lab: Lab) -> None:
    _, _, _ = lab.running()
    lab.sleep_s(-500)
    lab.pass_s(30)
    assert lab.sweep() == []
    lab.pass_s(500)
    assert lab.sweep() == ["suspect"]


def test_a_step_of_the_wall_clock_is_an_attention_item_and_a_small_drift_is_none(lab: Lab) -> None:
    lab.run(cm.NoteClockStep(59_999))
    assert lab.open_items() == []
    lab.run(cm.NoteClockStep(-60_000))
    assert lab.open_items() == ["clock_stepped"]


def test_alive_without_progress_is_a_question_that_closes_when_something_moves(lab: Lab) -> None:
    _, _, delivery = lab.running()
    for _ in range(30):
        lab.pass_s(20)
        lab.renew(delivery)
    assert lab.open_items() == ["stalled"]
    lab.renew(delivery, progress=Progress(output_bytes=1))
    assert lab.open_items() == []


# -- no_guess: unknown, block and slot -------------------------------------------------------------------------------


def test_revocation_is_one_commit_of_fence_verdict_block_and_question(lab: Lab) -> None:
    _, task_id, delivery = lab.running()
    lab.lose(delivery)
    task, delivery = lab.task(task_id), lab.get(type(delivery), delivery.delivery_id)
    assert (task.state, task.fence) == (TaskState.INPUT_REQUIRED, 2)
    assert lab.attempt(task_id).verdict is Verdict.UNKNOWN
    assert delivery.state is DeliveryState.DELIVERED and delivery.revoked_at_ms is not None
    assert lab.recipient().blocks == (f"{task_id}/1",)
    assert lab.open_items() == ["unknown"]


def test_a_blocked_recipient_gets_neither_a_grant_nor_a_receipt_and_goes_on_with_what_it_has(lab: Lab) -> None:
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
    assert spec.hypothesis is not None and spec.hypothesis.because == "I looked" and spec.follows == 1


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
    assert other.recipient().slots_used == 0 and other.recipient().is_blocked


@pytest.mark.parametrize("answer", [Answer.RERUN, Answer.RETIRE])
def test_a_final_answer_is_given_once_and_a_second_person_is_told_who_gave_it(lab: Lab, answer: Answer) -> None:
    _, task_id, delivery = lab.running()
    lab.lose(delivery)
    assert lab.answer(task_id, 1, Answer.INVESTIGATE).answer is Answer.INVESTIGATE
    assert lab.attempt(task_id).answer_by == "ann"
    assert lab.answer(task_id, 1, answer).answer is answer
    for again in Answer:
        refusal = lab.answer(task_id, 1, again)
        assert isinstance(refusal, cm.Refusal) and refusal.code == "conflict" and "ann" in refusal.message
    assert lab.attempt(task_id).verdict is Verdict.UNKNOWN


def test_an_answer_to_facts_that_have_changed_meanwhile_is_refused(lab: Lab) -> None:
    _, task_id, delivery = lab.running()
    lab.lose(delivery)
    lab.report(delivery)
    refusal = lab.answer(task_id, 1, Answer.RERUN, item_version=1)
    assert refusal.code == "conflict" and refusal.facts["item_version"] == 2


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


# -- cancellation, no_resurrection -----------------------------------------------------------------------------------


def test_canceling_a_task_that_nobody_holds_ends_it_at_once(lab: Lab) -> None:
    task_id = lab.submit()
    assert lab.cancel(task_id).step == "terminated"
    task = lab.task(task_id)
    assert (task.state, lab.attempt(task_id).verdict) == (TaskState.CANCELED, Verdict.CANCELED)
    assert lab.cancel(task_id).replayed
    assert lab.claim(lab.node()) == []


def test_canceling_voids_a_grant_that_was_not_acknowledged(lab: Lab) -> None:
    node = lab.node()
    task_id = lab.submit()
    (delivery,) = lab.claim(node)
    lab.cancel(task_id)
    assert lab.task(task_id).state is TaskState.CANCELED
    assert lab.ack(delivery) == "canceled"


def test_a_cancellation_is_signaled_by_a_renewal_and_acknowledged_by_the_report(lab: Lab) -> None:
    _, task_id, delivery = lab.running()
    assert lab.cancel(task_id).step == "requested"
    answer = lab.renew(delivery)
    assert answer.cancel and answer.cancel_grace_ms == 60_000
    assert lab.task(task_id).cancel_step is CancelStep.SIGNALED
    assert lab.report(delivery, Verdict.CANCELED) == "recorded"
    steps = [one.step for one in lab.events if hasattr(one, "step")]
    assert steps == ["requested", "signaled", "acknowledged", "reconciled", "terminated"]
    assert lab.task(task_id).state is TaskState.CANCELED


@pytest.mark.parametrize("verdict", list(Verdict))
def test_whatever_is_reported_before_the_grace_is_the_verdict_and_the_task_ends_canceled(
    lab: Lab, verdict: Verdict
) -> None:
    _, task_id, delivery = lab.running()
    lab.cancel(task_id)
    assert lab.report(delivery, verdict) == "recorded"
    assert lab.attempt(task_id).verdict is verdict
    assert lab.task(task_id).state is TaskState.CANCELED


def test_a_cancellation_that_is_not_answered_ends_unknown_and_blocks(lab: Lab) -> None:
    _, task_id, delivery = lab.running()
    lab.cancel(task_id)
    for _ in range(3):
        lab.pass_s(20)
        lab.renew(delivery)
    assert lab.sweep() == ["revoked"]
    assert lab.attempt(task_id).verdict is Verdict.UNKNOWN
    assert lab.task(task_id).state is TaskState.CANCELED
    assert lab.task(task_id).cancel_step is CancelStep.TERMINATED
    assert lab.recipient().is_blocked
    refusal = lab.answer(task_id, 1, Answer.RERUN)
    assert refusal.code == "not_offered" and set(refusal.facts["offered"]) == {"retire", "investigate"}
    assert lab.answer(task_id, 1, Answer.RETIRE).answer is Answer.RETIRE
    assert lab.task(task_id).state is TaskState.CANCELED


def test_a_late_completed_does_not_reopen_a_canceled_task(lab: Lab) -> None:
    _, task_id, delivery = lab.running()
    lab.cancel(task_id)
    lab.pass_s(60)
    lab.sweep()
    assert lab.report(delivery) == "late"
    (late,) = lab.world.reports_of(lab.attempt(task_id).attempt_id)
    lab.answer(task_id, 1, Answer.ACCEPT, late_id=late.late_id)
    assert lab.task(task_id).state is TaskState.CANCELED


def test_a_terminal_task_refuses_cancel_and_retry(lab: Lab) -> None:
    _, task_id, delivery = lab.running()
    lab.report(delivery)
    assert lab.cancel(task_id).code == "terminal"
    assert lab.run(cm.Retry(task_id, "ann", "again")).code == "terminal"
    assert lab.cancel(TaskId("t_none")).code == "not_found"


# -- dependencies, questions, continuing -----------------------------------------------------------------------------


def test_a_dependent_waits_until_its_dependency_has_completed(lab: Lab) -> None:
    node, first, delivery = lab.running()
    second = lab.submit(after=(first,))
    assert lab.claim(node) == []
    lab.report(delivery)
    lab.run(cm.ReleaseDependent(second, first))
    assert lab.run(cm.ReleaseDependent(second, first)).replayed
    assert [one.task_id for one in lab.claim(node)] == [second]


def test_a_failed_dependency_holds_its_dependents_until_a_task_that_continues_it_completes(lab: Lab) -> None:
    node, first, delivery = lab.running()
    second = lab.submit(after=(first,))
    lab.report(delivery, Verdict.FAILED)
    assert lab.task(first).state is TaskState.FAILED
    lab.run(cm.ReleaseDependent(second, first))
    assert lab.task(second).failed_dependencies == (first,)
    third = lab.submit(continues=first, because="the disk is bigger now")
    (delivery,) = lab.claim(node)
    assert delivery.task_id == third
    lab.ack(delivery)
    lab.report(delivery)
    lab.run(cm.ReleaseDependent(second, third))
    assert [one.task_id for one in lab.claim(node)] == [second]


def test_dependencies_on_nothing_and_on_oneself_are_refused(lab: Lab) -> None:
    spec = cm.TaskSpec(objective="x", route="claude", after=(TaskId("t_me"),))
    assert lab.run(cm.Submit(TaskId("t_me"), spec, "ann", "k")).code == "dependency"
    assert lab.run(cm.Submit(TaskId("t_you"), spec, "ann", "k")).code == "dependency"


def test_a_question_waits_for_a_person_whose_answer_reaches_the_next_attempt(lab: Lab) -> None:
    node, task_id, delivery = lab.running()
    lab.report(delivery, Verdict.ASKED)
    assert lab.task(task_id).state is TaskState.INPUT_REQUIRED
    assert lab.open_items() == ["asked"]
    assert lab.run(cm.Retry(task_id, "ann", "use the blue one")).successor == 2
    assert lab.open_items() == []
    assert "use the blue one" in lab.attempt(task_id, 2).spec.objective
    hypothesis = lab.attempt(task_id, 2).spec.hypothesis
    assert hypothesis is not None and hypothesis.before_digest != hypothesis.after_digest
    assert len(lab.claim(node)) == 1


def test_a_retry_of_an_unknown_attempt_points_to_reconciling_it(lab: Lab) -> None:
    _, task_id, delivery = lab.running()
    assert lab.run(cm.Retry(task_id, "ann", "again")).code == "not_offered"
    lab.lose(delivery)
    assert "reconcile" in lab.run(cm.Retry(task_id, "ann", "again")).message


# -- identity, snapshots ---------------------------------------------------------------------------------------------


def test_the_start_of_a_new_incarnation_supersedes_the_old_on_every_leg(lab: Lab) -> None:
    node, _, delivery = lab.running()
    old = lab.live(node)
    lab.node()
    assert lab.ack(delivery, incarnation=old) == "superseded"
    assert lab.renew(delivery, incarnation=old).answer == "superseded"
    assert lab.report(delivery, incarnation=old) == "superseded"
    assert lab.run(cm.Claim(node, old, cm.ClaimId("c"), {}, ())).code == "superseded"
    assert lab.run(cm.Snapshot(node, old, 9, ())).code == "superseded"
    assert lab.run(cm.StartNode(node, old, "boot1", 1, "linux", "1", ())).code == "superseded"
    assert lab.renew(delivery).answer == "renewed"


def test_two_machines_that_take_turns_with_one_credential_are_quarantined_until_released(lab: Lab) -> None:
    node = lab.node(boot="a")
    lab.node(boot="b")
    lab.submit()
    assert lab.open_items() == []
    lab.node(boot="a")
    assert lab.open_items() == ["node_quarantined"]
    assert lab.claim(node) == []
    lab.run(cm.ReleaseNode(node, "ann", "the copy is off"))
    assert lab.open_items() == []
    assert len(lab.claim(node)) == 1


def test_a_node_of_another_contract_version_gets_no_work_and_is_on_the_list(lab: Lab) -> None:
    node = lab.node()
    lab.submit()
    spec = cm.RecipientSpec(name="claude", harness="command")
    lab.run(cm.StartNode(node, cm.IncarnationId("i_new"), "boot1", 99, "linux", "9", (spec,)))
    assert lab.open_items() == ["node_incompatible"]
    assert lab.claim(node) == []
    lab.node()
    assert lab.open_items() == []


def test_a_node_name_is_enrolled_once_and_free_again_after_it_was_forgotten(lab: Lab) -> None:
    node = lab.node()
    refusal = lab.run(cm.Enroll(cm.NodeId("n_other"), "laptop", "another", "ann"))
    assert refusal.code == "name_taken"
    lab.run(cm.ForgetNode(node, "ann", "sold"))
    assert lab.run(cm.Claim(node, lab.live(node), cm.ClaimId("c"), {}, ())).code == "unauthenticated"
    assert isinstance(lab.run(cm.Enroll(cm.NodeId("n_other"), "laptop", "another", "ann")), cm.Enrolled)


def test_a_snapshot_older_than_what_was_heard_is_ignored(lab: Lab) -> None:
    node, _, delivery = lab.running()
    held = (cm.Holding(delivery.delivery_id, 1, "started", False),)
    assert lab.run(cm.Snapshot(node, lab.live(node), 5, held)).advice == {delivery.delivery_id: "go_on"}
    assert lab.run(cm.Snapshot(node, lab.live(node), 5, ())).ignored
    assert not lab.get(type(delivery), delivery.delivery_id).denied


def test_an_acknowledged_delivery_the_node_does_not_know_runs_out_to_unknown_with_that_reason(lab: Lab) -> None:
    node, task_id, delivery = lab.running()
    lab.run(cm.Snapshot(node, lab.live(node), 1, ()))
    assert lab.task(task_id).lease == delivery.delivery_id
    lab.lose(delivery)
    assert lab.get(type(delivery), delivery.delivery_id).end_reason == "node lost its store"


def test_an_unacknowledged_delivery_the_node_does_not_know_is_voided(lab: Lab) -> None:
    node = lab.node()
    lab.submit()
    (delivery,) = lab.claim(node)
    lab.run(cm.Snapshot(node, lab.live(node), 1, ()))
    assert lab.get(type(delivery), delivery.delivery_id).state is DeliveryState.VOID


def test_a_delivery_that_the_hub_does_not_know_is_stopped_and_on_the_attention_list(lab: Lab) -> None:
    node = lab.node()
    held = cm.Holding(DeliveryId("d_restored"), 4, "started", False)
    assert lab.run(cm.Snapshot(node, lab.live(node), 1, (held,))).advice == {"d_restored": "stop"}
    assert lab.open_items() == ["unknown_delivery"]


def test_a_node_is_told_to_stop_what_it_lost_and_to_report_what_it_still_holds(lab: Lab) -> None:
    node, _, delivery = lab.running()
    lab.lose(delivery)

    def advice(sequence: int, stage: str) -> str:
        held = cm.Holding(delivery.delivery_id, 1, stage, False)
        return lab.run(cm.Snapshot(node, lab.live(node), sequence, (held,))).advice[delivery.delivery_id]

    assert advice(1, "started") == "stop"
    assert advice(2, "ended") == "report"
    lab.report(delivery)
    assert advice(3, "ended") == "close"


# -- bounds ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "spec"),
    [
        ("too_large", {"objective": "x" * 65_537}),
        ("invalid", {"objective": " \n"}),
        ("invalid", {"route": "claude@"}),
        ("invalid", {"route": "-rf"}),
        ("invalid", {"repository": "/repo"}),
        ("invalid", {"repository": "/repo", "base_sha": "main"}),
        ("invalid", {"repository": "--upload-pack=x", "base_sha": SHA}),
        ("invalid", {"base_sha": SHA}),
        ("invalid", {"command": ()}),
        ("invalid", {"command": ("a\0b",)}),
        ("invalid", {"command": ("x",) * 501}),
        ("invalid", {"timeout_s": 0}),
        ("invalid", {"timeout_s": 10**9}),
        ("invalid", {"labels": {"": "x"}}),
        ("invalid", {"labels": {str(number): "x" for number in range(33)}}),
        ("invalid", {"checks": (Check("a", ("true",)), Check("a", ("true",)))}),
        ("invalid", {"checks": (Check("a", ()),)}),
        ("not_found", {"continues": TaskId("t_none"), "because": "x"}),
    ],
)
def test_what_can_never_be_right_is_refused_and_leaves_no_trace(lab: Lab, code: str, spec: dict[str, Any]) -> None:
    before = len(lab.events)
    spec = {"objective": "x", "route": "claude", **spec}
    refusal = lab.run(cm.Submit(TaskId("t_bad"), cm.TaskSpec(**spec), "ann", "k"))
    assert isinstance(refusal, cm.Refusal) and refusal.code == code
    assert len(lab.events) == before
