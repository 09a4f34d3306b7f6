"""What belongs to another project is as if it did not exist; what belongs to the hub is for nobody who is bound."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tenure.core import commands as cm
from tenure.core import desk_commands as dc
from tenure.core import effect_commands as ec
from tenure.core import schedule_commands as sc
from tenure.core.access import Credential, Role
from tenure.core.account import HUB_ACCOUNT, Account, new_account, project_account
from tenure.core.attempt import Answer, Attempt
from tenure.core.attention import Attention, AttentionKind, item_id
from tenure.core.budget import Budget
from tenure.core.decide import decide
from tenure.core.decision import Decision
from tenure.core.delivery import Delivery
from tenure.core.ids import Address, TaskId, attempt_id
from tenure.core.origin import Origin
from tenure.core.policy import PolicyChoice
from tenure.core.recipient import Node, Recipient
from tenure.core.review import About
from tenure.core.schedule import Schedule, ScheduleSpec
from tenure.core.scope import EffectKind, Scope
from tenure.core.task import Task, TaskSpec
from tenure.core.tenancy import may_know
from tests.core.lab import Lab

MINE, THEIRS = "shop", "bank"
NIGHTLY = ScheduleSpec(
    cron="0 3 * * *", zone="UTC", task=TaskSpec(objective="x", route="claude", project=MINE)
)


@pytest.fixture
def shared(lab: Lab) -> Lab:
    """A record of two projects, and the token of somebody who is bound to one of them."""
    token = cm.IssueCredential("c_ann", "ann", Role.OPERATOR, "digest", "root", (MINE,))
    assert lab.run(token) == cm.Done()
    return lab


def said(lab: Lab, command: Any, *within: str, token: str = "c_ann") -> Decision:
    decision = decide(lab.world, cm.Said(command, Origin(credential=token), within), lab.now, lab.terms)
    lab.world.accept(decision.changes)
    return decision


def refused(lab: Lab, command: Any, *within: str, **more: Any) -> str:
    decision = said(lab, command, *within, **more)
    assert (decision.events, decision.changes) == ((), {})
    assert isinstance(decision.reply, cm.Refusal), decision.reply
    return decision.reply.code


def cancel(task_id: str) -> cm.Cancel:
    return cm.Cancel(TaskId(task_id), "ann", "no need")


def submit(lab: Lab, **spec: Any) -> cm.Submit:
    asked = TaskSpec(**{"objective": "x", "route": "claude", **spec})
    return cm.Submit(TaskId(lab.fresh("t")), asked, "ann", lab.fresh("key"))


# -- the token counts at this very commit


def test_a_token_that_is_unknown_or_revoked_says_nothing(shared: Lab) -> None:
    task_id = shared.submit()
    assert refused(shared, cancel(task_id), token="c_none") == "unauthenticated"
    shared.run(cm.RevokeCredential("c_ann", "root"))
    assert refused(shared, cancel(task_id)) == "unauthenticated"
    assert not shared.task(task_id).is_cancel_requested


def test_who_is_bound_to_nothing_meets_everything(shared: Lab) -> None:
    task_id = shared.submit(project=THEIRS)
    assert not isinstance(said(shared, cancel(task_id)).reply, cm.Refusal)
    assert shared.task(task_id).is_cancel_requested
    assert shared.events


# -- what is named


def test_a_task_of_another_project_is_answered_like_one_that_there_never_was(shared: Lab) -> None:
    theirs, mine = shared.submit(project=THEIRS), shared.submit(project=MINE)
    foreign = said(shared, cancel(theirs), MINE).reply
    nowhere = said(shared, cancel("t_none"), MINE).reply
    assert isinstance(foreign, cm.Refusal)
    assert isinstance(nowhere, cm.Refusal)
    assert foreign.code == nowhere.code == "not_found"
    assert foreign.message.replace(theirs, "X") == nowhere.message.replace("t_none", "X")
    assert not isinstance(said(shared, cancel(mine), MINE).reply, cm.Refusal)


def test_every_command_about_anothers_task_is_answered_so(shared: Lab) -> None:
    theirs = shared.submit(project=THEIRS)
    node_id = shared.node()
    (delivery,) = shared.claim(node_id)
    shared.ack(delivery)
    shared.lose(delivery)
    item = item_id(AttentionKind.UNKNOWN, attempt_id(theirs, 1))
    shared.get(Attention, item)
    for command in (
        cm.Retry(theirs, "ann", "again"),
        cm.Reconcile(theirs, 1, Answer.RETIRE, 1, "ann", "read"),
        cm.CloseAttention(item, 1, "ann", "read"),
        ec.Approve(theirs, None, True, 1, "ann", "fine"),
        dc.RaiseBudget(theirs, Budget(attempts=1), None, "ann", "more"),
        dc.GiveUp(theirs, item, 1, "ann", "no"),
        dc.WaiveDependencies(theirs, 1, "ann", "no"),
        dc.AssignAttention(item, 1, "bob", "ann"),
    ):
        assert refused(shared, command, MINE) == "not_found", command


def test_an_effect_of_another_project_is_not_there(shared: Lab) -> None:
    scope = Scope(kinds=tuple(EffectKind), targets=("forge:acme/*",), branches=("tenure/*",))
    task_id, _, effect_id = shared.doubted(project=THEIRS, scope=scope)
    resolve = ec.ResolveEffect(effect_id, True, 1, "ann", "seen", "{}")
    assert refused(shared, resolve, MINE) == "not_found"
    assert refused(shared, ec.Approve(task_id, effect_id, True, 1, "ann", "fine"), MINE) == "not_found"
    mine = shared.submit(project=MINE)
    hidden = said(shared, ec.Approve(mine, effect_id, True, 1, "ann", "fine"), MINE).reply
    assert isinstance(hidden, cm.Refusal)


def test_what_depends_on_another_projects_task_depends_on_nothing_that_is_known(shared: Lab) -> None:
    theirs, mine = shared.submit(project=THEIRS), shared.submit(project=MINE)
    assert refused(shared, submit(shared, project=MINE, after=(theirs,)), MINE) != ""
    assert refused(shared, submit(shared, project=MINE, continues=theirs, because="x"), MINE) != ""
    reply = said(shared, submit(shared, project=MINE, after=(mine,)), MINE).reply
    assert isinstance(reply, cm.Submitted)


# -- where it may be


def test_work_is_asked_for_in_the_own_projects_only(shared: Lab) -> None:
    assert refused(shared, submit(shared, project=THEIRS), MINE) == "forbidden"
    assert refused(shared, submit(shared), MINE) == "forbidden"
    assert isinstance(said(shared, submit(shared, project=MINE), MINE).reply, cm.Submitted)


@pytest.mark.parametrize(
    ("name", "code"), [("shop.nightly", None), ("nightly", "invalid"), ("shop.a.b", "invalid")]
)
def test_a_schedule_is_named_after_its_project(shared: Lab, name: str, code: str | None) -> None:
    command = sc.AddSchedule(name, NIGHTLY, shared.now.wall_ms + 1_000_000, "ann", False)
    if code is None:
        assert not isinstance(said(shared, command, MINE).reply, cm.Refusal)
    else:
        assert refused(shared, command, MINE) == code
    assert refused(shared, command, THEIRS) == "forbidden"


@pytest.mark.parametrize(
    ("projects", "accepted"), [((), False), ((MINE,), True), ((MINE, THEIRS), False), ((THEIRS,), False)]
)
def test_a_token_gives_what_it_has_and_no_more(
    shared: Lab, projects: tuple[str, ...], accepted: bool
) -> None:
    command = cm.IssueCredential("c_new", f"{MINE}.new", Role.VIEWER, "digest", "ann", projects)
    assert isinstance(said(shared, command, MINE, "third").reply, cm.Done) is accepted


@pytest.mark.parametrize("name", ["new", "root", f"{THEIRS}.new", f"{MINE}er.new", MINE, f"{MINE}.a.b"])
def test_a_token_is_named_after_the_project_of_whoever_makes_it(shared: Lab, name: str) -> None:
    command = cm.IssueCredential("c_new", name, Role.VIEWER, "digest", "ann", (MINE,))
    reply = said(shared, command, MINE).reply
    assert isinstance(reply, cm.Refusal)
    assert (reply.code, reply.facts) == ("invalid", {"field": "name"})


@pytest.mark.parametrize(
    ("subject", "accepted"),
    [("project:shop", True), ("project:bank", False), ("hub", False), ("n_1", False), ("shop", False)],
)
def test_a_pause_is_of_the_own_project(shared: Lab, subject: str, accepted: bool) -> None:
    for command in (dc.Pause(subject, "ann", "tired"), dc.Unpause(subject, "ann", "awake")):
        reply = said(shared, command, MINE).reply
        assert (isinstance(reply, cm.Refusal) and reply.code == "forbidden") is not accepted


def test_what_is_about_the_whole_hub_is_forbidden_and_names_the_projects(shared: Lab) -> None:
    projects = tuple(f"p{n}" for n in range(6))
    reply = said(shared, cm.ForgetNode(shared.node(), "ann", "x"), *projects).reply
    assert isinstance(reply, cm.Refusal)
    assert reply.code == "forbidden"
    assert "p4 …, and" in reply.message
    assert "p5" not in reply.message
    few = said(shared, cm.ForgetNode(shared.node(), "ann", "x"), *projects[:5]).reply
    assert isinstance(few, cm.Refusal)
    assert "p4, and" in few.message


# -- what may be seen


def token(*projects: str) -> Credential:
    return Credential("c", "x", Role.VIEWER, "d", 0, "root", None, None, projects)


def test_a_token_sees_tokens_within_its_own_bounds() -> None:
    space: Any = None
    assert may_know(space, token(MINE), (MINE, THEIRS))
    assert not may_know(space, token(MINE, THEIRS), (MINE,))
    assert not may_know(space, token(), (MINE,))


def test_accounts_and_policies_are_seen_of_the_hub_and_of_the_own_projects() -> None:
    space: Any = None
    for key, seen in ((HUB_ACCOUNT, True), (project_account(MINE), True), (project_account(THEIRS), False)):
        account: Account = new_account(key, 0)
        assert may_know(space, account, (MINE,)) is seen
    for subject, seen in (
        ("hub", True),
        ("claude@laptop", True),
        ("project:shop", True),
        ("project:bank", False),
    ):
        choice = PolicyChoice(
            subject=subject, policy="default/1", chosen_by="ann", because="x", chosen_at_ms=0
        )
        assert may_know(space, choice, (MINE,)) is seen


def test_all_that_hangs_on_a_task_is_seen_with_its_task(shared: Lab) -> None:
    theirs = shared.submit(project=THEIRS)
    node_id = shared.node()
    (delivery,) = shared.claim(node_id)
    shared.ack(delivery)
    shared.lose(delivery)
    item = shared.get(Attention, item_id(AttentionKind.UNKNOWN, attempt_id(theirs, 1)))
    for one in (
        shared.task(theirs),
        shared.attempt(theirs),
        shared.get(Delivery, delivery.delivery_id),
        item,
    ):
        assert may_know(shared.world, one, (THEIRS,))
        assert not may_know(shared.world, one, (MINE,))
    assert may_know(shared.world, shared.get(Node, node_id), (MINE,))
    assert may_know(shared.world, shared.get(Recipient, Address("claude@laptop")), (MINE,))
    del shared.world.entities[Task][theirs]
    assert not may_know(shared.world, shared.get(Attempt, attempt_id(theirs, 1)), (THEIRS,))
    assert not may_know(shared.world, item, (THEIRS,))


def test_a_question_is_seen_by_the_project_that_it_is_about(shared: Lab) -> None:
    command = sc.AddSchedule("shop.nightly", NIGHTLY, shared.now.wall_ms + 1_000_000, "ann", False)
    said(shared, command, MINE)
    (schedule,) = shared.world.every(Schedule)
    assert may_know(shared.world, schedule, (MINE,))
    assert not may_know(shared.world, schedule, (THEIRS,))
    for subject in (schedule.schedule_id, project_account(MINE)):
        item = Attention("x", AttentionKind.EXHAUSTED, subject, 1, True, "?", "{}", 0, None, None)
        assert may_know(shared.world, item, (MINE,))
        assert not may_know(shared.world, item, (THEIRS,))
    assert not may_know(shared.world, Gateless(), (MINE,))


class Gateless:
    """Something that no table speaks of."""


def test_a_schedule_of_another_project_is_not_there(shared: Lab) -> None:
    said(shared, sc.AddSchedule("shop.nightly", NIGHTLY, shared.now.wall_ms + 1_000_000, "ann", False), MINE)
    (schedule,) = shared.world.every(Schedule)
    remove = sc.RemoveSchedule(schedule.schedule_id, "ann", "x", True)
    assert refused(shared, remove, THEIRS) == "not_found"
    assert not isinstance(said(shared, remove, MINE).reply, cm.Refusal)


def test_tokens_of_others_are_neither_revoked_nor_rotated(shared: Lab) -> None:
    shared.run(cm.IssueCredential("c_bob", "bob", Role.VIEWER, "digest", "root", (THEIRS,)))
    assert refused(shared, cm.RevokeCredential("c_bob", "ann"), MINE) == "not_found"
    assert refused(shared, cm.RotateCredential("c_bob", "c_2", "digest", "ann"), MINE) == "not_found"


def test_what_belongs_to_a_task_is_not_there_where_the_task_is_not(shared: Lab) -> None:
    _, task_id, delivery = shared.running(project=THEIRS)
    shared.report(delivery)
    doubt = dc.Challenge(task_id, 1, About.CLAIM, "ann", "is it so?")
    nobody = replace(doubt, task_id=TaskId("t_nobody"))
    assert refused(shared, doubt, MINE) == refused(shared, nobody, MINE) == "not_found"
    assert said(shared, doubt, THEIRS).reply == cm.Done()
