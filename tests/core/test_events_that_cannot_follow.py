"""An event that cannot follow raises and changes nothing: it is a bug of a decision, or a forged record."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from msgspec.structs import replace

from tenure.core import events as ev
from tenure.core import recovery_events as rv
from tenure.core.attempt import Answer, Verdict
from tenure.core.budget import NOTHING, Amounts
from tenure.core.delivery import Delivery
from tenure.core.evolve import evolve
from tenure.core.gate import Gate
from tenure.core.ids import TaskId
from tenure.core.policy import Action
from tenure.core.recovery_events import Ruling
from tenure.core.review import About
from tenure.core.task import CancelStep, StopCause, TaskState
from tenure.core.task_evolution import arm_cancel
from tenure.errors import InvariantError
from tests.core.lab import Lab


def refuses(lab: Lab, event: Any) -> None:
    before = copy.deepcopy(lab.world.entities)
    with pytest.raises(InvariantError):
        evolve(lab.world, event, lab.now)
    lab.world.entities = before


def takes(lab: Lab, event: Any) -> None:
    evolve(lab.world, event, lab.now)


@pytest.mark.parametrize("number", [1, 3])
def test_an_attempt_follows_the_one_before_it_only(lab: Lab, number: int) -> None:
    task_id = lab.submit()
    first = lab.attempt(task_id)
    refuses(
        lab,
        ev.AttemptCreated(task_id=task_id, number=number, spec=first.spec, spec_digest=first.spec_digest),
    )


@pytest.mark.parametrize("number", [1, 3])
def test_an_approval_is_of_the_newest_attempt(lab: Lab, number: int) -> None:
    task_id = lab.submit(approval=True)
    lab.world.put(replace(lab.task(task_id), attempts=2))
    refuses(lab, ev.AttemptApproved(task_id=task_id, number=number, by="ann", because="fine"))


def test_nobody_approves_what_waits_for_nobody(lab: Lab) -> None:
    task_id = lab.submit()
    refuses(lab, ev.AttemptApproved(task_id=task_id, number=1, by="ann", because="fine"))


@pytest.mark.parametrize("state", [TaskState.COMPLETED, TaskState.FAILED])
def test_a_task_neither_ends_twice_nor_while_it_is_held(lab: Lab, state: TaskState) -> None:
    _, task_id, delivery = lab.running()
    refuses(lab, ev.TaskEnded(task_id=task_id, state=state, reason="no"))
    lab.report(delivery)
    refuses(lab, ev.TaskEnded(task_id=task_id, state=state, reason="no"))


def test_a_cancellation_takes_every_step_once_and_in_order(lab: Lab) -> None:
    _, task_id, delivery = lab.running()
    refuses(lab, ev.CancelAdvanced(task_id=task_id, step=CancelStep.SIGNALED))
    lab.cancel(task_id)
    refuses(lab, ev.CancelAdvanced(task_id=task_id, step=CancelStep.REQUESTED))
    refuses(lab, ev.CancelAdvanced(task_id=task_id, step=CancelStep.TERMINATED))
    lab.report(delivery, Verdict.CANCELED)
    refuses(lab, ev.CancelAdvanced(task_id=task_id, step=CancelStep.SIGNALED))


@pytest.mark.parametrize("answer", [Answer.RERUN, Answer.RETIRE])
def test_only_an_unknown_attempt_is_answered_and_finally_once(lab: Lab, answer: Answer) -> None:
    _, task_id, delivery = lab.running()
    word = ev.AttemptReconciled(task_id=task_id, number=1, answer=answer, by="ann", because="read")
    refuses(lab, word)
    lab.lose(delivery)
    lab.answer(task_id, 1, Answer.RETIRE)
    refuses(lab, word)


def test_what_an_investigation_leaves_open_blocks_still(lab: Lab) -> None:
    _, task_id, delivery = lab.running()
    lab.lose(delivery)
    lab.answer(task_id, 1, Answer.INVESTIGATE, tree_gone=True)
    assert lab.recipient().blocks == (f"{task_id}/1",)


def stop(task_id: TaskId, step: CancelStep, number: int = 1) -> rv.StopAdvanced:
    return rv.StopAdvanced(
        task_id=task_id, number=number, step=step, cause=StopCause.PERSON, by="ann", grace_ms=5
    )


@pytest.mark.parametrize("number", [0, 2])
def test_only_the_newest_attempt_is_stopped(lab: Lab, number: int) -> None:
    _, task_id, _ = lab.running()
    refuses(lab, stop(task_id, CancelStep.REQUESTED, number))


def test_a_stop_takes_every_step_once_and_in_order(lab: Lab) -> None:
    _, task_id, _ = lab.running()
    refuses(lab, stop(task_id, CancelStep.SIGNALED))
    takes(lab, stop(task_id, CancelStep.REQUESTED))
    refuses(lab, stop(task_id, CancelStep.REQUESTED))
    refuses(lab, stop(task_id, CancelStep.TERMINATED))
    refuses(lab, stop(task_id, CancelStep.SIGNALED, 0))
    takes(lab, stop(task_id, CancelStep.SIGNALED))


def test_a_key_has_one_holder_who_alone_lets_it_go(lab: Lab) -> None:
    one, two = lab.submit(), lab.submit()
    takes(lab, rv.KeyTaken(task_id=one, key="deploy"))
    refuses(lab, rv.KeyTaken(task_id=two, key="deploy"))
    refuses(lab, rv.KeyReleased(task_id=two, key="deploy"))
    takes(lab, rv.KeyTaken(task_id=one, key="deploy"))
    takes(lab, rv.KeyReleased(task_id=one, key="deploy"))
    assert lab.get(Gate, "deploy").holder is None
    refuses(lab, rv.KeyReleased(task_id=one, key="deploy"))
    takes(lab, rv.KeyTaken(task_id=two, key="deploy"))


def ruling(task_id: TaskId, number: int = 2) -> rv.ChallengeAnswered:
    return rv.ChallengeAnswered(
        task_id=task_id, number=number, ruling=Ruling.UPHELD, by="ann", because="wrong"
    )


def test_a_challenge_is_answered_once_and_for_the_attempt_that_it_is_about(lab: Lab) -> None:
    task_id = lab.submit()
    takes(
        lab,
        rv.Challenged(task_id=task_id, number=2, about=next(iter(About)), by="bob", because="no"),
    )
    refuses(lab, ruling(task_id, 1))
    refuses(lab, ruling(task_id, 3))
    takes(lab, ruling(task_id))
    refuses(lab, ruling(task_id))


def test_what_a_delivery_may_use_is_set_aside_once(lab: Lab) -> None:
    _, task_id, delivery = lab.running()
    event = rv.BudgetReserved(
        task_id=task_id, delivery_id=delivery.delivery_id, accounts=(), amounts=Amounts(1, 1, 1, 1)
    )
    takes(lab, event)
    refuses(lab, event)


def test_what_nothing_was_set_aside_for_may_be_settled(lab: Lab) -> None:
    _, task_id, delivery = lab.running()
    event = rv.BudgetReserved(task_id=task_id, delivery_id=delivery.delivery_id, accounts=(), amounts=NOTHING)
    takes(lab, event)
    takes(lab, event)


def test_a_repeat_is_allowed_of_an_attempt_that_there_is(lab: Lab) -> None:
    task_id = lab.submit()
    takes(lab, rv.RepeatAllowed(task_id=task_id, number=1, by="ann", because="again"))
    refuses(lab, rv.RepeatAllowed(task_id=task_id, number=2, by="ann", because="again"))


def decided(task_id: TaskId, number: int, asks: bool = True) -> rv.RecoveryDecided:
    return rv.RecoveryDecided(
        task_id=task_id, number=number, verdict=Verdict.FAILED, rule="r", policy="default/1", evidence_digest="",
        signature="s", response="x", action=Action.ESCALATE, because="x", asks=asks,
    )  # fmt: skip


@pytest.mark.parametrize("number", [1, 2, 4])
def test_only_the_newest_attempt_is_decided_about_and_once(lab: Lab, number: int) -> None:
    _, task_id, _ = lab.running()
    lab.world.put(replace(lab.task(task_id), attempts=3, decided=2))
    refuses(lab, decided(task_id, number))
    takes(lab, decided(task_id, 3))
    refuses(lab, decided(task_id, 3))


@pytest.mark.parametrize(("asks", "state"), [(True, TaskState.INPUT_REQUIRED), (False, TaskState.WORKING)])
def test_a_decision_that_asks_nobody_leaves_the_task_where_it_is(
    lab: Lab, asks: bool, state: TaskState
) -> None:
    _, task_id, _ = lab.running()
    takes(lab, decided(task_id, 1, asks))
    assert lab.task(task_id).state is state


def test_a_task_is_submitted_until_its_first_grant_and_works_with_each_further_attempt(lab: Lab) -> None:
    task_id = lab.submit()
    assert lab.task(task_id).state is TaskState.SUBMITTED
    first = lab.attempt(task_id)
    takes(lab, ev.AttemptWithdrawn(task_id=task_id, number=1))
    takes(lab, ev.AttemptCreated(task_id=task_id, number=2, spec=first.spec, spec_digest=first.spec_digest))
    assert lab.task(task_id).state is TaskState.WORKING


def test_a_hold_that_is_lifted_puts_only_what_waits_into_its_queue(lab: Lab) -> None:
    _, task_id, delivery = lab.running()
    lab.report(delivery, Verdict.ASKED)
    takes(lab, rv.TaskReleased(task_id=task_id, because="x"))
    assert lab.task(task_id).queue_key is None


def test_a_deadline_that_has_passed_is_looked_at_once(lab: Lab) -> None:
    task_id = lab.submit(deadline_ms=lab.now.wall_ms + 5)
    assert lab.task(task_id).due_at_ms == lab.now.wall_ms + 5
    takes(lab, rv.DeadlinePassed(task_id=task_id))
    assert lab.task(task_id).due_at_ms is None


def test_what_fails_is_taken_from_what_is_waited_for_and_the_rest_stays(lab: Lab) -> None:
    one, other = lab.submit(), lab.submit()
    task_id = lab.submit(after=(one, other))
    takes(lab, ev.DependencyFailed(task_id=task_id, dependency=one, state=TaskState.FAILED))
    assert (lab.task(task_id).waits_for, lab.task(task_id).failed_dependencies) == ((other,), (one,))


def test_a_cancellation_gives_time_to_whoever_has_taken_it_and_to_nobody_else(lab: Lab) -> None:
    node = lab.node(capacity=2)
    task_id = lab.submit()
    (delivery,) = lab.claim(node)
    for acknowledged in (False, True):
        if acknowledged:
            lab.ack(delivery)
        arm_cancel(lab.world, lab.task(task_id), 5, lab.now)
        found = lab.get(Delivery, delivery.delivery_id)
        assert (found.cancel_term is not None) is acknowledged
