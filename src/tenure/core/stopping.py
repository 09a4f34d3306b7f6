"""Stopping one Attempt: the cancellation protocol for it alone, while its Task goes on.

A person, a budget or a deadline asks for it. The steps are those of a cancellation (`cancellation`): what was not
acknowledged is taken back at once, what runs keeps its fence until its node reports or the grace is over, and whatever it
reports is its verdict. What follows depends on the cause: a person says what comes next; a budget is exhausted, unless it
was raised meanwhile."""

from __future__ import annotations

from msgspec.structs import replace

from tenure.core import events as ev
from tenure.core import recovery_events as rv
from tenure.core.accounting import give_back
from tenure.core.asking import ask, settle
from tenure.core.attempt import Attempt, AttemptSpec, Hypothesis, Relation, Verdict
from tenure.core.attention import AttentionKind
from tenure.core.commands import CancelAnswer, Refusal
from tenure.core.creation import create_attempt, work_digest
from tenure.core.delivery import Delivery, DeliveryState
from tenure.core.desk_commands import StopAttempt
from tenure.core.draft import Draft
from tenure.core.exhaustion import exhaust, still_out
from tenure.core.ids import attempt_id
from tenure.core.limits import REASON_LENGTH
from tenure.core.policy import AUTHOR, Action
from tenure.core.task import CANCEL_TRANSITIONS, CancelStep, Stop, StopCause, Task

RAISED = "its budget was raised while it ran"


def decide_stop(draft: Draft, command: StopAttempt) -> CancelAnswer | Refusal:
    task = draft.find(Task, command.task_id)
    if task is None or not 1 <= command.number <= task.attempts:
        return Refusal("not_found", f"there is no Attempt {command.task_id}/{command.number}.")
    attempt = draft.attempt(task.task_id, command.number)
    if task.stop is not None and task.stop.number == command.number:
        return CancelAnswer(task.task_id, task.stop.step, replayed=True)
    if attempt.verdict is not None:
        return Refusal(
            "terminal",
            f"{attempt.attempt_id} has ended ({attempt.verdict}); nothing is left to cancel.",
            {"attempt": attempt.attempt_id, "verdict": str(attempt.verdict)},
        )
    if task.is_cancel_requested:
        return CancelAnswer(task.task_id, str(task.cancel_step), replayed=True)
    request_stop(draft, task, StopCause.PERSON, command.by, command.because)
    stop = draft.get(Task, task.task_id).stop
    return CancelAnswer(task.task_id, str(stop.step if stop else CancelStep.TERMINATED), replayed=False)


def request_stop(
    draft: Draft,
    task: Task,
    cause: StopCause,
    by: str,
    because: str,
    dimensions: tuple[str, ...] = (),
) -> None:
    """Ask the newest Attempt to end. Nothing happens if it was asked already, or its whole Task was."""
    if task.is_stopping or task.is_cancel_requested:
        return
    draft.emit(
        rv.StopAdvanced(
            task_id=task.task_id,
            number=task.attempts,
            step=CancelStep.REQUESTED,
            cause=cause,
            by=by,
            because=because[:REASON_LENGTH],
            dimensions=dimensions,
            grace_ms=draft.terms.cancel_grace_ms,
        )
    )
    newest = attempt_id(task.task_id, task.attempts)
    settle(draft, AttentionKind.APPROVAL, newest, "it was asked to stop before anybody allowed it")
    delivery = draft.get(Delivery, task.lease) if task.lease is not None else None
    if delivery is not None and delivery.state is DeliveryState.CLAIMED:
        draft.emit(
            ev.GrantVoided(
                task_id=task.task_id,
                delivery_id=delivery.delivery_id,
                fence=task.fence + 1,
                reason="canceled",
            )
        )
        give_back(draft, delivery)
        delivery = None
    if delivery is None:
        withdraw(draft, draft.get(Task, task.task_id))


def withdraw(draft: Draft, task: Task) -> None:
    """End an Attempt that was asked to stop and that nobody holds (any more): it ran nowhere."""
    draft.emit(ev.AttemptWithdrawn(task_id=task.task_id, number=task.attempts))
    finish_stop(draft, draft.get(Task, task.task_id))


def advance_stop(draft: Draft, task: Task, step: CancelStep) -> None:
    """Note how far the stopping of the newest Attempt has come, if it is under way and this is a step forward."""
    stop = task.stopping
    if stop is None or step not in CANCEL_TRANSITIONS[stop.step]:
        return
    draft.emit(rv.StopAdvanced(task_id=task.task_id, number=stop.number, step=step, cause=stop.cause))


def finish_stop(draft: Draft, task: Task) -> None:
    """The Attempt has ended and its Effects are known; say what follows if it was ended by the stop."""
    for step in (CancelStep.RECONCILED, CancelStep.TERMINATED):
        advance_stop(draft, draft.get(Task, task.task_id), step)
    task = draft.get(Task, task.task_id)
    attempt, stop = draft.newest_attempt(task), task.stopping
    if stop is None:
        return
    if attempt.verdict in (Verdict.COMPLETED, Verdict.ASKED, Verdict.UNKNOWN):
        return
    if stop.cause is StopCause.PERSON:
        settle(draft, AttentionKind.EXHAUSTED, task.task_id, f"{stop.by} stopped it")
        _ask_what_next(draft, stop, attempt)
    elif dimensions := still_out(draft, task, attempt, stop.dimensions):
        exhaust(draft, task, dimensions)
    elif attempt.verdict is Verdict.CANCELED:
        _go_on(draft, attempt)
    # Else it failed by itself, and its policy says what follows.


def _go_on(draft: Draft, attempt: Attempt) -> None:
    """It was stopped for a limit that a person has moved meanwhile. What was stopped has not failed, so its spec may be
    tried again."""
    draft.emit(
        rv.RecoveryDecided(
            task_id=attempt.task_id,
            number=attempt.number,
            verdict=Verdict.CANCELED,
            rule="raised-while-it-ran",
            policy=attempt.spec.policy,
            evidence_digest="",
            signature="",
            response="none",
            action=Action.AGAIN,
            because=RAISED,
        )
    )
    same = work_digest(attempt.spec)
    spec: AttemptSpec = replace(
        attempt.spec,
        follows=attempt.number,
        relation=Relation.RETRY,
        failure_class=None,
        hypothesis=Hypothesis(
            because=RAISED,
            by=f"{AUTHOR}{attempt.spec.policy}",
            before_digest=same,
            after_digest=same,
            transient=True,
        ),
    )
    create_attempt(draft, attempt.task_id, attempt.number + 1, spec)


def _ask_what_next(draft: Draft, stop: Stop, attempt: Attempt) -> None:
    draft.emit(
        rv.RecoveryDecided(
            task_id=attempt.task_id,
            number=attempt.number,
            verdict=attempt.verdict or Verdict.CANCELED,
            rule="stopped-by-a-person",
            policy=attempt.spec.policy,
            evidence_digest="",
            signature="",
            response="none",
            action=Action.ESCALATE,
            because=f"{stop.by} stopped it, and says what comes next",
            asks=True,
        )
    )
    reason = f": {stop.because}" if stop.because else ""
    ask(
        draft,
        AttentionKind.STOPPED,
        attempt.attempt_id,
        f"{attempt.attempt_id} was stopped by {stop.by}{reason}; say what comes next",
        {"by": stop.by, "because": stop.because, "verdict": str(attempt.verdict)},
    )
