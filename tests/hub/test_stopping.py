"""An orderly end: nothing new is begun, what is under way is waited for within a bound, whoever waits is let go."""

from __future__ import annotations

import asyncio

import pytest

from tenure.core.scope import EffectKind, Scope
from tenure.errors import UnavailableError
from tenure.wire.effects import DecisionRequest
from tests.eventually import eventually_async
from tests.hub.lab import ANN
from tests.hub.test_effects import SCOPE, scene


async def test_an_end_waits_for_a_call_under_way_and_for_its_record() -> None:
    async with scene() as one:
        one.provider.holds = holds = asyncio.Event()
        effect = await one.pull(wait_s=0)
        await eventually_async(lambda: one.provider.at_once == 1)
        asyncio.get_running_loop().call_later(0.2, holds.set)
    async with one.lab.running():
        found = await one.now(effect)
        assert (found.state, found.reason, one.provider.looks) == ("confirmed", None, 0)


async def test_an_end_does_not_wait_for_ever() -> None:
    async with scene() as one:
        one.provider.holds = asyncio.Event()
        effect = await one.pull(wait_s=0)
        await eventually_async(lambda: one.provider.at_once == 1)
        one.lab.hub.broker.stop_s = 0.05
    assert one.provider.at_once == 0
    one.provider.done["shop#pull_request:tenure/x->main"] = 1
    async with one.lab.running():
        await one.becomes(effect, "confirmed")


async def test_whoever_waits_for_an_end_is_let_go_at_once() -> None:
    async with scene() as one:
        one.provider.holds = asyncio.Event()
        asking = asyncio.ensure_future(one.pull(wait_s=60))
        await eventually_async(lambda: one.provider.at_once == 1)
        one.lab.hub.let_go()
        async with asyncio.timeout(3):
            told = await asking
        assert (told.state, told.problem) == ("issued", "effect_pending")
        one.provider.holds.set()


async def test_nothing_new_is_called_at_an_end() -> None:
    scope = Scope(
        kinds=SCOPE.kinds, targets=SCOPE.targets, branches=SCOPE.branches, approval=(EffectKind.PULL_REQUEST,)
    )
    async with scene(scope=scope) as one:
        waiting = await one.pull(wait_s=0)
        one.lab.hub.let_go()
        (item,) = await one.lab.api.queries.attention(open_only=True, limit=100, after=None)
        decision = DecisionRequest(because="fine", item_version=item.version)
        await one.lab.effects.decide(ANN, waiting.effect_id, decision, approve=True)
        with pytest.raises(UnavailableError, match="stopping"):
            await one.pull()
    assert one.provider.calls == 0


async def test_those_that_wait_for_their_turn_are_not_called_at_an_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tenure.hub.effects.broker.IN_FLIGHT", 1)
    async with scene() as one:
        one.provider.holds = asyncio.Event()
        first = await one.pull(wait_s=0)
        await eventually_async(lambda: one.provider.at_once == 1)
        second = await one.pull("tenure/y", wait_s=0)
        one.lab.hub.let_go()
        one.provider.holds.set()
    async with one.lab.running():
        assert [(await one.now(each)).state for each in (first, second)] == ["confirmed", "intended"]
        assert one.provider.calls == 1


async def test_a_part_that_fails_at_a_commit_keeps_no_other_from_hearing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fails(*_: object) -> None:
        raise RuntimeError("a bug in an early part")

    monkeypatch.setattr("tenure.hub.record.Record.heard", fails)
    async with scene() as one:
        one.provider.faults = ["lost"]
        async with asyncio.timeout(3):
            told = await one.pull(wait_s=60)
        assert told.reason == "found at the provider"
