"""Submitting, granting and the usual path: `once`, and the bounds of what is accepted. Every step is also checked by `core.invariants` (in the Lab)."""

from __future__ import annotations

from typing import Any

import pytest

from tenure.core import commands as cm
from tenure.core.attempt import Verdict
from tenure.core.ids import Address, DeliveryId, TaskId
from tenure.core.late import Late
from tenure.core.task import Check, TaskState
from tests.core.lab import SHA, Lab


def test_a_task_goes_from_submit_to_completed_and_its_fence_moves_at_grant_and_report(lab: Lab) -> None:
    _, task_id, delivery = lab.running()
    assert delivery.fence == 1
    assert lab.report(delivery) == "recorded"
    task = lab.task(task_id)
    assert (task.state, task.fence, task.lease) == (TaskState.COMPLETED, 2, None)
    assert lab.attempt(task_id).verdict is Verdict.COMPLETED
    assert lab.recipient().slots_used == 0


def test_the_same_key_and_spec_is_the_same_task_and_another_spec_is_refused(lab: Lab) -> None:
    first = lab.submit("key", objective="one")
    assert lab.submit("key", objective="one") == first
    spec = cm.TaskSpec(objective="two", route="claude")
    refusal = lab.run(cm.Submit(TaskId("t_x"), spec, "ann", "key"))
    assert refusal.code == "idempotency_mismatch"
    assert refusal.facts["task_id"] == first
    assert lab.submit("key", by="bob", objective="two") != first


def test_a_repeated_claim_gets_the_same_unacknowledged_grants_and_nothing_more(lab: Lab) -> None:
    node = lab.node(capacity=2)
    for _ in range(2):
        lab.submit()
    (first,) = lab.claim(node, 1, "c_1")
    assert [one.delivery_id for one in lab.claim(node, 2, "c_1")] == [first.delivery_id]
    lab.ack(first)
    assert lab.claim(node, 2, "c_1") == []


def test_a_repeated_ack_and_a_repeated_report_are_answered_as_the_first_time(lab: Lab) -> None:
    _, _, delivery = lab.running()
    assert lab.ack(delivery) == "delivered"
    assert lab.report(delivery) == "recorded"
    assert lab.report(delivery) == "replayed"
    assert not list(lab.world.every(Late))


def test_grants_never_exceed_the_units_that_the_hub_itself_believes_free(lab: Lab) -> None:
    node = lab.node(capacity=2)
    for _ in range(5):
        lab.submit()
    assert len(lab.claim(node, 5)) == 2
    assert lab.claim(node, 5) == []


def test_the_task_that_has_been_ready_longest_is_granted_first(lab: Lab) -> None:
    node = lab.node(capacity=3)
    late = lab.submit(not_before_ms=lab.now.wall_ms + 5000)
    early = lab.submit()
    assert [one.task_id for one in lab.claim(node, 3)] == [early]
    lab.pass_s(5)
    assert [one.task_id for one in lab.claim(node, 3)] == [late]


@pytest.mark.parametrize(
    ("code", "spec"),
    [
        ("too_large", {"objective": "x" * 65_537}),
        ("invalid", {"objective": " \n"}),
        ("invalid", {"route": "claude@"}),
        ("invalid", {"route": "-rf"}),
        ("invalid", {"repository": "/repo"}),
        ("invalid", {"repository": "/repo", "base_sha": "main"}),
        ("invalid", {"repository": "--upload-pack=x", "base_sha": SHA}),
        ("invalid", {"base_sha": SHA}),
        ("invalid", {"command": ()}),
        ("invalid", {"command": ("a\0b",)}),
        ("invalid", {"command": ("x",) * 501}),
        ("invalid", {"timeout_s": 0}),
        ("invalid", {"not_before_ms": 253_402_300_800_000}),
        ("invalid", {"not_before_ms": -1}),
        ("invalid", {"timeout_s": 10**9}),
        ("invalid", {"labels": {"": "x"}}),
        ("invalid", {"labels": {str(number): "x" for number in range(33)}}),
        ("invalid", {"checks": (Check("a", ("true",)), Check("a", ("true",)))}),
        ("invalid", {"checks": (Check("a", ()),)}),
        ("not_found", {"continues": TaskId("t_none"), "because": "x"}),
    ],
)
def test_what_can_never_be_right_is_refused_and_leaves_no_trace(
    lab: Lab, code: str, spec: dict[str, Any]
) -> None:
    before = len(lab.events)
    spec = {"objective": "x", "route": "claude", **spec}
    refusal = lab.run(cm.Submit(TaskId("t_bad"), cm.TaskSpec(**spec), "ann", "k"))
    assert isinstance(refusal, cm.Refusal)
    assert refusal.code == code
    assert len(lab.events) == before


def test_a_claim_for_several_recipients_uses_every_offer_that_it_brings(lab: Lab) -> None:
    node = lab.node()
    specs = tuple(cm.RecipientSpec(name=name, harness="command") for name in ("one", "two", "three"))
    lab.run(cm.StartNode(node, cm.IncarnationId("i_three"), "boot1", 1, "linux", "1", specs))
    for route in ("one", "two", "three"):
        for _ in range(3):
            lab.submit(route=route)
    offers = tuple(cm.Offer(DeliveryId(f"d_{number}"), "x" * 64) for number in range(3))
    free = {Address(f"{name}@laptop"): 1 for name in ("one", "two", "three")}
    reply = lab.run(cm.Claim(node, cm.IncarnationId("i_three"), cm.ClaimId("c_x"), free, offers))
    assert len(reply.deliveries) == 3
