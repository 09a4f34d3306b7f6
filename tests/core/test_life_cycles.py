"""The life cycles as tables: every step that a table lacks is refused, whoever asks for it; and who stands in a queue."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from msgspec.structs import replace

from tenure.core import commands as cm
from tenure.core import events as ev
from tenure.core.account import Account, new_account, project_account
from tenure.core.attempt import ATTEMPT_TRANSITIONS, Answer, AttemptState, Outcome, Verdict
from tenure.core.delivery import DELIVERY_TRANSITIONS, DeliveryState
from tenure.core.evolve import evolve
from tenure.core.hold import Hold, HoldKind
from tenure.core.ids import TaskId
from tenure.core.life_cycle import (
    block,
    count_running,
    lift_block,
    queue_of,
    queued,
    to_attempt,
    to_delivery,
    to_task,
)
from tenure.core.recipient import Recipient
from tenure.core.task import (
    AGEING_MS,
    CANCEL_TRANSITIONS,
    TASK_TRANSITIONS,
    CancelStep,
    Stop,
    StopCause,
    TaskState,
    avoiding_queue,
    queue_key,
)
from tenure.core.usage import Usage
from tenure.errors import InvariantError
from tests.core.lab import Lab


@pytest.mark.parametrize(("before", "after"), [*product(TaskState, TaskState)])
def test_a_task_takes_no_step_that_its_table_lacks(lab: Lab, before: TaskState, after: TaskState) -> None:
    task = replace(lab.task(lab.submit()), state=before)
    if after is before or after in TASK_TRANSITIONS[before]:
        assert to_task(task, after).state is after
    else:
        with pytest.raises(InvariantError, match="cannot go from"):
            to_task(task, after)


@pytest.mark.parametrize(("before", "after"), [*product(AttemptState, AttemptState)])
def test_an_attempt_takes_no_step_that_its_table_lacks(
    lab: Lab, before: AttemptState, after: AttemptState
) -> None:
    attempt = replace(lab.attempt(lab.submit()), state=before)
    if after in ATTEMPT_TRANSITIONS[before]:
        assert to_attempt(attempt, after).state is after
    else:
        with pytest.raises(InvariantError, match="cannot go from"):
            to_attempt(attempt, after)


@pytest.mark.parametrize(("before", "after"), [*product(DeliveryState, DeliveryState)])
def test_a_delivery_takes_no_step_that_its_table_lacks(
    lab: Lab, before: DeliveryState, after: DeliveryState
) -> None:
    _, _, delivery = lab.running()
    delivery = replace(delivery, state=before)
    if after in DELIVERY_TRANSITIONS[before]:
        assert to_delivery(delivery, after).state is after
    else:
        with pytest.raises(InvariantError, match="cannot go from"):
            to_delivery(delivery, after)


@pytest.mark.parametrize(("before", "after"), [*product([None, *CancelStep], CancelStep)])
def test_a_cancellation_takes_no_step_that_its_table_lacks(
    lab: Lab, before: CancelStep | None, after: CancelStep
) -> None:
    task = replace(lab.task(lab.submit()), cancel_step=before)
    lab.world.put(task)
    step = ev.CancelAdvanced(task_id=task.task_id, step=after)
    begins = after is CancelStep.REQUESTED and before is None
    if begins or (before is not None and after in CANCEL_TRANSITIONS[before]):
        evolve(lab.world, step, lab.now)
        assert lab.task(task.task_id).cancel_step is after
    else:
        with pytest.raises(InvariantError):
            evolve(lab.world, step, lab.now)


@pytest.mark.parametrize("verdict", [one for one in Verdict if one is not Verdict.UNKNOWN])
def test_only_what_is_unknown_can_be_answered(lab: Lab, verdict: Verdict) -> None:
    _, task_id, delivery = lab.running()
    lab.report(delivery, verdict)
    said = ev.AttemptReconciled(task_id=task_id, number=1, answer=Answer.RETIRE, by="ann", because="no")
    with pytest.raises(InvariantError, match="cannot be answered"):
        evolve(lab.world, said, lab.now)


@pytest.mark.parametrize(("first", "second"), [*product([Answer.RERUN, Answer.RETIRE], Answer)])
def test_a_final_answer_cannot_be_followed_by_another(lab: Lab, first: Answer, second: Answer) -> None:
    _, task_id, delivery = lab.running()
    lab.lose(delivery)
    lab.answer(task_id, 1, first)
    said = ev.AttemptReconciled(task_id=task_id, number=1, answer=second, by="ann", because="no")
    with pytest.raises(InvariantError, match="cannot be answered"):
        evolve(lab.world, said, lab.now)


@pytest.mark.parametrize("off", [-1, 1, 2])
def test_attempts_are_numbered_one_after_the_other(lab: Lab, off: int) -> None:
    task_id = lab.submit()
    attempt = lab.attempt(task_id)
    made = ev.AttemptCreated(
        task_id=task_id, number=1 + 1 + off, spec=attempt.spec, spec_digest=attempt.spec_digest
    )
    with pytest.raises(InvariantError, match="cannot follow"):
        evolve(lab.world, made, lab.now)


@pytest.mark.parametrize("number", [1, 2])
def test_an_attempt_that_waits_for_nobody_cannot_be_approved(lab: Lab, number: int) -> None:
    task_id = lab.submit(approval=number == 2)
    said = ev.AttemptApproved(task_id=task_id, number=number, by="ann", because="yes")
    with pytest.raises(InvariantError, match="nobody's word"):
        evolve(lab.world, said, lab.now)


@pytest.mark.parametrize("held", [False, True])
def test_a_task_ends_once_and_not_while_somebody_holds_it(lab: Lab, held: bool) -> None:
    task_id = lab.running()[1] if held else lab.submit()
    if not held:
        lab.cancel(task_id)
    with pytest.raises(InvariantError, match="cannot end"):
        evolve(lab.world, ev.TaskEnded(task_id=task_id, state=TaskState.CANCELED, reason="no"), lab.now)


STOP = Stop(1, CancelStep.REQUESTED, StopCause.PERSON, "no", "ann", 0)


@pytest.mark.parametrize(
    "waits",
    [
        {"waits_for": (TaskId("t_x"),)},
        {"failed_dependencies": (TaskId("t_x"),)},
        {"cancel_step": CancelStep.REQUESTED},
        {"needs_approval": True},
        {"hold": Hold(HoldKind.KEY, "key:k", "somebody has it")},
        {"stop": STOP},
    ],
)
def test_whoever_waits_for_anything_stands_in_no_queue(lab: Lab, waits: dict[str, Any]) -> None:
    task_id = lab.submit(priority=2)
    task, attempt = lab.task(task_id), lab.attempt(task_id)
    ready = queued(task, attempt, 7)
    assert ready.queue_key == queue_key("claude", None, None)
    assert (ready.ready_at_ms, ready.order_ms) == (7, 7 - 2 * AGEING_MS)
    assert queued(replace(task, **waits), attempt, 7).queue_key is None


def test_the_stop_of_an_earlier_attempt_keeps_nobody_out_of_the_queue(lab: Lab) -> None:
    task_id = lab.submit()
    stopped = replace(lab.task(task_id), stop=replace(STOP, number=0))
    assert queued(stopped, lab.attempt(task_id), 7).queue_key is not None


def test_who_must_avoid_somebody_stands_in_a_queue_of_its_own(lab: Lab) -> None:
    task_id = lab.submit()
    task, attempt = lab.task(task_id), lab.attempt(task_id)
    avoiding = replace(attempt, spec=replace(attempt.spec, avoid=("claude@one",)))
    assert queue_of(task, avoiding) == avoiding_queue("claude")
    assert queue_of(task, attempt) == queue_key("claude", None, None)


def test_leases_are_counted_where_there_is_an_account_and_the_count_is_never_below_none(lab: Lab) -> None:
    task = lab.task(lab.submit(project="red"))
    del lab.world.entities[Account][project_account("red")]
    count_running(lab.world, task, 1)
    assert lab.world.find(Account, project_account("red")) is None
    lab.world.put(replace(new_account(project_account("red"), 0), turns=3.5))
    count_running(lab.world, task, -1)
    assert lab.get(Account, project_account("red")).running == 0
    count_running(lab.world, task, 1)
    assert (
        lab.get(Account, project_account("red")).running,
        lab.get(Account, project_account("red")).turns,
    ) == (1, 3.5)
    count_running(lab.world, task, 1, 4.5)
    assert (
        lab.get(Account, project_account("red")).running,
        lab.get(Account, project_account("red")).turns,
    ) == (2, 4.5)


def test_a_block_stands_once_and_goes_only_with_the_answer_and_the_slot(lab: Lab) -> None:
    _, task_id, delivery = lab.running()
    attempt = lab.attempt(task_id)
    block(lab.world, delivery.recipient, attempt.attempt_id)
    block(lab.world, delivery.recipient, attempt.attempt_id)
    assert lab.recipient().blocks == (attempt.attempt_id,)
    free, answered = replace(delivery, slot=False), replace(attempt, answer=Answer.RERUN)
    lift_block(lab.world, delivery, answered)
    lift_block(lab.world, free, attempt)
    lift_block(lab.world, free, replace(attempt, answer=Answer.INVESTIGATE))
    assert lab.recipient().blocks == (attempt.attempt_id,)
    lab.world.put(replace(lab.recipient(), blocks=("t_other/1", attempt.attempt_id)))
    lift_block(lab.world, free, answered)
    lift_block(lab.world, free, answered)
    assert lab.get(Recipient, delivery.recipient).blocks == ("t_other/1",)


@pytest.mark.parametrize(("verdict", "frees"), [(one, one is not Verdict.UNKNOWN) for one in Verdict])
def test_a_report_frees_the_slot_but_for_an_unknown_one_without_the_word(
    lab: Lab, verdict: Verdict, frees: bool
) -> None:
    _, _, delivery = lab.running()
    lab.report(delivery, verdict, tree_gone=False)
    assert (lab.recipient().slots_used == 0) is frees


@pytest.mark.parametrize("counted", [False, True])
def test_what_ended_before_there_were_budgets_is_not_counted(lab: Lab, counted: bool) -> None:
    """Records of before say nothing of `counted`; they fold as they did."""
    _, task_id, delivery = lab.running()
    outcome = Outcome(Verdict.COMPLETED, usage=Usage(cost_usd_micros=7))
    said = ev.ReportRecorded(
        task_id=task_id, number=1, delivery_id=delivery.delivery_id, fence=2, digest="x", outcome=outcome, counted=counted
    )  # fmt: skip
    evolve(lab.world, said, lab.now)
    assert lab.task(task_id).tally.used.cost_usd_micros == (7 if counted else 0)


@pytest.mark.parametrize("counted", [False, True])
def test_what_was_revoked_before_there_were_budgets_is_not_counted(lab: Lab, counted: bool) -> None:
    _, task_id, delivery = lab.running()
    lab.pass_s(3)
    said = ev.LeaseRevoked(
        task_id=task_id, number=1, delivery_id=delivery.delivery_id, fence=2, reason="x", counted=counted
    )
    evolve(lab.world, said, lab.now)
    assert lab.task(task_id).tally.used.wall_ms == (3_000 if counted else 0)


@pytest.mark.parametrize("because", ["", "not needed"])
def test_a_canceled_task_ends_with_the_reason_that_was_given(lab: Lab, because: str) -> None:
    task_id = lab.submit()
    lab.run(cm.Cancel(task_id, "ann", because))
    assert lab.task(task_id).end_reason == (because or "canceled")
