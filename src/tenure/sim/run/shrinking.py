"""Making a failing plan small: faults and deeds are left out as long as it fails in the same way.

The same way means: the same rule, told by the same checker. Halves are tried first, then quarters, down to single ones
(delta debugging). Each try is a whole play of the plan, so their number is bounded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from msgspec.structs import replace

from tenure.sim.run.plan import Plan

T = TypeVar("T")

PLAYS = 150

Fails = Callable[[Plan], bool]


def shrunk(plan: Plan, fails: Fails, plays: int = PLAYS) -> tuple[Plan, int]:
    """The smallest plan that was found to fail, and how many were tried. `fails` must be true of the plan itself."""
    budget = Budget(plays)

    def faults_fail(some: Sequence[object]) -> bool:
        return budget.spend() and fails(replace(plan, faults=tuple(some)))

    def deeds_fail(some: Sequence[object]) -> bool:
        return budget.spend() and fails(replace(plan, deeds=tuple(some)))

    plan = replace(plan, faults=smallest(plan.faults, faults_fail))
    plan = replace(plan, deeds=smallest(plan.deeds, deeds_fail))
    # With fewer deeds some faults may have become idle.
    plan = replace(plan, faults=smallest(plan.faults, faults_fail))
    return plan, plays - budget.left


class Budget:
    def __init__(self, left: int) -> None:
        self.left = left

    def spend(self) -> bool:
        """May one more be played? It is counted if so."""
        may = self.left > 0
        self.left -= may
        return may


def smallest(whole: tuple[T, ...], fails: Callable[[Sequence[T]], bool]) -> tuple[T, ...]:
    """A part of it that fails and of which nothing tried could be left out."""
    size = len(whole)
    while whole and size:
        size = max(1, size // 2) if size > 1 else 0
        step = size or 1
        at = 0
        while at < len(whole):
            rest = whole[:at] + whole[at + step :]
            if fails(rest):
                whole = rest
            else:
                at += step
    return whole
