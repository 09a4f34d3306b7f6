"""The node's own store: which Deliveries it holds, and what it still owes the hub.

One SQLite file (WAL, `synchronous=FULL`), written by one daemon that holds the store's lock. It is the node's half of
the contract: a row is committed before its receipt is sent, an outcome before it is reported, and a row is only let go
when the hub has said that it needs nothing more.

A row's `body` is the Delivery as it was granted, with the recipient's settings as they were then; it never changes (a
trigger refuses), so that its digest is the receipt, and so that a run is judged by the rules it was started under. Stages
only go forward: `mirrored → ended → closed`, then `released`, then deleted. What lies between mirrored and ended
(accepted, started, running) is not written here: the run folder says it, and a second record of the same fact could
only disagree with it.

After a crash between two lines: a commit that was not made is made again (each is idempotent), one that was made is
found. A write that fails for lack of room leaves nothing behind that counts.

Every commit counts itself in the file. So when a COMMIT fails, whether it was made is found out: the count is read over the
same connection, where only what was flushed counts. Was it not made, a commit of nothing goes over what it may have left
in the log, lest a crash bring that back. Where not even that can be done, the writer is told so (OutcomeUnknownError), and
never that nothing was written; and until it can be done the store does nothing else. The connection is kept through that:
whoever opens the file anew reads frames from the kernel's memory that a failed flush has not brought to the disk, and
would commit behind them (`runtime.database.rewrite_log` is for a process that dies in that state).

Changes that arrive while a commit is under way share the next one.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any, TypeVar, final

from msgspec import Struct

from tenure.core.attempt import Outcome
from tenure.core.canonical import canonical
from tenure.core.ids import AttemptId, DeliveryId, IncarnationId, NodeId
from tenure.errors import OutcomeUnknownError, StorageFailedError, UnavailableError
from tenure.node.delivery.mirror_file import (
    SCHEMA,
    STEPS,
    is_full,
    refuse_older,
    refuse_unreadable,
    schema_of,
    storage_error,
)
from tenure.node.delivery.mirrored import Ending, Identity, MirroredDelivery, Released, Row
from tenure.runtime.stored_json import decode_stored

BUSY_MS = 5_000
"""How long a commit waits for a reader of another process (`tenure gc`) that holds the file."""

_ADD = "INSERT INTO delivery (delivery_id, attempt_id, body) VALUES (?, ?, ?) ON CONFLICT (delivery_id) DO NOTHING"
_END = (
    "UPDATE delivery SET stage = 'ended', outcome = ?, handback = ?, tree_gone = ? "
    "WHERE delivery_id = ? AND stage = 'mirrored'"
)
_CLOSE = "UPDATE delivery SET stage = 'closed', answer = ? WHERE delivery_id = ? AND stage <> 'mirrored'"
_RELEASE = (
    "UPDATE delivery SET stage = 'closed', released = 1, outcome = NULL, handback = NULL, answer = COALESCE(answer, ?) "
    "WHERE delivery_id = ?"
)
_GONE = "UPDATE delivery SET tree_gone = 1 WHERE delivery_id = ?"
_DROP = "DELETE FROM delivery WHERE delivery_id = ?"
_LOAD = (
    "SELECT body, stage, CASE stage WHEN 'ended' THEN outcome END, handback, tree_gone, answer FROM delivery "
    "WHERE released = 0 ORDER BY delivery_id"
)
_ENDING = "SELECT outcome, handback FROM delivery WHERE delivery_id = ?"
_RELEASED = (
    "SELECT delivery_id, attempt_id, answer, tree_gone FROM delivery WHERE released = 1 ORDER BY delivery_id"
)
_KNOWN = "SELECT delivery_id FROM delivery"
CLOSED = "SELECT MIN(stage = 'closed' AND answer IS NOT NULL) FROM delivery WHERE attempt_id = ?"
"""Null where the Attempt has no row here."""
_IDENTITY = "SELECT credential, was_sent, node_id, generation, incarnation FROM identity"
_FIRST_IDENTITY = "INSERT INTO identity (only, credential) VALUES (1, ?) ON CONFLICT (only) DO NOTHING"
_BEGIN = "UPDATE identity SET generation = generation + 1, incarnation = ?"
_SENT = "UPDATE identity SET was_sent = 1"
_ENROLLED = "UPDATE identity SET node_id = ?"
_NEW_CREDENTIAL = "UPDATE identity SET credential = ?, was_sent = 0, node_id = NULL"

_COUNT = "UPDATE counted SET commits = commits + 1"
_COUNTED = "SELECT commits FROM counted"

NOT_STORED = (UnavailableError, OutcomeUnknownError)
"""What a write raises that did not succeed, or not for sure. It may be repeated in both cases."""

T = TypeVar("T")

Connect = Callable[[Path], sqlite3.Connection]
"""The SQLite driver: opens the file. For a `Mirror` it makes it where it is missing, for its user alone: it holds the node's
credential and the recipients' settings."""


class _Change(Struct):
    statement: str
    rows: Sequence[tuple[Any, ...]]
    done: asyncio.Future[None]


@final
class Mirror:
    """The store, opened by `open`. Every method that writes has committed durably when it returns.

    Each of them raises StorageFullError or another UnavailableError when nothing was written, OutcomeUnknownError when
    that cannot be told, and may be repeated."""

    def __init__(self, path: Path, connect: Connect, executor: Executor) -> None:
        """`executor` runs what blocks and has one thread only, so that no two calls use the connection at once."""
        self._path = path
        self._connect = connect
        self._executor = executor
        self._pending: list[_Change] = []
        self._driver: asyncio.Task[None] | None = None
        self._connection: sqlite3.Connection | None = None
        self._is_in_doubt = False

    async def open(self) -> None:
        """Opens the file and brings its tables up to date.

        Raises:
            DataFolderTooNewError: a newer version wrote it; nothing was touched.
            UnavailableError: it cannot be opened.
        """
        self._connection = await self._in_executor(self._opened)
        self._is_in_doubt = False

    async def close(self) -> None:
        """Finishes what was begun and closes the file. Repeatable."""
        while self._driver is not None:
            await asyncio.wait([self._driver])
        connection, self._connection = self._connection, None
        if connection is not None:
            await self._in_executor(connection.close)

    # -- who this node is

    async def identity(self, new_credential: str) -> Identity:
        """The identity; made with this credential where there is none, and stored before it is returned."""
        await self._write(_FIRST_IDENTITY, [(new_credential,)])
        credential, was_sent, node_id, generation, incarnation = (await self._read(_IDENTITY))[0]
        return Identity(credential, bool(was_sent), node_id, generation, incarnation)

    async def begin(self, incarnation: IncarnationId) -> int:
        """A new start of the daemon; its generation, greater than that of every earlier one."""
        await self._write(_BEGIN, [(incarnation,)])
        return (await self._read(_IDENTITY))[0][3]

    async def note_sent(self) -> None:
        """The credential is about to be sent for the first time."""
        await self._write(_SENT, [()])

    async def note_enrolled(self, node_id: NodeId) -> None:
        await self._write(_ENROLLED, [(node_id,)])

    async def replace_credential(self, credential: str) -> None:
        """The hub does not know the old one (any more): a node that was forgotten enrolls under a new one."""
        await self._write(_NEW_CREDENTIAL, [(credential,)])

    async def rotate_credential(self, credential: str) -> None:
        await self._write("UPDATE identity SET credential = ?", [(credential,)])

    # -- Deliveries

    async def add(self, deliveries: Iterable[MirroredDelivery]) -> None:
        """Mirrors Deliveries, all in one commit. One that is mirrored already stays as it is."""
        rows = [(one.delivery_id, one.attempt_id, canonical(one)) for one in deliveries]
        await self._write(_ADD, rows)

    async def end(self, ending: Ending) -> None:
        """What is to be reported. Counts once: a Delivery that has ended keeps its first ending."""
        outcome = None if ending.outcome is None else canonical(ending.outcome)
        await self._write(_END, [(outcome, ending.handback, ending.tree_gone, ending.delivery_id)])

    async def close_all(self, answers: dict[DeliveryId, str]) -> None:
        """The hub has answered these reports. They are kept until they are released. One whose ending is not stored stays
        as it is: closed, it could not be reported again."""
        await self._write(_CLOSE, [(answer, delivery_id) for delivery_id, answer in answers.items()])

    async def release(self, answers: dict[DeliveryId, str | None]) -> None:
        """The hub needs nothing more of these; their reports are let go. An answer counts where none is stored yet."""
        await self._write(_RELEASE, [(answer, delivery_id) for delivery_id, answer in answers.items()])

    async def note_gone(self, delivery_ids: Iterable[DeliveryId]) -> None:
        """It is proven now that nothing of these runs is left."""
        await self._write(_GONE, [(one,) for one in delivery_ids])

    async def drop(self, delivery_ids: Iterable[DeliveryId]) -> None:
        """Deletes rows: grants of which nothing was started, and those whose folders are gone."""
        await self._write(_DROP, [(one,) for one in delivery_ids])

    async def load(self) -> list[Row]:
        """Every row that is not released, oldest first.

        Raises:
            DataFolderTooNewError: a row was written by another version of Tenure and cannot be read.
        """
        rows = await self._read(_LOAD)
        try:
            return [_row(*row) for row in rows]
        except ValueError as error:
            refuse_unreadable(self._path, error)

    async def ending(self, delivery_id: DeliveryId) -> Ending | None:
        """What was to be reported of a Delivery; None where nothing is stored of it (any more).

        Raises:
            DataFolderTooNewError: another version of Tenure wrote it, and it cannot be read.
        """
        rows = await self._read(_ENDING, (delivery_id,))
        if not rows or rows[0] == (None, None):
            return None
        outcome, handback = rows[0]
        try:
            return Ending(delivery_id, _outcome(outcome), handback)
        except ValueError as error:
            refuse_unreadable(self._path, error)

    async def released(self) -> list[Released]:
        """Those of which only folders may be left, oldest first."""
        rows = await self._read(_RELEASED)
        return [Released(one, attempt, answer, bool(gone)) for one, attempt, answer, gone in rows]

    async def known(self) -> set[DeliveryId]:
        """Every Delivery that has a row."""
        return {DeliveryId(one) for (one,) in await self._read(_KNOWN)}

    async def is_closed(self, attempt_id: AttemptId) -> bool:
        """Has the hub answered the report of every Delivery of this Attempt that this node ever mirrored?"""
        return bool((await self._read(CLOSED, (attempt_id,)))[0][0])

    # -- the file

    def _opened(self) -> sqlite3.Connection:
        with contextlib.ExitStack() as stack:
            connection = self._connect(self._path)
            stack.callback(connection.close)
            connection.isolation_level = None  # transactions are begun and ended here, never by the driver
            stored = schema_of(connection, self._path)
            connection.execute(f"PRAGMA busy_timeout = {BUSY_MS}")
            (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
            if mode != "wal":
                raise StorageFailedError(
                    f"{self._path} stays in journal mode {mode}; it needs WAL. Put the data folder on a local disk.",
                    path=str(self._path),
                )
            connection.execute("PRAGMA synchronous = FULL")
            for number in range(stored, SCHEMA):
                connection.executescript(f"BEGIN;{STEPS[number]};PRAGMA user_version = {number + 1};COMMIT;")
            stack.pop_all()
        return connection

    async def _read(self, statement: str, values: tuple[Any, ...] = ()) -> list[Any]:
        return await self._in_executor(lambda: self._open_connection().execute(statement, values).fetchall())

    async def _write(self, statement: str, rows: Sequence[tuple[Any, ...]]) -> None:
        if not rows:
            return
        change = _Change(statement, rows, asyncio.get_running_loop().create_future())
        self._pending.append(change)
        if self._driver is None:
            self._driver = asyncio.ensure_future(self._drive())
        await change.done

    async def _drive(self) -> None:
        try:
            while self._pending:
                batch, self._pending = self._pending, []
                await self._commit(batch)
        finally:
            self._driver = None

    async def _commit(self, batch: list[_Change]) -> None:
        error: BaseException | None = None
        try:
            await self._in_executor(lambda: self._committed(batch))
        except BaseException as problem:
            error = problem
            if not isinstance(problem, Exception):
                raise
        finally:
            for change in batch:
                if change.done.done():
                    continue  # whoever waited has gone
                if error is None:
                    change.done.set_result(None)
                else:
                    change.done.set_exception(_own_copy(error))

    def _committed(self, batch: list[_Change]) -> None:
        connection = self._open_connection()
        connection.execute("BEGIN IMMEDIATE")
        try:
            for change in batch:
                connection.executemany(change.statement, change.rows)
            connection.execute(_COUNT)
            (number,) = connection.execute(_COUNTED).fetchone()
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        try:
            connection.execute("COMMIT")
        except sqlite3.Error as error:
            if not self._was_made(connection, number, error):
                raise

    def _was_made(self, connection: sqlite3.Connection, number: int, error: sqlite3.Error) -> bool:
        """Whether the commit of this number was made, although its COMMIT failed with this error.

        Raises:
            OutcomeUnknownError: that cannot be found out, or not be made sure of.
        """
        # No room: its last frame, which makes it count, was not written, for that write is the one that failed.
        self._is_in_doubt = not is_full(error)
        try:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            if not self._is_in_doubt:
                return False
            (counted,) = connection.execute(_COUNTED).fetchone()
            if counted < number:
                self._settle(connection)
                return False
        except (sqlite3.Error, OSError) as own:
            raise OutcomeUnknownError(
                f"a commit to {self._path} failed ({error}), and whether it was made cannot be found out ({own});"
                " look at the disk",
                path=str(self._path),
            ) from error
        self._is_in_doubt = False
        return True

    def _settle(self, connection: sqlite3.Connection) -> None:
        """Goes with a commit of nothing over what a failed one may have left in the log."""
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        connection.execute("BEGIN IMMEDIATE")
        connection.execute(_COUNT)
        connection.execute("COMMIT")
        self._is_in_doubt = False

    async def _in_executor(self, work: Callable[[], T]) -> T:
        try:
            return await asyncio.get_running_loop().run_in_executor(self._executor, work)
        except (sqlite3.Error, OSError) as error:
            raise storage_error(self._path, error) from error

    def _open_connection(self) -> sqlite3.Connection:
        if self._connection is None:
            raise StorageFailedError(f"{self._path} is not open", path=str(self._path))
        if self._is_in_doubt:
            self._settle(self._connection)
        return self._connection


def read_only(path: Path, connect: Connect, statement: str, values: tuple[Any, ...]) -> Any:
    """The first value that a statement finds. The file is opened for this, and never brought up to date.

    Raises:
        DataFolderTooNewError: a newer version wrote it.
        ConflictError: an older version wrote it.
        UnavailableError: it cannot be read.
    """
    try:
        with contextlib.closing(connect(path)) as connection:
            refuse_older(schema_of(connection, path), path)
            return connection.execute(statement, values).fetchone()[0]
    except (sqlite3.Error, OSError) as error:
        problem = storage_error(path, error)
        raise problem from error


def _outcome(stored: bytes | None) -> Outcome | None:
    return None if stored is None else decode_stored(stored, Outcome)


def _own_copy(error: BaseException) -> BaseException:
    """One for each that waits: a shared exception would gather all their tracebacks."""
    return type(error)(error.message, **error.facts) if isinstance(error, NOT_STORED) else error


def _row(
    body: bytes, stage: str, outcome: bytes | None, handback: str | None, tree_gone: int, answer: str | None
) -> Row:
    return Row(
        mirrored=decode_stored(body, MirroredDelivery),
        receipt_digest=hashlib.sha256(body).hexdigest(),
        stage=stage,
        outcome=_outcome(outcome),
        handback=handback,
        tree_gone=bool(tree_gone),
        answer=answer,
    )
