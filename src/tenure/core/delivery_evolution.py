"""What the events of a Delivery and its lease do.

The hard case is the end of a lease. Whatever ends it (`end_lease`) moves the fence, stops the Delivery's
clock and clears `Task.lease` in one event, so there is no instant in which an Attempt has ended and its fence
is still current."""

from __future__ import annotations

from msgspec.structs import replace

from tenure.core import events as ev
from tenure.core.attempt import Attempt, AttemptState, Verdict
from tenure.core.budget import amounts_of, highest
from tenure.core.circuit import Circuit
from tenure.core.delivery import Delivery, DeliveryState, Now, Progress, term_from
from tenure.core.ids import Address, attempt_id
from tenure.core.late import Late, late_id
from tenure.core.life_cycle import (
    block,
    count_running,
    end_lease,
    free_slot,
    lift_block,
    queued,
    to_attempt,
    to_delivery,
    to_task,
)
from tenure.core.recipient import Node, Recipient
from tenure.core.task import Task, TaskState
from tenure.core.usage import Usage
from tenure.core.world import Space, get
from tenure.errors import InvariantError


def delivery_granted(space: Space, event: ev.DeliveryGranted, now: Now) -> None:
    task = get(space, Task, event.task_id)
    attempt = get(space, Attempt, attempt_id(event.task_id, event.number))
    if task.lease is not None or event.fence != task.fence + 1:
        raise InvariantError(
            f"{task.task_id} is held by {task.lease}, or {event.fence} is not the next fence"
        )
    space.put(to_task(task, TaskState.WORKING, lease=event.delivery_id, fence=event.fence, queue_key=None))
    count_running(space, task, 1, event.turns)
    space.put(
        to_attempt(
            attempt,
            AttemptState.LEASED,
            harness=attempt.harness or event.harness,
            model=attempt.model or event.model,
            last_delivery=event.delivery_id,
        )
    )
    recipient = get(space, Recipient, event.recipient)
    space.put(replace(recipient, slots_used=recipient.slots_used + 1))
    for quota in recipient.quotas:
        circuit = space.find(Circuit, quota)
        if circuit is not None and not circuit.is_closed:
            space.put(replace(circuit, probe=event.delivery_id))
    space.put(_first_row(event, attempt, now))


def _first_row(event: ev.DeliveryGranted, attempt: Attempt, now: Now) -> Delivery:
    return Delivery(
        delivery_id=event.delivery_id,
        attempt_id=attempt.attempt_id,
        task_id=event.task_id,
        number=event.number,
        recipient=event.recipient,
        node_id=event.node_id,
        claim_id=event.claim_id,
        granted_to=event.incarnation,
        acknowledged_by=None,
        state=DeliveryState.CLAIMED,
        fence=event.fence,
        token_digest=event.token_digest,
        receipt_digest=None,
        report_digest=None,
        slot=True,
        due_at_ms=now.wall_ms + event.term_ms,
        term=term_from(now, event.term_ms),
        cancel_term=None,
        counter=0,
        progress=Progress(),
        progress_at_ms=now.wall_ms,
        usage=Usage(),
        claimed_at_ms=now.wall_ms,
        acknowledged_at_ms=None,
        renewed_at_ms=None,
        suspect_at_ms=None,
        ended_at_ms=None,
        revoked_at_ms=None,
        end_reason=None,
        denied=False,
        late_count=0,
        isolation=event.isolation,
        timeout_s=event.timeout_s,
        config_digest=event.config_digest,
    )


def grant_voided(space: Space, event: ev.GrantVoided, now: Now) -> None:
    delivery = get(space, Delivery, event.delivery_id)
    task = end_lease(space, delivery, event.fence)
    delivery = free_slot(space, delivery)
    space.put(
        to_delivery(
            delivery, DeliveryState.VOID, due_at_ms=None, ended_at_ms=now.wall_ms, end_reason=event.reason
        )
    )
    _offer_again(space, replace(task, voided_offers=task.voided_offers + 1), delivery)


def _offer_again(space: Space, task: Task, delivery: Delivery) -> None:
    attempt = to_attempt(get(space, Attempt, delivery.attempt_id), AttemptState.PENDING)
    space.put(attempt)
    space.put(queued(task, attempt, task.ready_at_ms))


def _begin_term(delivery: Delivery, term_ms: int, now: Now) -> Delivery:
    """A fresh term of `term_ms` from this commit on; a cancellation's grace that ends sooner stays due."""
    term = term_from(now, term_ms)
    due = term.ends_at_ms
    if delivery.cancel_term is not None:
        due = min(due, delivery.cancel_term.ends_at_ms)
    return replace(delivery, due_at_ms=due, term=term)


def delivery_acknowledged(space: Space, event: ev.DeliveryAcknowledged, now: Now) -> None:
    delivery = get(space, Delivery, event.delivery_id)
    delivery = to_delivery(
        delivery,
        DeliveryState.DELIVERED,
        acknowledged_by=event.incarnation,
        receipt_digest=event.receipt_digest,
        boot_id=event.boot_id,
        acknowledged_at_ms=now.wall_ms,
        renewed_at_ms=now.wall_ms,
        progress_at_ms=now.wall_ms,
    )
    space.put(_begin_term(delivery, event.term_ms, now))
    space.put(to_attempt(get(space, Attempt, delivery.attempt_id), AttemptState.DELIVERED))
    node = get(space, Node, delivery.node_id)
    if event.snapshot > node.snapshot_sequence:
        space.put(replace(node, snapshot_sequence=event.snapshot))


def attempt_started(space: Space, event: ev.AttemptStarted, _now: Now) -> None:
    attempt = get(space, Attempt, attempt_id(event.task_id, event.number))
    space.put(replace(attempt, started_at_ms=event.started_at_ms))


def lease_renewed(space: Space, event: ev.LeaseRenewed, now: Now) -> None:
    delivery = get(space, Delivery, event.delivery_id)
    delivery = replace(
        delivery,
        counter=event.counter,
        progress=event.progress,
        progress_at_ms=now.wall_ms if event.advanced else delivery.progress_at_ms,
        usage=event.usage,
        renewed_at_ms=now.wall_ms,
        suspect_at_ms=None,
        denied=False,
    )
    space.put(_begin_term(delivery, event.term_ms, now))
    attempt = get(space, Attempt, delivery.attempt_id)
    if attempt.state is AttemptState.SUSPECT:
        space.put(to_attempt(attempt, AttemptState.DELIVERED))


def lease_expired(space: Space, event: ev.LeaseExpired, now: Now) -> None:
    delivery = get(space, Delivery, event.delivery_id)
    space.put(_begin_term(replace(delivery, suspect_at_ms=now.wall_ms), event.grace_ms, now))
    space.put(to_attempt(get(space, Attempt, delivery.attempt_id), AttemptState.SUSPECT))


def delivery_denied(space: Space, event: ev.DeliveryDenied, _now: Now) -> None:
    space.put(replace(get(space, Delivery, event.delivery_id), denied=True))


def handed_back(space: Space, event: ev.HandedBack, now: Now) -> None:
    delivery = get(space, Delivery, event.delivery_id)
    task = end_lease(space, delivery, event.fence)
    delivery = free_slot(space, delivery)
    space.put(
        to_delivery(
            delivery,
            DeliveryState.REPORTED,
            due_at_ms=None,
            cancel_term=None,
            ended_at_ms=now.wall_ms,
            end_reason="handed back",
        )
    )
    _offer_again(space, task, delivery)


def report_recorded(space: Space, event: ev.ReportRecorded, now: Now) -> None:
    delivery = get(space, Delivery, event.delivery_id)
    task = end_lease(space, delivery, event.fence)
    # A report frees the slot, but `unknown` without the word that the tree is gone may leave a live
    # tree behind.
    if event.outcome.verdict is not Verdict.UNKNOWN or event.outcome.tree_gone:
        delivery = free_slot(space, delivery)
    usage = event.outcome.usage
    if event.counted:
        usage = highest(delivery.usage, usage)
        task = _counted(task, usage)
    space.put(
        to_delivery(
            delivery,
            DeliveryState.REPORTED,
            report_digest=event.digest,
            usage=usage,
            due_at_ms=None,
            cancel_term=None,
            ended_at_ms=now.wall_ms,
            end_reason=str(event.outcome.verdict),
        )
    )
    attempt = to_attempt(
        get(space, Attempt, delivery.attempt_id),
        AttemptState.ENDED,
        verdict=event.outcome.verdict,
        outcome=event.outcome,
        ended_at_ms=now.wall_ms,
    )
    _after_verdict(space, task, attempt, delivery.recipient)


def _counted(task: Task, usage: Usage) -> Task:
    return replace(task, tally=replace(task.tally, used=task.tally.used.plus(amounts_of(usage))))


def lease_revoked(space: Space, event: ev.LeaseRevoked, now: Now) -> None:
    delivery = get(space, Delivery, event.delivery_id)
    task = end_lease(space, delivery, event.fence)
    usage = delivery.usage
    if event.counted:
        # Nobody says how long it ran; it had the recipient for so long.
        held_s = max(0, now.wall_ms - (delivery.acknowledged_at_ms or now.wall_ms)) / 1000
        usage = highest(usage, Usage(wall_s=held_s))
        task = _counted(task, usage)
    space.put(
        replace(
            delivery,
            usage=usage,
            due_at_ms=None,
            cancel_term=None,
            ended_at_ms=now.wall_ms,
            revoked_at_ms=now.wall_ms,
            end_reason=event.reason,
        )
    )
    attempt = to_attempt(
        get(space, Attempt, delivery.attempt_id),
        AttemptState.ENDED,
        verdict=Verdict.UNKNOWN,
        ended_at_ms=now.wall_ms,
    )
    _after_verdict(space, task, attempt, delivery.recipient)


def _after_verdict(space: Space, task: Task, attempt: Attempt, recipient: Address) -> None:
    space.put(attempt)
    if attempt.verdict is Verdict.UNKNOWN:
        block(space, recipient, attempt.attempt_id)
    waits_for_person = attempt.verdict in (Verdict.UNKNOWN, Verdict.ASKED)
    space.put(to_task(task, TaskState.INPUT_REQUIRED if waits_for_person else task.state))


def late_heard(space: Space, event: ev.LateHeard, now: Now) -> None:
    delivery = get(space, Delivery, event.delivery_id)
    space.put(
        Late(
            late_id=late_id(event.delivery_id, event.kind, event.digest),
            delivery_id=event.delivery_id,
            attempt_id=delivery.attempt_id,
            task_id=event.task_id,
            kind=event.kind,
            claimed_fence=event.claimed_fence,
            current_fence=get(space, Task, event.task_id).fence,
            incarnation=event.incarnation,
            outcome=event.outcome,
            heard_at_ms=now.wall_ms,
        )
    )
    space.put(replace(delivery, late_count=delivery.late_count + 1))


def slot_freed(space: Space, event: ev.SlotFreed, _now: Now) -> None:
    delivery = free_slot(space, get(space, Delivery, event.delivery_id))
    space.put(delivery)
    lift_block(space, delivery, get(space, Attempt, delivery.attempt_id))
