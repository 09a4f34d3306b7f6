"""Attention items: questions to a person.

An item's id is its kind and its subject, so there is one per question. A change of facts raises `version`; an
answer must name the version it was given for. A closed item whose facts change is opened again under the next
version; the same facts do not open it again.

`snoozed_until_ms`: until then nobody is reminded of it, unless its facts change. `notified_version`: the last version
that was sent to people."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct


class AttentionKind(StrEnum):
    UNKNOWN = "unknown"
    ASKED = "asked"
    RECIPIENT_BLOCKED = "recipient_blocked"
    LATE_EVIDENCE = "late_evidence"
    OFFERS_VOIDED = "offers_voided"
    STALLED = "stalled"
    CLOCK_STEPPED = "clock_stepped"
    NODE_QUARANTINED = "node_quarantined"
    NODE_INCOMPATIBLE = "node_incompatible"
    UNKNOWN_DELIVERY = "unknown_delivery"
    APPROVAL = "approval"
    AUTHORIZATION = "authorization"
    CONFIGURATION = "configuration"
    CONTRADICTION = "contradiction"
    FAILED = "failed"
    STOPPED = "stopped"
    EXHAUSTED = "exhausted"
    CHALLENGED = "challenged"
    DEPENDENCY_FAILED = "dependency_failed"
    EFFECT_IN_DOUBT = "effect_in_doubt"
    EFFECT_QUARANTINED = "effect_quarantined"
    SCHEDULE_FAILED = "schedule_failed"


class Severity(StrEnum):
    """How much it matters that somebody looks: `info` when there is time, `warning` today, `urgent` now."""

    INFO = "info"
    WARNING = "warning"
    URGENT = "urgent"


_URGENT = frozenset(
    {
        AttentionKind.UNKNOWN,
        AttentionKind.EFFECT_IN_DOUBT,
        AttentionKind.EFFECT_QUARANTINED,
        AttentionKind.NODE_QUARANTINED,
        AttentionKind.UNKNOWN_DELIVERY,
    }
)
_INFO = frozenset({AttentionKind.LATE_EVIDENCE, AttentionKind.NODE_INCOMPATIBLE})


def severity_of(kind: AttentionKind) -> Severity:
    """Urgent is what may mean that something happened outside and nobody knows; everything else that blocks work is a
    warning."""
    if kind in _URGENT:
        return Severity.URGENT
    return Severity.INFO if kind in _INFO else Severity.WARNING


class Attention(Struct, frozen=True):
    item_id: str
    kind: AttentionKind
    subject: str
    version: int
    open: bool
    summary: str
    facts: str
    opened_at_ms: int
    closed_at_ms: int | None
    closed_because: str | None
    snoozed_until_ms: int | None = None
    assigned_to: str | None = None
    notified_version: int = 0
    closed_by: str | None = None

    @property
    def key(self) -> str:
        return self.item_id


def item_id(kind: AttentionKind, subject: str) -> str:
    """The one id of a question about a subject (an Attempt, a Task, a node or `hub`)."""
    return f"{kind}:{subject}"
