"""Who may write: the check that every fenced write passes (`one_owner`, `fenced_writes`)."""

from __future__ import annotations

from tenure.core import events as ev
from tenure.core.attempt import Outcome
from tenure.core.commands import LegAnswer, Proof
from tenure.core.delivery import Delivery, DeliveryState
from tenure.core.draft import Draft
from tenure.core.late import Late, LateKind, late_id
from tenure.core.limits import LATE
from tenure.core.recipient import Node
from tenure.core.task import Task


def holds(task: Task, delivery: Delivery, fence: int) -> bool:
    """Is this fence the Task's, and this Delivery the acknowledged one that holds it?"""
    held = task.lease == delivery.delivery_id and fence == delivery.fence == task.fence
    return held and delivery.state is DeliveryState.DELIVERED


def is_current(draft: Draft, proof: Proof, delivery: Delivery) -> bool:
    """Does the sender hold the Task now: its fence, its token, and a lease that is open?"""
    task = draft.get(Task, delivery.task_id)
    return (
        task.lease == delivery.delivery_id
        and proof.fence == delivery.fence == task.fence
        and proof.token_digest == delivery.token_digest
    )


def is_live(draft: Draft, proof: Proof, delivery: Delivery) -> bool:
    """Is the sender the live incarnation of the node that the Delivery was granted to?"""
    node = draft.find(Node, delivery.node_id)
    return node is not None and node.incarnation == proof.incarnation and not node.revoked


def hear_late(
    draft: Draft,
    proof: Proof,
    delivery: Delivery,
    kind: LateKind,
    digest: str,
    outcome: Outcome | None = None,
) -> None:
    """Keep what a sender without authority claimed, once, within the bound."""
    known = draft.find(Late, late_id(delivery.delivery_id, kind, digest))
    if known is not None or delivery.late_count >= LATE or proof.token_digest != delivery.token_digest:
        return  # one without the token never held this Delivery: there is nothing to keep of it
    draft.emit(
        ev.LateHeard(
            task_id=delivery.task_id,
            delivery_id=delivery.delivery_id,
            number=delivery.number,
            kind=kind,
            digest=digest,
            claimed_fence=proof.fence,
            incarnation=proof.incarnation,
            outcome=outcome,
        )
    )


def stale(proof: Proof) -> LegAnswer:
    return LegAnswer(delivery_id=proof.delivery_id, answer="stale_fence")
