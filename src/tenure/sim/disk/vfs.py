"""SQLite's door to the simulated disk: a VFS of its own for each disk.

Only the database's lock and the log's shared index are not simulated. They are those of SQLite's own port
(`unix-excl`: the index is in the heap, shared by the connections of this process), taken on an empty file in a
temporary folder, because the VFS interface of Python has no way to give an index of one's own. Neither outlives a
process, so nothing of them could survive a crash.
"""

from __future__ import annotations

from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Protocol, final

import apsw

from tenure.sim.disk.failures import Op

if TYPE_CHECKING:
    from tenure.sim.disk.file import DiskFile

_PORT = "unix-excl"
_SECTOR = 4096
_LOGS = apsw.SQLITE_OPEN_MAIN_JOURNAL | apsw.SQLITE_OPEN_SUPER_JOURNAL | apsw.SQLITE_OPEN_WAL
_NAMED = _LOGS | apsw.SQLITE_OPEN_MAIN_DB
_LOCK = apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
_numbers = count(1)


class Files(Protocol):
    """The disk, as the VFS sees it. What fails raises an `apsw.Error` with the code that SQLite is to hear."""

    def opened(self, path: str, may_create: bool, is_log: bool) -> DiskFile: ...

    def scratch(self) -> DiskFile: ...

    def has(self, path: str) -> bool: ...

    def delete(self, path: str, *, is_durable: bool) -> None: ...

    def meet(self, op: Op, path: str) -> None:
        """An operation begins that the file itself carries out."""
        ...

    def write(self, file: DiskFile, path: str, data: bytes, offset: int) -> None: ...

    def sync(self, file: DiskFile, path: str) -> None: ...

    def wait_ns(self, nanoseconds: int) -> None: ...


@final
class DiskVfs(apsw.VFS):
    """Opens, deletes and finds the files of one disk."""

    def __init__(self, disk: Files) -> None:
        self.name = f"tenure-disk-{next(_numbers)}"
        super().__init__(self.name, _PORT)
        self._disk = disk
        self._locks = TemporaryDirectory(prefix="tenure-disk-")
        self._lock_files: dict[str, str] = {}

    def close(self) -> None:
        """Take the VFS out of SQLite. No connection may be open."""
        self.unregister()
        self._locks.cleanup()

    def xOpen(  # noqa: N802 - SQLite's name
        self, name: str | apsw.URIFilename | None, flags: list[int]
    ) -> apsw.VFSFile:
        """A file that is there, or is made where the flags allow it; one without a name is scratch memory."""
        asked = flags[0]
        flags[1] = asked
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        if path is None or not asked & _NAMED:
            return Handle(self._disk, self._disk.scratch(), "")  # pyright: ignore[reportReturnType] - any object with the methods will do
        file = self._disk.opened(path, bool(asked & apsw.SQLITE_OPEN_CREATE), bool(asked & _LOGS))
        if asked & apsw.SQLITE_OPEN_MAIN_DB:
            lock = self._lock_files.setdefault(path, str(Path(self._locks.name) / str(len(self._lock_files))))
            return LockedHandle(self._disk, file, path, lock)
        return Handle(self._disk, file, path)  # pyright: ignore[reportReturnType] - any object with the methods will do

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802 - SQLite's name
        self._disk.delete(filename, is_durable=syncdir)

    def xAccess(self, pathname: str, flags: int) -> bool:  # noqa: N802 - SQLite's name
        return self._disk.has(pathname)

    def xFullPathname(self, name: str) -> str:  # noqa: N802 - SQLite's name
        return name

    def xSleep(self, microseconds: int) -> int:  # noqa: N802 - SQLite's name
        self._disk.wait_ns(microseconds * 1000)
        return microseconds


class _Content:
    """Reads and writes of one open file."""

    _disk: Files
    _file: DiskFile
    _path: str

    def xRead(self, amount: int, offset: int) -> bytes:  # noqa: N802 - SQLite's name
        if self._path:
            self._disk.meet(Op.READ, self._path)
        return self._file.read(amount, offset)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802 - SQLite's name
        if self._path:
            self._disk.write(self._file, self._path, data, offset)
        else:
            self._file.write(data, offset)

    def xTruncate(self, newsize: int) -> None:  # noqa: N802 - SQLite's name
        if self._path:
            self._disk.meet(Op.TRUNCATE, self._path)
        self._file.truncate(newsize)

    def xSync(self, flags: int) -> None:  # noqa: N802 - SQLite's name
        if self._path:
            self._disk.sync(self._file, self._path)

    def xFileSize(self) -> int:  # noqa: N802 - SQLite's name
        return len(self._file.seen)

    def xFileControl(self, op: int, ptr: int) -> bool:  # noqa: N802 - SQLite's name
        return False

    def xSectorSize(self) -> int:  # noqa: N802 - SQLite's name
        return _SECTOR

    def xDeviceCharacteristics(self) -> int:  # noqa: N802 - SQLite's name
        return apsw.SQLITE_IOCAP_POWERSAFE_OVERWRITE


@final
class Handle(_Content):
    """A journal, a log, or scratch memory: SQLite locks none of them."""

    def __init__(self, disk: Files, file: DiskFile, path: str) -> None:
        self._disk = disk
        self._file = file
        self._path = path

    def xClose(self) -> None:  # noqa: N802 - SQLite's name
        pass

    def xLock(self, level: int) -> None:  # noqa: N802 - SQLite's name
        pass

    def xUnlock(self, level: int) -> None:  # noqa: N802 - SQLite's name
        pass

    def xCheckReservedLock(self) -> bool:  # noqa: N802 - SQLite's name
        return False


@final
class LockedHandle(_Content, apsw.VFSFile):
    """A database: its locks and the index of its log are those of SQLite's own port, on the empty file `lock`."""

    def __init__(self, disk: Files, file: DiskFile, path: str, lock: str) -> None:
        apsw.VFSFile.__init__(self, _PORT, lock, [_LOCK, 0])
        self._disk = disk
        self._file = file
        self._path = path
