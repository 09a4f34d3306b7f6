"""What may be left of an ended Attempt on its machine.

Until somebody has said that its processes are gone, a unit of its recipient stays taken, and the recipient stays blocked. As
long as the outcome is unknown the question about it says so. After a final answer nobody would be asked any more, and a node
that has lost its store can never give its word: work would wait for ever, and no list would show it (`never_silent`). So it
is asked here, until the node or a person has said it. Reading the question does not close it: nothing but that word frees
the unit, and what frees the unit closes it."""

from __future__ import annotations

from tenure.core import events as ev
from tenure.core.asking import ask, settle
from tenure.core.attempt import Attempt
from tenure.core.attention import AttentionKind
from tenure.core.delivery import Delivery
from tenure.core.draft import Draft
from tenure.core.recipient import Node


def ask_for_remains(draft: Draft, attempt: Attempt) -> None:
    """Ask whether anything is left of an unknown Attempt that has its final answer, if its unit is still taken."""
    delivery = draft.find(Delivery, attempt.last_delivery or "")
    if delivery is None or not delivery.slot or not attempt.is_settled_unknown:
        return
    ask(
        draft,
        AttentionKind.RECIPIENT_BLOCKED,
        attempt.attempt_id,
        f"{attempt.attempt_id} was answered {attempt.answer}, but its processes on {delivery.recipient} may still run, so that "
        "gets no new work. Either its node says that they are gone, or you look there, and then answer `gone`.",
        {"answer": str(attempt.answer), "recipient": delivery.recipient},
    )


def free_unit(draft: Draft, delivery: Delivery, reason: str, by: str = "") -> None:
    """Somebody has said that nothing is left of it: its unit is free, and nobody needs to be asked any more."""
    draft.emit(ev.SlotFreed(task_id=delivery.task_id, delivery_id=delivery.delivery_id, reason=reason, by=by))
    settle(draft, AttentionKind.RECIPIENT_BLOCKED, delivery.attempt_id, reason, by=by or None)


def told_of_boot(draft: Draft, delivery: Delivery) -> str:
    """What a person should know who looks for what is left: a copy of a machine knows nothing of what the original has begun."""
    if draft.get(Node, delivery.node_id).is_another_boot(delivery.boot_id):
        return "; its machine was restarted meanwhile, or a copy of its disk was"
    return ""
