"""The file of the node's store: its tables, which schemas are understood, and what its errors mean.

A migration only ever expands; a file of a newer schema is refused before anything in it is touched.
"""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any, NoReturn

from tenure.errors import (
    ConflictError,
    DataFolderTooNewError,
    StorageFailedError,
    StorageFullError,
    UnavailableError,
)

SCHEMA = 2
"""Of the file. Raised with every change of the tables; older files are brought up step by step, by the daemon only."""

STEPS = (
    """
    CREATE TABLE identity (
        only INTEGER PRIMARY KEY CHECK (only = 1),
        credential TEXT NOT NULL,
        was_sent INTEGER NOT NULL DEFAULT 0,
        node_id TEXT,
        generation INTEGER NOT NULL DEFAULT 0,
        incarnation TEXT NOT NULL DEFAULT ''
    ) STRICT;
    CREATE TABLE delivery (
        delivery_id TEXT PRIMARY KEY,
        attempt_id TEXT NOT NULL,
        body BLOB NOT NULL,
        stage TEXT NOT NULL DEFAULT 'mirrored' CHECK (stage IN ('mirrored', 'ended', 'closed')),
        outcome BLOB,
        handback TEXT,
        tree_gone INTEGER NOT NULL DEFAULT 0,
        answer TEXT,
        released INTEGER NOT NULL DEFAULT 0,
        CHECK (stage <> 'ended' OR (outcome IS NULL) <> (handback IS NULL))
    ) STRICT, WITHOUT ROWID;
    CREATE TRIGGER body_is_frozen BEFORE UPDATE OF delivery_id, attempt_id, body ON delivery
    BEGIN SELECT RAISE(ABORT, 'a mirrored Delivery never changes'); END;
    """,
    """
    CREATE TABLE counted (
        only INTEGER PRIMARY KEY CHECK (only = 1),
        commits INTEGER NOT NULL
    ) STRICT;
    INSERT INTO counted (only, commits) VALUES (1, 0);
    """,
)
"""Step n brings a file of schema n to schema n + 1."""

_SQLITE_FULL = 13
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT})


def schema_of(connection: Any, path: Path) -> int:
    """The schema of an opened file; 0 where it has no tables yet.

    Raises:
        DataFolderTooNewError: a newer version wrote it.
    """
    (stored,) = connection.execute("PRAGMA user_version").fetchone()
    if stored > SCHEMA:
        raise DataFolderTooNewError(
            f"{path} has schema {stored}; this version reads up to {SCHEMA}. Upgrade Tenure.",
            path=str(path),
            format=stored,
            supported=SCHEMA,
        )
    return stored


def refuse_older(stored: int, path: Path) -> None:
    """Refuses to look into a file that is not up to date.

    Raises:
        ConflictError: it is of an older version.
    """
    if stored < SCHEMA:
        raise ConflictError(
            f"{path} has schema {stored}, of an older version; this one reads {SCHEMA}. Start the node once (`tenure up`"
            " or `tenure node`): it brings its store up to date.",
            path=str(path),
            format=stored,
            supported=SCHEMA,
        )


def is_full(error: Exception) -> bool:
    """Was there no room?"""
    is_full = getattr(error, "sqlite_errorcode", 0) & 0xFF == _SQLITE_FULL
    return is_full or getattr(error, "errno", None) in _NO_ROOM


def refuse_unreadable(path: Path, error: ValueError) -> NoReturn:
    """What a caller hears of a row that cannot be read.

    Raises:
        DataFolderTooNewError: always.
    """
    raise DataFolderTooNewError(
        f"{path} holds a Delivery that this version cannot read ({error}); start the version that wrote"
        " it, and let its work end first",
        path=str(path),
    ) from error


def storage_error(path: Path, error: Exception) -> UnavailableError:
    """What a caller hears of an error that left nothing behind."""
    if is_full(error):
        return StorageFullError(
            f"there is no room to write {path} ({error}); free some space", path=str(path)
        )
    return StorageFailedError(f"{path} cannot be used ({error}); look at the disk", path=str(path))
