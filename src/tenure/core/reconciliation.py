"""A person's answers: to an unknown Attempt, to a question, to a Task that has ended.

An answer to an unknown Attempt is final but for `investigate`, and is guarded by the version of the item that
was read: if evidence came meanwhile, the person reads again. The verdict stays `unknown`; the answer stands
beside it (`no_guess`). The same answer may be given once more for the word that nothing is left of it: that frees the
recipient, whenever it is said."""

from __future__ import annotations

from collections.abc import Sequence

from tenure.core import events as ev
from tenure.core.accounting import free_key
from tenure.core.asking import closed_refusal, end_task, settle
from tenure.core.attempt import FINAL_ANSWERS, Answer, Attempt, Relation, Verdict
from tenure.core.attention import Attention, AttentionKind, item_id
from tenure.core.commands import CloseAttention, Done, Reconcile, Reconciled, Refusal
from tenure.core.concluding import TASK_END_OF
from tenure.core.delivery import Delivery
from tenure.core.draft import Draft
from tenure.core.ids import attempt_id
from tenure.core.late import Late
from tenure.core.limits import REASON_LENGTH
from tenure.core.remains import ask_for_remains, free_unit
from tenure.core.retrying import Word, effects_refusal, succeed
from tenure.core.task import Task, TaskState

CLOSABLE = frozenset(
    {
        AttentionKind.LATE_EVIDENCE,
        AttentionKind.OFFERS_VOIDED,
        AttentionKind.STALLED,
        AttentionKind.CLOCK_STEPPED,
        AttentionKind.NODE_INCOMPATIBLE,
        AttentionKind.UNKNOWN_DELIVERY,
        AttentionKind.SCHEDULE_FAILED,
    }
)
"""Questions that are done once somebody has read them; the others have an answer of their own."""
GONE = "a person states that the tree is gone"


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
    if _says_gone(draft, command, attempt):
        if not _is_reason(command.because):
            return _no_reason()
        _free_by_word(draft, attempt, gone_words(command.because), command.by)
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
        _free_by_word(draft, attempt, GONE, command.by)
    if command.answer in FINAL_ANSWERS:
        free_key(draft, task)
        settle(draft, AttentionKind.UNKNOWN, attempt.attempt_id, f"answered {command.answer} by {command.by}")
        ask_for_remains(draft, draft.attempt(task.task_id, attempt.number))
    successor = _carry_out(draft, command, task, attempt)
    return Reconciled(task.task_id, attempt.number, command.answer, successor)


def gone_words(because: str) -> str:
    """What stands at a unit, and at the question about it, that a person has freed by their word."""
    return f"{GONE}: {because}"[:REASON_LENGTH]


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
    return not (command.tree_gone and _taking_its_slot(draft, attempt) is not None)


def _taking_its_slot(draft: Draft, attempt: Attempt) -> Delivery | None:
    """Its last Delivery, if that still takes its recipient's unit."""
    delivery = draft.find(Delivery, attempt.last_delivery or "")
    return delivery if delivery is not None and delivery.slot else None


def _successor(answer: Answer, attempt: Attempt) -> int | None:
    return attempt.number + 1 if answer is Answer.RERUN else None


def _free_by_word(draft: Draft, attempt: Attempt, reason: str, by: str) -> None:
    if (delivery := _taking_its_slot(draft, attempt)) is not None:
        free_unit(draft, delivery, reason, by)


def _says_gone(draft: Draft, command: Reconcile, attempt: Attempt) -> bool:
    """Is it the final answer once more, with the word that nothing is left, and is that news?"""
    is_same = command.answer is attempt.answer and command.answer in FINAL_ANSWERS
    return command.tree_gone and is_same and _taking_its_slot(draft, attempt) is not None


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
    if not _is_reason(command.because):
        return _no_reason()
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


def _is_reason(because: str) -> bool:
    return bool(because.strip()) and len(because) <= REASON_LENGTH


def _no_reason() -> Refusal:
    return Refusal(
        "invalid", f"an answer needs a reason of 1 to {REASON_LENGTH} characters.", {"field": "because"}
    )


def _accepted(command: Reconcile, reports: Sequence[Late]) -> TaskState | None:
    return next((_end_of(report) for report in reports if report.late_id == command.late_id), None)


def _carry_out(draft: Draft, command: Reconcile, task: Task, attempt: Attempt) -> int | None:
    if command.answer is Answer.RERUN:
        return succeed(draft, attempt, Word(command.by, command.because), Relation.RETRY)
    if task.is_terminal or task.is_cancel_requested:
        return None
    if command.answer is Answer.RETIRE:
        end_task(draft, task, TaskState.FAILED, f"retired: {command.because}")
    elif command.answer is Answer.ACCEPT:
        end = _accepted(command, draft.world.reports_of(attempt.attempt_id))
        if end is not None:
            end_task(draft, task, end, f"accepted late report: {command.because}")
    return None


def decide_close(draft: Draft, command: CloseAttention) -> Done | Refusal:
    item = draft.find(Attention, command.item_id)
    if item is None:
        return Refusal(
            "not_found", f"there is no attention item {command.item_id}.", {"item_id": command.item_id}
        )
    words = f"{command.by}: {command.because}"[:REASON_LENGTH]
    if not item.open:
        if item.closed_because == words:
            return Done(replayed=True)
        return closed_refusal(item)
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
    settle(draft, item.kind, item.subject, words, by=command.by)
    return Done()
