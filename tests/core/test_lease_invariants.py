"""The invariants of leases, fences, answers and of what is frozen see what they are there for: each is broken on purpose."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from tenure.core.attempt import Answer, Attempt, AttemptState, Outcome, Verdict
from tenure.core.attention import Attention, AttentionKind, item_id
from tenure.core.delivery import Delivery, Progress
from tenure.core.invariants import step_violations, world_violations
from tenure.core.late import Late
from tenure.core.task import CancelStep, Task, TaskState
from tenure.core.world import World
from tests.core.broken_world import changed
from tests.core.lab import SCOPE, Lab

Step = tuple[World, World]


def same(world: World) -> World:
    return changed(world, Task, next(iter(world.entities[Task])))


def step(lab: Lab, act: Callable[[], Any]) -> Step:
    """A step as the core takes it; what a test changes in it is then the only thing that is wrong."""
    before = same(lab.world)
    act()
    assert step_violations(before, lab.world) == []
    return before, same(lab.world)


def left_open(lab: Lab) -> World:
    _, _, delivery = lab.running()
    lab.report(delivery)
    return changed(lab.world, Delivery, delivery.delivery_id, ended_at_ms=None)


def started_without_a_receipt(lab: Lab) -> World:
    lab.node()
    task_id = lab.submit()
    return changed(lab.world, Attempt, f"{task_id}/1", started_at_ms=1)


def rerun_without_a_successor(lab: Lab) -> World:
    _, task_id, delivery = lab.running()
    lab.lose(delivery)
    return changed(lab.world, Attempt, f"{task_id}/1", answer=Answer.RERUN, answer_by="ann")


def rerun_by_the_machine(lab: Lab) -> World:
    lab.store_auto()
    one = lab.node("one", pools=("pool",), isolation="sandbox")
    lab.node("other", pools=("pool",))
    lab.submit(route="pool", policy="auto", scope=SCOPE)
    lab.lose(lab.work(one))
    return same(lab.world)


def rerun_in_the_open(lab: Lab) -> World:
    world = rerun_by_the_machine(lab)
    (delivery,) = world.every(Delivery)
    return changed(world, Delivery, delivery.delivery_id, isolation=None)


def rerun_at_the_same_place(lab: Lab) -> World:
    world = rerun_by_the_machine(lab)
    _, second = world.every(Attempt)
    return changed(world, Attempt, second.attempt_id, spec=replace(second.spec, avoid=()))


def blocked_and_nobody_asked(lab: Lab) -> World:
    _, task_id, delivery = lab.running()
    lab.lose(delivery)
    lab.answer(task_id, 1, Answer.RERUN)
    name = item_id(AttentionKind.RECIPIENT_BLOCKED, f"{task_id}/1")
    return changed(lab.world, Attention, name, open=False)


def asked_and_nobody_blocked(lab: Lab) -> World:
    _, task_id, delivery = lab.running()
    lab.lose(delivery)
    lab.answer(task_id, 1, Answer.RERUN)
    lab.answer(task_id, 1, Answer.RERUN, tree_gone=True)
    name = item_id(AttentionKind.RECIPIENT_BLOCKED, f"{task_id}/1")
    return changed(lab.world, Attention, name, open=True)


def two_tasks_of_one_key(lab: Lab) -> World:
    lab.submit(key="k")
    other = lab.submit(key="l")
    return changed(lab.world, Task, other, idempotency_key="k")


@pytest.mark.parametrize(
    ("broken", "says"),
    [
        (left_open, "one_owner: d_"),
        (started_without_a_receipt, "nobody has a receipt"),
        (rerun_without_a_successor, "there is no next Attempt"),
        (rerun_in_the_open, "was not isolated"),
        (rerun_at_the_same_place, "where its outcome is unknown"),
        (blocked_and_nobody_asked, "blocks its recipient, and nobody is asked"),
        (asked_and_nobody_blocked, "which blocks nobody"),
        (two_tasks_of_one_key, "have one key"),
    ],
)
def test_a_state_that_breaks_a_rule_of_leases_is_seen(
    lab: Lab, broken: Callable[[Lab], World], says: str
) -> None:
    assert any(says in one for one in world_violations(broken(lab)))


@pytest.mark.parametrize(
    ("kind", "changes", "says"),
    [
        (Attempt, {"state": AttemptState.SUSPECT}, "was not pending"),
        (Attempt, {"harness": "other"}, "another harness was frozen"),
        (Attempt, {"model": "other"}, "another model was frozen"),
        (Task, {"lease": "d_other"}, "its Task was held"),
        (Task, {"fence": 4}, "its fence is not 5"),
        (Task, {"cancel_step": CancelStep.REQUESTED}, "was to be canceled"),
    ],
)
def test_a_grant_that_may_not_be_is_seen(lab: Lab, kind: Any, changes: dict[str, Any], says: str) -> None:
    node, task_id = lab.node(), lab.submit()
    before, after = step(lab, lambda: lab.claim(node))
    key = task_id if kind is Task else f"{task_id}/1"
    assert any(says in one for one in step_violations(changed(before, kind, key, **changes), after))


@pytest.mark.parametrize(("lease", "fence"), [("d_other", 1), ("same", 2), (None, 1), (None, 3)])
def test_a_fence_that_does_not_move_with_its_lease_is_seen(lab: Lab, lease: str | None, fence: int) -> None:
    _, task_id, delivery = lab.running()
    lease = delivery.delivery_id if lease == "same" else lease
    after = changed(lab.world, Task, task_id, lease=lease, fence=fence)
    assert any(f"the fence of {task_id}" in one for one in step_violations(lab.world, after))


@pytest.mark.parametrize("field", ["recipient", "token_digest", "claim_id"])
def test_a_delivery_that_is_another_than_it_was_granted_is_seen(lab: Lab, field: str) -> None:
    _, _, delivery = lab.running()
    after = changed(lab.world, Delivery, delivery.delivery_id, **{field: "other"})
    assert any(f"frozen: {field}" in one for one in step_violations(lab.world, after))


def test_a_second_receipt_of_one_delivery_is_seen(lab: Lab) -> None:
    _, _, delivery = lab.running()
    after = changed(lab.world, Delivery, delivery.delivery_id, receipt_digest="other")
    assert any("receipt_digest" in one and "second" in one for one in step_violations(lab.world, after))


@pytest.mark.parametrize(
    "changes", [{"counter": 9}, {"progress": Progress(events=3)}, {"renewed_at_ms": 5}, {"denied": True}]
)
def test_a_write_of_a_delivery_that_holds_nothing_is_seen(lab: Lab, changes: dict[str, Any]) -> None:
    _, _, delivery = lab.running()
    lab.report(delivery)
    after = changed(lab.world, Delivery, delivery.delivery_id, **changes)
    assert any(one.startswith("fenced_writes") for one in step_violations(lab.world, after))


def test_an_attempt_whose_digest_is_of_another_spec_is_seen(lab: Lab) -> None:
    before = same_as_empty(lab)
    task_id = lab.submit()
    after = changed(lab.world, Attempt, f"{task_id}/1", spec_digest="other")
    assert any("the digest of" in one for one in step_violations(before, after))


def same_as_empty(lab: Lab) -> World:
    before = World()
    before.entities = {kind: dict(entities) for kind, entities in lab.world.entities.items()}
    return before


@pytest.mark.parametrize(
    "changes", [{"harness": "other"}, {"ended_at_ms": 5}, {"last_delivery": None}, {"created_at_ms": 5}]
)
def test_whatever_changes_in_an_attempt_that_has_ended_is_seen(lab: Lab, changes: dict[str, Any]) -> None:
    _, task_id, delivery = lab.running()
    lab.report(delivery)
    after = changed(lab.world, Attempt, f"{task_id}/1", **changes)
    assert any(one.startswith("frozen") for one in step_violations(lab.world, after))


def test_an_outcome_that_is_unknown_before_the_lease_ran_out_is_seen(lab: Lab) -> None:
    _, task_id, _ = lab.running()
    lab.pass_s(lab.terms.lease_ttl_ms / 1000)
    lab.sweep()
    lab.pass_s(lab.terms.suspect_grace_ms / 1000)
    before, after = step(lab, lab.sweep)
    early = changed(before, Attempt, f"{task_id}/1", state=AttemptState.DELIVERED)
    assert any("without having been suspect" in one for one in step_violations(early, after))


def unknown(lab: Lab) -> str:
    _, task_id, delivery = lab.running()
    lab.lose(delivery)
    return task_id


@pytest.mark.parametrize(
    ("answer", "kind", "changes", "says"),
    [
        (Answer.RERUN, Attempt, {"verdict": Verdict.FAILED}, "although it is known"),
        (Answer.RETIRE, Task, {"attempts": 2}, "although it has a successor"),
        (Answer.RERUN, Task, {"state": TaskState.CANCELED}, "rerun after its end"),
        (Answer.RETIRE, Task, {"state": TaskState.COMPLETED}, "its Task did not fail"),
        (Answer.RETIRE, Task, {"open_effects": ("e_1",)}, "although an Effect is open"),
    ],
)
def test_an_answer_that_may_not_be_given_or_does_something_else_is_seen(
    lab: Lab, answer: Answer, kind: Any, changes: dict[str, Any], says: str
) -> None:
    task_id: Any = unknown(lab)
    before, after = step(lab, lambda: lab.answer(task_id, 1, answer))
    name = task_id if kind is Task else f"{task_id}/1"
    is_after = says in ("its Task did not fail", "although it is known", "although an Effect is open")
    if is_after:
        after = changed(after, kind, name, **changes)
    else:
        before = changed(before, kind, name, **changes)
    assert any(says in one for one in step_violations(before, after))


def test_an_accepted_report_that_does_not_end_its_task_is_seen(lab: Lab) -> None:
    _, task_id, delivery = lab.running()
    lab.lose(delivery)
    lab.report(delivery)
    (late,) = lab.world.every(Late)
    before, after = step(lab, lambda: lab.answer(task_id, 1, Answer.ACCEPT, late_id=late.late_id))
    after = changed(after, Task, task_id, state=TaskState.INPUT_REQUIRED)
    assert any("its Task did not end" in one for one in step_violations(before, after))


def test_a_late_message_that_changes_is_seen(lab: Lab) -> None:
    _, _, delivery = lab.running()
    lab.lose(delivery)
    lab.report(delivery)
    (late,) = lab.world.every(Late)
    after = changed(lab.world, Late, late.late_id, outcome=Outcome(verdict=Verdict.FAILED))
    assert any(f"frozen: {late.late_id}" in one for one in step_violations(lab.world, after))


def test_a_question_that_opens_again_as_it_was_or_goes_back_is_seen(lab: Lab) -> None:
    task_id: Any = unknown(lab)
    name = item_id(AttentionKind.UNKNOWN, f"{task_id}/1")
    back = changed(lab.world, Attention, name, version=0)
    assert any("went from version" in one for one in step_violations(lab.world, back))
    lab.answer(task_id, 1, Answer.RETIRE)
    again = changed(lab.world, Attention, name, open=True)
    assert any("went from version" in one for one in step_violations(lab.world, again))


def test_a_grant_out_of_nothing_is_seen(lab: Lab) -> None:
    node, _ = lab.node(), lab.submit()
    before = World()
    lab.claim(node)
    assert any("out of nothing" in one for one in step_violations(before, lab.world))
