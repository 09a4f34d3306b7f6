"""Cancellation is a protocol: requested → signaled → acknowledged or unacknowledged → reconciled →
terminated.

`requested` commits at once and takes away everything that has not begun: no grant, no receipt, an
un-acknowledged Delivery is voided. An acknowledged one keeps its fence until its node reports or
`cancel_grace` is over, because only the holder of the fence can say what became of it. Whatever it reports is
the Attempt's verdict; the Task ends `canceled`. If it says nothing, the verdict is `unknown`: that a
cancellation was asked for proves nothing about what happened."""

from __future__ import annotations

from tenure.core import events as ev
from tenure.core.accounting import give_back
from tenure.core.asking import end_task
from tenure.core.attempt import AttemptState
from tenure.core.commands import Cancel, CancelAnswer, Refusal
from tenure.core.delivery import Delivery, DeliveryState
from tenure.core.draft import Draft
from tenure.core.limits import REASON_LENGTH
from tenure.core.task import CancelStep, Task, TaskState


def decide_cancel(draft: Draft, command: Cancel) -> CancelAnswer | Refusal:
    task = draft.find(Task, command.task_id)
    if task is None:
        return Refusal("not_found", f"there is no Task {command.task_id}.", {"task_id": command.task_id})
    if task.cancel_step is not None:
        return CancelAnswer(task.task_id, task.cancel_step, replayed=True)
    if task.is_terminal:
        return Refusal(
            "terminal",
            f"{task.task_id} has ended ({task.state}); nothing is left to cancel.",
            {"task_id": task.task_id, "state": str(task.state)},
        )
    draft.emit(
        ev.CancelAdvanced(
            task_id=task.task_id,
            step=CancelStep.REQUESTED,
            by=command.by,
            because=command.because[:REASON_LENGTH],
            grace_ms=draft.terms.cancel_grace_ms,
            tree=command.tree,
        )
    )
    if task.lease is None:
        finish_cancel(draft, draft.get(Task, task.task_id))
    else:
        _take_back(draft, draft.get(Delivery, task.lease), task)
    step = draft.get(Task, task.task_id).cancel_step
    return CancelAnswer(task.task_id, str(step), replayed=False)


def _take_back(draft: Draft, delivery: Delivery, task: Task) -> None:
    """An un-acknowledged grant is voided at once; a receipt that is under way will be told `canceled`."""
    if delivery.state is DeliveryState.CLAIMED:
        draft.emit(
            ev.GrantVoided(
                task_id=task.task_id,
                delivery_id=delivery.delivery_id,
                fence=task.fence + 1,
                reason="canceled",
            )
        )
        give_back(draft, delivery)
        finish_cancel(draft, draft.get(Task, task.task_id))


def finish_cancel(draft: Draft, task: Task, heard: CancelStep | None = None) -> None:
    """End a Task whose cancellation was requested and whose lease is over.

    `heard` is `acknowledged` if the node answered, `unacknowledged` if its time ran out, None if nobody held
    the Attempt."""
    if heard is not None:
        draft.emit(ev.CancelAdvanced(task_id=task.task_id, step=heard))
    if task.open_effects:
        return  # reconciled is what its Effects are; the last one that is settled goes on here
    newest = draft.newest_attempt(task)
    if newest.state is AttemptState.PENDING:
        draft.emit(ev.AttemptWithdrawn(task_id=task.task_id, number=newest.number))
    draft.emit(ev.CancelAdvanced(task_id=task.task_id, step=CancelStep.RECONCILED))
    draft.emit(ev.CancelAdvanced(task_id=task.task_id, step=CancelStep.TERMINATED))
    end_task(draft, task, TaskState.CANCELED, task.cancel_because or "canceled", "the task was canceled")
