"""Every further Attempt says what it changes; what changes nothing is refused, or is somebody's word."""

from __future__ import annotations

from typing import Any

import pytest

from tenure.core import commands as cm
from tenure.core import desk_commands as dc
from tenure.core import recovery_events as rv
from tenure.core.attempt import ChangeKind, Hypothesis, Relation, Verdict
from tenure.core.delivery import Delivery
from tenure.core.failure import FailureClass
from tenure.core.ids import NodeId, TaskId
from tenure.core.limits import OBJECTIVE_BYTES, PASSED_OVER, REASON_LENGTH
from tenure.core.scope import EffectKind, Scope
from tenure.core.task import Check
from tests.core.lab import OTHER_SHA, SHA, Lab, QuickLab, evidence

REPOSITORY = {"repository": "https://example.org/app.git", "base_sha": SHA}


def failed(
    lab: Lab, failure: FailureClass = FailureClass.AUTHORIZATION, spec: Any = None
) -> tuple[NodeId, TaskId]:
    node, task_id, delivery = lab.running(**(spec or {}))
    lab.fail(delivery, failure)
    return node, task_id


def retry(lab: Lab, task_id: TaskId, because: str = "", **changes: Any) -> Any:
    return lab.run(cm.Retry(task_id, "ann", because, dc.Changes(**changes)))


def why(lab: Lab, task_id: TaskId, number: int = 2) -> Hypothesis:
    found = lab.attempt(task_id, number).spec.hypothesis
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("changes", "kind", "relation"),
    [
        ({"objective": "do it otherwise"}, ChangeKind.INPUT, Relation.REPLAN),
        ({"base_sha": OTHER_SHA}, ChangeKind.BASE, Relation.REBASE),
        ({"route": "codex"}, ChangeKind.ENVIRONMENT, Relation.TAKEOVER),
        ({"harness": "codex"}, ChangeKind.IMPLEMENTATION, Relation.RETRY),
        ({"command": ("make",)}, ChangeKind.IMPLEMENTATION, Relation.RETRY),
        ({"model": "big"}, ChangeKind.CONFIGURATION, Relation.RETRY),
        ({"timeout_s": 60}, ChangeKind.CONFIGURATION, Relation.RETRY),
    ],
)
def test_a_persons_change_is_the_hypothesis_with_its_digests(
    lab: Lab, changes: dict[str, Any], kind: ChangeKind, relation: Relation
) -> None:
    _, task_id = failed(lab, spec=REPOSITORY)
    assert retry(lab, task_id, **changes).successor == 2
    said = why(lab, task_id)
    assert [one.what for one in said.changes] == [kind]
    assert said.before_digest != said.after_digest
    assert (said.by, said.override, said.because) == ("ann", False, f"changes the {kind}")
    spec = lab.attempt(task_id, 2).spec
    assert (spec.relation, spec.follows, spec.failure_class) == (relation, 1, "authorization")


@pytest.mark.parametrize("failure", sorted(set(FailureClass) - {"capacity", "executor_lost"}))
@pytest.mark.parametrize("changes", [{}, {"objective": "do it"}, {"base_sha": SHA}])
def test_the_same_spec_after_the_same_failure_is_refused(
    lab: Lab, failure: FailureClass, changes: dict[str, Any]
) -> None:
    _, task_id = failed(lab, failure, spec=REPOSITORY)
    before = lab.task(task_id)
    refusal = retry(lab, task_id, **changes)
    assert (refusal.code, refusal.facts["class"]) == ("same_spec", failure)
    assert retry(lab, task_id, "   ", **changes).code == "same_spec"
    assert lab.task(task_id) == before


def test_a_person_may_want_the_same_again_on_their_word_and_that_is_an_event(lab: Lab) -> None:
    _, task_id = failed(lab)
    assert retry(lab, task_id, "they gave us the right").successor == 2
    (allowed,) = [one for one in lab.events if isinstance(one, rv.RepeatAllowed)]
    assert (allowed.number, allowed.by, allowed.because) == (1, "ann", "they gave us the right")
    said = why(lab, task_id)
    assert (said.override, said.before_digest == said.after_digest) == (True, True)
    assert [one.what for one in said.changes] == [ChangeKind.AUTHORITY], (
        "what is allowed is nowhere to be seen"
    )


def test_the_same_retry_of_the_same_person_is_told_again_and_another_is_refused(lab: Lab) -> None:
    _, task_id = failed(lab)
    assert retry(lab, task_id, "now it may").successor == 2
    assert retry(lab, task_id, "now it may").successor == 2
    assert retry(lab, task_id, "no, now").code == "not_offered"
    assert lab.run(cm.Retry(task_id, "bob", "now it may")).code == "not_offered"
    assert lab.task(task_id).attempts == 2


def test_a_cause_that_passes_by_itself_needs_no_reason(lab: Lab) -> None:
    node, task_id, delivery = lab.running()
    for _ in range(3):
        lab.fail(delivery, FailureClass.EXECUTOR_LOST)
        lab.pass_s(25)
        claimed = lab.claim(node)
        if claimed:
            lab.ack(claimed[0])
            delivery = claimed[0]
    assert lab.open_items() == ["exhausted"]
    assert retry(lab, task_id).successor == 4
    assert why(lab, task_id, 4).because == "the cause passes by itself"


def test_what_a_person_changes_has_the_bounds_of_what_a_person_submits(lab: Lab) -> None:
    _, task_id = failed(lab, spec=REPOSITORY)
    assert retry(lab, task_id, base_sha="main").facts["field"] == "base_sha"
    assert retry(lab, task_id, timeout_s=0).facts["field"] == "timeout_s"
    assert retry(lab, task_id, command=()).facts["field"] == "command"
    assert retry(lab, task_id, objective="x" * (OBJECTIVE_BYTES + 1)).code == "too_large"
    assert retry(lab, task_id, "x" * (REASON_LENGTH + 1)).facts["field"] == "because"
    assert lab.task(task_id).attempts == 1


def test_elsewhere_needs_a_route_with_more_than_one_recipient(lab: Lab) -> None:
    _, task_id = failed(lab, spec={"route": "claude@laptop"})
    assert retry(lab, task_id, elsewhere=True).facts["field"] == "elsewhere"
    other, other_id, delivery = _pooled(lab)
    lab.fail(delivery, FailureClass.AUTHORIZATION)
    assert retry(lab, other_id, elsewhere=True).successor == 2
    assert lab.attempt(other_id, 2).spec.avoid == ("claude@two",)
    assert lab.claim(other) == []


def _pooled(lab: Lab) -> tuple[NodeId, TaskId, Delivery]:
    node = lab.node("two", pools=("pool",))
    lab.node("three", pools=("pool",))
    task_id = lab.submit(route="pool")
    return node, task_id, lab.work(node)


def test_another_route_takes_nothing_over_of_the_recipient_before(lab: Lab) -> None:
    _, task_id, delivery = _pooled(lab)
    lab.fail(delivery, FailureClass.AUTHORIZATION)
    retry(lab, task_id, elsewhere=True)
    lab.run(dc.StopAttempt(task_id, 2, "ann", "no"))
    assert retry(lab, task_id, route="claude@two").successor == 3
    spec = lab.attempt(task_id, 3).spec
    assert (spec.avoid, spec.route, spec.session_id) == ((), "claude@two", None)


def test_the_answer_to_a_question_is_the_changed_input(lab: Lab) -> None:
    _, task_id, delivery = lab.running()
    lab.report(delivery, Verdict.ASKED)
    assert retry(lab, task_id).facts["field"] == "because"
    assert retry(lab, task_id, "the blue one").successor == 2
    assert lab.attempt(task_id, 2).spec.objective.endswith("Answer from ann: the blue one")
    assert lab.attempt(task_id, 2).spec.relation is Relation.REPLAN


@pytest.mark.parametrize("number", [1, 2, 3])
def test_the_machine_itself_never_makes_an_attempt_that_changes_nothing(lab: Lab, number: int) -> None:
    """Whatever comes, the only Attempts with the same spec are those whose cause passes."""
    node, task_id, delivery = lab.running(**REPOSITORY)
    for failure in list(FailureClass) * number:
        lab.fail(delivery, failure)
        lab.pass_s(10_000)
        claimed = lab.claim(node)
        if not claimed:
            break
        lab.ack(claimed[0])
        delivery = claimed[0]
    for one in range(2, lab.task(task_id).attempts + 1):
        said = why(lab, task_id, one)
        assert said.transient or said.changes


def test_nobody_is_sent_elsewhere_where_there_is_nobody_else(lab: Lab) -> None:
    node = lab.node("only", pools=("pool",))
    task_id = lab.submit(route="pool")
    lab.fail(lab.work(node), FailureClass.AUTHORIZATION)
    refused = retry(lab, task_id, elsewhere=True)
    assert (refused.code, refused.facts["field"]) == ("invalid", "elsewhere")


def test_what_a_person_allows_or_asks_for_is_a_change_of_authority_or_plan(lab: Lab) -> None:
    _, task_id = failed(lab)
    scope = Scope(kinds=(EffectKind.COMMENT,), targets=("github:*",))
    assert retry(lab, task_id, "", scope=scope, checks=(Check("t", ("make", "test")),)).successor == 2
    said = why(lab, task_id)
    assert not said.override
    assert {one.what for one in said.changes} == {ChangeKind.AUTHORITY, ChangeKind.PLAN}
    assert lab.attempt(task_id, 2).spec.scope == scope


def test_the_class_that_counts_is_the_policys_and_not_the_nodes_word(lab: Lab) -> None:
    node = lab.node()
    task_id = lab.submit()
    told = evidence(exit_code=77)
    lab.fail(lab.work(node), FailureClass.CAPACITY, evidence=told)
    assert retry(lab, task_id).code == "same_spec"
    assert retry(lab, task_id, "I have the right now").successor == 2
    assert lab.attempt(task_id, 2).spec.failure_class is FailureClass.AUTHORIZATION


def test_an_attempt_sent_elsewhere_is_judged_by_the_policy_of_where_it_goes(lab: Lab) -> None:
    _, task_id, delivery = _pooled(lab)
    lab.run(dc.ChoosePolicy("route:claude@three", "once", "ann", "it is a script"))
    lab.fail(delivery, FailureClass.AUTHORIZATION)
    assert retry(lab, task_id, route="claude@three").successor == 2
    assert lab.attempt(task_id, 2).spec.policy == "once/1"


def test_after_a_lost_session_the_whole_pool_may_take_it_again(lab: Lab) -> None:
    node = lab.node("one", pools=("pool",), resumes=True)
    other = lab.node("other", pools=("pool",))
    task_id = lab.submit(route="pool")
    lab.fail(lab.work(node), FailureClass.EXECUTOR_LOST, session_id="s-1")
    assert lab.claim(other) == [], "the session is at the first"
    lab.fail(lab.work(node), FailureClass.EXECUTOR_LOST, summary="it died in another way")
    spec = lab.attempt(task_id, 3).spec
    assert (spec.session_id, spec.pin, spec.route) == (None, None, None)
    assert [one.task_id for one in lab.claim(other)] == [task_id]


def test_a_configuration_that_was_mended_while_the_old_one_ran_is_used_at_once(lab: Lab) -> None:
    node = lab.node(config_digest="old")
    task_id = lab.submit()
    delivery = lab.work(node)
    lab.node(config_digest="new")
    lab.fail(delivery, FailureClass.CONFIGURATION)
    spec = lab.attempt(task_id, 2).spec
    assert spec.hypothesis is not None
    (change,) = spec.hypothesis.changes
    assert (change.what, change.before, change.after) == (ChangeKind.CONFIGURATION, "old", "new")


def test_nobody_waits_behind_those_that_must_not_come_here() -> None:
    lab = QuickLab()
    one = lab.node("one", pools=("pool",))
    lab.node("other", pools=("pool",))
    for _ in range(PASSED_OVER + 10):
        task_id = lab.submit(route="pool")
        lab.fail(lab.work(one), FailureClass.AUTHORIZATION)
        retry(lab, task_id, elsewhere=True)
    fresh = lab.submit(route="pool")
    assert [claimed.task_id for claimed in lab.claim(one)] == [fresh]
