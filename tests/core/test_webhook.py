"""Webhooks: a delivery id is claimed once, and what came first stands."""

from __future__ import annotations

import msgspec
import pytest

from tenure.core import commands as cm
from tenure.core import webhook_events as ev
from tenure.core.decide import decide
from tenure.core.delivery import Now, Terms
from tenure.core.evolve import evolve
from tenure.core.ids import EffectId, IncarnationId
from tenure.core.webhook import Inbound, ReceiveWebhook, WebhookAnswer
from tenure.core.world import World
from tenure.errors import InvariantError

HUB = IncarnationId("i_hub")
EFFECT = EffectId("e_1")
FIRST = ReceiveWebhook("forge", "d-1", "push", "a" * 64, (EFFECT,))


def received(world: World, command: ReceiveWebhook, at_ms: int = 5) -> tuple[object, tuple[object, ...]]:
    decision = decide(world, command, Now(at_ms, at_ms, HUB), Terms())
    world.accept(decision.changes)
    return decision.reply, decision.events


def test_a_message_is_claimed_with_the_effects_that_it_gives_reason_to_ask_for() -> None:
    world = World()
    reply, events = received(world, FIRST)
    assert reply == WebhookAnswer("forge:d-1", "push", (EFFECT,))
    assert [type(one) for one in events] == [ev.WebhookReceived]
    found = world.find(Inbound, "forge:d-1")
    assert found is not None
    assert (found.digest, found.received_at_ms, found.refused_digest) == ("a" * 64, 5, None)


def test_a_repeat_is_answered_with_what_is_recorded_and_records_nothing() -> None:
    world = World()
    received(world, FIRST)
    again = msgspec.structs.replace(FIRST, effects=(EffectId("e_2"),), event="status")
    reply, events = received(world, again)
    assert reply == WebhookAnswer("forge:d-1", "push", (EFFECT,), replayed=True)
    assert events == ()


def test_the_same_id_with_another_body_is_refused_and_recorded_once() -> None:
    world = World()
    received(world, FIRST)
    reply, events = received(world, msgspec.structs.replace(FIRST, digest="b" * 64), 6)
    assert isinstance(reply, cm.Refusal)
    assert reply.code == "idempotency_mismatch"
    assert (reply.facts["recorded_digest"], reply.facts["received_digest"]) == ("a" * 64, "b" * 64)
    assert [type(one) for one in events] == [ev.WebhookRefused]
    for other in ("b", "c"):
        reply, events = received(world, msgspec.structs.replace(FIRST, digest=other * 64), 7)
        assert isinstance(reply, cm.Refusal)
        assert events == ()
    found = world.find(Inbound, "forge:d-1")
    assert found is not None
    assert (found.digest, found.refused_digest, found.refused_at_ms) == ("a" * 64, "b" * 64, 6)
    assert isinstance(received(world, FIRST)[0], WebhookAnswer)


def test_two_providers_may_use_the_same_delivery_id() -> None:
    world = World()
    received(world, FIRST)
    reply, _ = received(world, msgspec.structs.replace(FIRST, provider="other", digest="b" * 64))
    assert reply == WebhookAnswer("other:d-1", "push", (EFFECT,))


@pytest.mark.parametrize(
    "event",
    [
        ev.WebhookReceived(inbound_id="forge:d-1", provider="forge", kind="push", digest="b" * 64),
        ev.WebhookRefused(inbound_id="forge:d-1", digest="a" * 64),
        ev.WebhookRefused(inbound_id="forge:d-2", digest="b" * 64),
    ],
)
def test_an_event_that_cannot_follow_changes_nothing(event: ev.WebhookEvent) -> None:
    world = World()
    received(world, FIRST)
    before = dict(world.entities[Inbound])
    with pytest.raises(InvariantError):
        evolve(world, event, Now(9, 9, HUB))
    assert world.entities[Inbound] == before
