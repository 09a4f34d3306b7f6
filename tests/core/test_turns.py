"""The end of a turn where the runner's facts disagree with each other: they count before any word of the program."""

from __future__ import annotations

from typing import Any

import pytest

from tenure.core.attempt import Verdict
from tenure.core.failure import CheckEnded, FailureClass, StepEnded
from tenure.core.judgement import check_results
from tenure.core.turn import TurnRules, TurnSaid, Word, judge_turn

RULES = TurnRules(exit_zero_is_completed=True)
DONE = TurnSaid(word=Word.COMPLETED, results=(Word.COMPLETED,), summary="all good")


@pytest.mark.parametrize(
    "ended", [{"never_started": True, "exit_code": 0}, {"signal": 9, "exit_code": 0}, {"oom": True}]
)
@pytest.mark.parametrize("said", [TurnSaid(), DONE])
def test_what_did_not_start_or_was_killed_has_failed_whatever_was_said(
    ended: dict[str, Any], said: TurnSaid
) -> None:
    judged = judge_turn(StepEnded(**ended), said, RULES)
    assert judged.verdict is Verdict.FAILED
    assert "exits with code" not in (judged.evidence.contradiction or "")


def test_a_runner_that_names_an_exit_code_and_a_signal_contradicts_itself() -> None:
    judged = judge_turn(StepEnded(signal=9, exit_code=0), DONE, RULES)
    assert judged.evidence.contradiction == "the runner names both an exit code and a signal"
    assert judged.failure_class is FailureClass.CONTRADICTION


@pytest.mark.parametrize(
    ("ended", "told"),
    [
        ({"timed_out": True}, "ended at its time limit"),
        ({"canceled": True}, "ended by our cancel"),
        ({"unknown_reason": "no record"}, "unknown: no record"),
    ],
)
def test_what_the_runner_did_is_told_and_not_what_the_program_said(ended: dict[str, Any], told: str) -> None:
    assert judge_turn(StepEnded(**ended), DONE, RULES).summary == told


@pytest.mark.parametrize("checks", [(), (CheckEnded(name="tests", ended=StepEnded(exit_code=0)),)])
def test_checks_change_nothing_of_what_has_failed(checks: tuple[CheckEnded, ...]) -> None:
    failed = judge_turn(StepEnded(exit_code=3), TurnSaid(), RULES)
    folded = check_results(failed, checks, 2)
    assert (folded.verdict, folded.summary, folded.evidence.checks) == (
        Verdict.FAILED,
        failed.summary,
        checks,
    )
