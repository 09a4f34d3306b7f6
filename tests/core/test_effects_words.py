"""What machines and people say of an Effect, where it disagrees or comes at the wrong moment."""

from __future__ import annotations

import pytest

from tenure.core import commands as cm
from tenure.core import effect_commands as ec
from tenure.core.effect import EffectState
from tenure.core.effect_commands import CallEnd
from tenure.core.scope import EffectKind, Scope
from tests.core.lab import Lab


@pytest.fixture
def lab() -> Lab:
    return Lab()


def test_a_contradiction_before_a_call_is_quarantined_and_nobody_calls(lab: Lab) -> None:
    _, delivery = lab.performing()
    effect_id = lab.begin(delivery).effect_id
    lab.run(ec.LookUpEffect(effect_id, lab.now, contradiction="two of them"))
    assert lab.effect(effect_id).quarantined
    assert lab.issue(effect_id).problem == "quarantined"


def test_who_asked_before_is_never_told_that_nothing_was_done(lab: Lab) -> None:
    _, delivery = lab.performing()
    effect_id = lab.begin(delivery).effect_id
    lab.issue(effect_id)
    lab.lose(delivery)
    told = lab.begin(delivery)
    assert told.code == "stale_fence"
    assert "Nothing was done" not in told.message
    assert (told.facts["effect_id"], told.facts["state"]) == (effect_id, "in_doubt")


def test_a_hand_back_is_refused_once_the_delivery_began_an_effect(lab: Lab) -> None:
    task_id, delivery = lab.performing()
    effect_id = lab.begin(delivery).effect_id
    lab.issue(effect_id)
    lab.settle(effect_id)
    back = cm.HandBack(lab.proof(delivery), "nothing was started")
    assert lab.run(back).answer == "stale_fence"
    assert lab.task(task_id).lease == delivery.delivery_id


def test_a_rejection_is_no_word_about_the_provider_and_leaves_a_quarantine(lab: Lab) -> None:
    scope = Scope(
        kinds=(EffectKind.PULL_REQUEST,), targets=("*",), branches=("*",), approval=(EffectKind.PULL_REQUEST,)
    )
    task_id, delivery = lab.performing(scope=scope)
    effect_id = lab.begin(delivery).effect_id
    lab.approve(task_id, effect_id)
    lab.issue(effect_id, "first")
    lab.settle(effect_id, CallEnd.ABSENT, call_id="first")
    lab.begin(delivery)
    lab.settle(effect_id, CallEnd.CONFIRMED, call_id="first")
    assert lab.effect(effect_id).quarantined
    lab.approve(task_id, effect_id, approve=False)
    assert (lab.effect(effect_id).state, lab.effect(effect_id).quarantined) == (EffectState.ABSENT, True)
