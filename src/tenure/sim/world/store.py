"""The part of a data folder that one node has: its files are real and small, its lock is the world's own.

A lock of the operating system would be held by this very process for ever; here it goes with the daemon that took it."""

from __future__ import annotations

import random
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol, final

from tenure.errors import DataFolderBusyError
from tenure.runtime.database import connect_database, connect_writer
from tenure.sim.disk.disk import SimulatedDisk
from tenure.sim.disk.failures import Op
from tenure.sim.world.loop import CURRENT, Process

CHECKPOINT_FRAMES = 30
SPARE_BYTES = 4_096


class Store(Protocol):
    """Where a node's mirror is kept."""

    def connect(self, path: Path) -> Any:
        """For the daemon that runs now."""
        ...

    def look(self, path: Path) -> Any:
        """For somebody who stands beside and only reads."""
        ...

    def kill(self, owner: str) -> None: ...

    def lose_power(self) -> None: ...

    def lose_all(self, folder: Path) -> None:
        """Somebody deletes it."""
        ...

    def fail(self, size: float) -> None: ...

    def heal(self) -> None: ...

    def close(self) -> None: ...


@final
class InFiles:
    """Real files, which no fault reaches: what was written is there."""

    def connect(self, path: Path) -> Any:
        return connect_writer(path)

    def look(self, path: Path) -> Any:
        return connect_database(path, read_only=True)

    def kill(self, owner: str) -> None:
        """Its connections are of this very process; nobody waits for them."""

    def lose_power(self) -> None:
        """Each write is there at once."""

    def lose_all(self, folder: Path) -> None:
        for file in sorted(folder.glob("mirror.db*")):
            file.unlink()

    def fail(self, size: float) -> None:
        """These files do not fail."""

    def heal(self) -> None:
        """Nothing is broken."""

    def close(self) -> None:
        """There is nothing to let go of."""


@final
class OnDiskStore:
    """On a disk that loses what was not synced, fills up, and fails."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._disk = self._new_disk()

    def connect(self, path: Path) -> Any:
        return self._disk.connect_writer(path, owner=CURRENT.get().name)

    def look(self, path: Path) -> Any:
        return self._disk.connect(path, read_only=True)

    def kill(self, owner: str) -> None:
        self._disk.kill(owner)

    def lose_power(self) -> None:
        self._disk.crash()

    def lose_all(self, folder: Path) -> None:
        self._disk.close()
        self._disk = self._new_disk()

    def fail(self, size: float) -> None:
        if size < 0.4:
            self._disk.set_budget(self._disk.used_bytes + int(size * SPARE_BYTES))
        elif size < 0.7:
            self._disk.fail(Op.WRITE, after=int(size * 10), times=1 + int(size * 10))
        else:
            self._disk.fail(Op.SYNC, after=int(size * 4), times=1 + int(size * 4))
            self._disk.fail(Op.READ, after=int(size * 20), times=1 + int(size * 8))

    def heal(self) -> None:
        self._disk.set_budget(None)
        self._disk.failures.forget()

    def close(self) -> None:
        self._disk.close()

    def _new_disk(self) -> SimulatedDisk:
        disk = SimulatedDisk(self._chance)
        disk.checkpoint_frames = CHECKPOINT_FRAMES
        return disk


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
