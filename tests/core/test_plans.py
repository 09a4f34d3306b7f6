"""What a policy's response makes of a failure, each condition by itself: whether there is one more Attempt, with which spec, and why."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tenure.core.attempt import AttemptSpec, ChangeKind, Relation
from tenure.core.budget import Tally
from tenure.core.failure import FailureClass
from tenure.core.findings import Findings
from tenure.core.ids import Address
from tenure.core.policy import DEFAULT, Action, Policy, Response
from tenure.core.recovery import Plan, Situation, plan
from tests.core.lab import SHA, Lab

NOW = 1_000_000
HERE = Address("claude@laptop")
F = FailureClass


def answering(action: Action, **more: Any) -> Policy:
    """A policy that has this one response to everything."""
    response = Response(action, **more)
    return replace(DEFAULT, name="one", responses={str(one): response for one in (*F, "timed_out")})


def planned(
    lab: Lab,
    action: Action,
    failure_class: FailureClass | None = F.VALIDATION,
    *,
    spec: dict[str, Any] | None = None,
    tally: Tally | None = None,
    route: str = "pool",
    response: dict[str, Any] | None = None,
    facts: dict[str, Any] | None = None,
    **found: Any,
) -> Plan:
    """The plan after a failure of this class. `facts`: of the situation; `found`: what the evidence says."""
    task_id = lab.submit(route=route)
    attempt, task = lab.attempt(task_id), lab.task(task_id)
    known: dict[str, Any] = {
        "failure_class": failure_class,
        "rule": "r",
        "policy": "one/1",
        "signature": "s",
        "digest": "d",
    }
    situation: dict[str, Any] = {"recipient": HERE, "now_ms": NOW, **(facts or {})}
    return plan(
        Situation(
            task=replace(task, tally=tally or Tally()),
            attempt=replace(attempt, spec=replace(attempt.spec, **(spec or {}))),
            policy=answering(action, **(response or {})),
            findings=Findings(**{**known, **found}),
            **situation,
        )
    )


def spec_of(made: Plan) -> AttemptSpec:
    assert made.spec is not None, made
    return made.spec


@pytest.mark.parametrize(
    ("found", "words"),
    [
        ({"retry_after_s": 5.0}, "it said until when"),
        ({"reset_at_ms": NOW + 5}, "it said until when"),
        ({}, "the pause is drawn at random"),
    ],
)
def test_a_pause_is_the_providers_or_drawn(lab: Lab, found: dict[str, Any], words: str) -> None:
    made = planned(lab, Action.BACK_OFF, F.CAPACITY, **found)
    assert made.because == f"the provider had no room, which passes; {words}"
    assert made.transient


def test_only_what_passes_by_itself_is_tried_as_it_was(lab: Lab) -> None:
    refused = planned(lab, Action.AGAIN, F.VALIDATION)
    assert refused.spec is None
    assert "would fail the same way" in refused.passed_over[0]
    first = planned(lab, Action.AGAIN, F.EXECUTOR_LOST, spec={"session_id": "s", "pin": HERE})
    assert (first.ready_at_ms, spec_of(first).session_id, spec_of(first).pin) == (None, None, None)
    lost_before = Tally(signatures={"s": 1}, last="s")
    again = planned(
        lab, Action.AGAIN, F.EXECUTOR_LOST, tally=lost_before, response={"first_s": 1000, "most_s": 1000}
    )
    assert again.ready_at_ms is not None
    assert again.ready_at_ms > NOW


@pytest.mark.parametrize(
    ("failure_class", "session", "facts", "why_not"),
    [
        (F.VALIDATION, None, {"resumes": True}, "named no session"),
        (F.VALIDATION, "s_1", {"resumes": False}, "cannot resume"),
        (F.VALIDATION, "s_0", {"resumes": True}, "passed over"),
        (F.VALIDATION, "s_1", {"resumes": True}, None),
        (F.EXECUTOR_LOST, "s_0", {"resumes": True}, None),
    ],
)
def test_a_session_is_gone_on_with_once_unless_its_end_passes_by_itself(
    lab: Lab, failure_class: FailureClass, session: str | None, facts: dict[str, Any], why_not: str | None
) -> None:
    made = planned(
        lab,
        Action.RESUME,
        failure_class,
        spec={"session_id": "s_0", "feedback": "x"},
        facts=facts,
        session_id=session,
    )
    if why_not is not None:
        assert made.spec is None
        return
    assert (spec_of(made).session_id, spec_of(made).pin, spec_of(made).feedback) == (session, HERE, None)
    assert made.relation is Relation.RESUME
    assert made.transient is (failure_class is F.EXECUTOR_LOST)
    assert [one.what for one in made.changes] == ([] if session == "s_0" else [ChangeKind.INPUT])


def test_without_a_word_to_add_nothing_is_revised(lab: Lab) -> None:
    assert planned(lab, Action.REVISE).spec is None
    assert planned(lab, Action.REVISE, spec={"feedback": "it said no"}).spec is None
    made = planned(lab, Action.REVISE, feedback="it says no")
    assert spec_of(made).feedback == "it says no"


@pytest.mark.parametrize(
    ("base", "new_base", "moves"),
    [(None, SHA, False), ("b" * 40, None, False), (SHA, SHA, False), ("b" * 40, SHA, True)],
)
def test_a_base_that_has_moved_is_followed(
    lab: Lab, base: str | None, new_base: str | None, moves: bool
) -> None:
    spec = {"repository": "/repo" if base else None, "base_sha": base}
    made = planned(lab, Action.REBASE, F.CONFLICT, spec=spec, new_base=new_base)
    assert (made.spec is not None) is moves


def test_another_recipient_is_one_of_the_attempts_own_route(lab: Lab) -> None:
    others = {"others": (HERE, Address("claude@other"))}
    made = planned(lab, Action.ELSEWHERE, facts=others)
    assert spec_of(made).avoid == (HERE,)
    assert planned(lab, Action.ELSEWHERE, facts=others, spec={"route": str(HERE)}).spec is None
    assert planned(lab, Action.ELSEWHERE, facts=others, route=str(HERE)).spec is None
    assert spec_of(
        planned(lab, Action.ELSEWHERE, facts=others, route=str(HERE), spec={"route": "pool"})
    ).avoid


@pytest.mark.parametrize(
    ("facts", "goes_on"),
    [
        ({"config_digest": "one", "now_digest": "two"}, True),
        ({"config_digest": "one", "now_digest": "one"}, False),
        ({"config_digest": "", "now_digest": "two"}, False),
        ({"recipient": None, "config_digest": "one", "now_digest": "two"}, False),
    ],
)
def test_a_configuration_that_was_changed_meanwhile_is_tried_at_once(
    lab: Lab, facts: dict[str, Any], goes_on: bool
) -> None:
    made = planned(lab, Action.HOLD, F.CONFIGURATION, facts=facts)
    assert (made.spec is not None) is goes_on
    assert made.action is (Action.ESCALATE if facts.get("recipient", HERE) is None else Action.HOLD)
