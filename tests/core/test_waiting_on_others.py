"""What a Task waits for, condition by condition: how another stands for it, and what is told when that changes."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tenure.core import commands as cm
from tenure.core import desk_commands as dc
from tenure.core import recovery_events as rv
from tenure.core.attempt import Verdict
from tenure.core.attention import AttentionKind
from tenure.core.dependency import Standing, is_disproved, standing_of
from tenure.core.draft import Draft
from tenure.core.failure import FailureClass
from tenure.core.ids import Address, TaskId
from tenure.core.reconsidering import is_going
from tenure.core.review import About, Review, Ruling
from tenure.core.task import TaskSpec, TaskState
from tests.core.lab import Lab, evidence

REVIEW = Review(TaskId("t_1"), 1, About.CLAIM, "bob", "it is not so", 1, None, None, None, None, 1)
UPHELD, DISMISSED = replace(REVIEW, ruling=Ruling.UPHELD), replace(REVIEW, ruling=Ruling.DISMISSED)


@pytest.mark.parametrize(
    ("state", "review", "way", "standing"),
    [
        (TaskState.WORKING, None, "after_end", Standing.WAITS),
        (TaskState.COMPLETED, None, "after_end", Standing.MET),
        (TaskState.COMPLETED, REVIEW, "after_end", Standing.WAITS),
        (TaskState.FAILED, REVIEW, "after_failure", Standing.WAITS),
        (TaskState.COMPLETED, None, "after", Standing.MET),
        (TaskState.COMPLETED, REVIEW, "after", Standing.WAITS),
        (TaskState.COMPLETED, DISMISSED, "after", Standing.MET),
        (TaskState.COMPLETED, UPHELD, "after", Standing.FAILED),
        (TaskState.FAILED, None, "after", Standing.FAILED),
        (TaskState.COMPLETED, UPHELD, "after_failure", Standing.MET),
        (TaskState.COMPLETED, None, "after_failure", Standing.MOOT),
    ],
)
def test_how_another_stands_for_a_task(
    lab: Lab, state: TaskState, review: Review | None, way: str, standing: Standing
) -> None:
    other = replace(lab.task(lab.submit()), state=state)
    if review is not None:
        lab.world.put(replace(review, task_id=other.task_id))
    waits: dict[str, Any] = {way: (other.task_id,)}
    spec = TaskSpec("do it", "claude", **waits)
    assert standing_of(Draft(lab.world, lab.now, lab.terms), spec, other) is standing


@pytest.mark.parametrize(
    ("review", "state", "attempts", "disproved"),
    [
        (UPHELD, TaskState.COMPLETED, 1, True),
        (UPHELD, TaskState.COMPLETED, 2, False),
        (replace(UPHELD, number=2), TaskState.COMPLETED, 1, False),
        (UPHELD, TaskState.FAILED, 1, False),
        (DISMISSED, TaskState.COMPLETED, 1, False),
    ],
)
def test_only_what_completed_a_task_can_be_disproved(
    lab: Lab, review: Review, state: TaskState, attempts: int, disproved: bool
) -> None:
    other = replace(lab.task(lab.submit()), state=state, attempts=attempts)
    assert is_disproved(review, other) is disproved


def ended(lab: Lab, verdict: Verdict = Verdict.FAILED, **spec: Any) -> TaskId:
    _, task_id, delivery = lab.running(policy="once", **spec)
    lab.report(delivery, verdict)
    return task_id


def test_a_word_that_changes_something_is_not_told_as_a_repeat(lab: Lab) -> None:
    first = ended(lab)
    second = lab.submit(after_end=(TaskId(first),))
    lab.world.put(replace(lab.task(second), waits_for=(first,), queue_key=None))
    assert lab.run(cm.ReleaseDependent(second, first)) == cm.Done(replayed=False)
    assert lab.run(cm.ReleaseDependent(second, first)) == cm.Done(replayed=True)


def test_what_continues_a_failed_one_stands_for_it_only_where_that_was_to_complete(lab: Lab) -> None:
    node, first, delivery = lab.running(policy="once")
    waiting = lab.submit(after_failure=(first,))
    lab.report(delivery, Verdict.FAILED)
    second = lab.submit(continues=first, because="once more")
    delivery = lab.work(node, second)
    lab.report(delivery)
    assert lab.run(cm.ReleaseDependent(waiting, second)) == cm.Done(replayed=True)
    assert lab.task(waiting).waits_for == (first,)


def test_the_question_stays_while_another_has_not_completed(lab: Lab) -> None:
    one, other = ended(lab), ended(lab)
    waiting = lab.submit(after=(one, other))
    assert set(lab.task(waiting).failed_dependencies) == {one, other}
    for again, left in ((one, True), (other, False)):
        node = lab.node()
        second = lab.submit(continues=again, because="once more")
        lab.report(lab.work(node, second))
        lab.run(cm.ReleaseDependent(waiting, second))
        assert (lab.item(AttentionKind.DEPENDENCY_FAILED, waiting) is not None) is left


def test_what_is_not_needed_ends_once_whether_its_attempt_waits_or_was_stopped(lab: Lab) -> None:
    for stopped in (False, True):
        _, first, delivery = lab.running()
        waiting = lab.submit(after_failure=(first,))
        if stopped:
            lab.run(dc.StopAttempt(waiting, 1, "ann", "x"))
        lab.report(delivery)
        lab.run(cm.ReleaseDependent(waiting, first))
        assert lab.task(waiting).state is TaskState.CANCELED
        moot = [one for one in lab.events if isinstance(one, rv.DependencyMoot) and one.task_id == waiting]
        assert [one.dependency for one in moot] == [first]


def test_a_tree_that_is_canceled_is_told_that_and_nothing_else(lab: Lab) -> None:
    root = lab.submit()
    waiting = lab.submit(after=(root,))
    lab.run(cm.Cancel(root, "ann", "x", tree=True))
    lab.run(cm.ReleaseDependent(waiting, root))
    assert lab.task(waiting).state is TaskState.CANCELED
    assert lab.task(waiting).failed_dependencies == ()


# -- holds and deadlines


def released(lab: Lab) -> list[str]:
    return [one.because for one in lab.events if isinstance(one, rv.TaskReleased)]


def test_a_task_is_going_once_it_stands_in_its_queue_or_is_held_by_somebody(lab: Lab) -> None:
    _, running, _ = lab.running()
    assert is_going(lab.task(running))
    task = lab.task(lab.submit())
    assert is_going(task)
    assert not is_going(replace(task, queue_key=None))


def challenged(lab: Lab) -> tuple[TaskId, TaskId, int]:
    """A Task that waits since what it depends on is challenged: both, and the version of the question."""
    node, first, delivery = lab.running()
    lab.report(delivery)
    second = lab.submit(after=(first,))
    lab.run(dc.Challenge(first, 1, About.CLAIM, "bob", "no such file"))
    assert lab.claim(node) == []
    assert lab.task(second).hold is not None
    item = lab.item(AttentionKind.CHALLENGED, f"{first}/1")
    assert item is not None
    return first, second, item.version


@pytest.mark.parametrize(("ruling", "waits"), [(Ruling.UPHELD, True), (Ruling.DISMISSED, False)])
def test_what_was_held_for_a_challenge_goes_on_as_that_was_answered(
    lab: Lab, ruling: Ruling, waits: bool
) -> None:
    first, second, version = challenged(lab)
    lab.run(dc.AnswerChallenge(first, version, ruling, "ann", "I looked"))
    assert lab.run(dc.Reconsider(second)) == cm.Done()
    assert released(lab) == ["the challenge was answered"]
    assert lab.task(second).failed_dependencies == ((first,) if waits else ())


def test_what_was_held_on_a_key_says_that_it_is_free(lab: Lab) -> None:
    node = lab.node(capacity=2)
    delivery = lab.work(node, lab.submit(concurrency_key="k"))
    second = lab.submit(concurrency_key="k")
    assert lab.claim(node) == []
    lab.report(delivery)
    lab.run(dc.Reconsider(second))
    assert released(lab) == ["key:k is free"]


def test_another_configuration_of_what_is_not_offered_any_more_lifts_no_hold_and_one_that_is_does(
    lab: Lab,
) -> None:
    node = lab.node(config_digest="one")
    task_id = lab.submit()
    lab.fail(lab.work(node), FailureClass.CONFIGURATION, evidence=evidence(FailureClass.CONFIGURATION))
    where = Address("claude@laptop")
    lab.world.put(replace(lab.recipient(where), declared=False, config_digest="two"))
    assert lab.run(dc.Reconsider(task_id)) == cm.Done(replayed=True)
    lab.world.put(replace(lab.recipient(where), declared=True))
    assert lab.run(dc.Reconsider(task_id)) == cm.Done()
    assert released(lab) == [f"the configuration of {where} is another one now"]


def test_a_deadline_that_passes_is_recorded_and_stops_only_what_has_not_ended(lab: Lab) -> None:
    for verdict, stops in ((None, 1), (Verdict.ASKED, 0)):
        _, task_id, delivery = lab.running(deadline_ms=lab.now.wall_ms + 5_000)
        if verdict is not None:
            lab.report(delivery, verdict)
        before = len(lab.events)
        lab.pass_s(5)
        assert lab.run(dc.DueTask(task_id)) == cm.Done()
        new = lab.events[before:]
        assert len([one for one in new if isinstance(one, rv.DeadlinePassed)]) == 1
        assert len([one for one in new if isinstance(one, rv.StopAdvanced)]) == stops
        if verdict is None:
            lab.report(delivery)
