"""What follows the end of an Attempt: the Task's end, one more Attempt, or a question to a person.

An unknown one never ends its Task (`no_guess`), except that a canceled Task ends as it was asked to; its question stays
open either way. A policy may answer it by itself, with one more Attempt elsewhere, where the Attempt was isolated; the
recipient stays blocked until its processes are gone."""

from __future__ import annotations

from tenure.core import events as ev
from tenure.core.accounting import free_key
from tenure.core.asking import ask, settle
from tenure.core.attempt import Answer, Attempt, ChangeKind, Outcome, Relation, Verdict
from tenure.core.attention import AttentionKind
from tenure.core.cancellation import finish_cancel
from tenure.core.capacity import mind_circuits
from tenure.core.creation import create_attempt
from tenure.core.delivery import Delivery
from tenure.core.draft import Draft
from tenure.core.exhaustion import exhaust, run_out
from tenure.core.findings import reported
from tenure.core.ids import TaskId
from tenure.core.late import Late
from tenure.core.policy import AUTHOR, Action, UnknownRule
from tenure.core.policy_choice import policy_named
from tenure.core.recipient import OPEN
from tenure.core.recovering import next_spec, others_for, recover
from tenure.core.recovery import Plan, changed, elsewhere, is_failure
from tenure.core.remains import ask_for_remains
from tenure.core.stopping import advance_stop, finish_stop
from tenure.core.task import CancelStep, Task, TaskState

TASK_END_OF: dict[Verdict, TaskState] = {
    Verdict.COMPLETED: TaskState.COMPLETED,
    Verdict.FAILED: TaskState.FAILED,
    Verdict.TIMED_OUT: TaskState.FAILED,
    Verdict.CANCELED: TaskState.CANCELED,
}
"""How a verdict ends a Task where it does; `asked` and `unknown` end none."""


def conclude(draft: Draft, task_id: TaskId, heard: CancelStep, reason: str) -> None:
    """Draw the consequence of the newest Attempt's verdict. `heard` is what it means for a cancellation under
    way."""
    task = draft.get(Task, task_id)
    attempt = draft.newest_attempt(task)
    settle(draft, AttentionKind.STALLED, attempt.attempt_id, "the attempt has ended")
    mind_circuits(draft, task, attempt)
    if attempt.verdict is Verdict.UNKNOWN:
        ask_unknown(draft, attempt, reason)
    if task.is_cancel_requested:
        finish_cancel(draft, task, heard)
        return
    advance_stop(draft, task, heard)
    if attempt.verdict is Verdict.ASKED:
        ask_person(draft, task, attempt, reason)
    go_on(draft, task_id)


def ask_person(draft: Draft, task: Task, attempt: Attempt, reason: str) -> None:
    """The harness's own question; unless people were asked as often as they may be."""
    most = task.budget.interruptions
    if most is not None and task.tally.interruptions >= most:
        exhaust(draft, task, ("interruptions",))
        return
    evidence = reported(attempt.outcome or Outcome(Verdict.ASKED))
    facts = {"question": reason, "options": list(evidence.options) if evidence else []}
    ask(draft, AttentionKind.ASKED, attempt.attempt_id, reason, facts)


def go_on(draft: Draft, task_id: TaskId) -> None:
    """Let a Task go on whose newest Attempt has ended and that nothing keeps any more: the last of its Effects was
    settled, or there was none (`reconcile_first`). What was decided about an Attempt is not decided again."""
    task = draft.get(Task, task_id)
    attempt = draft.newest_attempt(task)
    if task.is_terminal or task.open_effects or attempt.verdict is None:
        return
    if task.is_cancel_requested:
        finish_cancel(draft, task)
        return
    if task.decided >= attempt.number:
        return
    finish_stop(draft, task)
    if draft.get(Task, task_id).decided >= attempt.number:
        return
    if attempt.verdict is Verdict.UNKNOWN:
        answer_by_policy(draft, draft.get(Task, task_id), attempt)
    elif is_failure(attempt):
        recover(draft, draft.get(Task, task_id), attempt)
    elif attempt.verdict in TASK_END_OF:
        _end(draft, attempt)


def _end(draft: Draft, attempt: Attempt) -> None:
    outcome = attempt.outcome or Outcome(Verdict.CANCELED)
    state, reason = TASK_END_OF[outcome.verdict], outcome.summary or str(outcome.verdict)
    # It was given to somebody and has ended well, so there is no question left that its end could answer.
    draft.emit(ev.TaskEnded(task_id=attempt.task_id, state=state, reason=reason))


def answer_by_policy(draft: Draft, task: Task, attempt: Attempt) -> None:
    """Answer an unknown Attempt with `rerun` elsewhere, if its policy says so and nothing could have happened outside that
    is not in the record: it was isolated, so every Effect went through us, and all of them are known."""
    if attempt.answer is not None or task.is_stopping:
        return  # who asked it to stop says what comes next
    policy = policy_named(draft, attempt.spec.policy)
    delivery = draft.get(Delivery, attempt.last_delivery or "")
    isolated = delivery.isolation not in (None, OPEN)
    route = attempt.spec.route or task.spec.route
    spec = elsewhere(attempt.spec, route, delivery.recipient, others_for(draft, task, attempt))
    if policy.unknown is not UnknownRule.AUTO or not isolated or isinstance(spec, str):
        return
    if run_out(task, draft.now.wall_ms):
        return  # the question about the Attempt is open already, and a person answers it
    author = f"{AUTHOR}{policy.key}"
    because = (
        f"nobody reported how it ended on {delivery.recipient}; it was isolated, so it is tried elsewhere"
    )
    draft.emit(
        ev.AttemptReconciled(
            task_id=task.task_id,
            number=attempt.number,
            answer=Answer.RERUN,
            by=author,
            because=because,
        )
    )
    free_key(draft, task)
    settle(draft, AttentionKind.UNKNOWN, attempt.attempt_id, f"answered rerun by {author}")
    ask_for_remains(draft, draft.attempt(task.task_id, attempt.number))
    chosen = Plan(
        response="unknown",
        action=Action.ELSEWHERE,
        because=because,
        spec=spec,
        relation=Relation.TAKEOVER,
        changes=(changed(ChangeKind.ENVIRONMENT, attempt.spec.avoid, spec.avoid),),
    )
    create_attempt(draft, task.task_id, attempt.number + 1, next_spec(attempt, chosen, None, author))


def ask_unknown(draft: Draft, attempt: Attempt, reason: str) -> None:
    """Open the question about an unknown Attempt, or raise its version because more evidence has come."""
    recipient = draft.get(Delivery, attempt.last_delivery or "").recipient
    late = draft.world.reports_of(attempt.attempt_id)
    changed_ones = [
        one for one in draft.changes.get(Late, {}).values() if one.attempt_id == attempt.attempt_id
    ]
    verdicts = {
        one.late_id: str(one.outcome.verdict) for one in (*late, *changed_ones) if one.outcome is not None
    }
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
