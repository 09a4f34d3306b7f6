"""What an error of SQLite means: no room, a failed storage, or a statement that the record refuses."""

from __future__ import annotations

import errno
import sqlite3

from tenure.errors import StorageFailedError, StorageFullError, UnavailableError

_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT})
_REFUSALS = (
    sqlite3.IntegrityError,
    sqlite3.DataError,
    sqlite3.InterfaceError,
    sqlite3.ProgrammingError,
    sqlite3.NotSupportedError,
)

STORAGE_ERRORS: tuple[type[Exception], ...] = (sqlite3.Error, OSError)


def found_no_room(error: Exception) -> bool:
    """Did the file system have no room for what SQLite wrote?

    At COMMIT too this is a plain no. The frame that makes a commit valid is the last one written to the log, and a
    write that found no room is never whole; so that frame is not there, nothing after a crash brings it back, and
    SQLite has rolled back.
    """
    return getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_FULL


def is_refusal(error: Exception) -> bool:
    """Did the database refuse what was said, rather than fail to keep it? Then a value or a rule is at fault:
    the same statement will be refused again."""
    return isinstance(error, _REFUSALS)


def storage_error(error: Exception) -> UnavailableError:
    """What a caller hears of a failure that left nothing behind."""
    if found_no_room(error) or getattr(error, "errno", None) in _NO_ROOM:
        return StorageFullError(
            f"there is no room for the record ({error}); nothing was committed. Free space, then send it again.",
            engine=str(error),
        )
    name = getattr(error, "sqlite_errorname", type(error).__name__)
    return StorageFailedError(
        f"the database failed ({name}: {error}); nothing was committed. Look at the disk and the hub's log.",
        engine=str(error),
        engine_code=name,
    )
