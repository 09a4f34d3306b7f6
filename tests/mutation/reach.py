"""Which tests run which lines of core: measured once, kept until core or the test's file changes."""

from __future__ import annotations

import hashlib
import json
import time
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
    """`lines[test]`, and `tests[(module, line)]`."""

    seconds: dict[str, float]
    tests: dict[tuple[str, int], set[str]]
    breadth: dict[str, int]

    def of(self, mutant: Mutant) -> list[str]:
        """The tests that can notice the mutant; those that are quick and narrow first."""
        first, last = mutant.lines
        found = {
            test for line in range(first, last + 1) for test in self.tests.get((mutant.module, line), ())
        }
        quick = {test for test in found if self.seconds[test] < SLOW_S}
        found = quick if len(quick) >= ENOUGH else found
        return sorted(found, key=lambda test: (self.breadth[test] * (0.01 + self.seconds[test]), test))


def measured(bench: Bench, cache: Path) -> Reach:
    """Run what is not known yet in one child, under coverage."""
    core = core_digest()
    known: dict[str, Any] = json.loads(cache.read_text()) if cache.exists() else {}
    files = {test: digest_of(test.split("::")[0]) for test in bench.items}
    keys = {test: f"{core}:{digest}" for test, digest in files.items()}
    missing = [test for test in bench.items if known.get(test, {}).get("key") != keys[test]]
    if missing:
        ((_, found),) = bench.forked([("coverage", missing)], _measure, 1, MEASURE_S)
        if "killed_by" in found or "ended" in found:
            raise SystemExit(f"the tests must pass without a mutant first: {found}")
        for test in missing:
            known[test] = {"key": keys[test], "s": found["s"][test], "lines": found["lines"].get(test, {})}
        cache.parent.mkdir(parents=True, exist_ok=True)
        cache.write_text(json.dumps(known))
    return _reach({test: known[test] for test in bench.items})


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


def _reach(known: dict[str, Any]) -> Reach:
    tests: dict[tuple[str, int], set[str]] = {}
    for test, row in known.items():
        for module, lines in row["lines"].items():
            for line in lines:
                tests.setdefault((module, line), set()).add(test)
    breadth = {test: sum(map(len, row["lines"].values())) for test, row in known.items()}
    return Reach({test: row["s"] for test, row in known.items()}, tests, breadth)


def core_digest() -> str:
    return _digest(*sorted(CORE.glob("*.py")))


def module_digest(module: str) -> str:
    return _digest(CORE / f"{module}.py")


def digest_of(*test_files: str) -> str:
    return _digest(*(ROOT / name for name in test_files))


def _digest(*paths: Path) -> str:
    return hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()[:16]
