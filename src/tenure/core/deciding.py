"""What people answer where the machine must not go on alone: more budget, the end, a challenge and its answer."""

from __future__ import annotations

from msgspec.structs import asdict, replace

from tenure.core import recovery_events as rv
from tenure.core.asking import (
    ABOUT_ATTEMPT,
    ask,
    closed_refusal,
    end_task,
    settle,
    settle_all,
    unread_refusal,
)
from tenure.core.attempt import Attempt, Relation, Verdict
from tenure.core.attention import Attention, AttentionKind, item_id
from tenure.core.budget import Budget, amounts_of, budget_problem, raised
from tenure.core.commands import Done, Refusal
from tenure.core.concluding import ask_person
from tenure.core.creation import given_share
from tenure.core.delivery import Delivery
from tenure.core.desk_commands import AnswerChallenge, Challenge, GiveUp, RaiseBudget
from tenure.core.draft import Draft
from tenure.core.exhaustion import run_out
from tenure.core.ids import attempt_id
from tenure.core.limits import REASON_LENGTH
from tenure.core.recovering import situation_of, try_again
from tenure.core.recovery import is_failure, plan
from tenure.core.retrying import Word, effects_refusal, succeed
from tenure.core.review import Review
from tenure.core.task import Task, TaskState

GIVING_UP = frozenset({*ABOUT_ATTEMPT, AttentionKind.EXHAUSTED}) - {AttentionKind.APPROVAL}
"""Questions that may be answered by ending the Task."""


def decide_raise(draft: Draft, command: RaiseBudget) -> Done | Refusal:
    """Let a Task use more. In a dimension that only its project or the hub limits, it gets a limit of its own: what it has
    used, and so much more. What nothing limits stays so.

    A Task that waits because its budget was exhausted goes on at once where its policy knows how to; else with the same
    spec, on the person's word. A raise that leaves it waiting is refused. What runs keeps the share that it was given; if it
    is stopped for that, the Task goes on with what it may use then."""
    task = draft.find(Task, command.task_id)
    if task is None:
        return Refusal("not_found", f"there is no Task {command.task_id}.", {"task_id": command.task_id})
    refusal = _raise_refusal(draft, command, task)
    if refusal is not None:
        return refusal
    budget = _raised(draft, task, command.more)
    deadline = command.deadline_ms if command.deadline_ms is not None else task.deadline_ms
    item = draft.find(Attention, item_id(AttentionKind.EXHAUSTED, task.task_id))
    is_asked = item is not None and item.open
    waits = is_asked and draft.newest_attempt(task).verdict is not None
    dimensions = _lacking(draft, replace(task, budget=budget, deadline_ms=deadline))
    if budget == task.budget and deadline == task.deadline_ms and not (waits and dimensions):
        return _nothing_raised(task) if is_asked else Done(replayed=True)
    if waits and dimensions:
        return Refusal(
            "invalid",
            f"nothing would be left in {', '.join(dimensions)} even so; raise that too, by more.",
            {"exhausted": list(dimensions)},
        )
    draft.emit(
        rv.BudgetRaised(
            task_id=task.task_id,
            budget=budget,
            deadline_ms=deadline,
            by=command.by,
            because=command.because[:REASON_LENGTH],
        )
    )
    if waits:
        _go_on(draft, command)
    return Done()


def _raised(draft: Draft, task: Task, more: Budget) -> Budget:
    used = task.tally.used
    if task.lease is not None:
        used = used.plus(amounts_of(draft.get(Delivery, task.lease).usage))
    return raised(task.budget, more, used, given_share(draft, task))


def _nothing_raised(task: Task) -> Refusal:
    held = f" It is {task.hold.subject} that has no room: raise that." if task.hold is not None else ""
    return Refusal(
        "invalid",
        f"that raises nothing that limits {task.task_id}, and the question stays.{held}",
        {"field": "more"},
    )


def _raise_refusal(draft: Draft, command: RaiseBudget, task: Task) -> Refusal | None:
    if task.is_terminal or task.is_cancel_requested:
        return Refusal(
            "terminal",
            f"{task.task_id} has ended or is being canceled ({task.state}); its budget changes nothing any more.",
            {"state": str(task.state)},
        )
    if command.limits is not None and command.limits != task.budget:
        return Refusal(
            "conflict",
            f"{task.task_id} has other limits by now than you read, so nothing was added. Read them again, then say what is missing.",
            {"limits": asdict(task.budget)},
        )
    problem = budget_problem(command.more)
    if problem is not None:
        return Refusal("invalid", f"{problem}.", {"field": "more"})
    if command.deadline_ms is not None and command.deadline_ms <= draft.now.wall_ms:
        return Refusal("invalid", "deadline_at: is in the past.", {"field": "deadline_at"})
    if not command.because.strip():
        return Refusal("invalid", "say in `because` why it may go on.", {"field": "because"})
    return effects_refusal(task) if task.open_effects and task.lease is None else None


def _lacking(draft: Draft, task: Task) -> tuple[str, ...]:
    """In which dimensions this Task could not go on: with one more Attempt, or with the question that was not asked."""
    dimensions = run_out(task, draft.now.wall_ms)
    most = task.budget.interruptions
    is_asking = draft.newest_attempt(task).verdict is Verdict.ASKED
    silent = is_asking and most is not None and task.tally.interruptions >= most
    return (*dimensions, "interruptions") if silent else dimensions


def _go_on(draft: Draft, command: RaiseBudget) -> None:
    task = draft.get(Task, command.task_id)
    attempt = draft.newest_attempt(task)
    settle_all(draft, task, f"{command.by} let it go on: {command.because}"[:REASON_LENGTH])
    if attempt.verdict is Verdict.ASKED:
        ask_person(draft, task, attempt, "its question could not be asked before")
        return
    situation = situation_of(draft, task, attempt)
    chosen = plan(situation)
    if is_failure(attempt) and chosen.spec is not None:
        try_again(draft, attempt, situation.findings, chosen)
    else:
        succeed(draft, attempt, Word(command.by, command.because, is_failure(attempt)), Relation.RETRY)


def decide_give_up(draft: Draft, command: GiveUp) -> Done | Refusal:
    """End a Task that waits for a person, as failed."""
    task, item = draft.find(Task, command.task_id), draft.find(Attention, command.item_id)
    if task is None or item is None or not item.subject.startswith(command.task_id):
        return Refusal("not_found", f"there is no question {command.item_id[:120]} about {command.task_id}.")
    words = f"ended by {command.by}: {command.because}"[:REASON_LENGTH]
    if not item.open:
        return Done(replayed=True) if item.closed_because == words else closed_refusal(item)
    refusal = unread_refusal(item, command.item_version, command.because)
    if refusal is not None:
        return refusal
    is_over = draft.newest_attempt(task).verdict is not None
    if item.kind not in GIVING_UP or not is_over:
        return Refusal(
            "not_offered",
            f"{item.item_id} cannot be answered by ending {task.task_id} ({task.state}).",
            {"kind": str(item.kind), "state": str(task.state)},
        )
    if task.open_effects:
        return effects_refusal(task)
    settle(draft, item.kind, item.subject, words, by=command.by)
    end_task(draft, task, TaskState.FAILED, f"given up: {command.because}", words)
    return Done()


def decide_challenge(draft: Draft, command: Challenge) -> Done | Refusal:
    """Challenge an ended Attempt. Whoever depends on its Task waits for the answer."""
    attempt = draft.find(Attempt, attempt_id(command.task_id, command.number))
    if attempt is None:
        return Refusal("not_found", f"there is no Attempt {command.task_id}/{command.number}.")
    refusal = _challenge_refusal(command, attempt)
    if refusal is not None:
        return refusal
    known = draft.find(Review, command.task_id)
    asked = (command.number, command.about, command.by, command.because)
    if known is not None and known.is_open:
        if asked == (known.number, known.about, known.by, known.because):
            return Done(replayed=True)
        return Refusal(
            "conflict",
            f"{command.task_id}/{known.number} is challenged by {known.by} already; answer that first.",
            {"number": known.number, "by": known.by},
        )
    draft.emit(
        rv.Challenged(
            task_id=command.task_id,
            number=command.number,
            about=command.about,
            by=command.by,
            because=command.because,
        )
    )
    ask(
        draft,
        AttentionKind.CHALLENGED,
        attempt.attempt_id,
        f"{command.by} challenges the {command.about} of {attempt.attempt_id}: {command.because}",
        {
            "about": str(command.about),
            "by": command.by,
            "because": command.because,
            # The same words again are another challenge, so they are asked again.
            "times": draft.get(Review, command.task_id).times,
        },
    )
    return Done()


def _challenge_refusal(command: Challenge, attempt: Attempt) -> Refusal | None:
    if not command.because.strip() or len(command.because) > REASON_LENGTH:
        return Refusal(
            "invalid", f"a challenge needs a reason of 1 to {REASON_LENGTH} characters.", {"field": "because"}
        )
    if attempt.verdict is None:
        return Refusal(
            "not_offered",
            f"{attempt.attempt_id} has not ended ({attempt.state}); only what has ended can be challenged.",
            {"state": str(attempt.state)},
        )
    if attempt.verdict is Verdict.UNKNOWN:
        return Refusal(
            "not_offered",
            f"{attempt.attempt_id} ended unknown and claims nothing; reconcile it instead.",
            {"verdict": "unknown"},
        )
    return None


def decide_answer_challenge(draft: Draft, command: AnswerChallenge) -> Done | Refusal:
    """Uphold or dismiss it, once and finally."""
    review = draft.find(Review, command.task_id)
    if review is None:
        return Refusal("not_found", f"{command.task_id} is not challenged.", {"task_id": command.task_id})
    name = attempt_id(command.task_id, review.number)
    if not review.is_open:
        said = (review.ruling, review.answered_by, review.answer_because)
        if said == (command.ruling, command.by, command.because):
            return Done(replayed=True)
        return Refusal(
            "not_offered",
            f"the challenge of {name} was {review.ruling} by {review.answered_by}: {review.answer_because}",
            {"ruling": review.ruling, "by": review.answered_by},
        )
    item = draft.get(Attention, item_id(AttentionKind.CHALLENGED, name))
    refusal = unread_refusal(item, command.item_version, command.because)
    if refusal is not None:
        return refusal
    draft.emit(
        rv.ChallengeAnswered(
            task_id=command.task_id,
            number=review.number,
            ruling=command.ruling,
            by=command.by,
            because=command.because,
        )
    )
    settle(
        draft,
        AttentionKind.CHALLENGED,
        name,
        f"{command.ruling} by {command.by}: {command.because}"[:REASON_LENGTH],
        by=command.by,
    )
    return Done()
