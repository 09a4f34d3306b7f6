"""Shrinking: what can be left out is left out, within a bound."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from tenure.sim.run.plan import Plan, plan_of
from tenure.sim.run.shrinking import shrunk, smallest


def test_only_what_matters_is_left() -> None:
    def fails(some: Sequence[int]) -> bool:
        return {3, 17} <= set(some)

    assert smallest(tuple(range(20)), fails) == (3, 17)


def test_a_whole_of_which_nothing_may_go_stays() -> None:
    assert smallest((1, 2, 3), lambda some: len(some) == 3) == (1, 2, 3)


def test_nothing_is_the_smallest_where_nothing_is_needed() -> None:
    assert smallest((1, 2, 3, 4, 5), lambda _: True) == ()


def test_a_plan_is_tried_no_more_often_than_it_may_be() -> None:
    tries: list[Plan] = []

    def fails(plan: Plan) -> bool:
        tries.append(plan)
        return len(tries) == 1

    small, plays = shrunk(plan_of(1), fails, plays=7)
    assert len(tries) == plays == 7
    assert len(small.faults) < len(plan_of(1).faults)


def test_leaving_out_a_fault_changes_nothing_else_of_a_plan() -> None:
    plan = plan_of(5)
    assert replace(plan, faults=plan.faults[1:]).deeds == plan.deeds
    assert plan_of(5) == plan
