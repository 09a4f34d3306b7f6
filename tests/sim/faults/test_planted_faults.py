"""Planted faults: every entry of the catalogue still fits the code, and a handful is hunted for real."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from tenure.core.granting import units_for
from tenure.runtime.process import ChildCommand, ChildResult
from tenure.sim.explore.bounds import Bound
from tenure.sim.explore.reading import NodeReading
from tenure.sim.explore.worlds import WORLDS
from tenure.sim.faults.catalogue import catalogue, fault_named
from tenure.sim.faults.fault import Edit, Fault
from tenure.sim.faults.found import Found
from tenure.sim.faults.hunting import found_in, hunted
from tenure.sim.faults.planting import MisplantedError, edited, plant, source_of

QUICK = (
    "a fence is compared with <=",
    "expired means failed",
    "two runners take the start marker",
    "a cancel loses to a late report",
    "a retry has the same digest and no passing cause",
    "an answer is given twice",
)
LEAST = {"variants": 43, "of the code": 25}


def hunt(*faults: Fault) -> dict[str, Found]:
    async def all_of_them() -> dict[str, Found]:
        env = dict(os.environ)
        return {one.fault: one async for one in hunted(faults, jobs=2, limit=40_000, env=env)}

    return asyncio.run(all_of_them())


@pytest.mark.parametrize("fault", catalogue(), ids=lambda one: one.name)
def test_every_planted_fault_still_fits_the_code_and_its_worlds(fault: Fault) -> None:
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
    async def breaks(_: ChildCommand) -> ChildResult:
        return ChildResult(
            exit_code=1, stdout=b"", stderr=b"more\na reason\n", stdout_seen=0, stderr_seen=1, timed_out=timed_out,
            took_s=1.0,
        )  # fmt: skip

    fault = fault_named(QUICK[0])
    found = found_in(fault, asyncio.run(breaks(ChildCommand(argv=(), env={}, cwd=Path()))))
    assert (found.world, found.invariant) == (None, None)
    assert words in found.trace[0]
