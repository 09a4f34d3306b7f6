"""What a World finds by anything but the key: of each look-up every condition, by two entities that differ in just that."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tenure.core.attempt import Outcome, Verdict
from tenure.core.delivery import Delivery
from tenure.core.ids import ClaimId, NodeId, attempt_id
from tenure.core.late import Late, LateKind
from tenure.core.scope import EffectKind
from tests.core.lab import Lab, pull_request


def beside(lab: Lab, entity: Any, **fields: Any) -> None:
    """Put a copy that differs in its key and in what is given, before the one that is there."""
    lab.world.put(replace(entity, **fields))
    known = lab.world.entities[type(entity)]
    lab.world.entities[type(entity)] = dict(reversed(known.items()))


@pytest.fixture
def delivery(lab: Lab) -> Delivery:
    return lab.performing()[1]


def test_the_deliveries_of_a_claim_are_those_of_its_node(lab: Lab, delivery: Delivery) -> None:
    for other in ({"node_id": NodeId("n_other")}, {"claim_id": ClaimId("c_other")}):
        beside(lab, delivery, delivery_id="d_other", **other)
        assert lab.world.deliveries_of_claim(delivery.node_id, delivery.claim_id) == [delivery]


@pytest.mark.parametrize(
    ("fields", "matters"),
    [
        ({"slot": True, "ended_at_ms": None}, True),
        ({"slot": False, "ended_at_ms": None}, True),
        ({"slot": True, "ended_at_ms": 1}, True),
        ({"slot": False, "ended_at_ms": 1}, False),
        ({"node_id": NodeId("n_other")}, False),
    ],
)
def test_a_delivery_matters_until_it_has_ended_and_its_slot_is_free(
    lab: Lab, delivery: Delivery, fields: dict[str, Any], matters: bool
) -> None:
    beside(lab, delivery, delivery_id="d_other", **fields)
    found = [one.delivery_id for one in lab.world.deliveries_of_node(delivery.node_id)]
    assert sorted(found) == [delivery.delivery_id, *(["d_other"] if matters else [])]


def test_only_what_is_declared_serves_a_route(lab: Lab, delivery: Delivery) -> None:
    recipient = lab.recipient(delivery.recipient)
    serves = {"declared": True, "name": "claude"}
    for one, fields in (
        ("b@x", serves),
        ("a@x", serves),
        ("c@x", {"declared": False}),
        ("d@x", {"name": "codex"}),
    ):
        beside(lab, recipient, address=one, **fields)
    assert [one.address for one in lab.world.serving("claude")] == ["a@x", "b@x", delivery.recipient]


def test_reports_about_an_attempt_are_those_that_came_late_with_an_outcome(
    lab: Lab, delivery: Delivery
) -> None:
    attempt = attempt_id(delivery.task_id, 1)
    late = Late(
        late_id="l_1",
        kind=LateKind.REPORT,
        delivery_id=delivery.delivery_id,
        attempt_id=attempt,
        task_id=delivery.task_id,
        incarnation=lab.live(delivery.node_id),
        claimed_fence=1,
        current_fence=2,
        outcome=Outcome(Verdict.COMPLETED),
        heard_at_ms=1,
    )
    for one in (
        late,
        replace(late, late_id="l_0", heard_at_ms=2),
        replace(late, late_id="l_2", attempt_id="t_other/1"),
        replace(late, late_id="l_3", outcome=None),
    ):
        lab.world.put(one)
    assert [one.late_id for one in lab.world.reports_of(attempt)] == ["l_1", "l_0"]


def test_an_effect_is_found_in_its_own_task(lab: Lab, delivery: Delivery) -> None:
    effect = lab.effect(lab.begin(delivery, pull_request()).effect_id)
    found = (effect.task_id, effect.kind, effect.subject)
    for other in (
        {"task_id": "t_other"},
        {"kind": EffectKind.PUSH, "idempotency_key": "another"},
        {"subject": "other", "idempotency_key": "another"},
    ):
        beside(lab, effect, effect_id="e_0000", **other)
        assert lab.world.effects_of(*found) == [effect]
        assert lab.world.effect_by_key(effect.task_id, effect.idempotency_key) == effect


def test_a_task_is_found_by_its_key_and_who_submitted_it(lab: Lab, delivery: Delivery) -> None:
    task = lab.task(delivery.task_id)
    for other in ({"submitted_by": "bob"}, {"idempotency_key": "other"}):
        beside(lab, task, task_id="t_other", **other)
        assert lab.world.task_by_key("ann", task.idempotency_key) == task
