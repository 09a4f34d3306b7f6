"""Which tests run which lines of core: measured once, kept until the test's file changes.

Where a module of core has changed since, its lines have moved: then what counts is which function a test ran. A function
that is new since may be run by every test that ran anything of its module."""

from __future__ import annotations

import ast
import hashlib
import itertools
import json
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import coverage

from tests.mutation.bench import ROOT, Bench
from tests.mutation.mutants import CORE, Mutant

MEASURE_S = 900
SLOW_S, ENOUGH = 1.5, 50
"""A test that takes longer under coverage is left out where so many others run the same line."""

Lines = dict[str, list[int]]
"""Module of core -> its lines that ran."""


@dataclass
class Reach:
    """Tests by the lines that they run, and by functions where the lines have moved since."""

    seconds: dict[str, float]
    tests: dict[tuple[str, int], set[str]]
    functions: dict[tuple[str, str], set[str]]
    weights: dict[tuple[str, str], float]
    """Of a module and a test: how much of what it runs there few others run."""
    breadth: dict[str, int]
    """How many lines of core a test runs."""

    def of(self, mutant: Mutant) -> list[str]:
        """The tests that can notice the mutant; first those that are quick and have the most to do with its module, and in turn
        with them those that have to do with little else."""
        if mutant.function == "module":
            return sorted(self.seconds, key=self.seconds.__getitem__)
        first, last = mutant.lines
        found = {
            test for line in range(first, last + 1) for test in self.tests.get((mutant.module, line), ())
        }
        outer = mutant.function.rpartition(".")[0]  # of a function within a function
        for name in (mutant.function, outer):
            found |= self.functions.get((mutant.module, name), set())
        quick = {test for test in found if self.seconds[test] < SLOW_S}
        found = quick if len(quick) >= ENOUGH else found
        weight = {test: self.weights[mutant.module, test] / (0.02 + self.seconds[test]) for test in found}
        much = sorted(found, key=lambda test: (-weight[test], test))
        only = sorted(found, key=lambda test: (-weight[test] / self.breadth[test], test))
        return list(dict.fromkeys(itertools.chain.from_iterable(zip(much, only, strict=True))))


def measured(bench: Bench, cache: Path, fresh: bool = False) -> Reach:
    """Run the tests that are not known yet in one child, under coverage. `fresh`: all of them."""
    known: dict[str, Any] = json.loads(cache.read_text()) if cache.exists() and not fresh else {}
    tests, shapes = known.get("tests", {}), known.get("shapes", {})
    keys = {test: digest_of(test.split("::")[0]) for test in bench.items}
    missing = [test for test in bench.items if tests.get(test, {}).get("key") != keys[test]]
    if missing:
        ((_, found),) = bench.forked([("coverage", missing)], _measure, 1, MEASURE_S)
        if "killed_by" in found or "ended" in found:
            raise SystemExit(f"the tests must pass without a mutant first: {found}")
        shape = str(len(shapes))
        shapes[shape] = {
            path.stem: [module_digest(path.stem), functions_of(path)] for path in CORE.glob("*.py")
        }
        for test in missing:
            row = {"key": keys[test], "s": found["s"][test], "lines": found["lines"].get(test, {})}
            tests[test] = {**row, "shape": shape}
        used = {tests[test]["shape"] for test in bench.items}
        shapes = {name: one for name, one in shapes.items() if name in used}
        cache.parent.mkdir(parents=True, exist_ok=True)
        cache.write_text(json.dumps({"tests": {one: tests[one] for one in bench.items}, "shapes": shapes}))
    return _reach({test: tests[test] for test in bench.items}, shapes)


def functions_of(path: Path) -> list[tuple[int, int, str]]:
    """First and last line of each function, and its name."""
    tree = ast.parse(path.read_text())
    methods = [
        (one, f"{top.name}.{one.name}")
        for top in tree.body
        if isinstance(top, ast.ClassDef)
        for one in top.body
        if isinstance(one, ast.FunctionDef)
    ]
    plain = [(one, one.name) for one in tree.body if isinstance(one, ast.FunctionDef)]
    return [(one.lineno, one.end_lineno or one.lineno, name) for one, name in (*plain, *methods)]


def _measure(bench: Bench, tests: list[str]) -> Any:
    tool = coverage.Coverage(data_file=None, include=[f"{CORE}/*"], config_file=False)
    seconds: dict[str, float] = {}
    tool.start()
    for test in tests:
        tool.switch_context(test)
        began = time.process_time()
        bench.run(test)
        seconds[test] = round(time.process_time() - began, 4)
    tool.stop()
    data = tool.get_data()
    lines: dict[str, Lines] = {}
    for file in data.measured_files():
        module = Path(file).stem
        for line, contexts in data.contexts_by_lineno(file).items():
            for test in contexts:
                lines.setdefault(test, {}).setdefault(module, []).append(line)
    return {"s": seconds, "lines": lines}


def _reach(known: dict[str, Any], shapes: dict[str, Any]) -> Reach:
    """By line where a module is as it was when the test was measured; else by function."""
    tests: dict[tuple[str, int], set[str]] = {}
    functions: dict[tuple[str, str], set[str]] = {}
    now = {path.stem: module_digest(path.stem) for path in CORE.glob("*.py")}
    names = {path.stem: {name for _, _, name in functions_of(path)} for path in CORE.glob("*.py")}
    for test, row in known.items():
        for module, lines in row["lines"].items():
            digest, shape = shapes[row["shape"]].get(module, ("", []))
            if digest == now.get(module):
                for line in lines:
                    tests.setdefault((module, line), set()).add(test)
                continue
            ran = set(lines)
            for first, last, name in shape:
                if any(line in ran for line in range(first + 1, last + 1)):
                    functions.setdefault((module, name), set()).add(test)
            for name in names.get(module, set()) - {name for _, _, name in shape}:
                functions.setdefault((module, name), set()).add(test)
    weights: defaultdict[tuple[str, str], float] = defaultdict(float)
    for (module, _), ran in (*tests.items(), *functions.items()):
        for test in ran:
            weights[module, test] += 1 / len(ran)
    breadth = {test: 1 + sum(map(len, row["lines"].values())) for test, row in known.items()}
    return Reach({test: row["s"] for test, row in known.items()}, tests, functions, weights, breadth)


def module_digest(module: str) -> str:
    return _digest(CORE / f"{module}.py")


def digest_of(*test_files: str) -> str:
    return _digest(*(ROOT / name for name in test_files))


def _digest(*paths: Path) -> str:
    return hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()[:16]
