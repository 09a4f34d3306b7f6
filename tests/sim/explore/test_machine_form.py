"""The form of a machine forgets nothing that can matter: with it and without it the same can happen next, and is judged alike."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tenure.sim.explore import product
from tenure.sim.explore.bounds import Bound
from tenure.sim.explore.explore import every_step
from tenure.sim.explore.facts import Marks
from tenure.sim.explore.machine import HubWord, Machine
from tenure.sim.explore.machine_form import form_of
from tenure.sim.explore.product import Product
from tenure.sim.explore.reading import NodeReading
from tenure.sim.explore.step import State

COMPLETED = ("completed",)
BOUNDS = {
    "a cancel, a crash": Bound(grants=1, cancel=True, daemon_crashes=1, verdicts=COMPLETED),
    "renewals": Bound(grants=1, cancel=True, renewals=1, daemon_crashes=1, verdicts=COMPLETED),
    "a copied disk": Bound(grants=1, clones=1, verdicts=COMPLETED),
    "an effect": Bound(grants=1, effect=True, hub_restarts=1, verdicts=COMPLETED),
    "a lost disk": Bound(grants=1, disks_lost=1, snapshots=1, verdicts=("completed", "unknown_left")),
    "two nodes": Bound(nodes=2, verdicts=COMPLETED),
    "a suspend, a stop": Bound(grants=1, suspends=1, renewals=1, refusals=True, stop=True),
}
MOST = 1_500
"""States of each, the first ones breadth first."""


class Unformed:
    """States as they come, without their forms, and what can follow each: forms that are reached by any number of steps that
    leave the form as it is, and one that does not."""

    def __init__(self, bound: Bound) -> None:
        self.product = Product(bound, NodeReading())
        self._steps: dict[State, list[State]] = {}

    def steps(self, state: State) -> list[State]:
        found = self._steps.get(state)
        if found is None:
            found = self._steps[state] = [one.state for one in every_step(self.product, state)]
        return found

    def follow(self, state: State) -> set[State]:
        form, same, found = self.product.form(state), [state], set[State]()
        for one in same:
            for after in self.steps(one):
                if self.product.form(after) != form:
                    found.add(self.product.form(after))
                elif after not in same:
                    same.append(after)
        return found

    def first(self, most: int) -> list[State]:
        states = {self.product.first(): None}
        for place in range(most):
            if place == len(states):
                break
            states.update(dict.fromkeys(self.steps(list(states)[place])))
            if len(states) >= most:
                break
        return list(states)


def differences(bound: Bound) -> list[State]:
    unformed = Unformed(bound)
    checks, form = unformed.product.checks, unformed.product.form
    return [
        state
        for state in unformed.first(MOST)
        if form(state) != state
        and (
            unformed.follow(state) != unformed.follow(form(state))
            or checks.of_state(state) != checks.of_state(form(state))
        )
    ]


@pytest.mark.parametrize("name", BOUNDS)
def test_a_state_and_its_form_are_followed_by_the_same_and_judged_alike(name: str) -> None:
    assert differences(BOUNDS[name]) == []


def test_a_form_that_forgets_what_was_told_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrongly(machine: Machine, marks: Marks, bound: Bound) -> Machine:
        found = form_of(machine, marks, bound)
        return replace(found, held=tuple(replace(one, told=HubWord.NOTHING) for one in found.held))

    monkeypatch.setattr(product, "form_of", wrongly)
    assert differences(BOUNDS["a cancel, a crash"])
