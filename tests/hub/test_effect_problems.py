"""What a caller is told when an Effect is not done: the very reason, and that what is recorded stays recorded."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from msgspec.structs import replace

from tenure import errors as er
from tenure.core.attempt import Verdict
from tenure.core.effect import Effect
from tenure.core.ids import EffectId
from tenure.core.scope import EffectKind, Scope
from tenure.hub.effects.registry import Registry, Roster
from tenure.hub.push.talk import not_done
from tenure.providers.port import Call, Found, Result
from tenure.wire.effects import DecisionRequest
from tests.eventually import eventually_async
from tests.hub.fake_provider import FakeProvider
from tests.hub.lab import ANN
from tests.hub.test_effects import SCOPE, Scene, scene

GONE = [Roster(), Roster(unusable={"forge": "its credential cannot be decrypted"})]


def now_configured(one: Scene, roster: Roster) -> None:
    one.lab.hub.broker.registry = Registry(look=lambda: roster)


@pytest.mark.parametrize("roster", GONE)
async def test_a_repeat_of_what_is_recorded_needs_no_provider(roster: Roster) -> None:
    async with scene() as one:
        done = await one.pull()
        one.provider.faults, one.provider.away = ["lost"], True
        doubtful = await one.pull("tenure/y", wait_s=0)
        await one.becomes(doubtful, "in_doubt")
        one.provider.holds = asyncio.Event()
        under_way = await one.pull("tenure/z", wait_s=0)
        await eventually_async(lambda: one.provider.at_once == 1)
        now_configured(one, roster)
        again = [
            await one.pull(wait_s=0),
            await one.pull("tenure/y", wait_s=0),
            await one.pull("tenure/z", wait_s=0),
        ]
        assert [each.effect_id for each in again] == [done.effect_id, doubtful.effect_id, under_way.effect_id]
        assert [each.problem for each in again] == [None, "effect_in_doubt", "effect_pending"]
        assert all(each.replayed for each in again)
        one.provider.holds.set()


@pytest.mark.parametrize(("roster", "error"), [(GONE[0], er.NotFoundError), (GONE[1], er.UnavailableError)])
async def test_what_is_new_needs_its_provider(roster: Roster, error: type[er.TenureError]) -> None:
    async with scene() as one:
        one.provider.faults = ["refused"]
        assert (await one.pull("tenure/y")).state == "absent"
        now_configured(one, roster)
        for head in ("tenure/x", "tenure/y"):  # one that proved absent would be called anew
            with pytest.raises(error):
                await one.pull(head)


async def test_the_recorded_key_with_other_parameters_is_refused_without_its_provider_too() -> None:
    async with scene() as one:
        await one.pull(key="the-change")
        now_configured(one, GONE[0])
        with pytest.raises(er.IdempotencyMismatchError):
            await one.pull("tenure/other", key="the-change")


async def test_what_cannot_be_asked_for_before_its_second_call_is_told_as_that_and_not_as_under_way() -> None:
    async with scene() as one:
        one.provider.faults = ["refused"]
        refused = await one.pull()
        one.provider.away = True
        async with asyncio.timeout(3):  # nobody waits for what is not under way
            told = await one.pull(wait_s=50)
        assert (told.effect_id, told.state, told.problem) == (refused.effect_id, "intended", "unavailable")
        assert told.reason == "the provider is away"
        assert (await one.now(told)).problem == "unavailable"
        assert one.provider.calls == 1
        one.provider.away = False
        assert (await one.pull()).state == "confirmed"


async def test_a_provider_that_is_gone_before_the_call_is_told_as_that() -> None:
    scope = Scope(
        kinds=SCOPE.kinds, targets=SCOPE.targets, branches=SCOPE.branches, approval=(EffectKind.PULL_REQUEST,)
    )
    async with scene(scope=scope) as one:
        waiting = await one.pull(wait_s=0)
        now_configured(one, GONE[0])
        (item,) = await one.lab.api.queries.attention(open_only=True, limit=100, after=None)
        decision = DecisionRequest(because="fine", item_version=item.version)
        await one.lab.effects.decide(ANN, waiting.effect_id, decision, approve=True)
        async with asyncio.timeout(3):
            told = await one.pull(wait_s=50)
        assert (told.state, told.problem, one.provider.calls) == ("intended", "not_found", 0)


class Late(FakeProvider):
    """Asked whether it has an Effect, it takes longer than the lease runs."""

    def __init__(self) -> None:
        super().__init__()
        self.meanwhile: Any = None

    async def find(self, call: Call) -> Found:
        if self.meanwhile is not None:
            self.meanwhile()
        return await super().find(call)


async def test_a_lease_that_ran_out_before_the_call_is_told_as_that_and_may_be_renewed() -> None:
    provider = Late()
    async with scene(provider) as one:
        provider.faults = ["refused"]
        await one.pull()
        provider.meanwhile = lambda: one.lab.clock.pass_s(31)
        async with asyncio.timeout(3):
            told = await one.pull(wait_s=50)
        assert (told.state, told.problem, provider.calls) == ("intended", "lease_expired", 1)
        assert "renewed" in (told.advice or "")
        provider.meanwhile = None
        await one.desk.renew(one.grant)
        assert (await one.pull()).state == "confirmed"


class Limiting(FakeProvider):
    """Limits our rate once, and says when to come back."""

    limits = 1

    async def apply(self, call: Call) -> Result:
        if self.limits:
            self.limits -= 1
            self.calls += 1
            raise er.UnavailableError("forge limits our rate", retry_after_s=120.0)
        return await super().apply(call)


async def test_a_provider_that_limits_our_rate_is_left_alone_as_long_as_it_says() -> None:
    provider = Limiting()
    async with scene(provider) as one:
        told = await one.pull()
        assert (told.state, told.problem, told.retry_after_s) == ("absent", "unavailable", 120.0)
        assert told.reason == "forge limits our rate; retry after 120 s"
        for head in ("tenure/x", "tenure/other"):  # it is us whom it limits, not the one Effect
            await one.desk.renew(one.grant)
            one.lab.pass_s(20)
            told = await one.pull(head)
            assert (told.state, told.problem) == ("intended", "unavailable")
        assert (told.retry_after_s, provider.calls, provider.looks) == (80.0, 1, 0)
        for _ in range(4):
            one.lab.pass_s(20.5)
            await one.desk.renew(one.grant)
        done = await one.pull()
        assert (done.state, done.retry_after_s, provider.calls) == ("confirmed", None, 2)


class Unbuildable(FakeProvider):
    """Has every Effect already, and its adapter fails at saying which."""

    async def apply(self, call: Call) -> Result:
        raise er.DuplicateEffectError("it is there already")

    async def find(self, call: Call) -> Found:
        raise KeyError("number")


async def test_a_bug_at_finding_a_duplicate_is_a_lost_answer_at_once() -> None:
    async with scene(Unbuildable()) as one:
        told = await one.becomes(await one.pull(wait_s=0), "in_doubt")
        assert told.reason is not None
        assert told.reason.startswith("it is there already")


async def test_a_call_that_cannot_be_built_is_not_issued(monkeypatch: pytest.MonkeyPatch) -> None:
    async with scene() as one:
        monkeypatch.delattr("tenure.hub.effects.caller.marker_of")
        async with asyncio.timeout(3):
            told = await one.pull(wait_s=50)
        assert (told.state, told.problem, told.calls) == ("intended", "fault", 0)
        monkeypatch.undo()
        assert (await one.pull()).state == "confirmed"


class Slow(FakeProvider):
    """Says late that it has it already, and hangs when it is asked which one it is."""

    left_s = 0.0

    def __init__(self, clock: Any) -> None:
        super().__init__()
        self.clock = clock

    async def apply(self, call: Call) -> Result:
        self.clock().pass_s(10)
        raise er.DuplicateEffectError("it is there already")

    async def find(self, call: Call) -> Found:
        self.left_s = self.left_s or call.deadline_s
        return await super().find(call)


async def test_the_question_which_one_it_is_has_what_is_left_of_the_calls_deadline() -> None:
    provider = Slow(lambda: one.lab.clock)
    async with scene(provider) as one:
        await one.pull(wait_s=0)
        await eventually_async(lambda: provider.left_s > 0)
        assert provider.left_s == 20


async def test_a_call_that_took_too_long_to_issue_is_not_sent() -> None:
    async with scene() as one:
        ledger = one.lab.hub.ledger
        plain = ledger.execute

        async def late(command: Any) -> Any:
            answer = await plain(command)
            if type(command).__name__ == "IssueEffect":
                one.lab.clock.pass_s(29.5)
            return answer

        late_ledger: Any = type("Late", (), {"execute": staticmethod(late), "find_many": ledger.find_many})()
        one.lab.hub.broker._ledger = late_ledger
        told = await one.pull()
        assert (told.state, told.problem, told.reason) == ("absent", "unavailable", "never sent: too late")
        assert one.provider.calls == 0


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("canceled", er.CanceledError),
        ("stale_fence", er.StaleFenceError),
        ("lease_expired", er.LeaseExpiredError),
        ("provider_refused", er.ProviderRefusedError),
        ("unavailable", er.UnavailableError),
        ("rejected", er.ForbiddenError),
        ("not_done", er.UnavailableError),
        (None, er.ConflictError),
    ],
)
async def test_a_push_that_was_not_done_is_the_error_of_its_code(
    code: str | None, kind: type[er.TenureError]
) -> None:
    async with scene() as one:
        one.provider.faults = ["refused"]
        body = replace(
            await one.pull(), problem=code, reason="stale_fence: is what its reason happens to begin with"
        )
        error = not_done(body)
        assert type(error) is kind
        assert error.facts["problem"] == (code or "conflict")


async def test_an_absent_effects_code_is_its_own_and_not_read_from_its_reason() -> None:
    async with scene() as one:
        one.provider.faults = ["refused"]
        refused = await one.pull()
        row = await one.lab.hub.ledger.find(Effect, refused.effect_id)
        assert row is not None
        assert (row.code, row.reason) == ("provider_refused", "422: no")
        assert (refused.problem, refused.reason) == ("provider_refused", "422: no")


@pytest.mark.parametrize(("how", "code"), [("canceled", "canceled"), ("ended", "stale_fence")])
async def test_one_that_was_stopped_before_its_call_says_which_stop_it_was(how: str, code: str) -> None:
    provider = Late()
    async with scene(provider) as one:
        provider.faults = ["refused"]
        refused = await one.pull()
        asked = asyncio.Event()
        provider.meanwhile = asked.set
        provider.away = True
        told = await one.pull(wait_s=0)
        await eventually_async(asked.is_set)
        assert told.effect_id == refused.effect_id
        if how == "ended":
            await one.desk.report(one.grant, Verdict.ASKED)
        else:
            provider.away = False
            await one.lab.api.cancel(ANN, one.task_id, "not wanted")
            one.lab.hub.broker.start(EffectId(told.effect_id))
        stopped = await one.becomes(told, "absent")
        assert stopped.problem == code
        assert stopped.advice is not None
        assert provider.calls == 1
