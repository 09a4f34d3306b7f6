"""What evidence says, piece by piece, and what a plan makes of it: the pure questions of recovery."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from tenure.core.attempt import AttemptSpec, Outcome, Verdict
from tenure.core.budget import Tally
from tenure.core.failure import CheckEnded, Evidence, FailureClass, StepEnded
from tenure.core.findings import failed_check, findings_of, is_time_limit, judged, reported, said_by
from tenure.core.ids import Address
from tenure.core.judgement import is_passed
from tenure.core.limits import AVOIDED
from tenure.core.policy import DEFAULT, Action
from tenure.core.recovery import elsewhere, is_improved, is_refunded
from tenure.core.task import Check
from tests.core.lab import Lab

FAILED = CheckEnded(name="tests", ended=StepEnded(exit_code=1, output_tail="one\n two \n\n"))
PASSED = CheckEnded(name="lint", ended=StepEnded(exit_code=0))


def outcome(evidence: Evidence | None = None, summary: str = "it failed", **more: Any) -> Outcome:
    text = "{}" if evidence is None else msgspec.json.encode({"harness": evidence}).decode()
    return Outcome(Verdict.FAILED, summary=summary, evidence=text, **more)


def test_the_first_check_that_did_not_pass_is_the_one() -> None:
    assert failed_check(None) is None
    assert failed_check(Evidence(checks=(PASSED,))) is None
    other = CheckEnded(name="types", ended=StepEnded(exit_code=2))
    assert failed_check(Evidence(checks=(PASSED, FAILED, other))) == FAILED


@pytest.mark.parametrize(
    ("ended", "passed"),
    [
        (StepEnded(exit_code=0), True),
        (StepEnded(exit_code=1), False),
        (StepEnded(exit_code=0, signal=9), False),
        (StepEnded(exit_code=0, timed_out=True), False),
        (StepEnded(exit_code=0, canceled=True), False),
        (StepEnded(exit_code=None), False),
    ],
)
def test_a_check_passes_if_it_ends_by_itself_with_zero(ended: StepEnded, passed: bool) -> None:
    assert is_passed(ended) is passed


def test_a_time_limit_is_no_failure_unless_somebody_calls_it_one() -> None:
    assert is_time_limit(Outcome(Verdict.TIMED_OUT))
    assert not is_time_limit(Outcome(Verdict.FAILED))
    assert not is_time_limit(Outcome(Verdict.TIMED_OUT, failure_class=FailureClass.CAPACITY))
    known = msgspec.json.encode({"harness": Evidence(exit_code=75)}).decode()
    assert judged(Outcome(Verdict.TIMED_OUT, evidence=known)) is None
    assert judged(outcome(Evidence(exit_code=75))) is not None
    assert judged(outcome(Evidence(exit_code=75), failure_rule="before-start/x")) is None
    assert judged(Outcome(Verdict.FAILED, evidence="{")) is None
    assert reported(Outcome(Verdict.FAILED, evidence="{")) is None


def test_a_time_limit_has_findings_of_its_own() -> None:
    found = findings_of(Outcome(Verdict.TIMED_OUT, evidence="{"), DEFAULT)
    assert (found.failure_class, found.rule, found.is_local) == (None, "time-limit", True)
    assert (found.retry_after_s, found.reset_at_ms, found.session_id, found.score) == (None, None, None, None)


def test_findings_carry_what_the_evidence_names() -> None:
    evidence = Evidence(
        exit_code=75, retry_after_s=9.0, reset_at_ms=77, session_id="s", score=0.5, text="said"
    )
    found = findings_of(outcome(evidence), DEFAULT)
    assert (found.retry_after_s, found.reset_at_ms, found.session_id, found.score) == (9.0, 77, "s", 0.5)
    assert found.is_local is False
    assert found.feedback is not None
    assert found.feedback.endswith("said")
    own = findings_of(outcome(evidence, session_id="own"), DEFAULT)
    assert own.session_id == "own"
    assert findings_of(outcome(Evidence(start_error="ENOENT")), DEFAULT).is_local


def test_two_failures_are_the_same_by_what_was_said_last() -> None:
    def signed(evidence: Evidence | None, summary: str = "it failed") -> str:
        return findings_of(outcome(evidence, summary), DEFAULT).signature

    one = Evidence(exit_code=1, text="red apples")
    assert signed(one) == signed(one, "another summary"), "what it wrote outranks the summary"
    assert signed(one) != signed(replace(one, text="green pears"))
    assert signed(replace(one, text="")) != signed(replace(one, text=""), "another summary")
    checked = Evidence(exit_code=1, text="red apples", checks=(FAILED,))
    assert signed(checked) == signed(replace(checked, text="green pears")), "a check outranks both"


@pytest.mark.parametrize(
    ("evidence", "summary", "said"),
    [
        (None, "it failed", "it failed"),
        (Evidence(output_tail="one\n two \n\n"), "it failed", "it failed: two"),
        (Evidence(output_tail="one\n two \n\n"), "", "two"),
        (Evidence(output_tail="one\nfailed\n"), "it failed", "it failed"),
        (Evidence(output_tail="\n \n"), "it failed", "it failed"),
        (Evidence(output_tail="else", checks=(FAILED,)), "it failed", "it failed: two"),
    ],
)
def test_a_person_is_told_how_it_ended_and_its_last_line(
    evidence: Evidence | None, summary: str, said: str
) -> None:
    assert said_by(outcome(evidence, summary)) == said


@pytest.mark.parametrize(
    ("checks", "told"),
    [
        ((), "tests"),
        ((Check(name="lint", argv=("ruff",)),), "tests"),
        (
            (Check(name="lint", argv=("ruff",)), Check(name="tests", argv=("sh", "-c", "make test"))),
            "make test",
        ),
        ((Check(name="tests", argv=("make", "test")),), "make test"),
    ],
)
def test_the_next_attempt_is_told_what_the_check_runs(checks: tuple[Check, ...], told: str) -> None:
    found = findings_of(outcome(Evidence(checks=(FAILED,))), DEFAULT, checks)
    assert found.feedback is not None
    assert found.feedback.startswith(f"The check `{told}` did not pass.")


def test_without_words_the_next_attempt_is_told_the_output_and_else_nothing() -> None:
    assert (findings_of(outcome(Evidence(output_tail="out")), DEFAULT).feedback or "").endswith("out")
    assert (findings_of(outcome(Evidence()), DEFAULT).feedback or "").endswith("it failed")
    assert findings_of(outcome(Evidence(), " "), DEFAULT).feedback is None


@pytest.mark.parametrize(
    ("evidence", "score"),
    [
        (Evidence(), None),
        (Evidence(score=0.0, checks=(PASSED,)), 0.0),
        (Evidence(checks=(PASSED, PASSED, FAILED)), 2.0),
        (Evidence(checks=(FAILED,)), 0.0),
    ],
)
def test_a_score_is_the_programs_own_or_counts_the_checks(evidence: Evidence, score: float | None) -> None:
    assert findings_of(outcome(evidence), DEFAULT).score == score


@pytest.mark.parametrize("length", [39, 40, 41, 63, 64, 65])
def test_a_commit_has_forty_or_sixty_four_digits(length: int) -> None:
    for digit, right in (("a", True), ("g", False)):
        base = "0123456789abcdef" * 5
        base = base[: length - 1] + digit
        found = findings_of(outcome(Evidence(details=f'{{"base_sha":"{base}"}}')), DEFAULT).new_base
        assert found == (base if right and length in (40, 64) else None)


# -- plans


def test_only_capacity_is_refunded_and_only_where_it_is_waited_out_or_nothing_follows() -> None:
    capacity = findings_of(outcome(Evidence(claimed_class=FailureClass.CAPACITY)), DEFAULT)
    other = findings_of(outcome(Evidence(claimed_class=FailureClass.VALIDATION)), DEFAULT)
    refunded = {action for action in Action if is_refunded(capacity, action)}
    assert refunded == {Action.BACK_OFF, Action.STOP, Action.HOLD, Action.ESCALATE, Action.END}
    assert not any(is_refunded(other, action) for action in Action)


@pytest.mark.parametrize(
    ("best", "score", "better"),
    [
        (None, 0.1, True),
        (None, None, False),
        (0.1, 0.2, True),
        (0.2, 0.2, False),
        (0.3, 0.2, False),
        (0.1, None, False),
    ],
)
def test_better_is_more_than_every_attempt_before(
    lab: Lab, best: float | None, score: float | None, better: bool
) -> None:
    task = replace(lab.task(lab.submit()), tally=Tally(best=best))
    found = findings_of(outcome(Evidence(score=score)), DEFAULT)
    assert is_improved(task, found) is better


def test_elsewhere_is_another_recipient_of_the_same_route_that_is_not_avoided_yet(lab: Lab) -> None:
    spec: AttemptSpec = lab.attempt(lab.submit()).spec
    here, there, third = Address("a@x"), Address("b@x"), Address("c@x")
    found = elsewhere(replace(spec, pin=here, session_id="s"), "pool", here, (here, there))
    assert isinstance(found, AttemptSpec)
    assert (found.avoid, found.pin, found.session_id) == ((here,), None, None)
    again = elsewhere(found, "pool", there, (here, there, third))
    assert isinstance(again, AttemptSpec)
    assert again.avoid == (here, there)
    assert elsewhere(found, "pool", here, (here, there)) == found
    assert isinstance(elsewhere(found, "pool", there, (here, there)), str), "nobody is left"
    assert isinstance(elsewhere(spec, "pool", None, (here, there)), str)
    assert isinstance(elsewhere(spec, "a@x", here, (here, there)), str)
    many = tuple(Address(f"r{n}@x") for n in range(AVOIDED))
    assert isinstance(elsewhere(replace(spec, avoid=many), "pool", here, (there,)), str)
    assert isinstance(elsewhere(replace(spec, avoid=many[1:]), "pool", here, (there,)), AttemptSpec)
