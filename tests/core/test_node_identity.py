"""Nodes: one live incarnation, enrolment, snapshots. Every step is also checked by `core.invariants` (in the Lab)."""

from __future__ import annotations

from typing import Any

import pytest

from tenure.core import commands as cm
from tenure.core.delivery import DeliveryState
from tenure.core.ids import DeliveryId
from tenure.core.recipient import Node
from tests.core.lab import Lab


def test_the_start_of_a_new_incarnation_supersedes_the_old_on_every_leg(lab: Lab) -> None:
    node, _, delivery = lab.running()
    old = lab.live(node)
    lab.node()
    assert lab.ack(delivery, incarnation=old) == "superseded"
    assert lab.renew(delivery, incarnation=old).answer == "superseded"
    assert lab.report(delivery, incarnation=old) == "superseded"
    assert lab.run(cm.Claim(node, old, cm.ClaimId("c"), {}, ())).code == "superseded"
    assert lab.run(cm.Snapshot(node, old, 9, ())).code == "superseded"
    assert lab.run(cm.StartNode(node, old, "boot1", 1, "linux", "1", ())).code == "superseded"
    assert lab.renew(delivery).answer == "renewed"


def test_two_machines_that_take_turns_with_one_credential_are_quarantined_until_released(lab: Lab) -> None:
    node = lab.node(boot="a")
    lab.node(boot="b")
    lab.submit()
    assert lab.open_items() == []
    lab.node(boot="a")
    assert lab.open_items() == ["node_quarantined"]
    assert lab.claim(node) == []
    lab.run(cm.ReleaseNode(node, "ann", "the copy is off"))
    assert lab.open_items() == []
    assert len(lab.claim(node)) == 1


def test_a_start_that_comes_after_a_later_one_takes_over_nothing(lab: Lab) -> None:
    node = lab.node(boot="a", generation=4)
    lab.node(boot="b", generation=6)
    live, before = lab.live(node), len(lab.events)
    for boot in ("a", "b"):
        late = cm.StartNode(
            node, cm.IncarnationId(f"i_late_{boot}"), boot, 1, "linux", "1", (), "another", generation=5
        )
        refusal = lab.run(late)
        assert (refusal.code, refusal.facts) == ("superseded", {"live": live, "generation": 6})
    assert len(lab.events) == before
    assert lab.live(node) == live


def test_two_starts_with_one_number_are_two_machines_also_under_one_boot(lab: Lab) -> None:
    node = lab.node(generation=4)
    lab.node(generation=4)
    assert lab.open_items() == ["node_quarantined"]
    lab.submit()
    assert lab.claim(node) == []


def test_after_its_release_a_node_counts_from_whatever_it_has_counted(lab: Lab) -> None:
    node = lab.node(generation=9)
    lab.node(generation=9)
    lab.run(cm.ReleaseNode(node, "ann", "the copy is off"))
    lab.node(generation=3)
    assert lab.get(Node, node).generation == 3
    assert lab.open_items() == []
    lab.submit()
    assert len(lab.claim(node)) == 1


def test_a_start_that_is_said_again_is_no_second_one_with_its_number(lab: Lab) -> None:
    node = lab.node(generation=4)
    before = len(lab.events)
    for generation in (4, 3):  # the lower one: what it said before it was told of a higher number
        again = cm.StartNode(node, lab.live(node), "boot1", 1, "linux", "1", (), generation=generation)
        assert lab.run(again) == cm.Started(node, None, compatible=True, quarantined=False)
    assert len(lab.events) == before
    renewed = cm.StartNode(node, lab.live(node), "boot1", 1, "linux", "1", (), "another", generation=4)
    assert lab.run(renewed) == cm.Started(node, None, compatible=True, quarantined=False)
    assert lab.get(Node, node).credential_digest == "another"


def test_starts_that_tell_no_number_are_told_apart_by_their_boots_alone(lab: Lab) -> None:
    node = lab.node()
    for _ in range(2):
        before = lab.live(node)
        lab.node()
        assert lab.live(node) != before
    assert lab.open_items() == []


def test_a_quarantined_node_may_replace_its_credential_before_it_is_released(lab: Lab) -> None:
    """It may be the only way to shut out whoever has the old one."""
    node = lab.node(generation=4)
    lab.node(generation=4)
    lab.run(
        cm.StartNode(node, cm.IncarnationId("i_own"), "boot1", 1, "linux", "1", (), "another", generation=5)
    )
    assert lab.get(Node, node).credential_digest == "another"
    assert lab.get(Node, node).quarantined


def test_whoever_tells_no_number_of_a_node_that_has_told_some_is_asked_about(lab: Lab) -> None:
    node = lab.node(generation=4)
    lab.node()
    assert lab.open_items() == ["node_quarantined"]
    lab.run(cm.ReleaseNode(node, "ann", "an older version runs there now"))
    lab.node()
    assert lab.open_items() == []


def test_a_node_of_another_contract_version_gets_no_work_and_is_on_the_list(lab: Lab) -> None:
    node = lab.node()
    lab.submit()
    spec = cm.RecipientSpec(name="claude", harness="command")
    lab.run(cm.StartNode(node, cm.IncarnationId("i_new"), "boot1", 99, "linux", "9", (spec,)))
    assert lab.open_items() == ["node_incompatible"]
    assert lab.claim(node) == []
    lab.node()
    assert lab.open_items() == []


def test_a_node_name_is_enrolled_once_and_free_again_after_it_was_forgotten(lab: Lab) -> None:
    node = lab.node()
    refusal = lab.run(cm.Enroll(cm.NodeId("n_other"), "laptop", "another", "ann"))
    assert refusal.code == "name_taken"
    lab.run(cm.ForgetNode(node, "ann", "sold"))
    assert lab.run(cm.Claim(node, lab.live(node), cm.ClaimId("c"), {}, ())).code == "unauthenticated"
    assert isinstance(lab.run(cm.Enroll(cm.NodeId("n_other"), "laptop", "another", "ann")), cm.Enrolled)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"capacity": 0}, "capacity"),
        ({"model": "a\0b"}, "model"),
        ({"model": "a|b"}, "model"),
        ({"harness": ""}, "harness"),
        ({"isolation": "somewhat"}, "isolation"),
        ({"config_digest": "x" * 1000}, "config_digest"),
        ({"pools": ("pool",) * 17}, "pools"),
        ({"name": "no spaces"}, "name"),
    ],
)
def test_what_a_node_says_of_its_recipients_is_bounded(lab: Lab, change: dict[str, Any], field: str) -> None:
    node = lab.node()
    spec = cm.RecipientSpec(**{"name": "claude", "harness": "command", **change})
    before = len(lab.events)
    reply = lab.run(cm.StartNode(node, cm.IncarnationId("i_new"), "boot1", 1, "linux", "1", (spec,)))
    assert reply.code == "invalid", field
    assert len(lab.events) == before


@pytest.mark.parametrize(
    ("incarnation", "boot"), [("\0", "boot1"), ("i_1", ""), ("i_1", "x" * 65), ("a b", "boot1")]
)
def test_an_incarnation_or_boot_that_is_no_plain_id_is_refused(lab: Lab, incarnation: str, boot: str) -> None:
    node = lab.node()
    reply = lab.run(cm.StartNode(node, cm.IncarnationId(incarnation), boot, 1, "linux", "1", ()))
    assert reply.code == "invalid"


def test_a_snapshot_older_than_what_was_heard_is_ignored(lab: Lab) -> None:
    node, _, delivery = lab.running()
    held = (cm.Holding(delivery.delivery_id, 1, "started", False),)
    assert lab.run(cm.Snapshot(node, lab.live(node), 5, held)).advice == {delivery.delivery_id: "go_on"}
    assert lab.run(cm.Snapshot(node, lab.live(node), 5, ())).ignored
    assert not lab.get(type(delivery), delivery.delivery_id).denied


@pytest.mark.parametrize(("last", "is_ignored"), [(0, False), (6, False), (7, True), (8, True)])
def test_a_snapshot_that_comes_behind_a_receipt_denies_nothing_that_it_cannot_know(
    lab: Lab, last: int, is_ignored: bool
) -> None:
    node = lab.node()
    lab.submit()
    (delivery,) = lab.claim(node)
    lab.run(cm.Acknowledge(lab.proof(delivery), "receipt", snapshot=last))
    assert lab.run(cm.Snapshot(node, lab.live(node), 7, ())).ignored == is_ignored
    assert lab.get(type(delivery), delivery.delivery_id).denied != is_ignored


def test_a_receipt_that_names_an_older_snapshot_than_was_heard_takes_nothing_back(lab: Lab) -> None:
    node = lab.node()
    lab.submit()
    lab.run(cm.Snapshot(node, lab.live(node), 9, ()))
    (delivery,) = lab.claim(node)
    lab.run(cm.Acknowledge(lab.proof(delivery), "receipt", snapshot=3))
    assert lab.run(cm.Snapshot(node, lab.live(node), 9, ())).ignored


def test_an_acknowledged_delivery_the_node_does_not_know_runs_out_to_unknown_with_that_reason(
    lab: Lab,
) -> None:
    node, task_id, delivery = lab.running()
    lab.run(cm.Snapshot(node, lab.live(node), 1, ()))
    assert lab.task(task_id).lease == delivery.delivery_id
    lab.lose(delivery)
    assert lab.get(type(delivery), delivery.delivery_id).end_reason == "node lost its store"


def test_an_unacknowledged_delivery_the_node_does_not_know_is_voided(lab: Lab) -> None:
    node = lab.node()
    lab.submit()
    (delivery,) = lab.claim(node)
    lab.run(cm.Snapshot(node, lab.live(node), 1, ()))
    assert lab.get(type(delivery), delivery.delivery_id).state is DeliveryState.VOID


def test_a_delivery_that_the_hub_does_not_know_is_stopped_and_on_the_attention_list(lab: Lab) -> None:
    node = lab.node()
    held = cm.Holding(DeliveryId("d_restored"), 4, "started", False)
    assert lab.run(cm.Snapshot(node, lab.live(node), 1, (held,))).advice == {"d_restored": "stop"}
    assert lab.open_items() == ["unknown_delivery"]


def test_a_node_is_told_to_stop_what_it_lost_and_to_report_what_it_still_holds(lab: Lab) -> None:
    node, _, delivery = lab.running()
    lab.lose(delivery)

    def advice(sequence: int, stage: str) -> str:
        held = cm.Holding(delivery.delivery_id, 1, stage, False)
        return lab.run(cm.Snapshot(node, lab.live(node), sequence, (held,))).advice[delivery.delivery_id]

    assert advice(1, "started") == "stop"
    assert advice(2, "ended") == "report"
    lab.report(delivery)
    assert advice(3, "ended") == "close"
