"""`python -m tests.sim.disk [CAMPAIGN ...] [--every N] [--seed N]`: every case of the attacks on the disk.

Prints a line for each campaign and what did not hold; ends with 1 if anything did not."""

from __future__ import annotations

import argparse
import asyncio
import logging
import sys
import time
from collections import Counter

from tests.sim.disk.campaigns import CAMPAIGNS

SHOWN = 5


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.sim.disk", description=__doc__)
    parser.add_argument("campaign", nargs="*", choices=[*CAMPAIGNS, []], help="all of them, if none is named")
    parser.add_argument("--every", type=int, default=1, help="only each so many-th case")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    # Thousands of failures are provoked, and each would be logged.
    logging.disable(logging.CRITICAL)
    failed = 0
    for name in arguments.campaign or CAMPAIGNS:
        failed += asyncio.run(run(name, arguments.every, arguments.seed))
    return 1 if failed else 0


async def run(name: str, every: int, seed: int) -> int:
    began = time.monotonic()
    count, bad, kinds = 0, [], Counter[str]()
    async for case in CAMPAIGNS[name](every, seed):
        count += 1
        if case.violations:
            bad.append(case)
            kinds[case.violations[0].partition(":")[0]] += 1
    say(f"{name}: {count} cases, {len(bad)} with violations, {time.monotonic() - began:.0f} s")
    for case in bad[:SHOWN]:
        say(f"  {case.name}: {'; '.join(case.violations)[:400]}")
    if len(bad) > SHOWN:
        say(f"  and {len(bad) - SHOWN} more: {dict(kinds)}")
    return len(bad)


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
