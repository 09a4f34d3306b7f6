"""What is meant where an agent names no target: the first of its scope whose provider does this kind."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any, final

import httpx
import pytest

from tenure import errors as er
from tenure.client.agent import AgentClient
from tenure.core.scope import EffectKind, Scope
from tenure.hub.effects.registry import Registry, Roster
from tenure.providers.port import Capabilities
from tenure.servers.rest.app import create_app
from tenure.wire.effects import EffectBody, EffectRequest
from tests.hub.fake_provider import FakeProvider
from tests.hub.lab import Lab

KINDS = (EffectKind.PUSH, EffectKind.COMMENT, EffectKind.LABEL)
SCOPE = Scope(kinds=KINDS, targets=("forge:*", "origin:me/play", "forge:me/play", "other:me/play"))
SAID = {"number": 1, "body": "Hello"}


@final
class OfKinds(FakeProvider):
    def __init__(self, *kinds: EffectKind) -> None:
        super().__init__()
        self._capabilities = Capabilities(kinds=frozenset(kinds), finds=frozenset(kinds), settling_s=0.0)


class Scene:
    """A hub whose providers can change, and an agent that holds its lease."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        self.origin, self.forge = OfKinds(EffectKind.PUSH), OfKinds(EffectKind.COMMENT)
        self.other = OfKinds(EffectKind.COMMENT)
        self.configure({"origin": self.origin, "forge": self.forge, "other": self.other})
        self.agent: AgentClient
        self.token = ""

    def configure(self, providers: Mapping[str, FakeProvider], **unusable: str) -> None:
        self.roster = Roster(providers=providers, unusable=unusable)

    async def ask(
        self, kind: EffectKind = EffectKind.COMMENT, params: dict[str, Any] = SAID, target: str = ""
    ) -> EffectBody:
        return await self.lab.effects.perform(
            self.lab.hub.capability(f"Bearer {self.token}"),
            EffectRequest(kind=kind, target=target, params=params, wait_s=5.0),
        )


@asynccontextmanager
async def scene(scope: Scope | None = SCOPE) -> AsyncGenerator[Scene]:
    lab = Lab()
    one = Scene(lab)
    lab.registry = Registry(look=lambda: one.roster)
    async with lab.running():
        desk = await lab.node()
        await lab.submit(scope=scope)
        one.token = (await desk.take()).capability or ""
        app: Any = create_app(lab.hub)
        network = httpx.ASGITransport(app)
        async with AgentClient("http://hub", one.token, transport=network) as one.agent:
            yield one


async def test_an_agent_that_names_no_target_reaches_the_one_that_does_this_kind() -> None:
    async with scene() as one:
        target = await one.agent.target(None)
        asked = EffectRequest(kind=EffectKind.COMMENT, target=target, params=SAID, wait_s=5.0)
        done = await one.agent.perform(asked)
        assert (target, done.target, done.state) == ("", "forge:me/play", "confirmed")
        again = await one.agent.perform(asked)
        assert (again.effect_id, again.replayed) == (done.effect_id, True)
        assert (one.origin.calls, one.forge.calls, one.other.calls) == (0, 1, 0)


async def test_a_kind_that_no_named_target_does_is_refused_with_those_that_are_named() -> None:
    async with scene() as one:
        with pytest.raises(er.NotFoundError, match=r"label.*origin:me/play, forge:me/play"):
            await one.ask(EffectKind.LABEL, {"number": 1, "labels": ["lamp"]})
    async with scene(Scope(kinds=KINDS, targets=("forge:*",))) as one:
        with pytest.raises(er.NotFoundError, match="names none"):
            await one.ask()


@pytest.mark.parametrize("scope", [None, Scope(kinds=(EffectKind.PUSH,), targets=("forge:me/play",))])
async def test_a_kind_that_the_scope_does_not_list_is_out_of_scope(scope: Scope | None) -> None:
    async with scene(scope) as one:
        with pytest.raises(er.OutOfScopeError, match="scope"):
            await one.ask()
        assert one.forge.calls == 0


async def test_a_provider_that_cannot_be_used_now_is_not_passed_over_for_the_next() -> None:
    async with scene() as one:
        one.configure({"origin": one.origin, "other": one.other}, forge="its credential cannot be read")
        with pytest.raises(er.UnavailableError, match="credential"):
            await one.ask()
        assert one.other.calls == 0


async def test_what_was_done_is_found_where_it_was_when_its_provider_is_gone() -> None:
    async with scene(Scope(kinds=KINDS, targets=("origin:me/play", "forge:me/play"))) as one:
        done = await one.ask()
        one.configure({"origin": one.origin})
        again = await one.ask()
        assert (again.effect_id, again.replayed) == (done.effect_id, True)


async def test_what_was_asked_for_elsewhere_is_not_done_once_more_where_is_meant_now() -> None:
    async with scene() as one:
        await one.ask(target="other:me/play")
        with pytest.raises(er.InvalidError, match=r"other:me/play.*forge:me/play"):
            await one.ask()
        assert one.forge.calls == 0
        assert (await one.ask(target="forge:me/play")).state == "confirmed"
