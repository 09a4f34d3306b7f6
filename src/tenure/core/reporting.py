"""Reports, hand-backs and snapshots: the node says what became of its Deliveries.

A report under the current fence is the Attempt's verdict and ends the lease in the same event. One without
authority is kept as late. A repeated one is answered as it was the first time, before any fence is looked at
(`once`).

A snapshot is everything the node's store says. It can prove little: that an un-acknowledged grant is not
there (it is voided), that a tree is gone (its slot is free). That an acknowledged Delivery is missing proves
nothing, since the snapshot may be older than the receipt or the disk may be lost; it is noted and the lease
runs out by itself."""

from __future__ import annotations

from tenure.core import events as ev
from tenure.core.accounting import give_back, settle_late
from tenure.core.asking import ask, settle
from tenure.core.attempt import Attempt, Outcome, Verdict
from tenure.core.attention import AttentionKind
from tenure.core.cancellation import finish_cancel
from tenure.core.commands import (
    HandBack,
    Holding,
    LegAnswer,
    Proof,
    Refusal,
    Report,
    Snapshot,
    SnapshotAnswer,
)
from tenure.core.concluding import ask_unknown, conclude
from tenure.core.delivery import Delivery, DeliveryState
from tenure.core.draft import Draft
from tenure.core.effect_settle import end_effects
from tenure.core.granting import void
from tenure.core.ids import DeliveryId
from tenure.core.late import Late, LateKind, late_id
from tenure.core.proof import hear_late, is_current, is_live, stale
from tenure.core.recipient import Node
from tenure.core.remains import ask_for_remains, free_unit, told_of_boot
from tenure.core.stopping import advance_stop, withdraw
from tenure.core.task import CancelStep, Task


def decide_report(draft: Draft, command: Report) -> LegAnswer:
    proof = command.proof
    delivery = draft.find(Delivery, proof.delivery_id)
    if delivery is None:
        return stale(proof)
    if not is_live(draft, proof, delivery):
        return LegAnswer(proof.delivery_id, "superseded")
    if delivery.report_digest == command.digest and proof.token_digest == delivery.token_digest:
        return LegAnswer(delivery.delivery_id, "replayed")
    # The same words under the current fence are another message than those that came too early or under a stale one.
    if not is_current(draft, proof, delivery) or delivery.state is not DeliveryState.DELIVERED:
        return _late_report(draft, command, delivery)
    task = draft.get(Task, delivery.task_id)
    draft.emit(
        ev.ReportRecorded(
            task_id=task.task_id,
            number=delivery.number,
            delivery_id=delivery.delivery_id,
            fence=task.fence + 1,
            digest=command.digest,
            outcome=command.outcome,
            counted=True,
        )
    )
    give_back(draft, delivery)
    end_effects(draft, task.task_id, reported=True)
    reason = command.outcome.summary or str(command.outcome.verdict)
    if command.outcome.verdict is Verdict.UNKNOWN:
        reason += told_of_boot(draft, delivery)
    conclude(draft, task.task_id, CancelStep.ACKNOWLEDGED, reason)
    return LegAnswer(delivery.delivery_id, "recorded")


def proves_gone(outcome: Outcome) -> bool:
    """Does this report prove that no process is left? One that says `unknown` does so only in so many
    words."""
    return outcome.tree_gone or outcome.verdict is not Verdict.UNKNOWN


def _late_report(draft: Draft, command: Report, delivery: Delivery) -> LegAnswer:
    if command.proof.token_digest != delivery.token_digest:
        return stale(command.proof)
    if draft.find(Late, late_id(delivery.delivery_id, LateKind.REPORT, command.digest)) is not None:
        return LegAnswer(delivery.delivery_id, "late")
    hear_late(draft, command.proof, delivery, LateKind.REPORT, command.digest, command.outcome)
    settle_late(draft, delivery, command.outcome.usage)
    if delivery.slot and proves_gone(command.outcome) and not _holds(draft, delivery):
        free_unit(draft, delivery, "its node reported late")
    attempt = draft.attempt(delivery.task_id, delivery.number)
    if attempt.is_open_unknown:
        ask_unknown(draft, attempt, f"a late report says {command.outcome.verdict}")
    elif attempt.answer is not None:
        _ask_late_evidence(draft, attempt, command)
    return LegAnswer(delivery.delivery_id, "late")


def _ask_late_evidence(draft: Draft, attempt: Attempt, command: Report) -> None:
    ask(
        draft,
        AttentionKind.LATE_EVIDENCE,
        attempt.attempt_id,
        f"{attempt.attempt_id} was answered {attempt.answer}; now a late report says {command.outcome.verdict}. "
        "It changes nothing; read it, then close this.",
        {"answer": str(attempt.answer), "verdict": str(command.outcome.verdict), "digest": command.digest},
    )


def _holds(draft: Draft, delivery: Delivery) -> bool:
    return draft.get(Task, delivery.task_id).lease == delivery.delivery_id


def decide_hand_back(draft: Draft, command: HandBack) -> LegAnswer:
    proof = command.proof
    delivery = draft.find(Delivery, proof.delivery_id)
    if delivery is None:
        return stale(proof)
    if not is_live(draft, proof, delivery):
        return LegAnswer(proof.delivery_id, "superseded")
    if delivery.end_reason == "handed back":
        return LegAnswer(delivery.delivery_id, "replayed")
    if not is_current(draft, proof, delivery):
        if delivery.slot and not _holds(draft, delivery) and proof.token_digest == delivery.token_digest:
            free_unit(draft, delivery, "its node proved that nothing was started")
        return stale(proof)
    if delivery.state is DeliveryState.CLAIMED:
        void(draft, delivery, "refused", command.detail)
        return LegAnswer(delivery.delivery_id, "refused")
    task = draft.get(Task, delivery.task_id)
    if _is_doubtful(draft, delivery, proof):
        return stale(proof)  # evidence that disagrees is unknown, by the lease's own end
    draft.emit(
        ev.HandedBack(
            task_id=task.task_id,
            delivery_id=delivery.delivery_id,
            fence=task.fence + 1,
            detail=command.detail,
        )
    )
    settle(draft, AttentionKind.STALLED, delivery.attempt_id, "it was handed back")
    give_back(draft, delivery)
    if task.is_cancel_requested:
        finish_cancel(draft, draft.get(Task, task.task_id), CancelStep.ACKNOWLEDGED)
    elif task.is_stopping:
        advance_stop(draft, task, CancelStep.ACKNOWLEDGED)
        withdraw(draft, draft.get(Task, task.task_id))
    return LegAnswer(delivery.delivery_id, "handed_back")


def _is_doubtful(draft: Draft, delivery: Delivery, proof: Proof) -> bool:
    """May something of it have been started after all? Something of it did write, or was said to have started. Or the receipt
    was sent under another boot: beside a copy of its disk the original may be running what the copy has never seen."""
    has_written = draft.get(Task, delivery.task_id).last_effect_of == delivery.delivery_id
    if has_written or draft.attempt(delivery.task_id, delivery.number).started_at_ms is not None:
        return True
    is_same_start = delivery.acknowledged_by == proof.incarnation
    return not is_same_start and draft.get(Node, delivery.node_id).is_another_boot(delivery.boot_id)


def decide_snapshot(draft: Draft, command: Snapshot) -> SnapshotAnswer | Refusal:
    node = draft.find(Node, command.node_id)
    if node is None or node.incarnation != command.incarnation:
        return Refusal("superseded", "a newer start of this node has taken over; stop.")
    if command.sequence <= node.snapshot_sequence:
        return SnapshotAnswer(ignored=True, advice={})
    draft.emit(
        ev.SnapshotHeard(node_id=node.node_id, incarnation=command.incarnation, sequence=command.sequence)
    )
    advice = {held.delivery_id: _advise(draft, node, held) for held in command.holdings}
    for delivery in draft.world.deliveries_of_node(node.node_id):
        if delivery.delivery_id not in advice:
            _missing(draft, draft.get(Delivery, delivery.delivery_id))
    return SnapshotAnswer(ignored=False, advice=advice)


def _advise(draft: Draft, node: Node, held: Holding) -> str:
    delivery = draft.find(Delivery, held.delivery_id)
    if delivery is None or delivery.node_id != node.node_id:
        _ask_unknown_delivery(draft, node, held.delivery_id)
        return "stop"
    if _holds(draft, delivery):
        return "report" if held.stage == "ended" else "go_on"
    if held.tree_gone and delivery.slot:
        free_unit(draft, delivery, "its node says that the tree is gone")
    if delivery.state is DeliveryState.REPORTED or held.stage == "closed":
        return "close"
    if held.stage == "ended":
        heard = draft.world.reports_of(delivery.attempt_id)
        return "close" if any(one.delivery_id == delivery.delivery_id for one in heard) else "report"
    return "stop"


def _ask_unknown_delivery(draft: Draft, node: Node, delivery_id: DeliveryId) -> None:
    ask(
        draft,
        AttentionKind.UNKNOWN_DELIVERY,
        f"{node.node_id}:{delivery_id}",
        f"node {node.name} holds {delivery_id}, which this record does not know; it was told to stop it. "
        "Was the hub's data restored from an older copy?",
        {"node": node.name, "delivery_id": delivery_id},
    )


def _missing(draft: Draft, delivery: Delivery) -> None:
    if not _holds(draft, delivery):
        # Ended already; only the node's own word could free its slot. A record of before may have asked nobody for it.
        ask_for_remains(draft, draft.attempt(delivery.task_id, delivery.number))
    elif delivery.state is DeliveryState.CLAIMED:
        void(draft, delivery, "unknown_to_node")
    elif not delivery.denied:
        draft.emit(ev.DeliveryDenied(task_id=delivery.task_id, delivery_id=delivery.delivery_id))
