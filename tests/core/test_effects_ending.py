"""What the end of a lease means for Effects, and what waits for them (`reconcile_first`)."""

from __future__ import annotations

import pytest

from tenure.core import commands as cm
from tenure.core.attempt import Answer, Verdict
from tenure.core.delivery import DeliveryState
from tenure.core.effect import EffectState
from tenure.core.effect_commands import CallEnd
from tenure.core.events import TaskEnded
from tenure.core.failure import FailureClass
from tenure.core.ids import attempt_id
from tenure.core.reconciliation import offered_answers
from tenure.core.recovery_events import RecoveryDecided
from tenure.core.task import CancelStep, TaskState
from tests.core.lab import Lab, pull_request


def steps(lab: Lab) -> list[str]:
    return [str(one.step) for one in lab.events if hasattr(one, "step")]


# -- a report


def test_a_report_leaves_an_issued_effect_to_its_live_caller_and_the_task_waits(lab: Lab) -> None:
    task_id, delivery, effect_id = lab.issued()
    other = lab.begin(delivery, pull_request("tenure/two")).effect_id
    assert lab.report(delivery) == "recorded"
    assert lab.effect(effect_id).state is EffectState.ISSUED
    assert lab.effect(other).state is EffectState.ABSENT
    assert lab.effect(other).reason == "never called: the lease ended"
    task = lab.task(task_id)
    assert (task.state, task.open_effects) == (TaskState.WORKING, (effect_id,))
    assert lab.reason(task_id).code == "effect_in_doubt"
    assert lab.reason(task_id).blocker == effect_id


@pytest.mark.parametrize(
    ("verdict", "state"),
    [
        (Verdict.COMPLETED, TaskState.COMPLETED),
        (Verdict.FAILED, TaskState.FAILED),
        (Verdict.TIMED_OUT, TaskState.FAILED),
        (Verdict.CANCELED, TaskState.CANCELED),
    ],
)
@pytest.mark.parametrize("how", ["settled", "absent", "found", "not found", "a person"])
def test_a_task_that_only_waits_for_its_effect_ends_by_itself_with_its_verdict(
    lab: Lab, verdict: Verdict, state: TaskState, how: str
) -> None:
    task_id, delivery, effect_id = lab.issued(policy="once")
    lab.report(delivery, verdict)
    if how == "settled":
        lab.settle(effect_id)
    elif how == "absent":
        lab.settle(effect_id, CallEnd.ABSENT)
    else:
        lab.settle(effect_id, CallEnd.LOST)
        assert not lab.task(task_id).is_terminal
    if how == "found":
        lab.look_up(effect_id, result="{}")
    elif how == "not found":
        lab.find_absent(effect_id)
    elif how == "a person":
        lab.look_up(effect_id, contradiction="two of them")
        lab.resolve(effect_id, True)
    task = lab.task(task_id)
    assert (task.state, task.open_effects, task.end_reason) == (state, (), str(verdict))


@pytest.mark.parametrize(
    ("failure_class", "state", "asked", "attempts"),
    [
        (FailureClass.AUTHORIZATION, TaskState.INPUT_REQUIRED, ["authorization"], 1),
        (FailureClass.CONFIGURATION, TaskState.INPUT_REQUIRED, ["configuration"], 1),
        (FailureClass.CAPACITY, TaskState.WORKING, [], 2),
        (FailureClass.EXECUTOR_LOST, TaskState.WORKING, [], 2),
        (FailureClass.VALIDATION, TaskState.WORKING, [], 2),
        (FailureClass.CONFLICT, TaskState.INPUT_REQUIRED, ["failed"], 1),
        (FailureClass.CONTRADICTION, TaskState.INPUT_REQUIRED, ["contradiction"], 1),
    ],
)
@pytest.mark.parametrize("end", [CallEnd.CONFIRMED, CallEnd.ABSENT])
def test_what_follows_a_failure_is_decided_when_its_effects_are_known_and_once(
    lab: Lab, failure_class: FailureClass, state: TaskState, asked: list[str], attempts: int, end: CallEnd
) -> None:
    task_id, delivery, effect_id = lab.issued()
    lab.fail(delivery, failure_class, summary="so it said")
    task = lab.task(task_id)
    assert (task.state, task.decided, task.attempts) == (TaskState.WORKING, 0, 1)
    assert lab.open_items() == []
    lab.settle(effect_id, end)
    task = lab.task(task_id)
    assert (task.state, task.decided, task.attempts, task.open_effects) == (state, 1, attempts, ())
    assert lab.open_items() == asked
    decided = [one for one in lab.events if isinstance(one, RecoveryDecided)]
    assert [(one.number, one.failure_class) for one in decided] == [(1, failure_class)]


def test_the_last_of_several_effects_ends_the_task(lab: Lab) -> None:
    task_id, delivery, first = lab.issued()
    second = lab.begin(delivery, pull_request("tenure/two")).effect_id
    lab.issue(second, "call2")
    lab.report(delivery)
    lab.settle(first)
    assert not lab.task(task_id).is_terminal
    assert lab.reason(task_id).blocker == second
    lab.settle(second, CallEnd.ABSENT, "call2")
    assert lab.task(task_id).state is TaskState.COMPLETED
    assert sum(isinstance(one, TaskEnded) for one in lab.events) == 1


def test_a_task_whose_effects_are_all_settled_ends_with_the_report(lab: Lab) -> None:
    task_id, delivery, effect_id = lab.issued()
    lab.settle(effect_id)
    lab.report(delivery)
    assert lab.task(task_id).state is TaskState.COMPLETED


def test_an_answer_to_a_question_waits_for_the_effects(lab: Lab) -> None:
    task_id, delivery, effect_id = lab.issued()
    lab.report(delivery, Verdict.ASKED)
    refusal = lab.run(cm.Retry(task_id, "ann", "the blue one"))
    assert (refusal.code, refusal.facts) == ("effect_in_doubt", {"effects": [effect_id]})
    assert lab.task(task_id).attempts == 1
    lab.settle(effect_id)
    assert lab.reason(task_id).code == "asked"
    assert lab.run(cm.Retry(task_id, "ann", "the blue one")).successor == 2


def test_settling_during_the_lease_ends_nothing(lab: Lab) -> None:
    task_id, delivery, effect_id = lab.issued()
    lab.settle(effect_id, CallEnd.ABSENT)
    assert lab.task(task_id).lease == delivery.delivery_id
    assert lab.reason(task_id).code == "starting"


# -- a revocation


def test_a_revocation_puts_what_is_under_way_in_doubt_and_what_was_intended_away(lab: Lab) -> None:
    task_id, delivery, effect_id = lab.issued()
    other = lab.begin(delivery, pull_request("tenure/two")).effect_id
    lab.lose(delivery)
    assert lab.effect(effect_id).state is EffectState.IN_DOUBT
    assert lab.effect(effect_id).reason == "the lease was revoked while the call was under way"
    assert lab.effect(other).state is EffectState.ABSENT
    assert lab.task(task_id).open_effects == (effect_id,)


def test_an_unknown_attempt_with_open_effects_may_only_be_looked_into(lab: Lab) -> None:
    task_id, delivery, effect_id = lab.issued()
    lab.lose(delivery)
    lab.report(delivery)
    (late,) = lab.world.reports_of(attempt_id(task_id, 1))
    offered = offered_answers(lab.task(task_id), lab.attempt(task_id), [late])
    assert set(offered) == {Answer.INVESTIGATE}
    for answer in (Answer.RERUN, Answer.ACCEPT, Answer.RETIRE):
        refusal = lab.answer(task_id, 1, answer, late_id=late.late_id)
        assert (refusal.code, refusal.facts) == ("effect_in_doubt", {"effects": [effect_id]})
    assert lab.answer(task_id, 1, Answer.INVESTIGATE).answer is Answer.INVESTIGATE
    assert lab.reason(task_id).code == "effect_in_doubt"
    assert not lab.task(task_id).is_terminal
    lab.settle(effect_id)
    assert lab.reason(task_id).code == "unknown"
    assert lab.answer(task_id, 1, Answer.RERUN).successor == 2


@pytest.mark.parametrize("answer", [Answer.RETIRE, Answer.ACCEPT])
def test_a_final_answer_is_taken_once_the_effects_are_settled(lab: Lab, answer: Answer) -> None:
    task_id, delivery, effect_id = lab.issued()
    lab.lose(delivery)
    lab.report(delivery)
    lab.find_absent(effect_id)
    (late,) = lab.world.reports_of(attempt_id(task_id, 1))
    assert lab.answer(task_id, 1, answer, late_id=late.late_id).answer is answer
    assert lab.task(task_id).is_terminal


def test_a_reported_unknown_leaves_the_effect_to_its_live_caller(lab: Lab) -> None:
    task_id, delivery, effect_id = lab.issued()
    lab.report(delivery, Verdict.UNKNOWN)
    assert lab.effect(effect_id).state is EffectState.ISSUED
    assert lab.answer(task_id, 1, Answer.RETIRE).code == "effect_in_doubt"
    lab.restart_hub()
    lab.doubt(effect_id)
    assert lab.effect(effect_id).state is EffectState.IN_DOUBT


def test_what_runs_on_a_forgotten_node_begins_and_issues_nothing_more(lab: Lab) -> None:
    _, delivery, effect_id = lab.issued()
    other = lab.begin(delivery, pull_request("tenure/two")).effect_id
    lab.run(cm.ForgetNode(delivery.node_id, "ann", "it was stolen"))
    assert lab.begin(delivery, pull_request("tenure/three")).code == "stale_fence"
    assert lab.issue(other, "call2").problem == "stale_fence"
    assert lab.effect(other).state is EffectState.ABSENT
    lab.lose(delivery)
    assert lab.effect(effect_id).state is EffectState.IN_DOUBT


# -- a cancellation


def test_a_cancellation_waits_for_the_effects_between_its_answer_and_its_end(lab: Lab) -> None:
    task_id, delivery, effect_id = lab.issued()
    lab.cancel(task_id)
    assert lab.renew(delivery).cancel
    lab.report(delivery, Verdict.CANCELED)
    assert steps(lab) == ["requested", "signaled", "acknowledged"]
    assert lab.task(task_id).cancel_step is CancelStep.ACKNOWLEDGED
    assert lab.reason(task_id).code == "effect_in_doubt"
    assert lab.cancel(task_id).step == "acknowledged"
    lab.settle(effect_id)
    assert steps(lab) == ["requested", "signaled", "acknowledged", "reconciled", "terminated"]
    assert lab.task(task_id).state is TaskState.CANCELED


def test_a_cancellation_that_nobody_answers_waits_for_the_effects_too(lab: Lab) -> None:
    task_id, delivery, effect_id = lab.issued()
    lab.cancel(task_id)
    for _ in range(3):
        lab.pass_s(20)
        lab.renew(delivery)
    assert lab.sweep() == ["revoked"]
    assert steps(lab) == ["requested", "signaled", "unacknowledged"]
    assert lab.effect(effect_id).state is EffectState.IN_DOUBT
    assert lab.answer(task_id, 1, Answer.RERUN).code in ("effect_in_doubt", "not_offered")
    lab.find_absent(effect_id)
    assert steps(lab)[-2:] == ["reconciled", "terminated"]
    task = lab.task(task_id)
    assert (task.state, lab.attempt(task_id).verdict) == (TaskState.CANCELED, Verdict.UNKNOWN)


def test_a_cancellation_that_comes_when_only_an_effect_is_open_waits_for_it(lab: Lab) -> None:
    task_id, delivery, effect_id = lab.issued()
    lab.report(delivery)
    assert lab.cancel(task_id).step == "requested"
    assert not lab.task(task_id).is_terminal
    lab.settle(effect_id)
    assert lab.task(task_id).state is TaskState.CANCELED
    assert steps(lab) == ["requested", "reconciled", "terminated"]


def test_an_intended_effect_keeps_no_cancellation(lab: Lab) -> None:
    task_id, delivery = lab.performing()
    effect_id = lab.begin(delivery).effect_id
    lab.cancel(task_id)
    lab.report(delivery, Verdict.CANCELED)
    assert lab.effect(effect_id).state is EffectState.ABSENT
    assert lab.task(task_id).state is TaskState.CANCELED


def test_a_late_result_of_an_effect_does_not_reopen_a_canceled_task(lab: Lab) -> None:
    task_id, delivery, effect_id = lab.issued()
    lab.cancel(task_id)
    lab.settle(effect_id, CallEnd.LOST)
    lab.report(delivery, Verdict.CANCELED)
    lab.find_absent(effect_id)
    before = lab.task(task_id)
    assert before.state is TaskState.CANCELED
    lab.settle(effect_id)
    assert lab.task(task_id) == before
    assert lab.open_items() == ["effect_quarantined"]


# -- a hand-back


@pytest.mark.parametrize("state", ["intended", "issued", "in_doubt"])
def test_a_hand_back_of_work_that_has_open_effects_is_refused(lab: Lab, state: str) -> None:
    task_id, delivery = lab.performing()
    effect_id = lab.begin(delivery).effect_id
    if state != "intended":
        lab.issue(effect_id)
    if state == "in_doubt":
        lab.settle(effect_id, CallEnd.LOST)
    before = lab.task(task_id)
    assert lab.run(cm.HandBack(lab.proof(delivery), "nothing was started")).answer == "stale_fence"
    assert lab.task(task_id) == before
    assert lab.get(type(delivery), delivery.delivery_id).state is DeliveryState.DELIVERED
