"""The simulated disk: files in memory, their names in one folder, and everything that can happen to them.

It knows what a kernel knows (what processes see) and what the medium knows (what survives). A name that was made or
deleted is durable after a sync of the folder, which SQLite asks for when it first syncs a new journal or log. Until
then a loss of power may take either back, each name for itself.

All connections are the real SQLite's, over a VFS of this disk. They may be used from any thread, one at a time, as long
as no two threads are at the disk at once. Nothing here depends on time or on chance but for `rng`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, cast, final

import apsw

from tenure.sim.disk.driver import DiskConnection, raise_as_sqlite3
from tenure.sim.disk.failures import FAILED, NEVER, Failures, Op, refuse
from tenure.sim.disk.file import DiskFile, Keeping
from tenure.sim.disk.vfs import DiskVfs

if TYPE_CHECKING:
    import sqlite3

_PIECE_BYTES = 1 << 20


@final
class SimulatedDisk:
    """One machine's disk. `pass_ns` is told how long an operation takes (see `slow`) and how long SQLite waits for a lock;
    without it nothing takes time. Close it at the end: SQLite keeps a table of VFSs."""

    def __init__(self, rng: Random, pass_ns: Callable[[int], None] | None = None) -> None:
        self.lies = False
        """Does a sync only say that it was done? To show that the checks can see loss."""
        self.checkpoint_frames: int | None = None
        """How long a log grows before it is folded in, in place of what `PRAGMA wal_autocheckpoint` asks for: a short run
        would never come to it."""
        self.failures = Failures()
        self._rng = rng
        self._pass_ns = pass_ns
        self._slow: dict[Op, int] = {}
        self._budget: int | None = None
        self._names: dict[str, DiskFile] = {}
        self._kept_names: dict[str, DiskFile] = {}
        self._unsynced_names: dict[str, list[DiskFile | None]] = {}
        self._files = 0
        self._connections: set[DiskConnection] = set()
        self._vfs = DiskVfs(self)

    # -- what the parts are handed

    def connect(
        self, path: Path | str, *, read_only: bool = False, wait_s: float = 0.0, owner: str = ""
    ) -> sqlite3.Connection:
        """A connection, in the shape of `runtime.database.connect_database`. `owner` names the process (see `kill`).

        Raises:
            sqlite3.OperationalError: there is no such file, or there is no power.
        """
        flags = (
            apsw.SQLITE_OPEN_READONLY if read_only else apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
        )
        # Kept until it is closed: one that is only forgotten must not fold the log in as it goes.
        connection = DiskConnection(
            str(path), self._vfs.name, flags, wait_s, owner, self._connections.discard
        )
        if self.checkpoint_frames is not None:
            connection.fix_checkpoints(self.checkpoint_frames)
        self._connections.add(connection)
        return cast("sqlite3.Connection", connection)

    def connect_writer(self, path: Path | str, *, owner: str = "") -> sqlite3.Connection:
        """The same as `runtime.database.connect_writer`: the log is written again before it is opened. What a Mirror takes.

        Raises:
            sqlite3.OperationalError: it cannot be opened, or its log cannot be written.
        """
        try:
            self.rewrite_log(path)
        except apsw.Error as error:
            raise_as_sqlite3(error)
        return self.connect(path, owner=owner)

    def connector(self, path: Path | str, owner: str = "") -> Callable[[bool], sqlite3.Connection]:
        """What a SqliteLedger takes as its `connect`."""

        def connect(read_only: bool) -> sqlite3.Connection:
            if read_only:
                return self.connect(path, read_only=True, owner=owner)
            return self.connect_writer(path, owner=owner)

        return connect

    def rewrite_log(self, path: Path | str) -> None:
        """The same as `runtime.database.rewrite_log`.

        Raises:
            apsw.Error: it cannot be written or flushed.
        """
        name = f"{path}-wal"
        log = self._names.get(name)
        if log is not None and log.seen:
            for at in range(0, len(log.seen), _PIECE_BYTES):
                self.meet(Op.READ, name)
                self.write(log, name, log.read(_PIECE_BYTES, at), at)
            self.sync(log, name)

    def fork(self, rng: Random) -> SimulatedDisk:
        """Another disk with the same files, also with what is not synced yet; nobody has anything open on it, and nothing
        is planned to fail. So one moment can be crashed in many ways."""
        other = SimulatedDisk(rng)
        copies: dict[int, DiskFile] = {}

        def copy(file: DiskFile) -> DiskFile:
            return copies.setdefault(file.number, file.copy())

        other.checkpoint_frames = self.checkpoint_frames
        other._files = self._files
        other._names = {path: copy(file) for path, file in self._names.items()}
        other._kept_names = {path: copy(file) for path, file in self._kept_names.items()}
        other._unsynced_names = {
            path: [file and copy(file) for file in versions]
            for path, versions in self._unsynced_names.items()
        }
        return other

    def close(self) -> None:
        """Let go of every connection and of the VFS."""
        self._let_go(None)
        self._vfs.close()

    # -- what happens to it

    def kill(self, owner: str | None = None) -> None:
        """A process dies (all of them, without an owner): its connections are dead, nothing is lost."""
        self.counts["kill"] += 1
        self._let_go(owner)

    def crash(self, keeping: Keeping | None = None) -> None:
        """Power goes and comes back: all connections are dead, and of what was not synced some is kept, as chance has it
        or as `keeping` says. Planned failures are forgotten; the budget stays."""
        self.counts["crash"] += 1
        self._let_go(None)
        keeping = keeping or self._rng.choice(list(Keeping))
        self.counts[f"crash keeping {keeping}"] += 1
        self._lose_names(keeping)
        for _, file in sorted(self._names.items()):
            if file.is_clean:
                continue
            loss = file.lose_power(self._rng, keeping)
            self.counts["writes lost"] += loss.lost
            self.counts["writes torn"] += loss.torn
            self.counts["writes reordered"] += loss.reordered
            self.counts["sizes lost"] += loss.cut
        self.failures.forget()
        self.failures.is_off, self.failures.cut_at = False, NEVER

    def cut_power(self, after: int) -> None:
        """After so many more operations that change something there is no power: all fail until `crash`."""
        self.failures.cut_at = self.failures.changes + after

    def fail(
        self, op: Op | None, after: int = 0, times: int = 1, name: str = "", then_cut: int | None = None
    ) -> None:
        """After so many more operations of this kind, fail so many. `op` None is any that changes something; `name` is how
        the file's name ends (`-wal`). `then_cut`: so many changes after the last of them the power goes."""
        self.failures.plan(op, after, times, name, then_cut)

    def set_budget(self, total_bytes: int | None) -> None:
        """How much all files together may hold; None is without end. What is there already stays."""
        self._budget = total_bytes

    def slow(self, op: Op, nanoseconds: int) -> None:
        """Every operation of this kind takes so long from now on."""
        self._slow[op] = nanoseconds

    def flip_bit(self, path: Path | str, place: int | None = None) -> int:
        """Turn one bit of a file over where it is kept (anywhere, without a place); the bit's number.

        Raises:
            KeyError: there is no such file.
        """
        file = self._names[str(path)]
        place = self._rng.randrange(len(file.kept) * 8) if place is None else place
        file.flip_bit(place)
        self.counts["bit flipped"] += 1
        return place

    # -- what can be asked

    @property
    def counts(self) -> Counter[str]:
        """How often each thing happened, by name; of operations, how many were begun."""
        return self.failures.counts

    @property
    def changes(self) -> int:
        """How many operations that change something were begun."""
        return self.failures.changes

    @property
    def used_bytes(self) -> int:
        return sum(len(one.seen) for one in self._names.values())

    def has(self, path: Path | str) -> bool:
        return str(path) in self._names

    def size(self, path: Path | str) -> int:
        """Bytes of a file, as it is seen; 0 where there is none."""
        file = self._names.get(str(path))
        return 0 if file is None else len(file.seen)

    # -- what the VFS does

    def meet(self, op: Op, path: str) -> None:
        """An operation of a process.

        Raises:
            apsw.Error: it fails.
        """
        if self._begins(op, path):
            refuse(FAILED[op])

    def _begins(self, op: Op, path: str) -> bool:
        """Is it to fail?"""
        if op in self._slow:
            self.wait_ns(self._slow[op])
        return self.failures.meet(op, path)

    def wait_ns(self, nanoseconds: int) -> None:
        if self._pass_ns is not None:
            self._pass_ns(nanoseconds)

    def scratch(self) -> DiskFile:
        self._files += 1
        return DiskFile(self._files)

    def opened(self, path: str, may_create: bool, is_log: bool) -> DiskFile:
        """The file of this name.

        Raises:
            apsw.Error: there is none, or it cannot be made.
        """
        file = self._names.get(path)
        if file is not None:
            if self.failures.is_off:
                refuse(apsw.SQLITE_CANTOPEN)
            return file
        if not may_create:
            refuse(apsw.SQLITE_CANTOPEN)
        self.meet(Op.CREATE, path)
        self._files += 1
        file = DiskFile(self._files, is_new_log=is_log)
        self._names[path] = file
        self._unsynced_names.setdefault(path, []).append(file)
        return file

    def delete(self, path: str, *, is_durable: bool) -> None:
        if path not in self._names:
            return
        self.meet(Op.DELETE, path)
        del self._names[path]
        self._unsynced_names.setdefault(path, []).append(None)
        if is_durable:
            self._sync_names()

    def write(self, file: DiskFile, path: str, data: bytes, offset: int) -> None:
        """Write to a file; what there is no room for is not written, what stands before it is.

        Raises:
            apsw.Error: it fails, or there is no room for all of it.
        """
        if self._begins(Op.WRITE, path):
            some = self._rng.randrange(len(data)) // 512 * 512
            if some and self._rng.random() < 0.5:
                file.write(data[:some], offset)
            refuse(FAILED[Op.WRITE])
        if self._budget is not None:
            growth = offset + len(data) - len(file.seen)
            room = max(0, self._budget - self.used_bytes)
            if growth > room:
                self.counts["no room"] += 1
                fits = len(data) - (growth - room)
                if fits > 0:
                    self.counts["short write"] += 1
                    file.write(data[:fits], offset)
                refuse(apsw.SQLITE_FULL)
        file.write(data, offset)

    def sync(self, file: DiskFile, path: str) -> None:
        """Make a file durable, and with a new journal or log the names of its folder.

        Raises:
            apsw.Error: it fails. Some of what waited was written, the rest never will be.
        """
        if self._begins(Op.SYNC, path):
            file.fail_sync(self._rng)
            refuse(FAILED[Op.SYNC])
        if self.lies:
            return
        file.sync()
        if file.is_new_log:
            file.is_new_log = False
            self._sync_names()

    # -- inside

    def _sync_names(self) -> None:
        if not self.lies:
            self._kept_names = dict(self._names)
            self._unsynced_names.clear()

    def _lose_names(self, keeping: Keeping) -> None:
        names = dict(self._kept_names)
        for path, versions in sorted(self._unsynced_names.items()):
            kept = len(versions)
            if keeping is not Keeping.EVERYTHING:
                kept = 0 if keeping is Keeping.NOTHING else self._rng.randrange(len(versions) + 1)
            self.counts["names lost"] += kept < len(versions)
            if kept:
                file = versions[kept - 1]
                if file is None:
                    names.pop(path, None)
                else:
                    names[path] = file
        self._names = names
        self._kept_names = dict(names)
        self._unsynced_names.clear()

    def _let_go(self, owner: str | None) -> None:
        self.failures.is_silent = True
        try:
            for connection in list(self._connections):
                if owner is None or connection.owner == owner:
                    connection.die()
        finally:
            self.failures.is_silent = False
