"""The shape of Python's `sqlite3` over apsw, so that the real ledger and the real mirror run on a simulated disk.

It has what they, the audit and SQLAlchemy's dialect use of the driver, and nothing else. Errors are `sqlite3`'s own
classes with its codes and names. Two things apsw does otherwise are put right: it raises an error that SQLite itself
has passed over (a checkpoint after a commit, a log cut short), and it keeps a statement open until it is asked for a
row that is not there.

Transactions are the caller's: the driver's own (`isolation_level` not None) are refused as soon as they would begin.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any, NoReturn, final

import apsw

_AUTOCHECKPOINT = 1000
_CHANGING = ("INSERT", "UPDATE", "DELETE", "REPLACE")
_CLASSES: dict[int, type[sqlite3.Error]] = {
    apsw.SQLITE_INTERNAL: sqlite3.InternalError,
    apsw.SQLITE_NOTFOUND: sqlite3.InternalError,
    apsw.SQLITE_CORRUPT: sqlite3.DatabaseError,
    apsw.SQLITE_NOTADB: sqlite3.DatabaseError,
    apsw.SQLITE_TOOBIG: sqlite3.DataError,
    apsw.SQLITE_CONSTRAINT: sqlite3.IntegrityError,
    apsw.SQLITE_MISMATCH: sqlite3.IntegrityError,
    apsw.SQLITE_MISUSE: sqlite3.InterfaceError,
    apsw.SQLITE_RANGE: sqlite3.InterfaceError,
}


@final
class DiskConnection:
    """A `sqlite3.Connection`, as far as it is used."""

    def __init__(
        self,
        path: str,
        vfs: str,
        flags: int,
        wait_s: float,
        owner: str,
        on_close: Callable[[DiskConnection], None],
    ) -> None:
        self.owner = owner
        self._on_close = on_close
        self.isolation_level: str | None = ""
        self._is_dead = False
        self._has_committed = False
        self._checkpoint_at = _AUTOCHECKPOINT
        self._fixed_checkpoints = False
        try:
            self._real: Any = apsw.Connection(path, flags=flags, vfs=vfs)
        except apsw.Error as error:
            raise_as_sqlite3(error)
        self._real.set_busy_timeout(round(wait_s * 1000))
        self._real.set_wal_hook(self._after_commit)

    @property
    def in_transaction(self) -> bool:
        return not self._is_dead and self._real.in_transaction

    def cursor(self) -> DiskCursor:
        return DiskCursor(self, with_description=True)

    def execute(self, sql: str, parameters: Any = (), /) -> DiskCursor:
        return DiskCursor(self).execute(sql, parameters)

    def executemany(self, sql: str, rows: Iterable[Any], /) -> DiskCursor:
        return DiskCursor(self).executemany(sql, rows)

    def executescript(self, script: str, /) -> DiskCursor:
        cursor = self.execute("COMMIT") if self.in_transaction else DiskCursor(self)
        for _ in cursor.run(lambda real: real.execute(script)):
            pass
        return cursor

    def commit(self) -> None:
        if self.in_transaction:
            self.execute("COMMIT")

    def rollback(self) -> None:
        if self.in_transaction:
            self.execute("ROLLBACK")

    def create_function(
        self, name: str, narg: int, func: Callable[..., Any] | None, /, *, deterministic: bool = False
    ) -> None:
        self.real().create_scalar_function(name, func, narg, deterministic=deterministic)

    def close(self) -> None:
        """As with the real driver, what fails while the last connection folds its log in is passed over."""
        if not self._is_dead:
            self._on_close(self)
            with suppress(apsw.Error):
                self._real.close(force=True)

    def die(self) -> None:
        """The process is gone: nothing that this connection does from now on has any effect."""
        self.close()
        self._is_dead = True

    def real(self) -> Any:
        """The connection of apsw (whose types name optional packages).

        Raises:
            sqlite3.OperationalError: the process is dead.
        """
        if self._is_dead:
            _refuse(sqlite3.OperationalError, apsw.SQLITE_IOERR, "disk I/O error")
        return self._real

    def begins(self) -> None:
        """A statement begins."""
        self._has_committed = False

    def failed(self, error: apsw.Error) -> None:
        """A statement ended in an error: raised, unless SQLite itself has committed all the same."""
        if not self._has_committed:
            raise_as_sqlite3(error)

    def checkpoints_at(self, frames: int) -> None:
        """`PRAGMA wal_autocheckpoint` has put SQLite's own hook in place of this one's."""
        if not self._fixed_checkpoints:
            self._checkpoint_at = frames
        self.real().set_wal_hook(self._after_commit)

    def fix_checkpoints(self, frames: int) -> None:
        """Fold the log in after so many frames, whatever is asked for."""
        self._checkpoint_at, self._fixed_checkpoints = frames, True

    def _after_commit(self, connection: apsw.Connection, schema: str, frames: int) -> int:
        self._has_committed = True
        if 0 < self._checkpoint_at <= frames:
            # SQLite's own hook passes an error over, too: the next commit tries again.
            with suppress(apsw.Error):
                connection.wal_checkpoint(schema)
        return apsw.SQLITE_OK


@final
class DiskCursor:
    """A `sqlite3.Cursor`, as far as it is used. It reads one row ahead, and so ends a statement with its last row."""

    arraysize = 1
    lastrowid: int | None = None

    def __init__(self, connection: DiskConnection, with_description: bool = False) -> None:
        self.connection = connection
        self.description: tuple[tuple[Any, ...], ...] | None = None
        self.rowcount = -1
        self._describes = with_description
        self._rows: Iterator[Any] = iter(())
        self._ahead: Any = None

    def execute(self, sql: str, parameters: Any = (), /) -> DiskCursor:
        connection = self.connection
        self._refuse_implicit(sql)
        self.run(lambda real: self._cursor(real).execute(sql, parameters))
        self.rowcount = -1
        if sql[:7] == "PRAGMA " and "wal_autocheckpoint =" in sql:
            connection.checkpoints_at(int(sql.partition("=")[2]))
        elif self._describes and sql.lstrip()[:6].upper() in _CHANGING:
            self.rowcount = connection.real().changes()
        return self

    def executemany(self, sql: str, rows: Iterable[Any], /) -> DiskCursor:
        self._refuse_implicit(sql)
        return self.run(lambda real: real.executemany(sql, rows))

    def run(self, work: Callable[[Any], Iterator[Any]]) -> DiskCursor:
        """Begin a statement and read its first row."""
        self.connection.begins()
        self._ahead, self.description = None, None
        try:
            self._rows = work(self.connection.real())
        except apsw.Error as error:
            self._rows = iter(())
            self.connection.failed(error)
        else:
            self._read_ahead()
        return self

    def fetchone(self) -> Any:
        row = self._ahead
        if row is not None:
            self._read_ahead()
        return row

    def fetchmany(self, size: int = 1, /) -> list[Any]:
        return [row for _, row in zip(range(size), self, strict=False)]

    def fetchall(self) -> list[Any]:
        return list(self)

    def close(self) -> None:
        self._rows, self._ahead = iter(()), None

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        row = self.fetchone()
        if row is None:
            raise StopIteration
        return row

    def _read_ahead(self) -> None:
        try:
            self._ahead = next(self._rows, None)
        except UnicodeDecodeError as error:
            self.close()
            raise sqlite3.OperationalError(f"Could not decode to UTF-8: {error}") from None
        except apsw.Error as error:
            self._ahead = None
            self.connection.failed(error)

    def _cursor(self, real: Any) -> Any:
        cursor = real.cursor()
        if self._describes:
            cursor.exec_trace = self._describe
        return cursor

    def _describe(self, cursor: apsw.Cursor, sql: str, bindings: Any) -> bool:
        described = cursor.get_description()
        self.description = tuple((name, *[None] * 6) for name, _ in described) or None
        return True

    def _refuse_implicit(self, sql: str) -> None:
        level = self.connection.isolation_level
        if level is not None and sql.lstrip()[:7].upper().startswith(_CHANGING):
            raise sqlite3.NotSupportedError(
                "this driver begins no transaction by itself: set isolation_level to None"
            )


def raise_as_sqlite3(error: apsw.Error) -> NoReturn:
    """An error of apsw as the standard driver raises it.

    Raises:
        sqlite3.Error: always, but for what follows.
        sqlite3.ProgrammingError: the connection is closed, or was used wrongly.
        MemoryError: there is none left.
    """
    if isinstance(error, apsw.ConnectionClosedError):
        raise sqlite3.ProgrammingError("Cannot operate on a closed database.") from error
    if isinstance(error, (apsw.BindingsError, apsw.CursorClosedError, apsw.ThreadingViolationError)):
        raise sqlite3.ProgrammingError(str(error)) from error
    code = getattr(error, "extendedresult", apsw.SQLITE_ERROR)
    if code == apsw.SQLITE_NOMEM:
        raise MemoryError from error
    kind = _CLASSES.get(code & 0xFF, sqlite3.OperationalError)
    _refuse(kind, code, str(error))


def _refuse(kind: type[sqlite3.Error], code: int, message: str) -> NoReturn:
    error = kind(message)
    error.sqlite_errorcode = code
    names: dict[Any, Any] = apsw.mapping_extended_result_codes if code > 0xFF else apsw.mapping_result_codes
    error.sqlite_errorname = str(names.get(code, "SQLITE_ERROR"))
    raise error from None  # as short as the real driver's
