"""Effects happen once: a seeded run under faults that the provider counts, the same for a plain retrying worker, and
what an Effect costs.

`fault`, `points`, `outcome`: 2,000 operations through hub, workers and provider as processes of their own, which are
killed, stopped and lied to at every step (`_effects_plan`). `cost`: begin, issue and settle beside one plain command.
`brokered`: calls to a provider that takes 50 ms, 64 in flight, beside one at a time.

`python -m bench.effects --operations 200 --seed 7` runs it smaller; it ends with 1 if an operation was done twice or is
lost, or if what a run must show was not shown."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench import _effects_cost
from bench._effects_outcome import (
    LOST,
    ONCE,
    TWICE,
    Tenure,
    counted,
    fault_lines,
    point_line,
    spread,
    tenure_outcome,
)
from bench._effects_plan import BLOCK, SCENARIOS, Operation, only, operations
from bench._effects_run import Cell, forge_process, run_cells, run_plain
from tools.options import MOST_SEED, refuse_unknown, whole

SEED, OPERATIONS, CELLS = 20_251, 2_000, 4
PLAIN_S = 600.0


def lines() -> Iterator[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for line in fault_run(operations(SEED, OPERATIONS), SEED, CELLS):
        found.append(line)
        yield line
    yield from _effects_cost.lines()
    if said := problems(found):
        sys.exit("\n".join(said))


def fault_run(
    made: list[Operation], seed: int, cells: int, *, beside: bool = True
) -> Iterator[dict[str, Any]]:
    """`beside`: the plain workers, too."""
    planned = len(made) // BLOCK or 1
    with tempfile.TemporaryDirectory(prefix="tenure-bench-") as name:
        folder = Path(name)
        begun = time.monotonic()
        with forge_process(folder, "tenure", made) as (forge, journal):
            run = run_cells(folder, forge, made, cells)
            made = [*made, *(one for cell in run for one in cell.spares)]
            ours = tenure_outcome(run, journal, made, forge.injected())
        tenure_s = round(time.monotonic() - begun)
        plain = plain_counts(folder, made) if beside else None
        yield from fault_lines(made, ours, plain)
        yield point_line(made, run, planned)
        yield {
            **outcome_line(seed, made, ours, run),
            "plain": None if plain is None else spread(plain[one.name] for one in made),
            "tenure_s": tenure_s,
            "plain_s": round(time.monotonic() - begun) - tenure_s,
        }


def plain_counts(folder: Path, made: list[Operation]) -> Counter[str]:
    with forge_process(folder, "plain", made) as (forge, journal):
        run_plain(folder / "plain", forge.url, made, PLAIN_S)
        return counted(journal, made, {})[0]


def outcome_line(seed: int, made: list[Operation], ours: Tenure, run: list[Cell]) -> dict[str, Any]:
    finding = [one for one in made if one.finds]
    alone = sum(ours.ends[one.name] == ONCE for one in finding)
    deaths: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    for cell in run:
        deaths.update(cell.staff.deaths)
        kinds.update(item["kind"] for item in cell.items)
    met = sum(bool(some) for some in ours.met.values())
    return {
        "name": "outcome",
        "seed": seed,
        "operations": len(made),
        "of_them_spares": sum(len(cell.spares) for cell in run),
        "met_a_fault": round(met / len(made), 3),
        "target_met": ">= 0.3",
        "tenure": spread(ours.counts[one.name] for one in made),
        "with_find": ends_of(finding, ours),
        "alone_with_find": round(alone / (len(finding) or 1), 4),
        "target_alone": ">= 0.99",
        "without_find": ends_of([one for one in made if not one.finds], ours),
        "strays": ours.strays,
        "not_done_in_time": sorted(name for cell in run for name in cell.late),
        "bad": {
            name: [end, *ours.said.get(name, ())] for name, end in ours.ends.items() if end in (TWICE, LOST)
        },
        "takeovers": sum(cell.reruns for cell in run),
        "deaths": dict(sorted(deaths.items())),
        "attention": dict(sorted(kinds.items())),
    }


def ends_of(some: list[Operation], ours: Tenure) -> dict[str, int]:
    return dict(sorted(Counter(ours.ends[one.name] for one in some).items()))


def problems(found: list[dict[str, Any]]) -> list[str]:
    """What a run must not show."""
    said: list[str] = []
    for line in found:
        if line["name"] == "outcome":
            said += [f"{name}: {end}" for name, end in line["bad"].items()]
            said += [f"{name} was not done in time" for name in line["not_done_in_time"]]
            said += ["the provider did what nobody asked for"] * bool(line["strays"])
            said += ["fewer than 99 in 100 ended by themselves"] * (line["alone_with_find"] < 0.99)
            said += ["fewer than 30 in 100 met a fault"] * (line["met_a_fault"] < 0.3)
            said += [f"{how}: {times}" for how, times in line["deaths"].items() if "killed" not in how]
        elif line["name"] == "points":
            said += ["a point was hit too seldom"] * (line["least_hits"] < line["target"])
            said += [f"{name} was armed and never met" for name in line["never_met"]]
    return said


def main(words: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.effects", description=__doc__)
    parser.add_argument("--operations", type=whole(1, 1_000_000), default=OPERATIONS, metavar="N")
    parser.add_argument("--seed", type=whole(0, MOST_SEED), default=SEED, metavar="N")
    parser.add_argument("--cells", type=whole(1, 64), default=CELLS, metavar="N")
    parser.add_argument("--scenario", action="append", metavar="NAME", help="only these, one operation each")
    parser.add_argument("--without-plain", action="store_true")
    asked = parser.parse_args(words)
    refuse_unknown(parser, "scenario", asked.scenario or (), (one.name for one in SCENARIOS))
    made = only(asked.scenario, asked.seed) if asked.scenario else operations(asked.seed, asked.operations)
    found: list[dict[str, Any]] = []
    for line in fault_run(made, asked.seed, asked.cells, beside=not asked.without_plain):
        found.append(line)
        print(json.dumps(line), flush=True)
    said = problems(found)
    for one in said:
        print(one, file=sys.stderr)
    sys.exit(bool(said))


if __name__ == "__main__":
    main()
