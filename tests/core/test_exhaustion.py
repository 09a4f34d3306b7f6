"""A used-up budget is exactly one question, written for somebody who was not there."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from tenure.core import commands as cm
from tenure.core import desk_commands as dc
from tenure.core import recovery_events as rv
from tenure.core.answers import Subject, answers_to
from tenure.core.attempt import Usage, Verdict
from tenure.core.attention import Attention, AttentionKind
from tenure.core.budget import Budget
from tenure.core.deciding import decide_give_up
from tenure.core.draft import Draft
from tenure.core.failure import FailureClass
from tenure.core.ids import EffectId, TaskId
from tenure.core.task import TaskState
from tests.core.lab import Lab, evidence

_C = FailureClass


def use_up(lab: Lab, failures: list[FailureClass], cost: int = 10, **spec: Any) -> TaskId:
    """Let it fail in these ways, one after the other, as long as it goes on."""
    node = lab.node()
    task_id = lab.submit(**spec)
    for number, failure in enumerate(failures):
        claimed = lab.claim(node)
        if not claimed:
            break
        lab.ack(claimed[0])
        known = evidence(
            failure, f"wrong in round {'abcdefgh'[number]}" if failure is _C.VALIDATION else None
        )
        usage = Usage(cost_usd_micros=cost, wall_s=1.5, tool_calls=2, input_tokens=5)
        lab.fail(claimed[0], failure, evidence=known, usage=usage, summary=f"round {number}")
    return task_id


def question(lab: Lab, task_id: TaskId) -> Attention:
    item = lab.item(AttentionKind.EXHAUSTED, task_id)
    assert item is not None
    assert lab.open_items() == ["exhausted"]
    return item


def raise_by(lab: Lab, task_id: TaskId, deadline_ms: int | None = None, **more: int) -> Any:
    return lab.run(dc.RaiseBudget(task_id, Budget(**more), deadline_ms, "ann", "it is worth it"))


@pytest.mark.parametrize(
    ("budget", "failures", "dimension", "attempts"),
    [
        (Budget(attempts=2), [_C.VALIDATION] * 5, "attempts", 2),
        (Budget(cost_usd_micros=20), [_C.VALIDATION] * 5, "cost_usd_micros", 2),
        (Budget(tokens=10), [_C.EXECUTOR_LOST] * 5, "tokens", 2),
        (Budget(tool_calls=3), [_C.EXECUTOR_LOST] * 5, "tool_calls", 2),
        (Budget(wall_s=3), [_C.EXECUTOR_LOST] * 5, "wall_s", 2),
        (Budget(repeats=2), [_C.EXECUTOR_LOST] * 5, "repeats", 2),
        (Budget(rounds=2), [_C.VALIDATION] * 5, "rounds", 3),
    ],
)
def test_every_dimension_comes_to_one_question(
    lab: Lab, budget: Budget, failures: list[FailureClass], dimension: str, attempts: int
) -> None:
    task_id = use_up(lab, failures, budget=budget)
    assert lab.task(task_id).attempts == attempts
    facts = msgspec.json.decode(question(lab, task_id).facts)
    assert dimension in facts["exhausted"]
    assert facts["left"][dimension] == 0


def test_it_tells_what_was_tried_what_changed_what_it_cost_and_why_more_is_unsafe(lab: Lab) -> None:
    task_id = use_up(lab, [_C.VALIDATION, _C.EXECUTOR_LOST, _C.VALIDATION], budget=Budget(attempts=3))
    item = question(lab, task_id)
    assert item.summary == (
        f'{task_id} ("do it") stops after 3 attempts: it has had as many attempts as it may; one more of its own choosing '
        "would be a guess"
    )
    facts = msgspec.json.decode(item.facts)
    tried = facts["tried"]
    assert [one["class"] for one in tried] == ["validation", "executor_lost", "validation"]
    assert [one["changed"] for one in tried] == [[], ["input"], []]
    assert [one["hypothesis"] for one in tried] == [
        "the first try",
        "what its checks said is added to its input",
        "the process was lost, which passes",
    ]
    assert [(one["cost_usd_micros"], one["wall_s"], one["tokens"]) for one in tried] == [(10, 1.5, 5)] * 3
    assert [one["summary"] for one in tried] == [
        "round 0: wrong in round a",
        "round 1",
        "round 2: wrong in round c",
    ]
    assert facts["unsafe_because"]


def test_capacity_does_not_count_against_the_attempts(lab: Lab) -> None:
    node = lab.node()
    task_id = lab.submit(route="claude@laptop", budget=Budget(attempts=1))
    for _ in range(3):
        lab.fail(lab.work(node), _C.CAPACITY)
        lab.pass_s(3_600)
    assert lab.task(task_id).attempts == 4
    lab.fail(lab.work(node), _C.EXECUTOR_LOST)
    assert question(lab, task_id)


def test_whatever_runs_out_next_it_stays_the_same_question(lab: Lab) -> None:
    task_id = use_up(lab, [_C.EXECUTOR_LOST] * 2, budget=Budget(attempts=1))
    lab.run(cm.Retry(task_id, "ann", ""))
    node = lab.node()
    lab.fail(lab.work(node), _C.EXECUTOR_LOST, usage=Usage(cost_usd_micros=99))
    lab.pass_s(10**6)
    lab.run(dc.DueTask(task_id))
    lab.run(dc.Reconsider(task_id))
    assert question(lab, task_id).version == 3
    assert len([one for one in lab.world.every(Attention) if one.kind is AttentionKind.EXHAUSTED]) == 1


def test_a_raise_lets_it_go_on_by_its_policy(lab: Lab) -> None:
    task_id = use_up(lab, [_C.VALIDATION], budget=Budget(attempts=1))
    assert not raise_by(lab, task_id, attempts=2).replayed
    spec = lab.attempt(task_id, 2).spec
    assert spec.hypothesis is not None
    assert (spec.hypothesis.by, spec.feedback is not None) == ("policy:default/1", True)
    assert lab.open_items() == []


def test_where_the_policy_has_no_plan_a_raise_is_the_persons_word_for_the_same_spec(lab: Lab) -> None:
    _, task_id, delivery = lab.running(budget=Budget(cost_usd_micros=10))
    lab.renew(delivery, usage=Usage(cost_usd_micros=5))
    lab.renew(delivery, usage=Usage(cost_usd_micros=9))
    lab.report(delivery, Verdict.CANCELED)
    assert question(lab, task_id)
    raise_by(lab, task_id, cost_usd_micros=50)
    spec = lab.attempt(task_id, 2).spec
    assert spec.hypothesis is not None
    assert (spec.hypothesis.by, spec.hypothesis.because) == ("ann", "it is worth it")


def test_a_raise_that_is_not_enough_is_refused_and_changes_nothing(lab: Lab) -> None:
    task_id = use_up(lab, [_C.VALIDATION] * 3, cost=30, budget=Budget(attempts=1, cost_usd_micros=20))
    before = lab.task(task_id)
    refusal = raise_by(lab, task_id, attempts=1)
    assert (refusal.code, refusal.facts) == ("invalid", {"exhausted": ["cost_usd_micros"]})
    assert lab.task(task_id) == before
    assert not raise_by(lab, task_id, attempts=1, cost_usd_micros=100).replayed
    assert lab.task(task_id).attempts == 2


def test_a_raise_of_a_task_that_runs_only_moves_its_limits(lab: Lab) -> None:
    _, task_id, _ = lab.running(budget=Budget(attempts=1))
    assert not raise_by(lab, task_id, attempts=4, deadline_ms=lab.now.wall_ms + 5).replayed
    assert (lab.task(task_id).budget.attempts, lab.task(task_id).attempts) == (5, 1)


def test_people_are_not_asked_oftener_than_they_want_and_then_that_is_the_question(lab: Lab) -> None:
    _, task_id, delivery = lab.running(budget=Budget(interruptions=1))
    lab.report(delivery, Verdict.ASKED)
    lab.run(cm.Retry(task_id, "ann", "the blue one"))
    lab.report(lab.work(lab.node()), Verdict.ASKED)
    assert question(lab, task_id)
    assert raise_by(lab, task_id, attempts=3).facts == {"exhausted": ["interruptions"]}
    raise_by(lab, task_id, interruptions=5)
    assert (lab.open_items(), lab.task(task_id).attempts) == (["asked"], 2)


@pytest.mark.parametrize("answer", ["give_up", "cancel", "retry"])
def test_every_answer_that_it_offers_is_taken_and_closes_it(lab: Lab, answer: str) -> None:
    task_id = use_up(lab, [_C.VALIDATION], budget=Budget(attempts=1))
    item = question(lab, task_id)
    about = Subject(task=lab.task(task_id), attempt=lab.attempt(task_id))
    assert set(answers_to(item, about)) == {"raise", "retry", "give_up", "cancel"}
    if answer == "give_up":
        lab.run(dc.GiveUp(task_id, item.item_id, item.version, "ann", "no use"))
        assert lab.task(task_id).state is TaskState.FAILED
    elif answer == "cancel":
        lab.cancel(task_id)
    else:
        lab.run(cm.Retry(task_id, "ann", "on my word"))
    assert lab.open_items() == []


def test_giving_up_needs_the_version_that_was_read_and_is_final(lab: Lab) -> None:
    task_id = use_up(lab, [_C.VALIDATION], budget=Budget(attempts=1))
    item = question(lab, task_id)

    def give_up(by: str = "ann", version: int = item.version, because: str = "no use") -> Any:
        return lab.run(dc.GiveUp(task_id, item.item_id, version, by, because))

    assert give_up(version=item.version + 1).code == "conflict"
    assert give_up(because=" ").code == "invalid"
    assert lab.run(dc.GiveUp(task_id, "failed:t_0", 1, "ann", "x")).code == "not_found"
    assert give_up() == cm.Done()
    assert give_up() == cm.Done(replayed=True)
    assert give_up(by="bob").code == "not_offered"
    assert lab.task(task_id).end_reason == "given up: no use"


def test_nothing_is_exhausted_twice_in_the_record_for_one_attempt(lab: Lab) -> None:
    task_id = use_up(lab, [_C.VALIDATION] * 2, budget=Budget(attempts=1))
    for _ in range(3):
        lab.run(dc.DueTask(task_id))
    assert len([one for one in lab.events if isinstance(one, rv.BudgetExhausted)]) == 1


def test_a_failure_that_came_too_often_says_nothing_of_the_next_one(lab: Lab) -> None:
    task_id = use_up(lab, [_C.EXECUTOR_LOST] * 2, budget=Budget(repeats=2))
    assert question(lab, task_id)
    lab.run(cm.Retry(task_id, "ann", "", dc.Changes(objective="otherwise")))
    node = lab.node()
    lab.fail(lab.work(node), _C.VALIDATION, evidence=evidence(check="quite another thing"))
    assert (lab.task(task_id).attempts, lab.task(task_id).tally.repeats) == (4, 1)
    assert lab.open_items() == []
    lab.fail(lab.work(node), _C.EXECUTOR_LOST, evidence=evidence(_C.EXECUTOR_LOST), summary="round 0")
    assert (lab.task(task_id).tally.repeats, lab.open_items()) == (3, ["exhausted"])


def test_capacity_after_a_failure_that_came_too_often_is_waited_out(lab: Lab) -> None:
    task_id = use_up(lab, [_C.EXECUTOR_LOST] * 2, budget=Budget(repeats=2))
    lab.run(cm.Retry(task_id, "ann", "on my word"))
    lab.fail(lab.work(lab.node()), _C.CAPACITY, evidence=evidence(_C.CAPACITY))
    assert (lab.task(task_id).attempts, lab.open_items()) == (4, [])


def test_it_tells_how_often_and_by_whom_it_was_tried_and_how_each_ended(lab: Lab) -> None:
    twice = use_up(lab, [_C.VALIDATION] * 2, budget=Budget(attempts=2))
    item = question(lab, twice)
    assert " stops after 2 attempts: " in item.summary
    told = [(one["by"], one["verdict"], one["class"]) for one in msgspec.json.decode(item.facts)["tried"]]
    assert told == [(None, "failed", "validation"), ("policy:default/1", "failed", "validation")]


def test_one_attempt_is_told_as_one(lab: Lab) -> None:
    once = use_up(lab, [_C.VALIDATION], budget=Budget(attempts=1))
    assert " stops after 1 attempt: " in question(lab, once).summary


def test_a_raise_lets_go_on_only_what_waits_for_it(lab: Lab) -> None:
    _, task_id, delivery = lab.running()
    lab.fail(delivery, _C.AUTHORIZATION, evidence=evidence(_C.AUTHORIZATION))
    before = lab.task(task_id).budget.attempts or 0
    assert lab.run(dc.RaiseBudget(task_id, Budget(attempts=3), None, "ann", "x")) == cm.Done()
    assert (lab.task(task_id).attempts, lab.task(task_id).budget.attempts) == (1, before + 3)
    assert lab.open_items() == ["authorization"]


def test_a_raise_that_is_closed_by_another_answer_lets_nothing_go_on(lab: Lab) -> None:
    task_id = use_up(lab, [_C.VALIDATION], budget=Budget(attempts=1))
    lab.run(cm.Retry(task_id, "ann", "once more"))
    lab.fail(lab.work(lab.node()), _C.AUTHORIZATION, evidence=evidence(_C.AUTHORIZATION))
    assert lab.open_items() == ["authorization"]
    assert lab.run(dc.RaiseBudget(task_id, Budget(attempts=9), None, "ann", "x")) == cm.Done()
    assert (lab.task(task_id).attempts, lab.open_items()) == (2, ["authorization"])


def test_a_raise_by_nothing_says_what_is_still_lacking(lab: Lab) -> None:
    task_id = use_up(lab, [_C.VALIDATION], budget=Budget(attempts=1))
    refusal = lab.run(dc.RaiseBudget(task_id, Budget(tokens=5), None, "ann", "x"))
    assert "nothing would be left in attempts even so" in refusal.message


def test_what_has_ended_is_not_raised(lab: Lab) -> None:
    _, task_id, delivery = lab.running()
    lab.report(delivery)
    assert lab.run(dc.RaiseBudget(task_id, Budget(attempts=3), None, "ann", "x")).code == "terminal"


def test_who_gives_up_stands_at_the_question_and_waits_until_effects_are_known(lab: Lab) -> None:
    task_id = use_up(lab, [_C.VALIDATION], budget=Budget(attempts=1))
    item = question(lab, task_id)
    command = dc.GiveUp(task_id, item.item_id, item.version, "ann", "no use")
    doubtful = replace(lab.task(task_id), open_effects=(EffectId("e_1"),))
    draft = Draft(lab.world, lab.now, lab.terms)
    draft.put(doubtful)
    assert isinstance(decide_give_up(draft, command), cm.Refusal)
    assert draft.events == []
    assert lab.run(command) == cm.Done()
    assert lab.get(type(item), item.item_id).closed_by == "ann"


def test_a_raise_after_the_clock_was_set_back_makes_nothing_for_a_time_after_the_deadline(lab: Lab) -> None:
    _, task_id, delivery = lab.running(budget=Budget(attempts=1))
    lab.fail(delivery, FailureClass.EXECUTOR_LOST)
    lab.sleep_s(-3600)
    deadline_ms = lab.now.wall_ms + 600_000
    lab.run(dc.RaiseBudget(task_id, Budget(attempts=2), deadline_ms, "ann", "it may go on"))
    assert (lab.task(task_id).attempts, lab.open_items()) == (1, ["exhausted"])
    lab.sleep_s(3600)
    lab.run(
        dc.RaiseBudget(task_id, Budget(attempts=2), lab.now.wall_ms + 600_000, "ann", "the clock is right")
    )
    assert (lab.task(task_id).attempts, lab.open_items()) == (2, [])
