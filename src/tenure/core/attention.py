"""Attention items: questions to a person.

An item's id is its kind and its subject, so there is one per question. A change of facts raises `version`; an
answer must name the version it was given for. A closed item whose facts change is opened again under the next
version."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct


class AttentionKind(StrEnum):
    UNKNOWN = "unknown"
    ASKED = "asked"
    LATE_EVIDENCE = "late_evidence"
    OFFERS_VOIDED = "offers_voided"
    STALLED = "stalled"
    CLOCK_STEPPED = "clock_stepped"
    NODE_QUARANTINED = "node_quarantined"
    NODE_INCOMPATIBLE = "node_incompatible"
    UNKNOWN_DELIVERY = "unknown_delivery"
    APPROVAL = "approval"
    EFFECT_IN_DOUBT = "effect_in_doubt"
    EFFECT_QUARANTINED = "effect_quarantined"


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

    @property
    def key(self) -> str:
        return self.item_id


def item_id(kind: AttentionKind, subject: str) -> str:
    """The one id of a question about a subject (an Attempt, a Task, a node or `hub`)."""
    return f"{kind}:{subject}"
