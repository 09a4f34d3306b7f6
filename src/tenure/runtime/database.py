"""Opens SQLite databases: the driver that the ledger and the node's mirror are handed."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from urllib.parse import quote


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


def sqlite_version() -> str:
    """The version of the SQLite library that this Python uses."""
    return sqlite3.sqlite_version
