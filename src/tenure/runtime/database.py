"""Opens SQLite databases: the driver that the ledger and the node's mirror are handed."""

from __future__ import annotations

import os
import sqlite3
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

from tenure.runtime.data_folder import FILE_MODE

_PIECE_BYTES = 1 << 20


def connect_record(path: Path, read_only: bool) -> sqlite3.Connection:
    """A connection to the hub's record: to read it, or as `connect_writer` makes it.

    Raises:
        sqlite3.OperationalError: it cannot be opened.
        OSError: it cannot be made, or its log cannot be written.
    """
    return connect_database(path, read_only=True) if read_only else connect_writer(path)


def connect_writer(path: Path) -> sqlite3.Connection:
    """A connection for the one process that writes a database, and holds the lock of the part it lies in.

    The file is made where it is missing, for its user alone. Its log is written again before it is opened (`rewrite_log`).

    Raises:
        sqlite3.OperationalError: it cannot be opened.
        OSError: it cannot be made, or its log cannot be written.
    """
    os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, FILE_MODE))
    rewrite_log(path)
    return connect_database(path)


def connect_database(path: Path, *, read_only: bool = False, wait_s: float = 0.0) -> sqlite3.Connection:
    """A connection that any thread may use, one at a time.

    The file is made where it is missing, unless it is only to be read. `wait_s`: how long to wait for another process's
    lock.

    Raises:
        sqlite3.OperationalError: it cannot be opened.
    """
    mode = "ro" if read_only else "rwc"
    address = f"file:{quote(str(path.absolute()))}?mode={mode}"
    return sqlite3.connect(address, uri=True, timeout=wait_s, check_same_thread=False)


def rewrite_log(path: Path) -> None:
    """Write a database's write-ahead log again, byte by byte as it is read, and flush it. Nothing, where there is none.

    A flush that fails leaves pages in the kernel's memory that count as clean: they can be read, no later flush writes
    them, and a loss of power loses them. SQLite, opening the log, would take such frames for committed, and what is
    then committed behind them would be lost with them. After this, what can be read is what survives. The bytes do not
    change, so it may be interrupted and repeated, and readers may look on; nobody may write meanwhile.

    Raises:
        OSError: it cannot be read, written or flushed.
    """
    with suppress(FileNotFoundError):
        log = os.open(f"{path}-wal", os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            at = 0
            while piece := os.pread(log, _PIECE_BYTES, at):
                at += os.pwrite(log, piece, at)
            if at:
                os.fsync(log)
        finally:
            os.close(log)


def sqlite_version() -> str:
    """The version of the SQLite library that this Python uses."""
    return sqlite3.sqlite_version
