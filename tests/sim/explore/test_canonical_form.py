"""The canonical form forgets nothing that the core asks for: a record and its canonical form answer alike, whatever is said."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tenure.core.delivery import Delivery
from tenure.core.effect import Effect
from tenure.core.task import Task
from tenure.sim.explore import canonical_form
from tenure.sim.explore.bounds import Bound
from tests.sim.explore.walking import Walk

ANSWERS = ("rerun", "retire", "accept", "investigate")
BOUNDS = {
    "one task": Bound(nodes=2, grants=4, attempts=3, renewals=2, cancel=True, stop=True, answers=ANSWERS, decide=True),
    "two tasks": Bound(shape="two", nodes=1, capacity=2, grants=4, cancel=True, answers=ANSWERS, snapshots=1),
    "after": Bound(shape="after", grants=4, cancel=True, cancel_tree=True, decide=True),
    "key": Bound(shape="keyed", grants=4, capacity=2, answers=ANSWERS),
    "effect": Bound(grants=4, effect=True, calls=2, verdicts=("completed",)),
    "effect approval": Bound(shape="effect_approved", effect=True, approve=True, cancel=True),
    "approval": Bound(shape="approved", approve=True, cancel=True, stop=True),
    "capacity": Bound(grants=4, attempts=3, verdicts=("capacity", "completed")),
    "budget": Bound(grants=4, attempts=3, budget=1, decide=True, verdicts=("failed", "validation", "asked")),
}  # fmt: skip
WALKS, STEPS = 20, 60


@pytest.mark.parametrize("name", BOUNDS)
def test_a_record_and_its_canonical_form_answer_alike(name: str) -> None:
    walked(name)


def walked(name: str, walks: int = WALKS) -> None:
    for seed in range(walks):
        walk = Walk(BOUNDS[name], seed)
        for _ in range(STEPS):
            walk.step()


def _without_grace(form: Any) -> Any:
    return lambda one, sight: replace(form(one, sight), cancel_term=None)


def _always_ready(form: Any) -> Any:
    return lambda one, sight: replace(
        form(one, sight), ready_at_ms=canonical_form.W, order_ms=canonical_form.W
    )


def _without_fence(form: Any) -> Any:
    return lambda one, sight: replace(form(one, sight), fence=0)


def _always_over(form: Any) -> Any:
    return lambda one, sight: replace(form(one, sight), call_term=canonical_form.LONG_OVER)


@pytest.mark.parametrize(
    ("kind", "wrongly", "name"),
    [
        (Delivery, _without_grace, "one task"),
        (Delivery, _without_fence, "one task"),
        (Task, _always_ready, "capacity"),
        (Effect, _always_over, "effect"),
    ],
)
def test_a_field_that_is_forgotten_wrongly_is_noticed(
    monkeypatch: pytest.MonkeyPatch, kind: Any, wrongly: Any, name: str
) -> None:
    forms = canonical_form._FORMS
    monkeypatch.setitem(forms, kind, wrongly(forms[kind]))
    with pytest.raises((AssertionError, KeyError)):
        walked(name, 10 * WALKS)
