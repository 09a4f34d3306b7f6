"""Concurrency keys: of all Tasks with the same one only one runs at a time, and nobody takes it over on a guess."""

from __future__ import annotations

import pytest

from tenure.core import commands as cm
from tenure.core import desk_commands as dc
from tenure.core.attempt import Answer, Verdict
from tenure.core.failure import FailureClass
from tenure.core.gate import Gate
from tenure.core.ids import TaskId
from tests.core.lab import Lab


def holder(lab: Lab) -> TaskId | None:
    return lab.get(Gate, "k").holder


def two(lab: Lab) -> tuple[TaskId, TaskId]:
    return lab.submit(concurrency_key="k"), lab.submit(concurrency_key="k")


def test_of_two_tasks_with_one_key_only_one_is_granted_also_within_one_claim(lab: Lab) -> None:
    node = lab.node(capacity=3)
    first, second = two(lab)
    free = lab.submit(concurrency_key="other")
    granted = {one.task_id for one in lab.claim(node, 3)}
    assert granted == {first, free}
    assert (holder(lab), lab.task(second).held_on) == (first, "key:k")
    assert first in lab.reason(second).sentence


def test_the_next_one_goes_on_when_the_first_has_ended(lab: Lab) -> None:
    node = lab.node()
    first, second = two(lab)
    delivery = lab.work(node, first)
    lab.claim(lab.node("other"))
    assert lab.run(dc.Reconsider(second)).replayed
    lab.report(delivery)
    assert holder(lab) is None
    assert not lab.run(dc.Reconsider(second)).replayed
    assert lab.work(node).task_id == second


def test_the_reason_names_who_has_the_key_now_and_nobody_who_is_over(lab: Lab) -> None:
    node = lab.node(capacity=3)
    first, second = two(lab)
    third = lab.submit(concurrency_key="k")
    delivery = lab.work(node, first)
    assert lab.claim(node) == []
    lab.report(delivery)
    said = lab.reason(third)
    assert (said.code, said.blocker, first in said.sentence) == ("held_key", "key:k", False)
    assert "free" in said.sentence
    lab.run(dc.Reconsider(second))
    lab.work(node, second)
    assert second in lab.reason(third).sentence


def test_between_two_attempts_the_key_is_free_for_others(lab: Lab) -> None:
    node = lab.node()
    first, second = two(lab)
    lab.fail(lab.work(node, first), FailureClass.CAPACITY)
    assert holder(lab) is None
    assert lab.work(lab.node("other")).task_id == second


@pytest.mark.parametrize("how", ["refused", "expired", "handed back", "canceled"])
def test_what_comes_to_nothing_gives_the_key_back(lab: Lab, how: str) -> None:
    node = lab.node()
    first, _ = two(lab)
    (delivery,) = lab.claim(node)
    if how == "refused":
        lab.ack(delivery, "no disk")
    elif how == "expired":
        lab.pass_s(10)
        lab.sweep()
    elif how == "handed back":
        lab.ack(delivery)
        lab.run(cm.HandBack(lab.proof(delivery), "nothing started"))
    else:
        lab.cancel(first)
    assert holder(lab) is None


@pytest.mark.parametrize("answer", [Answer.RERUN, Answer.RETIRE])
def test_an_unknown_outcome_keeps_the_key_until_a_person_has_answered(lab: Lab, answer: Answer) -> None:
    node = lab.node("one")
    first, second = two(lab)
    lab.lose(lab.work(node, first))
    other = lab.node("other")
    assert (holder(lab), lab.claim(other)) == (first, [])
    lab.answer(first, 1, Answer.INVESTIGATE)
    assert lab.run(dc.Reconsider(second)).replayed
    lab.answer(first, 1, answer)
    assert holder(lab) is None
    assert not lab.run(dc.Reconsider(second)).replayed
    assert len(lab.claim(other)) == 1


def test_a_canceled_task_with_an_unknown_end_keeps_its_key_too(lab: Lab) -> None:
    node = lab.node()
    first, _ = two(lab)
    lab.work(node, first)
    lab.cancel(first)
    lab.pass_s(60)
    lab.sweep()
    assert (lab.task(first).state, lab.attempt(first).verdict) == ("canceled", Verdict.UNKNOWN)
    assert holder(lab) == first
    lab.answer(first, 1, Answer.RETIRE)
    assert holder(lab) is None
