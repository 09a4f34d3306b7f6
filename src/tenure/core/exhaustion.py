"""The question that a used-up budget is (`bounded`): what was tried, what changed in between, what is left, and why the
machine must not go on alone. It is written for somebody who was not there."""

from __future__ import annotations

from typing import Any

from tenure.core import recovery_events as rv
from tenure.core.asking import ask, settle
from tenure.core.attempt import Attempt
from tenure.core.attention import AttentionKind
from tenure.core.budget import NOTHING, Share, amounts_of, exhausted, left_of, merged_shares, share_of
from tenure.core.creation import given_share
from tenure.core.delivery import Delivery
from tenure.core.draft import Draft
from tenure.core.failure import FailureClass
from tenure.core.findings import judged_class, said_by
from tenure.core.ids import attempt_id
from tenure.core.limits import TRIED
from tenure.core.policy_choice import policy_named
from tenure.core.task import Task

OBJECTIVE_TOLD = 500
"""Characters of an objective that a question tells."""
UNSAFE = {
    "attempts": "it has had as many attempts as it may; one more of its own choosing would be a guess",
    "wall_s": "it has run as long as it may",
    "cost_usd_micros": "it has spent what it may, and one more attempt would spend more",
    "tokens": "it has used as many tokens as it may",
    "tool_calls": "it has made as many tool calls as it may",
    "repeats": "the same failure came again and again; what was changed in between, if anything, did not touch its cause",
    "interruptions": "people were asked as often as they may be",
    "rounds": "the last attempts were no better than the ones before them, so it goes round in circles",
    "deadline": "its deadline has passed, and a result now may be of no use",
}


def run_out(task: Task, start_ms: int) -> tuple[str, ...]:
    """The dimensions in which nothing is left for one more automatic Attempt that starts then."""
    dimensions = exhausted(task.budget, task.tally, task.attempts)
    is_late = task.deadline_ms is not None and start_ms >= task.deadline_ms
    return (*dimensions, "deadline") if is_late else dimensions


def still_out(draft: Draft, task: Task, attempt: Attempt, dimensions: tuple[str, ...]) -> tuple[str, ...]:
    """Where nothing is left for another Attempt after one that was stopped in these dimensions. Empty: the limits were moved
    while it ran. What is left is compared with what its share was made from, since the rest of a share that was stopped just
    before its end is no room."""
    delivery = draft.find(Delivery, attempt.last_delivery or "")
    used = amounts_of(delivery.usage) if delivery is not None else NOTHING
    given = given_share(draft, task) or Share()
    had = merged_shares(attempt.spec.share, given) or Share()
    own = share_of(task.budget, task.tally) or Share()

    def is_moved(name: str) -> bool:
        left, before = getattr(own, name), getattr(had, name)
        if left is None:
            return getattr(given, name) is None
        return before is None or left + getattr(used, name) > before

    same = tuple(one for one in dimensions if one in Share.__struct_fields__ and not is_moved(one))
    return tuple(dict.fromkeys((*same, *run_out(task, draft.now.wall_ms))))


def exhaust(draft: Draft, task: Task, dimensions: tuple[str, ...]) -> None:
    """No automatic Attempt follows. Exactly one question says so, whatever else runs out afterwards."""
    draft.emit(rv.BudgetExhausted(task_id=task.task_id, number=task.attempts, dimensions=dimensions))
    tries = f"{task.attempts} attempts" if task.attempts > 1 else "1 attempt"
    unsafe = "; ".join(UNSAFE.get(one, one) for one in dimensions)
    settle(
        draft,
        AttentionKind.OFFERS_VOIDED,
        task.task_id,
        "it is offered to nobody any more: nothing is left for it",
    )
    ask(
        draft,
        AttentionKind.EXHAUSTED,
        task.task_id,
        f'{task.task_id} ("{task.title}") stops after {tries}: {unsafe}',
        {
            "objective": task.spec.objective[:OBJECTIVE_TOLD],
            "project": task.project,
            "repository": task.spec.repository,
            "submitted_by": task.submitted_by,
            "exhausted": list(dimensions),
            "unsafe_because": unsafe,
            "tried": tried(draft, task),
            "left": left_of(task.budget, task.tally, task.attempts),
            "deadline_ms": task.deadline_ms,
            "refunded": task.tally.refunded,
        },
    )


def tried(draft: Draft, task: Task) -> list[dict[str, Any]]:
    """Each of the last Attempts: why it was made, what it changed, how it ended, what it cost."""
    first = max(1, task.attempts - TRIED + 1)
    shown = [draft.attempt(task.task_id, number) for number in range(first, task.attempts + 1)]
    classes: dict[int, FailureClass | None] = {one.number - 1: one.spec.failure_class for one in shown}
    newest = shown[-1]
    classes[newest.number] = judged_class(newest.outcome, policy_named(draft, newest.spec.policy))
    return [_told(one, classes.get(one.number)) for one in shown]


def _told(attempt: Attempt, failure_class: FailureClass | None) -> dict[str, Any]:
    hypothesis, outcome = attempt.spec.hypothesis, attempt.outcome
    told: dict[str, Any] = {
        "attempt": attempt_id(attempt.task_id, attempt.number),
        "hypothesis": hypothesis.because if hypothesis else "the first try",
        "by": hypothesis.by if hypothesis else None,
        "changed": [str(change.what) for change in hypothesis.changes] if hypothesis else [],
        "verdict": str(attempt.verdict or attempt.state),
        "class": failure_class,
        "summary": said_by(outcome)[:300] if outcome else "",
    }
    if outcome is not None:
        used = amounts_of(outcome.usage)
        told |= {
            "wall_s": used.wall_ms / 1000,
            "cost_usd_micros": used.cost_usd_micros,
            "tokens": used.tokens,
            "tool_calls": used.tool_calls,
        }
    return told
