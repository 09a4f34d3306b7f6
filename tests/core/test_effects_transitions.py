"""The life cycle of an Effect: what the table does not have cannot happen, whatever the events say (`frozen`)."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from tenure.core import effect_events as ev
from tenure.core.draft import Draft
from tenure.core.effect import EFFECT_TRANSITIONS, Effect, EffectState
from tenure.core.effect_commands import CallEnd
from tenure.core.ids import EffectId, IncarnationId
from tenure.core.life_cycle import to_effect
from tenure.core.scope import EffectKind, Scope
from tenure.errors import InvariantError
from tests.core.lab import SCOPE, Lab

PAIRS = list(itertools.product(EffectState, EffectState))
ASKING = Scope(
    kinds=SCOPE.kinds, targets=SCOPE.targets, branches=SCOPE.branches, approval=(EffectKind.PULL_REQUEST,)
)


def effect_in(lab: Lab, state: EffectState) -> Effect:
    """An Effect that came to this state by commands."""
    _, delivery = lab.performing(scope=ASKING if state is EffectState.AWAITING_APPROVAL else SCOPE)
    effect_id: EffectId = lab.begin(delivery).effect_id
    if state not in (EffectState.AWAITING_APPROVAL, EffectState.INTENDED):
        lab.issue(effect_id)
    ends = {
        EffectState.CONFIRMED: CallEnd.CONFIRMED,
        EffectState.ABSENT: CallEnd.ABSENT,
        EffectState.IN_DOUBT: CallEnd.LOST,
    }
    if state in ends:
        lab.settle(effect_id, ends[state])
    effect = lab.effect(effect_id)
    assert effect.state is state
    return effect


@pytest.mark.parametrize(("before", "after"), PAIRS)
def test_an_effect_goes_only_where_its_life_cycle_leads(
    lab: Lab, before: EffectState, after: EffectState
) -> None:
    effect = effect_in(lab, before)
    if after in EFFECT_TRANSITIONS[before]:
        assert to_effect(effect, after).state is after
    else:
        with pytest.raises(InvariantError, match="cannot go from"):
            to_effect(effect, after)


def event(effect: Effect, name: str) -> Any:
    about: dict[str, Any] = {"task_id": effect.task_id, "effect_id": effect.effect_id}
    if name in ("intended", "awaiting_approval"):
        same = {
            one: getattr(effect, one)
            for one in (
                "number", "delivery_id", "fence", "kind", "target", "idempotency_key", "subject", "params",
                "params_digest", "identity",
            )
        }  # fmt: skip
        return ev.EffectBegun(**about, **same, approval=name == "awaiting_approval")
    if name == "issued":
        return ev.EffectIssued(**about, call_id="c", caller=IncarnationId("i_x"), within_ms=1)
    if name == "in_doubt":
        return ev.EffectDoubted(**about, reason="x")
    return ev.EffectSettled(**about, state=EffectState(name))


BY_EVENT = {
    EffectState.AWAITING_APPROVAL: {"absent"},
    EffectState.INTENDED: {"issued", "absent", "confirmed"},
    EffectState.ISSUED: {"confirmed", "absent", "in_doubt"},
    EffectState.IN_DOUBT: {"confirmed", "absent"},
    EffectState.ABSENT: {"intended", "awaiting_approval"},
    EffectState.CONFIRMED: set[str](),
}
"""Without a person's word: from absent, and before it was allowed, nothing is confirmed."""


@pytest.mark.parametrize(("before", "after"), PAIRS)
def test_an_event_that_cannot_follow_is_refused(lab: Lab, before: EffectState, after: EffectState) -> None:
    effect = effect_in(lab, before)
    draft = Draft(lab.world, lab.now, lab.terms)
    if after in BY_EVENT[before]:
        draft.emit(event(effect, after))
        assert draft.get(Effect, effect.effect_id).state is after
    else:
        with pytest.raises(InvariantError):
            draft.emit(event(effect, after))


@pytest.mark.parametrize("state", EffectState)
def test_only_what_waits_for_a_word_is_approved_and_only_what_is_in_doubt_is_looked_up(
    lab: Lab, state: EffectState
) -> None:
    effect = effect_in(lab, state)
    draft = Draft(lab.world, lab.now, lab.terms)
    about: dict[str, Any] = {"task_id": effect.task_id, "effect_id": effect.effect_id}
    for wanted, one in (
        (EffectState.AWAITING_APPROVAL, ev.EffectApproved(**about, by="ann", because="x")),
        (EffectState.IN_DOUBT, ev.EffectLookedUp(**about, again_after_ms=1)),
    ):
        if state is wanted:
            draft.emit(one)
        else:
            with pytest.raises(InvariantError):
                draft.emit(one)


@pytest.mark.parametrize("state", [EffectState.ABSENT, EffectState.INTENDED])
def test_an_effect_in_quarantine_is_neither_intended_nor_issued(lab: Lab, state: EffectState) -> None:
    effect = effect_in(lab, state)
    draft = Draft(lab.world, lab.now, lab.terms)
    draft.emit(ev.EffectQuarantined(task_id=effect.task_id, effect_id=effect.effect_id, reason="x"))
    with pytest.raises(InvariantError, match="quarantine"):
        draft.emit(event(effect, "issued" if state is EffectState.INTENDED else "intended"))


def test_an_effect_begun_under_another_key_is_another_effect(lab: Lab) -> None:
    effect = effect_in(lab, EffectState.ABSENT)
    begun = event(effect, "intended")
    other = type(begun)(
        **{name: getattr(begun, name) for name in begun.__struct_fields__} | {"idempotency_key": "x"}
    )
    with pytest.raises(InvariantError, match="another one"):
        Draft(lab.world, lab.now, lab.terms).emit(other)


def test_every_state_has_its_steps_and_only_confirmed_has_none() -> None:
    assert set(EFFECT_TRANSITIONS) == set(EffectState)
    assert [state for state, after in EFFECT_TRANSITIONS.items() if not after] == [EffectState.CONFIRMED]
