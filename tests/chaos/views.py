"""What the API answers, as the checkers' views see it (`tenure.sim.checkers.view`)."""

from __future__ import annotations

from tenure.sim.checkers.view import AttemptView, EffectView, ItemView, TaskView
from tenure.wire.api import AttemptBody, TaskBody
from tenure.wire.attention import AttentionBody
from tenure.wire.effects import EffectBody


def task_view(task: TaskBody, tries: tuple[AttemptBody, ...] = ()) -> TaskView:
    return TaskView(
        task_id=task.task_id,
        state=task.state,
        fence=task.fence,
        attempts=task.attempts,
        cancel_requested=task.cancel_step is not None,
        budget=task.budget.attempts,
        why=task.why.code,
        tries=tuple(attempt_view(one) for one in tries),
    )


def attempt_view(one: AttemptBody) -> AttemptView:
    reason = one.hypothesis
    last = one.deliveries[-1] if one.deliveries else None
    return AttemptView(
        number=one.number,
        verdict=one.verdict,
        failure_class=one.failure_class,
        recipient=last.recipient if last else None,
        acknowledged=any(each.acknowledged_at is not None for each in one.deliveries),
        deliveries=tuple(each.delivery_id for each in one.deliveries),
        answer=one.answer,
        made_by=reason.by if reason else None,
        before=reason.before_digest if reason else None,
        after=reason.after_digest if reason else None,
        changes=tuple((each.before or "", each.after or "") for each in reason.changes) if reason else (),
    )


def item_view(one: AttentionBody) -> ItemView:
    return ItemView(
        item_id=one.item_id, kind=one.kind, subject=one.subject, version=one.version, open=one.open
    )


def effect_view(one: EffectBody) -> EffectView:
    return EffectView(
        effect_id=one.effect_id,
        task_id=one.task_id,
        number=one.number,
        key=one.key,
        identity=one.identity,
        target=one.target,
        state=one.state,
    )
