"""Webhooks in: what forges say by themselves.

A message says where to look, never what is so. Its signature is checked over its raw bytes, its delivery id is claimed
in a commit, and then the Effects in doubt that it may be about are asked for at their provider at once instead of in
their own time. So a forged, late, doubled or lost message can at most bring a question forward or leave it where it was.

If the hub dies between the claim and the question nothing is lost: a start looks at everything in doubt."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import final

import structlog

from tenure.core.effect import Effect
from tenure.core.ids import EffectId
from tenure.core.limits import LAST_INSTANT_MS, WEBHOOK_EFFECTS, WEBHOOKS_AN_HOUR
from tenure.core.webhook import Inbound, ReceiveWebhook, WebhookAnswer, inbound_id, may_be_about
from tenure.errors import NotFoundError, OverloadedError, UnauthenticatedError
from tenure.hub.effects.broker import Broker
from tenure.hub.effects.registry import Inlet
from tenure.hub.service import Hub
from tenure.providers import inbound
from tenure.providers.inbound import Message, Reading
from tenure.wire.webhooks import WebhookBody

IN_DOUBT = 1_000
"""Effects in doubt that one message is held against; the others are found out about in their own time."""
HOUR_NS = 3_600 * 10**9

log = structlog.get_logger(__name__)


@final
class WebhookDesk:
    def __init__(self, hub: Hub, broker: Broker) -> None:
        self._hub = hub
        self._broker = broker
        self._refused: Counter[str] = Counter()
        self._hours: dict[str, tuple[int, int]] = {}

    def admit(self, forge: str, name: str, headers: Mapping[str, str]) -> None:
        """Turn away, before a byte of the body is read, what cannot be right.

        Raises:
            NotFoundError: there is no such provider of this kind with a webhook secret.
            UnauthenticatedError: the signature is missing or malformed, or the token is wrong.
        """
        inlet = self._inlet(forge, name)
        try:
            inbound.refuse_unsigned(forge, inlet.secret, headers)
        except UnauthenticatedError as error:
            self._count(name, error)
            raise

    async def receive(self, forge: str, name: str, message: Message) -> WebhookBody:
        """Take a message. Idempotent by its delivery id and body.

        Raises:
            NotFoundError: there is no such provider of this kind with a webhook secret.
            UnauthenticatedError: the signature is wrong or too old; nothing was recorded.
            InvalidError: it has no delivery id, or its body is no JSON; nothing was recorded.
            IdempotencyMismatchError: its delivery id came before with another body.
            OverloadedError: too many came within an hour; nothing was recorded.
        """
        inlet = self._inlet(forge, name)
        try:
            inbound.check(forge, inlet.secret, message, self._hub.clock.wall_ms())
        except UnauthenticatedError as error:
            self._count(name, error)
            raise
        reading = inbound.read(forge, message)
        if not reading.kinds:
            return _body(name, reading, "ignored", ())
        await self._bound(name, reading)
        answer: WebhookAnswer = await self._hub.execute(
            ReceiveWebhook(
                name, reading.delivery_id, reading.event, reading.digest, await self._about(name, reading)
            )
        )
        if answer.replayed:
            return _body(name, reading, "repeated", answer.effects)
        for effect_id in answer.effects:
            self._broker.soon(effect_id)
        return _body(name, reading, "received", answer.effects)

    def _inlet(self, forge: str, name: str) -> Inlet:
        inlet = self._broker.registry.inlet(forge, name) if forge in inbound.FORGES else None
        if inlet is None:
            raise NotFoundError(
                f"no provider {name[:80]!r} of the kind {forge[:40]!r} takes webhooks here; it needs a webhook secret"
                " (`tenure provider add --webhook-secret-file`).",
                provider=name[:80],
            )
        return inlet

    def _count(self, name: str, error: UnauthenticatedError) -> None:
        """Tell of refusals, ever more seldom: whoever sends a thousand must not fill the log."""
        self._refused[name] += 1
        times = self._refused[name]
        if times & (times - 1) == 0:
            log.warning("a webhook was refused", provider=name, reason=error.message, refused_so_far=times)

    async def _bound(self, name: str, reading: Reading) -> None:
        now_ns = self._hub.clock.awake_ns()
        since_ns, taken = self._hours.get(name, (now_ns, 0))
        if now_ns - since_ns >= HOUR_NS:
            since_ns, taken = now_ns, 0
        if await self._hub.ledger.find(Inbound, inbound_id(name, reading.delivery_id)) is not None:
            return
        if taken >= WEBHOOKS_AN_HOUR:
            raise OverloadedError(
                f"{WEBHOOKS_AN_HOUR} webhooks of {name} were recorded within an hour; this one was not. Send fewer kinds"
                " of events, or send it again later."
            )
        self._hours[name] = (since_ns, taken + 1)

    async def _about(self, name: str, reading: Reading) -> tuple[EffectId, ...]:
        """Effects in doubt that the message may be about: those it names, else all of its repository and kinds."""
        if reading.repository is None:
            return ()
        target = f"{name}:{reading.repository}"
        named = await self._hub.ledger.find_many(Effect, reading.named) if reading.named else {}
        found = [one for one in named.values() if may_be_about(one, target, reading.kinds)]
        if not found:
            due = await self._hub.ledger.effects_due(LAST_INSTANT_MS, IN_DOUBT)
            found = [one for one in due if may_be_about(one, target, reading.kinds)]
        return tuple(one.effect_id for one in found[:WEBHOOK_EFFECTS])


def _body(name: str, reading: Reading, outcome: str, effects: tuple[EffectId, ...]) -> WebhookBody:
    return WebhookBody(
        provider=name, delivery_id=reading.delivery_id, event=reading.event, outcome=outcome, effects=effects
    )
