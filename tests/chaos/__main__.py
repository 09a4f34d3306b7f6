"""`python -m tests.chaos [--minutes M] [--seed N] [--keep]`: real processes under faults, and what became of everything.

Ends with 0 if nothing is wrong, with 1 if anything is, and then says where the folder with logs and history is, and with 2
if it cannot run as asked. However it ends, nothing that it started is left on the machine: a second process, which does nothing
else, cleans up when this one is gone."""

from __future__ import annotations

import argparse
import asyncio
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.chaos.driver import Driver, Orders, Outcome
from tests.chaos.leftovers import PREFIX, claim, clean_up, clear_killed_runs, keep_disks, release
from tests.chaos.machine import Abilities, install_faketime
from tests.chaos.plan import FORGE_FAULTS, KINDS
from tests.chaos.plant import PLANTS
from tests.chaos.summary import summary
from tools.options import MOST_SEED, above_none, whole

MOST_MINUTES = 24 * 60


def main() -> int:
    parser = options()
    asked = parser.parse_args()
    if not Path("/proc/self/environ").exists():
        parser.error("this machine has no /proc, by which a run finds its processes; run it on Linux")
    if asked.install:
        say(f"chaos: {install_faketime()}")
    try:
        for sentence in clear_killed_runs(Path(tempfile.gettempdir())):
            say(f"chaos: {sentence}")
    except RuntimeError as error:
        parser.error(str(error))
    orders = Orders(
        seconds=asked.minutes * 60,
        seed=asked.seed if asked.seed is not None else secrets.randbelow(1_000_000),
        without=tuple(asked.without),
        brief=asked.brief,
        plant=asked.plant,
    )
    return ran(orders, keep=asked.keep)


def ran(orders: Orders, *, keep: bool) -> int:
    """One run; the exit code."""
    folder = Path(tempfile.mkdtemp(prefix=PREFIX))
    claim(folder)
    words = [sys.executable, "-m", "tests.chaos.reaper", str(folder)]
    reaper = subprocess.Popen(words, stdin=subprocess.PIPE, start_new_session=True)
    say(f"chaos: {folder} seed {orders.seed}")
    keep_it = True
    try:
        outcome = asyncio.run(interruptible(Driver(folder, Abilities(folder, orders.without), orders)))
        text = summary(outcome)
        (folder / "summary.txt").write_text(text + "\n")
        say(text)
        keep_it = keep or outcome.wrong > 0
        return 1 if outcome.wrong else 0
    finally:
        if keep_it:
            keep_disks(folder)
        clean_up(folder)
        reaper.communicate()
        if keep_it:
            release(folder)
            say(f"kept: {folder} (seed {orders.seed})")
        else:
            shutil.rmtree(folder, ignore_errors=True)


async def interruptible(driver: Driver) -> Outcome:
    """An interruption ends the faults, and the rest of the run goes on: coming to rest, and the checks."""
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, driver.ended.set)
    began = time.monotonic()
    return await driver.run(lambda text: say(f"chaos: {time.monotonic() - began:.0f} s: {text}"))


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument(
        "--minutes",
        type=above_none(MOST_MINUTES, "minutes"),
        default=30.0,
        help="how long faults are injected (30)",
    )
    parser.add_argument(
        "--seed",
        type=whole(0, MOST_SEED),
        metavar="N",
        help="of the plan of faults and of the work; else any",
    )
    parser.add_argument(
        "--brief", action="store_true", help="more faults, and short ones, for a run of well under a minute"
    )
    parser.add_argument("--keep", action="store_true", help="keep the folder though nothing is wrong")
    parser.add_argument(
        "--without",
        action="append",
        default=[],
        choices=(*KINDS, *FORGE_FAULTS),
        metavar="KIND",
        help=f"a kind of fault to leave out: {', '.join(KINDS)}, or one of the provider's own",
    )
    told = "; ".join(f"{name}: {what}" for name, what in PLANTS.items())
    parser.add_argument("--plant", choices=tuple(PLANTS), help=f"a violation to make by hand ({told})")
    parser.add_argument(
        "--install", action="store_true", help="install libfaketime where it is missing and may be installed"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
