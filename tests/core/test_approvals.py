"""Approvals: a person allows or rejects an Effect, or an Attempt before its first grant."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tenure.core import commands as cm
from tenure.core import effect_commands as ec
from tenure.core.attempt import Answer, Verdict
from tenure.core.attention import AttentionKind
from tenure.core.delivery import Delivery
from tenure.core.effect import EffectState
from tenure.core.ids import EffectId, TaskId
from tenure.core.scope import EffectKind, Scope
from tenure.core.task import TaskState
from tests.core.lab import SCOPE, Lab, pull_request

ASKING = Scope(
    kinds=SCOPE.kinds,
    targets=SCOPE.targets,
    branches=SCOPE.branches,
    approval=(EffectKind.PULL_REQUEST,),
    most=3,
)


def asked(lab: Lab) -> tuple[TaskId, Delivery, EffectId]:
    task_id, delivery = lab.performing(scope=ASKING)
    answer = lab.begin(delivery)
    assert (answer.state, answer.problem) == ("awaiting_approval", "approval_needed")
    return task_id, delivery, answer.effect_id


# -- of an Effect


def test_an_effect_that_needs_a_person_waits_for_one_and_why_says_so(lab: Lab) -> None:
    task_id, delivery, effect_id = asked(lab)
    assert lab.open_items() == ["approval"]
    reason = lab.reason(task_id)
    assert reason.code == "approval"
    assert "pull_request tenure/one at forge:acme/app" in reason.sentence
    assert lab.issue(effect_id).problem == "approval_needed"
    answer = lab.begin(delivery)
    assert (answer.effect_id, answer.replayed, answer.problem) == (effect_id, True, "approval_needed")
    assert lab.open_items() == ["approval"]
    assert lab.task(task_id).open_effects == (effect_id,)


def test_a_kind_that_the_scope_does_not_name_needs_no_person(lab: Lab) -> None:
    scope = Scope(
        kinds=SCOPE.kinds, targets=SCOPE.targets, branches=SCOPE.branches, approval=(EffectKind.MERGE,)
    )
    _, delivery = lab.performing(scope=scope)
    assert lab.begin(delivery).state == "intended"


def test_an_approved_effect_is_intended_and_may_be_issued(lab: Lab) -> None:
    task_id, delivery, effect_id = asked(lab)
    assert lab.approve(task_id, effect_id) == cm.Done()
    assert lab.open_items() == []
    assert lab.begin(delivery) == ec.EffectAnswer(effect_id, "intended", replayed=True)
    lab.issue(effect_id)
    lab.settle(effect_id)
    assert lab.begin(delivery).state == "confirmed"


@pytest.mark.parametrize("approve", [True, False])
def test_the_same_decision_again_is_answered_as_before_and_another_one_is_refused(
    lab: Lab, approve: bool
) -> None:
    task_id, _, effect_id = asked(lab)
    assert lab.approve(task_id, effect_id, approve, item_version=1) == cm.Done()
    recorded = len(lab.events)
    assert lab.approve(task_id, effect_id, approve, item_version=1) == cm.Done(replayed=True)
    for other in ({"approve": not approve}, {"approve": approve, "by": "bob"}):
        refusal = lab.approve(task_id, effect_id, item_version=1, **other)
        assert refusal.code == "not_offered"
        assert "by ann: it is fine" in refusal.message
    assert len(lab.events) == recorded


def test_a_rejected_effect_is_absent_with_the_reason_and_is_not_asked_about_again(lab: Lab) -> None:
    task_id, delivery, effect_id = asked(lab)
    lab.approve(task_id, effect_id, approve=False, because="not on a Friday")
    effect = lab.effect(effect_id)
    assert (effect.state, effect.reason, effect.calls) == (EffectState.ABSENT, "rejected: not on a Friday", 0)
    assert lab.task(task_id).open_effects == ()
    answer = lab.begin(delivery)
    assert (answer.effect_id, answer.state, answer.problem) == (effect_id, "absent", "rejected")
    assert lab.open_items() == []
    lab.report(delivery, Verdict.ASKED)
    lab.run(cm.Retry(task_id, "ann", "now you may"))
    (second,) = lab.claim(delivery.node_id)
    lab.ack(second)
    assert lab.begin(second).state == "awaiting_approval", "another Attempt may ask once more"


def test_a_decision_on_something_that_has_changed_is_refused(lab: Lab) -> None:
    task_id, delivery, effect_id = asked(lab)
    lab.report(delivery, Verdict.ASKED)
    lab.run(cm.Retry(task_id, "ann", "go on"))
    (second,) = lab.claim(delivery.node_id)
    lab.ack(second)
    assert lab.begin(second).effect_id == effect_id
    refusal = lab.approve(task_id, effect_id, item_version=1)
    assert (refusal.code, refusal.facts) == ("conflict", {"item_version": 3})
    assert lab.effect(effect_id).state is EffectState.AWAITING_APPROVAL
    assert lab.approve(task_id, effect_id) == cm.Done()


@pytest.mark.parametrize("how", ["report", "revoke"])
def test_the_end_of_the_lease_makes_it_absent_and_closes_the_question(lab: Lab, how: str) -> None:
    task_id, delivery, effect_id = asked(lab)
    if how == "report":
        lab.report(delivery, Verdict.ASKED)
    else:
        lab.lose(delivery)
    assert lab.effect(effect_id).state is EffectState.ABSENT
    assert "approval" not in lab.open_items()
    refusal = lab.approve(task_id, effect_id, item_version=1)
    assert refusal.code == "not_offered"
    assert "the attempt's lease ended" in refusal.message


def test_an_approval_revives_no_lease(lab: Lab) -> None:
    task_id, delivery, effect_id = asked(lab)
    lab.pass_s(30)
    assert lab.sweep() == ["suspect"]
    assert lab.approve(task_id, effect_id) == cm.Done()
    assert lab.issue(effect_id).problem == "lease_expired"
    lab.cancel(task_id)
    assert lab.issue(effect_id).problem == "canceled"
    assert lab.effect(effect_id).calls == 0
    assert lab.get(Delivery, delivery.delivery_id).suspect_at_ms is not None


def test_what_was_approved_is_told_although_the_scope_allows_no_more(lab: Lab) -> None:
    task_id, delivery = lab.performing(scope=replace(ASKING, most=1))
    effect_id = lab.begin(delivery).effect_id
    lab.approve(task_id, effect_id)
    assert lab.begin(delivery).state == "intended"


@pytest.mark.parametrize("because", ["", "  ", "x" * 4001])
def test_a_decision_needs_a_reason(lab: Lab, because: str) -> None:
    task_id, _, effect_id = asked(lab)
    assert lab.approve(task_id, effect_id, because=because).code == "invalid"
    assert lab.open_items() == ["approval"]


def test_a_decision_names_what_there_is(lab: Lab) -> None:
    task_id, _, effect_id = asked(lab)
    other = lab.submit()
    for about in (
        (TaskId("t_none"), None),
        (TaskId("t_none"), effect_id),
        (task_id, EffectId("e_none")),
        (other, effect_id),
    ):
        command = ec.Approve(*about, True, 1, "ann", "yes")
        assert lab.run(command).code == "not_found", about
    assert lab.run(ec.Approve(other, None, True, 1, "ann", "yes")).code == "not_offered"


def test_each_of_two_effects_has_its_own_question(lab: Lab) -> None:
    task_id, delivery, first = asked(lab)
    second = lab.begin(delivery, pull_request("tenure/two")).effect_id
    lab.approve(task_id, first)
    assert lab.effect(second).state is EffectState.AWAITING_APPROVAL
    assert lab.item(AttentionKind.APPROVAL, f"{task_id}/{second}") is not None


def test_an_approval_question_is_not_closed_by_reading_it(lab: Lab) -> None:
    task_id, _, effect_id = asked(lab)
    item = lab.item(AttentionKind.APPROVAL, f"{task_id}/{effect_id}")
    assert item is not None
    assert lab.run(cm.CloseAttention(item.item_id, item.version, "ann", "read")).code == "not_offered"


# -- of an Attempt


def test_a_task_that_needs_a_person_is_not_granted_before(lab: Lab) -> None:
    node = lab.node()
    task_id = lab.submit(approval=True)
    assert lab.open_items() == ["approval"]
    assert lab.reason(task_id).code == "approval"
    assert lab.claim(node) == []
    assert lab.approve(task_id, None) == cm.Done()
    assert lab.approve(task_id, None, item_version=1) == cm.Done(replayed=True)
    (delivery,) = lab.claim(node)
    assert delivery.task_id == task_id


def test_an_approved_task_still_waits_for_what_it_was_submitted_to_wait_for(lab: Lab) -> None:
    node = lab.node()
    first = lab.submit()
    task_id = lab.submit(approval=True, after=(first,))
    (delivery,) = lab.claim(node)
    lab.approve(task_id, None)
    lab.ack(delivery)
    lab.report(delivery)
    assert lab.claim(node) == []
    lab.run(cm.ReleaseDependent(task_id, first))
    assert [one.task_id for one in lab.claim(node)] == [task_id]


def test_a_dependency_that_is_met_does_not_stand_for_the_person(lab: Lab) -> None:
    _, first, delivery = lab.running()
    task_id = lab.submit(approval=True, after=(first,))
    lab.report(delivery)
    lab.run(cm.ReleaseDependent(task_id, first))
    assert lab.claim(delivery.node_id) == []
    assert lab.task(task_id).needs_approval


def test_a_task_that_is_rejected_ends_rejected_with_the_reason(lab: Lab) -> None:
    node = lab.node()
    task_id = lab.submit(approval=True)
    assert lab.approve(task_id, None, approve=False, because="too dear") == cm.Done()
    task = lab.task(task_id)
    assert (task.state, task.end_reason) == (TaskState.REJECTED, "rejected: too dear")
    assert lab.attempt(task_id).verdict is Verdict.CANCELED
    assert lab.open_items() == []
    assert lab.claim(node) == []
    assert lab.approve(task_id, None, approve=False, because="too dear", item_version=1) == cm.Done(
        replayed=True
    )
    assert lab.approve(task_id, None, item_version=1).code == "not_offered"


def test_a_cancellation_closes_the_question_about_a_task(lab: Lab) -> None:
    task_id = lab.submit(approval=True)
    lab.cancel(task_id)
    assert lab.task(task_id).state is TaskState.CANCELED
    assert lab.open_items() == []
    assert lab.approve(task_id, None, item_version=1).code == "not_offered"


def test_a_rerun_that_a_person_asked_for_needs_no_second_word(lab: Lab) -> None:
    node = lab.node()
    task_id = lab.submit(approval=True)
    lab.approve(task_id, None)
    (delivery,) = lab.claim(node)
    lab.ack(delivery)
    lab.lose(lab.get(Delivery, delivery.delivery_id))
    lab.answer(task_id, 1, Answer.RERUN, tree_gone=True)
    assert len(lab.claim(node)) == 1
