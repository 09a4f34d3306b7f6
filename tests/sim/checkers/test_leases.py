"""The checkers of grants, receipts, fences and executions find what is wrong and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from tenure.sim.checkers import entry as en
from tests.sim.checkers.scenes import (
    WHERE,
    ack,
    answer,
    attempt,
    claim,
    done,
    end,
    found,
    read,
    recorded,
    renew,
    report,
    seen,
    start,
)

LOST = {"reply": en.Reply.NONE, "ended": None}
CANCEL = en.Cancel(**done(10), task_id="t_1")
SETTLED = en.Settled(at=500)
UNKNOWN = attempt(verdict="unknown", recipient=WHERE, acknowledged=True)


def test_a_fence_that_does_not_grow_is_found() -> None:
    assert found(claim(10, 2), claim(20, 2, "d_2")) == ["fences"]
    assert found(claim(10, 3), claim(20, 2, "d_2")) == ["fences"]
    assert found(claim(10, 2), claim(20, 3, "d_2")) == []


def test_grants_of_two_claims_at_the_same_time_may_be_heard_of_in_any_order() -> None:
    assert found(claim(10, 3, ended=40), claim(20, 2, "d_2", ended=30)) == []
    assert found(claim(10, 3, ended=40), claim(20, 3, "d_2", ended=30)) == ["fences"]


def test_a_claim_that_is_repeated_grants_what_its_first_copy_did() -> None:
    first = claim(10, 2, **LOST)
    assert found(first, claim(30, 4, "d_2", ended=31), claim(40, 2)) == []
    assert found(claim(30, 4, "d_2", ended=31), claim(40, 2)) == ["fences"]


def test_two_deliveries_that_hold_a_task_in_turns_are_found() -> None:
    first, second = (1, "d_1"), (2, "d_2")
    assert "owners" in found(renew(10, *first), renew(20, *second), renew(30, *first), renew(40, *second))
    assert found(renew(10, *first), renew(20, *first), renew(30, *second), renew(40, *second)) == []


def test_a_write_under_an_old_fence_after_a_newer_grant_is_found() -> None:
    for write in (renew(30), report(30), ack(30)):
        assert found(claim(20, 2, "d_2"), write) == ["stale"]


def test_a_write_under_an_old_fence_after_a_newer_one_was_shown_is_found() -> None:
    assert found(read(10, fence=2), renew(30)) == ["stale"]


@pytest.mark.parametrize("said", ["stale_fence", "late", "replayed"])
def test_a_write_under_an_old_fence_that_was_not_taken_is_right(said: str) -> None:
    assert found(claim(20, 2, "d_2"), report(30, said=said)) == []


def test_a_copy_of_a_message_that_was_taken_in_time_is_right() -> None:
    first = ack(10, **LOST)
    assert found(first, claim(20, 2, "d_2"), ack(30)) == []


def test_a_write_under_a_fence_that_its_own_report_has_moved_is_found() -> None:
    assert found(report(10), renew(20)) == ["stale"]


def test_a_start_without_an_accepted_receipt_is_found() -> None:
    assert found(seen("legs"), start(20)) == ["starts"]
    assert found(seen("legs"), ack(10, said="blocked"), start(20)) == ["starts"]
    assert found(seen("legs"), ack(10, fence=2), start(20)) == ["starts"]
    assert found(seen("legs"), ack(30), start(20)) == ["starts"]
    assert found(seen("legs"), ack(10), start(20)) == []


def test_without_all_legs_nothing_is_concluded_from_a_receipt_that_was_not_seen() -> None:
    assert found(start(20)) == []


def test_a_start_that_the_record_knows_no_receipt_of_is_found() -> None:
    event = en.Recorded(seq=1, stream="n_1", version=1, kind="node_enrolled")
    assert found(seen("record"), event, start(20)) == ["starts"]


def test_a_delivery_that_is_started_twice_is_found() -> None:
    assert found(start(10), start(20)) == ["starts"]


def test_an_execution_that_nobody_reported_and_has_a_verdict_is_found() -> None:
    whole = (seen("legs", "executions"), ack(5), start(10), SETTLED)
    for verdict in ("completed", "failed", "canceled"):
        assert "unknowns" in found(*whole, read(600, tries=[attempt(verdict=verdict, acknowledged=True)]))
    assert found(*whole, read(600, fence=1, tries=[UNKNOWN])) == []


def test_an_execution_that_was_killed_and_of_which_nothing_is_ever_said_is_found() -> None:
    whole = (seen("legs", "executions"), ack(5), start(10), SETTLED, read(600, fence=1, tries=[attempt()]))
    assert found(*whole, end(20)) == ["unknowns"]
    assert found(*whole) == [], "it may still be running"


def test_an_execution_that_the_record_has_no_report_of_is_found() -> None:
    granted: dict[str, Any] = {
        "delivery_id": "d_1",
        "recipient": WHERE,
        "fence": 1,
        "claim_id": "c",
        "incarnation": "i_1",
    }
    events = (
        recorded(1, "task_submitted", spec={}, by="ann", idempotency_key="k"),
        recorded(2, "attempt_created", number=1, spec={}),
        recorded(3, "delivery_granted", number=1, **granted),
        recorded(4, "delivery_acknowledged", delivery_id="d_1", incarnation="i_1"),
    )
    whole = (seen("record", "executions"), start(10), SETTLED, *events)
    final = read(600, fence=1, tries=[attempt(verdict="completed", acknowledged=True)])
    assert found(*whole, final) == ["unknowns"]
    back = recorded(5, "handed_back", delivery_id="d_1", fence=2)
    assert found(*whole, back) == ["unknowns"]


def test_an_execution_that_was_handed_back_as_never_started_is_found() -> None:
    whole = (seen("legs", "executions"), ack(5), start(10))
    assert found(*whole, report(20, None, "handed_back")) == ["unknowns"]


def test_an_unknown_attempt_that_nobody_was_asked_about_is_found() -> None:
    final = (SETTLED, read(600, tries=[UNKNOWN]), en.Read(**done(700), every_item=True))
    assert found(*final) == ["unknowns"]
    assert found(*final, answer(300, "investigate")) == []


def test_a_verdict_that_nobody_reported_is_found() -> None:
    legs = seen("legs")
    assert found(legs, read(20, tries=[attempt(verdict="completed")])) == ["verdicts"]
    assert found(legs, report(10, "failed", said="late"), read(20, tries=[attempt(verdict="completed")])) == [
        "verdicts"
    ]
    assert found(legs, ack(1), report(10), read(20, fence=2, tries=[attempt(verdict="completed")])) == []


def test_a_report_whose_answer_was_lost_may_be_the_verdict() -> None:
    lost = report(10, **LOST)
    assert found(seen("legs"), lost, read(20, tries=[attempt(verdict="completed")])) == []


def test_only_what_was_never_handed_over_is_withdrawn() -> None:
    legs = seen("legs")
    assert found(legs, read(20, tries=[attempt(verdict="canceled")])) == []
    assert found(legs, read(20, tries=[attempt(verdict="canceled", acknowledged=True)])) == ["verdicts"]


def test_work_that_is_given_where_an_outcome_is_unknown_is_found() -> None:
    known = read(10, tries=[UNKNOWN])
    other = {"grant": {"task_id": "t_2"}}
    assert found(known, claim(20, 1, "d_2", **other)) == ["blocks"]
    assert found(known, claim(20, 1, "d_2", **other), answer(30)) == ["blocks"]
    assert found(known, answer(14), claim(20, 1, "d_2", **other)) == []
    assert found(claim(5, 1, "d_2", **other), known) == []


def test_a_receipt_that_is_accepted_where_an_outcome_is_unknown_is_found() -> None:
    assert found(report(10, "unknown"), ack(20, 5, "d_2")) == ["blocks"]


def test_every_unknown_blocks_until_its_own_answer() -> None:
    both = read(10, tries=[UNKNOWN, attempt(2, verdict="unknown", recipient=WHERE)])
    grant = claim(30, 1, "d_2", grant={"task_id": "t_2"})
    assert found(both, answer(14), grant) == ["blocks"]
    second = answer(16, number=2, item_id="unknown:t_1/2", subject="t_1/2")
    assert found(both, answer(14), second, grant) == []


def test_two_answers_to_one_question_are_found() -> None:
    assert found(answer(10), answer(20, "retire")) == ["answers"]
    assert found(answer(10), answer(20, client="bob")) == ["answers"]
    assert found(answer(10), answer(20, "retire", reply=en.Reply.REFUSED)) == []
    assert found(answer(10), answer(20)) == [], "the same again is a repeat"
    assert found(answer(10, "investigate"), answer(20)) == []


def test_more_attempts_of_people_than_they_asked_for_are_found() -> None:
    tries = [attempt(verdict="unknown", answer="rerun"), attempt(2, made_by="ann"), attempt(3, made_by="ann")]
    whole = (seen("people"), read(40, tries=tries))
    assert found(*whole, answer(10, made=2)) == ["answers"]
    assert found(*whole, answer(10, made=2), en.Retry(**done(20), task_id="t_1", made=3)) == []
    assert found(*whole, answer(10, made=2), en.Retry(**{**done(20), **LOST}, task_id="t_1")) == []
    for reply, left in ((en.Reply.UNAVAILABLE, []), (en.Reply.REFUSED, ["answers"])):
        word = en.Retry(**{**done(20), "reply": reply}, task_id="t_1")
        assert found(*whole, answer(10, made=2), word) == left, "only a no for good comes to nothing"


def test_whatever_begins_after_an_acknowledged_cancellation_is_found() -> None:
    effect = {"delivery_id": "d_1", "task_id": "t_1", "fence": 1, "key": "pr"}
    for beginning in (
        claim(20),
        ack(20),
        en.Begin(**done(20), **effect, said="intended"),
        en.Issue(**done(20), **effect, said="issued"),
        en.Retry(**done(20), task_id="t_1", made=1),
    ):
        assert found(CANCEL, beginning) == ["cancels"]


@pytest.mark.parametrize("began", [9, 11])
def test_what_began_before_the_cancellation_was_acknowledged_is_right(began: int) -> None:
    assert found(CANCEL, claim(began, ended=40)) == []


def test_a_canceled_task_that_ends_otherwise_is_found() -> None:
    for state in ("completed", "failed"):
        assert found(CANCEL, read(20, state=state, cancel_requested=True)) == ["cancels"]
    assert found(CANCEL, read(20, state="canceled", cancel_requested=True)) == []


def test_whatever_is_taken_after_the_end_of_a_task_was_shown_is_found() -> None:
    ended = read(10, fence=0, state="failed")
    for later in (claim(20), ack(20), renew(20)):
        assert found(ended, later) == ["endings"]
    assert found(ended, report(20, said="late")) == []
    assert found(ended, claim(11)) == []


def test_the_cancellation_of_one_attempt_does_not_end_its_task() -> None:
    stop = en.Cancel(**done(10), task_id="t_1", number=1)
    assert found(stop, claim(20), read(30, fence=1, state="completed")) == []


def test_the_same_again_after_a_failure_that_does_not_pass_is_found() -> None:
    def after(failure: str, **again: object) -> list[str]:
        first = attempt(verdict="failed", failure_class=failure)
        second = attempt(2, **{"made_by": "policy:default/2", "before": "a", "after": "a", **again})
        return found(read(10, tries=[first, second]))

    assert after("validation") == ["retries"]
    assert after("authorization", changes=(("x", "x"),)) == ["retries"]
    assert after("validation", after="b") == []
    assert after("configuration", changes=(("x", "y"),)) == []
    assert after("capacity") == []
    assert after("executor_lost") == []
    assert after("validation", made_by="ann") == []


def test_an_attempt_beyond_the_budget_is_found() -> None:
    def with_budget(budget: int, failure: str = "validation", by: str = "policy:default/2") -> list[str]:
        first = attempt(verdict="failed", failure_class=failure)
        second = attempt(2, made_by=by, before="a", after="b")
        return found(read(10, tries=[first, second], budget=budget))

    assert with_budget(1) == ["budgets"]
    assert with_budget(2) == []
    assert with_budget(1, "capacity") == []
    assert with_budget(1, by="ann") == []


def test_a_process_that_is_left_is_found() -> None:
    left = en.Alive(at=900, machine="laptop", process="sleep 60", marker="marker d_1")
    assert found(start(10), left) == ["leftovers"]
    assert found(en.Alive(at=900, machine="laptop", process="the hub")) == []


def test_a_task_that_waits_in_silence_is_found_in_the_end() -> None:
    assert found(SETTLED, read(600, why="")) == ["silence"]
    assert found(SETTLED, read(600, why="", state="completed")) == []
    assert found(SETTLED, read(600, why="dependency")) == []
    assert found(SETTLED, read(400, why="")) == [], "before the end it may be under way"
