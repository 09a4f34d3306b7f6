"""Entities of the core as bodies of the API. Pure: what is shown is all that is handed in."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import Raw
from msgspec.structs import asdict

from tenure.core.access import Credential
from tenure.core.attempt import Attempt
from tenure.core.attention import Attention, AttentionKind, item_id
from tenure.core.budget import left_of
from tenure.core.circuit import Circuit
from tenure.core.delivery import Delivery
from tenure.core.late import Late
from tenure.core.recipient import Node, Recipient
from tenure.core.reconciliation import offered_answers
from tenure.core.review import Review
from tenure.core.scope import Scope
from tenure.core.task import Task
from tenure.core.why_reason import Reason
from tenure.core.why_recipient import recipient_reason
from tenure.hub.operating_views import paused_body
from tenure.hub.recovery_views import (
    hold_body,
    hypothesis_body,
    review_body,
    share_body,
    stop_body,
    used_body,
)
from tenure.ledger.port import Recorded, TaskHistory
from tenure.wire import api
from tenure.wire.codec import instant, instant_or_none
from tenure.wire.recovery import BudgetBody

NO_EVIDENCE = Raw(b"{}")


def reason_body(reason: Reason) -> api.Reason:
    return api.Reason(
        code=reason.code,
        sentence=reason.sentence,
        rule=reason.rule,
        until_at=instant_or_none(reason.until_ms),
        blocker=reason.blocker,
    )


def scope_body(scope: Scope | None) -> api.ScopeBody | None:
    if scope is None:
        return None
    return api.ScopeBody(
        kinds=tuple(map(str, scope.kinds)),
        targets=scope.targets,
        branches=scope.branches,
        paths=scope.paths,
        approval=tuple(map(str, scope.approval)),
        most=scope.most,
    )


def task_body(
    task: Task,
    reason: Reason,
    newest: Attempt | None = None,
    review: Review | None = None,
    *,
    replayed: bool = False,
) -> api.TaskBody:
    """A Task with its reason, what its newest Attempt is judged by, and its last challenge."""
    spec = task.spec
    return api.TaskBody(
        task_id=task.task_id,
        state=str(task.state),
        objective=spec.objective,
        to=spec.route,
        repository=spec.repository,
        base_sha=spec.base_sha,
        command=spec.command,
        checks=tuple(
            api.CheckBody(name=one.name, argv=one.argv, timeout_s=one.timeout_s) for one in spec.checks
        ),
        after=tuple(spec.after),
        not_before_at=instant_or_none(spec.not_before_ms),
        timeout_s=spec.timeout_s,
        continues=spec.continues,
        labels=spec.labels,
        attempts=task.attempts,
        fence=task.fence,
        submitted_by=task.submitted_by,
        submitted_at=instant(task.submitted_at_ms),
        ended_at=instant_or_none(task.ended_at_ms),
        end_reason=task.end_reason,
        cancel_step=None if task.cancel_step is None else str(task.cancel_step),
        cancel_because=task.cancel_because,
        spec_digest=task.spec_digest,
        why=reason_body(reason),
        replayed=replayed,
        scope=scope_body(spec.scope),
        open_effects=tuple(task.open_effects),
        **_recovery(task, newest, review),
    )


def _recovery(task: Task, newest: Attempt | None, review: Review | None) -> dict[str, Any]:
    """What it may use, when and for whom it runs, and what keeps it."""
    spec = task.spec
    return {
        "after_failure": tuple(spec.after_failure),
        "after_end": tuple(spec.after_end),
        "deadline_at": instant_or_none(task.deadline_ms),
        "project": task.project,
        "priority": spec.priority,
        "concurrency_key": spec.concurrency_key,
        "policy": newest.spec.policy if newest is not None else None,
        "budget": BudgetBody(**asdict(task.budget)),
        "used": used_body(task),
        "left": left_of(task.budget, task.tally, task.attempts),
        "hold": hold_body(task.hold),
        "stop": stop_body(task.stop),
        "review": review_body(review),
    }


def attempt_bodies(history: TaskHistory) -> tuple[api.AttemptBody, ...]:
    """Every Attempt of a Task with its Deliveries and what came late."""
    return tuple(_attempt_body(history, attempt) for attempt in history.attempts)


def _attempt_body(history: TaskHistory, attempt: Attempt) -> api.AttemptBody:
    spec, outcome = attempt.spec, attempt.outcome
    deliveries = [one for one in history.deliveries if one.attempt_id == attempt.attempt_id]
    late = [one for one in history.late if one.attempt_id == attempt.attempt_id]
    last = deliveries[-1] if deliveries else None
    first_because = history.task.spec.because if attempt.number == 1 else None
    usage = outcome.usage if outcome else last.usage if last else None
    return api.AttemptBody(
        attempt_id=attempt.attempt_id,
        number=attempt.number,
        state=str(attempt.state),
        verdict=_text(attempt.verdict),
        failure_class=_text(outcome.failure_class) if outcome else None,
        failure_rule=outcome.failure_rule if outcome else None,
        summary=outcome.summary if outcome else "",
        recipient=last.recipient if last else None,
        harness=attempt.harness,
        model=attempt.model,
        base_sha=spec.base_sha,
        head_sha=outcome.head_sha if outcome else None,
        spec_digest=attempt.spec_digest,
        because=spec.hypothesis.because if spec.hypothesis else first_because,
        created_at=instant(attempt.created_at_ms),
        started_at=instant_or_none(attempt.started_at_ms),
        ended_at=instant_or_none(attempt.ended_at_ms),
        usage=asdict(usage) if usage else {},
        evidence=Raw(outcome.evidence.encode()) if outcome else NO_EVIDENCE,
        answer=_text(attempt.answer),
        answer_because=attempt.answer_because,
        answer_by=attempt.answer_by,
        offered_answers=_offered(history.task, attempt, late),
        item_version=_item_version(history.attention, attempt),
        deliveries=tuple(_delivery_body(one, late) for one in deliveries),
        relation=_text(spec.relation),
        follows=spec.follows,
        hypothesis=hypothesis_body(spec.hypothesis),
        feedback=spec.feedback,
        policy=spec.policy,
        share=share_body(spec.share),
        to=spec.route,
        avoid=tuple(spec.avoid),
        timeout_s=spec.timeout_s,
    )


def _offered(task: Task, attempt: Attempt, late: Iterable[Late]) -> dict[str, str]:
    reports = [one for one in late if one.outcome is not None]
    return {str(answer): what for answer, what in offered_answers(task, attempt, reports).items()}


def _item_version(items: Iterable[Attention], attempt: Attempt) -> int | None:
    wanted = item_id(AttentionKind.UNKNOWN, attempt.attempt_id)
    return next((one.version for one in items if one.item_id == wanted and one.open), None)


def _delivery_body(delivery: Delivery, late: Iterable[Late]) -> api.DeliveryBody:
    return api.DeliveryBody(
        delivery_id=delivery.delivery_id,
        recipient=delivery.recipient,
        node=delivery.recipient.partition("@")[2],
        state=str(delivery.state),
        fence=delivery.fence,
        claimed_at=instant(delivery.claimed_at_ms),
        acknowledged_at=instant_or_none(delivery.acknowledged_at_ms),
        renewed_at=instant_or_none(delivery.renewed_at_ms),
        suspect_at=instant_or_none(delivery.suspect_at_ms),
        ended_at=instant_or_none(delivery.ended_at_ms),
        revoked_at=instant_or_none(delivery.revoked_at_ms),
        end_reason=delivery.end_reason,
        slot=delivery.slot,
        progress=asdict(delivery.progress),
        late=tuple(_late_body(one) for one in late if one.delivery_id == delivery.delivery_id),
        isolation=delivery.isolation,
        timeout_s=delivery.timeout_s,
    )


def _late_body(late: Late) -> api.LateBody:
    return api.LateBody(
        late_id=late.late_id,
        kind=str(late.kind),
        fence=late.claimed_fence,
        verdict=_text(late.outcome.verdict) if late.outcome else None,
        summary=late.outcome.summary if late.outcome else "",
        heard_at=instant(late.heard_at_ms),
    )


def event_body(recorded: Recorded) -> api.EventBody:
    return api.EventBody(
        seq=recorded.seq,
        stream=recorded.stream,
        version=recorded.version,
        at=instant(recorded.at_ms),
        kind=recorded.kind,
        body=Raw(recorded.body.encode()),
        hash=recorded.hash,
    )


def recipient_body(
    recipient: Recipient, node: Node | None, circuit: Circuit | None, *, is_online: bool
) -> api.RecipientBody:
    far, reason = recipient_reason(recipient, node, is_online=is_online, circuit=circuit)
    return api.RecipientBody(
        address=recipient.address,
        node=recipient.address.partition("@")[2],
        harness=recipient.harness,
        model=recipient.model,
        pools=recipient.pools,
        capacity=recipient.capacity,
        slots_used=recipient.slots_used,
        isolation=recipient.isolation,
        blocked_by=tuple(recipient.blocks),
        available=far == 0,
        why=reason.sentence if far else "it takes work",
        provider=recipient.provider,
        resumes=recipient.resumes,
        paused=paused_body(recipient.paused),
        circuit_until_at=None if circuit is None else instant(circuit.until_ms),
    )


def node_body(node: Node, last_seen_at_ms: int | None) -> api.NodeBody:
    return api.NodeBody(
        node_id=node.node_id,
        name=node.name,
        incarnation=node.incarnation,
        contract=node.contract,
        compatible=node.compatible,
        quarantined=node.quarantined,
        revoked=node.revoked,
        platform=node.platform,
        version=node.version,
        enrolled_at=instant(node.enrolled_at_ms),
        started_at=instant(node.started_at_ms),
        last_seen_at=instant_or_none(last_seen_at_ms),
        recipients=tuple(node.recipients),
        paused=paused_body(node.paused),
    )


def token_body(credential: Credential, asker: str | None = None) -> api.TokenBody:
    """A token without its secret. `asker`: the id of the one that this is asked with."""
    return api.TokenBody(
        credential_id=credential.credential_id,
        name=credential.name,
        role=str(credential.role),
        issued_at=instant(credential.issued_at_ms),
        issued_by=credential.issued_by,
        revoked_at=instant_or_none(credential.revoked_at_ms),
        projects=credential.projects,
        yours=credential.credential_id == asker,
    )


def _text(value: Any) -> str | None:
    return None if value is None else str(value)
