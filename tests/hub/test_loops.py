"""What happens by itself: time, released dependents, clocks, and a store that is away for a while."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tenure.core import events as ev
from tenure.core.attempt import Verdict
from tenure.core.delivery import Terms
from tenure.core.desk_commands import StopAttempt
from tenure.core.ids import TaskId
from tenure.core.recipient import RecipientSpec
from tenure.errors import UnavailableError
from tenure.hub.alarm import Alarm
from tenure.hub.loops import endurance
from tenure.hub.loops.clock import ClockLoop
from tenure.ledger.port import Committed
from tenure.wire.recovery import RetryRequest
from tests.eventually import eventually_async
from tests.hub.lab import ANN, HandClock, Lab


async def until_why(lab: Lab, task_id: str, code: str) -> None:
    async def come() -> None:
        while await lab.why(task_id) != code:
            await asyncio.sleep(0)

    await asyncio.wait_for(come(), 10)


async def test_an_offer_that_runs_out_is_voided_and_made_again() -> None:
    async with Lab().running() as lab:
        task_id = await lab.submit()
        desk = await lab.node()
        (grant,) = await desk.claim()
        lab.pass_s(10)
        await until_why(lab, task_id, "ready")
        assert (await desk.ack(grant)).answer == "stale_fence"
        (again,) = await desk.claim()
        assert (again.number, again.fence > grant.fence) == (1, True)


async def test_a_silent_node_loses_its_lease_in_two_steps_and_the_outcome_is_unknown() -> None:
    async with Lab().running() as lab:
        task_id = await lab.submit()
        desk = await lab.node()
        await desk.take()
        lab.pass_s(30)
        await until_why(lab, task_id, "suspect")
        lab.pass_s(60)
        await until_why(lab, task_id, "unknown")
        (item,) = await lab.api.queries.attention(open_only=True, limit=10)
        assert set(item.answers) == {"rerun", "retire", "investigate"}


async def test_a_sweep_of_many_leases_lets_a_claim_in_between() -> None:
    lab = Lab()
    async with lab.running():
        desk = await lab.node("fleet", RecipientSpec("claude", "command", capacity=100))
        for _ in range(100):
            await lab.submit(to="claude@fleet")
        for grant in await desk.claim(free=100):
            await desk.ack(grant)
        await lab.submit(to="codex")
        other = await lab.node("other", RecipientSpec("codex", "command"))
        kinds: list[type] = []
        claims: list[asyncio.Future[Any]] = []

        def heard(committed: Committed) -> None:
            kinds.extend(type(fact) for fact in committed.facts)
            if not claims:
                claims.append(asyncio.ensure_future(other.claim()))

        lab.hub.ledger.subscribe(heard)
        lab.pass_s(30)
        await eventually_async(lambda: kinds.count(ev.LeaseExpired) == 100)
        assert len(await claims[0]) == 1
    assert kinds.index(ev.DeliveryGranted) < 50


async def test_a_suspect_that_renews_goes_on_under_the_same_fence() -> None:
    async with Lab().running() as lab:
        task_id = await lab.submit()
        desk = await lab.node()
        grant = await desk.take()
        lab.pass_s(30)
        await until_why(lab, task_id, "suspect")
        assert (await desk.ack(grant)).answer == "lease_expired"
        assert (await desk.renew(grant)).answer == "renewed"
        assert await desk.report(grant) == "recorded"
        assert await lab.state(task_id) == "completed"


async def test_the_grace_of_a_cancellation_ends_before_the_lease() -> None:
    lab = Lab(Terms(lease_ttl_ms=3_600_000, cancel_grace_ms=5_000))
    async with lab.running():
        task_id = await lab.submit()
        desk = await lab.node()
        await desk.take()
        await lab.api.cancel(ANN, task_id, "")
        lab.pass_s(5)
        await until_why(lab, task_id, "ended")
        attempt = await lab.attempt(task_id)
        assert (await lab.state(task_id), attempt.verdict) == ("canceled", "unknown")


async def test_the_grace_of_a_stop_ends_before_the_lease() -> None:
    lab = Lab(Terms(lease_ttl_ms=3_600_000, cancel_grace_ms=5_000))
    async with lab.running():
        task_id = await lab.submit()
        desk = await lab.node()
        grant = await desk.take()
        await desk.renew(grant)
        await settle(lab)
        await lab.hub.execute(StopAttempt(TaskId(task_id), 1, "ann", "it does harm"))
        await settle(lab)
        assert lab.hub._due.alarm._until_ms == lab.clock.wall_ms() + 5_000
        lab.pass_s(5)
        await until_why(lab, task_id, "unknown")


async def test_a_restart_never_costs_a_lease() -> None:
    lab = Lab()
    async with lab.running():
        task_id = await lab.submit()
        desk = await lab.node()
        grant = await desk.take()
    lab.clock.pass_s(3600)
    async with lab.running():
        await settle(lab)
        assert await lab.why(task_id) == "starting"
        assert (await desk.renew(grant)).answer == "renewed"


async def settle(lab: Lab) -> None:
    for _ in range(200):
        await asyncio.sleep(0)


async def test_what_is_not_due_by_waking_time_is_asked_again_and_not_in_a_hot_loop() -> None:
    lab = Lab()
    async with lab.running():
        await lab.submit()
        desk = await lab.node()
        await desk.take()
    lab.clock.pass_s(3600)
    asked: list[int] = []
    async with lab.running():
        due = lab.hub.ledger.due

        async def counted(now_ms: int, limit: int) -> Any:
            asked.append(now_ms)
            return await due(now_ms, limit)

        lab.hub.ledger.due = counted
        await settle(lab)
        assert len(asked) <= 1
        lab.clock.pass_s(30)
        lab.hub._clock_jumped()
        await eventually_async(lambda: lab.hub._due.alarm._until_ms > lab.clock.wall_ms())
        assert len(asked) <= 4


async def test_dependents_start_when_what_they_wait_for_has_completed() -> None:
    async with Lab().running() as lab:
        first = await lab.submit(to="claude")
        second = await lab.submit(after=(first,))
        assert await lab.why(second) == "dependency"
        desk = await lab.node()
        grant = await desk.take()
        await desk.report(grant)
        await until_why(lab, second, "ready")


async def test_dependents_of_a_failed_task_wait_until_it_is_continued() -> None:
    async with Lab().running() as lab:
        first = await lab.submit(policy="once")
        second = await lab.submit(after=(first,))
        desk = await lab.node()
        await desk.report(await desk.take(), Verdict.FAILED)
        await until_why(lab, second, "dependency_failed")
        again = await lab.api.retry(ANN, first, RetryRequest(because="the disk is larger now"))
        assert again.continues == first
        await desk.report(await desk.take())
        await until_why(lab, second, "ready")


async def test_whoever_was_not_told_before_a_crash_is_told_at_the_next_start() -> None:
    lab = Lab()
    async with lab.running():
        first = await lab.submit()
        second = await lab.submit(after=(first,))
        desk = await lab.node()
        grant = await desk.take()
        for loop in lab.hub._loops:
            loop.cancel()  # the hub dies right after the end was committed
        await desk.report(grant)
        await settle(lab)
        assert await lab.why(second) == "dependency"
    async with lab.running():
        await until_why(lab, second, "node_offline")


async def test_a_loop_survives_a_store_that_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endurance, "FIRST_PAUSE_S", 0.001)
    async with Lab().running() as lab:
        first = await lab.submit()
        second = await lab.submit(after=(first,))
        desk = await lab.node()
        grant = await desk.take()
        dependents_of, failures = lab.hub.ledger.dependents_of, []

        async def away(task_id: Any, **how: Any) -> Any:
            if len(failures) < 3:
                failures.append(task_id)
                raise UnavailableError("the disk is gone for a moment")
            return await dependents_of(task_id, **how)

        lab.hub.ledger.dependents_of = away
        await desk.report(grant)
        await until_why(lab, second, "ready")
        assert failures == [first]


async def test_a_turn_that_fails_in_an_unforeseen_way_does_not_end_the_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(endurance, "FIRST_PAUSE_S", 0.001)
    turns: list[int] = []
    enough = asyncio.Event()

    async def turn() -> None:
        turns.append(1)
        if len(turns) == 3:
            enough.set()
            await asyncio.Event().wait()
        raise ValueError("one bad row")

    loop = asyncio.ensure_future(endurance.run_enduring("test", turn, lambda: None))
    await asyncio.wait_for(enough.wait(), 10)
    loop.cancel()
    await asyncio.gather(loop, return_exceptions=True)


async def test_a_stepped_wall_clock_is_put_before_a_person() -> None:
    async with Lab().running() as lab:
        jumps: list[int] = []
        loop = ClockLoop(lab.hub.ledger, lab.clock, lambda: jumps.append(1))
        lab.clock.pass_s(5)
        await loop.look()
        assert jumps == []
        lab.clock.wall += 3_600_000
        await loop.look()
        (item,) = await lab.api.queries.attention(open_only=True, limit=10)
        assert (item.kind, item.answers) == (
            "clock_stepped",
            {"close": "closes the question; nothing else changes"},
        )
        assert jumps == [1]
        await loop.look()
        assert jumps == [1]


async def test_a_suspended_machine_wakes_the_loops_and_asks_nobody() -> None:
    async with Lab().running() as lab:
        jumps: list[int] = []
        loop = ClockLoop(lab.hub.ledger, lab.clock, lambda: jumps.append(1))
        lab.clock.wall += 3_600_000
        lab.clock.boot += 3_600_000
        await loop.look()
        assert jumps == [1]
        assert await lab.api.queries.attention(open_only=True, limit=10) == ()


async def test_a_step_is_not_swallowed_by_a_store_that_is_away() -> None:
    async with Lab().running() as lab:
        loop = ClockLoop(lab.hub.ledger, lab.clock, lambda: None)
        lab.clock.wall += 3_600_000
        execute = lab.hub.ledger.execute

        async def away(command: Any) -> Any:
            raise UnavailableError("away")

        lab.hub.ledger.execute = away
        with pytest.raises(UnavailableError):
            await loop.look()
        lab.hub.ledger.execute = execute
        await loop.look()
        assert len(await lab.api.queries.attention(open_only=True, limit=10)) == 1


async def test_the_hub_is_ready_only_while_every_loop_runs() -> None:
    lab = Lab()
    async with lab.running():
        await lab.hub.check()
        lab.hub._loops[0].cancel()
        await asyncio.gather(lab.hub._loops[0], return_exceptions=True)
        with pytest.raises(UnavailableError):
            await lab.hub.check()
    with pytest.raises(UnavailableError):
        await lab.hub.check()


class TestAlarm:
    async def test_an_instant_that_is_named_while_a_loop_computes_counts(self) -> None:
        clock = HandClock()
        alarm = Alarm(clock)
        alarm.begin()
        alarm.no_later_than(clock.wall_ms())
        await asyncio.wait_for(alarm.sleep(clock.wall_ms() + 10_000_000), 10)

    async def test_an_earlier_instant_shortens_a_sleep_and_a_later_one_does_not(self) -> None:
        clock = HandClock()
        alarm = Alarm(clock)
        alarm.begin()
        sleeping = asyncio.ensure_future(alarm.sleep(clock.wall_ms() + 60_000))
        await asyncio.sleep(0)
        alarm.no_later_than(clock.wall_ms() + 90_000)
        await asyncio.sleep(0)
        assert not sleeping.done()
        alarm.no_later_than(clock.wall_ms() - 1)
        await asyncio.wait_for(sleeping, 10)

    async def test_a_sleep_without_an_instant_ends_when_it_is_rung(self) -> None:
        alarm = Alarm(HandClock())
        alarm.begin()
        sleeping = asyncio.ensure_future(alarm.sleep(None))
        await asyncio.sleep(0)
        assert not sleeping.done()
        alarm.ring()
        await asyncio.wait_for(sleeping, 10)
