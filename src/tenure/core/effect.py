"""The Effect: one logical side effect on a Provider, under one idempotency key (`once`, `reconcile_first`).

`intended → issued → confirmed | absent`, with `awaiting_approval` before and `in_doubt` when an answer was lost.
Intent and fence check are one commit; `issued` is a second fenced commit, made by the process that calls, just
before it calls. From `issued` on nobody repeats the call: what became of it is either heard from that very call
(guarded by its call id) or found out at the provider.

`absent` means that nothing happened, so the same Effect may be intended again, under a later fence; `confirmed` is
final. An Effect is *unsettled* while it is neither: meanwhile its Task has no further Attempt and does not end.
`quarantined` says that what is known of it contradicts itself: nobody calls for it, under whatever key, until a
person has said what is so.

"Not found" counts as absent only if it was asked later than the call's deadline plus the provider's settling time,
and then once more, after `not_found_term`. Both are terms, so neither a stepped clock nor a restart cuts them short."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from tenure.core.delivery import Term
from tenure.core.ids import DeliveryId, EffectId, IncarnationId, TaskId, effect_subject
from tenure.core.scope import EffectKind


class EffectState(StrEnum):
    AWAITING_APPROVAL = "awaiting_approval"
    INTENDED = "intended"
    ISSUED = "issued"
    IN_DOUBT = "in_doubt"
    CONFIRMED = "confirmed"
    ABSENT = "absent"


EFFECT_TRANSITIONS: dict[EffectState, frozenset[EffectState]] = {
    EffectState.AWAITING_APPROVAL: frozenset(
        {EffectState.INTENDED, EffectState.ABSENT, EffectState.CONFIRMED}
    ),
    EffectState.INTENDED: frozenset({EffectState.ISSUED, EffectState.ABSENT, EffectState.CONFIRMED}),
    EffectState.ISSUED: frozenset({EffectState.CONFIRMED, EffectState.ABSENT, EffectState.IN_DOUBT}),
    EffectState.IN_DOUBT: frozenset({EffectState.CONFIRMED, EffectState.ABSENT}),
    EffectState.ABSENT: frozenset(
        {EffectState.AWAITING_APPROVAL, EffectState.INTENDED, EffectState.CONFIRMED}
    ),
    EffectState.CONFIRMED: frozenset(),
}
"""`intended → confirmed`: the provider was asked before the call and already has it. `absent → confirmed` and
`awaiting_approval → confirmed`: a person's word on one in quarantine, and nothing else."""


class Effect(Struct, frozen=True):
    """An Effect as it stands. `number`, `delivery_id` and `fence` are those under which it was last intended.

    `identity` is how the provider knows it, and so is `twin`, where there is a second way (the same tree proposed
    from another branch). `result` is the provider's word as JSON text; `code` and `reason` say why it is
    absent, for a program and for people. `again`: a person's or agent's reason for
    repeating `again_of` on purpose."""

    effect_id: EffectId
    task_id: TaskId
    kind: EffectKind
    target: str
    idempotency_key: str
    subject: str
    params: str
    params_digest: str
    identity: str
    twin: str | None
    finds: bool
    settling_ms: int
    again: str | None
    again_of: EffectId | None
    number: int
    delivery_id: DeliveryId
    fence: int
    state: EffectState
    quarantined: bool
    call_id: str | None
    called_by: IncarnationId | None
    call_term: Term | None
    calls: int
    not_found_term: Term | None
    due_at_ms: int | None
    result: str | None
    code: str | None
    reason: str | None
    intended_at_ms: int
    settled_at_ms: int | None

    @property
    def key(self) -> str:
        return self.effect_id

    @property
    def questions(self) -> str:
        """What questions about it are about."""
        return effect_subject(self.task_id, self.effect_id)

    @property
    def has_ended(self) -> bool:
        """Confirmed or absent: nothing happens to it by itself any more."""
        return self.state in (EffectState.CONFIRMED, EffectState.ABSENT)

    @property
    def is_done(self) -> bool:
        """It is there, by the provider's word or a person's."""
        return self.state is EffectState.CONFIRMED

    @property
    def is_to_be_called(self) -> bool:
        return self.state is EffectState.INTENDED and not self.quarantined

    @property
    def is_under_way(self) -> bool:
        return self.state is EffectState.ISSUED

    @property
    def is_asked_for(self) -> bool:
        """Is its provider to be asked what became of it?"""
        return self.state is EffectState.IN_DOUBT and self.finds and not self.quarantined


def short_name(effect: Effect) -> str:
    """How a person is told of it: kind, target and subject."""
    return f"{effect.kind} {effect.subject} at {effect.target}"
