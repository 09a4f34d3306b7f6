"""Planted faults: every entry of the catalogue still fits the code, and a handful is hunted for real."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from tenure.core.granting import units_for
from tenure.runtime.process import ChildResult
from tenure.sim.explore.bounds import Bound
from tenure.sim.explore.explore import Exploration, Violation
from tenure.sim.explore.reading import NodeReading
from tenure.sim.explore.worlds import WORLDS
from tenure.sim.planted.catalogue import catalogue, fault_named
from tenure.sim.planted.fault import Edit, PlantedFault
from tenure.sim.planted.found import Found
from tenure.sim.planted.hunt import judged
from tenure.sim.planted.hunting import believed, found_in, hunted
from tenure.sim.planted.planting import MisplantedError, edited, plant, source_of
from tests.cli.lab import called

PAGE = Path(__file__).parents[3] / "docs" / "internals" / "mutation.md"
QUICK = (
    "a fence is compared with <=",
    "expired means failed",
    "two runners take the start marker",
    "a cancel loses to a late report",
    "a retry has the same digest and no passing cause",
    "an answer is given twice",
)
LEAST = {"variants": 43, "of the code": 25}


def hunt(*faults: PlantedFault) -> dict[str, Found]:
    async def all_of_them() -> dict[str, Found]:
        env = dict(os.environ)
        return {one.fault: one async for one in hunted(faults, jobs=2, limit=40_000, env=env)}

    return asyncio.run(all_of_them())


@pytest.mark.parametrize("fault", catalogue(), ids=lambda one: one.name)
def test_every_planted_fault_still_fits_the_code_and_its_worlds(fault: PlantedFault) -> None:
    for module in {edit.module for edit in fault.edits}:
        edits = [edit for edit in fault.edits if edit.module == module]
        compile(edited(source_of(module), edits), module, "exec")
    assert set(fault.worlds) <= set(WORLDS)
    assert set(fault.reading) <= set(NodeReading.__struct_fields__)
    assert set(fault.bound) <= set(Bound.__struct_fields__)
    assert fault.worlds
    assert fault.edits or fault.reading


def test_there_are_as_many_as_the_model_of_the_design_has_and_more_of_the_code() -> None:
    names = [one.name for one in catalogue()]
    assert len(set(names)) == len(names)
    variants = {one.variant for one in catalogue() if one.variant is not None}
    own = [one for one in catalogue() if one.variant is None and one.edits]
    assert len(variants) >= LEAST["variants"]
    assert len(own) >= LEAST["of the code"]


def test_every_switch_of_the_nodes_model_is_turned_round_by_some_fault() -> None:
    turned = {name for one in catalogue() for name in one.reading}
    assert turned == set(NodeReading.__struct_fields__)


def test_a_handful_of_planted_faults_is_caught() -> None:
    found = hunt(*map(fault_named, QUICK))
    assert [name for name, one in found.items() if one.world is None] == []
    assert all(one.trace for one in found.values())


@pytest.mark.parametrize("before", ["this stands nowhere", "from tenure"])
def test_an_edit_that_does_not_stand_exactly_once_is_refused(before: str) -> None:
    with pytest.raises(MisplantedError, match="times"):
        edited(source_of("proof"), [Edit("proof", before, "x")])


def test_nothing_is_planted_once_core_was_imported() -> None:
    assert units_for.__module__ == "tenure.core.granting"
    with pytest.raises(MisplantedError, match="fresh process"):
        plant([Edit("proof", "def holds(", "def held(")])


@pytest.mark.parametrize(("timed_out", "words"), [(False, "it broke: a reason"), (True, "no end within")])
def test_a_hunt_that_breaks_has_caught_nothing_and_says_why(timed_out: bool, words: str) -> None:
    ended = ChildResult(
        exit_code=1, stdout=b"", stderr=b"more\na reason\n", stdout_seen=0, stderr_seen=1, timed_out=timed_out,
        took_s=1.0,
    )  # fmt: skip
    found = found_in(fault_named(QUICK[0]), ended)
    assert (found.world, found.invariant) == (None, None)
    assert words in (found.crash or "")


@pytest.mark.parametrize(
    ("rule", "caught"),
    [
        ("one_owner: two of them", True),
        ("engine: InvariantError: it cannot go there", True),
        ("engine: claim changed something without an event", True),
        ("engine: KeyError: 't_1'", False),
        ("engine: AttributeError: no such thing: None", False),
    ],
)
def test_what_breaks_the_engine_otherwise_than_by_its_own_checks_catches_nothing(
    rule: str, caught: bool
) -> None:
    explored = Exploration(
        world="tiny", states=1, steps=1, depth=1, seconds=0.0, cpu_s=0.0, complete=False, records=1,
        violation=Violation(rule, ("a step",)),
    )  # fmt: skip
    found = judged(fault_named(QUICK[0]), "tiny", explored, 1, 0.0)
    assert (found.world == "tiny", found.invariant == rule) == (caught, caught)
    assert (found.crash is None) is caught


def test_a_world_that_is_broken_without_the_fault_proves_nothing() -> None:
    caught = Found(fault="x", world="tiny", invariant="one_owner: two", trace=("a",), states=5)
    assert believed(caught, Found(fault="x")) == caught
    wrong = believed(caught, Found(fault="x", world="tiny", invariant="once: twice"))
    assert (wrong.world, wrong.invariant) == (None, None)
    assert "without the fault tiny is broken too: once: twice" in (wrong.crash or "")


def test_the_command_lists_hunts_and_fails_for_what_escapes() -> None:
    listed = called("sim", "faults", "--list", "--json")
    assert listed.code == 0
    assert {one["name"] for one in listed.json["faults"]} == {one.name for one in catalogue()}
    assert all(one["place"] for one in listed.json["faults"])
    caught = called("sim", "faults", "--fault", QUICK[1])
    assert (caught.code, "1 of 1 planted faults were caught" in caught.out) == (0, True)
    assert "no_guess" in caught.out
    escaped = called(
        "sim", "faults", "--fault", "two runners take the start marker", "--limit", "1", "--json"
    )
    assert (escaped.code, escaped.json["escaped"]) == (1, ["two runners take the start marker"])
    unknown = called("sim", "faults", "--fault", "no such thing")
    assert (unknown.code, "sim faults --list" in unknown.err) == (64, True)


def test_the_page_about_them_names_every_one() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert [one.name for one in catalogue() if f"| {one.name} |" not in page] == []
