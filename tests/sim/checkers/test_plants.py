"""Each checker finds what is planted into a right history for it, from outside and in the record alone."""

from __future__ import annotations

import pytest

from tenure.sim.checkers.checking import CHECKERS, looked_at
from tenure.sim.checkers.history import History
from tests.docs.test_guarantees import RULES
from tests.sim.checkers.planting import PLANTED, SEEDS, Plant, found_in, right, spoiled
from tests.sim.checkers.plants_outside import OUTSIDE
from tests.sim.checkers.plants_record import RECORD
from tests.sim.checkers.table import PAGE, made_anew


@pytest.mark.parametrize("plant", [*OUTSIDE, *RECORD], ids=lambda plant: f"{plant.checker}: {plant.what}")
def test_what_is_planted_into_a_right_history_is_found_by_its_checker(plant: Plant) -> None:
    planted = 0
    for seed in SEEDS:
        history = spoiled(plant, seed)
        if history is None:
            continue
        planted += 1
        assert plant.checker in found_in(history), f"seed {seed}"
        if planted == PLANTED:
            return
    assert planted == PLANTED, "there was nothing that it could be planted into"


def test_each_checker_has_something_planted_for_it() -> None:
    planted = {one.checker for one in (*OUTSIDE, *RECORD)}
    judged = looked_at(History(right(0)))
    in_the_record = {name for name, facts in judged.items() if name.startswith("record: ") and facts}
    outside = {one.name for one in CHECKERS} - {"suspects", "turned_away"}
    assert planted == outside | in_the_record


def test_the_page_has_every_checker_and_everything_that_is_planted() -> None:
    text = PAGE.read_text()
    assert made_anew(text) == text, "run `python -m tests.sim.checkers`"


def test_every_rule_of_the_design_is_held_by_a_checker() -> None:
    assert {rule for one in CHECKERS for rule in one.holds} == RULES
