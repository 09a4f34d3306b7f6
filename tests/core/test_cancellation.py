"""Cancellation is a protocol, and `no_resurrection`. Every step is also checked by `core.invariants` (in the Lab)."""

from __future__ import annotations

import pytest

from tenure.core import commands as cm
from tenure.core.attempt import Answer, Verdict
from tenure.core.ids import TaskId
from tenure.core.task import CancelStep, TaskState
from tests.core.lab import Lab


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
    assert answer.cancel
    assert answer.cancel_grace_ms == 60_000
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
    assert refusal.code == "not_offered"
    assert set(refusal.facts["offered"]) == {"retire", "investigate"}
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


def test_the_question_of_a_canceled_task_is_closed_with_it(lab: Lab) -> None:
    _, task_id, delivery = lab.running()
    lab.report(delivery, Verdict.ASKED)
    assert lab.open_items() != []
    lab.cancel(task_id)
    assert lab.open_items() == []
