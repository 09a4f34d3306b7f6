"""Giving up ends a Task. A question about a node is about none: it is not answered so, whichever Task is named with it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tenure.core import commands as cm
from tenure.core.answers import Subject, answers_to
from tenure.core.attempt import FailureClass
from tenure.core.attention import Attention, AttentionKind
from tenure.core.desk_commands import GiveUp
from tenure.core.ids import DeliveryId, IncarnationId, NodeId, TaskId
from tenure.core.resolving import Word, resolution
from tests.core.lab import Lab


def takes_turns(lab: Lab, _: NodeId) -> None:
    lab.node(boot="copy")
    lab.node(boot="boot1")


def is_too_new(lab: Lab, node: NodeId) -> None:
    lab.run(cm.StartNode(node, IncarnationId("i_new"), "boot1", 99, "linux", "9", ()))


def holds_what_nobody_knows(lab: Lab, node: NodeId) -> None:
    holding = cm.Holding(DeliveryId("d_none"), 1, "started", tree_gone=False)
    lab.run(cm.Snapshot(node, lab.live(node), 1, (holding,)))


ABOUT_NODES: dict[AttentionKind, Callable[[Lab, NodeId], None]] = {
    AttentionKind.NODE_QUARANTINED: takes_turns,
    AttentionKind.NODE_INCOMPATIBLE: is_too_new,
    AttentionKind.UNKNOWN_DELIVERY: holds_what_nobody_knows,
}


def asked(lab: Lab, kind: AttentionKind) -> tuple[TaskId, Attention]:
    """A Task that could be given up, and an open question about its node."""
    node, task_id, delivery = lab.running()
    lab.fail(delivery, FailureClass.AUTHORIZATION)
    ABOUT_NODES[kind](lab, node)
    (item,) = (one for one in lab.world.every(Attention) if one.open and one.kind is kind)
    return task_id, item


@pytest.mark.parametrize("kind", ABOUT_NODES)
def test_giving_up_on_a_question_about_a_node_is_refused_and_changes_nothing(
    lab: Lab, kind: AttentionKind
) -> None:
    task_id, item = asked(lab, kind)
    before, events = lab.task(task_id), len(lab.events)
    refusal = lab.run(GiveUp(task_id, item.item_id, item.version, "ann", "no use"))
    assert (refusal.code, item.item_id in refusal.message) == ("not_found", True)
    assert lab.task(task_id) == before
    assert lab.item(kind, item.subject) == item
    assert len(lab.events) == events


@pytest.mark.parametrize("kind", ABOUT_NODES)
def test_give_up_is_not_among_the_answers_to_a_question_about_a_node(lab: Lab, kind: AttentionKind) -> None:
    _, item = asked(lab, kind)
    word = Word(answer="give_up", item_version=item.version, by="ann", because="no use")
    refusal = resolution(item, Subject(), None, word)
    assert isinstance(refusal, cm.Refusal)
    assert refusal.code == "not_offered"
    assert refusal.facts["offered"] == answers_to(item, Subject())
    assert "give_up" not in answers_to(item, Subject())


def test_the_same_task_is_given_up_by_its_own_question(lab: Lab) -> None:
    """So what is refused above is refused for the question's sake, not for the Task's."""
    task_id, _ = asked(lab, AttentionKind.NODE_QUARANTINED)
    (own,) = (one for one in lab.world.every(Attention) if one.open and one.subject.startswith(task_id))
    assert lab.run(GiveUp(task_id, own.item_id, own.version, "ann", "no use")) == cm.Done()
