"""Failure classes by rule, and what acceptance checks make of a judgement."""

import itertools
import os
import signal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tenure.core.attempt import Usage, Verdict
from tenure.core.failure import (
    DEFAULT_POLICY,
    EVIDENCE_DISAGREES,
    SYSEXITS,
    UNCLASSIFIED,
    CheckEnded,
    Evidence,
    FailureClass,
    FailurePolicy,
    Rule,
    StepEnded,
    StepKind,
    classify,
    evidence_of,
)
from tenure.core.judgement import Judgement, check_results, describe_end, is_passed, verdict_by_runner
from tenure.core.task import TaskState
from tests.core.lab import Lab

PASSED = StepEnded(exit_code=0)
COMPLETED = Judgement(verdict=Verdict.COMPLETED, evidence=Evidence(exit_code=0), summary="done")

texts = st.none() | st.text(max_size=5)
step_ends = st.builds(
    StepEnded,
    exit_code=st.none() | st.integers(0, 255),
    signal=st.none() | st.integers(1, 64),
    oom=st.booleans(),
    timed_out=st.booleans(),
    canceled=st.booleans(),
    never_started=st.booleans(),
    start_error=st.none() | st.sampled_from(["ENOENT", "EAGAIN", "EWHAT"]),
    unknown_reason=texts,
)


def check(ended: StepEnded, name: str = "tests", *, attempt_over: bool = False) -> CheckEnded:
    return CheckEnded(name=name, ended=ended, attempt_over=attempt_over)


def found(evidence: Evidence) -> tuple[FailureClass, str]:
    classification = classify(evidence)
    return classification.failure_class, classification.rule


@pytest.mark.parametrize(
    ("evidence", "expected", "rule"),
    [
        (Evidence(exit_code=77), FailureClass.AUTHORIZATION, "ex-noperm"),
        (Evidence(exit_code=78), FailureClass.CONFIGURATION, "ex-config"),
        (Evidence(exit_code=75), FailureClass.CAPACITY, "ex-tempfail"),
        (Evidence(exit_code=65), FailureClass.VALIDATION, "ex-dataerr"),
        (Evidence(exit_code=127), FailureClass.CONFIGURATION, "cannot-run"),
        (Evidence(exit_code=126), FailureClass.CONFIGURATION, "cannot-run"),
        (Evidence(exit_code=1, step=StepKind.CHECK), FailureClass.VALIDATION, "check-failed"),
        (Evidence(exit_code=101, step=StepKind.CHECK), FailureClass.VALIDATION, "check-failed"),
        (Evidence(signal=9), FailureClass.EXECUTOR_LOST, "died-of-signal"),
        (Evidence(oom=True, signal=9), FailureClass.EXECUTOR_LOST, "out-of-memory"),
        (Evidence(start_error="ENOENT"), FailureClass.CONFIGURATION, "cannot-start"),
        (Evidence(start_error="EAGAIN"), FailureClass.CAPACITY, "no-room-to-start"),
        (Evidence(exit_code=1, http_status=401), FailureClass.AUTHORIZATION, "http-refused"),
        (Evidence(exit_code=1, http_status=403), FailureClass.AUTHORIZATION, "http-refused"),
        (Evidence(exit_code=1, http_status=429), FailureClass.CAPACITY, "http-busy"),
        (Evidence(exit_code=1, http_status=503), FailureClass.CAPACITY, "http-busy"),
        (Evidence(exit_code=1, http_status=529), FailureClass.CAPACITY, "http-busy"),
        (
            Evidence(exit_code=1, claimed_class=FailureClass.CONFLICT),
            FailureClass.CONFLICT,
            "claimed-conflict",
        ),
        (
            Evidence(exit_code=75, claimed_class=FailureClass.CAPACITY),
            FailureClass.CAPACITY,
            "ex-tempfail",
        ),
        (Evidence(signal=9, timed_out=True, step=StepKind.CHECK), FailureClass.VALIDATION, "check-timed-out"),
        (Evidence(exit_code=77, contradiction="two results"), FailureClass.CONTRADICTION, "contradicted"),
    ],
)
def test_each_default_rule_gives_the_class_that_the_design_lists(
    evidence: Evidence, expected: FailureClass, rule: str
) -> None:
    assert found(evidence) == (expected, rule)
    assert classify(evidence).policy == "default/1"


@pytest.mark.parametrize("code", [1, 2, 64, 70, 137, 145, 255])
def test_an_exit_code_that_no_rule_knows_is_a_contradiction(code: int) -> None:
    assert found(Evidence(exit_code=code)) == (FailureClass.CONTRADICTION, UNCLASSIFIED)


def test_statements_that_disagree_are_a_contradiction_and_never_a_choice() -> None:
    says_two_things = Evidence(exit_code=75, claimed_class=FailureClass.AUTHORIZATION)
    assert found(says_two_things) == (FailureClass.CONTRADICTION, EVIDENCE_DISAGREES)
    assert found(Evidence(exit_code=77, http_status=429)) == (FailureClass.CONTRADICTION, EVIDENCE_DISAGREES)


@pytest.mark.parametrize(
    ("code", "status", "claim"),
    [
        (77, None, FailureClass.CAPACITY),
        (78, None, FailureClass.CAPACITY),
        (75, None, FailureClass.VALIDATION),
        (65, None, FailureClass.CAPACITY),
        (127, None, FailureClass.CAPACITY),
        (1, 401, FailureClass.CAPACITY),
        (1, 529, FailureClass.AUTHORIZATION),
    ],
)
def test_every_statement_weighs_the_same_as_any_other(
    code: int, status: int | None, claim: FailureClass
) -> None:
    evidence = Evidence(exit_code=code, http_status=status, claimed_class=claim)
    assert found(evidence) == (FailureClass.CONTRADICTION, EVIDENCE_DISAGREES)


def test_any_statement_of_a_check_outranks_its_mere_failure() -> None:
    assert found(Evidence(exit_code=1, claimed_class=FailureClass.CAPACITY, step=StepKind.CHECK)) == (
        FailureClass.CAPACITY,
        "claimed-capacity",
    )
    assert found(Evidence(exit_code=0, step=StepKind.CHECK)) == (FailureClass.CONTRADICTION, UNCLASSIFIED)


def test_what_kept_a_process_from_starting_weighs_the_same_as_its_death() -> None:
    both = Evidence(start_error="EAGAIN", signal=9)
    assert found(both) == (FailureClass.CONTRADICTION, EVIDENCE_DISAGREES)
    assert found(Evidence(start_error="ENOENT", oom=True)) == (FailureClass.CONTRADICTION, EVIDENCE_DISAGREES)


@pytest.mark.parametrize(
    "name",
    [
        "SIGILL",
        "SIGTRAP",
        "SIGABRT",
        "SIGBUS",
        "SIGFPE",
        "SIGKILL",
        "SIGSEGV",
        "SIGTERM",
        "SIGXCPU",
        "SIGXFSZ",
    ],
)
def test_crashes_kills_and_limits_are_believed_of_a_shell(name: str) -> None:
    number = signal.Signals[name].value
    assert evidence_of(StepEnded(exit_code=128 + number), shell=True).shell_signal == number


def test_sysexits_have_the_names_that_the_system_gives_them() -> None:
    for code, name in SYSEXITS.items():
        assert getattr(os, name, code) == code


def test_how_a_process_died_outranks_what_it_said_before() -> None:
    evidence = Evidence(signal=11, claimed_class=FailureClass.AUTHORIZATION, http_status=429)
    assert found(evidence) == (FailureClass.EXECUTOR_LOST, "died-of-signal")


def test_exit_codes_above_128_are_signals_only_where_a_shell_reported_them() -> None:
    by_shell = evidence_of(StepEnded(exit_code=137), shell=True)
    assert by_shell.shell_signal == 9
    assert found(by_shell) == (FailureClass.EXECUTOR_LOST, "shell-saw-signal")
    assert evidence_of(StepEnded(exit_code=137)).shell_signal is None
    # git's usage error and a closed pipe
    assert evidence_of(StepEnded(exit_code=129), shell=True).shell_signal is None
    assert evidence_of(StepEnded(exit_code=141), shell=True).shell_signal is None


def test_an_end_with_both_exit_code_and_signal_disagrees_with_itself() -> None:
    assert found(evidence_of(StepEnded(exit_code=0, signal=9))) == (
        FailureClass.CONTRADICTION,
        "contradicted",
    )


def test_evidence_names_the_sysexit_for_people() -> None:
    assert evidence_of(StepEnded(exit_code=78)).sysexit == "EX_CONFIG"
    assert evidence_of(StepEnded(exit_code=3)).sysexit is None


def test_a_policy_is_data_and_its_own_rules_decide() -> None:
    policy = FailurePolicy(
        name="house", version=7, rules=(Rule("disk", 0, FailureClass.CAPACITY, exit_codes=(3,)),)
    )
    decoded = msgspec.json.decode(msgspec.json.encode(policy), type=FailurePolicy)
    assert decoded == policy
    classification = classify(Evidence(exit_code=3), decoded)
    assert (classification.failure_class, classification.rule, classification.policy) == (
        FailureClass.CAPACITY,
        "disk",
        "house/7",
    )


def test_rule_names_of_the_default_policy_are_unique() -> None:
    names = [rule.name for rule in DEFAULT_POLICY.rules]
    assert len(names) == len(set(names))


@given(step_ends, st.sampled_from(StepKind), st.booleans())
def test_every_end_has_exactly_one_class(ended: StepEnded, step: StepKind, shell: bool) -> None:
    classification = classify(evidence_of(ended, step, shell=shell))
    known = {rule.name for rule in DEFAULT_POLICY.rules} | {UNCLASSIFIED, EVIDENCE_DISAGREES}
    assert classification.failure_class in FailureClass
    assert classification.rule in known


def test_checks_that_all_pass_keep_the_completion() -> None:
    judged = check_results(COMPLETED, (check(PASSED, "lint"), check(PASSED, "tests")), expected=2)
    assert judged.verdict is Verdict.COMPLETED
    assert judged.summary == "done"
    assert [one.name for one in judged.evidence.checks] == ["lint", "tests"]


def test_without_checks_the_judgement_stands() -> None:
    assert check_results(COMPLETED, (), expected=0) == COMPLETED


def test_a_failed_check_is_a_validation_failure_with_its_output_as_evidence() -> None:
    failing = check(StepEnded(exit_code=2, output_tail="1 failed"))
    judged = check_results(COMPLETED, (check(PASSED, "lint"), failing), expected=3)
    assert (judged.verdict, judged.failure_class) == (Verdict.FAILED, FailureClass.VALIDATION)
    assert (judged.failure_rule, judged.policy) == ("check-failed", "default/1")
    assert judged.summary == "check tests: exit code 2"
    assert judged.evidence.checks[1].ended.output_tail == "1 failed"


@pytest.mark.parametrize(
    ("ended", "expected", "rule"),
    [
        (StepEnded(exit_code=127), FailureClass.CONFIGURATION, "cannot-run"),
        (StepEnded(exit_code=126), FailureClass.CONFIGURATION, "cannot-run"),
        (StepEnded(never_started=True, start_error="ENOENT"), FailureClass.CONFIGURATION, "cannot-start"),
        (StepEnded(never_started=True, start_error="ENOMEM"), FailureClass.CAPACITY, "no-room-to-start"),
        (StepEnded(signal=9), FailureClass.EXECUTOR_LOST, "died-of-signal"),
        (StepEnded(signal=9, oom=True), FailureClass.EXECUTOR_LOST, "out-of-memory"),
        (StepEnded(exit_code=75), FailureClass.CAPACITY, "ex-tempfail"),
        (StepEnded(oom=True), FailureClass.EXECUTOR_LOST, "out-of-memory"),
        (StepEnded(never_started=True), FailureClass.CONTRADICTION, "unclassified"),
        (StepEnded(signal=9, timed_out=True), FailureClass.VALIDATION, "check-timed-out"),
    ],
)
def test_a_check_that_did_not_pass_fails_the_attempt_with_its_own_class(
    ended: StepEnded, expected: FailureClass, rule: str
) -> None:
    judged = check_results(COMPLETED, (check(ended),), expected=1)
    assert (judged.verdict, judged.failure_class, judged.failure_rule) == (Verdict.FAILED, expected, rule)


def test_a_check_cut_off_by_the_attempts_own_limit_makes_the_attempt_timed_out() -> None:
    judged = check_results(
        COMPLETED, (check(StepEnded(signal=9, timed_out=True), attempt_over=True),), expected=1
    )
    assert (judged.verdict, judged.failure_class) == (Verdict.TIMED_OUT, None)


def test_a_check_that_ends_well_only_when_told_to_stop_at_its_limit_has_not_passed() -> None:
    judged = check_results(COMPLETED, (check(StepEnded(exit_code=0, timed_out=True)),), expected=1)
    assert (judged.verdict, judged.failure_rule) == (Verdict.FAILED, "check-timed-out")


def test_a_check_that_was_canceled_makes_the_attempt_canceled() -> None:
    judged = check_results(COMPLETED, (check(StepEnded(signal=15, canceled=True)),), expected=2)
    assert judged.verdict is Verdict.CANCELED


@pytest.mark.parametrize("ended", [StepEnded(unknown_reason="runner died"), StepEnded()])
def test_a_check_whose_end_nobody_saw_makes_the_attempt_unknown(ended: StepEnded) -> None:
    judged = check_results(COMPLETED, (check(StepEnded(exit_code=1), "lint"), check(ended)), expected=2)
    assert judged.verdict is Verdict.UNKNOWN


def test_a_check_that_has_no_recorded_end_makes_the_attempt_unknown() -> None:
    judged = check_results(COMPLETED, (check(PASSED),), expected=2)
    assert judged.verdict is Verdict.UNKNOWN
    assert judged.summary == "1 of 2 checks have no recorded end"


def test_the_first_check_that_did_not_pass_gives_the_class() -> None:
    ends = (check(StepEnded(exit_code=127), "lint"), check(StepEnded(exit_code=1)))
    assert check_results(COMPLETED, ends, expected=2).failure_class is FailureClass.CONFIGURATION


@pytest.mark.parametrize("verdict", [one for one in Verdict if one is not Verdict.COMPLETED])
def test_checks_never_mend_a_turn_that_did_not_complete(verdict: Verdict) -> None:
    judged = check_results(replace(COMPLETED, verdict=verdict), (check(PASSED),), expected=1)
    assert judged.verdict is verdict
    assert judged.evidence.checks == (check(PASSED),)


@given(st.lists(step_ends, max_size=4), st.integers(0, 5))
def test_only_passed_checks_of_the_full_number_leave_a_completion(
    ends: list[StepEnded], expected: int
) -> None:
    judged = check_results(COMPLETED, tuple(check(ended) for ended in ends), expected)
    all_passed = all(is_passed(ended) and verdict_by_runner(ended) is None for ended in ends)
    assert (judged.verdict is Verdict.COMPLETED) == (all_passed and len(ends) >= expected)
    assert (judged.verdict is Verdict.FAILED) == (judged.failure_class is not None)


@given(step_ends)
def test_what_the_runner_cannot_say_outranks_cancel_which_outranks_its_time_limit(ended: StepEnded) -> None:
    forced = verdict_by_runner(ended)
    if ended.unknown_reason is not None:
        assert forced is Verdict.UNKNOWN
    elif ended.canceled:
        assert forced is Verdict.CANCELED
    elif ended.timed_out:
        assert forced is Verdict.TIMED_OUT


def test_every_end_can_be_described_in_different_words() -> None:
    ends = (
        StepEnded(exit_code=3),
        StepEnded(signal=9),
        StepEnded(oom=True),
        StepEnded(canceled=True),
        StepEnded(timed_out=True),
        StepEnded(never_started=True, start_error="ENOENT"),
        StepEnded(unknown_reason="gone"),
        StepEnded(),
    )
    words = [describe_end(ended) for ended in ends]
    assert "ENOENT" in words[5]
    assert "not known" in describe_end(StepEnded(never_started=True))
    assert all(one != other for one, other in itertools.combinations(words, 2))


def test_a_judgement_survives_json() -> None:
    judged = check_results(
        replace(COMPLETED, usage=Usage(input_tokens=3)),
        (check(StepEnded(exit_code=1, output_tail="é")),),
        expected=1,
    )
    assert msgspec.json.decode(msgspec.json.encode(judged), type=Judgement) == judged


def test_a_failure_without_a_class_is_a_contradiction_and_no_time_limit(lab: Lab) -> None:
    _, task_id, delivery = lab.running()
    lab.report(delivery, Verdict.FAILED)
    assert lab.task(task_id).state is TaskState.INPUT_REQUIRED
    assert lab.open_items() == ["contradiction"]
