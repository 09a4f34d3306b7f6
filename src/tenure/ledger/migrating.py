"""Brings a database to the schema that this version speaks, before anything else touches it.

A database that is there already is only read to find its version. One of a later version is left as it is. An
older one, or an empty file, goes through Alembic in one transaction: after a crash half-way the database is as
it was. Alembic and SQLAlchemy are loaded only then; an ordinary start costs one read."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING

from tenure.errors import ConfigurationError, DataFolderTooNewError, StorageFailedError

if TYPE_CHECKING:
    from collections.abc import Callable

REVISIONS = ("0001", "0002", "0003", "0004", "0005", "0006", "0007")
"""Every revision of this version, oldest first. `PRAGMA user_version` counts them too, so that a database can
be told to be newer although its revision's name says nothing."""
OLDEST_SQLITE = (3, 37, 0)
"""The first with STRICT tables."""


def bring_up_to_date(open_connection: Callable[[], sqlite3.Connection]) -> None:
    """Create or upgrade the schema if need be.

    Raises:
        ConfigurationError: this Python has too old a SQLite.
        DataFolderTooNewError: a later version wrote it. Nothing was touched.
        StorageFailedError: it is the database of another program. Nothing was touched.
        sqlite3.Error: the engine refused; the upgrade was taken back.
    """
    if sqlite3.sqlite_version_info < OLDEST_SQLITE:
        oldest = ".".join(map(str, OLDEST_SQLITE))
        raise ConfigurationError(
            f"this Python has SQLite {sqlite3.sqlite_version}; {oldest} or newer is needed. Use another Python.",
            found=sqlite3.sqlite_version,
            needed=oldest,
        )
    connection = open_connection()
    try:
        stored = _stored_revision(connection)
    finally:
        connection.close()
    if stored != REVISIONS[-1]:
        _upgrade(open_connection())


def refuse_other_schema(connection: sqlite3.Connection) -> None:
    """Refuse a record whose schema is not this version's, before anything in it is held against that. Only reads.

    Raises:
        ConfigurationError: an older version wrote it.
        DataFolderTooNewError: a later version wrote it.
        StorageFailedError: it is no record.
        sqlite3.Error: it cannot be read.
    """
    stored = _stored_revision(connection)
    if stored is None:
        raise StorageFailedError("the database is empty; it is not a record of Tenure")
    if stored != REVISIONS[-1]:
        raise ConfigurationError(
            f"the record has schema {stored}; start this version's hub once (it brings it up to date) or verify with"
            " the version that wrote it",
            revision=stored,
            known=REVISIONS[-1],
        )


def _stored_revision(connection: sqlite3.Connection) -> str | None:
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if not tables:
        return None
    if "alembic_version" not in tables:
        raise StorageFailedError(
            f"the database is not a record of Tenure: it has the tables {', '.join(sorted(tables)[:5])}. "
            "Point the data folder elsewhere.",
            tables=sorted(tables),
        )
    row = connection.execute("SELECT version_num FROM alembic_version").fetchone()
    (counted,) = connection.execute("PRAGMA user_version").fetchone()
    stored = row[0] if row else None
    if counted > len(REVISIONS) or stored not in REVISIONS:
        raise DataFolderTooNewError(
            f"the record has schema revision {stored} ({counted}); this version knows up to {REVISIONS[-1]} "
            f"({len(REVISIONS)}). A newer Tenure wrote it: use that one. Nothing was changed.",
            revision=stored,
            known=REVISIONS[-1],
        )
    return stored


def _upgrade(connection: sqlite3.Connection) -> None:
    from alembic import command
    from alembic.config import Config
    from sqlalchemy import Connection, create_engine, event
    from sqlalchemy.exc import DBAPIError
    from sqlalchemy.pool import StaticPool

    # The driver leaves transactions to us, and we begin one for the whole upgrade, schema changes included.
    connection.isolation_level = None
    engine = create_engine("sqlite://", creator=lambda: connection, poolclass=StaticPool)

    def begin(sql: Connection) -> None:
        sql.exec_driver_sql("BEGIN IMMEDIATE")

    event.listen(engine, "begin", begin)
    config = Config()
    folder = Path(__file__).parent / "migrations"
    config.set_main_option("script_location", str(folder).replace("%", "%%"))
    try:
        with engine.begin() as sql:
            config.attributes["connection"] = sql
            command.upgrade(config, "head")
    except DBAPIError as error:
        raise (error.orig or error) from error
    finally:
        engine.dispose()
