"""`python -m tests.mutation`: make every mechanical mutant of core and say which test kills it, or that none does."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.mutation.bench import Bench, with_bench
from tests.mutation.mutants import CORE, Mutant, every_mutant
from tests.mutation.reach import Reach, measured
from tests.mutation.record import CACHE, Record, Result, Suite, argued, file_digest
from tests.mutation.swap import install
from tools.options import refuse_unknown, whole

STAGES = ("tests/core", "tests/harness/test_turn.py", "tests/stateful")
"""What may kill a mutant, the quickest first; the next stage meets those only that live through the one before."""
EVERY_S = 30
MOST_EXAMPLES, MOST_TESTS, MOST_JOBS = 100_000, 1_000_000, 64
FATES = ("killed", "equivalent", "open", "unjudged")


def main() -> int:
    options = parsed()
    mutants = every_mutant(tuple(options.only))
    if options.match:
        mutants = [one for one in mutants if options.match in one.name]
    record = Record(Path(options.cache), options.fresh)
    results: dict[str, Result] = {}
    lost: set[str] = set()
    if options.known:
        results = {one.name: found for one in mutants if (found := record.last(one)) is not None}
    for path in () if options.known else options.tests:
        alive = (one for one in mutants if one.name not in results or results[one.name].killed_by is None)
        left = [one for one in alive if one.name not in lost]
        stage = Stage(left, record, results, options, f"reach_{path.replace('/', '_')}.json")
        with_bench([path], stage.run, options.examples)
        lost |= stage.lost
    if not options.known and not options.only and not options.match:
        record.compact({one.name for one in mutants})
    return _report(mutants, results, options)


def parsed(words: list[str] | None = None) -> argparse.Namespace:
    parser = _options()
    options = parser.parse_args(words)
    refuse_unknown(parser, "module of core named", options.only, (path.stem for path in CORE.glob("*.py")))
    for path in options.tests:
        if not Path(path.partition("::")[0]).exists():
            parser.error(f"there is no test {path} here")
    if Path(options.cache).exists() and not Path(options.cache).is_dir():
        parser.error(f"--cache: {options.cache} is no folder")
    return options


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument(
        "--only", action="append", default=[], metavar="MODULE", help="a module of core; may be repeated"
    )
    parser.add_argument("--match", metavar="TEXT", help="only mutants whose name contains this")
    parser.add_argument(
        "--tests", nargs="+", default=STAGES, metavar="PATH", help="what may kill them, one after the other"
    )
    parser.add_argument(
        "--examples", type=whole(1, MOST_EXAMPLES), default=20, metavar="N", help="of each hypothesis test"
    )
    parser.add_argument(
        "--most",
        type=whole(0, MOST_TESTS),
        default=0,
        metavar="N",
        help="try so many tests at most: a quick look",
    )
    parser.add_argument("--jobs", type=whole(1, MOST_JOBS), default=2, metavar="N")
    parser.add_argument("--known", action="store_true", help="judge nothing: tell what earlier runs found")
    parser.add_argument("--fresh", action="store_true", help="believe no earlier result")
    parser.add_argument(
        "--check", action="store_true", help="fail on a survivor that nobody argued to be equivalent"
    )
    parser.add_argument("--killed", action="store_true", help="list those that were killed too, and by what")
    parser.add_argument("--cache", default=str(CACHE), metavar="FOLDER")
    return parser


class Stage:
    """One set of tests against the mutants that are left."""

    def __init__(
        self,
        mutants: list[Mutant],
        record: Record,
        results: dict[str, Result],
        options: argparse.Namespace,
        reach: str,
    ) -> None:
        self.mutants = {one.name: one for one in mutants}
        self.record = record
        self.results = results
        self.jobs: int = options.jobs
        self.most: int = options.most
        self.fresh: bool = options.fresh
        self.reach = Path(options.cache) / reach
        self.killers: dict[str, Counter[str]] = {}
        self.lost: set[str] = set()
        """Of these nothing is known: what a later stage says would be said without this one's tests."""

    def run(self, bench: Bench) -> None:
        reach = measured(bench, self.reach, self.fresh)
        bench.seconds = reach.seconds
        files = {file: file_digest(file) for file in sorted({test.split("::")[0] for test in bench.items})}
        began = told = time.monotonic()
        for done, (name, said) in enumerate(bench.forked(self._tasks(reach, files), judge, self.jobs), 1):
            mutant = self.mutants[name]
            if "ended" in said:
                # Not a test has failed but this tool, so nothing is known of the mutant.
                sys.stderr.write(f"  not judged: {name}: {said['ended']}\n")
                self.lost.add(name)
                continue
            killed_by, how = said.get("killed_by"), said.get("how", "")
            self.results[name] = self.record.add(
                mutant, killed_by, how, said.get("tests", 0), (files, self.most)
            )
            if killed_by is not None:
                self.killers.setdefault(_group(mutant), Counter())[killed_by] += 1
            if time.monotonic() - told > EVERY_S:
                told = time.monotonic()
                alive = sum(one.killed_by is None for one in self.results.values())
                sys.stderr.write(f"  {done} judged in {told - began:.0f} s, {alive} alive\n")

    def _tasks(self, reach: Reach, files: Suite) -> Iterator[tuple[str, Any]]:
        for mutant in self.mutants.values():
            known = self.record.known(mutant, files, self.most)
            if known is not None:
                self.results[mutant.name] = known
                continue
            before = self.record.lived_through(mutant, self.most)
            changed = {file for file, digest in files.items() if before.get(file) != digest}
            yield mutant.name, (mutant, self._in_order(mutant, reach, changed))

    def _in_order(self, mutant: Mutant, reach: Reach, files: set[str]) -> list[str]:
        """The test that killed it before, those that killed its neighbours, then the rest; of these files only."""
        tests = [test for test in reach.of(mutant) if test.split("::")[0] in files]
        counted = self.killers.get(_group(mutant), Counter())
        last = self.record.killer(mutant)
        tests.sort(key=lambda test: (test != last, -counted[test]))
        return tests[: self.most] if self.most else tests


def judge(bench: Bench, task: tuple[Mutant, list[str]]) -> Any:
    """In a child: the mutant lives if every test passes. The first that fails ends the child before this returns."""
    mutant, tests = task
    install(mutant)
    for test in tests:
        bench.run(test)
    return {"tests": len(tests)}


def _group(mutant: Mutant) -> str:
    return f"{mutant.module}.{mutant.function}"


def _report(mutants: list[Mutant], results: dict[str, Result], options: argparse.Namespace) -> int:
    why = argued()
    table: dict[str, Counter[str]] = {}
    open_ones: list[Mutant] = []
    for mutant in mutants:
        result = results.get(mutant.name)
        killed = result is not None and result.killed_by is not None
        fate = "killed" if killed else "equivalent" if mutant.name in why else "open"
        fate = "unjudged" if result is None and fate == "open" else fate
        table.setdefault(mutant.module, Counter())[fate] += 1
        if fate == "open":
            open_ones.append(mutant)
            untested = "" if result and result.tests else "  (no test reaches it)"
            _say(f"alive   {mutant.module}.py:{mutant.line}:{mutant.column} {mutant.name}{untested}")
        elif options.killed and killed and result:
            _say(
                f"killed  {mutant.module}.py:{mutant.line}:{mutant.column} {mutant.name}  by {result.killed_by}"
            )
    _say(f"\n{'module':24}" + "".join(f"{word:>12}" for word in ("mutants", *FATES)))
    for module, counted in sorted(table.items(), key=lambda pair: (-pair[1]["open"], pair[0])):
        _row(module, counted)
    _row("all", sum(table.values(), Counter()))
    wrong = {name for name in why if name in results and results[name].killed_by}
    for name in sorted(wrong):
        _say(f"argued to be equivalent, but killed: {name}")
    return 1 if options.check and (open_ones or wrong) else 0


def _row(name: str, counted: Counter[str]) -> None:
    numbers = (sum(counted.values()), *(counted[fate] for fate in FATES))
    _say(f"{name:24}" + "".join(f"{number:>12}" for number in numbers))


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")


if __name__ == "__main__":
    sys.exit(main())
