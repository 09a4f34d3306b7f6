"""What each event does. Entities change here and nowhere else.

`evolve` is a pure fold step: the same entities, event and instant always give the same entities. Decisions
use it through a Draft, `audit verify` uses it to fold the whole record again, so a table can hold nothing
that is not here. Each step of a life cycle is checked against its transition table (`life_cycle`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tenure.core import delivery_evolution as delivery
from tenure.core import desk_events as de
from tenure.core import desk_evolution as desk
from tenure.core import effect_events as ef
from tenure.core import effect_evolution as effect
from tenure.core import events as ev
from tenure.core import node_evolution as node
from tenure.core import recovery_events as rv
from tenure.core import recovery_evolution as recovery
from tenure.core import schedule_events as sc
from tenure.core import schedule_evolution as schedule
from tenure.core import task_evolution as task
from tenure.core import webhook_events as wh
from tenure.core import webhook_evolution as webhook
from tenure.core.delivery import Now
from tenure.core.world import Space


def evolve(space: Space, event: ev.Event, now: Now) -> None:
    """Put into `space` every entity that `event` changes.

    Raises: `InvariantError` if the event cannot follow what is there.
    """
    _EVOLVERS[type(event)](space, event, now)


_EVOLVERS: dict[type[Any], Callable[[Space, Any, Now], None]] = {
    ev.TaskSubmitted: task.task_submitted,
    ev.AttemptCreated: task.attempt_created,
    ev.DependencyCompleted: task.dependency_completed,
    ev.DependencyFailed: task.dependency_failed,
    ev.DeliveryGranted: delivery.delivery_granted,
    ev.GrantVoided: delivery.grant_voided,
    ev.DeliveryAcknowledged: delivery.delivery_acknowledged,
    ev.AttemptStarted: delivery.attempt_started,
    ev.LeaseRenewed: delivery.lease_renewed,
    ev.LeaseExpired: delivery.lease_expired,
    ev.DeliveryDenied: delivery.delivery_denied,
    ev.HandedBack: delivery.handed_back,
    ev.ReportRecorded: delivery.report_recorded,
    ev.LeaseRevoked: delivery.lease_revoked,
    ev.AttemptApproved: task.attempt_approved,
    ev.AttemptWithdrawn: task.attempt_withdrawn,
    ev.LateHeard: delivery.late_heard,
    ev.SlotFreed: delivery.slot_freed,
    ev.CancelAdvanced: task.cancel_advanced,
    ev.AttemptReconciled: task.attempt_reconciled,
    ev.TaskEnded: task.task_ended,
    ev.TaskAttentionOpened: task.attention_opened,
    ev.TaskAttentionClosed: task.attention_closed,
    ev.NodeEnrolled: node.node_enrolled,
    ev.NodeStarted: node.node_started,
    ev.NodeQuarantined: node.node_quarantined,
    ev.NodeCredentialRenewed: node.node_credential_renewed,
    ev.NodeReleased: node.node_released,
    ev.NodeRevoked: node.node_revoked,
    ev.SnapshotHeard: node.snapshot_heard,
    ev.NodeAttentionOpened: task.attention_opened,
    ev.NodeAttentionClosed: task.attention_closed,
    ev.HubStarted: node.hub_started,
    ev.CredentialIssued: node.credential_issued,
    ev.CredentialRevoked: node.credential_revoked,
    ev.HubAttentionOpened: task.attention_opened,
    ev.HubAttentionClosed: task.attention_closed,
    ef.EffectBegun: effect.effect_begun,
    ef.EffectAdopted: effect.effect_adopted,
    ef.EffectApproved: effect.effect_approved,
    ef.EffectIssued: effect.effect_issued,
    ef.EffectDoubted: effect.effect_doubted,
    ef.EffectLookedUp: effect.effect_looked_up,
    ef.EffectSettled: effect.effect_settled,
    ef.EffectQuarantined: effect.effect_quarantined,
    rv.RecoveryDecided: recovery.recovery_decided,
    rv.RepeatAllowed: recovery.repeat_allowed,
    rv.BudgetRaised: recovery.budget_raised,
    rv.BudgetReserved: recovery.budget_reserved,
    rv.BudgetSettled: recovery.budget_settled,
    rv.BudgetExhausted: recovery.budget_exhausted,
    rv.TaskHeld: recovery.task_held,
    rv.TaskReleased: recovery.task_released,
    rv.StopAdvanced: recovery.stop_advanced,
    rv.KeyTaken: recovery.key_taken,
    rv.KeyReleased: recovery.key_released,
    rv.Challenged: recovery.challenged,
    rv.ChallengeAnswered: recovery.challenge_answered,
    rv.DependencyMoot: recovery.dependency_moot,
    rv.DependencyWaived: task.dependency_waived,
    rv.DeadlinePassed: recovery.deadline_passed,
    de.AccountSet: desk.account_set,
    de.Paused: desk.paused,
    de.Resumed: desk.resumed,
    de.PolicyStored: desk.policy_stored,
    de.PolicyChosen: desk.policy_chosen,
    de.CircuitOpened: desk.circuit_opened,
    de.CircuitExtended: desk.circuit_extended,
    de.CircuitClosed: desk.circuit_closed,
    de.AttentionSnoozed: desk.attention_snoozed,
    de.AttentionAssigned: desk.attention_assigned,
    de.AttentionNotified: desk.attention_notified,
    wh.WebhookReceived: webhook.webhook_received,
    wh.WebhookRefused: webhook.webhook_refused,
    sc.ScheduleAdded: schedule.schedule_added,
    sc.ScheduleChanged: schedule.schedule_changed,
    sc.SchedulePaused: schedule.schedule_paused,
    sc.ScheduleResumed: schedule.schedule_resumed,
    sc.ScheduleRemoved: schedule.schedule_removed,
    sc.OccurrencesPassedOver: schedule.occurrences_passed_over,
    sc.OccurrenceHandled: schedule.occurrence_handled,
}
