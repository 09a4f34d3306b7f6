"""What each command does: `decide(world, command, now, terms) -> Decision`.

The same function serves SQLite, PostgreSQL, the simulator and the model checker. It is deterministic, changes
nothing it is given, and answers an expected no with a `Refusal`. An exception means a bug (`InvariantError`):
nothing of the command may then be committed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tenure.core import commands as cm
from tenure.core import effect_commands as ec
from tenure.core.approval import decide_approve
from tenure.core.cancellation import decide_cancel
from tenure.core.decision import Decision
from tenure.core.delivery import Now, Terms
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
    decide_start_hub,
    decide_start_node,
)
from tenure.core.granting import decide_acknowledge, decide_claim
from tenure.core.leasing import decide_due, decide_renew
from tenure.core.reconciliation import decide_close, decide_reconcile, decide_retry
from tenure.core.reporting import decide_hand_back, decide_report, decide_snapshot
from tenure.core.submission import decide_release, decide_submit
from tenure.core.webhook import ReceiveWebhook
from tenure.core.webhook_receipt import decide_receive_webhook
from tenure.core.world import World


def decide(world: World, command: cm.Command, now: Now, terms: Terms) -> Decision:
    """The events, changes and reply of one command. `world` is only read; let it `accept` the changes once
    they shall count."""
    draft = Draft(world, now, terms)
    reply = _DECIDERS[type(command)](draft, command)
    return Decision(tuple(draft.events), draft.changes, reply)


_DECIDERS: dict[type[Any], Callable[[Draft, Any], Any]] = {
    cm.Submit: decide_submit,
    cm.Cancel: decide_cancel,
    cm.Retry: decide_retry,
    cm.Reconcile: decide_reconcile,
    cm.CloseAttention: decide_close,
    cm.IssueCredential: decide_issue,
    cm.RevokeCredential: decide_revoke,
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
    ReceiveWebhook: decide_receive_webhook,
}
