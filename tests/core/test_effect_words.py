"""What an Effect's row says of itself, and when a lookup that finds nothing proves something."""

from __future__ import annotations

import itertools

import pytest
from msgspec.structs import replace

from tenure.core.delivery import Now, term_from
from tenure.core.effect import EffectState
from tenure.core.effect_proof import proves_in_ms
from tests.core.lab import CALL_S, SETTLING_S, Lab


@pytest.mark.parametrize("state", EffectState)
def test_a_state_says_what_may_happen_next(lab: Lab, state: EffectState) -> None:
    _, _, effect_id = lab.issued()
    for quarantined, finds in itertools.product((False, True), repeat=2):
        effect = replace(lab.effect(effect_id), state=state, quarantined=quarantined, finds=finds)
        assert effect.has_ended is (state in (EffectState.CONFIRMED, EffectState.ABSENT))
        assert effect.is_done is (state is EffectState.CONFIRMED)
        assert effect.is_under_way is (state is EffectState.ISSUED)
        assert effect.is_to_be_called is (state is EffectState.INTENDED and not quarantined)
        assert effect.is_asked_for is (state is EffectState.IN_DOUBT and finds and not quarantined)


def test_a_lookup_proves_something_once_the_call_is_over_and_settled_and_then_after_a_gap(lab: Lab) -> None:
    _, _, effect_id = lab.doubted()
    effect = lab.effect(effect_id)
    assert proves_in_ms(effect, lab.now) == (CALL_S + SETTLING_S) * 1000
    lab.pass_s(CALL_S + SETTLING_S)
    assert proves_in_ms(effect, lab.now) == 0
    asked = replace(effect, not_found_term=term_from(lab.now, 7))
    assert proves_in_ms(asked, lab.now) == 7
    assert proves_in_ms(replace(effect, call_term=None), Now(0, 0, lab.now.hub)) == 0
