"""Tasks that wait for others to complete, to fail, or to end in any way; and what becomes of those that cannot go on."""

from __future__ import annotations

from typing import Any

import pytest

from tenure.core import commands as cm
from tenure.core import desk_commands as dc
from tenure.core.answers import Subject, answers_to
from tenure.core.attempt import Verdict
from tenure.core.attention import AttentionKind, Severity, severity_of
from tenure.core.budget import Budget
from tenure.core.ids import NodeId, TaskId
from tenure.core.task import TaskState
from tests.core.lab import Lab

WAYS = ("after", "after_failure", "after_end")


def ended(lab: Lab, how: str) -> tuple[NodeId, TaskId]:
    node, task_id, delivery = lab.running(policy="once")
    if how == "canceled":
        lab.cancel(task_id)
        lab.report(delivery, Verdict.CANCELED)
    else:
        lab.report(delivery, Verdict.COMPLETED if how == "completed" else Verdict.FAILED)
    assert lab.task(task_id).state == how
    return node, task_id


def submit_on(lab: Lab, way: str, *tasks: TaskId) -> Any:
    return lab.run(cm.Submit(TaskId(lab.fresh("t")), spec_on(**{way: tasks}), "ann", lab.fresh("key")))


def spec_on(**ways: Any) -> cm.TaskSpec:
    return cm.TaskSpec(objective="then", route="claude", **ways)


EXPECTED = {
    ("after", "completed"): "runs",
    ("after", "failed"): "asks",
    ("after", "canceled"): "asks",
    ("after_failure", "completed"): "moot",
    ("after_failure", "failed"): "runs",
    ("after_failure", "canceled"): "runs",
    ("after_end", "completed"): "runs",
    ("after_end", "failed"): "runs",
    ("after_end", "canceled"): "runs",
}


@pytest.mark.parametrize(("way", "how"), EXPECTED)
def test_a_task_that_waited_hears_how_the_other_has_ended(lab: Lab, way: str, how: str) -> None:
    node, first, delivery = lab.running(policy="once")
    second = submit_on(lab, way, first).task_id
    assert lab.claim(node) == []
    assert first in lab.reason(second).sentence
    if how == "canceled":
        lab.cancel(first)
        lab.report(delivery, Verdict.CANCELED)
    else:
        lab.report(delivery, Verdict.COMPLETED if how == "completed" else Verdict.FAILED)
    lab.run(cm.ReleaseDependent(second, first))
    assert lab.run(cm.ReleaseDependent(second, first)).replayed
    expected = EXPECTED[way, how]
    assert [one.task_id for one in lab.claim(node)] == ([second] if expected == "runs" else [])
    assert lab.open_items() == (["dependency_failed"] if expected == "asks" else [])
    if expected == "moot":
        assert (lab.task(second).state, lab.attempt(second).verdict) == (TaskState.CANCELED, Verdict.CANCELED)
        assert first in (lab.task(second).end_reason or "")


@pytest.mark.parametrize(("way", "how"), EXPECTED)
def test_a_task_submitted_after_the_end_of_the_other_stands_the_same(lab: Lab, way: str, how: str) -> None:
    node, first = ended(lab, how)
    reply = submit_on(lab, way, first)
    expected = EXPECTED[way, how]
    if expected == "moot":
        task = lab.task(reply.task_id)
        assert (task.state, lab.attempt(task.task_id).verdict) == (TaskState.CANCELED, Verdict.CANCELED)
        assert first in (task.end_reason or "")
    assert [one.task_id for one in lab.claim(node)] == ([reply.task_id] if expected == "runs" else [])
    assert lab.open_items() == (["dependency_failed"] if expected == "asks" else [])


def test_a_dependency_on_a_canceled_task_is_told_with_what_may_be_done(lab: Lab) -> None:
    _, first = ended(lab, "canceled")
    second = submit_on(lab, "after", first).task_id
    item = lab.item(AttentionKind.DEPENDENCY_FAILED, second)
    assert item is not None
    assert first in item.summary
    assert set(answers_to(item, Subject(task=lab.task(second)))) == {"waive", "cancel"}
    assert first in lab.reason(second).sentence
    lab.cancel(second)
    assert lab.open_items() == []


@pytest.mark.parametrize("way", WAYS)
def test_a_dependency_on_itself_or_on_nothing_is_refused(lab: Lab, way: str) -> None:
    spec = spec_on(**{way: (TaskId("t_me"),)})
    assert lab.run(cm.Submit(TaskId("t_me"), spec, "ann", "k")).code == "dependency"
    assert lab.run(cm.Submit(TaskId("t_you"), spec, "ann", "k")).code == "dependency"


@pytest.mark.parametrize(
    "ways", [("after", "after_failure"), ("after", "after_end"), ("after_failure", "after_end")]
)
def test_a_dependency_in_two_ways_is_refused(lab: Lab, ways: tuple[str, str]) -> None:
    first = lab.submit()
    spec = spec_on(**dict.fromkeys(ways, (first,)))
    refusal = lab.run(cm.Submit(TaskId("t_2"), spec, "ann", "k"))
    assert (refusal.code, "in two ways" in refusal.message) == ("dependency", True)


def test_it_waits_for_all_of_them_whatever_their_kinds(lab: Lab) -> None:
    node = lab.node(capacity=3)
    tasks = [lab.submit(policy="once") for _ in range(3)]
    last = lab.submit(after=(tasks[0],), after_failure=(tasks[1],), after_end=(tasks[2],))
    held = {one.task_id: one for one in lab.claim(node, 3)}
    for delivery in held.values():
        lab.ack(delivery)
    for task_id, verdict in zip(tasks, (Verdict.COMPLETED, Verdict.FAILED, Verdict.FAILED), strict=True):
        assert lab.task(last).queue_key is None
        lab.report(held[task_id], verdict)
        lab.run(cm.ReleaseDependent(last, task_id))
    assert [one.task_id for one in lab.claim(node)] == [last]


def test_a_whole_tree_is_canceled_with_its_root_and_no_more(lab: Lab) -> None:
    _, root, delivery = lab.running()
    child = submit_on(lab, "after", root).task_id
    even_so = submit_on(lab, "after_end", root).task_id
    leaf = submit_on(lab, "after", child).task_id
    other = lab.submit()
    lab.run(cm.Cancel(root, "ann", "all of it", tree=True))
    lab.run(cm.ReleaseDependent(child, root))
    assert lab.task(child).state is TaskState.SUBMITTED
    lab.report(delivery, Verdict.CANCELED)
    for task_id, dependency in ((child, root), (even_so, root), (leaf, child)):
        lab.run(cm.ReleaseDependent(task_id, dependency))
        assert lab.task(task_id).state is TaskState.CANCELED
    assert not lab.task(other).is_terminal
    assert lab.open_items() == []


def test_what_goes_on_waits_for_what_did_not_complete_all_the_same(lab: Lab) -> None:
    node, first = ended(lab, "canceled")
    second = submit_on(lab, "after", first).task_id
    lab.run(dc.StopAttempt(second, 1, "ann", "wait"))
    assert lab.open_items() == ["dependency_failed", "stopped"]
    assert lab.run(cm.Retry(second, "ann", "go on after all")).successor == 2
    assert lab.open_items() == ["dependency_failed"]
    assert lab.claim(node) == []
    better = lab.submit(continues=first, because="again")
    lab.report(lab.work(node, better))
    lab.run(cm.ReleaseDependent(second, better))
    assert lab.open_items() == []
    assert [one.task_id for one in lab.claim(node)] == [second]


def test_what_may_use_more_waits_for_what_did_not_complete_all_the_same(lab: Lab) -> None:
    node, first = ended(lab, "canceled")
    second = lab.submit(after=(first,), deadline_ms=lab.now.wall_ms + 60_000)
    lab.pass_s(60)
    lab.run(dc.DueTask(second))
    assert lab.open_items() == ["dependency_failed", "exhausted"]
    raised = dc.RaiseBudget(second, Budget(), lab.now.wall_ms + 60_000, "ann", "there is time")
    assert lab.run(raised) == cm.Done()
    assert lab.open_items() == ["dependency_failed"]
    assert lab.claim(node) == []


@pytest.mark.parametrize("how", ["rejected", "canceled", "given up"])
def test_the_end_of_a_task_ends_the_question_what_it_waits_for(lab: Lab, how: str) -> None:
    _, first = ended(lab, "canceled")
    second = lab.submit(after=(first,), approval=True)
    assert lab.open_items() == ["approval", "dependency_failed"]
    if how == "rejected":
        lab.approve(second, None, approve=False)
    elif how == "canceled":
        lab.cancel(second)
    else:
        lab.run(dc.StopAttempt(second, 1, "ann", "no"))
        item = lab.item(AttentionKind.STOPPED, f"{second}/1")
        assert item is not None
        lab.run(dc.GiveUp(second, item.item_id, item.version, "ann", "of no use"))
    assert lab.task(second).is_terminal
    assert lab.open_items() == []


def test_a_person_lets_a_task_go_on_without_what_did_not_complete(lab: Lab) -> None:
    node, first = ended(lab, "canceled")
    second = submit_on(lab, "after", first).task_id
    item = lab.item(AttentionKind.DEPENDENCY_FAILED, second)
    assert item is not None
    assert severity_of(item.kind) is Severity.WARNING

    def waive(by: str, version: int, because: str = "it is not needed after all") -> Any:
        return lab.run(dc.WaiveDependencies(second, version, by, because))

    assert waive("ann", item.version, " ").code == "invalid"
    assert waive("ann", item.version + 1).code == "conflict"
    assert lab.claim(node) == []
    assert waive("ann", item.version) == cm.Done()
    assert waive("ann", item.version).replayed
    assert waive("bob", item.version).code == "not_offered"
    assert lab.open_items() == []
    assert [one.task_id for one in lab.claim(node)] == [second]
