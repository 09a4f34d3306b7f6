"""A person challenges what an ended Attempt says of itself; whoever depends on it waits for the answer."""

from __future__ import annotations

from typing import Any

import pytest

from tenure.core import commands as cm
from tenure.core import desk_commands as dc
from tenure.core import recovery_events as rv
from tenure.core.answers import Subject, answers_to
from tenure.core.attempt import Verdict
from tenure.core.attention import AttentionKind
from tenure.core.ids import NodeId, TaskId
from tenure.core.review import About, Review, Ruling
from tenure.core.task import TaskState
from tests.core.lab import Lab


def completed(lab: Lab) -> tuple[NodeId, TaskId]:
    node, task_id, delivery = lab.running()
    lab.report(delivery)
    return node, task_id


def challenge(lab: Lab, task_id: TaskId, **said: Any) -> Any:
    asked: dict[str, Any] = {
        "number": 1,
        "about": About.CLAIM,
        "by": "bob",
        "because": "no such file",
        **said,
    }
    return lab.run(dc.Challenge(task_id, **asked))


def answer(lab: Lab, task_id: TaskId, ruling: Ruling, by: str = "ann", **said: Any) -> Any:
    item = lab.item(AttentionKind.CHALLENGED, f"{task_id}/1")
    said = {"item_version": item.version if item else 1, "because": "I looked", **said}
    return lab.run(dc.AnswerChallenge(task_id=task_id, ruling=ruling, by=by, **said))


def test_a_challenge_is_a_question_with_two_answers_and_changes_neither_task_nor_attempt(lab: Lab) -> None:
    _, task_id = completed(lab)
    before = lab.task(task_id), lab.attempt(task_id)
    assert challenge(lab, task_id) == cm.Done()
    item = lab.item(AttentionKind.CHALLENGED, f"{task_id}/1")
    assert item is not None
    assert set(answers_to(item, Subject())) == {"uphold", "dismiss"}
    assert answer(lab, task_id, Ruling.UPHELD) == cm.Done()
    assert (lab.task(task_id), lab.attempt(task_id)) == before
    (event,) = [one for one in lab.events if isinstance(one, rv.ChallengeAnswered)]
    assert (event.ruling, event.by, event.because) == (Ruling.UPHELD, "ann", "I looked")


def test_the_reason_of_a_challenge_may_have_its_whole_length(lab: Lab) -> None:
    _, task_id = completed(lab)
    assert challenge(lab, task_id, because="x" * 4_000) == cm.Done()


@pytest.mark.parametrize("said", [{"because": " "}, {"because": "x" * 4_001}])
def test_a_challenge_needs_a_reason_of_some_length(lab: Lab, said: dict[str, str]) -> None:
    _, task_id = completed(lab)
    assert challenge(lab, task_id, **said).code == "invalid"


def test_only_what_has_ended_and_claims_something_can_be_challenged(lab: Lab) -> None:
    _, task_id, delivery = lab.running()
    assert challenge(lab, task_id).code == "not_offered"
    assert challenge(lab, task_id, number=2).code == "not_found"
    assert challenge(lab, TaskId("t_none")).code == "not_found"
    lab.lose(delivery)
    assert "reconcile" in challenge(lab, task_id).message


def test_the_same_challenge_again_is_told_again_and_another_must_wait(lab: Lab) -> None:
    _, task_id = completed(lab)
    challenge(lab, task_id)
    assert challenge(lab, task_id).replayed
    refusal = challenge(lab, task_id, by="eve")
    assert (refusal.code, refusal.facts) == ("conflict", {"number": 1, "by": "bob"})


def test_it_is_answered_once_by_one_person_who_has_read_it(lab: Lab) -> None:
    _, task_id = completed(lab)
    assert answer(lab, task_id, Ruling.UPHELD).code == "not_found"
    challenge(lab, task_id)
    assert answer(lab, task_id, Ruling.UPHELD, item_version=9).code == "conflict"
    assert answer(lab, task_id, Ruling.UPHELD, because="").code == "invalid"
    assert answer(lab, task_id, Ruling.DISMISSED) == cm.Done()
    assert answer(lab, task_id, Ruling.DISMISSED).replayed
    assert answer(lab, task_id, Ruling.UPHELD).code == "not_offered"
    assert answer(lab, task_id, Ruling.DISMISSED, by="eve").code == "not_offered"
    assert lab.open_items() == []


def test_the_same_words_after_an_answer_are_asked_again(lab: Lab) -> None:
    _, task_id = completed(lab)
    for times in (1, 2, 3):
        assert challenge(lab, task_id) == cm.Done()
        assert lab.open_items() == ["challenged"]
        assert lab.get(Review, task_id).times == times
        answer(lab, task_id, Ruling.DISMISSED)


@pytest.mark.parametrize(("ruling", "runs"), [(Ruling.DISMISSED, True), (Ruling.UPHELD, False)])
def test_a_dependent_that_still_waits_goes_on_or_does_not(lab: Lab, ruling: Ruling, runs: bool) -> None:
    node, task_id = completed(lab)
    challenge(lab, task_id)
    dependent = lab.submit(after=(task_id,))
    assert lab.claim(node) == []
    lab.run(cm.ReleaseDependent(dependent, task_id))
    assert lab.claim(node) == []
    answer(lab, task_id, ruling)
    lab.run(cm.ReleaseDependent(dependent, task_id))
    assert len(lab.claim(node)) == int(runs)
    assert lab.open_items() == ([] if runs else ["dependency_failed"])


@pytest.mark.parametrize(("ruling", "runs"), [(Ruling.DISMISSED, True), (Ruling.UPHELD, False)])
def test_a_dependent_that_was_let_go_but_not_granted_is_held_and_then_judged_anew(
    lab: Lab, ruling: Ruling, runs: bool
) -> None:
    node, task_id = completed(lab)
    dependent = lab.submit(after=(task_id,))
    challenge(lab, task_id)
    assert lab.claim(node) == []
    assert lab.task(dependent).held_on == f"review:{task_id}"
    assert lab.run(dc.Reconsider(dependent)).replayed
    answer(lab, task_id, ruling)
    assert not lab.run(dc.Reconsider(dependent)).replayed
    assert len(lab.claim(node)) == int(runs)
    assert lab.open_items() == ([] if runs else ["dependency_failed"])


def test_a_failure_that_was_upheld_against_lets_those_run_that_waited_for_a_failure(lab: Lab) -> None:
    node, task_id = completed(lab)
    challenge(lab, task_id)
    dependent = lab.submit(after_failure=(task_id,))
    answer(lab, task_id, Ruling.UPHELD)
    lab.run(cm.ReleaseDependent(dependent, task_id))
    assert [one.task_id for one in lab.claim(node)] == [dependent]


def test_what_runs_already_is_not_taken_away(lab: Lab) -> None:
    node, task_id = completed(lab)
    dependent = lab.submit(after=(task_id,))
    delivery = lab.work(node)
    challenge(lab, task_id)
    answer(lab, task_id, Ruling.UPHELD)
    lab.run(cm.ReleaseDependent(dependent, task_id))
    assert lab.report(delivery, Verdict.COMPLETED) == "recorded"
    assert lab.task(dependent).state is TaskState.COMPLETED


@pytest.mark.parametrize("told", [True, False])
def test_a_dependent_in_its_queue_does_not_run_on_what_was_disproved(lab: Lab, told: bool) -> None:
    node, task_id = completed(lab)
    dependent = lab.submit(after=(task_id,), not_before_ms=lab.now.wall_ms + 60_000)
    challenge(lab, task_id)
    answer(lab, task_id, Ruling.UPHELD)
    if told:
        assert not lab.run(cm.ReleaseDependent(dependent, task_id)).replayed
        assert lab.run(cm.ReleaseDependent(dependent, task_id)).replayed
        assert lab.open_items() == ["dependency_failed"]
    lab.pass_s(60)
    assert lab.claim(node) == []
    assert lab.task(dependent).failed_dependencies == (task_id,)
    assert lab.open_items() == ["dependency_failed"]


def test_a_dependent_whose_attempt_ended_meanwhile_has_no_other_on_what_was_disproved(lab: Lab) -> None:
    node, task_id = completed(lab)
    dependent = lab.submit(after=(task_id,))
    delivery = lab.work(node)
    challenge(lab, task_id)
    answer(lab, task_id, Ruling.UPHELD)
    assert lab.run(cm.ReleaseDependent(dependent, task_id)).replayed
    lab.report(delivery, Verdict.ASKED)
    lab.run(cm.Retry(dependent, "ann", "go on"))
    assert lab.claim(node) == []
    assert lab.open_items() == ["dependency_failed"]


def continued(lab: Lab, node: NodeId, task_id: TaskId) -> TaskId:
    """What continues it, completed."""
    better = lab.submit(continues=task_id, because="it was wrong")
    lab.report(lab.work(node, better))
    return better


def test_what_continues_a_disproved_task_stands_for_it(lab: Lab) -> None:
    node, task_id = completed(lab)
    challenge(lab, task_id)
    dependent = lab.submit(after=(task_id,))
    answer(lab, task_id, Ruling.UPHELD)
    lab.run(cm.ReleaseDependent(dependent, task_id))
    better = continued(lab, node, task_id)
    lab.run(cm.ReleaseDependent(dependent, better))
    assert lab.run(cm.ReleaseDependent(dependent, task_id)).replayed
    assert lab.open_items() == []
    assert [one.task_id for one in lab.claim(node)] == [dependent]


def test_a_challenge_of_what_another_task_stands_for_keeps_nobody(lab: Lab) -> None:
    node, task_id, delivery = lab.running(policy="once")
    lab.report(delivery, Verdict.FAILED)
    dependent = lab.submit(after=(task_id,))
    lab.run(cm.ReleaseDependent(dependent, continued(lab, node, task_id)))
    assert challenge(lab, task_id, about=About.FAILURE) == cm.Done()
    assert [one.task_id for one in lab.claim(node)] == [dependent]


def test_what_stands_for_another_can_be_disproved_too(lab: Lab) -> None:
    node, task_id, delivery = lab.running(policy="once")
    lab.report(delivery, Verdict.FAILED)
    dependent = lab.submit(after=(task_id,))
    better = continued(lab, node, task_id)
    lab.run(cm.ReleaseDependent(dependent, better))
    challenge(lab, better)
    assert lab.claim(node) == []
    assert lab.task(dependent).held_on == f"review:{better}"
    answer(lab, better, Ruling.UPHELD)
    lab.run(dc.Reconsider(dependent))
    assert lab.claim(node) == []
    assert lab.task(dependent).failed_dependencies == (task_id,)
    assert lab.run(cm.ReleaseDependent(dependent, better)).replayed
    lab.run(cm.ReleaseDependent(dependent, continued(lab, node, better)))
    assert [one.task_id for one in lab.claim(node)] == [dependent]


def test_what_is_challenged_stands_for_nobody_until_that_is_answered(lab: Lab) -> None:
    node, task_id, delivery = lab.running(policy="once")
    lab.report(delivery, Verdict.FAILED)
    dependent = lab.submit(after=(task_id,))
    better = continued(lab, node, task_id)
    challenge(lab, better)
    assert lab.run(cm.ReleaseDependent(dependent, better)).replayed
    answer(lab, better, Ruling.DISMISSED)
    lab.run(cm.ReleaseDependent(dependent, better))
    assert [one.task_id for one in lab.claim(node)] == [dependent]


def test_what_is_said_of_an_earlier_attempt_says_nothing_of_the_one_that_completed(lab: Lab) -> None:
    node, task_id, delivery = lab.running()
    lab.report(delivery, Verdict.ASKED)
    waits = lab.submit(after=(task_id,))
    challenge(lab, task_id)
    answer(lab, task_id, Ruling.UPHELD)
    lab.run(cm.Retry(task_id, "ann", "this way"))
    lab.report(lab.work(node, task_id))
    lab.run(cm.ReleaseDependent(waits, task_id))
    later = lab.submit(after=(task_id,))
    assert lab.open_items() == []
    assert {one.task_id for one in lab.claim(node) + lab.claim(lab.node("other"))} == {waits, later}
