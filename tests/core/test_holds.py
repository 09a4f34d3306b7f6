"""What keeps a Task out of its queue has a name, and is lifted once it has changed. Never twice, never without a change."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tenure.core import commands as cm
from tenure.core import desk_commands as dc
from tenure.core.attempt import ChangeKind
from tenure.core.attention import AttentionKind
from tenure.core.budget import Budget, Share
from tenure.core.delivery import Delivery
from tenure.core.failure import FailureClass
from tenure.core.hold import HoldKind
from tenure.core.ids import Address, NodeId, TaskId
from tenure.core.reconsidering import line_of
from tenure.core.task import TaskState
from tests.core.lab import Lab, evidence

BIG = Share(cost_usd_micros=1_000)


def misconfigured(lab: Lab, **spec: Any) -> tuple[NodeId, TaskId]:
    node = lab.node(config_digest="one")
    task_id = lab.submit(**spec)
    lab.fail(lab.work(node), FailureClass.CONFIGURATION, evidence=evidence(FailureClass.CONFIGURATION))
    return node, task_id


def look_again(lab: Lab, task_id: TaskId) -> bool:
    return lab.run(dc.Reconsider(task_id)).replayed


def test_a_configuration_failure_waits_until_the_recipients_digest_changes(lab: Lab) -> None:
    _, task_id = misconfigured(lab)
    task = lab.task(task_id)
    assert task.hold is not None
    assert (task.hold.kind, task.hold.subject, task.hold.before) == (
        HoldKind.CONFIGURATION,
        "claude@laptop",
        "one",
    )
    assert (task.state, lab.open_items()) == (TaskState.INPUT_REQUIRED, ["configuration"])
    assert look_again(lab, task_id)
    lab.node(config_digest="one")
    assert look_again(lab, task_id)
    lab.node(config_digest="two")
    assert not look_again(lab, task_id)
    assert (lab.task(task_id).attempts, lab.task(task_id).hold, lab.open_items()) == (2, None, [])
    why = lab.attempt(task_id, 2).spec.hypothesis
    assert why is not None
    (change,) = why.changes
    assert (change.what, change.before, change.after) == (ChangeKind.CONFIGURATION, "one", "two")
    assert why.by == "policy:default/1"


def test_it_makes_exactly_one_attempt_however_often_it_is_looked_at(lab: Lab) -> None:
    node, task_id = misconfigured(lab)
    lab.node(config_digest="two")
    for _ in range(3):
        look_again(lab, task_id)
    assert lab.task(task_id).attempts == 2
    assert len(lab.claim(node)) == 1


def test_a_recipient_that_is_not_offered_any_more_lifts_no_hold(lab: Lab) -> None:
    _, task_id = misconfigured(lab)
    lab.node(name="codex", config_digest="two")
    assert look_again(lab, task_id)


def test_a_person_need_not_wait_for_the_configuration(lab: Lab) -> None:
    _, task_id = misconfigured(lab)
    assert lab.run(cm.Retry(task_id, "ann", "I mended it")).successor == 2
    assert (lab.task(task_id).hold, lab.open_items()) == (None, [])
    lab.node(config_digest="two")
    assert look_again(lab, task_id)
    assert lab.task(task_id).attempts == 2


def test_a_changed_configuration_is_no_reason_beyond_the_budget(lab: Lab) -> None:
    _, task_id = misconfigured(lab, budget=Budget(attempts=1))
    lab.node(config_digest="two")
    look_again(lab, task_id)
    assert (lab.task(task_id).attempts, lab.open_items()) == (1, ["exhausted"])


@pytest.mark.parametrize("how", ["cancel", "give up"])
def test_a_held_task_that_ends_is_held_no_more(lab: Lab, how: str) -> None:
    _, task_id = misconfigured(lab)
    item = lab.item(AttentionKind.CONFIGURATION, f"{task_id}/1")
    assert item is not None
    if how == "cancel":
        lab.cancel(task_id)
    else:
        lab.run(dc.GiveUp(task_id, item.item_id, item.version, "ann", "no use"))
    assert (lab.task(task_id).is_terminal, lab.task(task_id).hold, lab.open_items()) == (True, None, [])
    assert look_again(lab, task_id)


def test_a_held_attempt_that_is_stopped_is_held_no_more_and_the_next_one_is_judged_anew(lab: Lab) -> None:
    node = lab.node(capacity=3)
    delivery = lab.work(node, lab.submit(concurrency_key="k"))
    task_id = lab.submit(concurrency_key="k")
    assert lab.claim(node) == []
    lab.run(dc.StopAttempt(task_id, 1, "ann", "not now"))
    assert (lab.task(task_id).hold, lab.task(task_id).held_on, lab.open_items()) == (None, None, ["stopped"])
    assert look_again(lab, task_id)
    lab.run(cm.Retry(task_id, "ann", ""))
    assert lab.claim(node) == []
    assert lab.task(task_id).held_on == "key:k"
    lab.report(delivery)
    assert not look_again(lab, task_id)
    assert lab.work(node).task_id == task_id


def test_a_line_has_only_those_that_the_same_recipients_could_take(lab: Lab) -> None:
    one, other = (lab.submit(project=project) for project in ("red", "blue"))
    task, attempt = lab.task(one), lab.attempt(one)
    plain = line_of(task, attempt)
    assert plain == line_of(task, attempt)
    elsewhere = replace(attempt, spec=replace(attempt.spec, route="codex"))
    frozen = replace(attempt, harness="command")
    avoiding = replace(attempt, spec=replace(attempt.spec, avoid=(Address("claude@laptop"),)))
    further = replace(attempt, spec=replace(attempt.spec, avoid=(Address("claude@other"),)))
    lines = [line_of(task, it) for it in (elsewhere, frozen, avoiding, further)]
    assert len({plain, *lines, line_of(lab.task(other), lab.attempt(other))}) == 6


def test_what_is_held_by_something_else_by_now_is_looked_for_under_that(lab: Lab) -> None:
    """It waited for a key; when that is free the project has no room. It must not hang on the key for ever."""
    node = lab.node(capacity=3)
    first = lab.submit(project="red", concurrency_key="k", budget=Budget(cost_usd_micros=50))
    second = lab.submit(project="red", concurrency_key="k", budget=Budget(cost_usd_micros=50))
    lab.run(dc.SetAccount("project:red", Share(cost_usd_micros=100), Budget(), BIG, 1, "ann", "x"))
    held = lab.work(node, first)
    assert lab.claim(node) == []
    third = lab.submit(project="red", budget=Budget(cost_usd_micros=90))
    lab.run(dc.SetAccount("project:red", Share(cost_usd_micros=90), Budget(), BIG, 1, "ann", "less"))
    assert (lab.task(second).held_on, lab.claim(node)) == ("key:k", [])
    assert lab.task(third).held_on == "project:red"
    lab.report(held)
    blocker: Delivery | None = None
    assert not look_again(lab, third)
    (blocker,) = lab.claim(node)
    assert not look_again(lab, second)
    assert lab.task(second).held_on == "project:red"
    lab.ack(blocker)
    lab.report(blocker)
    assert not look_again(lab, second)
    assert len(lab.claim(node)) == 1
