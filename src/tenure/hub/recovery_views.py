"""What becomes of a Task that did not go well, as bodies of the API: holds, stops, challenges, hypotheses, budgets. Pure."""

from __future__ import annotations

from tenure.core.attempt import Hypothesis
from tenure.core.budget import Share
from tenure.core.hold import Hold
from tenure.core.review import Review
from tenure.core.task import Stop, Task
from tenure.wire.codec import instant, instant_or_none
from tenure.wire.recovery import (
    ChangeBody,
    HoldBody,
    HypothesisBody,
    ReviewBody,
    ShareBody,
    StopBody,
    UsedBody,
)


def hold_body(hold: Hold | None) -> HoldBody | None:
    return None if hold is None else HoldBody(kind=str(hold.kind), subject=hold.subject, because=hold.because)


def stop_body(stop: Stop | None) -> StopBody | None:
    if stop is None:
        return None
    return StopBody(
        number=stop.number,
        step=str(stop.step),
        cause=str(stop.cause),
        because=stop.because,
        by=stop.by,
        requested_at=instant(stop.at_ms),
        dimensions=stop.dimensions,
    )


def review_body(review: Review | None) -> ReviewBody | None:
    if review is None:
        return None
    return ReviewBody(
        number=review.number,
        about=str(review.about),
        by=review.by,
        because=review.because,
        challenged_at=instant(review.challenged_at_ms),
        ruling=None if review.ruling is None else str(review.ruling),
        answered_by=review.answered_by,
        answer_because=review.answer_because,
        answered_at=instant_or_none(review.answered_at_ms),
    )


def used_body(task: Task) -> UsedBody:
    tally = task.tally
    return UsedBody(
        attempts=task.attempts - tally.refunded,
        refunded=tally.refunded,
        wall_s=tally.used.wall_ms / 1000,
        cost_usd_micros=tally.used.cost_usd_micros,
        tokens=tally.used.tokens,
        tool_calls=tally.used.tool_calls,
        repeats=tally.repeats,
        interruptions=tally.interruptions,
        rounds=tally.rounds,
    )


def hypothesis_body(hypothesis: Hypothesis | None) -> HypothesisBody | None:
    if hypothesis is None:
        return None
    return HypothesisBody(
        because=hypothesis.because,
        by=hypothesis.by,
        changes=tuple(
            ChangeBody(what=str(one.what), before=one.before, after=one.after) for one in hypothesis.changes
        ),
        before_digest=hypothesis.before_digest,
        after_digest=hypothesis.after_digest,
        transient=hypothesis.transient,
        override=hypothesis.override,
    )


def share_body(share: Share | None) -> ShareBody | None:
    if share is None:
        return None
    return ShareBody(
        wall_s=None if share.wall_ms is None else share.wall_ms / 1000,
        cost_usd_micros=share.cost_usd_micros,
        tokens=share.tokens,
        tool_calls=share.tool_calls,
    )
