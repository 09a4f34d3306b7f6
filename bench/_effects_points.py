"""Points at which a process of the run dies, stops or repeats itself, each exactly once.

A point that is armed is a file in a folder. The process that comes there renames it, which exactly one can do and
which outlives the process, and then does it. So nothing is left to luck: which points were hit is what lies in the
folder of the spent ones, and a process that starts again needs to know nothing."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterable
from pathlib import Path

ANY = "any"
"""Stands for an operation where a process cannot know yet which one it will get."""


class Points:
    def __init__(self, folder: Path) -> None:
        self._armed, self._spent = folder / "armed", folder / "spent"
        self._stopped = folder / "stopped"
        for one in (self._armed, self._spent, self._stopped):
            one.mkdir(parents=True, exist_ok=True)

    # -- the processes of the run

    def take(self, operation: str, point: str) -> bool:
        """Is it armed? Then it no longer is. Of those of ANY one is taken."""
        if operation == ANY:
            return any(self.take(one, point) for one in self.armed_for(point) if one.startswith(ANY))
        name = f"{operation}.{point}"
        try:
            (self._armed / name).rename(self._spent / name)
        except FileNotFoundError:
            return False
        return True

    def die_at(self, operation: str, point: str) -> None:
        if self.take(operation, point):
            os.kill(os.getpid(), signal.SIGKILL)

    def stop_at(self, operation: str, point: str) -> None:
        """Stand still until the driver lets us go on."""
        if self.take(operation, point):
            (self._stopped / str(os.getpid())).touch()
            os.kill(os.getpid(), signal.SIGSTOP)

    def armed_for(self, point: str) -> list[str]:
        """The operations for which a point is armed."""
        names = (one.name.partition(".") for one in self._armed.iterdir())
        return [operation for operation, _, armed in names if armed == point]

    # -- the driver

    def arm(self, names: Iterable[str]) -> None:
        for name in names:
            (self._armed / name).touch()

    def disarm(self) -> list[str]:
        """What was armed and never met; after it nothing is."""
        names = sorted(one.name for one in self._armed.iterdir())
        for name in names:
            (self._armed / name).unlink(missing_ok=True)
        return names

    def spent(self) -> list[str]:
        return sorted(one.name for one in self._spent.iterdir())

    def stopped(self) -> list[int]:
        """Processes that stand still now, each told once."""
        found = [int(one.name) for one in self._stopped.iterdir()]
        for pid in found:
            (self._stopped / str(pid)).unlink()
        return found


def end_with_driver() -> None:
    """A process of the run whose driver is gone, however it went, ends."""
    driver = multiprocessing.parent_process()

    def watch() -> None:
        if driver is not None:
            driver.join()
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
