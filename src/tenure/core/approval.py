"""Approvals: a person allows or rejects an Effect, or an Attempt before its first grant.

A decision names the version of the question that was read; on one that has changed meanwhile it is refused. An
approval allows, it does not revive a lease: an Effect whose lease ended while it waited is absent by then."""

from __future__ import annotations

from tenure.core import effect_events as ef
from tenure.core import events as ev
from tenure.core.asking import ask, end_task, settle, unread_refusal
from tenure.core.attention import Attention, AttentionKind, item_id
from tenure.core.commands import Done, Refusal
from tenure.core.draft import Draft
from tenure.core.effect import Effect, EffectState
from tenure.core.effect_commands import Approve
from tenure.core.ids import attempt_id
from tenure.core.limits import REASON_LENGTH
from tenure.core.task import Task, TaskState

REJECTED = "rejected: "
"""How the end of what a person did not allow begins."""


def ask_attempt_approval(draft: Draft, task: Task) -> None:
    """The question whether a Task's Attempt may be given to anybody."""
    name = attempt_id(task.task_id, task.attempts)
    ask(
        draft,
        AttentionKind.APPROVAL,
        name,
        f"may {name} be started? {task.spec.objective[:200]}",
        {"route": task.spec.route, "spec_digest": task.spec_digest},
    )


def decide_approve(draft: Draft, command: Approve) -> Done | Refusal:
    task = draft.find(Task, command.task_id)
    effect = draft.find(Effect, command.effect_id or "")
    if task is None or (command.effect_id is not None and (effect is None or effect.task_id != task.task_id)):
        return Refusal(
            "not_found", f"there is no {command.effect_id or command.task_id} that could be allowed."
        )
    subject = attempt_id(task.task_id, task.attempts) if effect is None else effect.questions
    item = draft.find(Attention, item_id(AttentionKind.APPROVAL, subject))
    if item is None or not item.open:
        return _decided_before(item, command, subject)
    refusal = unread_refusal(item, command.item_version, command.because)
    if refusal is not None:
        return refusal
    settle(draft, AttentionKind.APPROVAL, subject, _words(command))
    if effect is not None:
        _decide_effect(draft, effect, command)
    elif command.approve:
        draft.emit(
            ev.AttemptApproved(
                task_id=task.task_id, number=task.attempts, by=command.by, because=command.because
            )
        )
    else:
        draft.emit(ev.AttemptWithdrawn(task_id=task.task_id, number=task.attempts))
        end = TaskState.REJECTED if task.state is TaskState.SUBMITTED else TaskState.FAILED
        end_task(draft, task, end, f"{REJECTED}{command.because}")
    return Done()


def _words(command: Approve) -> str:
    word = "approved" if command.approve else "rejected"
    return f"{word} by {command.by}: {command.because}"[:REASON_LENGTH]


def _decided_before(item: Attention | None, command: Approve, subject: str) -> Done | Refusal:
    """The same decision again is answered as before."""
    if item is not None and item.closed_because == _words(command):
        return Done(replayed=True)
    said = f": {item.closed_because}" if item is not None and item.closed_because else ""
    return Refusal(
        "not_offered", f"nobody is asked about {subject} (any more){said}.", {"closed_because": said[2:]}
    )


def _decide_effect(draft: Draft, effect: Effect, command: Approve) -> None:
    if command.approve:
        draft.emit(
            ef.EffectApproved(
                task_id=effect.task_id, effect_id=effect.effect_id, by=command.by, because=command.because
            )
        )
        return
    draft.emit(
        ef.EffectSettled(
            task_id=effect.task_id,
            effect_id=effect.effect_id,
            state=EffectState.ABSENT,
            code="rejected",
            reason=f"{REJECTED}{command.because}"[:REASON_LENGTH],
            by=command.by,
        )
    )
