"""Explanations say what the rules saw, for every evidence, and decide nothing of their own."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.core.attempt import Outcome, Verdict
from tenure.core.explaining import asked_by, facts_of, judged, keys_named, matched, tally_before
from tenure.core.failure import (
    DEFAULT_POLICY,
    CheckEnded,
    Evidence,
    FailureClass,
    Rule,
    Sign,
    StepEnded,
    StepKind,
    classify,
)
from tenure.core.findings import findings_of
from tenure.core.ids import TaskId
from tenure.core.policy import BUILT_IN, DEFAULT, Action
from tenure.core.recovery_events import RecoveryDecided

EVIDENCE = st.builds(
    Evidence,
    exit_code=st.none() | st.sampled_from([0, 1, 65, 75, 77, 78, 126]),
    signal=st.none() | st.just(9),
    oom=st.booleans(),
    timed_out=st.booleans(),
    http_status=st.none() | st.sampled_from([403, 429, 500]),
    claimed_class=st.none() | st.sampled_from(FailureClass),
    start_error=st.none() | st.sampled_from(["ENOENT", "EAGAIN"]),
    contradiction=st.none() | st.just("it says two things"),
)


def failed(evidence: Evidence, rule: str = "told") -> Outcome:
    text = msgspec.json.encode({"harness": evidence}).decode()
    return Outcome(Verdict.FAILED, failure_class=FailureClass.CAPACITY, failure_rule=rule, evidence=text)


@given(EVIDENCE)
def test_the_rules_that_are_said_to_decide_are_those_that_did(evidence: Evidence) -> None:
    decided = classify(evidence)
    found = matched(DEFAULT, evidence)
    deciding = [one.rule for one in found if one.decides]
    classes = {one.failure_class for one in deciding}
    if len(classes) == 1:
        assert (decided.rule, {decided.failure_class}) == (deciding[0].name, classes)
    else:
        assert decided.failure_class is FailureClass.CONTRADICTION
    assert [one.rule.rank for one in found] == sorted(one.rule.rank for one in found)


@given(EVIDENCE)
def test_what_is_judged_is_what_the_findings_are_made_of(evidence: Evidence) -> None:
    outcome = failed(evidence)
    seen = judged(outcome)
    assert seen is not None
    assert classify(seen).rule == findings_of(outcome, DEFAULT).rule
    assert facts_of(outcome) or evidence == Evidence()


@pytest.mark.parametrize("rule", DEFAULT_POLICY.rules, ids=lambda rule: rule.name)
def test_every_rule_says_in_words_what_it_asks_for(rule: Rule) -> None:
    assert asked_by(rule).strip(": ")


def test_a_rule_that_asks_for_several_things_names_them_all() -> None:
    rule = Rule(
        "x", 1, FailureClass.CAPACITY, StepKind.CHECK, (Sign.OOM,), (1, 2, 3), (429,), ("ENOMEM",),
        (FailureClass.CAPACITY,),
    )  # fmt: skip
    assert asked_by(rule) == (
        "check: killed for lack of memory and exit code 1, 2 or 3 and HTTP 429 and no start: ENOMEM and says capacity"
    )


def test_the_check_that_failed_is_judged_and_not_the_harness() -> None:
    check = CheckEnded(name="tests", ended=StepEnded(exit_code=2))
    seen = judged(failed(Evidence(exit_code=75, checks=(check,))))
    assert seen is not None
    assert (seen.step, seen.exit_code) == (StepKind.CHECK, 2)


def test_nothing_is_judged_where_no_rule_is_asked() -> None:
    assert judged(Outcome(Verdict.TIMED_OUT)) is None
    assert judged(failed(Evidence(exit_code=1), rule="before-start/no_room")) is None
    assert judged(Outcome(Verdict.FAILED, failure_class=FailureClass.CONFLICT, evidence="[]")) is None


def test_what_a_task_had_used_before_is_counted_from_the_decisions_before() -> None:
    def decision(number: int, *, refunded: bool = False) -> RecoveryDecided:
        return RecoveryDecided(
            task_id=TaskId("t_1"),
            number=number,
            verdict=Verdict.FAILED,
            failure_class=FailureClass.CAPACITY,
            rule="x",
            policy="default/1",
            evidence_digest="",
            signature="s",
            response="capacity",
            action=Action.BACK_OFF,
            because="",
            refunded=refunded,
        )

    decided = [decision(1, refunded=True), decision(2, refunded=True), decision(3)]
    assert [tally_before(decided, number).waits for number in (1, 2, 3, 4)] == [0, 1, 2, 0]
    assert tally_before(decided, 4).signatures == {"s": 1}


def test_only_what_is_stored_must_be_looked_up() -> None:
    assert [keys_named(f"{name}/1") for name in BUILT_IN] == [(), ()]
    assert keys_named("default-1") == ()
    assert keys_named("mine/2") == ("mine/2",)
