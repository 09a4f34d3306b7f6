"""Events as sentences for people.

Every kind of event of the core has a sentence here (a test walks them all); a kind that a newer hub knows and this version
does not is shown by its name. `DETAILS` are those that tell about the handing over itself: shown with `--all` only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tenure.cli.text import recovery_event
from tenure.cli.text.counting import counted

Body = dict[str, Any]
Sentence = Callable[[Body], str]

DETAILS = recovery_event.DETAILS | frozenset(
    {
        "attempt_created",
        "delivery_granted",
        "grant_voided",
        "lease_renewed",
        "slot_freed",
        "snapshot_heard",
        "attention_closed",
        "effect_issued",
        "effect_looked_up",
        "node_attention_closed",
        "hub_attention_closed",
    }
)


def event_text(kind: str, body: Body) -> str:
    """The sentence of one event."""
    sentence = SENTENCES.get(kind)
    try:
        return sentence(body) if sentence else kind.replace("_", " ")
    except KeyError as missing:  # written by another version
        return f"{kind.replace('_', ' ')} (without {missing})"


def origin_text(body: Body) -> str:
    """From where a person decided it: address, program, token; empty for what the machine did."""
    origin = body.get("origin")
    if not origin:
        return ""
    parts = [origin[name] for name in ("address", "client", "credential") if origin.get(name)]
    return f"[{', '.join(parts)}]"


def _schedule(body: Body) -> str:
    return str(body["schedule_id"]).removeprefix("s_")


def _because(body: Body) -> str:
    return f": {body['because']}" if body.get("because") else ""


def _by(body: Body) -> str:
    return f" by {body['by']}" if body.get("by") else ""


def _created(body: Body) -> str:
    hypothesis = body["spec"].get("hypothesis")
    return f"attempt {body['number']} made" + (f": {hypothesis['because']}" if hypothesis else "")


def _reported(body: Body) -> str:
    outcome = body["outcome"]
    failure = f" (its node says {outcome['failure_class']})" if outcome.get("failure_class") else ""
    summary = str(outcome.get("summary", "")).removeprefix(f"{outcome['verdict']}: ")
    return f"attempt {body['number']} ended {outcome['verdict']}{failure}{': ' + summary if summary else ''}"


def _renewed(body: Body) -> str:
    progress = body.get("progress", {})
    parts = [progress["message"]] if progress.get("message") else []
    if progress.get("fraction") is not None:
        parts.append(f"{progress['fraction']:.0%}")
    if progress.get("output_bytes"):
        parts.append(f"{counted(progress['output_bytes'], 'byte')} of output")
    if progress.get("files_changed"):
        parts.append(counted(progress["files_changed"], "file change"))
    return "lease renewed" + (": " + ", ".join(parts) if parts else "")


def _late(body: Body) -> str:
    what = {
        "report": "a report",
        "renew": "a renewal",
        "acknowledge": "a receipt",
        "effect": "a request for an effect",
    }[body["kind"]]
    verdict = f", which says {body['outcome']['verdict']}" if body.get("outcome") else ""
    return f"{what} came late, under fence {body['claimed_fence']}{verdict}; kept, and nothing changed"


def _dependency(body: Body) -> str:
    through = "" if body["through"] == body["dependency"] else f" (through {body['through']})"
    return f"{body['dependency']} completed{through}"


def _canceled(body: Body) -> str:
    return f"cancel {body['step']}{_by(body)}{_because(body)}"


def _node_started(body: Body) -> str:
    names = ", ".join(one["name"] for one in body["recipients"]) or "none"
    return f"node started; recipients: {names}"


def _effect_begun(body: Body) -> str:
    asks = ", which needs your approval" if body.get("approval") else ""
    again = f", once more on purpose: {body['again']}" if body.get("again") else ""
    return f"{body['effect_id']} begun: {body['kind']} {body['subject']} at {body['target']}{asks}{again}"


def _effect_settled(body: Body) -> str:
    reason = f": {body['reason']}" if body.get("reason") else ""
    return f"{body['effect_id']} {body['state']}{_by(body)}{reason}"


SENTENCES: dict[str, Sentence] = {
    **recovery_event.SENTENCES,
    "task_submitted": lambda e: f"submitted by {e['by']} to {e['spec']['route']}",
    "attempt_created": _created,
    "dependency_completed": _dependency,
    "dependency_failed": lambda e: f"{e['dependency']} ended {e['state']}, so this waits for a person",
    "delivery_granted": lambda e: (
        f"offered to {e['recipient']} under fence {e['fence']} (isolation {e.get('isolation') or 'open'})"
    ),
    "grant_voided": lambda e: f"the offer was taken back: {e['reason']}; nothing had started",
    "delivery_acknowledged": lambda _: "handed over: the node has it in its own store",
    "attempt_started": lambda e: f"attempt {e['number']} started",
    "lease_renewed": _renewed,
    "lease_expired": lambda _: "the lease ran out: is the node still there?",
    "delivery_denied": lambda _: (
        "the node says that it does not know this work, although it had confirmed it"
    ),
    "handed_back": lambda e: (
        f"handed back: nothing had started{': ' + e['detail'] if e.get('detail') else ''}"
    ),
    "report_recorded": _reported,
    "lease_revoked": lambda e: (
        f"attempt {e['number']}: nobody knows how it ended ({e['reason']}); it needs you"
    ),
    "attempt_approved": lambda e: f"attempt {e['number']} approved{_by(e)}{_because(e)}",
    "attempt_withdrawn": lambda e: f"attempt {e['number']} withdrawn before it was handed to anybody",
    "effect_begun": _effect_begun,
    "effect_adopted": lambda e: (
        f"attempt {e['number']} asked for what {e['effect_id']} is already; nothing was done again"
    ),
    "effect_approved": lambda e: f"{e['effect_id']} approved{_by(e)}{_because(e)}",
    "effect_issued": lambda e: f"{e['effect_id']} is being called",
    "effect_doubted": lambda e: f"{e['effect_id']} is in doubt: {e['reason']}",
    "effect_looked_up": lambda e: f"{e['effect_id']} was not found at its provider; it is asked once more",
    "effect_settled": _effect_settled,
    "effect_quarantined": lambda e: f"{e['effect_id']} is in quarantine: {e['reason']}",
    "late_heard": _late,
    "slot_freed": lambda e: f"its place at the recipient is free again: {e['reason']}{_by(e)}",
    "cancel_advanced": _canceled,
    "attempt_reconciled": lambda e: f"attempt {e['number']} answered {e['answer']}{_by(e)}{_because(e)}",
    "task_ended": lambda e: f"ended {e['state']}: {e['reason']}",
    "attention_opened": lambda e: f"needs you: {e['summary']}",
    "attention_closed": lambda e: f"question closed ({e['kind']}): {e['because']}",
    "node_enrolled": lambda e: f"node {e['name']} enrolled by {e['by']}",
    "node_started": _node_started,
    "node_quarantined": lambda e: f"node quarantined{_because(e)}",
    "node_credential_renewed": lambda _: "the node has a new credential; the old one is refused",
    "node_released": lambda e: f"node released from quarantine{_by(e)}{_because(e)}",
    "node_revoked": lambda e: f"node forgotten{_by(e)}{_because(e)}",
    "snapshot_heard": lambda e: f"the node told what its store holds (snapshot {e['sequence']})",
    "node_attention_opened": lambda e: f"needs you: {e['summary']}",
    "node_attention_closed": lambda e: f"question closed ({e['kind']}): {e['because']}",
    "hub_started": lambda e: f"hub started, version {e['version']}",
    "credential_issued": lambda e: (
        f"token {e['credential_id']} of {e['name']} ({e['role']}) issued by {e['by']}"
        + (f" in the place of {e['replaces']}" if e.get("replaces") else "")
        + _because(e)
    ),
    "credential_revoked": lambda e: f"token {e['credential_id']} revoked by {e['by']}{_because(e)}",
    "schedule_added": lambda e: f"schedule {_schedule(e)} added{_by(e)}",
    "schedule_changed": lambda e: f"schedule {_schedule(e)} changed{_by(e)}",
    "schedule_paused": lambda e: f"schedule {_schedule(e)} paused{_by(e)}{_because(e)}",
    "schedule_resumed": lambda e: f"schedule {_schedule(e)} resumed{_by(e)}",
    "schedule_removed": lambda e: f"schedule {_schedule(e)} removed{_by(e)}{_because(e)}",
    "occurrences_passed_over": lambda e: (
        f"schedule {_schedule(e)} passed over {e['count']} missed occurrences"
    ),
    "occurrence_handled": lambda e: (
        f"schedule {_schedule(e)}: an occurrence was {e['outcome']}"
        + (f" ({e['task_id']})" if e.get("task_id") else "")
        + (f": {e['detail']}" if e.get("detail") else "")
    ),
    "webhook_received": lambda e: (
        f"{e['provider']} told of {e['kind']}"
        + (f": {', '.join(e['effects'])} asked for" if e.get("effects") else "")
    ),
    "webhook_refused": lambda e: f"another body came under {e['inbound_id']}; refused",
    "hub_attention_opened": lambda e: f"needs you: {e['summary']}",
    "hub_attention_closed": lambda e: f"question closed ({e['kind']}): {e['because']}",
}
