"""The broker: each call once, and every lost answer found out."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tenure import errors as er
from tenure.core.attempt import Verdict
from tenure.core.scope import EffectKind, Scope
from tenure.hub.effects.capability import Capability
from tenure.hub.effects.registry import Registry
from tenure.wire import legs as ws
from tenure.wire.effects import DecisionRequest, EffectBody, EffectRequest, ResolveRequest
from tenure.wire.recovery import RetryRequest
from tests.eventually import eventually_async, eventually_so
from tests.hub.fake_provider import FakeProvider
from tests.hub.lab import ANN, Desk, Lab

SCOPE = Scope(
    kinds=(EffectKind.PULL_REQUEST, EffectKind.COMMENT), targets=("forge:*",), branches=("tenure/*", "main")
)


class Scene:
    """A hub with one provider, one node, and one Attempt that holds its lease."""

    def __init__(self, lab: Lab, provider: FakeProvider) -> None:
        self.lab = lab
        self.provider = provider
        self.desk: Desk
        self.grant: ws.Grant
        self.who: Capability

    async def start(self, **spec: Any) -> None:
        self.desk = await self.lab.node()
        await self.again(**spec)

    async def again(self, **spec: Any) -> None:
        self.task_id = await self.lab.submit(**{"scope": SCOPE, **spec})
        await self.take()

    async def take(self) -> None:
        self.grant = await self.desk.take()
        self.who = self.lab.hub.capability(f"Bearer {self.grant.capability}")

    async def pull(self, head: str = "tenure/x", wait_s: float = 5.0, **more: Any) -> EffectBody:
        params = {"head": head, "base": "main", "title": "a change"}
        return await self.ask("pull_request", {**params, **more.pop("params", {})}, wait_s, **more)

    async def ask(self, kind: str, params: dict[str, Any], wait_s: float = 5.0, **more: Any) -> EffectBody:
        asked = EffectRequest(
            kind=EffectKind(kind), target="forge:shop", params=params, wait_s=wait_s, **more
        )
        return await self.lab.effects.perform(self.who, asked)

    async def now(self, effect: EffectBody) -> EffectBody:
        return await self.lab.effects.one(effect.effect_id)

    async def becomes(self, effect: EffectBody, state: str) -> EffectBody:
        async def is_so() -> bool:
            self.lab.hub._clock_jumped()
            return (await self.now(effect)).state == state

        await eventually_so(is_so)
        return await self.now(effect)


@asynccontextmanager
async def scene(provider: FakeProvider | None = None, **spec: Any) -> AsyncGenerator[Scene]:
    lab = Lab()
    one = Scene(lab, provider or FakeProvider())
    lab.registry = Registry({"forge": one.provider})
    async with lab.running():
        await one.start(**spec)
        yield one


async def test_an_effect_is_done_and_its_repeat_gets_the_recorded_result() -> None:
    async with scene() as one:
        first, again = await one.pull(), await one.pull()
        assert (first.state, first.replayed, again.replayed) == ("confirmed", False, True)
        assert first.result == again.result
        assert one.provider.calls == 1


async def test_many_repeats_at_the_same_time_are_one_call() -> None:
    async with scene() as one:
        one.provider.holds = asyncio.Event()
        asking = [asyncio.ensure_future(one.pull()) for _ in range(20)]
        await eventually_async(lambda: one.provider.calls == 1)
        one.provider.holds.set()
        states = {(await each).state for each in asking}
        assert states == {"confirmed"}
        assert one.provider.calls == 1


async def test_who_asked_may_go_away_and_the_call_is_settled_all_the_same() -> None:
    async with scene() as one:
        one.provider.holds = asyncio.Event()
        asking = asyncio.ensure_future(one.pull())
        await eventually_async(lambda: one.provider.calls == 1)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        one.provider.holds.set()
        assert (await one.pull()).state == "confirmed"
        assert one.provider.calls == 1


async def test_a_lost_answer_is_found_out_and_never_guessed() -> None:
    async with scene() as one:
        one.provider.faults = ["lost"]
        effect = await one.pull(wait_s=0)
        assert (await one.becomes(effect, "confirmed")).reason == "found at the provider"
        assert one.provider.done.total() == 1


@pytest.mark.parametrize("fault", ["bug", "lost"])
async def test_an_answer_that_cannot_be_read_is_a_lost_answer(fault: str) -> None:
    async with scene() as one:
        one.provider.faults = [fault]
        assert (await one.becomes(await one.pull(wait_s=0), "confirmed")).calls == 1


async def test_not_there_is_believed_only_after_the_deadline_and_twice() -> None:
    async with scene(FakeProvider(settling_s=5)) as one:
        one.provider.faults = ["never"]
        effect = await one.pull(wait_s=0)
        await one.becomes(effect, "in_doubt")
        await eventually_async(lambda: one.provider.looks >= 1)
        for _ in range(2):  # past the call's deadline; past the gap between the two lookups
            await one.desk.renew(one.grant)
            one.lab.pass_s(20)
            assert (await one.now(effect)).state == "in_doubt"

        async def is_absent() -> bool:
            await one.desk.renew(one.grant)
            one.lab.pass_s(2)
            return (await one.now(effect)).state == "absent"

        await eventually_so(is_absent)
        assert (await one.now(effect)).reason == "the provider does not have it, asked twice"
        assert (await one.pull()).state == "confirmed"
        assert one.provider.done.total() == 1


async def test_a_certain_no_is_absent_and_may_be_asked_for_again_under_its_key() -> None:
    async with scene() as one:
        one.provider.faults = ["refused"]
        refused = await one.pull()
        assert (refused.state, refused.problem) == ("absent", "provider_refused")
        assert refused.advice is not None
        assert (await one.pull()).effect_id == refused.effect_id
        assert (await one.now(refused)).state == "confirmed"


async def test_what_the_provider_has_already_is_adopted() -> None:
    async with scene() as one:
        one.provider.done["shop#pull_request:tenure/x->main"] = 1
        effect = await one.pull()
        assert effect.state == "confirmed"
        assert one.provider.done.total() == 1


async def test_the_hub_that_dies_in_a_call_finds_out_at_its_next_start() -> None:
    async with scene() as one:
        one.provider.holds = asyncio.Event()
        effect = await one.pull(wait_s=0)
        await eventually_async(lambda: one.provider.calls == 1)
        one.provider.done["shop#pull_request:tenure/x->main"] = 1  # it landed; the answer never came
        one.lab.hub.broker.stop_s = 0  # it has no time for an orderly end
    one.provider.holds = None
    async with one.lab.running():
        found = await one.becomes(effect, "confirmed")
        assert found.reason == "found at the provider"
        assert one.provider.calls == 1


async def test_a_provider_that_does_not_answer_becomes_a_question_and_is_still_asked() -> None:
    async with scene() as one:
        one.provider.faults, one.provider.away = ["lost"], True
        effect = await one.pull(wait_s=0)

        async def is_asked() -> bool:
            one.lab.pass_s(1)
            items = await one.lab.api.queries.attention(open_only=True, limit=100, after=None)
            return any(item.kind == "effect_in_doubt" for item in items)

        await eventually_so(is_asked)
        one.provider.away = False

        async def is_found() -> bool:
            one.lab.pass_s(10)
            return (await one.now(effect)).state == "confirmed"

        await eventually_so(is_found)


async def test_contradictory_answers_are_quarantined_and_a_person_decides() -> None:
    async with scene() as one:
        one.provider.faults, one.provider.contradicts = ["lost"], True
        effect = await one.pull(wait_s=0)

        async def is_quarantined() -> bool:
            return (await one.now(effect)).quarantined

        await eventually_so(is_quarantined)
        assert (await one.pull(wait_s=0)).problem == "quarantined"
        (item,) = await one.lab.api.queries.attention(open_only=True, limit=100, after=None)
        answer = ResolveRequest(
            confirmed=True, because="it is number 7", item_version=item.version, result="7"
        )
        await one.lab.effects.resolve(ANN, effect.effect_id, answer)
        assert (await one.now(effect)).state == "confirmed"


async def test_the_task_ends_only_when_its_effects_are_known_and_then_by_itself() -> None:
    async with scene() as one:
        one.provider.holds = asyncio.Event()
        effect = await one.pull(wait_s=0)
        await eventually_async(lambda: one.provider.calls == 1)
        assert await one.desk.report(one.grant) == "recorded"
        assert (await one.lab.state(one.task_id), await one.lab.why(one.task_id)) == (
            "working",
            "effect_in_doubt",
        )
        one.provider.holds.set()
        await one.becomes(effect, "confirmed")
        assert await one.lab.state(one.task_id) == "completed"


async def test_a_successor_gets_the_result_of_the_attempt_before() -> None:
    async with scene() as one:
        first = await one.pull()
        await one.desk.report(one.grant, Verdict.ASKED)
        await one.lab.api.retry(ANN, one.task_id, RetryRequest(because="the answer is 42"))
        await one.take()
        again = await one.pull(key="another-key-of-mine")
        assert (again.effect_id, again.adopted, one.provider.calls) == (first.effect_id, True, 1)


async def test_a_replaced_attempt_is_told_to_stop_and_calls_nobody() -> None:
    async with scene() as one:
        await one.desk.report(one.grant)
        with pytest.raises(er.StaleFenceError, match="stop"):
            await one.pull()
        assert one.provider.calls == 0


async def test_an_approval_lets_the_call_go_and_a_rejection_says_why() -> None:
    scope = Scope(
        kinds=SCOPE.kinds, targets=SCOPE.targets, branches=SCOPE.branches, approval=(EffectKind.PULL_REQUEST,)
    )
    async with scene(scope=scope) as one:
        waiting = await one.pull(wait_s=0)
        assert (waiting.state, waiting.problem) == ("awaiting_approval", "approval_needed")
        (item,) = await one.lab.api.queries.attention(open_only=True, limit=100, after=None)
        decision = DecisionRequest(because="fine", item_version=item.version)
        await one.lab.effects.decide(ANN, waiting.effect_id, decision, approve=True)
        await one.becomes(waiting, "confirmed")
        other = await one.pull("tenure/y", wait_s=0)
        (item,) = await one.lab.api.queries.attention(open_only=True, limit=100, after=None)
        no = DecisionRequest(because="too large", item_version=item.version)
        await one.lab.effects.decide(ANN, other.effect_id, no, approve=False)
        rejected = await one.now(other)
        assert (rejected.state, rejected.problem, rejected.reason) == (
            "absent",
            "rejected",
            "rejected: too large",
        )


async def test_sixty_four_calls_are_under_way_at_once() -> None:
    async with scene() as one:
        one.provider.holds = asyncio.Event()
        asking = [asyncio.ensure_future(one.pull(f"tenure/{n}", wait_s=5)) for n in range(80)]
        await eventually_async(lambda: one.provider.at_once == 64)
        one.provider.holds.set()
        await asyncio.gather(*asking)
        assert (one.provider.most_at_once, one.provider.done.total()) == (64, 80)


async def test_a_forged_foreign_or_expired_capability_opens_nothing() -> None:
    async with scene() as one:
        own = one.grant.capability
        for text in (own[:-1] + ("A" if own[-1] != "A" else "B"), "tnr_c_x", one.grant.token, ""):
            with pytest.raises(er.UnauthenticatedError):
                one.lab.hub.capability(f"Bearer {text}")
        one.lab.clock.pass_s(8 * 24 * 3600)
        with pytest.raises(er.UnauthenticatedError, match="expired"):
            one.lab.hub.capability(f"Bearer {own}")


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({"head": "../x"}, "invalid"),
        ({"head": "-x"}, "invalid"),
        ({"head": "a b"}, "invalid"),
        ({"title": ""}, "invalid"),
        ({"nonsense": 1}, "invalid"),
        ({"head": "other/x"}, "out_of_scope"),
    ],
)
async def test_a_request_that_is_wrong_or_out_of_scope_calls_nobody(
    params: dict[str, Any], code: str
) -> None:
    async with scene() as one:
        with pytest.raises(er.TenureError) as told:
            await one.pull(params=params)
        assert (told.value.code, one.provider.calls) == (code, 0)


async def test_an_unknown_provider_is_named_with_those_that_there_are() -> None:
    async with scene() as one:
        asked = EffectRequest(kind=EffectKind.COMMENT, target="nowhere:x", params={"number": 1, "body": "hi"})
        with pytest.raises(er.NotFoundError, match="forge"):
            await one.lab.effects.perform(one.who, asked)
