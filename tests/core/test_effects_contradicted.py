"""Words about an Effect that come again, too late, or against each other: what changes, and whom it is asked."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tenure.core import effect_commands as ec
from tenure.core import effect_events as ev
from tenure.core.commands import Done, Refusal
from tenure.core.draft import Draft
from tenure.core.effect import EffectState
from tenure.core.effect_commands import CallEnd
from tenure.core.effect_settle import decide_look_up, decide_resolve
from tenure.core.ids import EffectId
from tenure.core.limits import EFFECT_RESULT_BYTES
from tests.core.lab import CALL_S, SETTLING_S, Lab


def count(lab: Lab, kind: Any) -> int:
    return len([one for one in lab.events if isinstance(one, kind)])


def resolved(lab: Lab, effect_id: EffectId, confirmed: bool) -> Any:
    """What a person's word would do. For worlds that are made by hand."""
    draft = Draft(lab.world, lab.now, lab.terms)
    return decide_resolve(
        draft, ec.ResolveEffect(effect_id, confirmed, item_version=1, by="ann", because="I looked")
    )


@pytest.mark.parametrize("end", [CallEnd.ABSENT, CallEnd.LOST])
def test_another_call_that_did_nothing_contradicts_nobody(lab: Lab, end: CallEnd) -> None:
    _, _, effect_id = lab.issued()
    lab.settle(effect_id)
    assert lab.settle(effect_id, end, call_id="call0").state == "confirmed"
    assert lab.open_items() == []


@pytest.mark.parametrize(("size", "kept"), [(EFFECT_RESULT_BYTES, True), (EFFECT_RESULT_BYTES + 1, False)])
def test_a_result_is_kept_up_to_its_bound(lab: Lab, size: int, kept: bool) -> None:
    _, _, effect_id = lab.issued()
    result = '"' + "x" * (size - 2) + '"'
    lab.settle(effect_id, result=result)
    assert (lab.effect(effect_id).result == result) is kept
    assert lab.effect(effect_id).state is EffectState.CONFIRMED


def test_what_is_contradicted_twice_is_quarantined_once(lab: Lab) -> None:
    _, _, effect_id = lab.issued()
    lab.settle(effect_id, CallEnd.ABSENT, code="busy")
    for _ in range(2):
        lab.settle(effect_id)
    assert count(lab, ev.EffectQuarantined) == 1
    assert lab.open_items() == ["effect_quarantined"]


def test_what_is_in_doubt_already_is_not_doubted_anew_when_its_lease_ends(lab: Lab) -> None:
    _, delivery, effect_id = lab.doubted()
    doubts = count(lab, ev.EffectDoubted)
    lab.lose(delivery)
    assert count(lab, ev.EffectDoubted) == doubts
    assert lab.effect(effect_id).state is EffectState.IN_DOUBT


def test_what_a_person_is_asked_about_is_not_settled_by_a_look_before_its_call(lab: Lab) -> None:
    _, delivery = lab.performing()
    effect_id = lab.begin(delivery).effect_id
    lab.world.put(replace(lab.effect(effect_id), quarantined=True))
    draft = Draft(lab.world, lab.now, lab.terms)
    decide_look_up(draft, ec.LookUpEffect(effect_id, lab.now, result='{"number":7}'))
    assert draft.events == []


@pytest.mark.parametrize(("confirmed", "code"), [(True, None), (False, "not_done")])
def test_a_persons_word_settles_what_is_in_doubt_and_may_come_again(
    lab: Lab, confirmed: bool, code: str | None
) -> None:
    _, _, effect_id = lab.doubted()
    lab.doubt(effect_id)
    lab.look_up(effect_id, unreachable="no answer")
    lab.pass_s(CALL_S + SETTLING_S)
    assert lab.resolve(effect_id, confirmed) == Done()
    assert lab.effect(effect_id).code == code
    assert lab.resolve(effect_id, confirmed) == Done(replayed=True)
    # Whatever is known by now: this very word was given.
    other = EffectState.ABSENT if confirmed else EffectState.CONFIRMED
    lab.world.put(replace(lab.effect(effect_id), state=other))
    assert resolved(lab, effect_id, confirmed) == Done(replayed=True)


def test_what_nobody_is_asked_about_is_agreed_with_or_not_offered(lab: Lab) -> None:
    _, _, effect_id = lab.issued()
    lab.settle(effect_id)
    assert resolved(lab, effect_id, True) == Done(replayed=True)
    assert isinstance(resolved(lab, effect_id, False), Refusal)
    lab.world.put(replace(lab.effect(effect_id), quarantined=True))
    assert isinstance(resolved(lab, effect_id, True), Refusal)


def test_what_is_known_to_have_landed_or_not_needs_no_waiting_for_its_call(lab: Lab) -> None:
    _, _, effect_id = lab.issued()
    lab.settle(effect_id, CallEnd.ABSENT, code="busy")
    lab.settle(effect_id)
    assert lab.effect(effect_id).quarantined
    assert lab.open_items() == ["effect_quarantined"]
    assert lab.resolve(effect_id, False) == Done()
