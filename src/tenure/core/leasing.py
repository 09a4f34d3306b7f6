"""Keeping a lease, and losing it to time.

`decide_due` is asked whenever time may have changed something; it judges by the clock of its own commit, so
it may be asked too early, twice or late. An offer that ran out is voided; a lease that ran out makes the
Attempt suspect; a grace that ran out revokes: fence, verdict `unknown`, block and question in one commit
(`expiry_is_suspect`)."""

from __future__ import annotations

from tenure.core import events as ev
from tenure.core.accounting import give_back, share_at_grant
from tenure.core.asking import ask, settle
from tenure.core.attempt import AttemptState
from tenure.core.attention import AttentionKind
from tenure.core.budget import amounts_of, highest, overrun
from tenure.core.canonical import digest
from tenure.core.commands import Due, DueAnswer, LegAnswer, Renew
from tenure.core.concluding import conclude
from tenure.core.delivery import Delivery, DeliveryState, Progress, is_over
from tenure.core.draft import Draft
from tenure.core.effect_settle import end_effects
from tenure.core.granting import void
from tenure.core.late import LateKind
from tenure.core.proof import hear_late, is_current, is_live, stale
from tenure.core.recipient import Node
from tenure.core.remains import told_of_boot
from tenure.core.stopping import advance_stop, request_stop
from tenure.core.task import CancelStep, StopCause, Task


def decide_renew(draft: Draft, command: Renew) -> LegAnswer:
    proof = command.proof
    delivery = draft.find(Delivery, proof.delivery_id)
    if delivery is None:
        return stale(proof)
    if not is_live(draft, proof, delivery):
        return LegAnswer(proof.delivery_id, "superseded")
    if not is_current(draft, proof, delivery) or delivery.state is not DeliveryState.DELIVERED:
        hear_late(draft, proof, delivery, LateKind.RENEW, digest(command.counter))
        return stale(proof)
    task = draft.get(Task, delivery.task_id)
    renewed = command.counter > delivery.counter
    if renewed:
        _extend(draft, command, delivery)
        if task.cancel_step is CancelStep.REQUESTED:
            draft.emit(ev.CancelAdvanced(task_id=task.task_id, step=CancelStep.SIGNALED))
        _watch_budget(draft, delivery)
        advance_stop(draft, draft.get(Task, task.task_id), CancelStep.SIGNALED)
        task = draft.get(Task, task.task_id)
    is_asked = task.is_cancel_requested or task.is_stopping
    # A counter that was heard before is a copy on the network: it extends nothing.
    return LegAnswer(
        delivery.delivery_id,
        "renewed" if renewed else "replayed",
        term_ms=draft.terms.lease_ttl_ms if renewed else None,
        cancel=is_asked,
        cancel_grace_ms=_grace_left(draft, delivery) if is_asked else None,
    )


def _grace_left(draft: Draft, delivery: Delivery) -> int:
    if delivery.cancel_term is None:
        return draft.terms.cancel_grace_ms
    return max(0, delivery.cancel_term.ends_at_ms - draft.now.wall_ms)


def _watch_budget(draft: Draft, before: Delivery) -> None:
    """Ask the Attempt to end if going on as it does would overrun what it may use before it is heard again."""
    task, attempt = draft.get(Task, before.task_id), draft.attempt(before.task_id, before.number)
    share = share_at_grant(draft, task, attempt)
    if share is None:
        return
    after = draft.get(Delivery, before.delivery_id)
    dimension = overrun(share, amounts_of(before.usage), amounts_of(after.usage))
    if dimension is not None:
        limit = getattr(share, dimension)
        because = f"it has used {getattr(amounts_of(after.usage), dimension)} of {limit} in {dimension}"
        request_stop(draft, task, StopCause.BUDGET, "tenure", because, (dimension,))


def _extend(draft: Draft, command: Renew, delivery: Delivery) -> None:
    # After a gap nobody could see it move: its node, or this hub, was away or asleep.
    heard_ms = delivery.renewed_at_ms or delivery.claimed_at_ms
    was_away = draft.now.wall_ms - heard_ms > draft.terms.lease_ttl_ms
    advanced = was_away or has_advanced(delivery.progress, command.progress)
    draft.emit(
        ev.LeaseRenewed(
            task_id=delivery.task_id,
            delivery_id=delivery.delivery_id,
            counter=command.counter,
            term_ms=draft.terms.lease_ttl_ms,
            advanced=advanced,
            progress=command.progress,
            usage=highest(delivery.usage, command.usage),
        )
    )
    attempt = draft.attempt(delivery.task_id, delivery.number)
    if command.started_at_ms is not None and attempt.started_at_ms is None:
        draft.emit(
            ev.AttemptStarted(
                task_id=delivery.task_id,
                number=delivery.number,
                delivery_id=delivery.delivery_id,
                started_at_ms=command.started_at_ms,
            )
        )
    _watch_progress(draft, draft.get(Delivery, delivery.delivery_id), advanced)


def has_advanced(before: Progress, after: Progress) -> bool:
    """Did any signal of progress move?"""
    return (
        after.output_bytes > before.output_bytes
        or after.events > before.events
        or after.cpu_s > before.cpu_s
        or after.files_changed != before.files_changed
        or after.processes != before.processes
        or after.fraction != before.fraction
        or after.message != before.message
    )


def _watch_progress(draft: Draft, delivery: Delivery, advanced: bool) -> None:
    """Renewed without progress for `stall_after` is a question, never an end; it closes by itself when
    something moves."""
    if advanced:
        settle(draft, AttentionKind.STALLED, delivery.attempt_id, "it moves again")
    elif draft.now.wall_ms - delivery.progress_at_ms >= draft.terms.stall_after_ms:
        ask(
            draft,
            AttentionKind.STALLED,
            delivery.attempt_id,
            f"{delivery.attempt_id} on {delivery.recipient} is alive but nothing has moved for "
            f"{draft.terms.stall_after_ms // 1000} s or more",
            {"delivery_id": delivery.delivery_id, "since_ms": delivery.progress_at_ms},
        )


def decide_due(draft: Draft, command: Due) -> DueAnswer:
    delivery = draft.find(Delivery, command.delivery_id)
    if delivery is None or delivery.due_at_ms is None:
        return DueAnswer("nothing")
    if delivery.state is DeliveryState.CLAIMED:
        if not is_over(delivery.term, draft.now):
            return DueAnswer("not_yet")
        void(
            draft, delivery, "offer_expired", f"not acknowledged within {delivery.term.length_ms / 1000:g} s"
        )
        return DueAnswer("voided")
    if delivery.cancel_term is not None and is_over(delivery.cancel_term, draft.now):
        revoke(draft, delivery, "the cancellation was not answered in time")
        return DueAnswer("revoked")
    if not is_over(delivery.term, draft.now):
        return DueAnswer("not_yet")
    attempt = draft.attempt(delivery.task_id, delivery.number)
    if attempt.state is AttemptState.DELIVERED:
        draft.emit(
            ev.LeaseExpired(
                task_id=delivery.task_id,
                delivery_id=delivery.delivery_id,
                grace_ms=draft.terms.suspect_grace_ms,
            )
        )
        return DueAnswer("suspect")
    revoke(draft, delivery, _why_silent(draft, delivery))
    return DueAnswer("revoked")


def _why_silent(draft: Draft, delivery: Delivery) -> str:
    """What is known of a holder that neither renewed nor reported, for the person who will be asked."""
    if delivery.denied:
        return "node lost its store"
    return f"the lease ran out and nobody reported{told_of_boot(draft, delivery)}"


def revoke(draft: Draft, delivery: Delivery, reason: str) -> None:
    """End an acknowledged lease without a report: nobody knows what happened, and the record says so."""
    task = draft.get(Task, delivery.task_id)
    draft.emit(
        ev.LeaseRevoked(
            task_id=task.task_id,
            number=delivery.number,
            delivery_id=delivery.delivery_id,
            fence=task.fence + 1,
            reason=reason,
            counted=True,
        )
    )
    give_back(draft, delivery)
    end_effects(draft, task.task_id, reported=False)
    if draft.get(Node, delivery.node_id).revoked:
        draft.emit(
            ev.SlotFreed(
                task_id=task.task_id, delivery_id=delivery.delivery_id, reason="the machine was declared gone"
            )
        )
    conclude(draft, task.task_id, CancelStep.UNACKNOWLEDGED, reason)
