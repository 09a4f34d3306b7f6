"""A pause keeps new work from starting, of the hub, a project, a node or a recipient; what runs goes on."""

from __future__ import annotations

from typing import Any

import pytest

from tenure.core import commands as cm
from tenure.core import desk_commands as dc
from tenure.core.ids import NodeId
from tests.core.lab import Lab

SUBJECTS = ("hub", "project:red", "node", "claude@laptop")


def subject_of(node: NodeId, subject: str) -> str:
    return node if subject == "node" else subject


def pause(lab: Lab, subject: str, drain: bool = False, because: str = "we upgrade") -> Any:
    return lab.run(dc.Pause(subject, "ann", because, drain))


@pytest.mark.parametrize("subject", SUBJECTS)
def test_nothing_new_starts_where_it_is_paused_and_why_says_so(lab: Lab, subject: str) -> None:
    node = lab.node(capacity=2)
    running = lab.submit(project="red")
    delivery = lab.work(node, running)
    waiting = lab.submit(project="red")
    assert pause(lab, subject_of(node, subject)) == cm.Done()
    assert lab.claim(node) == []
    assert "we upgrade" in lab.reason(waiting).sentence
    assert lab.renew(delivery).answer == "renewed"
    lab.report(delivery)
    assert lab.task(running).state == "completed"
    assert lab.run(dc.Unpause(subject_of(node, subject), "ann", "done")) == cm.Done()
    assert lab.run(dc.Unpause(subject_of(node, subject), "ann", "done")).replayed
    assert [one.task_id for one in lab.claim(node)] == [waiting]


@pytest.mark.parametrize("subject", SUBJECTS)
def test_what_was_offered_before_a_pause_may_still_be_acknowledged(lab: Lab, subject: str) -> None:
    node = lab.node()
    lab.submit(project="red")
    (delivery,) = lab.claim(node)
    pause(lab, subject_of(node, subject))
    assert lab.ack(delivery) == "delivered"


def test_a_paused_project_leaves_the_others_alone_and_may_be_paused_before_it_exists(lab: Lab) -> None:
    node = lab.node(capacity=9)
    pause(lab, "project:red")
    lab.submit(project="red")
    other = lab.submit(project="blue")
    assert [one.task_id for one in lab.claim(node, 9)] == [other]


def test_paused_twice_only_a_drain_is_news(lab: Lab) -> None:
    pause(lab, "hub")
    assert pause(lab, "hub").replayed
    assert not pause(lab, "hub", drain=True).replayed
    assert pause(lab, "hub").replayed


@pytest.mark.parametrize("subject", ["nobody@nowhere", "n_none", "project:", "mars"])
def test_what_does_not_exist_cannot_be_paused(lab: Lab, subject: str) -> None:
    assert pause(lab, subject).code == "not_found"
    assert lab.run(dc.Unpause(subject, "ann", "x")).code == "not_found"


def test_a_pause_needs_a_reason(lab: Lab) -> None:
    assert pause(lab, "hub", because=" ").facts == {"field": "because"}


@pytest.mark.parametrize("subject", ["node", "claude@laptop"])
def test_a_pause_outlives_the_restart_of_its_node(lab: Lab, subject: str) -> None:
    node = lab.node()
    pause(lab, subject_of(node, subject))
    lab.submit()
    lab.node(boot="boot2", config_digest="other")
    assert lab.claim(node) == []
