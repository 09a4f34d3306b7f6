"""Each failure class has its default response, from the report to what follows. Every step is also checked by
`core.invariants` (in the Lab)."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tenure.core import commands as cm
from tenure.core import desk_commands as dc
from tenure.core import recovery_events as rv
from tenure.core.attempt import ChangeKind, Outcome, Relation, Verdict
from tenure.core.attention import AttentionKind
from tenure.core.budget import Budget
from tenure.core.canonical import digest
from tenure.core.delivery import Delivery
from tenure.core.failure import FailureClass
from tenure.core.ids import NodeId, TaskId
from tenure.core.policy import DEFAULT, Action, Response
from tenure.core.task import TaskState
from tenure.core.usage import Usage
from tests.core.lab import OTHER_SHA, SHA, Lab, evidence

REPOSITORY = {"repository": "https://example.org/app.git", "base_sha": SHA}
_C = FailureClass


def running(lab: Lab, recipient: Any = None, **spec: Any) -> tuple[NodeId, TaskId, Delivery]:
    node = lab.node(**(recipient or {}))
    task_id = lab.submit(**spec)
    return node, task_id, lab.work(node)


def decided(lab: Lab) -> rv.RecoveryDecided:
    return [one for one in lab.events if isinstance(one, rv.RecoveryDecided)][-1]


def fail(lab: Lab, delivery: Delivery, failure: FailureClass, check: str | None = None, **known: Any) -> None:
    assert lab.fail(delivery, failure, evidence=evidence(failure, check, **known)) == "recorded"


def test_authorization_stops_and_asks_who_may_allow_it(lab: Lab) -> None:
    node, task_id, delivery = running(lab)
    fail(lab, delivery, _C.AUTHORIZATION)
    said = decided(lab)
    assert (said.action, said.rule, said.policy, said.asks) == (
        "stop",
        "claimed-authorization",
        "default/1",
        True,
    )
    assert (lab.task(task_id).state, lab.open_items()) == (TaskState.INPUT_REQUIRED, ["authorization"])
    lab.pass_s(10**6)
    assert lab.claim(node) == []


def test_a_lost_executor_is_tried_again_at_once_with_the_same_spec(lab: Lab) -> None:
    node, task_id, delivery = running(lab)
    fail(lab, delivery, _C.EXECUTOR_LOST)
    assert decided(lab).passed_over == ("executor_lost: the harness named no session",)
    why = lab.attempt(task_id, 2).spec.hypothesis
    assert why is not None
    assert (why.transient, why.by, why.changes) == (True, "policy:default/1", ())
    assert why.before_digest == why.after_digest
    assert lab.work(node).number == 2
    assert lab.task(task_id).tally.refunded == 0


def test_a_lost_executor_is_resumed_where_its_session_can_be_gone_on_with(lab: Lab) -> None:
    _, task_id, delivery = running(lab, {"resumes": True, "pools": ("pool",)}, route="pool")
    fail(lab, delivery, _C.EXECUTOR_LOST, session_id="s-1")
    spec = lab.attempt(task_id, 2).spec
    assert (spec.session_id, spec.pin, spec.relation) == ("s-1", "claude@laptop", Relation.RESUME)
    assert spec.hypothesis is not None
    assert [one.what for one in spec.hypothesis.changes] == [ChangeKind.INPUT]


def test_a_session_is_not_resumed_by_a_recipient_that_cannot(lab: Lab) -> None:
    _, task_id, delivery = running(lab)
    fail(lab, delivery, _C.EXECUTOR_LOST, session_id="s-1")
    assert lab.attempt(task_id, 2).spec.session_id is None
    assert decided(lab).passed_over == ("executor_lost: its recipient cannot resume a session",)


def test_the_output_of_a_check_goes_into_the_next_attempt_and_the_same_output_twice_asks(lab: Lab) -> None:
    node, task_id, delivery = running(lab)
    fail(lab, delivery, _C.VALIDATION, "expected 1, got 2")
    spec = lab.attempt(task_id, 2).spec
    assert spec.feedback is not None
    assert "expected 1, got 2" in spec.feedback
    assert spec.hypothesis is not None
    assert spec.hypothesis.before_digest != spec.hypothesis.after_digest
    fail(lab, lab.work(node), _C.VALIDATION, "expected 1, got 2")
    assert decided(lab).passed_over == ("validation: it was told the very same already",)
    assert (lab.task(task_id).attempts, lab.open_items()) == (2, ["failed"])


def test_a_conflict_goes_on_from_the_new_base_with_its_exact_lineage(lab: Lab) -> None:
    _, task_id, delivery = running(lab, **REPOSITORY)
    fail(lab, delivery, _C.CONFLICT, details=f'{{"base_sha":"{OTHER_SHA}"}}')
    spec = lab.attempt(task_id, 2).spec
    assert (spec.base_sha, spec.relation, spec.follows) == (OTHER_SHA, Relation.REBASE, 1)
    assert spec.hypothesis is not None
    (change,) = spec.hypothesis.changes
    assert (change.what, change.before, change.after) == (ChangeKind.BASE, SHA, OTHER_SHA)


@pytest.mark.parametrize(
    ("spec", "details", "why"),
    [
        (REPOSITORY, None, "nobody said where the base has moved to"),
        (REPOSITORY, f'{{"base_sha":"{SHA}"}}', "it has that base already"),
        ({}, f'{{"base_sha":"{OTHER_SHA}"}}', "it works in no repository"),
    ],
)
def test_a_conflict_without_another_base_asks(
    lab: Lab, spec: dict[str, Any], details: str | None, why: str
) -> None:
    _, task_id, delivery = running(lab, **spec)
    fail(lab, delivery, _C.CONFLICT, details=details)
    assert decided(lab).passed_over == (f"conflict: {why}",)
    assert (lab.task(task_id).attempts, lab.open_items()) == (1, ["failed"])


def test_a_contradiction_is_put_before_a_person(lab: Lab) -> None:
    _, task_id, delivery = running(lab)
    fail(lab, delivery, _C.CONTRADICTION)
    assert (lab.task(task_id).attempts, lab.open_items()) == (1, ["contradiction"])
    item = lab.item(AttentionKind.CONTRADICTION, f"{task_id}/1")
    assert item is not None
    assert '"rule":"claimed-contradiction"' in item.facts


def test_a_time_limit_resumes_its_session_once_and_then_asks(lab: Lab) -> None:
    node, task_id, delivery = running(lab, {"resumes": True})
    outcome = {"verdict": Verdict.TIMED_OUT, "tree_gone": True}
    lab.report(delivery, session_id="s-1", **outcome)
    assert lab.attempt(task_id, 2).spec.relation is Relation.RESUME
    lab.report(lab.work(node), session_id="s-1", **outcome)
    assert decided(lab).passed_over == ("timed_out: that session was resumed already",)
    assert lab.open_items() == ["failed"]


def test_a_time_limit_without_a_session_asks(lab: Lab) -> None:
    _, task_id, delivery = running(lab)
    lab.report(delivery, Verdict.TIMED_OUT)
    assert (decided(lab).rule, decided(lab).failure_class) == ("time-limit", None)
    assert (lab.task(task_id).attempts, lab.open_items()) == (1, ["failed"])


@pytest.mark.parametrize("failure", [*FailureClass, None])
def test_with_the_policy_once_the_end_of_the_attempt_is_the_end_of_its_task(
    lab: Lab, failure: FailureClass | None
) -> None:
    _, task_id, delivery = running(lab, policy="once")
    if failure is None:
        lab.report(delivery, Verdict.TIMED_OUT)
    else:
        fail(lab, delivery, failure)
    assert (lab.task(task_id).state, lab.task(task_id).attempts) == (TaskState.FAILED, 1)
    assert lab.open_items() == []


def elsewhere_for(lab: Lab, **responses: Response) -> None:
    policy = replace(DEFAULT, name="mine", responses={**DEFAULT.responses, **responses})
    lab.run(dc.StorePolicy(policy, "ann"))


def test_elsewhere_avoids_every_recipient_where_it_failed(lab: Lab) -> None:
    elsewhere_for(lab, validation=Response(Action.ELSEWHERE, otherwise="escalate"))
    one, other = lab.node("one", pools=("pool",)), lab.node("other", pools=("pool",))
    lab.node("third", pools=("pool",))
    task_id = lab.submit(route="pool", policy="mine")
    fail(lab, lab.work(one), _C.VALIDATION)
    spec = lab.attempt(task_id, 2).spec
    assert (spec.avoid, spec.relation) == (("claude@one",), Relation.TAKEOVER)
    assert lab.claim(one) == []
    fail(lab, lab.work(other), _C.VALIDATION)
    assert lab.attempt(task_id, 3).spec.avoid == ("claude@one", "claude@other")
    assert lab.claim(one) + lab.claim(other) == []
    assert lab.reason(task_id).sentence


def test_there_is_no_elsewhere_for_a_task_that_names_one_recipient(lab: Lab) -> None:
    elsewhere_for(lab, validation=Response(Action.ELSEWHERE, otherwise="escalate"))
    _, task_id, delivery = running(lab, route="claude@laptop", policy="mine")
    fail(lab, delivery, _C.VALIDATION)
    assert decided(lab).passed_over == ("validation: its route claude@laptop names one recipient only",)
    assert (lab.task(task_id).attempts, lab.open_items()) == (1, ["failed"])


def test_capacity_that_a_policy_repeats_at_once_is_not_refunded_so_it_ends(lab: Lab) -> None:
    elsewhere_for(lab, capacity=Response(Action.AGAIN))
    node, task_id, delivery = running(lab, policy="mine")
    for _ in range(4):
        fail(lab, delivery, _C.CAPACITY)
        lab.pass_s(3_600)  # its circuit is open meanwhile, whatever the policy says of the Task
        claimed = lab.claim(node)
        if not claimed:
            break
        lab.ack(claimed[0])
        delivery = claimed[0]
    assert lab.task(task_id).tally.refunded == 0
    assert lab.open_items() == ["exhausted"]


@pytest.mark.parametrize("action", [Action.REVISE, Action.ELSEWHERE])
def test_capacity_that_is_answered_with_another_attempt_at_once_comes_to_an_end(
    lab: Lab, action: Action
) -> None:
    elsewhere_for(lab, capacity=Response(action, otherwise="escalate"))
    nodes = [lab.node(name, pools=("pool",)) for name in "abcdef"]
    task_id = lab.submit(route="pool", policy="mine")
    for letter in "abcdefghi":
        for claimed in (one for node in nodes for one in lab.claim(node)):
            lab.ack(claimed)
            lab.fail(claimed, _C.CAPACITY, evidence=evidence(_C.CAPACITY, text=f"in round {letter}"))
        lab.pass_s(4_000)
    refunded = [
        one.refunded for one in lab.events if isinstance(one, rv.RecoveryDecided) and one.action is action
    ]
    assert refunded
    assert not any(refunded)
    assert len(lab.open_items()) == 1
    assert lab.task(task_id).attempts <= 5


def test_what_was_decided_about_an_attempt_is_not_decided_again(lab: Lab) -> None:
    _, task_id, delivery = running(lab)
    fail(lab, delivery, _C.AUTHORIZATION)
    assert lab.fail(delivery, _C.AUTHORIZATION, evidence=evidence(_C.AUTHORIZATION)) == "replayed"
    assert lab.fail(delivery, _C.EXECUTOR_LOST) == "late"
    assert len([one for one in lab.events if isinstance(one, rv.RecoveryDecided)]) == 1
    assert lab.task(task_id).decided == 1


def test_what_is_lost_in_the_same_way_again_waits_a_little_first(lab: Lab) -> None:
    node, task_id, delivery = running(lab)
    fail(lab, delivery, _C.EXECUTOR_LOST)
    assert lab.task(task_id).ready_at_ms <= lab.now.wall_ms, "the first loss may be chance"
    again = lab.work(node)
    fail(lab, again, _C.EXECUTOR_LOST)
    wait_ms = lab.task(task_id).ready_at_ms - lab.now.wall_ms
    assert 0 < wait_ms <= 5_000
    assert "waits a little" in decided(lab).because


def test_an_attempt_that_ran_into_the_time_of_its_task_is_a_question_of_budget(lab: Lab) -> None:
    _, task_id, delivery = running(lab, budget=Budget(wall_s=5))
    said = Outcome(Verdict.TIMED_OUT, usage=Usage(wall_s=5.1), tree_gone=True)
    lab.run(cm.Report(lab.proof(delivery), digest(said), said))
    assert lab.item(AttentionKind.EXHAUSTED, task_id) is not None
    _, late_id, other = running(lab, deadline_ms=lab.now.wall_ms + 9_000)
    lab.pass_s(9)
    late = Outcome(Verdict.TIMED_OUT, tree_gone=True, summary="late")
    lab.run(cm.Report(lab.proof(other), digest(late), late))
    assert lab.item(AttentionKind.EXHAUSTED, late_id) is not None
    assert lab.item(AttentionKind.FAILED, f"{late_id}/1") is None
