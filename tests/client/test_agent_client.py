"""The agent's client over a network that loses answers: what was asked for is done once, and said truthfully."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import msgspec
import pytest

from tenure import errors as er
from tenure.client.agent import NOT_DONE, AgentClient, problem_of, told_to
from tenure.core.effect import EffectState
from tenure.core.scope import EffectKind, Scope
from tenure.hub.effect_desk import ADVICE
from tenure.hub.effects.registry import Registry
from tenure.servers.rest.app import create_app
from tenure.wire.effects import EffectBody, EffectRequest
from tests.hub.fake_provider import FakeProvider
from tests.hub.lab import Lab

SCOPE = Scope(kinds=(EffectKind.COMMENT,), targets=("forge:shop",), approval=())
ASKED = EffectRequest(
    kind=EffectKind.COMMENT, target="forge:shop", params={"number": 1, "body": "Hello"}, wait_s=5.0
)


class Lossy(httpx.AsyncBaseTransport):
    """Loses the answers of the next `lost` requests, after they were done; `closed` ones never leave."""

    def __init__(self, inner: httpx.AsyncBaseTransport) -> None:
        self.inner = inner
        self.lost = 0
        self.closed = False
        self.sent = 0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if self.closed:
            raise httpx.ConnectError("refused")
        self.sent += 1
        response = await self.inner.handle_async_request(request)
        if self.lost:
            self.lost -= 1
            await response.aread()
            raise httpx.ReadError("cut")
        return response


class Scene:
    def __init__(self, lab: Lab, forge: FakeProvider, network: Lossy, agent: AgentClient) -> None:
        self.lab, self.forge, self.network, self.agent = lab, forge, network, agent


@asynccontextmanager
async def scene(scope: Scope | None = SCOPE) -> AsyncGenerator[Scene]:
    lab, forge = Lab(), FakeProvider()
    lab.registry = Registry({"forge": forge})
    async with lab.running():
        desk = await lab.node()
        await lab.submit(scope=scope)
        grant = await desk.take()
        app: Any = create_app(lab.hub)
        network = Lossy(httpx.ASGITransport(app))
        async with AgentClient("http://hub", grant.capability or "", transport=network) as agent:
            yield Scene(lab, forge, network, agent)


async def test_a_lost_answer_is_asked_for_again_and_nothing_is_done_twice() -> None:
    async with scene() as one:
        one.network.lost = 2
        body = await one.agent.perform(ASKED)
        assert problem_of(body) is None
        assert body.replayed
        assert one.network.sent == 3
        assert list(one.forge.done.values()) == [1]


async def test_answers_that_are_all_lost_are_unknown_and_found_out_later() -> None:
    async with scene() as one:
        one.network.lost = 10
        with pytest.raises(er.OutcomeUnknownError, match="Ask again"):
            await one.agent.perform(ASKED)
        assert one.network.sent == 4
        one.network.lost = 0
        assert problem_of(await one.agent.perform(ASKED)) is None
        assert list(one.forge.done.values()) == [1]


async def test_a_hub_that_was_not_reached_is_told_as_nothing_done() -> None:
    async with scene() as one:
        one.network.closed = True
        with pytest.raises(er.UnavailableError):
            await one.agent.perform(ASKED)
        assert one.forge.calls == 0


async def test_a_long_wait_is_several_requests_and_ends_with_the_effect() -> None:
    async with scene() as one:
        one.forge.holds = asyncio.Event()
        pending = await one.agent.perform(msgspec.structs.replace(ASKED, wait_s=0.0))
        assert isinstance(problem_of(pending), er.EffectPendingError)
        asking = asyncio.ensure_future(one.agent.perform(msgspec.structs.replace(ASKED, wait_s=600.0)))
        one.forge.holds.set()
        assert problem_of(await asyncio.wait_for(asking, 30)) is None
        assert list(one.forge.done.values()) == [1]


async def test_what_was_never_asked_for_is_not_found_and_what_was_is() -> None:
    async with scene() as one:
        body = await one.agent.perform(ASKED)
        assert (await one.agent.effect(body.effect_id)).result == body.result
        with pytest.raises(er.NotFoundError, match=body.effect_id):
            await one.agent.effect("e_other")


async def test_the_only_target_of_the_scope_is_the_one_that_is_meant() -> None:
    async with scene() as one:
        assert await one.agent.target(None) == "forge:shop"
        assert await one.agent.target("forge:other") == "forge:other"
    async with scene(Scope(kinds=(EffectKind.COMMENT,), targets=("forge:*",))) as one:
        with pytest.raises(er.InvalidError, match=r"forge:\*"):
            await one.agent.target(None)
    async with scene(None) as one:
        with pytest.raises(er.OutOfScopeError):
            await one.agent.target(None)


def body(state: str, problem: str | None = None) -> EffectBody:
    texts = dict.fromkeys(
        ("effect_id", "task_id", "kind", "target", "key", "subject", "params_digest", "identity"), "x"
    )
    return EffectBody(
        **texts,
        number=1,
        params=msgspec.Raw(b"{}"),
        state=state,
        fence=1,
        quarantined=False,
        calls=0,
        again=None,
        result=None,
        reason=None,
        intended_at="x",
        settled_at=None,
        problem=problem,
    )


@pytest.mark.parametrize("state", list(EffectState))
def test_every_state_but_confirmed_is_a_problem_for_who_asked(state: EffectState) -> None:
    assert (problem_of(body(state)) is None) == (state is EffectState.CONFIRMED)
    assert set(NOT_DONE) == set(EffectState) - {EffectState.CONFIRMED}


@pytest.mark.parametrize("code", sorted(ADVICE))
def test_every_problem_that_the_hub_names_becomes_an_error_that_says_what_to_do(code: str) -> None:
    error = problem_of(body("absent", code))
    assert error is not None
    assert error.facts["problem"] == code
    assert error.code == code or (code == "rejected" and isinstance(error, er.ForbiddenError))


def test_a_sentence_is_completed_by_what_to_do_and_only_once() -> None:
    told = told_to(er.StaleFenceError("this attempt was replaced."))
    assert (
        told == "this attempt was replaced. Stop: end your turn; nothing that you do outside counts any more."
    )
    assert told_to(er.StaleFenceError(told)) == told
    assert told_to(er.InvalidError("no number")) == "no number"
    away = told_to(er.UnavailableError("the hub was not reached; nothing happened. Is it running?"))
    assert away.casefold().count("nothing") == 1
    assert away.endswith("Ask again with the same parameters, a little later.")
    problem = problem_of(body("absent", "unavailable"))
    assert problem is not None
    assert told_to(problem) == problem.message
