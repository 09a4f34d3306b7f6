"""What can have happened to a webhook that was received. Its events stand in the stream of the hub."""

from __future__ import annotations

from tenure.core.ids import EffectId
from tenure.core.stream import HubEvent


class WebhookReceived(HubEvent, frozen=True, kw_only=True, tag="webhook_received"):
    """A signed message was claimed. `effects`: those in doubt that it gives reason to ask for."""

    inbound_id: str
    provider: str
    kind: str
    digest: str
    effects: tuple[EffectId, ...] = ()


class WebhookRefused(HubEvent, frozen=True, kw_only=True, tag="webhook_refused"):
    """Another body came under an id that was claimed; it was refused, and so are all further ones, unrecorded."""

    inbound_id: str
    digest: str


WebhookEvent = WebhookReceived | WebhookRefused
