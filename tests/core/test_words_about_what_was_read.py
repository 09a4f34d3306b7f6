"""A retry and a raise are about what the person has read: late, twice or overtaken they change nothing."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tenure.core.answers import Subject
from tenure.core.attempt import Verdict
from tenure.core.attention import Attention, AttentionKind, item_id
from tenure.core.budget import Budget
from tenure.core.commands import Done, Reconciled, Refusal, Retry
from tenure.core.continuing import continuation
from tenure.core.desk_commands import RaiseBudget
from tenure.core.failure import FailureClass
from tenure.core.ids import NodeId, TaskId
from tenure.core.resolving import Word, resolution
from tests.core.lab import Lab

WHY = "the disk is larger now"


def failed(lab: Lab, **spec: Any) -> tuple[NodeId, TaskId]:
    """A Task whose newest Attempt has failed, so that it waits for a person."""
    node_id, task_id, delivery = lab.running(**spec)
    lab.report(delivery, Verdict.FAILED)
    return node_id, task_id


def again(task_id: TaskId, number: int | None, verdict: Verdict | None, **more: str) -> Retry:
    return Retry(task_id, more.get("by", "ann"), more.get("because", WHY), number=number, verdict=verdict)


def raised(task_id: TaskId, limits: Budget | None, attempts: int = 5) -> RaiseBudget:
    return RaiseBudget(task_id, Budget(attempts=attempts), None, "ann", WHY, limits)


# -- another try


def test_a_retry_that_was_refused_while_the_attempt_ran_makes_nothing_when_it_comes_once_more(
    lab: Lab,
) -> None:
    _, task_id, delivery = lab.running()
    asked = again(task_id, 1, None)
    refused = lab.run(asked)
    assert (refused.code, "under way" in refused.message) == ("not_offered", True)
    lab.report(delivery, Verdict.FAILED)
    late = lab.run(asked)
    assert (late.code, late.facts["verdict"]) == ("conflict", Verdict.FAILED)
    assert lab.task(task_id).attempts == 1


def test_a_retry_of_what_was_read_makes_the_next_attempt(lab: Lab) -> None:
    _, task_id = failed(lab)
    done = lab.run(again(task_id, 1, Verdict.FAILED))
    assert isinstance(done, Reconciled)
    assert done.successor == 2


@pytest.mark.parametrize("ends", [None, Verdict.FAILED, Verdict.COMPLETED, Verdict.UNKNOWN, Verdict.ASKED])
def test_a_retry_that_comes_once_more_is_told_what_it_has_made_whatever_became_of_that(
    lab: Lab, ends: Verdict | None
) -> None:
    node_id, task_id = failed(lab)
    asked = again(task_id, 1, Verdict.FAILED)
    first = lab.run(asked)
    if ends is not None:
        lab.report(lab.work(node_id, task_id), ends)
    assert lab.run(asked) == first
    assert lab.task(task_id).attempts == 2


def test_a_retry_that_another_persons_has_overtaken_makes_nothing(lab: Lab) -> None:
    node_id, task_id = failed(lab)
    lab.run(again(task_id, 1, Verdict.FAILED))
    lab.report(lab.work(node_id, task_id), Verdict.FAILED)
    late = lab.run(again(task_id, 1, Verdict.FAILED, by="bob"))
    assert (late.code, late.facts["attempt"]) == ("conflict", f"{task_id}/2")
    assert lab.task(task_id).attempts == 2


def test_a_task_that_has_ended_since_it_was_read_is_not_continued(lab: Lab) -> None:
    _, task_id, delivery = lab.running()
    lab.report(delivery)
    task, newest = lab.task(task_id), lab.attempt(task_id)
    late = continuation(task, newest, again(task_id, 1, None), lab.now.wall_ms)
    assert isinstance(late, Refusal)
    assert late.code == "conflict"
    for read in (again(task_id, 1, Verdict.COMPLETED), again(task_id, None, None)):
        assert not isinstance(continuation(task, newest, read, lab.now.wall_ms), Refusal)


@pytest.mark.parametrize("verdict", [Verdict.FAILED, Verdict.ASKED])
def test_a_task_that_was_canceled_since_it_was_read_is_not_continued(lab: Lab, verdict: Verdict) -> None:
    _, task_id, delivery = lab.running()
    lab.report(delivery, verdict)
    lab.cancel(task_id)
    task, newest = lab.task(task_id), lab.attempt(task_id)
    for ended, code in ((False, "conflict"), (True, None), (None, None)):
        asked = replace(again(task_id, 1, verdict), ended=ended)
        said = continuation(task, newest, asked, lab.now.wall_ms)
        assert (said.code if isinstance(said, Refusal) else None) == code


@pytest.mark.parametrize("number", [0, 2, 7, 2**53 - 1])
def test_a_retry_after_an_attempt_that_never_was_makes_nothing(lab: Lab, number: int) -> None:
    _, task_id = failed(lab)
    assert lab.run(again(task_id, number, Verdict.FAILED)).code == "conflict"
    assert lab.task(task_id).attempts == 1


# -- more budget


def test_a_raise_that_comes_once_more_adds_nothing(lab: Lab) -> None:
    _, task_id = failed(lab, budget=Budget(attempts=3))
    asked = raised(task_id, lab.task(task_id).budget)
    assert isinstance(lab.run(asked), Done)
    late = lab.run(asked)
    assert (late.code, late.facts["limits"]["attempts"]) == ("conflict", 8)
    assert lab.task(task_id).budget.attempts == 8


def test_a_raise_that_says_nothing_of_what_was_read_adds_each_time(lab: Lab) -> None:
    _, task_id = failed(lab, budget=Budget(attempts=3))
    for expected in (8, 13):
        assert isinstance(lab.run(raised(task_id, None)), Done)
        assert lab.task(task_id).budget.attempts == expected


# -- answers


def test_the_answer_retry_is_about_the_attempt_that_stood_there_when_it_was_given(lab: Lab) -> None:
    _, task_id = failed(lab)
    (item,) = [one for one in lab.world.every(Attention) if one.open]
    about = Subject(task=lab.task(task_id), attempt=lab.attempt(task_id))
    said = Word(answer="retry", item_version=item.version, by="ann", because=WHY)
    assert resolution(item, about, lab.attempt(task_id), said) == again(task_id, 1, Verdict.FAILED)


def test_the_answer_raise_names_the_limits_that_it_was_given_over(lab: Lab) -> None:
    _, task_id, delivery = lab.running(budget=Budget(attempts=1))
    lab.fail(delivery, FailureClass.EXECUTOR_LOST)
    item = lab.get(Attention, item_id(AttentionKind.EXHAUSTED, task_id))
    about = Subject(task=lab.task(task_id), attempt=lab.attempt(task_id))
    said = Word(answer="raise", item_version=item.version, by="ann", because=WHY, more=Budget(attempts=5))
    assert resolution(item, about, lab.attempt(task_id), said) == raised(task_id, lab.task(task_id).budget)
