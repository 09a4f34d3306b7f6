"""The invariants of recovery see what they are there for: each rule is broken on purpose, and is told by its name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from tenure.core import commands as cm
from tenure.core import desk_commands as dc
from tenure.core.account import Account
from tenure.core.attempt import Attempt, Hypothesis, Usage, Verdict
from tenure.core.attention import Attention, AttentionKind, item_id
from tenure.core.budget import Amounts, Budget, Share
from tenure.core.circuit import Circuit
from tenure.core.delivery import Delivery
from tenure.core.failure import FailureClass
from tenure.core.gate import Gate
from tenure.core.hold import Hold, HoldKind
from tenure.core.ids import TaskId
from tenure.core.invariants import step_violations, world_violations
from tenure.core.recipient import Recipient
from tenure.core.review import About, Review
from tenure.core.task import Task
from tenure.core.world import World
from tests.core.broken_world import changed
from tests.core.lab import Lab, evidence


def asked(lab: Lab) -> tuple[TaskId, World]:
    """A Task whose first Attempt failed and that asks a person."""
    _, task_id, delivery = lab.running()
    lab.fail(delivery, FailureClass.AUTHORIZATION)
    return task_id, lab.world


def retried(lab: Lab) -> tuple[TaskId, World]:
    """A Task whose first Attempt was lost and that the machine tries again."""
    _, task_id, delivery = lab.running()
    lab.fail(delivery, FailureClass.EXECUTOR_LOST)
    return task_id, lab.world


def reserving(lab: Lab) -> tuple[TaskId, World]:
    """A Task at work for which something is set aside, under a key."""
    lab.run(dc.SetAccount("hub", Share(tokens=100), Budget(), Share(tokens=50), 1, "ann", "x"))
    _, task_id, _ = lab.running(concurrency_key="k")
    return task_id, lab.world


def changes_nothing(lab: Lab) -> World:
    task_id, world = retried(lab)
    spec = lab.attempt(task_id, 2).spec
    assert spec.hypothesis is not None
    same = replace(spec, hypothesis=replace(spec.hypothesis, transient=False))
    return changed(world, Attempt, f"{task_id}/2", spec=same)


def nobodys_word(lab: Lab) -> World:
    task_id, world = asked(lab)
    lab.run(cm.Retry(task_id, "ann", "on my word"))
    spec = lab.attempt(task_id, 2).spec
    assert spec.hypothesis is not None
    return changed(
        world,
        Attempt,
        f"{task_id}/2",
        spec=replace(spec, hypothesis=replace(spec.hypothesis, override=False, changes=())),
    )


def silent(lab: Lab) -> World:
    task_id, world = asked(lab)
    return changed(world, Attention, item_id(AttentionKind.AUTHORIZATION, f"{task_id}/1"), open=False)


def undecided(lab: Lab) -> World:
    task_id, world = asked(lab)
    return changed(world, Task, task_id, decided=0)


def held_in_queue(lab: Lab) -> World:
    task_id = lab.submit()
    held = Hold(HoldKind.KEY, "key:k", "x")
    return changed(lab.world, Task, task_id, hold=held, held_on="key:k")


def held_and_lost(lab: Lab) -> World:
    task_id = lab.submit()
    held = Hold(HoldKind.KEY, "key:k", "x")
    return changed(lab.world, Task, task_id, hold=held, queue_key=None)


def asks_after_the_end(lab: Lab) -> World:
    task_id, world = asked(lab)
    lab.cancel(task_id)
    return changed(world, Attention, item_id(AttentionKind.AUTHORIZATION, f"{task_id}/1"), open=True)


def exhausted_and_goes_on(lab: Lab) -> World:
    _, task_id, delivery = lab.running(budget=Budget(attempts=1))
    lab.fail(delivery, FailureClass.EXECUTOR_LOST)
    return changed(lab.world, Task, task_id, queue_key="claude|*|*")


def reserved_wrongly(lab: Lab) -> World:
    _, world = reserving(lab)
    return changed(world, Account, "hub", reserved=Amounts(tokens=49))


def reserved_for_ever(lab: Lab) -> World:
    task_id, world = reserving(lab)
    delivery = lab.get(Delivery, lab.task(task_id).lease or "")
    lab.report(delivery)
    return changed(world, Delivery, delivery.delivery_id, reserved=Amounts(tokens=1))


def asked_although_there_is_room(lab: Lab) -> World:
    node = lab.node()
    lab.run(dc.SetAccount("hub", Share(tokens=100), Budget(), Share(), 1, "ann", "x"))
    lab.submit(budget=Budget(tokens=100))
    lab.fail(lab.work(node), FailureClass.AUTHORIZATION, usage=Usage(input_tokens=100))
    lab.submit()
    assert lab.claim(node) == []
    assert "exhausted" in lab.open_items()
    return changed(lab.world, Account, "hub", limits=Share(tokens=200))


def runs_uncounted(lab: Lab) -> World:
    _, world = reserving(lab)
    return changed(world, Account, "project:default", running=0)


def key_let_go(lab: Lab) -> World:
    _, world = reserving(lab)
    return changed(world, Gate, "k", holder=None)


def key_kept(lab: Lab) -> World:
    task_id, world = reserving(lab)
    lab.report(lab.get(Delivery, lab.task(task_id).lease or ""))
    return changed(world, Gate, "k", holder=task_id)


def challenged_in_silence(lab: Lab) -> World:
    _, task_id, delivery = lab.running()
    lab.report(delivery)
    lab.run(dc.Challenge(task_id, 1, About.CLAIM, "bob", "no"))
    return changed(lab.world, Attention, f"challenged:{task_id}/1", open=False)


def approval_unasked(lab: Lab) -> World:
    task_id = lab.submit(approval=True)
    return changed(lab.world, Attention, f"approval:{task_id}/1", open=False)


STATES: dict[Callable[[Lab], World], str] = {
    changes_nothing: "reasoned_retry",
    nobodys_word: "reasoned_retry",
    silent: "never_silent",
    undecided: "never_silent",
    held_in_queue: "bounded",
    held_and_lost: "never_silent",
    asks_after_the_end: "no_resurrection",
    exhausted_and_goes_on: "bounded",
    reserved_wrongly: "bounded",
    reserved_for_ever: "bounded",
    asked_although_there_is_room: "bounded",
    runs_uncounted: "fair shares",
    key_let_go: "one_owner",
    key_kept: "one_owner",
    challenged_in_silence: "never_silent",
    approval_unasked: "never_silent",
}


@pytest.mark.parametrize("plant", STATES, ids=lambda one: one.__name__)
def test_a_state_that_breaks_a_rule_is_seen(lab: Lab, plant: Callable[[Lab], World]) -> None:
    world = plant(lab)
    assert world_violations(lab.world) == []
    assert any(one.startswith(STATES[plant]) for one in world_violations(world)), world_violations(world)


def grant(lab: Lab, **spec: Any) -> tuple[World, World, Delivery]:
    """The worlds before and after a grant."""
    node = lab.node(provider="account")
    task_id = lab.submit(**spec)
    before = changed(lab.world, Task, task_id)
    (delivery,) = lab.claim(node)
    assert step_violations(before, lab.world) == []
    return before, lab.world, delivery


def test_a_grant_to_a_paused_recipient_is_seen(lab: Lab) -> None:
    before, after, delivery = grant(lab)
    lab.run(dc.Pause(delivery.recipient, "ann", "x"))
    paused = lab.recipient().paused
    before = changed(before, Recipient, delivery.recipient, paused=paused)
    assert any("its recipient is paused" in one for one in step_violations(before, after))


def test_a_grant_to_a_recipient_that_must_be_avoided_is_seen(lab: Lab) -> None:
    before, after, delivery = grant(lab)
    spec = replace(lab.attempt(delivery.task_id).spec, avoid=(delivery.recipient,))
    before = changed(before, Attempt, delivery.attempt_id, spec=spec)
    after = changed(after, Attempt, delivery.attempt_id, spec=spec)
    assert any("must avoid that recipient" in one for one in step_violations(before, after))


def test_a_grant_while_the_circuit_is_open_is_seen(lab: Lab) -> None:
    before, after, _ = grant(lab)
    before.put(Circuit("account", 1, 0, lab.now.wall_ms + 1, "429", None))
    assert any(one.startswith("capacity") for one in step_violations(before, after))


def test_a_grant_after_the_deadline_has_come_is_seen(lab: Lab) -> None:
    before, after, delivery = grant(lab, deadline_ms=lab.now.wall_ms + 5)
    before = changed(before, Task, delivery.task_id, due_at_ms=lab.now.wall_ms)
    assert any("its deadline has come" in one for one in step_violations(before, after))


def test_a_grant_beside_an_open_challenge_is_seen(lab: Lab) -> None:
    _, first, delivery = lab.running()
    lab.report(delivery)
    before, after, _ = grant(lab, after=(first,))
    before.put(Review(first, 1, About.CLAIM, "bob", "no", 0, None, None, None, None, 1))
    assert any("is challenged" in one for one in step_violations(before, after))


@pytest.mark.parametrize("changes", [{"budget": Budget(attempts=1)}, {"deadline_ms": 1_000_000_000_000}])
def test_an_automatic_attempt_beyond_the_budget_or_the_deadline_is_seen(
    lab: Lab, changes: dict[str, Any]
) -> None:
    _, task_id, delivery = lab.running()
    before = changed(lab.world, Task, task_id)
    lab.fail(delivery, FailureClass.EXECUTOR_LOST)
    assert step_violations(before, lab.world) == []
    after = changed(lab.world, Task, task_id, **changes)
    assert any(one.startswith("bounded") for one in step_violations(before, after))


def test_usage_that_is_given_back_is_seen(lab: Lab) -> None:
    _, task_id, delivery = lab.running()
    lab.renew(delivery, usage=Usage(tool_calls=3))
    after = changed(lab.world, Delivery, delivery.delivery_id, usage=Usage(tool_calls=2))
    assert any("given back" in one for one in step_violations(lab.world, after))
    lab.fail(delivery, FailureClass.AUTHORIZATION, usage=Usage(tool_calls=3))
    tally = replace(lab.task(task_id).tally, used=Amounts())
    assert any(
        "given back" in one
        for one in step_violations(lab.world, changed(lab.world, Task, task_id, tally=tally))
    )


def test_an_account_that_is_charged_twice_is_seen(lab: Lab) -> None:
    task_id, _ = reserving(lab)
    delivery = lab.get(Delivery, lab.task(task_id).lease or "")
    before = changed(lab.world, Task, task_id)
    lab.fail(delivery, FailureClass.AUTHORIZATION, usage=Usage(input_tokens=7))
    assert step_violations(before, lab.world) == []
    after = changed(lab.world, Account, "hub", used=Amounts(tokens=14))
    assert any("was charged" in one for one in step_violations(before, after))


def test_a_configuration_hold_that_goes_on_without_a_change_is_seen(lab: Lab) -> None:
    node = lab.node(config_digest="one")
    task_id = lab.submit()
    lab.fail(lab.work(node), FailureClass.CONFIGURATION, evidence=evidence(FailureClass.CONFIGURATION))
    before = changed(lab.world, Task, task_id)
    lab.node(config_digest="two")
    lab.run(dc.Reconsider(task_id))
    assert lab.attempt(task_id, 2).spec.hypothesis is not None
    after = changed(lab.world, Recipient, "claude@laptop", config_digest="one")
    assert any("the configuration that it waited to change" in one for one in step_violations(before, after))


def test_a_stop_that_is_taken_up_again_by_the_machine_is_seen(lab: Lab) -> None:
    _, task_id, delivery = lab.running()
    lab.run(dc.StopAttempt(task_id, 1, "ann", "no"))
    before = changed(lab.world, Task, task_id)
    lab.report(delivery, Verdict.CANCELED)
    lab.run(cm.Retry(task_id, "ann", "go on"))
    spec = lab.attempt(task_id, 2).spec
    assert spec.hypothesis is not None
    by_policy: Hypothesis = replace(spec.hypothesis, by="policy:default/1")
    after = changed(lab.world, Attempt, f"{task_id}/2", spec=replace(spec, hypothesis=by_policy))
    assert any("a person is to say" in one for one in step_violations(before, after))


def test_an_account_that_is_not_charged_is_seen(lab: Lab) -> None:
    task_id, _ = reserving(lab)
    delivery = lab.get(Delivery, lab.task(task_id).lease or "")
    before = changed(lab.world, Task, task_id)
    lab.fail(delivery, FailureClass.AUTHORIZATION, usage=Usage(input_tokens=7))
    after = changed(lab.world, Account, "project:default", limits=Share(tokens=9))
    assert any("is not charged for" in one for one in step_violations(before, after))


def test_a_task_that_counts_otherwise_than_its_accounts_is_seen(lab: Lab) -> None:
    _, task_id, delivery = lab.running()
    lab.lose(delivery)
    before, tally = changed(lab.world, Task, task_id), lab.task(task_id).tally
    lab.fail(delivery, FailureClass.VALIDATION, usage=Usage(input_tokens=7))
    assert step_violations(before, lab.world) == []
    after = changed(lab.world, Task, task_id, tally=tally)
    assert any(f"{task_id} counts" in one for one in step_violations(before, after))


def test_a_stop_for_a_budget_that_nobody_has_raised_and_the_machine_goes_on_from_is_seen(lab: Lab) -> None:
    _, task_id, delivery = lab.running(budget=Budget(tokens=100))
    lab.renew(delivery, usage=Usage(input_tokens=40))
    assert lab.renew(delivery, usage=Usage(input_tokens=90)).cancel
    lab.run(dc.RaiseBudget(task_id, Budget(tokens=50), None, "ann", "more"))
    before = changed(lab.world, Task, task_id)
    lab.report(delivery, Verdict.CANCELED)
    assert step_violations(before, lab.world) == []
    spec = replace(lab.attempt(task_id, 2).spec, share=Share(tokens=10))
    after = changed(lab.world, Attempt, f"{task_id}/2", spec=spec)
    assert any("a person is to say" in one for one in step_violations(before, after))
