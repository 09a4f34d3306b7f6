"""A webhook that was received: a forge's message under its own delivery id (`once`).

A forge sends a message again when it got no answer, and a person may send it again later. So the id is claimed in a
commit before anything follows from the message: the same id with the same body is answered with what is recorded, the
same id with another body is refused. What follows is little on purpose: Effects in doubt that the message may be about
are asked for at their provider. Nothing is believed because a message says it.

Rows are never dropped: a forge lets people send a message again for days or weeks, and a forgotten id would be a new
message. What bounds them is that only messages which can be about an Effect are claimed, without their bodies, and that
the hub takes only so many an hour of each provider (`limits.WEBHOOKS_AN_HOUR`)."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from tenure.core.effect import Effect, EffectState
from tenure.core.ids import EffectId
from tenure.core.scope import EffectKind


class Inbound(Struct, frozen=True):
    """A claimed message. `digest`: SHA-256 of its body. `effects`: those it gave reason to ask for. `refused_digest`:
    of the first other body that came under this id; further ones are refused and not recorded."""

    inbound_id: str
    provider: str
    event: str
    digest: str
    effects: tuple[EffectId, ...]
    received_at_ms: int
    refused_digest: str | None
    refused_at_ms: int | None

    @property
    def key(self) -> str:
        return self.inbound_id


class ReceiveWebhook(Struct, frozen=True):
    """Claim a message whose signature was right. Idempotent by provider, delivery id and `digest`."""

    provider: str
    delivery_id: str
    event: str
    digest: str
    effects: tuple[EffectId, ...] = ()

    @property
    def inbound_id(self) -> str:
        return inbound_id(self.provider, self.delivery_id)


class WebhookAnswer(Struct, frozen=True):
    """What is recorded of a message."""

    inbound_id: str
    event: str
    effects: tuple[EffectId, ...]
    replayed: bool = False


def inbound_id(provider: str, delivery_id: str) -> str:
    """A message's name in the record. No provider's name has a colon."""
    return f"{provider}:{delivery_id}"


def may_be_about(effect: Effect, target: str, kinds: Iterable[EffectKind]) -> bool:
    """Is this an Effect that a message about `target` gives reason to ask for now? Forges do not tell upper and lower
    case of a repository's name apart."""
    is_open = effect.state is EffectState.IN_DOUBT and effect.finds and not effect.quarantined
    return is_open and effect.kind in kinds and effect.target.casefold() == target.casefold()
