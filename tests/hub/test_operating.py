"""Accounts, pauses and circuits at the hub: what is shown, what is set, and what it does to work."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tenure.core.attempt import Outcome, Verdict
from tenure.core.failure import Evidence, FailureClass
from tenure.core.limits import INTEGER, REASON_LENGTH
from tenure.core.recipient import RecipientSpec
from tenure.core.usage import Usage
from tenure.errors import InvalidError, NotFoundError, TenureError, TooLargeError
from tenure.hub.account_desk import AccountDesk
from tenure.hub.operating_desk import OperatingDesk
from tenure.wire.accounts import (
    AccountBody,
    AccountRequest,
    CloseCircuitRequest,
    LimitsRequest,
    PauseBody,
    PauseRequest,
    ResumeRequest,
    TaskLimitsRequest,
)
from tests.eventually import eventually_async
from tests.hub.lab import ANN, Desk, Lab

DOLLAR = 1_000_000
CLAUDE = RecipientSpec("claude", "command", provider="acme")


def accounts(lab: Lab) -> AccountDesk:
    return AccountDesk(lab.hub)


def operating(lab: Lab) -> OperatingDesk:
    return OperatingDesk(lab.hub, lab.api.queries.node_named)


async def set_account(lab: Lab, account: str = "hub", because: str = "november", **asked: Any) -> AccountBody:
    return await accounts(lab).set(ANN, account, AccountRequest(because=because, **asked))


async def pause(lab: Lab, subject: str, because: str = "an update", *, drain: bool = False) -> PauseBody:
    return await operating(lab).pause(ANN, PauseRequest(subject=subject, because=because, drain=drain))


async def resume(lab: Lab, subject: str) -> PauseBody:
    return await operating(lab).resume(ANN, ResumeRequest(subject=subject))


async def busy(lab: Lab, node: Desk) -> str:
    """A Task whose Attempt met a provider without room."""
    evidence = msgspec.json.encode({"harness": Evidence(http_status=429, retry_after_s=600.0)}).decode()
    outcome = Outcome(
        Verdict.FAILED,
        summary="the quota is used up",
        failure_class=FailureClass.CAPACITY,
        failure_rule="http-busy",
        evidence=evidence,
    )
    task_id = await lab.submit()
    await node.report(await node.take(), outcome=outcome)
    return task_id


# -- accounts


async def test_the_hub_has_an_account_from_the_start_and_a_project_with_its_first_task() -> None:
    async with Lab().running() as lab:
        (hub,) = await accounts(lab).list()
        assert (hub.account, hub.weight, hub.running, hub.paused) == ("hub", 1, 0, None)
        assert (hub.inherits["attempts"].limit, hub.inherits["attempts"].source) == (5, "default")
        assert (hub.inherits["tokens"].limit, hub.inherits["tokens"].source) == (None, None)
        await lab.submit(project="shop")
        assert [one.account for one in await accounts(lab).list()] == ["hub", "project:shop"]
        assert (await accounts(lab).show("project:never-heard-of")).used.tokens == 0


async def test_limits_are_set_shown_and_inherited_dimension_by_dimension() -> None:
    async with Lab().running() as lab:
        await set_account(lab, per_task=TaskLimitsRequest(attempts=7, tokens=1000))
        shop = await set_account(
            lab,
            "project:shop",
            limits=LimitsRequest(cost_usd_micros=50 * DOLLAR, wall_s=3600),
            per_task=TaskLimitsRequest(attempts=2),
            share=LimitsRequest(cost_usd_micros=DOLLAR),
            weight=3,
        )
        assert (shop.limits.cost_usd_micros, shop.limits.wall_s, shop.left.wall_s) == (
            50 * DOLLAR,
            3600,
            3600,
        )
        assert (shop.share.cost_usd_micros, shop.weight, shop.replayed) == (DOLLAR, 3, False)
        found = {name: (one.limit, one.source) for name, one in shop.inherits.items()}
        assert found["attempts"] == (2, "project:shop")
        assert found["tokens"] == (1000, "hub")
        assert found["repeats"] == (3, "default")
        task = await accounts(lab).of_task(await lab.submit(project="shop"))
        assert (task.budget.attempts, task.budget.tokens, task.left["attempts"]) == (2, 1000, 1)
        assert (task.share.cost_usd_micros, task.share.wall_s) == (DOLLAR, 360)
        assert task.accounts == ("project:shop", "hub")


async def test_what_runs_is_reserved_and_what_ran_is_used() -> None:
    async with Lab().running() as lab:
        await set_account(lab, limits=LimitsRequest(cost_usd_micros=50 * DOLLAR))
        node = await lab.node()
        await lab.submit()
        grant = await node.take()
        hub = await accounts(lab).show("hub")
        assert (hub.reserved.cost_usd_micros, hub.running) == (5 * DOLLAR, 1)
        assert hub.left.cost_usd_micros == 45 * DOLLAR
        usage = Usage(cost_usd_micros=2 * DOLLAR, wall_s=3.5)
        await node.renew(grant, usage=usage)
        await node.report(grant, outcome=Outcome(Verdict.COMPLETED, usage=usage, tree_gone=True))
        hub = await accounts(lab).show("hub")
        assert (hub.reserved.cost_usd_micros, hub.used.cost_usd_micros, hub.used.wall_s) == (
            0,
            2 * DOLLAR,
            3.5,
        )
        assert (hub.left.cost_usd_micros, hub.running) == (48 * DOLLAR, 0)
        lab.pass_s(60)
        again = await set_account(lab, limits=LimitsRequest(cost_usd_micros=50 * DOLLAR))
        assert again.replayed
        reset = await set_account(lab, limits=LimitsRequest(cost_usd_micros=50 * DOLLAR), reset=True)
        assert (reset.used.cost_usd_micros, reset.replayed) == (0, False)
        assert reset.since_at > hub.since_at


@pytest.mark.parametrize(
    "asked",
    [
        {"limits": LimitsRequest(tokens=0)},
        {"limits": LimitsRequest(cost_usd_micros=-1)},
        {"limits": LimitsRequest(tool_calls=INTEGER + 1)},
        {"limits": LimitsRequest(wall_s=0)},
        {"limits": LimitsRequest(wall_s=INTEGER)},
        {"share": LimitsRequest(tokens=0)},
        {"share": LimitsRequest(wall_s=-5)},
        {"per_task": TaskLimitsRequest(attempts=0)},
        {"per_task": TaskLimitsRequest(rounds=-1)},
        {"per_task": TaskLimitsRequest(tokens=2**80)},
        {"weight": 0},
        {"weight": 1001},
        {"because": " "},
    ],
)
async def test_a_budget_of_nothing_less_than_nothing_or_too_much_is_refused(asked: dict[str, Any]) -> None:
    async with Lab().running() as lab:
        with pytest.raises(InvalidError):
            await set_account(lab, "project:shop", **asked)
        assert [one.account for one in await accounts(lab).list()] == ["hub"]


@pytest.mark.parametrize(
    "account", ["", "hubs", "project:", "project:a/b", "project:-a", "p:x", "project:" + "x" * 65]
)
async def test_an_account_is_the_hubs_or_a_projects(account: str) -> None:
    async with Lab().running() as lab:
        for asked in (accounts(lab).show(account), set_account(lab, account)):
            with pytest.raises(InvalidError):
                await asked


async def test_the_budget_of_a_task_that_is_not_there_is_not_found() -> None:
    async with Lab().running() as lab:
        with pytest.raises(NotFoundError):
            await accounts(lab).of_task("t_none")


# -- pauses


@pytest.mark.parametrize("subject", ["hub", "project:default", "node:laptop", "claude@laptop"])
async def test_nothing_new_starts_where_it_is_paused_and_what_runs_goes_on(subject: str) -> None:
    async with Lab().running() as lab:
        node = await lab.node("laptop", RecipientSpec("claude", "command", capacity=2))
        first = await lab.submit()
        grant = await node.take()
        body = await pause(lab, subject)
        assert body.paused is not None
        assert (body.paused.by, body.paused.because, body.paused.drain) == ("ann", "an update", False)
        assert (body.running, body.running_count) == ((f"{first}/1",), 1)
        await lab.submit()
        assert await node.claim() == []
        assert await node.report(grant) == "recorded"
        (listed,) = await operating(lab).pauses()
        assert (listed.subject, listed.running_count) == (subject, 0)
        gone = await resume(lab, subject)
        assert (gone.paused, gone.replayed) == (None, False)
        assert (await resume(lab, subject)).replayed
        assert len(await node.claim()) == 1


async def test_a_claim_that_waits_gets_work_when_the_pause_is_over() -> None:
    for subject in ("hub", "project:default", "node:laptop", "claude@laptop"):
        async with Lab().running() as lab:
            node = await lab.node()
            await pause(lab, subject)
            await lab.submit()
            claim = node.claiming()
            await eventually_async(lambda lab=lab: len(lab.hub.room._visits) == 1)
            await resume(lab, subject)
            assert len(await claim) == 1, subject


async def test_a_claim_that_waits_gets_work_when_a_circuit_is_closed() -> None:
    async with Lab().running() as lab:
        node = await lab.node("laptop", CLAUDE)
        await busy(lab, node)
        await lab.submit()
        claim = node.claiming()
        await eventually_async(lambda: len(lab.hub.room._visits) == 1)
        await operating(lab).close_circuit(ANN, CloseCircuitRequest(quota="acme", because="it is back"))
        assert len(await claim) == 1


async def test_paused_twice_it_is_paused_once_and_only_a_drain_is_news() -> None:
    async with Lab().running() as lab:
        assert not (await pause(lab, "hub", "the first")).replayed
        again = await pause(lab, "hub", "the second")
        assert again.replayed
        assert again.paused is not None
        assert again.paused.because == "the first"
        drained = await pause(lab, "hub", "for the update", drain=True)
        assert drained.paused is not None
        assert (drained.replayed, drained.paused.drain) == (False, True)
        assert (await pause(lab, "hub", "once more")).replayed


async def test_what_is_paused_is_listed_the_widest_first() -> None:
    async with Lab().running() as lab:
        await lab.node()
        for subject in ("claude@laptop", "node:laptop", "project:shop", "hub"):
            await pause(lab, subject)
        listed = await operating(lab).pauses()
        assert [one.subject for one in listed] == ["hub", "project:shop", "node:laptop", "claude@laptop"]
        (shown,) = await lab.api.queries.recipients(None, 10)
        assert shown.paused is not None
        (node,) = await lab.api.queries.nodes(None, 10)
        assert node.paused is not None
        assert not shown.available


async def test_a_drain_waits_only_for_what_runs_there() -> None:
    async with Lab().running() as lab:
        here = await lab.node("laptop")
        there = await lab.node("box", RecipientSpec("codex", "command"))
        mine = await lab.submit(project="shop")
        await here.take()
        other = await lab.submit(to="codex")
        await there.take()
        for subject, running in (
            ("hub", {mine, other}),
            ("project:shop", {mine}),
            ("project:default", {other}),
            ("node:box", {other}),
            ("claude@laptop", {mine}),
        ):
            body = await operating(lab).paused(subject)
            assert body.paused is None
            assert set(body.running) == {f"{one}/1" for one in running}


@pytest.mark.parametrize(
    ("subject", "error"),
    [
        ("", InvalidError),
        ("laptop", InvalidError),
        ("project:", InvalidError),
        ("project:a b", InvalidError),
        ("n_1", InvalidError),
        ("node:", NotFoundError),
        ("node:none", NotFoundError),
        ("claude@none", NotFoundError),
        ("@", NotFoundError),
    ],
)
async def test_what_is_not_there_cannot_be_paused_resumed_or_looked_at(
    subject: str, error: type[TenureError]
) -> None:
    async with Lab().running() as lab:
        for asked in (pause(lab, subject), resume(lab, subject), operating(lab).paused(subject)):
            with pytest.raises(error):
                await asked
        assert await operating(lab).pauses() == ()


async def test_a_pause_needs_a_reason_that_people_can_read() -> None:
    async with Lab().running() as lab:
        with pytest.raises(InvalidError):
            await pause(lab, "hub", "")
        with pytest.raises(TooLargeError):
            await pause(lab, "hub", "x" * (REASON_LENGTH + 1))


# -- circuits


async def test_a_circuit_shows_who_is_left_alone_until_when_and_why() -> None:
    async with Lab().running() as lab:
        node = await lab.node("laptop", CLAUDE, RecipientSpec("other", "command", provider="acme"))
        assert await operating(lab).circuits() == ()
        await busy(lab, node)
        (circuit,) = await operating(lab).circuits()
        assert (circuit.quota, circuit.open, circuit.failures) == ("acme", True, 1)
        assert circuit.because == "the quota is used up"
        assert circuit.recipients == ("claude@laptop", "other@laptop")
        assert circuit.until_at > circuit.opened_at
        shown = await lab.api.queries.recipients(None, 10)
        assert [(one.provider, one.circuit_until_at) for one in shown] == [("acme", circuit.until_at)] * 2
        await lab.submit()
        assert await node.claim() == []


async def test_a_person_who_knows_better_closes_a_circuit_and_work_goes_on() -> None:
    async with Lab().running() as lab:
        node = await lab.node("laptop", CLAUDE)
        await busy(lab, node)
        await lab.submit()
        asked = CloseCircuitRequest(quota="acme", because="the quota was raised")
        closed = await operating(lab).close_circuit(ANN, asked)
        assert (closed.open, closed.replayed) == (False, False)
        assert (await operating(lab).close_circuit(ANN, asked)).replayed
        assert await operating(lab).circuits() == ()
        assert len(await operating(lab).circuits(with_closed=True)) == 1
        assert len(await node.claim()) == 1


async def test_the_attempt_that_is_let_through_is_named_as_the_probe() -> None:
    async with Lab().running() as lab:
        node = await lab.node("laptop", CLAUDE)
        await busy(lab, node)
        lab.pass_s(601)
        grant = await node.take()
        (circuit,) = await operating(lab).circuits()
        assert circuit.probe == f"{grant.task_id}/{grant.number}"


async def test_a_circuit_that_is_not_there_cannot_be_closed_nor_one_without_a_reason() -> None:
    async with Lab().running() as lab:
        for quota in ("", "acme", "a/b"):
            with pytest.raises(NotFoundError):
                await operating(lab).close_circuit(ANN, CloseCircuitRequest(quota=quota, because="x"))
        with pytest.raises(InvalidError):
            await operating(lab).close_circuit(ANN, CloseCircuitRequest(quota="acme", because=""))
