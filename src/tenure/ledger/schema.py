"""The schema: one for every engine, in SQLAlchemy's terms.

Tables of entities come from `row`, field by field. Beside them stand the record proper (`events`, `commits`)
and `facets`, by which Tasks are found. A hub does not import this: its statements are made already
(`statement`), and it migrates only when the stored version is an older one. Migrations are written by hand
and must lead here; a test compares.

Every index serves a question that is asked often or must stay cheap while the record grows; which one says
its comment."""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    Index,
    Integer,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from tenure.ledger import row
from tenure.ledger.row import Shape
from tenure.ledger.statement import COMMIT_COLUMNS, EVENT_COLUMNS

NUMBER = BigInteger().with_variant(Integer(), "sqlite")
_TEXTS = frozenset({"hub", "hash", "stream", "kind", "body"})

metadata = MetaData()


def _tables() -> None:
    for table in row.TABLES.values():
        columns = [_column(table, column) for column in table.columns]
        checks = [check for column in table.columns if (check := _check(table, column)) is not None]
        Table(table.name, metadata, *columns, *checks, sqlite_strict=True)
    Table(
        "events", metadata, *(_plain(name, "seq") for name in EVENT_COLUMNS),
        UniqueConstraint("stream", "version", name="events_of_stream"), sqlite_strict=True,
    )  # fmt: skip
    Table("commits", metadata, *(_plain(name, "commit_no") for name in COMMIT_COLUMNS), sqlite_strict=True)
    Table(
        row.FACETS, metadata, *(Column(name, Text, nullable=False) for name in row.FACET_COLUMNS),
        PrimaryKeyConstraint(*row.FACET_COLUMNS), sqlite_with_rowid=False, sqlite_strict=True,
    )  # fmt: skip


def _column(table: row.Table, column: row.Column) -> Column[Any]:
    is_number = column.shape in (Shape.INTEGER, Shape.BOOLEAN)
    return Column(
        column.name,
        NUMBER if is_number else Text,
        primary_key=column.name == table.key,
        nullable=column.nullable,
    )


def _check(table: row.Table, column: row.Column) -> CheckConstraint | None:
    """NULL passes every check; whether it may stand there is said by the column itself."""
    if column.shape is Shape.BOOLEAN:
        condition = f"{column.name} IN (0, 1)"
    elif column.shape is Shape.ENUM:
        condition = f"{column.name} IN ({', '.join(repr(value) for value in row.enum_values(column))})"
    else:
        return None
    return CheckConstraint(condition, name=f"{table.name}_{column.name}")


def _plain(name: str, key: str) -> Column[Any]:
    kind = Text if name in _TEXTS else NUMBER
    return Column(name, kind, primary_key=name == key, nullable=False, autoincrement=False)


def _index(name: str, table: str, *columns: str, unique: bool = False, where: str | None = None) -> None:
    condition = text(where) if where else None
    Index(
        name, *(metadata.tables[table].c[column] for column in columns), unique=unique,
        sqlite_where=condition, postgresql_where=condition,
    )  # fmt: skip


def _indexes() -> None:
    # once: one Task for each key of a submitter.
    _index("tasks_by_key", "tasks", "submitted_by", "idempotency_key", unique=True)
    # A claim reads the head of its queues; Tasks that wait for anything else are not in it.
    _index(
        "tasks_queued", "tasks", "queue_key", "project", "order_ms", "task_id", "ready_at_ms",
        where="queue_key IS NOT NULL",
    )  # fmt: skip
    # When the next Task of a queue comes of age.
    _index("tasks_ready", "tasks", "queue_key", "ready_at_ms", where="queue_key IS NOT NULL")
    # Which Tasks hang on what has just changed, and whose deadline comes.
    _index("tasks_held", "tasks", "held_on", "order_ms", where="held_on IS NOT NULL")
    _index("tasks_due", "tasks", "due_at_ms", where="due_at_ms IS NOT NULL")
    # Lists by state, newest first.
    _index("tasks_by_state", "tasks", "state", "task_id")
    # Lists of somebody who sees one project only, newest first; and whether an event is of one of their Tasks.
    _index("tasks_of_project", "tasks", "project", "task_id")
    # Whom to tell after a crash that a dependency has ended: only those that still wait.
    _index(
        "tasks_waiting", "tasks", "task_id",
        where="ended_at_ms IS NULL AND (waits_for <> '[]' OR failed_dependencies <> '[]')",
    )  # fmt: skip
    _index("deliveries_of_task", "deliveries", "task_id")
    # A repeated claim gets what it got.
    _index("deliveries_of_claim", "deliveries", "node_id", "claim_id")
    # What still matters of a node: snapshots, `node forget`.
    _index("deliveries_held", "deliveries", "node_id", where="ended_at_ms IS NULL OR slot = 1")
    # What time may change.
    _index("deliveries_due", "deliveries", "due_at_ms", where="due_at_ms IS NOT NULL")
    _index("late_about", "late", "attempt_id")
    _index("attention_open", "attention", "opened_at_ms", where="open = 1")
    _index("attention_about", "attention", "subject")
    # Every request of a node or person looks its credential up.
    _index("nodes_by_credential", "nodes", "credential_digest")
    _index("nodes_by_name", "nodes", "name")
    # once: one Effect for each key of a Task, and those that mean the same.
    _index("effects_by_key", "effects", "task_id", "idempotency_key", unique=True)
    _index("effects_about", "effects", "task_id", "kind", "subject")
    _index("effects_by_identity", "effects", "identity")
    _index("effects_by_twin", "effects", "twin", where="twin IS NOT NULL")
    _index("effects_due", "effects", "due_at_ms", where="due_at_ms IS NOT NULL")
    # When an alarm clock rings next.
    _index("schedules_due", "schedules", "next_at_ms", where="next_at_ms IS NOT NULL")
    _index("credentials_by_digest", "credentials", "token_digest")


_tables()
_indexes()
