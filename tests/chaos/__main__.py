"""`python -m tests.chaos [--minutes M] [--seed N] [--keep]`: real processes under faults, and what became of everything.

Ends with 1 if anything is wrong, and then says where the folder with logs and history is. However it ends, nothing that it
started is left on the machine: a second process, which does nothing else, cleans up when this one is gone."""

from __future__ import annotations

import argparse
import asyncio
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.chaos.driver import Driver, Orders, Outcome
from tests.chaos.leftovers import clean_up
from tests.chaos.machine import Abilities, install_faketime
from tests.chaos.summary import summary


def main() -> int:
    asked = options().parse_args()
    if asked.install:
        say(install_faketime())
    seed = asked.seed if asked.seed is not None else secrets.randbelow(1_000_000)
    orders = Orders(seconds=asked.minutes * 60, seed=seed, without=tuple(asked.without), brief=asked.brief)
    return ran(orders, keep=asked.keep)


def ran(orders: Orders, *, keep: bool) -> int:
    """One run; the exit code."""
    folder = Path(tempfile.mkdtemp(prefix="tenure-chaos-"))
    run = str(folder)
    (folder / "trial").mkdir()
    (folder / "trial" / "boot_id").write_text("trial\n")
    abilities = Abilities(folder / "trial", orders.without)
    say(f"chaos: {folder} seed {orders.seed}")
    words = [sys.executable, "-m", "tests.chaos.reaper", run]
    reaper = subprocess.Popen(words, stdin=subprocess.PIPE, start_new_session=True)
    wrong = True
    try:
        outcome = asyncio.run(interruptible(Driver(folder, abilities, orders)))
        text = summary(outcome)
        (folder / "summary.txt").write_text(text + "\n")
        say(text)
        wrong = bool(outcome.violations)
    finally:
        if wrong or keep:
            abilities.keep(folder)
        clean_up(run, folder, abilities.unmount)
        reaper.communicate()
        if wrong or keep:
            say(f"kept: {folder} (seed {orders.seed})")
        else:
            shutil.rmtree(folder, ignore_errors=True)
    return int(wrong)


async def interruptible(driver: Driver) -> Outcome:
    """An interruption ends the faults, and the rest of the run goes on: coming to rest, and the checks."""
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, driver.ended.set)
    return await driver.run(lambda text: say(f"chaos: {text}"))


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0, help="how long faults are injected")
    parser.add_argument("--seed", type=int, help="of the plan of faults and of the work; else any")
    parser.add_argument(
        "--brief", action="store_true", help="little work and short faults, for a run of well under a minute"
    )
    parser.add_argument("--keep", action="store_true", help="keep the folder though nothing is wrong")
    parser.add_argument(
        "--without", action="append", default=[], metavar="KIND", help="a kind of fault to leave out"
    )
    parser.add_argument(
        "--install", action="store_true", help="install libfaketime where it is missing and may be installed"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
