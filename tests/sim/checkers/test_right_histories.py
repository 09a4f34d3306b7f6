"""No checker says anything about a history in which every rule was kept."""

from __future__ import annotations

import time
from random import Random

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tenure.sim.checkers.checking import CHECKERS, check, looked_at
from tests.sim.checkers.right_world import RightWorld

LARGE_STEPS = 30_000
CPU_S = 60.0
"""Processor time that a large history may take; it takes a fraction of it."""


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(seed=st.integers(0, 2**32), steps=st.integers(1, 150))
def test_every_checker_is_silent_on_a_right_history(seed: int, steps: int) -> None:
    found = check(RightWorld(Random(seed)).run(steps))
    assert not found, "\n".join(map(str, found))


def test_every_checker_had_something_to_judge_in_a_right_history() -> None:
    judged = looked_at(RightWorld(Random(7)).run(1_500))
    idle = {name for name, facts in judged.items() if facts == 0 and not name.startswith("record: ")}
    assert idle == {"suspects", "turned_away"}, "the hub alone sees what becomes of a lease"


def test_the_record_alone_is_judged_by_every_rule_that_it_can_say_something_about() -> None:
    judged = looked_at(RightWorld(Random(7)).run(1_500))
    outside = {"kept", "agreeing", "starts", "effects_once", "intents", "leftovers", "sequence", "silence"}
    idle = {one.name for one in CHECKERS if judged[f"record: {one.name}"] == 0}
    assert idle == outside


def test_a_long_history_is_judged_in_seconds() -> None:
    history = RightWorld(Random(3)).run(LARGE_STEPS)
    began = time.process_time()
    assert check(history) == []
    assert time.process_time() - began < CPU_S
