"""What a forge is answered when it sends a webhook."""

from __future__ import annotations

from msgspec import Struct


class WebhookBody(Struct, frozen=True, kw_only=True):
    """What became of a delivery. `outcome`: `received`; `repeated`, with what was recorded the first time; or `ignored`,
    because such an event says nothing about an Effect. `effects`: those in doubt that are asked for at their provider
    because of it."""

    provider: str
    delivery_id: str
    event: str
    outcome: str
    effects: tuple[str, ...] = ()
