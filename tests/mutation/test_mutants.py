"""The tool that makes mutants of core does what it says, and what was argued about survivors still speaks of something."""

from __future__ import annotations

import argparse
import ast
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.mutation.__main__ import Stage
from tests.mutation.mutants import Mutant, every_mutant, mutants_of, mutated, tree_of
from tests.mutation.record import Record, Result, argued

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def mutants() -> dict[str, Mutant]:
    return {one.name: one for one in every_mutant()}


def test_every_kind_of_change_is_made_and_each_has_a_name_of_its_own(mutants: dict[str, Mutant]) -> None:
    assert len(mutants) == len(every_mutant())
    counted = Counter(one.kind for one in mutants.values())
    assert set(counted) == {"compare", "guard", "leave", "call"}
    assert {one.module for one in mutants.values()} > {"proof", "leasing", "granting", "evolve", "life_cycle"}


@pytest.mark.parametrize(
    "name",
    [
        "delivery.is_over: now.wall_ms >= term.ends_at_ms => now.wall_ms > term.ends_at_ms",
        "delivery.is_over: now.wall_ms >= term.ends_at_ms => now.wall_ms < term.ends_at_ms",
        "proof.is_current: [and] task.lease == delivery.delivery_id => True",
        "proof.is_current: proof.fence == delivery.fence == task.fence => proof.fence <= delivery.fence == task.fence",
        "leasing.decide_renew: not is_live(draft, proof, delivery) => False",
        "leasing.decide_renew: hear_late(draft, proof, delivery, LateKind.RENEW, digest(command.counter)) => pass",
    ],
)
def test_the_mutants_that_matter_most_are_among_them(mutants: dict[str, Mutant], name: str) -> None:
    assert name in mutants


def test_a_mutant_differs_from_the_source_by_what_it_names(mutants: dict[str, Mutant]) -> None:
    for mutant in [*mutants.values()][::97]:
        tree_of.cache_clear()
        before = ast.unparse(tree_of(mutant.module))
        mutated(mutant)
        assert ast.unparse(tree_of(mutant.module)) != before, mutant.name
    tree_of.cache_clear()


def test_what_is_argued_to_be_equivalent_names_a_mutant_that_exists_and_says_why(
    mutants: dict[str, Mutant],
) -> None:
    gone = [name for name in argued() if name not in mutants]
    assert gone == [], "the code has changed: judge these again with `python -m tests.mutation --only MODULE`"
    assert [name for name, why in argued().items() if len(why.split()) < 4] == []


def test_a_result_is_believed_until_its_code_or_its_killer_changes(tmp_path: Path) -> None:
    mutant, other, *_ = mutants_of("proof")
    killer = "tests/mutation/test_mutants.py::test_something"
    record = Record(tmp_path)
    one, two = {"a": "1", "b": "1"}, {"a": "1", "b": "2"}
    record.add(mutant, killer, "AssertionError", 0, (one, 0))
    record.add(other, None, "", 3, (one, 0))
    again = Record(tmp_path)
    assert again.known(mutant, two, 0) is not None
    assert again.known(replace(mutant, code="another"), one, 0) is None
    assert again.known(other, one, 0) is not None
    assert again.known(other, one, 9) is None
    assert again.known(other, two, 0) is None
    again.add(other, None, "", 3, ({"c": "1"}, 0))
    assert again.lived_through(other, 0) == {**one, "c": "1"}
    assert Record(tmp_path, fresh=True).known(mutant, one, 0) is None


class Breaking:
    """A bench on which nothing can be run."""

    items: tuple[str, ...] = ()
    seconds: dict[str, float]

    def forked(self, tasks: Iterable[tuple[str, Any]], *_: Any) -> Iterator[tuple[str, Any]]:
        for name, _task in tasks:
            yield name, {"ended": "died with -9"}


def test_where_the_tool_itself_breaks_nothing_is_said_of_the_mutant(tmp_path: Path) -> None:
    options = argparse.Namespace(jobs=1, most=0, fresh=False, cache=str(tmp_path))
    results: dict[str, Result] = {}
    bench: Any = Breaking()
    Stage(mutants_of("proof"), Record(tmp_path), results, options, "reach").run(bench)
    assert results == {}
    assert Record(tmp_path).results == {}


def test_a_mutant_of_a_fence_is_killed_and_the_table_says_so(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.mutation", "--only", "proof", "--match", "is_current: [and]"]
    command += ["--tests", "tests/core/test_fence.py", "--jobs", "1", "--killed", "--cache", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    killed = [line for line in done.stdout.splitlines() if line.startswith("killed")]
    assert killed, done.stdout
    assert all("by tests/core/test_fence.py::" in line for line in killed)
