"""The SQL of the hot path, as text made once for each schema name.

It is plain SQL over the tables of `row`, written here and not by an expression compiler, so that a hub starts
without loading one. Keys go in as one JSON array (`json_each`), so that a hundred of them are one statement.
`schema` is `main` for the record and `temp` for the copy that an audit folds."""

# ruff: noqa: S608 - this SQL is made of our own names; what somebody sent is always bound
from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from msgspec import Struct

from tenure.core.world import Entity
from tenure.ledger.row import FACET_COLUMNS, FACETS, TABLES, Table

EVENT_COLUMNS = ("seq", "commit_no", "stream", "version", "at_ms", "kind", "body", "hash")
COMMIT_COLUMNS = ("commit_no", "first_seq", "last_seq", "wall_ms", "awake_ms", "hub", "hash")


class TableStatements(Struct, frozen=True):
    """`load` takes a JSON array of keys. `update` takes `Table.changed`; it is None where nothing changes."""

    load: str
    load_one: str
    insert: str
    update: str | None


class Statements(Struct, frozen=True):
    tables: dict[type[Entity], TableStatements]
    insert_facet: str


@cache
def statements(schema: str) -> Statements:
    return Statements(
        tables={kind: _table_statements(schema, table) for kind, table in TABLES.items()},
        insert_facet=_insert(schema, FACETS, FACET_COLUMNS),
    )


def _insert(schema: str, name: str, columns: Iterable[str]) -> str:
    text = insert_into(f"{schema}.{name}", columns)
    # A forged record may make a row twice; its copy takes the later one and the comparison says so.
    return text if schema == "main" else text.replace("INSERT", "INSERT OR REPLACE", 1)


def _table_statements(schema: str, table: Table) -> TableStatements:
    name = f"{schema}.{table.name}"
    columns = [column.name for column in table.columns]
    selected = ", ".join(f"t.{column}" for column in columns)
    changes = ", ".join(f"{column} = ?" for column in table.changing)
    return TableStatements(
        # CROSS JOIN keeps the order: the keys first, then one index probe for each.
        load=f"SELECT {selected} FROM json_each(?) AS k CROSS JOIN {name} AS t ON t.{table.key} = k.value",
        load_one=f"SELECT {selected} FROM {name} AS t WHERE t.{table.key} = ?",
        insert=_insert(schema, table.name, columns),
        update=f"UPDATE {name} SET {changes} WHERE {table.key} = ?" if changes else None,
    )


def copy_tables() -> list[str]:
    """What makes the temporary copy of all tables: their columns and keys, without a check or an index."""
    entities = [
        (
            table.name,
            [f"{one.name} PRIMARY KEY" if one.name == table.key else one.name for one in table.columns],
        )
        for table in TABLES.values()
    ]
    facets = (FACETS, [*FACET_COLUMNS, f"PRIMARY KEY ({', '.join(FACET_COLUMNS)})"])
    return [f"CREATE TABLE temp.{name} ({', '.join(parts)})" for name, parts in (*entities, facets)]


def select(name: str, columns: Iterable[str]) -> str:
    return f"SELECT {', '.join(columns)} FROM {name}"


def insert_into(name: str, columns: Iterable[str]) -> str:
    columns = tuple(columns)
    return f"INSERT INTO {name} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"


INSERT_EVENT = insert_into("main.events", EVENT_COLUMNS)
INSERT_COMMIT = insert_into("main.commits", COMMIT_COLUMNS)

LAST_COMMIT = f"{select('main.commits', COMMIT_COLUMNS)} ORDER BY commit_no DESC LIMIT 1"
HEADS = (
    "SELECT e.stream, e.version, e.hash FROM json_each(?) AS k CROSS JOIN main.events AS e ON e.seq = "
    "(SELECT seq FROM main.events WHERE stream = k.value ORDER BY version DESC LIMIT 1)"
)
"""The last event of each stream."""

TASKS_BY_KEY = (
    "SELECT t.submitted_by, t.idempotency_key, t.task_id FROM json_each(?) AS k CROSS JOIN main.tasks AS t "
    "ON t.submitted_by = json_extract(k.value, '$[0]') AND t.idempotency_key = json_extract(k.value, '$[1]')"
)
CLAIMED = (
    "SELECT t.node_id, t.claim_id, t.delivery_id FROM json_each(?) AS k CROSS JOIN main.deliveries AS t "
    "ON t.node_id = json_extract(k.value, '$[0]') AND t.claim_id = json_extract(k.value, '$[1]')"
)
HELD_BY_NODE = (
    "SELECT t.node_id, t.delivery_id FROM json_each(?) AS k "
    # Without being told, the planner walks all that the node ever had.
    "CROSS JOIN main.deliveries AS t INDEXED BY deliveries_held "
    "ON t.node_id = k.value AND (t.ended_at_ms IS NULL OR t.slot = 1)"
)
NODES_NAMED = "SELECT t.name, t.node_id FROM json_each(?) AS k CROSS JOIN main.nodes AS t ON t.name = k.value"
SERVING = (
    "SELECT k.value, t.address FROM json_each(?) AS k CROSS JOIN main.recipients AS t ON t.address = k.value "
    "OR t.name = k.value OR EXISTS (SELECT 1 FROM json_each(t.pools) AS p WHERE p.value = k.value)"
)
"""Walks all recipients; asked only where a policy may send a Task to another one."""
REPORTED_LATE = (
    "SELECT t.attempt_id, t.late_id FROM json_each(?) AS k CROSS JOIN main.late AS t "
    "ON t.attempt_id = k.value AND t.outcome IS NOT NULL"
)
EFFECTS_BY_KEY = (
    "SELECT t.task_id, t.idempotency_key, t.effect_id FROM json_each(?) AS k CROSS JOIN main.effects AS t "
    "ON t.task_id = json_extract(k.value, '$[0]') AND t.idempotency_key = json_extract(k.value, '$[1]')"
)
EFFECTS_ABOUT = (
    "SELECT t.task_id, t.kind, t.subject, t.effect_id FROM json_each(?) AS k CROSS JOIN main.effects AS t "
    "ON t.task_id = json_extract(k.value, '$[0]') AND t.kind = json_extract(k.value, '$[1]') "
    "AND t.subject = json_extract(k.value, '$[2]')"
)
EFFECTS_KNOWN_AS = (
    "SELECT k.value, t.effect_id FROM json_each(?1) AS k CROSS JOIN main.effects AS t ON t.identity = k.value "
    "UNION SELECT k.value, t.effect_id FROM json_each(?1) AS k CROSS JOIN main.effects AS t ON t.twin = k.value"
)
QUEUED = (
    "WITH RECURSIVE lines(queue, project) AS ("
    "SELECT k.value, (SELECT project FROM main.tasks WHERE queue_key = k.value ORDER BY project LIMIT 1) "
    "FROM json_each(?3) AS k "
    "UNION ALL SELECT queue, (SELECT project FROM main.tasks WHERE queue_key = lines.queue AND project > lines.project "
    "ORDER BY project LIMIT 1) FROM lines WHERE lines.project IS NOT NULL) "
    "SELECT queue, project, (SELECT json_group_array(json_array(q.order_ms, q.task_id)) FROM "
    "(SELECT order_ms, task_id FROM main.tasks WHERE queue_key = queue AND tasks.project = lines.project "
    "AND ready_at_ms <= ?1 ORDER BY order_ms, task_id LIMIT ?2) AS q) FROM lines WHERE project IS NOT NULL"
)
"""The first so many of each line of each queue, by one range of one index each: what stands behind them costs nothing.
The lines of a queue are found by a skip for each."""
