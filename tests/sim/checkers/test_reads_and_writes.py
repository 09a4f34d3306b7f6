"""The checkers of reads, writes and keys find what is wrong, and leave alone what is only concurrent or uncertain."""

from __future__ import annotations

import pytest

from tenure.sim.checkers import entry as en
from tenure.sim.checkers.view import EffectView, ItemView
from tests.sim.checkers.scenes import (
    ack,
    answer,
    attempt,
    done,
    found,
    read,
    report,
    seen,
    submit,
    task,
)

CANCEL = en.Cancel(**done(10), task_id="t_1")
ITEM = ItemView(item_id="unknown:t_1/1", kind="unknown", subject="t_1/1", version=1, open=True)


def items(at: int, *shown: ItemView) -> en.Read:
    return en.Read(**done(at), items=shown)


def effects(at: int, state: str) -> en.Read:
    return en.Read(
        **done(at),
        effects=(EffectView(effect_id="e_1", task_id="t_1", number=1, key="pr", state=state),),
    )


@pytest.mark.parametrize(
    ("write", "shown"),
    [
        (submit(10), en.Read(**done(20), missing=("t_1",))),
        (submit(10), en.Read(**done(20), every_task=True)),
        (submit(10), en.Read(**done(20), every_task=True, tasks=(task(task_id="t_2"),))),
        (CANCEL, read(20)),
        (ack(10, fence=3), read(20, fence=2)),
        (report(10, fence=3), read(20, fence=3, tries=[attempt(verdict="completed")])),
        (report(10), read(20, fence=2, tries=[attempt(verdict=None)])),
        (report(10, "failed"), read(20, fence=2, tries=[attempt(verdict="unknown")])),
        (answer(10, made=2), read(20)),
        (answer(10), read(20, attempts=2, tries=[attempt(verdict="unknown")])),
        (answer(10), items(20, ITEM)),
        (en.Retry(**done(10), task_id="t_1", made=2), read(20, attempts=1)),
    ],
)
def test_a_read_that_shows_a_state_from_before_an_acknowledged_write_is_found(
    write: en.Entry, shown: en.Entry
) -> None:
    assert found(write, shown) == ["acknowledged"]


@pytest.mark.parametrize("began", [10, 11])
def test_a_read_that_began_before_the_acknowledgement_may_show_either(began: int) -> None:
    assert found(submit(10), en.Read(**done(began, 40), missing=("t_1",))) == []


@pytest.mark.parametrize(
    "reply", [en.Reply.NONE, en.Reply.OUTCOME_UNKNOWN, en.Reply.UNAVAILABLE, en.Reply.REFUSED]
)
def test_a_write_that_was_not_acknowledged_may_be_missing(reply: en.Reply) -> None:
    lost = en.Submit(**{**done(10), "reply": reply}, key="k", digest="spec", task_id="t_1")
    assert found(lost, en.Read(**done(20), missing=("t_1",))) == []


def test_what_an_acknowledged_write_left_is_no_finding() -> None:
    assert (
        found(
            submit(1),
            ack(3, fence=3),
            report(10, fence=3),
            read(20, state="completed", fence=4, tries=[attempt(verdict="completed")]),
        )
        == []
    )


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        (read(10, fence=4), read(20, fence=3)),
        (read(10, attempts=2), read(20, attempts=1)),
        (read(10, version=7), read(20, version=6)),
        (read(10, state="completed"), read(20, state="working")),
        (read(10, state="canceled", cancel_requested=True), read(20, state="failed", cancel_requested=True)),
        (read(10, cancel_requested=True), read(20)),
        (read(10, tries=[attempt(verdict="unknown")]), read(20, tries=[attempt(verdict="completed")])),
        (
            read(10, tries=[attempt(verdict="unknown", answer="rerun")]),
            read(20, tries=[attempt(verdict="unknown", answer="retire")]),
        ),
        (effects(10, "confirmed"), effects(20, "absent")),
    ],
)
def test_what_was_shown_and_is_taken_back_is_found(earlier: en.Entry, later: en.Entry) -> None:
    assert found(earlier, later) == ["monotonic"]
    assert found(later, earlier) == ["monotonic"], "the instants count, not the order of writing them down"


def test_a_question_that_is_open_again_unchanged_is_found_and_one_with_new_facts_is_not() -> None:
    closed = ItemView(item_id="stalled:t_1/1", kind="stalled", subject="t_1/1", version=2, open=False)
    again = ItemView(item_id="stalled:t_1/1", kind="stalled", subject="t_1/1", version=2, open=True)
    newer = ItemView(item_id="stalled:t_1/1", kind="stalled", subject="t_1/1", version=3, open=True)
    assert found(items(10, closed), items(20, again)) == ["monotonic"]
    assert found(items(10, newer), items(20, closed)) == ["monotonic"]
    assert found(items(10, closed), items(20, newer)) == []


def test_reads_at_the_same_time_may_show_different_states() -> None:
    assert found(read(10, 30, fence=4), read(20, 40, fence=3)) == []


def test_one_key_with_two_results_is_found() -> None:
    assert found(submit(10, "t_1"), submit(20, "t_2")) == ["idempotent"]
    assert found(submit(10), submit(20, digest="other")) == ["idempotent"]
    assert found(submit(10, key="k"), submit(20, key="l")) == ["idempotent"]
    assert found(submit(10), submit(20)) == []


def test_the_same_key_of_another_person_is_another_key() -> None:
    other = en.Submit(**done(20, client="bob"), key="k", digest="other", task_id="t_2")
    assert found(submit(10), other) == []


def test_two_different_reports_of_one_delivery_are_not_both_recorded() -> None:
    assert found(report(10, digest="a"), report(10, digest="b")) == ["idempotent"]
    assert found(report(10, digest="a"), report(10, digest="b", said="late")) == []


def test_an_effect_under_one_key_is_one_effect() -> None:
    call = {"delivery_id": "d_1", "task_id": "t_1", "fence": 1, "key": "pr", "said": "intended"}
    begun = en.Begin(**done(10), **call, effect_id="e_1")
    assert found(begun, en.Begin(**done(20), **call, effect_id="e_2")) == ["idempotent"]
    assert found(begun, en.Begin(**done(20), **call, effect_id="e_1", replayed=True)) == []


def test_what_was_acknowledged_and_is_not_in_the_record_is_found() -> None:
    event = en.Recorded(seq=1, stream="n_1", version=1, kind="node_enrolled")
    for write in (submit(10), CANCEL, ack(10), report(10), answer(10)):
        assert found(seen("record"), event, write) == ["kept"]
        assert found(event, write) == [], "a part of a record proves nothing"
