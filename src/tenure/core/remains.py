"""What may be left of an ended Attempt on its machine.

Until somebody has said that its processes are gone, a unit of its recipient stays taken, and the recipient stays blocked. As
long as the outcome is unknown the question about it says so. After a final answer nobody would be asked any more, and a node
that has lost its store can never give its word: work would wait for ever, and no list would show it (`never_silent`). So it
is asked here, until the node or a person has said it."""

from __future__ import annotations

import msgspec

from tenure.core import events as ev
from tenure.core.asking import ask, settle
from tenure.core.attention import Attention, AttentionKind, item_id
from tenure.core.delivery import Delivery
from tenure.core.draft import Draft
from tenure.core.ids import TaskId

LEFT_ON = "left_on"
"""The fact by which this question is told from others about what came after an answer."""


def ask_for_remains(draft: Draft, task_id: TaskId, number: int) -> None:
    """Ask whether anything is left of an Attempt that has its final answer, if its unit is still taken."""
    attempt = draft.attempt(task_id, number)
    delivery = draft.find(Delivery, attempt.last_delivery) if attempt.last_delivery else None
    if delivery is None or not delivery.slot:
        return
    ask(
        draft,
        AttentionKind.LATE_EVIDENCE,
        attempt.attempt_id,
        f"{attempt.attempt_id} was answered {attempt.answer}, but its processes on {delivery.recipient} may still run, so that "
        "gets no new work. Either its node says that they are gone, or you look, and then give the same answer again with "
        "`--tree-gone`.",
        {"answer": str(attempt.answer), LEFT_ON: delivery.recipient},
    )


def free_unit(draft: Draft, delivery: Delivery, reason: str, by: str = "") -> None:
    """Somebody has said that nothing is left of it: its unit is free, and nobody needs to be asked any more."""
    draft.emit(ev.SlotFreed(task_id=delivery.task_id, delivery_id=delivery.delivery_id, reason=reason, by=by))
    item = draft.find(Attention, item_id(AttentionKind.LATE_EVIDENCE, delivery.attempt_id))
    if item is not None and item.open and LEFT_ON in msgspec.json.decode(item.facts):
        settle(draft, AttentionKind.LATE_EVIDENCE, delivery.attempt_id, reason)
