"""What can have happened to an Effect. Its events stand in the stream of its Task."""

from __future__ import annotations

from tenure.core.effect import EffectState
from tenure.core.ids import DeliveryId, EffectId, IncarnationId, TaskId
from tenure.core.scope import EffectKind
from tenure.core.stream import TaskEvent


class EffectBegun(TaskEvent, frozen=True, kw_only=True, tag="effect_begun"):
    """An Attempt intends it, under the fence it holds; or intends again what proved absent. `approval`: a person must
    allow it first."""

    effect_id: EffectId
    number: int
    delivery_id: DeliveryId
    fence: int
    kind: EffectKind
    target: str
    idempotency_key: str
    subject: str
    params: str
    params_digest: str
    identity: str
    twin: str | None = None
    finds: bool = False
    settling_ms: int = 0
    again: str | None = None
    again_of: EffectId | None = None
    approval: bool = False


class EffectAdopted(TaskEvent, frozen=True, kw_only=True, tag="effect_adopted"):
    """An Attempt asked for what an Effect already is; it got that one's result."""

    effect_id: EffectId
    number: int
    owner: TaskId
    idempotency_key: str


class EffectApproved(TaskEvent, frozen=True, kw_only=True, tag="effect_approved"):
    effect_id: EffectId
    by: str
    because: str


class EffectIssued(TaskEvent, frozen=True, kw_only=True, tag="effect_issued"):
    """`caller` is about to call the provider, and gives up `within_ms` from this commit."""

    effect_id: EffectId
    call_id: str
    caller: IncarnationId
    within_ms: int


class EffectDoubted(TaskEvent, frozen=True, kw_only=True, tag="effect_doubted"):
    """The answer was lost: it may or may not have happened."""

    effect_id: EffectId
    reason: str


class EffectLookedUp(TaskEvent, frozen=True, kw_only=True, tag="effect_looked_up"):
    """The provider, asked late enough, does not have it. Once more, `again_after_ms` from now, and it is absent."""

    effect_id: EffectId
    again_after_ms: int


class EffectSettled(TaskEvent, frozen=True, kw_only=True, tag="effect_settled"):
    """`confirmed` with the provider's word, or `absent` with the reason. `by`: a person, where one
    decided; `is_word`: they say what is so at the provider, which ends a quarantine."""

    effect_id: EffectId
    state: EffectState
    result: str | None = None
    code: str | None = None
    reason: str = ""
    by: str | None = None
    is_word: bool = False


class EffectQuarantined(TaskEvent, frozen=True, kw_only=True, tag="effect_quarantined"):
    effect_id: EffectId
    reason: str


EffectEvent = (
    EffectBegun
    | EffectAdopted
    | EffectApproved
    | EffectIssued
    | EffectDoubted
    | EffectLookedUp
    | EffectSettled
    | EffectQuarantined
)
