"""From a report's evidence to its class, by the Attempt's own policy; and when two failures are the same one."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tenure.core.attempt import Outcome, Verdict
from tenure.core.failure import EX_TEMPFAIL, UNCLASSIFIED, FailureClass, Rule
from tenure.core.findings import findings_of
from tenure.core.limits import FEEDBACK_BYTES
from tenure.core.policy import DEFAULT
from tenure.core.signature import normalised, signature
from tests.core.lab import OTHER_SHA, evidence


def failed(told: FailureClass | None = None, text: str = "{}", **more: Any) -> Outcome:
    return Outcome(Verdict.FAILED, failure_class=told, evidence=text, **more)


@pytest.mark.parametrize(
    "text", ["", "{", "null", "[]", '{"harness":3}', '{"harness":{"step":"no such"}}', "[" * 5000]
)
def test_evidence_that_cannot_be_read_leaves_the_nodes_word_standing(text: str) -> None:
    found = findings_of(failed(FailureClass.CAPACITY, text), DEFAULT)
    assert (found.failure_class, found.rule) == (FailureClass.CAPACITY, "told")


def test_the_policy_of_the_attempt_outranks_the_nodes_word() -> None:
    policy = replace(DEFAULT, rules=(Rule("busy-here", 3, FailureClass.CONFLICT, exit_codes=(EX_TEMPFAIL,)),))
    outcome = failed(FailureClass.CAPACITY, evidence(exit_code=EX_TEMPFAIL))
    found = findings_of(outcome, policy)
    assert (found.failure_class, found.rule) == (FailureClass.CONFLICT, "busy-here")


def test_what_was_met_before_the_start_stays_as_the_node_says() -> None:
    outcome = failed(
        FailureClass.CONFIGURATION, evidence(exit_code=EX_TEMPFAIL), failure_rule="before-start/x"
    )
    assert findings_of(outcome, DEFAULT).failure_class is FailureClass.CONFIGURATION


def test_without_evidence_the_nodes_rule_and_class_stand_or_else_nobody_knows() -> None:
    for told, rule, found in (
        (FailureClass.CONFLICT, "their-rule", (FailureClass.CONFLICT, "their-rule")),
        (FailureClass.CONFLICT, None, (FailureClass.CONFLICT, "told")),
        (None, "their-rule", (FailureClass.CONTRADICTION, "their-rule")),
        (None, None, (FailureClass.CONTRADICTION, UNCLASSIFIED)),
    ):
        seen = findings_of(failed(told, "[]", failure_rule=rule), DEFAULT)
        assert (seen.failure_class, seen.rule) == found
        assert seen.signature == signature(str(found[0]), found[1], "")
    seen = findings_of(Outcome(Verdict.TIMED_OUT, summary="slow"), DEFAULT)
    assert seen.signature == signature("timed_out", "", "slow")


def test_a_failure_that_nobody_can_name_is_a_contradiction_and_a_time_limit_has_no_class() -> None:
    assert findings_of(failed(), DEFAULT).failure_class is FailureClass.CONTRADICTION
    assert findings_of(Outcome(Verdict.TIMED_OUT), DEFAULT).failure_class is None


def test_the_output_of_the_check_that_did_not_pass_is_what_the_next_attempt_is_told() -> None:
    found = findings_of(failed(FailureClass.VALIDATION, evidence(check="x" * 20_000 + "the end")), DEFAULT)
    assert found.feedback is not None
    assert found.feedback.startswith("The check `tests` did not pass.")
    assert found.feedback.endswith("the end")
    assert len(found.feedback.encode()) <= FEEDBACK_BYTES + 200
    assert found.score == 0.0


@pytest.mark.parametrize(
    ("details", "base"),
    [
        (f'{{"base_sha":"{OTHER_SHA}"}}', OTHER_SHA),
        ('{"base_sha":"main"}', None),
        ('{"base_sha":"' + "A" * 40 + '"}', None),
        ('{"base_sha":7}', None),
        ('{"other":7}', None),
        ("{", None),
        (None, None),
    ],
)
def test_a_new_base_is_a_full_commit_or_none(details: str | None, base: str | None) -> None:
    assert findings_of(failed(FailureClass.CONFLICT, evidence(details=details)), DEFAULT).new_base == base


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("failed in /home/a/b/test.py at 12:03:04", "failed in /tmp/x/test.py at 09:59:00"),
        ("t_01kb3c9x2m4v5n6q7r8s9t0a1b/2 died", "t_01kb3c9x2m4v5n6q7r8s9t0zzz/7 died"),
        ("took 3.1 s on 2026-11-29T22:10:01.123Z", "took 12 s on 2026-11-30"),
        ("commit 0a1b2c3d4e5f is gone", "commit ffee00112233 is gone"),
        ("\x1b[31mred\x1b[0m   text", "red text"),
        ("at 0x7f83fed6a990", "at 0x1"),
    ],
)
def test_what_differs_from_run_to_run_does_not_hide_a_repeat(one: str, other: str) -> None:
    assert normalised(one) == normalised(other)
    assert signature("validation", "r", one) == signature("validation", "r", other)


def test_two_different_failures_stay_two() -> None:
    found = {
        signature(kind, rule, text)
        for kind in ("validation", "conflict")
        for rule in ("a", "b")
        for text in ("test_one failed", "test_two failed")
    }
    assert len(found) == 8


@pytest.mark.parametrize("piece", ["x", "/", "a.", "0a", "-a", "12:", "\x1b[", "t_", "é"])
def test_a_long_word_is_normalised_in_one_pass(piece: str) -> None:
    """Every piece more costs the same. Read anew from each of its letters this would take seconds, in a commit."""
    text = piece * (200_000 // len(piece))
    assert len(normalised(text)) <= 2_000


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("see /a/b.py", "see PATH"),
        ("x=/a/b, (src/c.py)", "x=PATH, (PATH)"),
        (r"at C:\one\two.py", "at PATH"),
        ("and/or no path.", "PATH no path."),
        ("////////", "////////"),
    ],
)
def test_paths_are_taken_out_wherever_they_begin(text: str, same: str) -> None:
    assert normalised(text) == same
