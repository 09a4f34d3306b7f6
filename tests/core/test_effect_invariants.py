"""The invariants of Effects see what they are there for: each is broken on purpose."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tenure.core.attempt import Attempt, AttemptState
from tenure.core.attention import Attention, AttentionKind, item_id
from tenure.core.delivery import Delivery, DeliveryState
from tenure.core.effect import Effect, EffectState
from tenure.core.effect_commands import CallEnd
from tenure.core.ids import EffectId
from tenure.core.invariants import step_violations, world_violations
from tenure.core.task import CancelStep, Stop, StopCause, Task
from tenure.core.world import World
from tests.core.broken_world import changed
from tests.core.lab import Lab, pull_request

STOP = Stop(1, CancelStep.REQUESTED, StopCause.PERSON, "no", "ann", 0)


def called_by_nobody(lab: Lab) -> World:
    _, _, effect_id = lab.issued()
    return changed(lab.world, Effect, effect_id, called_by=None)


def waited_for_by_nobody(lab: Lab) -> World:
    _, _, effect_id = lab.issued()
    return changed(lab.world, Effect, effect_id, due_at_ms=None)


def under_way_without_a_report(lab: Lab) -> World:
    _, delivery, _ = lab.issued()
    lab.report(delivery)
    return changed(lab.world, Delivery, delivery.delivery_id, state=DeliveryState.DELIVERED)


def quarantined(lab: Lab) -> tuple[World, Effect]:
    task_id, _, effect_id = lab.doubted()
    lab.look_up(effect_id, contradiction="two of them")
    effect = lab.effect(effect_id)
    assert effect.quarantined
    assert task_id == effect.task_id
    return lab.world, effect


def nobody_is_asked(lab: Lab) -> World:
    world, effect = quarantined(lab)
    name = item_id(AttentionKind.EFFECT_QUARANTINED, effect.questions)
    return changed(world, Attention, name, open=False)


def two_of_one_key(lab: Lab) -> World:
    _, delivery = lab.performing()
    first = lab.begin(delivery).effect_id
    second = lab.begin(delivery, pull_request("tenure/two")).effect_id
    return changed(lab.world, Effect, second, idempotency_key=lab.effect(first).idempotency_key)


@pytest.mark.parametrize(
    ("broken", "says"),
    [
        (called_by_nobody, "nobody calls"),
        (waited_for_by_nobody, "nobody calls"),
        (under_way_without_a_report, "ended without a report"),
        (nobody_is_asked, "in quarantine, and nobody is asked"),
        (two_of_one_key, "has a key of"),
    ],
)
def test_a_state_that_breaks_a_rule_of_effects_is_seen(
    lab: Lab, broken: Callable[[Lab], World], says: str
) -> None:
    assert any(says in one for one in world_violations(broken(lab)))


def copied(world: World) -> World:
    other = World()
    other.entities = {one: dict(entities) for one, entities in world.entities.items()}
    return other


def begun(lab: Lab) -> tuple[World, World, Delivery]:
    _, delivery = lab.performing()
    before = copied(lab.world)
    lab.begin(delivery)
    return before, copied(lab.world), delivery


def issued(lab: Lab) -> tuple[World, World, Delivery]:
    _, delivery = lab.performing()
    effect_id = lab.begin(delivery).effect_id
    before = copied(lab.world)
    lab.issue(effect_id)
    return before, copied(lab.world), delivery


def begun_again(lab: Lab) -> tuple[World, World, Delivery]:
    _, delivery, effect_id = lab.issued()
    lab.settle(effect_id, CallEnd.ABSENT)
    before = copied(lab.world)
    lab.begin(delivery)
    assert lab.effect(effect_id).state is EffectState.INTENDED
    return before, copied(lab.world), delivery


@pytest.mark.parametrize("step", [begun, issued, begun_again])
@pytest.mark.parametrize(
    ("kind", "changes", "says"),
    [
        (Task, {"lease": "d_other"}, "by somebody else than the holder"),
        (Task, {"fence": 2}, "fenced_writes"),
        (Task, {"cancel_step": CancelStep.REQUESTED}, "after a cancellation"),
        (Task, {"stop": STOP}, "after a cancellation"),
        (Attempt, {"state": AttemptState.SUSPECT}, "while its Attempt is suspect"),
        (Attempt, {"state": AttemptState.LEASED}, "while its Attempt is leased"),
    ],
)
def test_an_effect_that_is_begun_or_issued_without_authority_is_seen(
    lab: Lab,
    step: Callable[[Lab], tuple[World, World, Delivery]],
    kind: Any,
    changes: dict[str, Any],
    says: str,
) -> None:
    before, after, delivery = step(lab)
    assert step_violations(before, after) == []
    key = delivery.task_id if kind is Task else delivery.attempt_id
    assert any(says in one for one in step_violations(changed(before, kind, key, **changes), after))


@pytest.mark.parametrize("field", ["target", "idempotency_key", "params", "identity"])
def test_an_effect_that_becomes_another_is_seen(lab: Lab, field: str) -> None:
    _, _, effect_id = lab.issued()
    after = changed(lab.world, Effect, effect_id, **{field: "other"})
    assert any(f"frozen: {field}" in one for one in step_violations(lab.world, after))


@pytest.mark.parametrize("state", [EffectState.ISSUED, EffectState.IN_DOUBT, EffectState.ABSENT])
def test_a_call_from_anything_but_an_intention_is_seen(lab: Lab, state: EffectState) -> None:
    _, _, effect_id = lab.issued()
    before = changed(lab.world, Effect, effect_id, state=state)
    after = changed(before, Effect, effect_id, calls=2, state=EffectState.ISSUED)
    assert any("was called from" in one for one in step_violations(before, after))


def test_a_call_in_quarantine_is_seen(lab: Lab) -> None:
    world, effect = quarantined(lab)
    before = changed(world, Effect, effect.effect_id, state=EffectState.INTENDED)
    after = changed(before, Effect, effect.effect_id, calls=effect.calls + 1, state=EffectState.ISSUED)
    assert any("while it is in quarantine" in one for one in step_violations(before, after))


def test_a_confirmed_effect_that_changes_is_seen(lab: Lab) -> None:
    _, _, effect_id = lab.issued()
    lab.settle(effect_id)
    after = changed(lab.world, Effect, EffectId(effect_id), result="other")
    assert any("changed after it was confirmed" in one for one in step_violations(lab.world, after))


def test_an_effect_that_is_begun_for_nobody_is_seen(lab: Lab) -> None:
    before, after, _ = begun(lab)
    before.entities[Task].clear()
    assert any("for nobody" in one for one in step_violations(before, after))
