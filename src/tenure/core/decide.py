"""What each command does: `decide(world, command, now, terms) -> Decision`.

The same function serves SQLite, PostgreSQL, the simulator and the model checker. It is deterministic, changes
nothing it is given, and answers an expected no with a `Refusal`. An exception means a bug (`InvariantError`):
nothing of the command may then be committed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tenure.core import commands as cm
from tenure.core import desk_commands as dc
from tenure.core import effect_commands as ec
from tenure.core import schedule_commands as sc
from tenure.core.access import Credential
from tenure.core.approval import decide_approve
from tenure.core.cancellation import decide_cancel
from tenure.core.deciding import decide_answer_challenge, decide_challenge, decide_give_up, decide_raise
from tenure.core.decision import Decision
from tenure.core.delivery import Now, Terms
from tenure.core.dependency import decide_release, decide_waive
from tenure.core.desk import (
    decide_assign,
    decide_close_circuit,
    decide_note_notified,
    decide_pause,
    decide_set_account,
    decide_snooze,
    decide_unpause,
)
from tenure.core.draft import Draft
from tenure.core.effect_begin import decide_begin_effect, decide_issue_effect
from tenure.core.effect_settle import decide_doubt, decide_look_up, decide_resolve, decide_settle
from tenure.core.enrollment import (
    decide_clock_step,
    decide_enroll,
    decide_forget,
    decide_issue,
    decide_release_node,
    decide_revoke,
    decide_rotate,
    decide_start_hub,
    decide_start_node,
)
from tenure.core.granting import decide_acknowledge, decide_claim
from tenure.core.leasing import decide_due, decide_renew
from tenure.core.origin import stamped
from tenure.core.policy_choice import decide_choose_policy, decide_store_policy
from tenure.core.reconciliation import decide_close, decide_reconcile
from tenure.core.reconsidering import decide_due_task, decide_reconsider
from tenure.core.reporting import decide_hand_back, decide_report, decide_snapshot
from tenure.core.retrying import decide_retry
from tenure.core.scheduling import (
    decide_add_schedule,
    decide_fire_schedule,
    decide_pause_schedule,
    decide_remove_schedule,
    decide_resume_schedule,
)
from tenure.core.stopping import decide_stop
from tenure.core.submission import decide_submit
from tenure.core.tenancy import narrowed
from tenure.core.webhook import ReceiveWebhook
from tenure.core.webhook_receipt import decide_receive_webhook
from tenure.core.world import World


def decide(world: World, command: cm.Command, now: Now, terms: Terms) -> Decision:
    """The events, changes and reply of one command. `world` is only read; let it `accept` the changes once
    they shall count."""
    draft = Draft(world, now, terms)
    if isinstance(command, cm.Said):
        return _said(draft, command)
    reply = _DECIDERS[type(command)](draft, command)
    return Decision(tuple(draft.events), draft.changes, reply)


def _said(draft: Draft, command: cm.Said) -> Decision:
    """What a person asks for, as far as they may know of it, and from where they asked. Their token counts at this very
    commit or not at all, however long the request has been under way."""
    asked = command.command
    token = draft.find(Credential, command.origin.credential)
    if token is None or token.revoked_at_ms is not None:
        return Decision((), {}, cm.Refusal("unauthenticated", "this token was revoked; nothing was done."))
    over = narrowed(draft, asked, command.within) if command.within else draft
    if isinstance(over, cm.Refusal):
        return Decision((), {}, over)
    reply = _DECIDERS[type(asked)](over, asked)
    events = stamped(over.events, getattr(asked, "by", None), command.origin)
    return Decision(events, over.changes, reply)


_DECIDERS: dict[type[Any], Callable[[Draft, Any], Any]] = {
    cm.Submit: decide_submit,
    cm.Cancel: decide_cancel,
    cm.Retry: decide_retry,
    cm.Reconcile: decide_reconcile,
    cm.CloseAttention: decide_close,
    cm.IssueCredential: decide_issue,
    cm.RevokeCredential: decide_revoke,
    cm.RotateCredential: decide_rotate,
    cm.ForgetNode: decide_forget,
    cm.ReleaseNode: decide_release_node,
    cm.Enroll: decide_enroll,
    cm.StartNode: decide_start_node,
    cm.Claim: decide_claim,
    cm.Acknowledge: decide_acknowledge,
    cm.Renew: decide_renew,
    cm.Report: decide_report,
    cm.HandBack: decide_hand_back,
    cm.Snapshot: decide_snapshot,
    cm.Due: decide_due,
    cm.ReleaseDependent: decide_release,
    cm.StartHub: decide_start_hub,
    cm.NoteClockStep: decide_clock_step,
    ec.BeginEffect: decide_begin_effect,
    ec.IssueEffect: decide_issue_effect,
    ec.SettleEffect: decide_settle,
    ec.DoubtEffect: decide_doubt,
    ec.LookUpEffect: decide_look_up,
    ec.ResolveEffect: decide_resolve,
    ec.Approve: decide_approve,
    dc.StorePolicy: decide_store_policy,
    dc.ChoosePolicy: decide_choose_policy,
    dc.SetAccount: decide_set_account,
    dc.Pause: decide_pause,
    dc.Unpause: decide_unpause,
    dc.CloseCircuit: decide_close_circuit,
    dc.RaiseBudget: decide_raise,
    dc.StopAttempt: decide_stop,
    dc.GiveUp: decide_give_up,
    dc.WaiveDependencies: decide_waive,
    dc.Challenge: decide_challenge,
    dc.AnswerChallenge: decide_answer_challenge,
    dc.SnoozeAttention: decide_snooze,
    dc.AssignAttention: decide_assign,
    dc.NoteNotified: decide_note_notified,
    dc.Reconsider: decide_reconsider,
    dc.DueTask: decide_due_task,
    ReceiveWebhook: decide_receive_webhook,
    sc.AddSchedule: decide_add_schedule,
    sc.PauseSchedule: decide_pause_schedule,
    sc.ResumeSchedule: decide_resume_schedule,
    sc.RemoveSchedule: decide_remove_schedule,
    sc.FireSchedule: decide_fire_schedule,
}
