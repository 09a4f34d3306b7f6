"""Dependencies, questions to people, and Tasks that continue others. Every step is also checked by `core.invariants` (in the Lab)."""

from __future__ import annotations

from tenure.core import commands as cm
from tenure.core import desk_commands as dc
from tenure.core.attempt import Verdict
from tenure.core.budget import DEFAULT_BUDGET, Budget, Share
from tenure.core.ids import TaskId
from tenure.core.task import TaskState
from tests.core.lab import Lab


def test_a_dependent_waits_until_its_dependency_has_completed(lab: Lab) -> None:
    node, first, delivery = lab.running()
    second = lab.submit(after=(first,))
    assert lab.claim(node) == []
    lab.report(delivery)
    lab.run(cm.ReleaseDependent(second, first))
    assert lab.run(cm.ReleaseDependent(second, first)).replayed
    assert [one.task_id for one in lab.claim(node)] == [second]


def test_a_failed_dependency_holds_its_dependents_until_a_task_that_continues_it_completes(lab: Lab) -> None:
    node, first, delivery = lab.running(policy="once")
    second = lab.submit(after=(first,))
    lab.report(delivery, Verdict.FAILED)
    assert lab.task(first).state is TaskState.FAILED
    lab.run(cm.ReleaseDependent(second, first))
    assert lab.task(second).failed_dependencies == (first,)
    third = lab.submit(continues=first, because="the disk is bigger now")
    (delivery,) = lab.claim(node)
    assert delivery.task_id == third
    lab.ack(delivery)
    lab.report(delivery)
    lab.run(cm.ReleaseDependent(second, third))
    assert [one.task_id for one in lab.claim(node)] == [second]


def test_a_dependency_that_failed_but_has_not_ended_keeps_its_dependents_waiting(lab: Lab) -> None:
    node, first, delivery = lab.running()
    second = lab.submit(after=(first,))
    lab.report(delivery, Verdict.TIMED_OUT)
    assert lab.task(first).state is TaskState.INPUT_REQUIRED
    assert lab.open_items() == ["failed"]
    assert lab.run(cm.ReleaseDependent(second, first)).replayed
    assert lab.task(second).waits_for == (first,)
    assert lab.run(cm.Retry(first, "ann", "the disk is bigger now")).successor == 2
    (delivery,) = lab.claim(node)
    lab.ack(delivery)
    lab.report(delivery)
    lab.run(cm.ReleaseDependent(second, first))
    assert [one.task_id for one in lab.claim(node)] == [second]


def test_dependencies_on_nothing_and_on_oneself_are_refused(lab: Lab) -> None:
    spec = cm.TaskSpec(objective="x", route="claude", after=(TaskId("t_me"),))
    assert lab.run(cm.Submit(TaskId("t_me"), spec, "ann", "k")).code == "dependency"
    assert lab.run(cm.Submit(TaskId("t_you"), spec, "ann", "k")).code == "dependency"


def test_a_question_waits_for_a_person_whose_answer_reaches_the_next_attempt(lab: Lab) -> None:
    node, task_id, delivery = lab.running()
    lab.report(delivery, Verdict.ASKED)
    assert lab.task(task_id).state is TaskState.INPUT_REQUIRED
    assert lab.open_items() == ["asked"]
    assert lab.run(cm.Retry(task_id, "ann", "use the blue one")).successor == 2
    assert lab.open_items() == []
    assert "use the blue one" in lab.attempt(task_id, 2).spec.objective
    hypothesis = lab.attempt(task_id, 2).spec.hypothesis
    assert hypothesis is not None
    assert hypothesis.before_digest != hypothesis.after_digest
    assert len(lab.claim(node)) == 1


def test_a_retry_of_an_unknown_attempt_points_to_reconciling_it(lab: Lab) -> None:
    _, task_id, delivery = lab.running()
    assert lab.run(cm.Retry(task_id, "ann", "again")).code == "not_offered"
    lab.lose(delivery)
    assert "reconcile" in lab.run(cm.Retry(task_id, "ann", "again")).message


def test_what_a_task_cannot_wait_for_is_told_apart(lab: Lab) -> None:
    for name, words in (("t_me", "is itself."), ("t_none", "does not exist")):
        spec = cm.TaskSpec(objective="x", route="claude", after=(TaskId(name),))
        assert words in lab.run(cm.Submit(TaskId("t_me"), spec, "ann", "k")).message
    # Another try of the same Task under another key: it is there by then.
    known = lab.submit()
    spec = cm.TaskSpec(objective="x", route="claude", after=(known,))
    assert lab.run(cm.Submit(known, spec, "ann", "k")).code == "dependency"


def test_only_what_has_ended_is_continued_and_somebody_says_why(lab: Lab) -> None:
    def submit(continues: TaskId, because: str | None) -> str:
        spec = cm.TaskSpec(objective="x", route="claude", continues=continues, because=because)
        return lab.run(cm.Submit(TaskId("t_me"), spec, "ann", "k")).code

    _, first, delivery = lab.running()
    assert submit(TaskId("t_none"), "x") == "not_found"
    assert submit(first, "once more") == "conflict"
    lab.report(delivery)
    assert submit(first, None) == "invalid"
    assert submit(first, "") == "invalid"


def test_a_budget_comes_from_the_project_and_from_the_hub_dimension_by_dimension(lab: Lab) -> None:
    for account, budget in (("project:red", Budget(tokens=5)), ("hub", Budget(tokens=7, tool_calls=9))):
        lab.run(dc.SetAccount(account, Share(), budget, Share(), 1, "ann", "x"))
    found = lab.task(lab.submit(project="red")).budget
    assert (found.tokens, found.tool_calls, found.attempts) == (5, 9, DEFAULT_BUDGET.attempts)
