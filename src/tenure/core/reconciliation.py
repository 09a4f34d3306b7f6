"""A person's answers: to an unknown Attempt, to a question, to a Task that has ended.

An answer to an unknown Attempt is final but for `investigate`, and is guarded by the version of the item that
was read: if evidence came meanwhile, the person reads again. The verdict stays `unknown`; the answer stands
beside it (`no_guess`)."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from tenure.core import events as ev
from tenure.core.asking import settle
from tenure.core.attempt import FINAL_ANSWERS, Answer, Attempt, AttemptSpec, Hypothesis, Relation, Verdict
from tenure.core.attention import Attention, AttentionKind, item_id
from tenure.core.commands import CloseAttention, Done, Reconcile, Reconciled, Refusal, Retry
from tenure.core.concluding import TASK_END_OF
from tenure.core.delivery import Delivery
from tenure.core.draft import Draft
from tenure.core.ids import attempt_id
from tenure.core.late import Late
from tenure.core.limits import OBJECTIVE_BYTES, REASON_LENGTH
from tenure.core.submission import create_attempt, work_digest
from tenure.core.task import Task, TaskState

CLOSABLE = frozenset(
    {
        AttentionKind.LATE_EVIDENCE,
        AttentionKind.OFFERS_VOIDED,
        AttentionKind.STALLED,
        AttentionKind.CLOCK_STEPPED,
        AttentionKind.NODE_INCOMPATIBLE,
        AttentionKind.UNKNOWN_DELIVERY,
    }
)
"""Questions that are done once somebody has read them; the others have an answer of their own."""


def offered_answers(task: Task, attempt: Attempt, reports: Sequence[Late]) -> dict[Answer, str]:
    """What a person may answer now, and what each answer will do. Empty if the Attempt is not an open unknown
    one."""
    if not attempt.is_open_unknown:
        return {}
    offered: dict[Answer, str] = {}
    is_last = attempt.number == task.attempts
    is_free = not task.is_terminal and not task.is_cancel_requested
    if is_free and task.open_effects:  # none of the others until it is known what became of them
        return {Answer.INVESTIGATE: "notes that you are looking; nothing moves"}
    if is_free and is_last:
        offered[Answer.RERUN] = (
            f"makes Attempt {task.attempts + 1} with your reason; the recipient stays blocked until its old processes are gone"
        )
    if is_last and any(_end_of(report) for report in reports):
        offered[Answer.ACCEPT] = (
            "takes the late report you name as the Task's end"
            if is_free
            else "keeps the late report as history; the Task stays as it is"
        )
    offered[Answer.RETIRE] = (
        "ends the Task as failed" if is_free else "closes the question; the Task stays as it is"
    )
    offered[Answer.INVESTIGATE] = "notes that you are looking; nothing moves"
    return offered


def _end_of(report: Late) -> TaskState | None:
    return TASK_END_OF.get(report.outcome.verdict) if report.outcome else None


def decide_reconcile(draft: Draft, command: Reconcile) -> Reconciled | Refusal:
    task = draft.find(Task, command.task_id)
    attempt = draft.find(Attempt, attempt_id(command.task_id, command.number))
    if task is None or attempt is None:
        return Refusal("not_found", f"there is no Attempt {command.task_id}/{command.number}.")
    if _is_answered_so(draft, command, task, attempt):
        return Reconciled(task.task_id, attempt.number, command.answer, _successor(command.answer, attempt))
    refusal = _answer_refusal(draft, command, task, attempt)
    if refusal is not None:
        return refusal
    draft.emit(
        ev.AttemptReconciled(
            task_id=task.task_id,
            number=attempt.number,
            answer=command.answer,
            by=command.by,
            because=command.because,
            late_id=command.late_id,
        )
    )
    if command.tree_gone:
        _free_by_word(draft, attempt, command.by)
    if command.answer in FINAL_ANSWERS:
        settle(draft, AttentionKind.UNKNOWN, attempt.attempt_id, f"answered {command.answer} by {command.by}")
    successor = _carry_out(draft, command, task, attempt)
    return Reconciled(task.task_id, attempt.number, command.answer, successor)


def _is_answered_so(draft: Draft, command: Reconcile, task: Task, attempt: Attempt) -> bool:
    """Is this very answer recorded already? Then it is told again and nothing happens (`once`): whoever lost the
    reply may send it again. Who, what and why make it the same; a word about the tree that is news does not."""
    if (command.answer, command.by, command.because) != (
        attempt.answer,
        attempt.answer_by,
        attempt.answer_because,
    ):
        return False
    if command.answer is Answer.ACCEPT and not task.is_cancel_requested:
        return _accepted(command, draft.world.reports_of(attempt.attempt_id)) is task.state
    delivery = draft.get(Delivery, attempt.last_delivery) if attempt.last_delivery else None
    return not (command.tree_gone and delivery is not None and delivery.slot)


def _successor(answer: Answer, attempt: Attempt) -> int | None:
    return attempt.number + 1 if answer is Answer.RERUN else None


def _free_by_word(draft: Draft, attempt: Attempt, by: str) -> None:
    delivery = draft.get(Delivery, attempt.last_delivery) if attempt.last_delivery else None
    if delivery is not None and delivery.slot:
        draft.emit(
            ev.SlotFreed(
                task_id=attempt.task_id,
                delivery_id=delivery.delivery_id,
                reason="a person states that the tree is gone",
                by=by,
            )
        )


def _answer_refusal(draft: Draft, command: Reconcile, task: Task, attempt: Attempt) -> Refusal | None:
    item = draft.find(Attention, item_id(AttentionKind.UNKNOWN, attempt.attempt_id))
    reports = draft.world.reports_of(attempt.attempt_id)
    offered = offered_answers(task, attempt, reports)
    facts = {"attempt": attempt.attempt_id, "offered": {str(key): text for key, text in offered.items()}}
    if attempt.verdict is not Verdict.UNKNOWN:
        state = attempt.verdict or attempt.state
        return Refusal(
            "not_offered",
            f"{attempt.attempt_id} is not unknown ({state}); there is nothing to reconcile.",
            facts,
        )
    if attempt.answer in FINAL_ANSWERS:
        return Refusal(
            "conflict",
            f"{attempt.attempt_id} was answered {attempt.answer} by {attempt.answer_by}; answers are final.",
            facts,
        )
    if item is None or item.version != command.item_version:
        current = item.version if item else 0
        return Refusal(
            "conflict",
            f"the facts of {attempt.attempt_id} have changed (you read version {command.item_version}, it is {current}). "
            "Read it again, then answer.",
            {**facts, "item_version": current},
        )
    if not command.because.strip() or len(command.because) > REASON_LENGTH:
        return Refusal(
            "invalid", f"an answer needs a reason of 1 to {REASON_LENGTH} characters.", {"field": "because"}
        )
    if command.answer not in offered and task.open_effects:
        return effects_refusal(task)
    if command.answer not in offered:
        return Refusal(
            "not_offered",
            f"`{command.answer}` is not offered for {attempt.attempt_id} now; offered are: {', '.join(offered)}.",
            facts,
        )
    if command.answer is Answer.ACCEPT and _accepted(command, reports) is None:
        names = ", ".join(report.late_id for report in reports if _end_of(report))
        return Refusal(
            "invalid", f"`accept` must name the late report that was read; there are: {names}.", facts
        )
    return None


def effects_refusal(task: Task) -> Refusal:
    return Refusal(
        "effect_in_doubt",
        f"it is not known yet what became of {len(task.open_effects)} Effect(s) of {task.task_id}, first {task.open_effects[0]}; "
        "nothing follows before that is (`tenure effect list`).",
        {"effects": list(task.open_effects)},
    )


def _accepted(command: Reconcile, reports: Sequence[Late]) -> TaskState | None:
    return next((_end_of(report) for report in reports if report.late_id == command.late_id), None)


def _carry_out(draft: Draft, command: Reconcile, task: Task, attempt: Attempt) -> int | None:
    if command.answer is Answer.RERUN:
        return succeed(draft, attempt, command.by, command.because, Relation.RETRY)
    if task.is_terminal or task.is_cancel_requested:
        return None
    if command.answer is Answer.RETIRE:
        draft.emit(
            ev.TaskEnded(task_id=task.task_id, state=TaskState.FAILED, reason=f"retired: {command.because}")
        )
    elif command.answer is Answer.ACCEPT:
        end = _accepted(command, draft.world.reports_of(attempt.attempt_id))
        if end is not None:
            draft.emit(
                ev.TaskEnded(
                    task_id=task.task_id, state=end, reason=f"accepted late report: {command.because}"
                )
            )
    return None


def succeed(
    draft: Draft, attempt: Attempt, by: str, because: str, relation: Relation, objective: str | None = None
) -> int:
    """Append Attempt N+1, with what it changes and why as its hypothesis."""
    before = work_digest(attempt.spec)
    changed = attempt.spec if objective is None else replace(attempt.spec, objective=objective)
    spec: AttemptSpec = replace(
        changed,
        follows=attempt.number,
        relation=relation,
        failure_class=attempt.outcome.failure_class if attempt.outcome else None,
        hypothesis=Hypothesis(
            because=because, by=by, before_digest=before, after_digest=work_digest(changed)
        ),
    )
    create_attempt(draft, attempt.task_id, attempt.number + 1, spec)
    return attempt.number + 1


def decide_retry(draft: Draft, command: Retry) -> Reconciled | Refusal:
    """Answer a question: the answer is appended to the objective, so the new Attempt sees what the old one
    asked for."""
    task = draft.find(Task, command.task_id)
    if task is None:
        return Refusal("not_found", f"there is no Task {command.task_id}.", {"task_id": command.task_id})
    attempt = draft.newest_attempt(task)
    if task.is_terminal or task.is_cancel_requested:
        return Refusal(
            "terminal",
            f"{task.task_id} has ended or is being canceled ({task.state}); submit a Task that continues it.",
            {"state": str(task.state)},
        )
    if attempt.verdict is Verdict.UNKNOWN:
        return Refusal(
            "not_offered",
            f"{attempt.attempt_id} ended unknown; answer that first: reconcile it with rerun, accept, retire or investigate.",
            {"attempt": attempt.attempt_id},
        )
    if task.open_effects and task.lease is None:
        return effects_refusal(task)
    if attempt.verdict is not Verdict.ASKED:
        if _was_made_by(attempt, command):
            return Reconciled(task.task_id, attempt.number - 1, Answer.RERUN, attempt.number)
        return Refusal(
            "not_offered",
            f"{task.task_id} is under way ({attempt.state}); there is nothing to retry.",
            {"state": str(task.state)},
        )
    if not command.because.strip() or len(command.because) > REASON_LENGTH:
        return Refusal(
            "invalid", f"a retry needs a reason of 1 to {REASON_LENGTH} characters.", {"field": "because"}
        )
    objective = f"{attempt.spec.objective}\n\nAnswer from {command.by}: {command.because}"
    if len(objective.encode("utf-8", "surrogatepass")) > OBJECTIVE_BYTES:
        return Refusal(
            "too_large",
            "objective and answer together are too long; give a shorter answer.",
            {"field": "because"},
        )
    settle(draft, AttentionKind.ASKED, attempt.attempt_id, f"answered by {command.by}")
    number = succeed(draft, attempt, command.by, command.because, Relation.REPLAN, objective)
    return Reconciled(task.task_id, attempt.number, Answer.RERUN, number)


def _was_made_by(attempt: Attempt, command: Retry) -> bool:
    """Is this Attempt what the same answer of the same person has made? Then that is told again (`once`)."""
    why = attempt.spec.hypothesis
    return (
        attempt.spec.relation is Relation.REPLAN
        and why is not None
        and (why.by, why.because) == (command.by, command.because)
    )


def decide_close(draft: Draft, command: CloseAttention) -> Done | Refusal:
    item = draft.find(Attention, command.item_id)
    if item is None:
        return Refusal(
            "not_found", f"there is no attention item {command.item_id}.", {"item_id": command.item_id}
        )
    if not item.open:
        return Done(replayed=True)
    if item.version != command.item_version:
        return Refusal(
            "conflict",
            f"its facts have changed (you read version {command.item_version}, it is {item.version}). Read it again.",
            {"item_version": item.version},
        )
    if item.kind not in CLOSABLE:
        return Refusal(
            "not_offered",
            f"a question of kind {item.kind} is closed by its own answer, not by reading it.",
            {"kind": str(item.kind)},
        )
    settle(draft, item.kind, item.subject, f"{command.by}: {command.because}"[:REASON_LENGTH])
    return Done()
