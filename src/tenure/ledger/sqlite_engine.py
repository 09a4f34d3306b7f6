"""One SQLite connection that writes.

A batch is one transaction, begun before anything is read for it and ended before anybody hears of it. Until
COMMIT every failure means that nothing happened. A COMMIT that fails is the hard case: its frames may stand
complete in the write-ahead log, and a crash could bring them back later. So the engine asks the database over the same
connection: what counts there was flushed. Is the commit there, it happened. Is it not, something is written over those
frames first; only then may anybody be told that nothing happened. If even that cannot be done the outcome is unknown,
and so it is said; and until it can be done nothing else is begun. A disk without room is the easy case: what SQLite
could not write whole is not there.

The connection is kept through that, and never opened anew: whoever opens a log reads it from the kernel's memory, where
frames still stand that a failed flush has not brought to the disk and that no later flush will. A commit that went
behind such frames would be lost with them, although it was flushed. (For a process that died in that state the driver
writes the log again before it is opened: `runtime.database.rewrite_log`.)

After any failure nothing in memory is trusted: shelves and chain heads are read again.

If the database refuses a batch (a constraint, a trigger, a value that does not fit), one of its commands is at
fault through a bug. Each is then given a commit of its own, so that only that one fails."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from tenure.errors import OutcomeUnknownError, StorageFailedError, TenureError
from tenure.ledger.batch import Batch, Judge, Tail, Written, bug, committed
from tenure.ledger.group_commit import Outcome, Ran
from tenure.ledger.loaded_world import LoadedWorld
from tenure.ledger.shelf import GENERATION_BYTES
from tenure.ledger.sqlite_failure import STORAGE_ERRORS, found_no_room, is_refusal, storage_error
from tenure.ledger.sqlite_store import SqliteStore

if TYPE_CHECKING:
    from tenure.core.commands import Command
    from tenure.core.delivery import Now
    from tenure.ledger.chain import Commit
    from tenure.ledger.port import Committed

Connect = Callable[[bool], sqlite3.Connection]
"""Opens the record's database; the argument says whether only to read. The connection may be used from any
thread (`check_same_thread=False`) and does not wait for locks (`timeout=0`): there is one writer."""

HEADS_KEPT = 50_000
"""Streams whose last hash is kept in memory."""

WRITER_PRAGMAS = (
    "PRAGMA journal_mode = WAL",
    # A reply must survive power loss (`durable`): the log is flushed at every commit.
    "PRAGMA synchronous = FULL",
    # Else INSERT OR REPLACE would delete a row without asking its trigger.
    "PRAGMA recursive_triggers = ON",
    "PRAGMA foreign_keys = OFF",
    "PRAGMA cache_size = -65536",
    "PRAGMA wal_autocheckpoint = 4000",
    "PRAGMA journal_size_limit = 67108864",
    "PRAGMA temp_store = MEMORY",
)

log = logging.getLogger(__name__)


class SqliteEngine:
    """An `Engine` over one connection, which it opens when it is first needed and again after a failure."""

    def __init__(self, connect: Connect, judge: Judge, generation_bytes: int = GENERATION_BYTES) -> None:
        self._connect = connect
        self.world = LoadedWorld(generation_bytes)
        self._batch = Batch(
            self.world, Judge(judge.decide, judge.terms, (*STORAGE_ERRORS, StorageFailedError))
        )
        self._store: SqliteStore | None = None
        self._tail = Tail(None)
        self._is_in_doubt = False
        """May the log hold frames of a COMMIT that failed?"""

    def open(self) -> SqliteStore:
        """The store over an open connection, over a log without doubt.

        Raises:
            UnavailableError: the database cannot be opened, or what a failed COMMIT left cannot be written over yet.
        """
        if self._store is None:
            try:
                self._store = SqliteStore(open_writer(self._connect))
                self._tail = Tail(self._store.last_commit())
            except STORAGE_ERRORS as error:
                self.close()
                failure = storage_error(error)
                raise failure from error
        if self._is_in_doubt:
            try:
                self._settle(self._store)
            except STORAGE_ERRORS as error:
                failure = storage_error(error)
                raise failure from error
        return self._store

    def close(self) -> None:
        """Let go of the connection; what was not committed is gone with it."""
        self.world.forget()
        if self._store is not None:
            with suppress(sqlite3.Error):
                self._store.connection.close()
            self._store = None

    def run(self, commands: Sequence[Command], now: Now) -> Ran:
        """Decide and commit a batch.

        Raises:
            TenureError: `UnavailableError` if nothing of it was committed, `OutcomeUnknownError` if that
                cannot be told.
        """
        try:
            return self._run_together(commands, now)
        except TenureError:
            raise
        except Exception as error:
            if len(commands) == 1:
                log.exception(
                    "a command ran into a bug; nothing of it was committed: %s", type(commands[0]).__name__
                )
                return Ran([bug(commands[0], error)], list)
            log.warning("a batch cannot be kept (%r); its commands go one by one", error)
        return self._run_apart(commands, now)

    def probe(self) -> None:
        """Commit a change of nothing, to see whether commits work.

        Raises:
            UnavailableError: they do not.
        """
        connection = self.open().connection
        try:
            overwrite_log(connection)
        except STORAGE_ERRORS as error:
            self._is_in_doubt = not found_no_room(error)
            self._take_back()
            failure = storage_error(error)
            raise failure from error

    def _run_apart(self, commands: Sequence[Command], now: Now) -> Ran:
        outcomes: list[Outcome] = []
        parts: list[Ran] = []
        for command in commands:
            try:
                part = self.run((command,), now)
            except TenureError as error:
                outcomes.append(error)
            else:
                outcomes += part.outcomes
                parts.append(part)
        return Ran(outcomes, lambda: [one for part in parts for one in part.committed()])

    def _run_together(self, commands: Sequence[Command], now: Now) -> Ran:
        store = self.open()
        connection = store.connection
        try:
            connection.execute("BEGIN IMMEDIATE")
            written = self._batch.write(store, self._tail, commands, now)
            if written.commit is None:
                connection.execute("ROLLBACK")
        except BaseException as error:
            self._take_back()
            if isinstance(error, STORAGE_ERRORS) and not is_refusal(error):
                raise storage_error(error) from error
            raise
        if written.commit is not None:
            self._commit(store, written.commit)
            self._tail.commit = written.commit
        self._keep(written)
        return Ran(written.decided.outcomes, self._told(written))

    def _commit(self, store: SqliteStore, commit: Commit) -> None:
        try:
            store.connection.execute("COMMIT")
        except STORAGE_ERRORS as error:
            if found_no_room(error):
                self._take_back()
                raise storage_error(error) from error
            log.exception("COMMIT failed; asking the database whether it happened")
            if not self._has_happened(store, commit):
                raise storage_error(error) from error

    def _has_happened(self, store: SqliteStore, commit: Commit) -> bool:
        """Ask the database whether a commit whose COMMIT failed is there; if it is not, see to it that it never will be.

        Raises:
            OutcomeUnknownError: the database does not answer.
        """
        self._is_in_doubt = True
        try:
            if store.connection.in_transaction:
                store.connection.execute("ROLLBACK")
            last = store.last_commit()
            if last is None or last.hash != commit.hash:
                self._settle(store)
                return False
        except STORAGE_ERRORS as error:
            self.world.forget()
            raise OutcomeUnknownError(
                f"COMMIT failed and the database does not say whether it happened ({error}). Repeat the command: "
                "its key makes that safe.",
                commit_no=commit.commit_no,
            ) from error
        # It counts, so it was flushed.
        self._is_in_doubt = False
        return True

    def _settle(self, store: SqliteStore) -> None:
        """Write over what a failed COMMIT may have left in the log, and read again where the record ends."""
        self.world.forget()
        if store.connection.in_transaction:
            store.connection.execute("ROLLBACK")
        overwrite_log(store.connection)
        self._tail = Tail(store.last_commit())
        self._is_in_doubt = False

    def _take_back(self) -> None:
        """Undo the open transaction and whatever memory has of it."""
        self.world.forget()
        self._tail.heads.clear()
        if self._store is not None:
            try:
                if self._store.connection.in_transaction:
                    self._store.connection.execute("ROLLBACK")
            except STORAGE_ERRORS:
                if not self._is_in_doubt:
                    self.close()

    def _keep(self, written: Written) -> None:
        self.world.keep(written.weights)
        if len(self._tail.heads) > HEADS_KEPT:
            self._tail.heads.clear()

    def _told(self, written: Written) -> Callable[[], list[Committed]]:
        """What subscribers see. The world's touched entities are taken now: the next batch replaces them."""
        commit, touched = written.commit, self.world.touched
        if commit is None:
            return list
        return lambda: [
            committed(
                written.decided,
                written.rows,
                commit,
                [one for kind in touched.values() for one in kind.entities.values()],
            )
        ]


def open_writer(connect: Connect) -> sqlite3.Connection:
    """The connection that writes, set up for it.

    Raises:
        StorageFailedError: the file system cannot share the log's index between connections.
        sqlite3.Error: it cannot be opened.
    """
    connection = connect(False)
    # We begin and end transactions; the driver must not.
    connection.isolation_level = None
    try:
        for pragma in WRITER_PRAGMAS:
            connection.execute(pragma).fetchall()
        (mode,) = connection.execute("PRAGMA journal_mode").fetchone()
    except BaseException:
        connection.close()
        raise
    if mode != "wal":
        connection.close()
        raise StorageFailedError(
            f"the database stays in journal mode {mode}; it needs WAL. Put the data folder on a local disk.",
            journal_mode=mode,
        )
    return connection


def overwrite_log(connection: sqlite3.Connection) -> None:
    """Write over what a failed COMMIT may have left in the write-ahead log, by a commit that changes nothing
    but goes through the log all the same."""
    (counted,) = connection.execute("PRAGMA user_version").fetchone()
    connection.execute("BEGIN IMMEDIATE")
    connection.execute(f"PRAGMA user_version = {int(counted)}")
    connection.execute("COMMIT")
