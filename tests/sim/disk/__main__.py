"""`python -m tests.sim.disk [CAMPAIGN ...] [--every N] [--seed N] [--json]`: every case of the attacks on the disk.

Prints a line for each campaign and what did not hold (with `--json` all of it as one value at the end); ends with 1 if
anything did not."""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import json
import logging
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tenure.cli.text.counting import counted
from tools.options import MOST_SEED, needs, refuse_unknown, whole

if TYPE_CHECKING:
    from tests.sim.disk.campaigns import Campaign, Case

SHOWN = 5
MOST_EVERY = 1_000_000


def main(words: list[str] | None = None) -> int:
    known = campaigns()
    parser = argparse.ArgumentParser(prog="python -m tests.sim.disk", description=__doc__)
    parser.add_argument(
        "campaign", nargs="*", metavar="CAMPAIGN", help=f"of {', '.join(known) or 'many'}; else all"
    )
    parser.add_argument(
        "--every", type=whole(1, MOST_EVERY), default=1, metavar="N", help="only each so many-th case"
    )
    parser.add_argument("--seed", type=whole(0, MOST_SEED), default=0, metavar="N")
    parser.add_argument("--json", action="store_true", help="say it as JSON, at the end")
    arguments = parser.parse_args(words)
    needs(parser, "apsw")
    refuse_unknown(parser, "campaign", arguments.campaign, known)
    # Thousands of failures are provoked, and each would be logged.
    logging.disable(logging.CRITICAL)
    began = time.monotonic()
    results: list[Result] = []
    for name in arguments.campaign or known:
        results.append(asyncio.run(run(name, known[name], arguments.every, arguments.seed)))
        for line in told(results[-1]):
            # Beside the JSON it only shows that it goes on.
            (sys.stderr if arguments.json else sys.stdout).write(f"{line}\n")
            sys.stdout.flush()
    failed = sum(len(one.bad) for one in results)
    if arguments.json:
        cases = {one.name: {"cases": one.cases, "violations": len(one.bad)} for one in results}
        took_s = round(time.monotonic() - began, 1)
        sys.stdout.write(f"{json.dumps({'campaigns': cases, 'violations': failed, 'took_s': took_s})}\n")
    return 1 if failed else 0


def campaigns() -> Mapping[str, Campaign]:
    """All campaigns; none where the library under the simulated disk is not installed."""
    if importlib.util.find_spec("apsw") is None:
        return {}
    from tests.sim.disk.campaigns import CAMPAIGNS

    return CAMPAIGNS


@dataclass
class Result:
    name: str
    cases: int
    bad: list[Case]
    took_s: float


async def run(name: str, campaign: Campaign, every: int, seed: int) -> Result:
    began = time.monotonic()
    cases = [case async for case in campaign(every, seed)]
    return Result(name, len(cases), [one for one in cases if one.violations], time.monotonic() - began)


def told(one: Result) -> Iterator[str]:
    yield f"{one.name}: {counted(one.cases, 'case')}, {len(one.bad)} with violations, {one.took_s:.0f} s"
    for case in one.bad[:SHOWN]:
        yield f"  {case.name}: {'; '.join(case.violations)[:400]}"
    if len(one.bad) > SHOWN:
        kinds = Counter(case.violations[0].partition(":")[0] for case in one.bad)
        yield f"  and {len(one.bad) - SHOWN} more: {dict(kinds)}"


if __name__ == "__main__":
    sys.exit(main())
