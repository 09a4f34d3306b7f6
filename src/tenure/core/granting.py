"""Granting: claims, receipts, and taking back what was never received.

A claim is a request for as much as its free units allow. Each grant moves the Task's fence. A grant is an
offer until the node's receipt is accepted; nothing starts before (`no_start_before_handoff`), so voiding an
un-acknowledged one is always safe and is how everything that changed meanwhile is handled: a cancellation, a
block, a refusal, silence.

The hard case is the receipt that arrives after its world has changed. It is judged in this order: was this
very receipt recorded before (then answer as then)? Does the sender still hold the fence? Is the recipient
blocked or the Task canceled (then void)? Only then is it accepted, at any time before the commit that voids
the grant."""

from __future__ import annotations

from collections.abc import Iterator

from tenure.core import events as ev
from tenure.core.asking import ask, settle
from tenure.core.attempt import AttemptState
from tenure.core.attention import AttentionKind
from tenure.core.cancellation import finish_cancel
from tenure.core.commands import Acknowledge, Claim, Claimed, LegAnswer, Offer, Refusal
from tenure.core.delivery import Delivery, DeliveryState, is_over
from tenure.core.draft import Draft
from tenure.core.ids import DeliveryId
from tenure.core.late import LateKind
from tenure.core.limits import GRANTS
from tenure.core.proof import hear_late, is_current, is_live, stale
from tenure.core.recipient import OPEN, Node, Recipient, recipient_queues
from tenure.core.task import Task

ANSWERED_BY_VOID = frozenset({"blocked", "canceled", "refused"})
"""Reasons of a void that were the answer to a receipt, so that the same receipt is answered with them
again."""


def decide_claim(draft: Draft, command: Claim) -> Claimed | Refusal:
    node = draft.find(Node, command.node_id)
    if node is None or node.revoked:
        return Refusal(
            "unauthenticated", "this node is not enrolled (any more). Enroll it with a join token."
        )
    if node.incarnation != command.incarnation:
        return Refusal(
            "superseded", "a newer start of this node has taken over; stop.", {"live": node.incarnation}
        )
    if not node.may_work:
        return Claimed(())  # quarantined or of another contract version: `why` and the attention list say so
    before = draft.world.deliveries_of_claim(command.node_id, command.claim_id)
    if before:
        still = [one.delivery_id for one in before if one.state is DeliveryState.CLAIMED]
        return Claimed(tuple(still), replayed=True)
    offers = iter(command.offers)
    granted: list[DeliveryId] = []
    for where, free in command.free.items():
        recipient = draft.find(Recipient, where)
        if recipient is None or recipient.node_id != node.node_id or recipient.is_blocked:
            continue
        units = min(free, recipient.free, GRANTS - len(granted))
        granted += _grant_for(draft, command, recipient, units, offers)
    return Claimed(tuple(granted))


def _grant_for(
    draft: Draft, command: Claim, recipient: Recipient, units: int, offers: Iterator[Offer]
) -> list[DeliveryId]:
    granted: list[DeliveryId] = []
    if units <= 0:
        return granted
    queues = recipient_queues(recipient)
    # Some candidates may have gone to an earlier recipient of this very claim.
    already = len(draft.events)
    for task_id in draft.world.candidates(queues, units + already, draft.now.wall_ms):
        if len(granted) >= units:
            break  # before an offer is taken: an offer that is taken and not used is lost to the others
        task = draft.get(Task, task_id)
        if task.queue_key not in queues:
            continue
        offer = next(offers, None)
        if offer is None:
            break
        draft.emit(
            ev.DeliveryGranted(
                task_id=task_id,
                number=task.attempts,
                delivery_id=offer.delivery_id,
                recipient=recipient.address,
                node_id=recipient.node_id,
                claim_id=command.claim_id,
                incarnation=command.incarnation,
                fence=task.fence + 1,
                token_digest=offer.token_digest,
                harness=recipient.harness,
                model=recipient.model,
                # None and not its name: whether a default text is left out hangs on which object it is.
                isolation=None if recipient.isolation == OPEN else recipient.isolation,
                term_ms=draft.terms.offer_ttl_ms,
            )
        )
        granted.append(offer.delivery_id)
    return granted


def decide_acknowledge(draft: Draft, command: Acknowledge) -> LegAnswer:
    proof = command.proof
    delivery = draft.find(Delivery, proof.delivery_id)
    if delivery is None:
        return stale(proof)
    if not is_live(draft, proof, delivery):
        return LegAnswer(proof.delivery_id, "superseded")
    if delivery.state is DeliveryState.VOID and delivery.end_reason in ANSWERED_BY_VOID:
        return LegAnswer(proof.delivery_id, delivery.end_reason or "")
    if not is_current(draft, proof, delivery):
        hear_late(draft, proof, delivery, LateKind.ACKNOWLEDGE, command.receipt_digest)
        return stale(proof)
    if delivery.state is DeliveryState.DELIVERED:
        return _acknowledged_before(draft, command, delivery)
    return _first_receipt(draft, command, delivery)


def _acknowledged_before(draft: Draft, command: Acknowledge, delivery: Delivery) -> LegAnswer:
    if delivery.acknowledged_by != command.proof.incarnation:
        return LegAnswer(delivery.delivery_id, "other_incarnation")
    attempt = draft.attempt(delivery.task_id, delivery.number)
    # By the clock of this commit, not by whether the sweep has run.
    if attempt.state is AttemptState.SUSPECT or is_over(delivery.term, draft.now):
        return LegAnswer(delivery.delivery_id, "lease_expired")
    return LegAnswer(delivery.delivery_id, "delivered", term_ms=draft.terms.lease_ttl_ms)


def _first_receipt(draft: Draft, command: Acknowledge, delivery: Delivery) -> LegAnswer:
    if command.refused is not None:
        return _void_for(draft, delivery, "refused", command.refused)
    if draft.get(Task, delivery.task_id).is_cancel_requested:
        return _void_for(draft, delivery, "canceled")
    if draft.get(Recipient, delivery.recipient).is_blocked:
        return _void_for(draft, delivery, "blocked")
    draft.emit(
        ev.DeliveryAcknowledged(
            task_id=delivery.task_id,
            delivery_id=delivery.delivery_id,
            incarnation=command.proof.incarnation,
            receipt_digest=command.receipt_digest,
            term_ms=draft.terms.lease_ttl_ms,
        )
    )
    settle(draft, AttentionKind.OFFERS_VOIDED, delivery.task_id, "a node took it")
    return LegAnswer(delivery.delivery_id, "delivered", term_ms=draft.terms.lease_ttl_ms)


def _void_for(draft: Draft, delivery: Delivery, reason: str, detail: str = "") -> LegAnswer:
    void(draft, delivery, reason, detail)
    return LegAnswer(delivery.delivery_id, reason)


def void(draft: Draft, delivery: Delivery, reason: str, detail: str = "") -> None:
    """Take back an un-acknowledged grant; ask a person when a Task's grants are voided again and again."""
    task = draft.get(Task, delivery.task_id)
    draft.emit(
        ev.GrantVoided(
            task_id=task.task_id,
            delivery_id=delivery.delivery_id,
            fence=task.fence + 1,
            reason=reason,
            detail=detail,
        )
    )
    task = draft.get(Task, delivery.task_id)
    if task.is_cancel_requested:
        finish_cancel(draft, task)
    elif task.voided_offers >= draft.terms.max_offers:
        ask(
            draft,
            AttentionKind.OFFERS_VOIDED,
            task.task_id,
            f"{task.voided_offers} grants in a row were not taken; the last, to {delivery.recipient}: {reason} {detail}".rstrip(),
            {"recipient": delivery.recipient, "reason": reason, "detail": detail},
        )
