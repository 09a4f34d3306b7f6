"""What the events of webhooks do."""

from __future__ import annotations

from msgspec.structs import replace

from tenure.core import webhook_events as ev
from tenure.core.delivery import Now
from tenure.core.webhook import Inbound
from tenure.core.world import Space, get
from tenure.errors import InvariantError


def webhook_received(space: Space, event: ev.WebhookReceived, now: Now) -> None:
    if space.find(Inbound, event.inbound_id) is not None:
        raise InvariantError(f"{event.inbound_id} was claimed before")
    space.put(
        Inbound(
            inbound_id=event.inbound_id,
            provider=event.provider,
            event=event.kind,
            digest=event.digest,
            effects=event.effects,
            received_at_ms=now.wall_ms,
            refused_digest=None,
            refused_at_ms=None,
        )
    )


def webhook_refused(space: Space, event: ev.WebhookRefused, now: Now) -> None:
    known = get(space, Inbound, event.inbound_id)
    if known.refused_digest is not None or known.digest == event.digest:
        raise InvariantError(f"{event.inbound_id}: only the first other body is recorded")
    space.put(replace(known, refused_digest=event.digest, refused_at_ms=now.wall_ms))
