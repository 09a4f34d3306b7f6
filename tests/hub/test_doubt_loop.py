"""Finding out: no provider keeps another one's Effects waiting, and nobody is asked more often than is of use."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tenure.core.scope import EffectKind, Scope
from tenure.errors import FaultError, UnavailableError
from tenure.hub.agenda import Agenda
from tenure.hub.effects.registry import Registry
from tenure.hub.loops import doubt
from tenure.providers.port import Call, Found
from tenure.wire.effects import EffectBody, EffectRequest
from tests.eventually import eventually_async, eventually_so
from tests.hub.fake_provider import FakeProvider
from tests.hub.lab import Lab
from tests.hub.test_effects import SCOPE, Scene, scene

MANY = 20
TWO = Scope(kinds=SCOPE.kinds, targets=("forge:*", "other:*"), branches=SCOPE.branches)


class Hanging(FakeProvider):
    """Asked whether it has something, it does not answer."""

    async def find(self, call: Call) -> Found:
        self.looks += 1
        await asyncio.Event().wait()
        raise AssertionError


@asynccontextmanager
async def two(other: FakeProvider) -> AsyncGenerator[Scene]:
    """A scene with a second provider, `other`."""
    lab = Lab()
    one = Scene(lab, FakeProvider())
    lab.registry = Registry({"forge": one.provider, "other": other})
    async with lab.running():
        await one.start(scope=TWO)
        yield one


async def at_other(one: Scene, head: str) -> EffectBody:
    asked = EffectRequest(
        kind=EffectKind.PULL_REQUEST,
        target="other:shop",
        params={"head": head, "base": "main", "title": "a change"},
        wait_s=0,
    )
    return await one.lab.effects.perform(one.who, asked)


async def in_doubt_at_other(one: Scene, other: FakeProvider) -> None:
    other.faults = ["lost"] * MANY
    for number in range(MANY):
        await one.becomes(await at_other(one, f"tenure/{number}"), "in_doubt")


async def turns() -> None:
    """Let the loops do all that they would do now."""
    for _ in range(20):
        await asyncio.sleep(0)


async def test_a_provider_that_is_gone_hides_nobody_elses_effects(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doubt, "PAGE", 2)
    other = FakeProvider()
    other.away = True
    async with two(other) as one:
        await in_doubt_at_other(one, other)
        one.provider.holds = asyncio.Event()
        effect = await one.pull(wait_s=0)
        await eventually_async(lambda: one.provider.at_once == 1)
        one.provider.done["shop#pull_request:tenure/x->main"] = 1
        one.lab.hub.broker.stop_s = 0
    other.looks = 0
    async with one.lab.running():
        assert (await one.becomes(effect, "confirmed")).reason == "found at the provider"
        await eventually_async(lambda: other.looks == MANY, what="each of them was asked for")


async def test_everything_that_was_under_way_is_looked_at_after_a_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(doubt, "PAGE", 2)
    async with scene() as one:
        one.provider.holds = asyncio.Event()
        effects = [await one.pull(f"tenure/{number}", wait_s=0) for number in range(5)]
        await eventually_async(lambda: one.provider.at_once == 5)
        for number in range(5):
            one.provider.done[f"shop#pull_request:tenure/{number}->main"] = 1
        one.lab.hub.broker.stop_s = 0
    async with one.lab.running():
        for effect in effects:
            await one.becomes(effect, "confirmed")
        assert one.provider.looks == 5


async def test_a_provider_that_hangs_keeps_its_own_places_and_no_call_from_being_doubted() -> None:
    other = Hanging()
    async with two(other) as one:
        await in_doubt_at_other(one, other)
        await eventually_async(lambda: other.looks == 16, what="all its places are taken")
        one.provider.faults = ["lost"]
        found = await one.pull(wait_s=0)
        await one.becomes(found, "confirmed")
        one.provider.holds = asyncio.Event()
        overdue = await one.pull("tenure/y", wait_s=0)
        await eventually_async(lambda: one.provider.at_once == 1)
        one.lab.pass_s(31)
        await one.becomes(overdue, "in_doubt")
        assert other.looks == 16
        one.provider.holds.set()


async def test_not_there_is_asked_again_only_when_it_can_prove_something() -> None:
    async with scene(FakeProvider(settling_s=5)) as one:
        one.provider.faults = ["never"]
        effect = await one.pull(wait_s=0)
        await one.becomes(effect, "in_doubt")
        for _ in range(34):
            one.lab.pass_s(1)
            await one.desk.renew(one.grant)
            await turns()
        assert one.provider.looks == 1, "in hope, at once"
        one.lab.pass_s(2)
        await eventually_async(lambda: one.provider.looks == 2, what="the deadline and its settling are over")
        for _ in range(4):
            one.lab.pass_s(1)
            await one.desk.renew(one.grant)
            await turns()
        assert one.provider.looks == 2
        one.lab.pass_s(2)
        await one.becomes(effect, "absent")
        assert one.provider.looks == 3


@pytest.mark.parametrize("hours", [2, 48])
async def test_a_wall_clock_that_was_set_back_and_then_right_again_keeps_no_effect_in_doubt(
    hours: int,
) -> None:
    async with scene(FakeProvider(settling_s=5)) as one:
        one.provider.faults = ["never"]
        effect = await one.pull(wait_s=0)
        await one.becomes(effect, "in_doubt")
        one.lab.clock.wall -= hours * 3_600_000
        for _ in range(60):
            one.lab.pass_s(1)
            await one.desk.renew(one.grant)
            await turns()
        assert one.provider.looks == 2, "in hope, at once, and once more when the clock was set"
        one.lab.clock.wall += hours * 3_600_000
        one.lab.pass_s(0)
        await eventually_async(lambda: one.provider.looks == 3, what="its time is over by this clock")
        one.lab.pass_s(7)
        await one.becomes(effect, "absent")


async def test_a_hub_started_anew_waits_out_its_own_waking_time_without_asking_over_and_over() -> None:
    async with scene() as one:
        one.provider.faults = ["never"]
        effect = await one.pull(wait_s=0)
        await one.becomes(effect, "in_doubt")
        one.lab.hub.broker.stop_s = 0
    one.lab.clock.pass_s(40)  # over by the wall clock, and by no waking time of the next hub
    one.lab.clock.awake = 0
    one.provider.looks = 0
    async with one.lab.running():
        await eventually_async(lambda: one.provider.looks == 1)
        for _ in range(28):
            one.lab.pass_s(1)
            await turns()
        assert one.provider.looks == 1, "in hope, at once"
        one.lab.pass_s(3)
        await eventually_async(lambda: one.provider.looks == 2)


async def test_a_provider_that_is_back_soon_is_asked_soon() -> None:
    async with scene() as one:
        one.provider.faults, one.provider.away = ["lost"], True
        effect = await one.pull(wait_s=0)
        await eventually_async(lambda: one.provider.looks == 1)
        for looks, wait_s in ((2, 1), (3, 2), (4, 4)):
            await one.becomes(effect, "in_doubt")
            one.lab.pass_s(wait_s - 0.1)
            await one.becomes(effect, "in_doubt")
            assert one.provider.looks == looks - 1
            one.lab.pass_s(0.2)
            await eventually_async(lambda looks=looks: one.provider.looks == looks)
        one.provider.away = False
        one.lab.pass_s(8)
        await one.becomes(effect, "confirmed")


class Failing:
    """Fails at the first commits of a kind, as often as it is told to."""

    def __init__(self, one: Scene, fails: Any) -> None:
        self.times = 0
        ledger: Any = one.lab.hub.ledger
        plain = ledger.execute

        async def execute(command: Any) -> Any:
            error = fails(command, self.times)
            if error is not None:
                self.times += 1
                raise error
            return await plain(command)

        ledger.execute = execute


async def test_a_question_that_could_not_be_recorded_is_asked_at_the_next_failure() -> None:
    def fails(command: Any, times: int) -> Exception | None:
        asks = getattr(command, "unreachable", None) is not None
        return UnavailableError("the record is away") if asks and times < 2 else None

    async with scene() as one:
        failing = Failing(one, fails)
        one.provider.faults, one.provider.away = ["lost"], True
        await one.pull(wait_s=0)

        async def is_asked() -> bool:
            one.lab.pass_s(5)
            items = await one.lab.api.queries.attention(open_only=True, limit=100, after=None)
            return any(item.kind == "effect_in_doubt" for item in items)

        await eventually_so(is_asked)
        assert failing.times == 2


async def test_a_lookup_that_cannot_be_recorded_is_made_again_and_stops_nobody_elses() -> None:
    broken: list[str] = []

    def fails(command: Any, _times: int) -> Exception | None:
        is_broken = type(command).__name__ == "LookUpEffect" and command.effect_id in broken
        return FaultError("a bug") if is_broken else None

    async with scene() as one:
        failing = Failing(one, fails)
        one.provider.faults = ["lost", "lost"]
        first = await one.pull(wait_s=0)
        broken.append(first.effect_id)
        await eventually_async(lambda: failing.times == 1)
        await one.becomes(await one.pull("tenure/y", wait_s=0), "confirmed")
        broken.clear()
        one.lab.pass_s(2)
        await one.becomes(first, "confirmed")


def test_an_agenda_gives_each_name_once_at_its_latest_instant() -> None:
    agenda: Agenda[str] = Agenda()
    for name, at in (("a", 5), ("b", 3), ("a", 1), ("b", 9), ("c", 2)):
        agenda.put(name, at)
    agenda.drop("c")
    assert agenda.next == 1
    assert [agenda.take(8), agenda.take(8), agenda.take(9), agenda.take(9)] == ["a", None, "b", None]
    for at in range(1_000):
        agenda.put("a", 1_000 - at)
    assert len(agenda._heap) < 200, "what was replaced does not pile up"
