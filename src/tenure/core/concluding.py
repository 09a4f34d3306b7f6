"""What follows the end of an Attempt: the Task's end, or a question to a person.

Until recovery is decided by policy, a failed or timed-out Attempt ends its Task. An unknown one never does
(`no_guess`), except that a canceled Task ends as it was asked to; its question stays open either way."""

from __future__ import annotations

from tenure.core import events as ev
from tenure.core.asking import ask, settle
from tenure.core.attempt import Attempt, Verdict
from tenure.core.attention import AttentionKind
from tenure.core.cancellation import finish_cancel
from tenure.core.delivery import Delivery
from tenure.core.draft import Draft
from tenure.core.ids import TaskId
from tenure.core.late import Late
from tenure.core.task import CancelStep, Task, TaskState

TASK_END_OF: dict[Verdict, TaskState] = {
    Verdict.COMPLETED: TaskState.COMPLETED,
    Verdict.FAILED: TaskState.FAILED,
    Verdict.TIMED_OUT: TaskState.FAILED,
    Verdict.CANCELED: TaskState.CANCELED,
}
"""How a verdict ends its Task; `asked` and `unknown` end none."""


def conclude(draft: Draft, task_id: TaskId, heard: CancelStep, reason: str) -> None:
    """Draw the consequence of the newest Attempt's verdict. `heard` is what it means for a cancellation under
    way."""
    task = draft.get(Task, task_id)
    attempt = draft.newest_attempt(task)
    settle(draft, AttentionKind.STALLED, attempt.attempt_id, "the attempt has ended")
    if attempt.verdict is Verdict.UNKNOWN:
        ask_unknown(draft, attempt, reason)
    if task.is_cancel_requested:
        finish_cancel(draft, task, heard)
    elif attempt.verdict is Verdict.ASKED:
        question = attempt.outcome.summary if attempt.outcome else ""
        ask(
            draft, AttentionKind.ASKED, attempt.attempt_id, question or "it asks a person", {"reason": reason}
        )
    else:
        go_on(draft, task_id)


def go_on(draft: Draft, task_id: TaskId) -> None:
    """Let a Task go on whose newest Attempt has ended and that nothing keeps any more: the last of its Effects was
    settled, or there was none (`reconcile_first`)."""
    task = draft.get(Task, task_id)
    attempt = draft.newest_attempt(task)
    if task.is_terminal or task.lease is not None or task.open_effects or attempt.verdict is None:
        return
    if task.is_cancel_requested:
        finish_cancel(draft, task)
    elif attempt.verdict in TASK_END_OF:
        reason = (attempt.outcome.summary if attempt.outcome else "") or str(attempt.verdict)
        draft.emit(ev.TaskEnded(task_id=task_id, state=TASK_END_OF[attempt.verdict], reason=reason))


def ask_unknown(draft: Draft, attempt: Attempt, reason: str) -> None:
    """Open the question about an unknown Attempt, or raise its version because more evidence has come."""
    recipient = draft.get(Delivery, attempt.last_delivery).recipient if attempt.last_delivery else "?"
    late = draft.world.reports_of(attempt.attempt_id)
    changed = [one for one in draft.changes.get(Late, {}).values() if one.attempt_id == attempt.attempt_id]
    verdicts = {one.late_id: str(one.outcome.verdict) for one in (*late, *changed) if one.outcome is not None}
    ask(
        draft,
        AttentionKind.UNKNOWN,
        attempt.attempt_id,
        f"nobody reported how {attempt.attempt_id} on {recipient} ended: {reason}",
        {
            "recipient": recipient,
            "reason": reason,
            "late_reports": dict(sorted(verdicts.items())),
        },
    )
