"""The checkers of Effects and of the record find what is wrong and nothing else."""

from __future__ import annotations

from hashlib import sha256
from random import Random
from typing import Any

import pytest

from tenure.sim.checkers import entry as en
from tenure.sim.checkers.checking import check
from tenure.sim.checkers.history import History
from tenure.sim.checkers.view import EffectView
from tenure.sim.checkers.words import GENESIS
from tests.sim.checkers.right_world import RightWorld
from tests.sim.checkers.scenes import WHERE, ack, answer, claim, done, found, held, read, recorded, seen

APPLIED = en.Applied(at=30, provider="forge", key="pr", caller="hub")
BEGIN = en.Begin(**done(10), **held(), key="pr", effect_id="e_1", said="intended")
ISSUE = en.Issue(**done(20), **held(), key="pr", said="issued")
SETTLED = en.Settled(at=500)


def shown(state: str, at: int = 600, **more: Any) -> en.Read:
    view = EffectView(effect_id="e_1", task_id="t_1", number=1, key="pr", state=state, **more)
    return en.Read(**done(at), effects=(view,))


def test_a_key_that_a_provider_was_given_twice_is_found() -> None:
    again = en.Applied(at=40, provider="forge", key="pr", caller="hub")
    other = en.Applied(at=40, provider="mirror", key="pr", caller="hub")
    assert found(APPLIED, again) == ["effects_once"]
    assert found(APPLIED, other) == []


def test_a_confirmed_effect_that_never_happened_is_found() -> None:
    assert found(seen("provider"), shown("confirmed")) == ["effects_once"]
    assert found(seen("provider"), APPLIED, shown("confirmed")) == []
    assert found(shown("confirmed")) == [], "a provider that was not watched proves nothing"


def test_what_was_found_at_the_provider_under_another_key_may_be_confirmed() -> None:
    twin = en.Applied(at=30, provider="forge", key="other", identity="main<-fix", caller="ann")
    assert found(seen("provider"), twin, shown("confirmed", identity="main<-fix")) == []


def test_an_absent_effect_that_happened_is_found() -> None:
    assert found(seen("provider"), SETTLED, APPLIED, shown("absent")) == ["effects_once"]
    assert found(seen("provider"), SETTLED, shown("absent")) == []


@pytest.mark.parametrize("state", ["confirmed", "absent"])
def test_what_a_person_said_of_an_effect_is_their_word(state: str) -> None:
    applied = (APPLIED,) if state == "absent" else ()
    word = answer(50, state, item_id="effect_in_doubt:t_1/e_1", subject="e_1", number=None)
    assert found(seen("provider"), SETTLED, *applied, word, shown(state)) == []
    assert found(seen("provider"), SETTLED, *applied, shown(state, by="ann")) == []


def test_a_call_that_nobody_asked_for_is_found() -> None:
    assert found(seen("legs"), APPLIED) == ["intents"]
    assert found(seen("legs"), ack(1), en.Begin(**done(40), **held(), key="pr"), APPLIED) == ["intents"]
    refused = {**done(10), "reply": en.Reply.REFUSED}
    assert found(seen("legs"), en.Begin(**refused, **held(), key="pr"), APPLIED) == ["intents"]
    assert found(seen("legs"), ack(1), BEGIN, APPLIED) == []


def test_a_request_that_was_not_possible_then_may_come_once_more_and_be_done() -> None:
    away = {**done(10), "reply": en.Reply.UNAVAILABLE}
    assert found(seen("legs"), ack(1), en.Begin(**away, **held(), key="pr"), APPLIED) == []


def test_a_call_without_its_second_commit_is_found() -> None:
    assert found(seen("issues"), BEGIN, APPLIED) == ["intents"]
    assert found(seen("issues"), BEGIN, ISSUE, APPLIED) == []


def test_a_call_that_the_record_does_not_have_is_found() -> None:
    assert found(seen("record"), recorded(1, "task_released"), APPLIED) == ["intents"]


def test_what_follows_an_open_effect_is_found() -> None:
    settle = en.Settle(**done(50), key="pr", effect_id="e_1", said="confirmed")
    whole = (seen("issues"), BEGIN, ISSUE, settle)
    assert found(*whole, claim(30, 2, "d_2", grant={"number": 2})) == ["reconciled"]
    assert found(*whole, read(30, state="completed")) == ["reconciled"]
    assert found(*whole, claim(60, 2, "d_2", grant={"number": 2}), read(70, fence=2, state="completed")) == []
    assert found(*whole, claim(5, 1, ended=31)) == [], "its own grant, heard of late"


def test_an_effect_that_is_settled_and_begun_again_is_open_again() -> None:
    absent = en.Settle(**done(30), key="pr", effect_id="e_1", said="absent")
    again = en.Begin(**done(40), **held(2, "d_2"), key="pr", effect_id="e_1", said="intended")
    third = claim(50, 3, "d_3", grant={"number": 3})
    assert found(seen("issues"), BEGIN, absent, again, third) == ["reconciled"]


# The record


def link(before: str, seq: int, version: int, stream: str = "t_1") -> en.Recorded:
    covers = f'{{"event":"task_released","n":{seq}}}'
    text = f"{before}\n{stream}\n{version}\n7\n{covers}"
    return recorded(
        seq,
        "task_released",
        version,
        stream,
        hash=sha256(text.encode()).hexdigest(),
        covers=covers,
        at_ms=7,
    )


def test_a_broken_link_is_found_where_it_is() -> None:
    one = link(GENESIS, 1, 1)
    two = link(one.hash, 2, 2)
    assert found(seen("record"), one, two) == []
    assert found(seen("record"), one, link("0" * 64, 2, 2)) == ["sequence"]
    assert found(seen("record"), link("1" * 64, 1, 1)) == ["sequence"]


def test_a_gap_and_a_double_are_found() -> None:
    whole = seen("record")
    assert found(whole, recorded(1, "a"), recorded(3, "b", 2)) == ["sequence"]
    assert found(whole, recorded(2, "a", 1)) == ["sequence"]
    assert found(whole, recorded(1, "a"), recorded(2, "b", 3)) == ["sequence"]
    assert found(whole, recorded(1, "a"), recorded(1, "b")) == ["sequence"]
    assert found(whole, recorded(1, "a"), recorded(1, "a"), recorded(2, "b", 1, "t_2")) == []


def test_the_beginning_of_a_part_of_a_record_is_not_held_against_it() -> None:
    assert found(recorded(7, "a", 4), recorded(8, "b", 5)) == []


def test_every_rule_is_asked_of_the_record_too() -> None:
    """One grant of a right record is told to have had the first fence: the rules about fences see it in the record alone."""
    right = [one for one in RightWorld(Random(11)).run(600).entries if isinstance(one, en.Recorded)]
    assert check(History([seen("record"), *right])) == []
    later = next(one for one in right if one.kind == "delivery_granted" and one.body["fence"] > 2)
    wrong = [changed(one, fence=1) if one is later else one for one in right]
    assert {one.checker for one in check(History([seen("record"), *wrong]))} >= {"record: fences"}


def test_a_record_in_which_a_canceled_task_goes_on_is_found() -> None:
    right = [one for one in RightWorld(Random(11)).run(600).entries if isinstance(one, en.Recorded)]
    granted = next(one for one in right if one.kind == "delivery_granted" and one.seq > 50)
    cancel = changed(granted, step="requested", by="ann")
    early = en.Recorded(seq=0, stream=granted.stream, version=0, kind="cancel_advanced", body=cancel.body)
    submitted = next(one for one in right if one.stream == granted.stream)
    canceled = [*right[: right.index(submitted) + 1], early, *right[right.index(submitted) + 1 :]]
    numbered = [renumbered(one, number) for number, one in enumerate(canceled, 1)]
    assert "record: cancels" in {one.checker for one in check(History([seen("record"), *numbered]))}


def changed(event: en.Recorded, **body: Any) -> en.Recorded:
    return en.Recorded(
        seq=event.seq,
        stream=event.stream,
        version=event.version,
        kind=event.kind,
        body={**event.body, **body},
    )


def renumbered(event: en.Recorded, seq: int) -> en.Recorded:
    return en.Recorded(seq=seq, stream=event.stream, version=seq, kind=event.kind, body=event.body)


def test_what_was_seen_outside_is_held_against_the_record_where_nobody_read_anything() -> None:
    granted: dict[str, Any] = {
        "delivery_id": "d_1",
        "recipient": WHERE,
        "fence": 1,
        "claim_id": "c",
        "incarnation": "i_1",
    }
    begun: dict[str, Any] = {"effect_id": "e_1", "idempotency_key": "pr", "identity": "", "target": "forge"}
    events = (
        recorded(1, "task_submitted", spec={}, by="ann", idempotency_key="k"),
        recorded(2, "attempt_created", number=1, spec={}),
        recorded(3, "delivery_granted", number=1, **granted),
        recorded(4, "delivery_acknowledged", delivery_id="d_1", incarnation="i_1"),
        recorded(5, "effect_begun", number=1, delivery_id="d_1", fence=1, **begun),
        recorded(6, "effect_issued", effect_id="e_1", caller="hub"),
        recorded(7, "effect_settled", effect_id="e_1", state="confirmed"),
    )
    whole = (seen("record", "provider"), SETTLED, *events)
    assert found(*whole) == ["effects_once"]
    assert found(*whole, APPLIED) == []
    assert found(*whole[:1], *events) == [], "without an end nothing is final"


def test_an_event_that_speaks_of_what_there_is_not_is_found() -> None:
    lost = recorded(1, "lease_revoked", delivery_id="d_9", number=1, fence=2)
    assert found(seen("record"), lost) == ["agreeing"]


def test_a_read_that_the_record_does_not_bear_out_is_found() -> None:
    world = RightWorld(Random(11))
    entries = world.run(300).entries
    ended = next(one for one in world.works.values() if one.state == "completed")
    wrong = read(world.at + 500, task_id=ended.task_id, state="failed", fence=ended.fence, attempts=9)
    other = read(world.at + 500, task_id="t_nowhere")
    assert "agreeing" in {one.checker for one in check(History([*entries, wrong]))}
    assert "agreeing" in {one.checker for one in check(History([*entries, other]))}
