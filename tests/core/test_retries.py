"""A person's retry, condition by condition: when there is one, where it goes, and what its words stand for."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tenure.core import commands as cm
from tenure.core import desk_commands as dc
from tenure.core import recovery_events as rv
from tenure.core.attempt import ChangeKind, Relation, Verdict
from tenure.core.draft import Draft
from tenure.core.failure import FailureClass
from tenure.core.ids import TaskId
from tenure.core.limits import OBJECTIVE_BYTES, REASON_LENGTH
from tenure.core.retrying import decide_retry
from tests.core.lab import Lab, evidence


def failed(lab: Lab, failure_class: FailureClass = FailureClass.AUTHORIZATION, **spec: Any) -> TaskId:
    """A Task that waits for a person after this failure."""
    node = lab.node("laptop", pools=("red", "blue"))
    lab.node("desk", pools=("red",))
    task_id = lab.submit(**{"route": "blue", **spec})
    lab.fail(lab.work(node, task_id), failure_class, evidence=evidence(failure_class))
    return task_id


def retry(lab: Lab, task_id: TaskId, because: str = "I looked", **changes: Any) -> Any:
    return lab.run(cm.Retry(task_id, "ann", because, dc.Changes(**changes)))


@pytest.mark.parametrize(("length", "taken"), [(REASON_LENGTH, True), (REASON_LENGTH + 1, False)])
def test_the_reason_of_a_retry_has_its_length(lab: Lab, length: int, taken: bool) -> None:
    task_id = failed(lab)
    assert isinstance(retry(lab, task_id, "x" * length), cm.Refusal) is not taken


def test_what_is_being_canceled_or_may_still_have_happened_is_not_tried_again(lab: Lab) -> None:
    task_id, delivery, _ = lab.issued()
    lab.report(delivery, Verdict.ASKED)
    assert retry(lab, task_id).code == "effect_in_doubt"
    lab.cancel(task_id)
    assert retry(lab, task_id).code == "terminal"


def test_what_runs_is_told_as_under_way_whatever_it_does_outside(lab: Lab) -> None:
    task_id, _, _ = lab.issued()
    assert retry(lab, task_id).code == "not_offered"


def test_a_route_that_it_has_already_is_no_change(lab: Lab) -> None:
    task_id = failed(lab)
    assert retry(lab, task_id, "", route="blue").code == "same_spec"
    assert retry(lab, task_id, "", route="red").successor == 2
    assert lab.attempt(task_id, 2).spec.route == "red"
    lab.run(dc.StopAttempt(task_id, 2, "ann", "x"))
    assert retry(lab, task_id, route="red").successor == 3
    hypothesis = lab.attempt(task_id, 3).spec.hypothesis
    assert hypothesis is not None
    assert not [one for one in hypothesis.changes if one.what is ChangeKind.ENVIRONMENT]


def test_elsewhere_is_on_the_route_that_the_attempt_has(lab: Lab) -> None:
    task_id = failed(lab)
    assert retry(lab, task_id, elsewhere=True).code == "invalid", "nobody else serves blue"
    assert retry(lab, task_id, route="red", elsewhere=True).successor == 2
    assert lab.attempt(task_id, 2).spec.avoid == ("claude@laptop",)
    never = lab.submit(route="red")
    lab.run(dc.StopAttempt(never, 1, "ann", "x"))
    assert retry(lab, never, elsewhere=True).code == "invalid", "it ran nowhere"


def test_an_answer_and_its_objective_have_the_bound_of_an_objective_together(lab: Lab) -> None:
    _, task_id, delivery = lab.running()
    lab.report(delivery, Verdict.ASKED)
    attempt = lab.attempt(task_id)
    room = OBJECTIVE_BYTES - len("\n\nAnswer from ann: blue")
    for length, taken in ((room, True), (room + 1, False)):
        draft = Draft(lab.world, lab.now, lab.terms)
        draft.put(replace(attempt, spec=replace(attempt.spec, objective="x" * length)))
        said = decide_retry(draft, cm.Retry(task_id, "ann", "blue"))
        assert isinstance(said, cm.Reconciled) is taken
        assert taken or getattr(said, "facts", {}) == {"field": "because"}
    assert lab.run(cm.Retry(task_id, "ann", "blue")).successor == 2
    assert lab.attempt(task_id, 2).spec.relation is Relation.REPLAN


@pytest.mark.parametrize(
    ("failure_class", "authority"), [(FailureClass.AUTHORIZATION, True), (FailureClass.CONTRADICTION, False)]
)
def test_that_more_is_allowed_now_is_a_change_that_only_the_person_sees(
    lab: Lab, failure_class: FailureClass, authority: bool
) -> None:
    task_id = failed(lab, failure_class)
    assert retry(lab, task_id).successor == 2
    hypothesis = lab.attempt(task_id, 2).spec.hypothesis
    assert hypothesis is not None
    assert (ChangeKind.AUTHORITY in [one.what for one in hypothesis.changes]) is authority
    assert len([one for one in lab.events if isinstance(one, rv.RepeatAllowed)]) == 1


def test_what_is_changed_is_no_repeat_on_a_persons_word(lab: Lab) -> None:
    task_id = failed(lab)
    assert retry(lab, task_id, objective="do it otherwise").successor == 2
    assert not [one for one in lab.events if isinstance(one, rv.RepeatAllowed)]


@pytest.mark.parametrize("number", [1, None])
def test_the_same_words_with_another_change_are_another_word(lab: Lab, number: int | None) -> None:
    """To be told that it was done already would say that this change was made."""
    task_id = failed(lab)

    def said(**changes: Any) -> Any:
        verdict = Verdict.FAILED if number else None
        return lab.run(cm.Retry(task_id, "ann", "I looked", dc.Changes(**changes), number, verdict))

    made = said(model="large", route="red")
    assert made.successor == 2
    assert said(model="large", route="red") == made
    assert said(model="large") == made, "it says no more of the rest"
    assert said(model="small", route="red").code == ("conflict" if number else "not_offered")
    assert said(model="red", route="red").code == ("conflict" if number else "not_offered")
    assert said(model="large", route="blue").code == ("conflict" if number else "not_offered")
    assert lab.task(task_id).attempts == 2


def test_the_route_of_the_task_is_not_another_one_where_the_attempt_names_none(lab: Lab) -> None:
    task_id = failed(lab)
    made = retry(lab, task_id, route="blue", timeout_s=77)
    assert made.successor == 2
    assert retry(lab, task_id, route="blue", timeout_s=77) == made
    assert retry(lab, task_id, objective="what is added stands in it already", timeout_s=77) == made


def test_what_is_named_beside_a_new_route_is_kept_though_it_was_so_before(lab: Lab) -> None:
    """What was frozen goes with the old route, but not what a person names for the new one."""
    task_id = failed(lab)
    assert retry(lab, task_id, model="large", harness="codex").successor == 2
    lab.run(dc.StopAttempt(task_id, 2, "ann", "x"))
    assert retry(lab, task_id, route="red", model="large").successor == 3
    spec = lab.attempt(task_id, 3).spec
    assert (spec.route, spec.model, spec.harness) == ("red", "large", None)
