"""Budgets: limits, what is left of them, and when an Attempt is asked to end before it overruns."""

from __future__ import annotations

from typing import Any

import pytest

from tenure.core import commands as cm
from tenure.core import desk_commands as dc
from tenure.core.attempt import Answer, Usage, Verdict
from tenure.core.attention import AttentionKind
from tenure.core.budget import (
    DEFAULT_BUDGET,
    DIMENSIONS,
    NOTHING,
    Amounts,
    Budget,
    Share,
    Tally,
    budget_problem,
    exhausted,
    highest,
    inherited,
    left_of,
    overrun,
    raised,
    share_of,
)
from tenure.core.failure import FailureClass
from tenure.core.ids import TaskId
from tenure.core.limits import INTEGER
from tenure.core.task import StopCause
from tests.core.lab import Lab


@pytest.mark.parametrize("name", DIMENSIONS)
@pytest.mark.parametrize("limit", [0, -1, INTEGER + 1])
def test_a_budget_of_zero_below_or_beyond_all_numbers_is_refused(lab: Lab, name: str, limit: int) -> None:
    budget = Budget(**{name: limit})
    assert budget_problem(budget) == f"budget.{name} is {limit}; 1 to {INTEGER}, or leave it out for no limit"
    spec = cm.TaskSpec(objective="x", route="claude", budget=budget)
    refusal = lab.run(cm.Submit(TaskId("t_1"), spec, "ann", "k"))
    assert (refusal.code, refusal.facts) == ("invalid", {"field": f"budget.{name}"})
    task_id = lab.submit()
    assert lab.run(dc.RaiseBudget(task_id, budget, None, "ann", "more")).code == "invalid"
    assert lab.run(dc.SetAccount("hub", Share(), budget, Share(), 1, "ann", "x")).code == "invalid"


def test_each_limit_comes_from_the_nearest_that_has_one(lab: Lab) -> None:
    lab.run(dc.SetAccount("hub", Share(), Budget(attempts=7, tokens=70), Share(), 1, "ann", "x"))
    lab.run(dc.SetAccount("project:red", Share(), Budget(tokens=50, wall_s=9), Share(), 1, "ann", "x"))
    task = lab.task(lab.submit(project="red", budget=Budget(wall_s=5)))
    assert (task.budget.wall_s, task.budget.tokens, task.budget.attempts) == (5, 50, 7)
    assert task.budget.repeats == DEFAULT_BUDGET.repeats
    assert inherited(None, Budget(attempts=1), Budget(attempts=2, rounds=3)) == Budget(attempts=1, rounds=3)


def test_a_limit_that_does_not_bind_stays_unlimited_when_it_is_raised_and_none_overflows() -> None:
    more = Budget(attempts=INTEGER, tokens=5)
    assert raised(Budget(attempts=5), more) == Budget(attempts=INTEGER)


def test_what_is_left_is_never_below_nothing_and_rounds_against_the_task() -> None:
    tally = Tally(
        used=Amounts(wall_ms=1_001, cost_usd_micros=500), refunded=2, signatures={"a": 2, "b": 1}, last="a"
    )
    budget = Budget(attempts=3, wall_s=2, cost_usd_micros=100, repeats=3)
    assert left_of(budget, tally, 4) == {"attempts": 1, "wall_s": 0, "cost_usd_micros": 0, "repeats": 1}
    assert exhausted(budget, tally, 4) == ("wall_s", "cost_usd_micros")
    assert exhausted(Budget(interruptions=1), Tally(interruptions=5), 1) == ()


def test_an_attempt_may_use_what_is_left_of_the_task_or_its_share_of_the_account() -> None:
    budget, tally = Budget(cost_usd_micros=100, wall_s=2), Tally(used=Amounts(500, 30))
    assert share_of(budget, tally) == Share(wall_ms=1_500, cost_usd_micros=70)
    assert share_of(budget, tally, Share(cost_usd_micros=10, tokens=5)) == Share(
        wall_ms=1_500, cost_usd_micros=70, tokens=5
    )
    assert share_of(Budget(attempts=1), tally) is None


@pytest.mark.parametrize(
    ("before", "after", "dimension"),
    [
        (0, 40, None),
        (0, 51, None),  # the first word of it tells no pace
        (0, 100, "cost_usd_micros"),
        (40, 70, None),
        (40, 71, "cost_usd_micros"),
        (90, 90, None),
        (0, 101, "cost_usd_micros"),
    ],
)
def test_the_last_step_counts_twice_so_that_it_is_stopped_before_the_overrun(
    before: int, after: int, dimension: str | None
) -> None:
    share = Share(cost_usd_micros=100)
    assert overrun(share, Amounts(cost_usd_micros=before), Amounts(cost_usd_micros=after)) == dimension


def test_usage_that_goes_down_or_comes_again_counts_as_the_highest_that_was_heard(lab: Lab) -> None:
    _, task_id, delivery = lab.running()
    for cost in (50, 20, 50, -5):
        lab.renew(delivery, usage=Usage(cost_usd_micros=cost, input_tokens=cost))
        assert lab.get(type(delivery), delivery.delivery_id).usage.cost_usd_micros == 50
    assert highest(Usage(tool_calls=3), Usage(wall_s=1.5)) == Usage(tool_calls=3, wall_s=1.5)
    lab.fail(delivery, FailureClass.CONTRADICTION, usage=Usage(cost_usd_micros=10))
    assert lab.task(task_id).tally.used == Amounts(cost_usd_micros=50, tokens=50)


def test_an_attempt_is_asked_to_end_before_it_overruns_and_what_follows_is_a_question(lab: Lab) -> None:
    _, task_id, delivery = lab.running(budget=Budget(cost_usd_micros=100))
    assert not lab.renew(delivery, usage=Usage(cost_usd_micros=40)).cancel
    assert lab.renew(delivery, usage=Usage(cost_usd_micros=75)).cancel
    stop = lab.task(task_id).stop
    assert stop is not None
    assert (stop.cause, stop.dimensions, stop.step) == (StopCause.BUDGET, ("cost_usd_micros",), "signaled")
    lab.report(delivery, Verdict.CANCELED)
    assert lab.task(task_id).attempts == 1
    assert lab.item(AttentionKind.EXHAUSTED, task_id) is not None
    assert lab.open_items() == ["exhausted"]


def test_an_attempt_that_completes_while_it_is_asked_to_end_has_completed(lab: Lab) -> None:
    _, task_id, delivery = lab.running(budget=Budget(tokens=10))
    assert not lab.renew(delivery, usage=Usage(input_tokens=5)).cancel
    assert lab.renew(delivery, usage=Usage(input_tokens=9)).cancel
    lab.report(delivery)
    assert lab.task(task_id).state == "completed"
    assert lab.open_items() == []


def test_the_wall_time_that_is_left_is_the_limit_of_the_next_attempt(lab: Lab) -> None:
    node, _, delivery = lab.running(budget=Budget(wall_s=100, attempts=9), timeout_s=80)
    assert delivery.timeout_s == 80
    lab.fail(delivery, FailureClass.EXECUTOR_LOST, usage=Usage(wall_s=70.5))
    assert lab.work(node).timeout_s == 29


def test_nobody_knows_how_long_a_lost_attempt_ran_so_all_of_its_lease_counts(lab: Lab) -> None:
    _, task_id, delivery = lab.running()
    lab.lose(delivery)
    assert lab.task(task_id).tally.used.wall_ms == 90_000


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ({"task_id": TaskId("t_none")}, "not_found"),
        ({"because": "  "}, "invalid"),
        ({"deadline_ms": 1}, "invalid"),
    ],
)
def test_a_raise_that_makes_no_sense_is_refused(lab: Lab, command: dict[str, Any], code: str) -> None:
    said = {
        "task_id": lab.submit(),
        "more": Budget(attempts=1),
        "deadline_ms": None,
        "by": "ann",
        "because": "x",
    }
    assert lab.run(dc.RaiseBudget(**{**said, **command})).code == code
    lab.cancel(said["task_id"])
    assert lab.run(dc.RaiseBudget(**said)).code == "terminal"


def test_a_raise_of_what_is_not_limited_changes_nothing(lab: Lab) -> None:
    task_id = lab.submit()
    assert lab.run(dc.RaiseBudget(task_id, Budget(tokens=5), None, "ann", "more")).replayed
    assert lab.task(task_id).tally.used == NOTHING


def test_what_was_used_never_grows_beyond_what_every_reader_keeps_exact() -> None:
    most = Amounts(INTEGER, INTEGER, INTEGER, INTEGER)
    assert most.plus(most) == most


def test_what_only_an_account_limits_is_raised_to_what_was_used_and_so_much_more() -> None:
    used, bound = (
        Amounts(wall_ms=1_001, cost_usd_micros=30, tokens=7),
        Share(wall_ms=5_000, cost_usd_micros=10),
    )
    more = Budget(wall_s=4, cost_usd_micros=100, tokens=5, attempts=1)
    assert raised(Budget(attempts=2), more, used, bound) == Budget(wall_s=6, cost_usd_micros=130, attempts=3)
    assert raised(Budget(cost_usd_micros=50), more, used, bound) == Budget(wall_s=6, cost_usd_micros=150)


def test_what_is_heard_late_counts_for_a_task_that_goes_on(lab: Lab) -> None:
    _, task_id, delivery = lab.running(budget=Budget(cost_usd_micros=1_000))
    lab.renew(delivery, usage=Usage(cost_usd_micros=100))
    lab.lose(delivery)
    for cost in (900, 900, 400):
        lab.fail(delivery, FailureClass.EXECUTOR_LOST, usage=Usage(cost_usd_micros=cost), summary=str(cost))
    assert lab.task(task_id).tally.used.cost_usd_micros == 900
    lab.answer(task_id, 1, Answer.RERUN)
    assert lab.attempt(task_id, 2).spec.share == Share(cost_usd_micros=100)
    lab.cancel(task_id)
    before = lab.task(task_id)
    lab.fail(delivery, FailureClass.EXECUTOR_LOST, usage=Usage(cost_usd_micros=950))
    assert lab.task(task_id) == before
