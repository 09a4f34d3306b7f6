"""Receiving a webhook: the claim of its delivery id."""

from __future__ import annotations

from tenure.core import webhook_events as ev
from tenure.core.commands import Refusal
from tenure.core.draft import Draft
from tenure.core.webhook import Inbound, ReceiveWebhook, WebhookAnswer


def decide_receive_webhook(draft: Draft, command: ReceiveWebhook) -> WebhookAnswer | Refusal:
    known = draft.find(Inbound, command.inbound_id)
    if known is None:
        draft.emit(
            ev.WebhookReceived(
                inbound_id=command.inbound_id,
                provider=command.provider,
                kind=command.event,
                digest=command.digest,
                effects=command.effects,
            )
        )
        return _answer(draft, command.inbound_id, replayed=False)
    if known.digest == command.digest:
        return _answer(draft, command.inbound_id, replayed=True)
    if known.refused_digest is None:
        draft.emit(ev.WebhookRefused(inbound_id=command.inbound_id, digest=command.digest))
    return Refusal(
        "idempotency_mismatch",
        f"the delivery {command.delivery_id} of {command.provider} was received before with another body.",
        {
            "delivery_id": command.delivery_id,
            "recorded_digest": known.digest,
            "received_digest": command.digest,
        },
    )


def _answer(draft: Draft, inbound_id: str, *, replayed: bool) -> WebhookAnswer:
    found = draft.get(Inbound, inbound_id)
    return WebhookAnswer(found.inbound_id, found.event, found.effects, replayed)
