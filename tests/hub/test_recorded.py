"""A record that fails after a request's commit: "unavailable" means that nothing happened, so nobody may be told that."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tenure.core.access import Role
from tenure.core.budget import Budget
from tenure.core.commands import Command, Refusal, Reply
from tenure.core.effect_commands import IssueEffect, SettleEffect
from tenure.core.ids import EffectId
from tenure.errors import OutcomeUnknownError, StorageFailedError, TenureError, UnavailableError
from tenure.hub.access import Principal
from tenure.hub.account_desk import AccountDesk
from tenure.hub.effects.registry import Registry
from tenure.hub.operating_desk import OperatingDesk
from tenure.hub.policy_desk import PolicyDesk
from tenure.hub.schedule_desk import ScheduleDesk
from tenure.ledger.port import Ledger
from tenure.wire import api
from tenure.wire.accounts import AccountRequest, LimitsRequest, PauseRequest, ResumeRequest
from tenure.wire.policies import ChoiceRequest, PolicyRequest
from tenure.wire.recovery import RaiseRequest
from tenure.wire.schedules import ScheduleRequest
from tests.hub.fake_provider import FakeProvider
from tests.hub.lab import ANN, CREDENTIAL, Desk, Lab
from tests.hub.test_effects import Scene

OF_THE_BROKER = (IssueEffect, SettleEffect)


class FailsAfterCommit:
    """The ledger; from the first commit on that somebody asks for it can be read no more, and with `writes` not be written
    either. It is whole until `armed`."""

    def __init__(self, ledger: Any) -> None:
        self._ledger = ledger
        self.armed = False
        self.writes = False
        self.committed: list[Command] = []

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._ledger, name)
        if not self.committed or name in ("subscribe", "now", "close", "check") or not callable(found):
            return found
        raise StorageFailedError("the disk cannot be read")

    async def execute(self, command: Command) -> Reply:
        if self.committed and self.writes:
            raise StorageFailedError("the disk cannot be written")
        reply = await self._ledger.execute(command)
        if self.armed and not isinstance(reply, Refusal) and not isinstance(command, OF_THE_BROKER):
            self.committed.append(command)
        return reply

    async def execute_many(self, commands: Sequence[Command]) -> list[Reply]:
        replies = await self._ledger.execute_many(commands)
        if self.armed:
            self.committed += commands
        return replies


class World:
    """A hub whose record will fail, a node with an Attempt, and the desks."""

    def __init__(self) -> None:
        self.lab = Lab(ledger=self._ledger)
        self.lab.registry = Registry({"forge": FakeProvider()})
        self.scene = Scene(self.lab, FakeProvider())
        self.ledger: FailsAfterCommit

    def _ledger(self, lab: Lab) -> Ledger:
        failing: Any = FailsAfterCommit(Lab.in_memory(lab))
        self.ledger = failing
        return failing


@asynccontextmanager
async def world() -> AsyncGenerator[World]:
    one = World()
    async with one.lab.running():
        await one.scene.start()
        await one.lab.submit()
        yield one


Deed = Callable[[World], Awaitable[object]]


async def token_of(one: World) -> str:
    asked = api.TokenRequest(name="bob", role="viewer")
    return (await one.lab.api.issue_token(ANN, asked)).credential_id


async def submits_again(one: World) -> object:
    one.ledger.armed = False
    await one.lab.submit("a key")
    one.ledger.armed = True
    return await one.lab.submit("a key")


async def rotates(one: World) -> object:
    one.ledger.armed = False
    credential_id = await token_of(one)
    one.ledger.armed = True
    asked = api.TokenRotateRequest(token="tnr_" + "n" * 43)
    return await one.lab.api.rotate_token(ANN, credential_id, asked)


def operating(one: World) -> OperatingDesk:
    return OperatingDesk(one.lab.hub, one.lab.api.queries.node_named)


def raises_budget(one: World) -> Awaitable[object]:
    asked = RaiseRequest(more=Budget(attempts=1), because="one more")
    return one.lab.api.raise_budget(ANN, one.scene.task_id, asked)


def stores_policy(one: World) -> Awaitable[object]:
    return PolicyDesk(one.lab.hub).store(ANN, PolicyRequest(name="own", version=1, extends="default"))


def chooses_policy(one: World) -> Awaitable[object]:
    return PolicyDesk(one.lab.hub).choose(
        ANN, ChoiceRequest(subject="hub", policy="default/1", because="it is good")
    )


def sets_account(one: World) -> Awaitable[object]:
    asked = AccountRequest(limits=LimitsRequest(tokens=5), because="enough")
    return AccountDesk(one.lab.hub).set(ANN, "hub", asked)


def adds_schedule(one: World) -> Awaitable[object]:
    task = api.TaskRequest(objective="do it", to="claude")
    return ScheduleDesk(one.lab.hub).add(
        ANN, ScheduleRequest(name="nightly", cron="* * * * *", zone="UTC", task=task)
    )


DEEDS: dict[str, Deed] = {
    "submit again": submits_again,
    "raise the budget": raises_budget,
    "rotate a token": rotates,
    "an effect": lambda one: one.scene.pull(wait_s=0.0),
    "set an account": sets_account,
    "pause": lambda one: operating(one).pause(ANN, PauseRequest(subject="hub", because="a moment")),
    "resume": lambda one: operating(one).resume(ANN, ResumeRequest(subject="hub", because="go on")),
    "add a schedule": adds_schedule,
    "store a policy": stores_policy,
    "choose a policy": chooses_policy,
    "claim": lambda one: Desk.claim(one.scene.desk),
}


@pytest.mark.parametrize("deed", DEEDS)
async def test_whoever_has_changed_the_record_is_never_told_that_nothing_happened(deed: str) -> None:
    async with world() as one:
        if deed == "claim":
            await one.scene.desk.report(one.scene.grant)
            await one.scene.desk.who()
        one.ledger.armed = True
        with pytest.raises(TenureError) as caught:
            await DEEDS[deed](one)
        assert one.ledger.committed
        assert isinstance(caught.value, OutcomeUnknownError)
        assert "is recorded" in caught.value.message


async def test_a_node_whose_name_was_taken_is_not_told_that_nothing_happened() -> None:
    async with world() as one:
        one.ledger.armed = one.ledger.writes = True
        other = Desk(one.lab, "other", CREDENTIAL + "other", ())
        with pytest.raises(OutcomeUnknownError):
            await other.start(Principal("join", Role.JOIN))
        one.ledger.committed.clear()
        one.ledger.writes = False
        one.ledger.armed = False
        assert (await other.start(Principal("join", Role.JOIN))).node_id


async def test_a_record_that_fails_before_the_commit_says_that_nothing_happened() -> None:
    async with world() as one:
        one.ledger.committed.append(IssueEffect(EffectId("e_1"), "call_1", 1))
        one.ledger.writes = True
        with pytest.raises(UnavailableError):
            await one.lab.submit()
