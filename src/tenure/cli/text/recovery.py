"""What becomes of a Task that did not go well, as people read it: budgets, holds, stops, challenges, hypotheses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tenure.cli.text.counting import counted
from tenure.cli.text.moment import shown_duration
from tenure.cli.text.money import shown_usd
from tenure.cli.text.output import one_line

if TYPE_CHECKING:
    from tenure.wire.api import AttemptBody, TaskBody
    from tenure.wire.recovery import ChangeBody, ReviewBody, StopBody

DIMENSIONS = {
    "attempts": "attempts",
    "wall_s": "running",
    "cost_usd_micros": "cost",
    "tokens": "tokens",
    "tool_calls": "tool calls",
    "repeats": "repeats of one failure",
    "interruptions": "questions to people",
    "rounds": "rounds without being better",
    "deadline": "time until its deadline",
    "deadline_s": "until its deadline, from its submission",
}
SHORT_DIGEST = 12


def amount_text(dimension: str, amount: float) -> str:
    """An amount of one dimension."""
    match dimension:
        case "wall_s" | "deadline_s":
            return shown_duration(amount)
        case "cost_usd_micros":
            return shown_usd(round(amount))
        case _:
            return f"{amount:,.0f}"


def budget_text(task: TaskBody, *, every: bool) -> str:
    """What is left of what a Task may use, in each dimension that is limited; without `every` only where it used some."""
    limits = {name: getattr(task.budget, name) for name in DIMENSIONS if hasattr(task.budget, name)}
    parts = [
        f"{DIMENSIONS[name]} {amount_text(name, task.left[name])} of {amount_text(name, limit)}"
        for name, limit in limits.items()
        if limit is not None and name in task.left and (every or task.left[name] < limit)
    ]
    return ", ".join(parts)


def used_text(task: TaskBody) -> str:
    """What a Task has used, where it used anything."""
    used = task.used
    if used is None:
        return ""
    parts = (
        [f"{counted(used.refunded, 'attempt')} did not count, because a provider had no room"]
        if used.refunded
        else []
    )
    for name in ("wall_s", "cost_usd_micros", "tokens", "tool_calls"):
        amount = getattr(used, name)
        if amount:
            parts.append(f"{DIMENSIONS[name]} {amount_text(name, amount)}")
    return ", ".join(parts)


def stop_text(stop: StopBody | None) -> str:
    if stop is None:
        return ""
    who = f" by {stop.by}" if stop.by else f" for its {stop.cause}"
    return f"attempt {stop.number}: {stop.step}, asked for{who}{': ' + stop.because if stop.because else ''}"


def review_text(review: ReviewBody | None) -> str:
    if review is None:
        return ""
    told = f"the {review.about} of attempt {review.number}, by {review.by}: {review.because}"
    if review.ruling is None:
        return f"{told} (open; tenure challenge … --uphold or --dismiss)"
    return f"{told}; {review.ruling} by {review.answered_by}: {review.answer_because}"


def why_made(attempt: AttemptBody) -> Iterator[tuple[str, Any]]:
    """Why an Attempt was made and what it changes, as names with what they say."""
    why = attempt.hypothesis
    yield "because", attempt.because
    if why is None:
        return
    related = f"{attempt.relation} of attempt {attempt.follows}" if attempt.follows else attempt.relation
    by = f", by {why.by}"
    word = ", the same again on their word" if why.override else ""
    passing = ", the same again since the cause passes by itself" if why.transient else ""
    yield "as", f"{related}{by}{word}{passing}"
    yield from (("changes", change_text(one)) for one in why.changes)
    yield "told", one_line(attempt.feedback or "", 300)
    yield "sent to", attempt.to
    yield "avoids", ", ".join(attempt.avoid)


def change_text(change: ChangeBody) -> str:
    before, after = change.before[:SHORT_DIGEST] or "nothing", change.after[:SHORT_DIGEST] or "nothing"
    return f"{change.what}, from {before} to {after}"


def share_text(attempt: AttemptBody) -> str:
    """What an Attempt may use."""
    share = attempt.share
    if share is None:
        return ""
    limits = {name: getattr(share, name) for name in ("wall_s", "cost_usd_micros", "tokens", "tool_calls")}
    return ", ".join(
        f"{DIMENSIONS[name]} {amount_text(name, limit)}"
        for name, limit in limits.items()
        if limit is not None
    )
