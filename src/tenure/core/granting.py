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

from collections import deque
from typing import NamedTuple

from tenure.core import events as ev
from tenure.core import recovery_events as rv
from tenure.core.account import HUB_ACCOUNT, Account, project_account
from tenure.core.accounting import give_back, hold, hold_back, set_aside, share_at_grant
from tenure.core.asking import ask, settle
from tenure.core.attempt import Attempt, AttemptState
from tenure.core.attention import AttentionKind
from tenure.core.cancellation import finish_cancel
from tenure.core.circuit import Circuit, units_through
from tenure.core.commands import Acknowledge, Claim, Claimed, LegAnswer, Offer, Refusal
from tenure.core.delivery import Delivery, DeliveryState, is_over
from tenure.core.dependency import fall_back
from tenure.core.draft import Draft
from tenure.core.fairness import in_turn, turns_after
from tenure.core.ids import DeliveryId, TaskId
from tenure.core.late import LateKind
from tenure.core.limits import GRANTS, PASSED_OVER
from tenure.core.proof import hear_late, is_current, is_live, stale
from tenure.core.recipient import OPEN, Node, Recipient, fits, recipient_queues
from tenure.core.stopping import withdraw
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
    if _is_paused(draft, node):
        return Claimed(())
    offers = deque(command.offers)
    granted: list[DeliveryId] = []
    for where, free in command.free.items():
        recipient = draft.find(Recipient, where)
        if not offers:
            break
        if recipient is None or recipient.node_id != node.node_id or not recipient.may_work:
            continue
        units = units_for(draft, recipient, min(free, recipient.free, GRANTS - len(granted)))
        granted += _grant_for(draft, command, recipient, units, offers)
    held = any(isinstance(event, rv.TaskHeld) for event in draft.events)
    return Claimed(tuple(granted), look_again=held and not granted)


def _is_paused(draft: Draft, node: Node) -> bool:
    hub = draft.find(Account, HUB_ACCOUNT)
    return node.paused is not None or (hub is not None and hub.paused is not None)


def units_for(draft: Draft, recipient: Recipient, units: int) -> int:
    """How many of these units its quotas let through now."""
    for quota in recipient.quotas:
        circuit = draft.find(Circuit, quota)
        probe = draft.find(Delivery, circuit.probe) if circuit is not None and circuit.probe else None
        units = units_through(circuit, probe, draft.now.wall_ms, units)
    return units


def _grant_for(
    draft: Draft, command: Claim, recipient: Recipient, units: int, offers: deque[Offer]
) -> list[DeliveryId]:
    granted: list[DeliveryId] = []
    queues = recipient_queues(recipient)
    seen: set[TaskId] = set()
    # Some candidates may have gone to an earlier recipient of this very claim.
    limit = units + len(draft.events)
    while offers and len(granted) < units:
        turns = in_turn(draft, queues, limit)
        for task_id in turns.order:
            if not offers or len(granted) >= units:
                break
            if task_id in seen:
                continue
            seen.add(task_id)
            delivery_id = _grant(draft, Taking(command, recipient, queues, turns.least), task_id, offers)
            if delivery_id is not None:
                granted.append(delivery_id)
        if len(turns.order) < limit or limit > PASSED_OVER:
            break
        limit *= 2
    return granted


class Taking(NamedTuple):
    """Who takes, from which queues, and the fewest turns that count for a project."""

    command: Claim
    recipient: Recipient
    queues: tuple[str, ...]
    least: float


def _grant(draft: Draft, taking: Taking, task_id: TaskId, offers: deque[Offer]) -> DeliveryId | None:
    """Grant this Task, if nothing keeps it back after all."""
    command, recipient, queues, least = taking
    task = draft.get(Task, task_id)
    attempt = draft.newest_attempt(task)
    if task.queue_key not in queues or recipient.address in attempt.spec.avoid:
        return None
    if not fits(recipient, attempt.harness, attempt.model):
        return None
    if task.due_at_ms is not None and task.due_at_ms <= draft.now.wall_ms:
        return None  # its deadline has come; that is acted on next
    if fall_back(draft, task):
        return None
    found = hold_back(draft, task, attempt)
    if found is not None:
        hold(draft, task, found)
        return None
    offer = offers.popleft()
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
            timeout_s=_time_left_s(draft, task, attempt),
            config_digest=recipient.config_digest or None,
            turns=turns_after(draft.find(Account, project_account(task.project)), least),
            term_ms=draft.terms.offer_ttl_ms,
        )
    )
    set_aside(draft, task, attempt, draft.get(Delivery, offer.delivery_id))
    return offer.delivery_id


def _time_left_s(draft: Draft, task: Task, attempt: Attempt) -> int | None:
    """What the Attempt may take: its own limit, what is left of its wall time, and the time to the deadline."""
    share, deadline = share_at_grant(draft, task, attempt), task.deadline_ms
    if deadline is not None and deadline <= draft.now.wall_ms:
        deadline = None  # a person wants it in spite of that
    limits = (
        attempt.spec.timeout_s,
        None if share is None or share.wall_ms is None else share.wall_ms // 1000,
        None if deadline is None else (deadline - draft.now.wall_ms) // 1000,
    )
    least = min((one for one in limits if one is not None), default=None)
    return None if least is None else max(1, least)


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
    task = draft.get(Task, delivery.task_id)
    if task.is_cancel_requested or task.is_stopping:
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
            boot_id=draft.get(Node, delivery.node_id).boots[-1],
            snapshot=command.snapshot,
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
    give_back(draft, delivery)
    task = draft.get(Task, delivery.task_id)
    if task.is_cancel_requested:
        finish_cancel(draft, task)
    elif task.is_stopping:
        withdraw(draft, task)
    elif task.voided_offers >= draft.terms.max_offers:
        ask(
            draft,
            AttentionKind.OFFERS_VOIDED,
            task.task_id,
            f"{task.voided_offers} grants in a row were not taken; the last, to {delivery.recipient}: {reason} {detail}".rstrip(),
            {"recipient": delivery.recipient, "reason": reason, "detail": detail},
        )
