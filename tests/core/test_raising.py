"""More budget while something runs, and where only an account limits: it counts, and the Task goes on with it."""

from __future__ import annotations

from typing import Any

import pytest

from tenure.core import commands as cm
from tenure.core import desk_commands as dc
from tenure.core.attempt import Usage, Verdict
from tenure.core.attention import AttentionKind
from tenure.core.budget import Amounts, Budget, Share
from tenure.core.delivery import Delivery
from tenure.core.failure import FailureClass
from tenure.core.ids import TaskId
from tenure.core.stopping import RAISED
from tests.core.lab import Lab


def raise_by(lab: Lab, task_id: TaskId, deadline_ms: int | None = None, **more: int) -> Any:
    return lab.run(dc.RaiseBudget(task_id, Budget(**more), deadline_ms, "ann", "it is worth it"))


def stopped_for_its_share(lab: Lab) -> tuple[TaskId, Delivery]:
    """A Task without any limit of its own, stopped for its share of the hub: 100 of 1000."""
    node = lab.node()
    lab.run(dc.SetAccount("hub", Share(cost_usd_micros=1_000), Budget(), Share(), 1, "ann", "x"))
    task_id = lab.submit()
    delivery = lab.work(node)
    assert lab.renew(delivery, usage=Usage(cost_usd_micros=100)).cancel
    return task_id, lab.get(Delivery, delivery.delivery_id)


@pytest.mark.parametrize("verdict", [Verdict.CANCELED, Verdict.FAILED, Verdict.TIMED_OUT])
def test_where_only_its_account_limits_a_raise_gives_the_task_a_limit_and_it_goes_on(
    lab: Lab, verdict: Verdict
) -> None:
    task_id, delivery = stopped_for_its_share(lab)
    lab.report(delivery, verdict)
    assert lab.item(AttentionKind.EXHAUSTED, task_id) is not None
    assert not raise_by(lab, task_id, cost_usd_micros=500).replayed
    assert lab.open_items() == []
    assert lab.task(task_id).budget.cost_usd_micros == 600
    assert lab.attempt(task_id, 2).spec.share == Share(cost_usd_micros=500)


@pytest.mark.parametrize("more", [{}, {"tokens": 5}])
def test_a_raise_that_changes_nothing_is_refused_while_a_question_is_open(
    lab: Lab, more: dict[str, int]
) -> None:
    task_id, delivery = stopped_for_its_share(lab)
    lab.report(delivery, Verdict.CANCELED)
    refusal = raise_by(lab, task_id, **more)
    assert refusal.code == "invalid"
    assert "raises nothing that limits" in refusal.message
    assert lab.open_items() == ["exhausted"]


def test_what_the_running_attempt_has_used_is_in_the_limit_that_a_raise_makes(lab: Lab) -> None:
    task_id, delivery = stopped_for_its_share(lab)
    raise_by(lab, task_id, cost_usd_micros=50)
    assert lab.task(task_id).budget.cost_usd_micros == 150
    lab.report(delivery, Verdict.CANCELED)
    assert lab.attempt(task_id, 2).spec.share == Share(cost_usd_micros=50)


def running_low(lab: Lab, **budget: int) -> tuple[TaskId, Delivery]:
    node, task_id, delivery = lab.running(budget=Budget(cost_usd_micros=1_000, **budget))
    lab.renew(delivery, usage=Usage(cost_usd_micros=400))
    assert node
    return task_id, delivery


@pytest.mark.parametrize("is_stopped_first", [True, False])
def test_what_is_raised_while_it_runs_lets_it_go_on_after_the_stop(lab: Lab, is_stopped_first: bool) -> None:
    task_id, delivery = running_low(lab)
    if not is_stopped_first:
        raise_by(lab, task_id, cost_usd_micros=900)
    assert lab.renew(delivery, usage=Usage(cost_usd_micros=900)).cancel
    if is_stopped_first:
        raise_by(lab, task_id, cost_usd_micros=900)
    lab.report(delivery, Verdict.CANCELED)
    assert lab.open_items() == []
    spec = lab.attempt(task_id, 2).spec
    assert spec.hypothesis is not None
    assert (spec.hypothesis.because, spec.hypothesis.by) == (RAISED, "policy:default/1")
    assert spec.share == Share(cost_usd_micros=1_000)
    assert lab.work(lab.node()).task_id == task_id


def test_what_fails_while_it_is_stopped_for_a_limit_that_was_raised_is_met_by_its_policy(lab: Lab) -> None:
    task_id, delivery = running_low(lab)
    raise_by(lab, task_id, cost_usd_micros=5_000)
    lab.renew(delivery, usage=Usage(cost_usd_micros=900))
    lab.fail(delivery, FailureClass.AUTHORIZATION)
    assert lab.open_items() == ["authorization"]


@pytest.mark.parametrize(
    ("more", "dimensions"),
    [({"tokens": 10_000}, ["cost_usd_micros"]), ({"attempts": 3}, ["cost_usd_micros"])],
)
def test_a_raise_of_something_else_does_not_let_it_go_on(
    lab: Lab, more: dict[str, int], dimensions: list[str]
) -> None:
    task_id, delivery = running_low(lab)
    raise_by(lab, task_id, **more)
    assert lab.renew(delivery, usage=Usage(cost_usd_micros=900)).cancel
    lab.report(delivery, Verdict.CANCELED)
    item = lab.item(AttentionKind.EXHAUSTED, task_id)
    assert item is not None
    assert f'"exhausted":["{dimensions[0]}"]' in item.facts
    assert lab.task(task_id).attempts == 1


def test_where_another_limit_is_reached_that_one_is_the_question(lab: Lab) -> None:
    task_id, delivery = running_low(lab, attempts=1)
    raise_by(lab, task_id, cost_usd_micros=5_000)
    assert lab.renew(delivery, usage=Usage(cost_usd_micros=900)).cancel
    lab.report(delivery, Verdict.CANCELED)
    item = lab.item(AttentionKind.EXHAUSTED, task_id)
    assert item is not None
    assert '"exhausted":["attempts"]' in item.facts


@pytest.mark.parametrize("is_moved", [True, False])
def test_a_deadline_that_is_moved_while_it_is_stopped_for_it_lets_it_go_on(lab: Lab, is_moved: bool) -> None:
    _, task_id, delivery = lab.running(deadline_ms=lab.now.wall_ms + 5_000)
    lab.pass_s(5)
    lab.run(dc.DueTask(task_id))
    if is_moved:
        assert raise_by(lab, task_id, lab.now.wall_ms + 60_000) == cm.Done()
    lab.report(delivery, Verdict.CANCELED)
    assert lab.task(task_id).attempts == (2 if is_moved else 1)
    assert lab.open_items() == ([] if is_moved else ["exhausted"])


def test_an_account_that_is_limited_no_longer_lets_it_go_on(lab: Lab) -> None:
    task_id, delivery = stopped_for_its_share(lab)
    lab.run(dc.SetAccount("hub", Share(), Budget(), Share(), 1, "ann", "no limit"))
    lab.report(delivery, Verdict.CANCELED)
    assert (lab.task(task_id).attempts, lab.open_items()) == (2, [])
    assert lab.task(task_id).tally.used == Amounts(cost_usd_micros=100)


def test_a_stop_of_an_earlier_attempt_says_nothing_of_the_next_one(lab: Lab) -> None:
    _, task_id, delivery = lab.running()
    lab.run(dc.StopAttempt(task_id, 1, "ann", "no"))
    lab.report(delivery, Verdict.CANCELED)
    lab.run(cm.Retry(task_id, "ann", "go on"))
    lab.fail(lab.work(lab.node()), FailureClass.AUTHORIZATION)
    assert lab.open_items() == ["authorization"]
