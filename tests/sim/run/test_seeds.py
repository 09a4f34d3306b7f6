"""The simulator itself: the same seed plays the same way, planted faults are found and shrunk, seeds go well."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from tenure.core import commands as cm
from tenure.core import decide as deciding
from tenure.core.decision import Decision
from tenure.core.delivery import Now, Terms
from tenure.core.task import Task
from tenure.core.world import World
from tenure.sim.run.plan import Plan, plan_of
from tenure.sim.run.playing import Played, play
from tenure.sim.run.shrinking import shrunk
from tenure.sim.world import engine
from tests.sim.run.failed_seeds import FAILED

SEEDS = (1, 2, 3, 4)
"""The last one has its record on the disk that fails."""
TWICE = (6, 8, 447)
"""In the last one an Effect is waited for twice; whoever was woken first once hung on where in memory it lay."""
FIRST_HUB = "i_hub0001"
PRINTS = (
    "from tenure.sim.run.plan import plan_of\n"
    "from tenure.sim.run.playing import play\n"
    "for seed in {seeds}:\n"
    "    print(play(plan_of(seed)).digest)\n"
)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_seed_goes_well_and_is_worth_its_name(seed: int) -> None:
    played = play(plan_of(seed))
    assert not played.found
    assert played.steps >= 2_000
    assert played.faults >= 20


@pytest.mark.parametrize("seed", FAILED, ids=lambda seed: f"{seed}")
def test_a_seed_that_once_failed_goes_well(seed: int) -> None:
    assert not play(plan_of(seed)).found


def test_a_seed_plays_the_same_way_in_each_process_whatever_its_interpreter_hashes_to() -> None:
    said = [
        subprocess.run(
            [sys.executable, "-c", PRINTS.format(seeds=TWICE)],
            env={"PYTHONHASHSEED": hashes, "PATH": "/usr/bin:/bin"},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for hashes in ("0", "4711")
    ]
    assert said[0] == said[1]
    assert len(set(said[0].split())) == len(TWICE)
    assert said[0].split()[0] == play(plan_of(TWICE[0])).digest


def test_every_fourth_seed_has_its_record_on_the_disk_that_fails() -> None:
    assert [plan_of(seed).shape.ledger for seed in (4, 5, 6, 7)] == ["sqlite", "memory", "memory", "memory"]


def test_a_plan_without_faults_goes_well() -> None:
    played = play(replace(plan_of(2), faults=()))
    assert not played.found
    assert played.faults == 0


def test_a_fault_that_is_planted_in_the_core_is_found_and_its_plan_made_small(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A hub that was started again gives a grant the fence that the Task had before."""
    decide = deciding.decide

    def planted(world: World, command: Any, now: Now, terms: Terms) -> Decision:
        decision = decide(world, command, now, terms)
        if not isinstance(command, cm.Claim) or now.hub == FIRST_HUB:
            return decision
        tasks = decision.changes.get(Task, {})
        stale = {key: replace(task, fence=task.fence - 1) for key, task in tasks.items()}
        return replace(decision, changes={**decision.changes, Task: stale})

    monkeypatch.setattr(engine, "decide", planted)
    plan = plan_in_memory(2, 10, ("daemon_crash", "hub_crash", "link_cut"))
    played = play(plan, to_first=True)
    assert len(played.found) == 1
    small, plays = shrunk(plan, fails_as(played), plays=60)
    assert plays <= 60
    assert len(small.faults) == 1
    assert small.faults[0].kind.startswith("hub")
    assert len(small.deeds) <= 3
    assert play(small, to_first=True).rule == played.rule


def test_a_node_that_is_taken_for_two_machines_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every start has the number of the first one, as if its store had been copied."""
    decide = deciding.decide

    def planted(world: World, command: Any, now: Now, terms: Terms) -> Decision:
        if isinstance(command, cm.StartNode):
            command = replace(command, generation=1)
        return decide(world, command, now, terms)

    monkeypatch.setattr(engine, "decide", planted)
    played = play(plan_in_memory(2, 10, ("daemon_crash",)), to_first=True)
    assert played.rule == "node_quarantined"


def plan_in_memory(seed: int, *drawn: Any) -> Plan:
    plan = plan_of(seed, *drawn)
    return replace(plan, shape=replace(plan.shape, ledger="memory", stores="files"))


def fails_as(played: Played) -> Callable[[Plan], bool]:
    return lambda plan: play(plan, to_first=True).rule == played.rule
