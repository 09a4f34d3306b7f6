"""What decisions about recovery look at is loaded ahead, however many come at once and however they go."""

from __future__ import annotations

import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from tenure.core import commands as cm
from tenure.core import desk_commands as dc
from tenure.core.attempt import Answer, Outcome, Usage, Verdict
from tenure.core.attention import AttentionKind, item_id
from tenure.core.budget import Budget
from tenure.core.canonical import digest
from tenure.core.delivery import Delivery, Progress
from tenure.core.failure import FailureClass
from tenure.core.ids import TaskId, attempt_id
from tenure.core.review import About, Ruling
from tests.ledger.desk import Desk, HandClock, sqlite_ledger
from tests.ledger.test_loading import Watch

Commands = list[cm.Command]


async def held(desk: Desk, size: int, **spec: Any) -> list[Delivery]:
    """So many Deliveries, each of a Task of its own, whose receipts were accepted."""
    await desk.ledger.execute_many([desk.submission(**spec) for _ in range(size)])
    deliveries = await desk.claim(size)
    assert len(deliveries) == size
    await desk.ledger.execute_many([cm.Acknowledge(desk.proof(one), "receipt") for one in deliveries])
    return deliveries


def failing(failure_class: FailureClass, **spec: Any) -> Callable[[Desk, int], Awaitable[Commands]]:
    async def make(desk: Desk, size: int) -> Commands:
        return [desk.failing(one, failure_class) for one in await held(desk, size, **spec)]

    return make


def ending(verdict: Verdict, **spec: Any) -> Callable[[Desk, int], Awaitable[Commands]]:
    async def make(desk: Desk, size: int) -> Commands:
        return [desk.reporting(one, verdict) for one in await held(desk, size, **spec)]

    return make


async def failed(desk: Desk, size: int, failure_class: FailureClass, **spec: Any) -> list[TaskId]:
    """Tasks whose first Attempt has failed like this."""
    deliveries = await held(desk, size, **spec)
    await desk.ledger.execute_many([desk.failing(one, failure_class) for one in deliveries])
    return [one.task_id for one in deliveries]


async def out_of_budget(desk: Desk, size: int) -> Commands:
    budget = Budget(attempts=1)
    return [desk.failing(one, FailureClass.EXECUTOR_LOST) for one in await held(desk, size, budget=budget)]


async def stops(desk: Desk, size: int) -> Commands:
    return [dc.StopAttempt(one.task_id, 1, "ann", "look first") for one in await held(desk, size)]


async def reports_of_stopped_ones(desk: Desk, size: int) -> Commands:
    deliveries = await held(desk, size)
    await desk.ledger.execute_many([dc.StopAttempt(one.task_id, 1, "ann", "x") for one in deliveries])
    return [desk.reporting(one, Verdict.CANCELED) for one in deliveries]


async def renewals_that_overrun(desk: Desk, size: int) -> Commands:
    deliveries = await held(desk, size, budget=Budget(tokens=10))
    usage = Usage(input_tokens=9)
    return [cm.Renew(desk.proof(one), 1, Progress(events=1), usage) for one in deliveries]


async def revocations(desk: Desk, size: int) -> Commands:
    deliveries = await held(desk, size)
    desk.clock.pass_s(31)
    await desk.ledger.execute_many([cm.Due(one.delivery_id) for one in deliveries])
    desk.clock.pass_s(61)
    return [cm.Due(one.delivery_id) for one in deliveries]


async def retries(desk: Desk, size: int) -> Commands:
    tasks = await failed(desk, size, FailureClass.AUTHORIZATION)
    return [cm.Retry(one, "ann", "it may now") for one in tasks]


async def raises(desk: Desk, size: int) -> Commands:
    tasks = await failed(desk, size, FailureClass.EXECUTOR_LOST, budget=Budget(attempts=1))
    return [dc.RaiseBudget(one, Budget(attempts=2), None, "ann", "two more") for one in tasks]


async def ends_by_a_person(desk: Desk, size: int) -> Commands:
    tasks = await failed(desk, size, FailureClass.AUTHORIZATION)
    items = [item_id(AttentionKind.AUTHORIZATION, attempt_id(one, 1)) for one in tasks]
    return [dc.GiveUp(task, item, 1, "ann", "enough") for task, item in zip(tasks, items, strict=True)]


async def challenges(desk: Desk, size: int) -> Commands:
    deliveries = await held(desk, size)
    await desk.ledger.execute_many([desk.reporting(one) for one in deliveries])
    return [dc.Challenge(one.task_id, 1, About.CLAIM, "bob", "no test runs") for one in deliveries]


async def answers_to_challenges(desk: Desk, size: int) -> Commands:
    commands = await challenges(desk, size)
    await desk.ledger.execute_many(commands)
    tasks = [one.task_id for one in commands if isinstance(one, dc.Challenge)]
    return [dc.AnswerChallenge(one, 1, Ruling.UPHELD, "ann", "none indeed") for one in tasks]


async def claims_of_those_with_keys(desk: Desk, size: int) -> Commands:
    keys = [desk.fresh("key") for _ in range(size)]
    await desk.ledger.execute_many([desk.submission(concurrency_key=one) for one in keys])
    return [desk.claiming(size)]


async def claims_that_hold(desk: Desk, size: int) -> Commands:
    keys = [desk.fresh("key") for _ in range(size)]
    await desk.ledger.execute_many([desk.submission(concurrency_key=one) for one in keys])
    assert len(await desk.claim(size)) == size
    await desk.ledger.execute_many([desk.submission(concurrency_key=one) for one in keys])
    return [desk.claiming(size)]


async def reconsiderations(desk: Desk, size: int) -> Commands:
    (claim,) = await claims_that_hold(desk, size)
    await desk.ledger.execute(claim)
    waiting = [
        one for key in await desk.ledger.held_subjects(500) for one in await desk.ledger.held_on(key, 9)
    ]
    holders = [one for one in await desk.ledger.deliveries_of_node(desk.node) if one.ended_at_ms is None]
    await desk.ledger.execute_many([cm.Cancel(one.task_id, "ann", "make room") for one in holders])
    assert len(waiting) == size
    return [dc.Reconsider(one.task_id) for one in waiting]


async def deadlines_of_running(desk: Desk, size: int) -> Commands:
    at_ms = desk.clock.wall_ms() + 20_000
    deliveries = await held(desk, size, deadline_ms=at_ms)
    desk.clock.ms = at_ms
    return [dc.DueTask(one.task_id) for one in deliveries]


async def deadlines_of_waiting(desk: Desk, size: int) -> Commands:
    at_ms = desk.clock.wall_ms() + 20_000
    submissions = [desk.submission(deadline_ms=at_ms, route="nobody") for _ in range(size)]
    await desk.ledger.execute_many(submissions)
    desk.clock.ms = at_ms
    return [dc.DueTask(one.task_id) for one in submissions]


async def reruns(desk: Desk, size: int) -> Commands:
    deliveries = await held(desk, size)
    outcome = Outcome(Verdict.UNKNOWN, tree_gone=True)
    reports = [cm.Report(desk.proof(one), digest(outcome), outcome) for one in deliveries]
    await desk.ledger.execute_many(reports)
    return [cm.Reconcile(one.task_id, 1, Answer.RERUN, 1, "ann", "I looked") for one in deliveries]


async def refusals_of_offers(desk: Desk, size: int) -> Commands:
    await desk.ledger.execute_many([desk.submission() for _ in range(size)])
    deliveries = await desk.claim(size)
    return [cm.Acknowledge(desk.proof(one), "receipt", "no room") for one in deliveries]


STEPS: dict[str, Callable[[Desk, int], Awaitable[Commands]]] = {
    **{f"report {one}": failing(one) for one in FailureClass},
    **{f"report {one} of a Task with one attempt": failing(one, policy="once") for one in FailureClass},
    **{f"report {one}": ending(one) for one in Verdict},
    "report beyond the budget": out_of_budget,
    "stop": stops,
    "report of a stopped one": reports_of_stopped_ones,
    "renew beyond the budget": renewals_that_overrun,
    "revoke": revocations,
    "retry": retries,
    "raise": raises,
    "give up": ends_by_a_person,
    "challenge": challenges,
    "answer a challenge": answers_to_challenges,
    "claim with keys": claims_of_those_with_keys,
    "claim that holds": claims_that_hold,
    "reconsider": reconsiderations,
    "deadline of a running one": deadlines_of_running,
    "deadline of a waiting one": deadlines_of_waiting,
    "rerun": reruns,
    "refuse an offer": refusals_of_offers,
}


@pytest.mark.parametrize("step", STEPS)
async def test_what_decisions_about_recovery_look_at_is_foreseen(
    empty_database: Path, tmp_path: Path, step: str
) -> None:
    counted: list[int] = []
    for size in (5, 60):
        clock = HandClock()
        ledger = sqlite_ledger(Path(shutil.copy(empty_database, tmp_path / f"{size}.db")), clock)
        await ledger.open()
        desk = Desk(ledger, clock)
        await desk.start(capacity=1_000)
        commands = await STEPS[step](desk, size)
        watch = Watch(desk)
        watch.forget_everything()
        replies = await ledger.execute_many(commands)
        assert not [one for one in replies if isinstance(one, cm.Refusal)]
        assert watch.unforeseen == 0
        counted.append(watch.reads())
        await ledger.close()
    assert counted[0] == counted[1]
    assert counted[1] <= 20
