"""A deadline binds what the machine does by itself: nothing starts after it, what runs is asked to end, and it is told."""

from __future__ import annotations

from typing import Any

import pytest

from tenure.core import commands as cm
from tenure.core import desk_commands as dc
from tenure.core.attempt import Verdict
from tenure.core.attention import AttentionKind
from tenure.core.budget import Budget, Share, left_of
from tenure.core.failure import FailureClass
from tenure.core.ids import TaskId
from tenure.core.task import StopCause, TaskState
from tests.core.lab import Lab


def due(lab: Lab, task_id: TaskId) -> bool:
    return not lab.run(dc.DueTask(task_id)).replayed


def submit(lab: Lab, within_s: int = 60, **spec: Any) -> TaskId:
    return lab.submit(deadline_ms=lab.now.wall_ms + within_s * 1000, **spec)


@pytest.mark.parametrize("deadline_s", [-1, 0])
def test_a_deadline_in_the_past_is_refused(lab: Lab, deadline_s: int) -> None:
    spec = cm.TaskSpec(objective="x", route="claude", deadline_ms=lab.now.wall_ms + deadline_s * 1000)
    refusal = lab.run(cm.Submit(TaskId("t_1"), spec, "ann", "k"))
    assert (refusal.code, refusal.facts["field"]) == ("invalid", "deadline_at")


@pytest.mark.parametrize(("deadline_ms", "not_before_ms"), [(2**60, None), (2 * 10**12, 2 * 10**12)])
def test_a_deadline_that_cannot_be_kept_is_refused(
    lab: Lab, deadline_ms: int, not_before_ms: int | None
) -> None:
    spec = cm.TaskSpec(objective="x", route="claude", deadline_ms=deadline_ms, not_before_ms=not_before_ms)
    assert lab.run(cm.Submit(TaskId("t_1"), spec, "ann", "k")).facts["field"] == "deadline_at"


def test_what_did_not_start_in_time_never_starts_and_is_told(lab: Lab) -> None:
    node = lab.node()
    task_id = submit(lab)
    lab.pass_s(59)
    assert not due(lab, task_id)
    lab.pass_s(1)
    assert lab.claim(node) == []
    assert due(lab, task_id)
    assert not due(lab, task_id)
    assert (lab.attempt(task_id).verdict, lab.task(task_id).state) == (
        Verdict.CANCELED,
        TaskState.INPUT_REQUIRED,
    )
    assert lab.open_items() == ["exhausted"]
    assert lab.claim(node) == []


def test_what_runs_is_asked_to_end_and_cannot_run_longer_anyway(lab: Lab) -> None:
    node = lab.node()
    task_id = submit(lab, timeout_s=1_000)
    delivery = lab.work(node)
    assert delivery.timeout_s == 60
    for _ in range(3):
        lab.pass_s(20)
        lab.renew(delivery)
    assert due(lab, task_id)
    stop = lab.task(task_id).stop
    assert stop is not None
    assert stop.cause is StopCause.DEADLINE
    assert lab.renew(delivery).cancel
    lab.report(delivery, Verdict.TIMED_OUT)
    assert (lab.task(task_id).attempts, lab.open_items()) == (1, ["exhausted"])


def test_what_completes_in_spite_of_it_has_completed(lab: Lab) -> None:
    task_id = submit(lab)
    delivery = lab.work(lab.node())
    lab.pass_s(20)
    lab.renew(delivery)
    lab.pass_s(40)
    due(lab, task_id)
    lab.report(delivery)
    assert (lab.task(task_id).state, lab.open_items()) == (TaskState.COMPLETED, [])


def test_no_attempt_of_the_machine_follows_after_it(lab: Lab) -> None:
    task_id = submit(lab, within_s=10)
    delivery = lab.work(lab.node())
    lab.pass_s(10)
    lab.fail(delivery, FailureClass.EXECUTOR_LOST)
    assert (lab.task(task_id).attempts, lab.open_items()) == (1, ["exhausted"])


def test_a_person_may_want_it_in_spite_of_the_deadline_and_it_gets_its_time(lab: Lab) -> None:
    node = lab.node()
    task_id = submit(lab, timeout_s=300)
    lab.pass_s(60)
    due(lab, task_id)
    assert lab.run(cm.Retry(task_id, "ann", "better late")).successor == 2
    assert not due(lab, task_id)
    assert lab.work(node).timeout_s == 300


def test_the_deadline_binds_what_a_person_asks_for_before_it(lab: Lab) -> None:
    node = lab.node()
    task_id = submit(lab, budget=Budget(attempts=1))
    lab.fail(lab.work(node), FailureClass.EXECUTOR_LOST)
    assert lab.open_items() == ["exhausted"]
    lab.run(cm.Retry(task_id, "ann", ""))
    delivery = lab.work(node)
    lab.pass_s(20)
    lab.renew(delivery)
    lab.pass_s(40)
    assert due(lab, task_id)
    assert lab.renew(delivery).cancel


def test_another_deadline_lets_it_go_on_until_that_comes(lab: Lab) -> None:
    task_id = submit(lab)
    lab.pass_s(60)
    due(lab, task_id)
    assert lab.run(dc.RaiseBudget(task_id, Budget(attempts=1), None, "ann", "x")).facts == {
        "exhausted": ["deadline"]
    }
    later = lab.now.wall_ms + 60_000
    assert lab.run(dc.RaiseBudget(task_id, Budget(), later, "ann", "more time")) == cm.Done()
    assert (lab.task(task_id).attempts, lab.open_items()) == (2, [])
    lab.pass_s(60)
    assert due(lab, task_id)
    assert lab.open_items() == ["exhausted"]


def test_a_raise_of_something_else_does_not_bring_a_deadline_back_that_has_passed(lab: Lab) -> None:
    node = lab.node()
    task_id = submit(lab)
    lab.pass_s(60)
    due(lab, task_id)
    lab.run(cm.Retry(task_id, "ann", "better late"))
    delivery = lab.work(node)
    lab.run(dc.RaiseBudget(task_id, Budget(attempts=3), None, "ann", "x"))
    assert not due(lab, task_id)
    assert not lab.renew(delivery).cancel


def test_a_task_without_a_deadline_has_that_of_its_project_or_hub_from_its_submission(lab: Lab) -> None:
    lab.run(dc.SetAccount("hub", Share(), Budget(deadline_s=3_600), Share(), 1, "ann", "a night is enough"))
    lab.run(dc.SetAccount("project:quick", Share(), Budget(deadline_s=60), Share(), 1, "ann", "a minute is"))
    now_ms = lab.now.wall_ms
    assert lab.task(lab.submit()).deadline_ms == now_ms + 3_600_000
    assert lab.task(lab.submit(project="quick")).deadline_ms == now_ms + 60_000
    assert lab.task(lab.submit(project="quick", deadline_ms=now_ms + 5)).deadline_ms == now_ms + 5
    late = lab.submit(project="quick", not_before_ms=now_ms + 1_000)
    assert lab.task(late).deadline_ms == now_ms + 61_000
    assert "deadline_s" not in left_of(lab.task(late).budget, lab.task(late).tally, 1)
    lab.pass_s(60)
    lab.run(dc.DueTask(late))
    assert lab.item(AttentionKind.EXHAUSTED, late) is None, "its own has not come"
    lab.pass_s(1)
    lab.run(dc.DueTask(late))
    assert lab.item(AttentionKind.EXHAUSTED, late) is not None


def test_who_was_asked_because_nobody_takes_it_is_asked_one_thing_once_its_deadline_has_passed(
    lab: Lab,
) -> None:
    node = lab.node()
    task_id = submit(lab)
    for _ in range(lab.terms.max_offers):
        (delivery,) = lab.claim(node)
        lab.ack(delivery, refused="no space left")
    assert lab.item(AttentionKind.OFFERS_VOIDED, task_id) is not None
    lab.pass_s(61)
    assert due(lab, task_id)
    assert lab.open_items() == [AttentionKind.EXHAUSTED]
