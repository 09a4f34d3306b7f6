"""A commit that was made and of which nobody in the hub was told: each part of it finds out by itself.

The caller of that commit is told that its outcome is unknown, and may never come back. Whatever the hub does by itself must
go on all the same."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

import pytest

from tenure.core import commands as cm
from tenure.core.attempt import Verdict
from tenure.core.commands import Command
from tenure.core.decide import decide
from tenure.core.delivery import Now, Terms
from tenure.core.effect_commands import IssueEffect, SettleEffect
from tenure.core.recipient import RecipientSpec
from tenure.core.schedule_commands import AddSchedule
from tenure.errors import OutcomeUnknownError, UnauthenticatedError
from tenure.hub.effects import broker
from tenure.hub.effects.registry import Registry
from tenure.ledger.batch import Judge
from tenure.ledger.group_commit import Ran
from tenure.ledger.memory import MemoryEngine, MemoryLedger, MemoryParts
from tenure.ledger.port import Recorded
from tenure.wire import api
from tests.eventually import eventually_async, eventually_so
from tests.hub.fake_provider import FakeProvider
from tests.hub.lab import ANN, Lab, at_once
from tests.hub.test_effects import Scene
from tests.hub.test_feed import collect
from tests.hub.test_schedules import add, tasks

WIDE = RecipientSpec("claude", "command", capacity=9)


class LosingEngine(MemoryEngine):
    """Makes every commit, and loses the result of the next one that has a command of the kind `loses`."""

    def __init__(self, terms: Terms) -> None:
        super().__init__(Judge(decide, terms))
        self.loses: type[Command] | None = None
        self.always = False

    def run(self, commands: Sequence[Command], now: Now) -> Ran:
        ran = super().run(commands, now)
        if self.loses is not None and any(isinstance(one, self.loses) for one in commands):
            self.loses = self.loses if self.always else None
            raise OutcomeUnknownError("COMMIT failed, and the disk does not say whether it was made")
        return ran


@asynccontextmanager
async def losing(terms: Terms | None = None) -> AsyncGenerator[tuple[Lab, LosingEngine]]:
    engine = LosingEngine(terms or Terms())

    def in_memory(lab: Lab) -> MemoryLedger:
        parts = MemoryParts(run=at_once, clock=lab.clock, hub=lab.incarnation, terms=lab.terms)
        return MemoryLedger(parts, engine)

    lab = Lab(terms, in_memory)
    lab.registry = Registry({"forge": FakeProvider()})
    async with lab.running():
        yield lab, engine


async def is_why(lab: Lab, task_id: str, code: str) -> None:
    async def so() -> bool:
        return await lab.why(task_id) == code

    await eventually_so(so)


async def test_a_node_that_waits_gets_a_task_whose_submit_was_not_heard_of() -> None:
    async with losing() as (lab, engine):
        desk = await lab.node()
        waiting = desk.claiming()
        await eventually_async(lambda: bool(lab.hub.room._visits))
        engine.loses = cm.Submit
        with pytest.raises(OutcomeUnknownError):
            await lab.submit()
        assert len(await asyncio.wait_for(waiting, 10)) == 1


async def test_a_task_that_waits_for_one_whose_end_was_not_heard_of_is_let_go() -> None:
    async with losing() as (lab, engine):
        desk = await lab.node()
        first = await lab.submit()
        behind = await lab.submit(after=(first,))
        grant = await desk.take()
        engine.loses = cm.Report
        with pytest.raises(OutcomeUnknownError):
            await desk.report(grant)
        await is_why(lab, behind, "ready")


async def test_a_task_held_for_a_key_is_let_go_where_its_release_was_not_heard_of() -> None:
    async with losing() as (lab, engine):
        desk = await lab.node("laptop", WIDE)
        await lab.submit(concurrency_key="repo")
        grant = await desk.take()
        held = await lab.submit(concurrency_key="repo")
        assert await desk.claim() == []
        assert await lab.why(held) != "ready"
        engine.loses = cm.Report
        with pytest.raises(OutcomeUnknownError):
            await desk.report(grant, Verdict.COMPLETED)
        await is_why(lab, held, "ready")


async def test_a_lease_whose_receipt_was_not_heard_of_still_runs_out() -> None:
    async with losing(Terms(offer_ttl_ms=3_600_000, lease_ttl_ms=5_000)) as (lab, engine):
        await lab.submit()
        desk = await lab.node()
        (grant,) = await desk.claim()
        ends_at_ms = lab.clock.wall_ms() + 5_000
        engine.loses = cm.Acknowledge
        with pytest.raises(OutcomeUnknownError):
            await desk.ack(grant)
        await eventually_async(lambda: lab.hub._due.alarm._until_ms == ends_at_ms)


async def test_a_deadline_that_was_not_heard_of_is_kept() -> None:
    async with losing() as (lab, engine):
        engine.loses = cm.Submit
        ends_at_ms = lab.clock.wall_ms() + 60_000
        with pytest.raises(OutcomeUnknownError):
            await lab.submit(deadline_at="2027-01-15T08:01:00.000Z")
        assert ends_at_ms == 1_800_000_060_000
        await eventually_async(lambda: lab.hub._deadline.alarm._until_ms == ends_at_ms)


async def test_a_schedule_that_was_not_heard_of_fires() -> None:
    async with losing() as (lab, engine):
        engine.loses = AddSchedule
        with pytest.raises(OutcomeUnknownError):
            await add(lab, cron="* * * * *")
        await eventually_async(lambda: lab.hub._schedule.alarm._until_ms == lab.clock.wall_ms() + 60_000)
        lab.pass_s(60)

        async def fired() -> bool:
            return len(await tasks(lab)) == 1

        await eventually_so(fired)


async def test_a_token_whose_revocation_was_not_heard_of_is_refused_at_the_next_request() -> None:
    async with losing() as (lab, engine):
        issued = await lab.api.issue_token(ANN, api.TokenRequest(name="bob", role="viewer"))
        assert (await lab.hub.access.authenticate(f"Bearer {issued.token}")).name == "bob"
        engine.loses = cm.RevokeCredential
        with pytest.raises(OutcomeUnknownError):
            await lab.api.revoke_token(ANN, issued.credential_id)
        with pytest.raises(UnauthenticatedError):
            await lab.hub.access.authenticate(f"Bearer {issued.token}")


async def test_a_live_stream_ends_although_the_revocation_of_its_token_was_not_heard_of() -> None:
    async with losing() as (lab, engine):
        issued = await lab.api.issue_token(ANN, api.TokenRequest(name="bob", role="viewer"))
        header = f"Bearer {issued.token}"
        seen: list[Recorded] = []

        async def read() -> None:
            async for found in lab.hub.feed.follow(None, 0, counts=lambda: lab.hub.access.counts(header)):
                seen.extend(found)

        reading = asyncio.ensure_future(read())
        await eventually_async(lambda: bool(seen))
        engine.loses = cm.RevokeCredential
        with pytest.raises(OutcomeUnknownError):
            await lab.api.revoke_token(ANN, issued.credential_id)
        await asyncio.wait_for(reading, 10)


async def test_whoever_follows_the_record_reads_what_was_not_heard_of() -> None:
    async with losing() as (lab, engine):
        seen: list[Recorded] = []
        await lab.submit()
        reading = asyncio.ensure_future(collect(lab, None, 0, seen))
        await eventually_async(lambda: bool(seen))
        engine.loses = cm.Submit
        with pytest.raises(OutcomeUnknownError):
            await lab.submit()
        await eventually_async(lambda: sum(one.kind == "task_submitted" for one in seen) == 2)
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)


async def test_whoever_waits_for_an_effect_hears_of_an_end_that_nobody_was_told() -> None:
    async with losing() as (lab, engine):
        one = Scene(lab, FakeProvider())
        await one.start()
        engine.loses = SettleEffect
        assert (await asyncio.wait_for(one.pull(wait_s=30.0), 10)).state == "confirmed"


async def test_a_call_whose_issue_was_never_heard_of_is_found_out_about(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The broker cannot tell that it may call, and calls nobody; in the record the call is under way."""
    monkeypatch.setattr(broker, "SETTLE_PAUSES_S", (0.0, 0.0))
    async with losing() as (lab, engine):
        one = Scene(lab, FakeProvider())
        await one.start()
        engine.loses, engine.always = IssueEffect, True
        effect = await one.pull(wait_s=0.0)
        await eventually_so(lambda: is_state(one, effect.effect_id, "issued"))
        engine.loses, engine.always = None, False
        await eventually_so(lambda: has_ended(one, effect.effect_id))
        assert one.provider.calls == 0


async def is_state(one: Scene, effect_id: str, state: str) -> bool:
    return (await one.lab.effects.one(effect_id)).state == state


async def has_ended(one: Scene, effect_id: str) -> bool:
    await one.desk.renew(one.grant)
    one.lab.pass_s(5)
    return (await one.lab.effects.one(effect_id)).state == "absent"
