"""The search: to the fixpoint, in the same way each time, and with the shortest trace to what is broken."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tenure.core import reporting
from tenure.sim.explore import many, product
from tenure.sim.explore.bounds import Bound, NamedWorld
from tenure.sim.explore.explore import Exploration, explore
from tenure.sim.explore.reading import NodeReading
from tenure.sim.explore.worlds import WORLDS

TINY = WORLDS["tiny"]
SMALL = NamedWorld("small", "two nodes", Bound(nodes=2, verdicts=("completed",)))


def explored(bound: Bound, **more: Any) -> Exploration:
    return explore(NamedWorld("of a test", "", bound), **more)


def test_a_world_is_explored_to_its_fixpoint_and_holds() -> None:
    found = explore(TINY)
    assert (found.complete, found.violation) == (True, None)
    assert found.states > 2_000
    assert found.steps > found.states
    assert found.depth > 10
    assert found.hits.events["lease_revoked"]


def test_an_exploration_is_the_same_each_time() -> None:
    one, two = explore(SMALL), explore(SMALL)
    assert replace(one, seconds=0.0, cpu_s=0.0) == replace(two, seconds=0.0, cpu_s=0.0)


def test_a_limit_is_obeyed_and_nothing_is_claimed_beyond_it() -> None:
    found = explore(TINY, limit=300)
    assert (found.complete, found.violation) == (False, None)
    assert 300 < found.states < 330  # one state's steps beyond it at most


def test_each_world_is_told_of_before_the_next_one_is_explored(monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []

    def explored_once(world: NamedWorld, **_: Any) -> str:
        order.append(f"explored {world.name}")
        return world.name

    monkeypatch.setattr(many, "explore", explored_once)
    many.explore_all((TINY, SMALL), many.Wish(), 1, lambda one: order.append(f"told {one}"))
    assert order == ["explored tiny", "told tiny", "explored small", "told small"]


def test_a_harness_that_starts_before_its_receipt_is_caught_by_the_shortest_trace() -> None:
    found = explore(TINY, reading=NodeReading(start_needs_receipt=False))
    assert found.violation is not None
    assert found.violation.rule.startswith("no_start_before_handoff: ")
    assert found.violation.trace == (
        "hub: claim 0 1 -> granted d_1",
        "alfa: the node mirrors the grant and sends its receipt (d_1)",
        "alfa: the node starts the harness (d_1)",
    )


def test_a_report_under_a_stale_fence_that_is_recorded_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reporting, "is_current", lambda *_: True)
    found = explore(TINY)
    assert found.violation is not None
    assert "report" in found.violation.trace[-1]


def test_an_exception_of_the_core_is_a_violation(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise KeyError("gone")

    monkeypatch.setattr(reporting, "conclude", fails)
    found = explore(TINY)
    assert found.violation is not None
    assert found.violation.rule == "engine: KeyError: 'gone'"


def test_a_hub_that_never_looks_at_its_deadlines_leaves_a_task_of_which_nobody_hears(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(product, "hub_requests", lambda _: ())
    found = explore(TINY)
    assert found.violation is not None
    assert found.violation.rule.startswith("never_silent: ")
    assert explore(TINY, safety_only=True).violation is None


def test_two_nodes_that_are_alike_are_explored_once_and_nothing_is_lost_by_it() -> None:
    """Every state in which something was granted has a twin with the nodes exchanged, and no other is left out."""
    once, twice = explore(SMALL), explored(replace(SMALL.bound, alike=False))
    ungranted = explored(replace(SMALL.bound, grants=0)).states
    assert twice.states == ungranted + 2 * (once.states - ungranted)
    assert (once.complete, once.violation) == (twice.complete, twice.violation) == (True, None)


@pytest.mark.parametrize(
    "reading",
    [
        NodeReading(start_needs_receipt=False),
        NodeReading(mirror_before_receipt=False),
        NodeReading(runner_pauses=False),
        NodeReading(obeys_stale=False),
    ],
)
def test_with_and_without_that_reduction_the_same_is_found_as_far_away(reading: NodeReading) -> None:
    bounds = SMALL.bound, replace(SMALL.bound, alike=False)
    once, twice = (explored(one, reading=reading).violation for one in bounds)
    assert (once is None) == (twice is None)
    if once is not None and twice is not None:
        assert (once.rule, len(once.trace)) == (twice.rule, len(twice.trace))
