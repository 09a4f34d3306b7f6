"""Late messages: what somebody without current authority said, kept as it was said.

A late message changes no Attempt and no Task (`fenced_writes`, `no_resurrection`). A late report is what a
person may `accept` for an unknown Attempt. The same message (Delivery, kind, digest) is kept once."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from tenure.core.attempt import Outcome
from tenure.core.ids import AttemptId, DeliveryId, IncarnationId, TaskId


class LateKind(StrEnum):
    ACKNOWLEDGE = "acknowledge"
    RENEW = "renew"
    REPORT = "report"
    EFFECT = "effect"


class Late(Struct, frozen=True):
    late_id: str
    delivery_id: DeliveryId
    attempt_id: AttemptId
    task_id: TaskId
    kind: LateKind
    claimed_fence: int
    current_fence: int
    incarnation: IncarnationId
    outcome: Outcome | None
    heard_at_ms: int

    @property
    def key(self) -> str:
        return self.late_id


def late_id(delivery_id: DeliveryId, kind: LateKind, digest: str) -> str:
    """The id of a late message. Renewals share one: a repeated heartbeat of a stale owner says nothing
    new."""
    return f"{delivery_id}:{kind}" if kind is LateKind.RENEW else f"{delivery_id}:{kind}:{digest[:16]}"
