"""The store over one SQLite connection."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from tenure.core.task import Task
from tenure.ledger import statement as sql
from tenure.ledger.chain import Commit
from tenure.ledger.row import TABLES, Row, facets

if TYPE_CHECKING:
    import sqlite3

    from tenure.core.world import Entity
    from tenure.ledger.store import Pair, Place, Triple

_places = msgspec.json.Decoder(list[tuple[int, str]])


def keys_json(keys: Iterable[Any]) -> str:
    """Keys as the one JSON array that a set-based statement takes."""
    return msgspec.json.encode(list(keys)).decode()


class SqliteStore:
    """`schema`: `main` for the record, `temp` for the copy that an audit makes. The connection is in
    autocommit mode; whoever made the store begins and ends transactions."""

    def __init__(self, connection: sqlite3.Connection, schema: str = "main") -> None:
        self.connection = connection
        self._tables = sql.statements(schema).tables
        self._insert_facet = sql.statements(schema).insert_facet

    def load(self, kind: type[Entity], keys: Collection[str]) -> list[tuple[Any, int]]:
        table, text = TABLES[kind], self._tables[kind]
        if len(keys) == 1:
            rows = self.connection.execute(text.load_one, tuple(keys))
        else:
            rows = self.connection.execute(text.load, (keys_json(keys),))
        return [(table.entity(row), table.weight(row)) for row in rows]

    def last_commit(self) -> Commit | None:
        row = self.connection.execute(sql.LAST_COMMIT).fetchone()
        return Commit(*row) if row else None

    def heads(self, streams: Collection[str]) -> dict[str, tuple[int, str]]:
        rows = self.connection.execute(sql.HEADS, (keys_json(streams),))
        return {stream: (version, digest) for stream, version, digest in rows}

    def tasks_by_key(self, pairs: Collection[Pair]) -> dict[Pair, str]:
        rows = self.connection.execute(sql.TASKS_BY_KEY, (keys_json(pairs),))
        return {(by, key): task_id for by, key, task_id in rows}

    def claimed(self, pairs: Collection[Pair]) -> dict[Pair, list[str]]:
        found: dict[Pair, list[str]] = defaultdict(list)
        for node, claim, delivery in self.connection.execute(sql.CLAIMED, (keys_json(pairs),)):
            found[node, claim].append(delivery)
        return found

    def held_by_node(self, nodes: Collection[str]) -> dict[str, list[str]]:
        return self._grouped(sql.HELD_BY_NODE, nodes)

    def nodes_named(self, names: Collection[str]) -> dict[str, list[str]]:
        return self._grouped(sql.NODES_NAMED, names)

    def recipients_serving(self, routes: Collection[str]) -> dict[str, list[str]]:
        return self._grouped(sql.SERVING, routes)

    def reported_late(self, attempts: Collection[str]) -> dict[str, list[str]]:
        return self._grouped(sql.REPORTED_LATE, attempts)

    def effects_by_key(self, pairs: Collection[Pair]) -> dict[Pair, str]:
        rows = self.connection.execute(sql.EFFECTS_BY_KEY, (keys_json(pairs),))
        return {(task, key): effect for task, key, effect in rows}

    def effects_about(self, triples: Collection[Triple]) -> dict[Triple, list[str]]:
        found: dict[Triple, list[str]] = defaultdict(list)
        for task, kind, subject, effect in self.connection.execute(sql.EFFECTS_ABOUT, (keys_json(triples),)):
            found[task, kind, subject].append(effect)
        return found

    def effects_known_as(self, identities: Collection[str]) -> dict[str, list[str]]:
        return self._grouped(sql.EFFECTS_KNOWN_AS, identities)

    def _grouped(self, text: str, keys: Collection[str]) -> dict[str, list[str]]:
        found: dict[str, list[str]] = defaultdict(list)
        for key, value in self.connection.execute(text, (keys_json(keys),)):
            found[key].append(value)
        return found

    def queued(self, limits: Mapping[str, int], now_ms: int) -> dict[str, dict[str, list[Place]]]:
        # Limits are rounded up to powers of two, so that a thousand queues with a few different ones are
        # a few statements.
        by_limit: dict[int, list[str]] = defaultdict(list)
        for queue, limit in limits.items():
            by_limit[1 << (limit - 1).bit_length()].append(queue)
        found: dict[str, dict[str, list[Place]]] = defaultdict(dict)
        for limit, queues in by_limit.items():
            rows = self.connection.execute(sql.QUEUED, (now_ms, limit, keys_json(queues)))
            for queue, project, places in rows:
                found[queue][project] = _places.decode(places)
        return found

    def write(self, kind: type[Entity], new: Collection[Any], changed: Collection[Any]) -> int:
        table, text = TABLES[kind], self._tables[kind]
        weight = 0
        if new:
            rows = list(map(table.new, new))
            self.connection.executemany(text.insert, rows)
            weight += sum(map(table.weight, rows))
            if kind is Task:
                self.connection.executemany(self._insert_facet, (row for task in new for row in facets(task)))
        if changed and text.update is not None:
            rows = list(map(table.changed, changed))
            self.connection.executemany(text.update, rows)
            weight += sum(map(table.changed_weight, rows))
        return weight

    def append(self, events: Collection[Row], commit: Commit) -> None:
        self.connection.executemany(sql.INSERT_EVENT, events)
        self.connection.execute(sql.INSERT_COMMIT, msgspec.structs.astuple(commit))
