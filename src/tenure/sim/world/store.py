"""The part of a data folder that one node has: its files are real and small, its lock is the world's own.

A lock of the operating system would be held by this very process for ever; here it goes with the daemon that took it."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import final

from tenure.errors import DataFolderBusyError
from tenure.sim.world.loop import CURRENT, Process


@final
class SimFolder:
    """`StoreFolder` of one machine."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._holder: Process | None = None

    def part(self, name: str) -> Path:
        path = self.root / name
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        return path

    @contextmanager
    def lock(self, name: str, program: str = "tenure") -> Generator[None]:
        """
        Raises:
            DataFolderBusyError: another daemon, which is alive, has it.
        """
        if self._holder is not None and self._holder.is_alive:
            raise DataFolderBusyError(f"{program}: {name} is held by {self._holder.name}")
        self._holder = mine = CURRENT.get()
        try:
            yield
        finally:
            if self._holder is mine:
                self._holder = None
