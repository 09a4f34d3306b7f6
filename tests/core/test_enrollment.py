"""Nodes and tokens: who may come in, what they may call themselves, and what the record keeps of them."""

from __future__ import annotations

from typing import Any

import pytest

from tenure.core import commands as cm
from tenure.core.access import HUB_ID, MOST_PROJECTS, PERSON_ROLES, Credential, Hub, Role, covers
from tenure.core.attention import AttentionKind
from tenure.core.canonical import text_digest
from tenure.core.delivery import DeliveryState
from tenure.core.ids import IncarnationId, NodeId
from tenure.core.limits import CAPACITY, KEY_LENGTH, NAME_LENGTH, POOLS, RECIPIENTS
from tenure.core.recipient import Node, RecipientSpec
from tests.core.lab import Lab

LONGEST = "n" * NAME_LENGTH


def issue(lab: Lab, name: str = "ann", role: Role = Role.OPERATOR, **more: Any) -> Any:
    more = {"credential_id": "c1", "token_digest": "digest", "by": "root", **more}
    return lab.run(cm.IssueCredential(name=name, role=role, **more))


def start(lab: Lab, node_id: NodeId, *recipients: RecipientSpec, **changes: Any) -> Any:
    said: dict[str, Any] = {
        "node_id": node_id, "incarnation": IncarnationId(lab.fresh("i")), "boot_id": "boot1", "contract": 1,
        "platform": "linux", "version": "1", "recipients": recipients,
    }  # fmt: skip
    return lab.run(cm.StartNode(**{**said, **changes}))


def spec(**changes: Any) -> RecipientSpec:
    return RecipientSpec(**{"name": "claude", "harness": "command", **changes})


def enroll(lab: Lab, name: str, secret: str = "secret", node_id: str = "n_1") -> Any:
    return lab.run(cm.Enroll(NodeId(node_id), name, text_digest(secret), "ann"))


# -- nodes


@pytest.mark.parametrize("name", ["", "a b", "-a", "ä", LONGEST + "n", "a\n"])
def test_a_node_with_a_name_that_is_none_is_not_enrolled(lab: Lab, name: str) -> None:
    reply = enroll(lab, name)
    assert (reply.code, reply.facts) == ("invalid", {"field": "name"})
    assert list(lab.world.every(Node)) == []


def test_the_same_secret_enrolls_the_same_node_again_and_another_one_is_refused_the_name(lab: Lab) -> None:
    assert enroll(lab, LONGEST) == cm.Enrolled(NodeId("n_1"))
    assert enroll(lab, LONGEST, node_id="n_2") == cm.Enrolled(NodeId("n_1"))
    assert enroll(lab, LONGEST, "another", "n_2").code == "name_taken"
    lab.run(cm.ForgetNode(NodeId("n_1"), "ann", "it burnt"))
    assert enroll(lab, LONGEST, node_id="n_2") == cm.Enrolled(NodeId("n_2"))


def test_a_start_of_a_node_that_is_unknown_or_forgotten_is_refused(lab: Lab) -> None:
    assert start(lab, NodeId("n_9")).code == "unauthenticated"
    node_id = lab.node()
    lab.run(cm.ForgetNode(node_id, "ann", "it burnt"))
    assert start(lab, node_id).code == "unauthenticated"


def test_a_start_names_the_one_before_and_is_idempotent_by_its_incarnation(lab: Lab) -> None:
    enroll(lab, "laptop")
    node_id = NodeId("n_1")
    assert start(lab, node_id, incarnation="i_a") == cm.Started(node_id, None, True, False)
    second = start(lab, node_id, incarnation="i_b")
    assert second.superseded == "i_a"
    assert start(lab, node_id, incarnation="i_b").superseded is None
    assert lab.get(Node, node_id).superseded == ("i_a",)
    refused = start(lab, node_id, incarnation="i_a")
    assert (refused.code, refused.facts) == ("superseded", {"live": "i_b"})


def test_a_secret_is_renewed_only_where_another_one_is_given(lab: Lab) -> None:
    enroll(lab, "laptop")
    node_id = NodeId("n_1")
    start(lab, node_id, credential_digest=text_digest("secret"))
    start(lab, node_id, credential_digest=None)
    assert "NodeCredentialRenewed" not in [type(one).__name__ for one in lab.events]
    start(lab, node_id, credential_digest="another")
    assert lab.get(Node, node_id).credential_digest == "another"
    assert [type(one).__name__ for one in lab.events].count("NodeCredentialRenewed") == 1


def test_a_machine_that_was_restarted_many_times_is_no_second_machine(lab: Lab) -> None:
    enroll(lab, "laptop")
    for boot in ("a", "a", "b", "b", "c"):
        assert not start(lab, NodeId("n_1"), boot_id=boot).quarantined
    assert lab.get(Node, "n_1").boots == ("a", "b", "c")
    assert start(lab, NodeId("n_1"), boot_id="a").quarantined
    assert start(lab, NodeId("n_1"), boot_id="b").quarantined
    asked = [one for one in lab.events if type(one).__name__ == "NodeQuarantined"]
    assert len(asked) == 1, "it is quarantined once"


def test_a_node_of_another_contract_gets_no_work_until_it_speaks_this_one(lab: Lab) -> None:
    enroll(lab, "laptop")
    reply = start(lab, NodeId("n_1"), spec(), contract=99)
    assert not reply.compatible
    assert lab.open_items() == ["node_incompatible"]
    assert start(lab, NodeId("n_1"), spec()).compatible
    assert lab.open_items() == []


@pytest.mark.parametrize(
    "right",
    [
        spec(name=LONGEST),
        spec(pools=tuple(f"p{n}" for n in range(POOLS))),
        spec(capacity=1),
        spec(capacity=CAPACITY),
        spec(config_digest="d" * KEY_LENGTH),
    ],
)
def test_what_a_recipient_says_may_reach_its_bounds(lab: Lab, right: RecipientSpec) -> None:
    enroll(lab, "laptop")
    assert isinstance(start(lab, NodeId("n_1"), right), cm.Started)


@pytest.mark.parametrize(
    "wrong",
    [
        (spec(name=LONGEST + "n"),),
        (spec(name="a b"),),
        (spec(pools=("a b",)),),
        (spec(pools=tuple(f"p{n}" for n in range(POOLS + 1))),),
        (spec(capacity=0),),
        (spec(capacity=CAPACITY + 1),),
        (spec(config_digest="d" * (KEY_LENGTH + 1)),),
        (spec(isolation="wishful"),),
        (spec(harness="a|b"),),
        (spec(), spec()),
    ],
)
def test_what_a_recipient_says_beyond_its_bounds_is_refused(
    lab: Lab, wrong: tuple[RecipientSpec, ...]
) -> None:
    enroll(lab, "laptop")
    assert start(lab, NodeId("n_1"), *wrong).code == "invalid"
    assert lab.get(Node, "n_1").incarnation == ""


@pytest.mark.parametrize(("more", "accepted"), [(0, True), (1, False)])
def test_a_node_has_so_many_recipients_at_most(lab: Lab, more: int, accepted: bool) -> None:
    enroll(lab, "laptop")
    lab.copies_deep = False
    reply = start(lab, NodeId("n_1"), *(spec(name=f"r{n}") for n in range(RECIPIENTS + more)))
    assert isinstance(reply, cm.Started) is accepted


def test_what_a_node_no_longer_declares_is_not_declared(lab: Lab) -> None:
    enroll(lab, "laptop")
    start(lab, NodeId("n_1"), spec(name="a"), spec(name="b"))
    start(lab, NodeId("n_1"), spec(name="b"))
    assert not lab.recipient("a@laptop").declared
    assert lab.recipient("b@laptop").declared


def test_a_forgotten_machine_gives_back_what_it_held(lab: Lab) -> None:
    assert lab.run(cm.ForgetNode(NodeId("n_9"), "ann", "gone")).code == "not_found"
    node_id = lab.node(capacity=2)
    lab.submit()
    lab.submit()
    offered, running = lab.claim(node_id, 2)
    lab.ack(running)
    assert lab.run(cm.ForgetNode(node_id, "ann", "it burnt")) == cm.Done()
    assert not lab.recipient().declared
    assert lab.get(type(offered), offered.delivery_id).state is DeliveryState.VOID
    assert lab.get(type(running), running.delivery_id).slot, "its lease is open: nothing is known of it yet"
    assert lab.run(cm.ForgetNode(node_id, "ann", "it burnt")) == cm.Done(replayed=True)
    lab.lose(running)
    assert not lab.get(type(running), running.delivery_id).slot
    assert [type(one).__name__ for one in lab.events].count("NodeRevoked") == 1


def test_an_address_that_another_node_took_over_outlives_the_first(lab: Lab) -> None:
    first = lab.node()
    lab.run(cm.ForgetNode(first, "ann", "it burnt"))
    second = lab.node()
    assert second != first
    lab.run(cm.ForgetNode(first, "ann", "it burnt"))
    assert lab.recipient().declared


def test_a_quarantine_is_lifted_once_and_a_forgotten_node_asks_nothing(lab: Lab) -> None:
    assert lab.run(cm.ReleaseNode(NodeId("n_9"), "ann", "fine")).code == "not_found"
    node_id = lab.node(boot="a")
    assert lab.run(cm.ReleaseNode(node_id, "ann", "fine")) == cm.Done(replayed=True)
    lab.node(boot="b")
    lab.node(boot="a")
    assert lab.item(AttentionKind.NODE_QUARANTINED, node_id)
    lab.run(cm.ForgetNode(node_id, "ann", "it was stolen"))
    assert lab.item(AttentionKind.NODE_QUARANTINED, node_id) is None


def test_each_start_of_the_hub_is_counted(lab: Lab) -> None:
    assert (lab.get(Hub, HUB_ID).starts, lab.get(Hub, HUB_ID).incarnation) == (1, "i_hub1")
    lab.restart_hub()
    assert (lab.get(Hub, HUB_ID).starts, lab.get(Hub, HUB_ID).incarnation) == (2, lab.now.hub)


# -- tokens


def test_a_token_is_issued_once_and_kept_with_what_it_may(lab: Lab) -> None:
    assert issue(lab, LONGEST, projects=("b", "a", "b")) == cm.Done()
    kept = lab.get(Credential, "c1")
    assert (kept.name, kept.role, kept.projects, kept.revoked_at_ms) == (
        LONGEST,
        Role.OPERATOR,
        ("a", "b"),
        None,
    )
    assert issue(lab, "bob") == cm.Done(replayed=True)
    assert lab.get(Credential, "c1") == kept


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": "a b"},
        {"name": LONGEST + "n"},
        {"role": Role.NODE, "projects": ("a",)},
        {"role": Role.JOIN, "projects": ("a",)},
        {"projects": ("a", "no name")},
        {"projects": tuple(f"p{n}" for n in range(MOST_PROJECTS + 1))},
    ],
)
def test_a_token_that_is_none_is_not_issued(lab: Lab, wrong: dict[str, Any]) -> None:
    assert issue(lab, **wrong).code == "invalid"
    assert lab.world.find(Credential, "c1") is None


def test_a_refused_project_is_named_and_too_many_are_counted(lab: Lab) -> None:
    assert "'no name' is no name" in issue(lab, projects=("a", "no name")).message
    many = tuple(f"p{n}" for n in range(MOST_PROJECTS + 1))
    assert f"{len(many)} are too many" in issue(lab, projects=many).message
    assert issue(lab, projects=many[:MOST_PROJECTS]) == cm.Done()


def test_a_machines_token_is_bound_to_no_project(lab: Lab) -> None:
    assert issue(lab, role=Role.NODE) == cm.Done()
    assert issue(lab, role=Role.VIEWER, projects=("a",), credential_id="c2") == cm.Done()


def test_a_token_is_revoked_once_by_whoever_said_so_first(lab: Lab) -> None:
    assert lab.run(cm.RevokeCredential("c1", "ann")).code == "not_found"
    issue(lab)
    assert lab.run(cm.RevokeCredential("c1", "ann", "lost")) == cm.Done()
    assert lab.run(cm.RevokeCredential("c1", "bob", "lost")) == cm.Done(replayed=True)
    kept = lab.get(Credential, "c1")
    assert (kept.revoked_by, kept.revoked_at_ms) == ("ann", lab.now.wall_ms)


def test_a_rotated_token_hands_on_its_name_and_is_refused_from_then_on(lab: Lab) -> None:
    rotate = cm.RotateCredential("c1", "c2", "new digest", "ann", "monthly")
    assert lab.run(rotate).code == "not_found"
    issue(lab, projects=("a",))
    assert lab.run(rotate) == cm.Done()
    old, new = lab.get(Credential, "c1"), lab.get(Credential, "c2")
    assert (new.name, new.role, new.projects, new.token_digest) == (
        old.name,
        old.role,
        ("a",),
        "new digest",
    )
    assert (old.revoked_by, new.revoked_at_ms) == ("ann", None)
    assert lab.run(rotate) == cm.Done(replayed=True)
    refused = lab.run(cm.RotateCredential("c1", "c3", "third", "ann"))
    assert (refused.code, refused.facts) == ("conflict", {"credential_id": "c1"})
    assert lab.world.find(Credential, "c3") is None


@pytest.mark.parametrize("held", Role)
@pytest.mark.parametrize("needed", Role)
def test_a_role_covers_itself_and_persons_of_less_power(held: Role, needed: Role) -> None:
    ranks = {role: rank for rank, role in enumerate(PERSON_ROLES)}
    both = held in ranks and needed in ranks
    assert covers(held, needed) is (ranks[held] >= ranks[needed] if both else held == needed)
