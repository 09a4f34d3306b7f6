"""Held Tasks looked at again, and deadlines that come. Both may be asked too early, twice or late."""

from __future__ import annotations

from tenure.core import recovery_events as rv
from tenure.core.accounting import ask_for_room, hold, hold_back, settle_room, settle_share
from tenure.core.asking import settle_all
from tenure.core.attempt import Attempt, Change, ChangeKind
from tenure.core.commands import Done
from tenure.core.dependency import fall_back
from tenure.core.desk_commands import DueTask, Reconsider
from tenure.core.draft import Draft
from tenure.core.hold import Hold, HoldKind
from tenure.core.ids import Address
from tenure.core.life_cycle import queue_of
from tenure.core.policy import Action
from tenure.core.recipient import Recipient
from tenure.core.recovering import situation_of, try_again
from tenure.core.recovery import Plan
from tenure.core.stopping import request_stop
from tenure.core.task import StopCause, Task

Line = tuple[str, str, tuple[Address, ...]]
"""Held Tasks that nothing but their order tells apart: their project, their queue, and whom they must not go to."""


def line_of(task: Task, attempt: Attempt) -> Line:
    """The line of a Task that has this newest Attempt."""
    return task.project, queue_of(task, attempt), attempt.spec.avoid


def is_going(task: Task) -> bool:
    """Can a recipient take it, or has one? A hold that is lifted is not always enough."""
    return task.queue_key is not None or task.lease is not None


def decide_reconsider(draft: Draft, command: Reconsider) -> Done:
    """Let a held Task go on if what it hangs on has changed."""
    task = draft.find(Task, command.task_id)
    if task is None or task.hold is None:
        return Done(replayed=True)
    attempt = draft.newest_attempt(task)
    if task.hold.kind is HoldKind.CONFIGURATION:
        return _by_configuration(draft, task, attempt, task.hold)
    found = hold_back(draft, task, attempt)
    if found is not None:
        return _held_on(draft, task, task.hold, found)
    because = (
        "the challenge was answered" if task.hold.kind is HoldKind.REVIEW else f"{task.hold.subject} is free"
    )
    if task.hold.kind is HoldKind.BUDGET:
        settle_room(draft, task, task.hold, because)
    draft.emit(rv.TaskReleased(task_id=task.task_id, because=because))
    fall_back(draft, draft.get(Task, task.task_id))
    return Done()


def _held_on(draft: Draft, task: Task, before: Hold, found: Hold) -> Done:
    """It may hang on something else by now. It is held on that then, or whatever frees it would not find it."""
    if found.subject == before.subject:
        ask_for_room(draft, task, found)
        return Done(replayed=True)
    settle_share(draft, task, f"it waits for {found.subject} now")
    hold(draft, task, found)
    return Done()


def _by_configuration(draft: Draft, task: Task, attempt: Attempt, held: Hold) -> Done:
    recipient = draft.get(Recipient, held.subject)
    if not recipient.declared or recipient.config_digest == held.before:
        return Done(replayed=True)
    because = f"the configuration of {recipient.address} is another one now"
    draft.emit(rv.TaskReleased(task_id=task.task_id, because=because))
    settle_all(draft, task, because)
    change = Change(ChangeKind.CONFIGURATION, held.before or "", recipient.config_digest)
    chosen = Plan(
        response="configuration", action=Action.HOLD, because=because, spec=attempt.spec, changes=(change,)
    )
    try_again(draft, attempt, situation_of(draft, task, attempt).findings, chosen)
    return Done()


def decide_due_task(draft: Draft, command: DueTask) -> Done:
    """End what runs beyond the Task's deadline, and ask; nothing of it starts after."""
    task = draft.find(Task, command.task_id)
    if task is None or task.due_at_ms is None or task.is_terminal:
        return Done(replayed=True)
    if draft.now.wall_ms < task.due_at_ms:
        return Done(replayed=True)
    draft.emit(rv.DeadlinePassed(task_id=task.task_id))
    if draft.newest_attempt(task).verdict is None:
        task = draft.get(Task, task.task_id)
        request_stop(draft, task, StopCause.DEADLINE, "tenure", "its deadline has passed", ("deadline",))
    return Done()
