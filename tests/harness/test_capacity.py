"""What a program says of quotas, and how good its result is: read within bounds, kept as evidence; and usage that makes no sense."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.core.failure import FailureClass, StepEnded
from tenure.core.judgement import Judgement
from tenure.core.turn import TurnRules, Word, judge_turn
from tenure.harness.message import MAX_WAIT_S, Bad, Result, Session
from tenure.harness.protocol import parse_line
from tenure.harness.summary import summarize, turn_said

DAY_S = 86_400
RULES = TurnRules(exit_zero_is_completed=True)


def line(**fields: Any) -> bytes:
    return json.dumps({"type": "result", "verdict": "failed"} | fields).encode()


def result(**fields: Any) -> Result:
    parsed = parse_line(line(**fields))
    assert isinstance(parsed, Result)
    return parsed


def judged(*lines: bytes) -> Judgement:
    said = turn_said(summarize(parse_line(one) for one in lines))
    return judge_turn(StepEnded(exit_code=0), said, RULES)


def test_what_a_quota_says_is_read_beside_the_verdict_or_from_the_evidence() -> None:
    beside = result(retry_after_s=1.5, reset_at="2026-01-31T08:00:00Z", score=0.7)
    within = result(evidence={"retry_after_s": 1.5, "reset_at": 1769846400, "score": 0.7})
    for parsed in (beside, within):
        assert (parsed.retry_after_s, parsed.reset_at_ms, parsed.score) == (1.5, 1_769_846_400_000, 0.7)
        assert parsed.notes == ()


def test_what_stands_beside_the_verdict_outranks_the_evidence() -> None:
    assert result(retry_after_s=5, evidence={"retry_after_s": 9}).retry_after_s == 5


@pytest.mark.parametrize("reset_at", ["2026-01-31T10:00:00+02:00", "2026-01-31T08:00:00.000Z", 1769846400.0])
def test_every_spelling_of_an_instant_is_the_same_one(reset_at: Any) -> None:
    assert result(reset_at=reset_at).reset_at_ms == 1_769_846_400_000


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *(("retry_after_s", value) for value in (-1, "60", True, [], {}, float("nan"), float("inf"))),
        *(
            ("reset_at", value)
            for value in ("soon", "2026-01-31T08:00:00", "", -1, 1e300, True, [], float("nan"))
        ),
        *(("score", value) for value in ("good", True, float("nan"), float("-inf"), 1e16, [])),
    ],
)
def test_garbage_is_left_out_with_one_note_and_the_result_holds(field: str, value: Any) -> None:
    parsed = result(summary="no quota", **{field: value})
    assert (parsed.retry_after_s, parsed.reset_at_ms, parsed.score) == (None, None, None)
    assert (parsed.summary, len(parsed.notes)) == ("no quota", 1)
    assert field in parsed.notes[0]


def test_a_wait_beyond_a_week_and_a_day_is_cut_with_a_note() -> None:
    assert result(retry_after_s=MAX_WAIT_S).notes == ()
    parsed = result(retry_after_s=1e12)
    assert (parsed.retry_after_s, MAX_WAIT_S) == (8 * DAY_S, 8 * DAY_S)
    assert "at most" in parsed.notes[0]


@given(st.one_of(st.integers(), st.floats(), st.text(max_size=30), st.none(), st.booleans()))
def test_whatever_is_said_is_read_within_bounds(value: Any) -> None:
    parsed = result(retry_after_s=value, reset_at=value, score=value)
    assert parsed.retry_after_s is None or 0 <= parsed.retry_after_s <= MAX_WAIT_S
    assert parsed.reset_at_ms is None or 0 <= parsed.reset_at_ms < 2**53
    assert parsed.score is None or abs(parsed.score) <= 1e15


def test_all_of_it_becomes_evidence_and_the_status_gives_the_class() -> None:
    found = judged(line(evidence={"http_status": 529}, retry_after_s=30, reset_at=1769846400, score=-2))
    assert found.failure_class is FailureClass.CAPACITY
    evidence = found.evidence
    assert (evidence.retry_after_s, evidence.reset_at_ms, evidence.score) == (30.0, 1_769_846_400_000, -2.0)


def test_a_score_belongs_to_a_completion_as_well() -> None:
    found = judged(line(verdict="completed", score=12))
    assert (found.verdict, found.evidence.score) == (Word.COMPLETED, 12.0)


@pytest.mark.parametrize("count", ["-1", "NaN", "-Infinity", "1e400", "0.5", "true", "9007199254740992"])
def test_usage_that_cannot_be_is_left_out_with_a_note_in_the_evidence(count: str) -> None:
    found = judged(
        b'{"type": "usage", "input_tokens": 10, "output_tokens": 4}',
        f'{{"type": "usage", "input_tokens": {count}, "output_tokens": 5}}'.encode(),
        line(verdict="completed"),
    )
    assert (found.usage.input_tokens, found.usage.output_tokens) == (10, 5)
    assert any("input_tokens" in note for note in found.evidence.notes)


def test_usage_that_goes_down_keeps_the_highest_with_a_note_in_the_evidence() -> None:
    found = judged(
        b'{"type": "usage", "cost_usd_micros": 900}',
        b'{"type": "usage", "cost_usd_micros": 400}',
        line(verdict="completed"),
    )
    assert found.usage.cost_usd_micros == 900
    assert "went down" in found.evidence.notes[0]


def test_usage_that_comes_twice_or_after_the_result_counts_once() -> None:
    usage = b'{"type": "usage", "tool_calls": 3}'
    found = judged(usage, usage, line(verdict="completed"), b'{"type": "usage", "tool_calls": 4}', usage)
    assert found.usage.tool_calls == 4


def test_a_session_that_would_be_an_option_on_a_command_line_is_refused() -> None:
    parsed = parse_line(b'{"type": "session", "session_id": "--yolo"}')
    assert parsed == Bad(reason="session_id begins with a dash")
    assert isinstance(parse_line(b'{"type": "session", "session_id": "a-b"}'), Session)
