"""What the end of a turn means: the runner's facts against the program's own words."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.core.attempt import Usage, Verdict
from tenure.core.failure import Artifact, FailureClass, StepEnded
from tenure.core.judgement import Judgement
from tenure.core.turn import TurnRules, Word, judge_turn
from tenure.harness.message import Ask, Bad, Progress, ProtocolLine, Result, Session, UsageSaid
from tenure.harness.summary import summarize, turn_said

DONE = Result(verdict=Word.COMPLETED, summary="all good")
FAILED = Result(verdict=Word.FAILED, summary="did not work")
ASK = Ask(question="Which one?", options=("a", "b"))
DAMAGED = Bad(reason="not JSON", maybe_result=True)


def judge(ended: StepEnded, *lines: ProtocolLine, exit_zero: bool = True, shell: bool = False) -> Judgement:
    return judge_turn(
        ended, turn_said(summarize(lines)), TurnRules(exit_zero_is_completed=exit_zero, shell=shell)
    )


def exited(code: int, **facts: Any) -> StepEnded:
    return StepEnded(exit_code=code, **facts)


def outcome(judged: Judgement) -> tuple[Verdict, FailureClass | None, str | None]:
    return judged.verdict, judged.failure_class, judged.failure_rule


def test_exit_0_without_a_word_is_completed_only_where_the_recipient_says_so() -> None:
    assert judge(exited(0)).verdict is Verdict.COMPLETED
    judged = judge(exited(0), exit_zero=False)
    assert judged.verdict is Verdict.UNKNOWN
    assert judged.evidence.unknown_reason == "nobody stated an outcome"


def test_a_stated_completion_with_exit_0_is_completed_in_either_case() -> None:
    for exit_zero in (True, False):
        judged = judge(exited(0), DONE, exit_zero=exit_zero)
        assert (judged.verdict, judged.summary) == (Verdict.COMPLETED, "all good")


def test_a_stated_completion_with_another_exit_code_is_a_contradiction() -> None:
    judged = judge(exited(3), DONE)
    assert outcome(judged) == (Verdict.FAILED, FailureClass.CONTRADICTION, "contradicted")
    assert (
        judged.summary == judged.evidence.contradiction == "the program says completed, and exits with code 3"
    )


@pytest.mark.parametrize("code", [0, 1, 75])
def test_a_stated_failure_is_a_failure_whatever_the_exit_code(code: int) -> None:
    claimed = Result(verdict=Word.FAILED, failure_class=FailureClass.CAPACITY)
    assert judge(exited(code), claimed).failure_class is FailureClass.CAPACITY
    assert judge(exited(code), FAILED).verdict is Verdict.FAILED


def test_a_stated_class_that_the_exit_code_denies_is_a_contradiction() -> None:
    claimed = Result(verdict=Word.FAILED, failure_class=FailureClass.CAPACITY)
    assert outcome(judge(exited(77), claimed)) == (
        Verdict.FAILED,
        FailureClass.CONTRADICTION,
        "evidence-disagrees",
    )


def test_an_http_status_in_the_evidence_of_a_failure_gives_its_class() -> None:
    judged = judge(exited(1), Result(verdict=Word.FAILED, http_status=429))
    assert outcome(judged) == (Verdict.FAILED, FailureClass.CAPACITY, "http-busy")


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (65, FailureClass.VALIDATION),
        (75, FailureClass.CAPACITY),
        (77, FailureClass.AUTHORIZATION),
        (78, FailureClass.CONFIGURATION),
        (127, FailureClass.CONFIGURATION),
        (1, FailureClass.CONTRADICTION),
        (42, FailureClass.CONTRADICTION),
    ],
)
def test_an_exit_code_without_a_word_fails_with_the_class_of_sysexits(
    code: int, expected: FailureClass
) -> None:
    judged = judge(exited(code))
    assert (judged.verdict, judged.failure_class) == (Verdict.FAILED, expected)
    assert judged.summary == f"exit code {code}"


def test_a_question_ends_the_turn_as_asked() -> None:
    judged = judge(exited(0), Progress(message="thinking"), ASK)
    assert (judged.verdict, judged.summary) == (Verdict.ASKED, "Which one?")
    assert (judged.evidence.question, judged.evidence.options) == ("Which one?", ("a", "b"))
    assert judge(exited(0), ASK, Result(verdict=Word.ASKED)).verdict is Verdict.ASKED


def test_a_question_and_another_exit_code_than_0_contradict_each_other() -> None:
    assert judge(exited(1), ASK).failure_class is FailureClass.CONTRADICTION


def test_a_question_that_was_answered_by_the_programs_own_result_is_no_question() -> None:
    judged = judge(exited(0), ASK, DONE)
    assert (judged.verdict, judged.evidence.question) == (Verdict.COMPLETED, None)


@pytest.mark.parametrize("lines", [(DAMAGED,), (DONE, DAMAGED)])
def test_a_damaged_last_word_is_never_read_as_silence(lines: tuple[ProtocolLine, ...]) -> None:
    judged = judge(exited(0), *lines)
    assert outcome(judged) == (Verdict.FAILED, FailureClass.CONTRADICTION, "contradicted")
    assert "cannot be read" in judged.summary


def test_an_ordinary_bad_line_does_not_spoil_a_completion_but_is_counted() -> None:
    judged = judge(exited(0), Bad(reason="not JSON"), DONE)
    assert (judged.verdict, judged.evidence.bad_lines) == (Verdict.COMPLETED, 1)
    assert judged.evidence.notes == ("bad line: not JSON",)


def test_two_results_that_disagree_are_a_contradiction() -> None:
    assert judge(exited(0), FAILED, DONE).failure_class is FailureClass.CONTRADICTION


def test_a_program_may_say_that_it_cannot_tell() -> None:
    judged = judge(exited(0), Result(verdict=Word.UNKNOWN, summary="lost the remote agent"))
    assert (judged.verdict, judged.summary) == (Verdict.UNKNOWN, "lost the remote agent")
    assert judged.evidence.unknown_reason == "the program itself says that it cannot tell"


@pytest.mark.parametrize("lines", [(), (DONE,), (FAILED,), (ASK,), (DAMAGED,)])
@pytest.mark.parametrize("ended", [StepEnded(signal=9), StepEnded(signal=11), StepEnded(signal=9, oom=True)])
def test_death_by_a_signal_is_a_lost_executor_whatever_was_said_before(
    ended: StepEnded, lines: tuple[ProtocolLine, ...]
) -> None:
    judged = judge(ended, *lines)
    assert (judged.verdict, judged.failure_class) == (Verdict.FAILED, FailureClass.EXECUTOR_LOST)


def test_an_oom_kill_counts_where_the_end_was_bad_and_not_where_the_program_coped() -> None:
    assert judge(exited(1, oom=True)).failure_class is FailureClass.EXECUTOR_LOST
    assert judge(exited(0, oom=True), DONE).verdict is Verdict.COMPLETED


def test_an_oom_kill_of_which_nothing_else_is_known_is_a_lost_executor() -> None:
    assert outcome(judge(StepEnded(oom=True))) == (
        Verdict.FAILED,
        FailureClass.EXECUTOR_LOST,
        "out-of-memory",
    )


def test_a_program_that_could_not_be_started_fails_with_the_reason() -> None:
    missing = judge(StepEnded(never_started=True, start_error="ENOENT"))
    assert outcome(missing) == (Verdict.FAILED, FailureClass.CONFIGURATION, "cannot-start")
    assert "ENOENT" in missing.summary
    assert judge(StepEnded(never_started=True, start_error="EAGAIN")).failure_class is FailureClass.CAPACITY


def test_a_signal_that_a_shell_reports_is_a_lost_executor() -> None:
    assert judge(exited(137), shell=True).failure_class is FailureClass.EXECUTOR_LOST
    assert judge(exited(137)).failure_class is FailureClass.CONTRADICTION


words = st.lists(st.sampled_from([DONE, FAILED, ASK, DAMAGED, Session(session_id="s")]), max_size=4)
facts = st.fixed_dictionaries(
    {
        "exit_code": st.none() | st.sampled_from([0, 1, 75]),
        "signal": st.none() | st.sampled_from([9, 15]),
        "oom": st.booleans(),
        "timed_out": st.booleans(),
        "canceled": st.booleans(),
        "never_started": st.booleans(),
        "unknown_reason": st.none() | st.just("gone"),
    }
)


@given(facts, words, st.booleans())
def test_the_order_of_authority_holds_for_every_mix_of_facts_and_words(
    fact: dict[str, Any], said: list[ProtocolLine], exit_zero: bool
) -> None:
    ended = StepEnded(**fact)
    judged = judge(ended, *said, exit_zero=exit_zero)
    if ended.unknown_reason is not None:
        assert judged.verdict is Verdict.UNKNOWN
    elif ended.canceled:
        assert judged.verdict is Verdict.CANCELED
    elif ended.timed_out:
        assert judged.verdict is Verdict.TIMED_OUT
    elif ended.exit_code is None and ended.signal is None and not ended.never_started and not ended.oom:
        assert judged.verdict is Verdict.UNKNOWN
    if judged.verdict is Verdict.COMPLETED:
        assert ended.exit_code == 0
        assert ended.signal is None
        assert not ended.never_started
        assert DAMAGED not in said[-1:]
        assert exit_zero or DONE in said
    assert (
        (judged.verdict is Verdict.FAILED)
        == (judged.failure_class is not None)
        == (judged.policy is not None)
    )
    assert (judged.verdict is Verdict.UNKNOWN) == (judged.evidence.unknown_reason is not None)
    if ended.unknown_reason is not None:
        assert judged.evidence.unknown_reason == ended.unknown_reason
    assert judged.summary


def test_usage_session_and_times_come_along_whatever_the_verdict() -> None:
    ended = StepEnded(signal=15, canceled=True, wall_s=12.5, cpu_s=3.0)
    judged = judge(ended, Session(session_id="s-1"), UsageSaid(input_tokens=7, cost_usd_micros=900))
    assert judged.usage == Usage(input_tokens=7, cost_usd_micros=900, wall_s=12.5, cpu_s=3.0)
    assert judged.session_id == judged.evidence.session_id == "s-1"
    assert judged.summary == "ended by our cancel"
    assert judge(exited(0)).usage == Usage()


def test_what_a_result_brings_along_becomes_evidence() -> None:
    artifact = Artifact(name="log", path="log.txt")
    judged = judge(exited(0), msgspec.structs.replace(DONE, details="{}", artifacts=(artifact,)))
    assert (judged.evidence.text, judged.evidence.details) == ("all good", "{}")
    assert judged.evidence.artifacts == (artifact,)
