"""Explanations say what the rules saw, for every evidence, and decide nothing of their own."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tenure.core.attempt import Hypothesis, Outcome, Relation, Verdict
from tenure.core.explaining import (
    asked_by,
    came_to,
    explain,
    facts_of,
    is_explained,
    judged,
    keys_named,
    matched,
    tally_before,
    unexplained,
)
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
from tenure.core.recovery import Situation
from tenure.core.recovery_events import RecoveryDecided
from tests.core.lab import Lab

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


def test_a_rule_that_asks_for_one_thing_names_that_alone() -> None:
    plain = Rule("x", 1, FailureClass.CAPACITY)
    assert asked_by(replace(plain, signs=(Sign.OOM,))) == "killed for lack of memory"
    assert asked_by(replace(plain, exit_codes=(75,))) == "exit code 75"


@pytest.mark.parametrize(
    ("evidence", "facts"),
    [
        (Evidence(timed_out=True), "it was ended at its time limit"),
        (Evidence(oom=True), "it was killed for lack of memory"),
        (Evidence(signal=9), "it died of signal 9"),
        (Evidence(shell_signal=9), "a shell saw signal 9"),
        (Evidence(start_error="ENOENT"), "it could not be started: ENOENT"),
        (Evidence(exit_code=3), "exit code 3"),
        (Evidence(exit_code=75, sysexit="EX_TEMPFAIL"), "exit code 75 (EX_TEMPFAIL)"),
        (Evidence(http_status=429), "it met HTTP status 429"),
        (Evidence(claimed_class=FailureClass.CAPACITY), "it named the class capacity"),
        (Evidence(contradiction="two ends"), "its evidence disagrees with itself: two ends"),
        (Evidence(retry_after_s=5.0), "it was told to come again after (seconds) 5.0"),
        (Evidence(session_id="s_1"), "its session is s_1"),
        (Evidence(score=0.5), "its score is 0.5"),
        (
            Evidence(checks=(CheckEnded(name="tests", ended=StepEnded(exit_code=2)),)),
            "the check `tests` did not pass: exit code 2",
        ),
    ],
    ids=lambda given: given if isinstance(given, str) else "",
)
def test_what_the_evidence_says_is_told_and_nothing_else(evidence: Evidence, facts: str) -> None:
    assert facts_of(failed(evidence)) == (facts,)


def test_the_session_that_was_reported_comes_before_the_one_in_the_evidence() -> None:
    outcome = replace(failed(Evidence(session_id="s_1")), session_id="s_2")
    assert facts_of(outcome) == ("its session is s_2",)


@pytest.mark.parametrize(("summary", "told"), [("it broke", "it broke"), ("", "failed")])
def test_of_evidence_that_cannot_be_read_the_nodes_word_is_told(summary: str, told: str) -> None:
    outcome = Outcome(Verdict.FAILED, summary=summary, evidence="[]")
    assert facts_of(outcome) == (f"its evidence cannot be read; its node said: {told}",)


@pytest.mark.parametrize(
    ("outcome", "rules", "word"),
    [
        (failed(Evidence(exit_code=75)), ["ex-tempfail"], False),
        (failed(Evidence(exit_code=75), rule="before-start/no_room"), [], True),
        (Outcome(Verdict.TIMED_OUT), [], False),
    ],
    ids=["the rules were asked", "the node knew better", "a time limit"],
)
def test_an_explanation_says_whether_the_rules_or_the_node_had_the_word(
    lab: Lab, outcome: Outcome, rules: list[str], word: bool
) -> None:
    _, task_id, _ = lab.running()
    attempt = replace(lab.attempt(task_id), outcome=outcome)
    found = explain(
        Situation(
            task=lab.task(task_id),
            attempt=attempt,
            policy=DEFAULT,
            findings=findings_of(outcome, DEFAULT),
            recipient=None,
            now_ms=0,
        )
    )
    assert [one.rule.name for one in found.matched if one.decides] == rules
    assert found.word is word
    assert found.facts == facts_of(outcome)


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


DECIDED = RecoveryDecided(
    task_id=TaskId("t_1"), number=1, verdict=Verdict.FAILED, rule="r", policy="default/1", evidence_digest="",
    signature="s", response="revise", action=Action.REVISE, because="",
)  # fmt: skip


def test_what_a_decision_came_to_is_said_in_order(lab: Lab) -> None:
    assert came_to(DECIDED, (), None) == "nothing has followed yet"
    asks = replace(DECIDED, asks=True)
    assert came_to(asks, (), None) == "a person was asked"
    assert (
        came_to(asks, ("cost", "tokens"), None) == "nothing was left of cost, tokens, so a person was asked"
    )
    assert came_to(replace(DECIDED, action=Action.END), (), None) == "the task ended"
    task_id = lab.submit()
    first = lab.attempt(task_id)
    assert came_to(DECIDED, (), first) == f"{task_id}/1 followed (retry)"
    why = Hypothesis(because="more room", by="ann", before_digest="a", after_digest="b")
    spec = replace(first.spec, hypothesis=why, relation=Relation.REPLAN)
    told = came_to(asks, (), replace(first, spec=spec))
    assert told == f"a person was asked; then {task_id}/1 followed (replan) by ann: more room"


def test_only_a_failure_is_explained_and_of_any_other_it_is_said_why_not(lab: Lab) -> None:
    _, task_id, delivery = lab.running()
    assert "has not ended" in unexplained(lab.attempt(task_id))
    assert not is_explained(lab.attempt(task_id))
    lab.fail(delivery, FailureClass.CONFIGURATION)
    assert is_explained(lab.attempt(task_id))
    failed_one = lab.attempt(task_id)
    assert not is_explained(replace(failed_one, outcome=None))
    assert not is_explained(replace(failed_one, verdict=Verdict.COMPLETED))
    for verdict, words in (
        (Verdict.COMPLETED, "completed"),
        (Verdict.CANCELED, "was canceled"),
        (Verdict.ASKED, "a question of its own"),
        (Verdict.UNKNOWN, "is unknown"),
    ):
        said = unexplained(replace(failed_one, verdict=verdict))
        assert words in said
        assert "has not ended" not in said
