"""What is counted and what stands in the record after a message: who sent it, from where, and what was known then."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tenure.core import commands as cm
from tenure.core import desk_commands as dc
from tenure.core import desk_events as de
from tenure.core.attention import Attention, AttentionKind
from tenure.core.delivery import Delivery
from tenure.core.evolve import evolve
from tenure.core.origin import Origin, stamped
from tenure.core.recovery_events import StopAdvanced
from tests.core.lab import Lab


def test_from_where_somebody_spoke_stands_at_what_they_said_and_nowhere_else(lab: Lab) -> None:
    task_id = lab.submit()
    lab.run(dc.StopAttempt(task_id, 1, "ann", "it does harm"))
    origin = Origin("c_1", "192.0.2.1")
    assert stamped(lab.events, None, origin) == tuple(lab.events)
    marked = stamped(lab.events, "ann", origin)
    for before, after in zip(lab.events, marked, strict=True):
        mine = getattr(before, "by", None) == "ann"
        assert (getattr(after, "origin", None) == origin) is mine
    assert any(isinstance(one, StopAdvanced) and one.origin == origin for one in marked)


@pytest.mark.parametrize(("until_ms", "told"), [(None, 1), (2**50, 0)])
def test_after_a_snooze_people_are_told_anew(lab: Lab, until_ms: int | None, told: int) -> None:
    _, task_id, delivery = lab.running()
    lab.lose(delivery)
    item = lab.item(AttentionKind.UNKNOWN, f"{task_id}/1")
    assert item is not None
    lab.world.put(replace(item, notified_version=1))
    evolve(lab.world, de.AttentionSnoozed(item_id=item.item_id, until_ms=until_ms, by="ann"), lab.now)
    assert lab.get(Attention, item.item_id).notified_version == told


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({}, "the lease ran out and nobody reported"),
        ({"denied": True}, "node lost its store"),
        ({"boot_id": "an earlier one"}, "boot"),
    ],
    ids=["silent", "denied", "another boot"],
)
def test_what_is_known_of_a_holder_that_fell_silent_is_told(
    lab: Lab, fields: dict[str, object], words: str
) -> None:
    _, task_id, delivery = lab.running()
    lab.world.put(replace(delivery, **fields))
    lab.lose(delivery)
    item = lab.item(AttentionKind.UNKNOWN, f"{task_id}/1")
    assert item is not None
    reason = item.summary.partition(" ended: ")[2]
    if "boot_id" in fields:
        assert reason != "the lease ran out and nobody reported"
        assert reason.startswith("the lease ran out and nobody reported")
    else:
        assert reason == words


def test_a_machine_that_is_forgotten_gives_back_what_it_was_only_offered_and_its_slots(lab: Lab) -> None:
    node = lab.node(capacity=3)
    for _ in range(3):
        lab.submit()
    offered, lost, held = lab.claim(node, 3)
    for delivery in (lost, held):
        lab.ack(delivery)
    lab.run(cm.ForgetNode(node, "ann", "it burnt"))
    assert lab.get(Delivery, offered.delivery_id).end_reason == "node_forgotten"
    assert lab.get(Delivery, held.delivery_id).end_reason is None
