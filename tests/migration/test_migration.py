"""Migrations lead to the schema, leave nothing half done, and leave alone what a newer version wrote."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from sqlalchemy import CheckConstraint, create_engine
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.pool import StaticPool
from sqlalchemy.schema import CreateIndex, CreateTable

from tenure.errors import ConfigurationError, DataFolderTooNewError, StorageFailedError
from tenure.ledger.migrating import REVISIONS, bring_up_to_date
from tenure.ledger.schema import metadata
from tenure.ledger.trigger import triggers
from tests.ledger.desk import Desk, HandClock, connector, lived, sqlite_ledger


def migrated(path: Path) -> sqlite3.Connection:
    connect = connector(path)
    bring_up_to_date(lambda: connect(False))
    return connect(False)


def described(connection: sqlite3.Connection) -> dict[str, str]:
    """Every table, index and trigger as the engine keeps it, without white space."""
    rows = connection.execute(
        "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL AND name <> 'alembic_version'"
    )
    return {name: "".join(text.split()) for name, text in rows}


def test_all_migrations_together_lead_to_the_schema(tmp_path: Path) -> None:
    by_migrations = migrated(tmp_path / "hub.db")
    declared = sqlite3.connect(":memory:")
    for table in metadata.tables.values():
        declared.execute(str(CreateTable(table).compile(dialect=sqlite.dialect())))
        for index in table.indexes:
            declared.execute(str(CreateIndex(index).compile(dialect=sqlite.dialect())))
    for text in triggers().values():
        declared.execute(text)
    assert described(by_migrations) == described(declared)
    declared.close()
    engine = create_engine("sqlite://", creator=lambda: by_migrations, poolclass=StaticPool)
    with engine.connect() as connection:
        context = MigrationContext.configure(
            connection, opts={"include_name": lambda name, *_: name != "alembic_version"}
        )
        assert compare_metadata(context, metadata) == []
    engine.dispose()


def test_the_schema_is_one_for_postgresql_too() -> None:
    for table in metadata.tables.values():
        text = str(CreateTable(table).compile(dialect=postgresql.dialect()))
        assert "BIGINT" in text or table.name == "facets"
        assert all(isinstance(one.name, str) for one in table.constraints if isinstance(one, CheckConstraint))
        for index in table.indexes:
            partial = index.dialect_options["sqlite"]["where"] is not None
            assert ("WHERE" in str(CreateIndex(index).compile(dialect=postgresql.dialect()))) is partial


def test_a_second_start_finds_nothing_to_do(tmp_path: Path) -> None:
    migrated(tmp_path / "hub.db").close()
    before = (tmp_path / "hub.db").read_bytes()
    migrated(tmp_path / "hub.db").close()
    assert (tmp_path / "hub.db").read_bytes() == before


def test_an_ordinary_start_loads_no_library_for_migrations(tmp_path: Path) -> None:
    """The hub must start fast; SQLAlchemy and Alembic alone take longer than all the rest."""
    migrated(tmp_path / "hub.db").close()
    program = (
        "import sqlite3, sys\n"
        "import tenure.ledger.audit, tenure.ledger.memory, tenure.ledger.sqlite\n"
        "from tenure.ledger.migrating import bring_up_to_date\n"
        "bring_up_to_date(lambda: sqlite3.connect(sys.argv[1]))\n"
        "print([name for name in ('sqlalchemy', 'alembic') if name in sys.modules])\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "hub.db")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    "newer",
    ["UPDATE alembic_version SET version_num = '9999'", f"PRAGMA user_version = {len(REVISIONS) + 1}"],
)
async def test_a_record_that_a_newer_version_wrote_is_left_untouched(tmp_path: Path, newer: str) -> None:
    path = tmp_path / "hub.db"
    connection = migrated(path)
    connection.execute(newer)
    connection.commit()
    connection.close()
    before = path.read_bytes()
    ledger = sqlite_ledger(path, HandClock())
    with pytest.raises(DataFolderTooNewError, match="newer"):
        await ledger.open()
    await ledger.close()
    assert path.read_bytes() == before
    assert sorted(one.name for one in tmp_path.iterdir()) == ["hub.db"]


async def test_the_database_of_another_program_is_left_untouched(tmp_path: Path) -> None:
    path = tmp_path / "hub.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE recipes (name)")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(StorageFailedError, match="not a record of Tenure"):
        await sqlite_ledger(path, HandClock()).open()
    assert path.read_bytes() == before


async def test_a_file_that_is_no_database_is_left_untouched(tmp_path: Path) -> None:
    path = tmp_path / "hub.db"
    path.write_bytes(b"once upon a time " * 300)
    with pytest.raises(StorageFailedError, match="not a database"):
        await sqlite_ledger(path, HandClock()).open()
    assert path.read_bytes() == b"once upon a time " * 300


class DyingConnection(sqlite3.Connection):
    """Dies in the middle of a migration."""

    left = 40

    def cursor(self, *args: object, **kwargs: object) -> sqlite3.Cursor:
        DyingConnection.left -= 1
        if DyingConnection.left == 0:
            raise sqlite3.OperationalError("disk I/O error")
        return super().cursor(*args, **kwargs)  # type: ignore[arg-type]  # as sqlite3.Connection's own


def test_a_migration_that_is_interrupted_leaves_nothing_behind(tmp_path: Path) -> None:
    path = tmp_path / "hub.db"
    dying = connector(path, DyingConnection)
    with pytest.raises(sqlite3.OperationalError):
        bring_up_to_date(lambda: dying(False))
    left = sqlite3.connect(path)
    assert left.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,)
    left.close()
    connection = migrated(path)
    assert connection.execute("SELECT version_num FROM alembic_version").fetchone() == (REVISIONS[-1],)
    connection.close()


async def test_a_new_data_folder_is_made_by_the_first_start(tmp_path: Path) -> None:
    clock = HandClock()
    ledger = sqlite_ledger(tmp_path / "hub.db", clock)
    await ledger.open()
    await lived(Desk(ledger, clock))
    await ledger.close()


def test_too_old_an_engine_is_said_before_anything_is_touched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 36, 0))
    with pytest.raises(ConfigurationError, match=r"3\.37"):
        migrated(tmp_path / "hub.db")
    assert list(tmp_path.iterdir()) == []


def at_first_revision(path: Path) -> sqlite3.Connection:
    """A database as the first version made it."""
    connect = connector(path)
    config = Config()
    config.set_main_option("script_location", "tenure.ledger:migrations")
    engine = create_engine("sqlite://", creator=lambda: connect(False), poolclass=StaticPool)
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0001")
    engine.dispose()
    connection = connect(False)
    assert connection.execute("SELECT version_num FROM alembic_version").fetchone() == ("0001",)
    return connection
