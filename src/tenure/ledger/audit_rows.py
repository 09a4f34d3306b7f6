"""Every row of every table against the events, folded again."""

# ruff: noqa: S608 - this SQL is made of our own names; what somebody sent is always bound
from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from tenure.core.delivery import Now
from tenure.core.events import Event
from tenure.core.evolve import evolve
from tenure.core.ids import IncarnationId
from tenure.ledger.audit_chain import CommitChain
from tenure.ledger.batch import kind_of
from tenure.ledger.chain import Commit
from tenure.ledger.loaded_world import LoadedWorld
from tenure.ledger.row import FACET_COLUMNS, FACETS, TABLES
from tenure.ledger.sqlite_store import SqliteStore
from tenure.ledger.statement import COMMIT_COLUMNS, EVENT_COLUMNS, copy_tables, select

if TYPE_CHECKING:
    from tenure.core.world import Entity
    from tenure.ledger.finding import Findings
    from tenure.ledger.row import Row

FLUSH = 5_000
"""Events folded in memory before what they changed is put into the copy."""

_event = msgspec.json.Decoder[Event](Event)


def check(connection: sqlite3.Connection, findings: Findings) -> int:
    """Fold the events and compare; how many rows were compared."""
    for statement in copy_tables():
        connection.execute(statement)
    try:
        _Fold(connection, findings).run()
        rows = _compare(connection, findings, FACETS, FACET_COLUMNS, [])
        for table in TABLES.values():
            columns = [one.name for one in table.columns]
            rows += _compare(connection, findings, table.name, (table.key,), columns)
        return rows
    finally:
        for name in (*(table.name for table in TABLES.values()), FACETS):
            connection.execute(f"DROP TABLE temp.{name}")


class _Fold:
    """Folds all events into the copy, commit by commit, checking the commits' chain on the way."""

    def __init__(self, connection: sqlite3.Connection, findings: Findings) -> None:
        self._connection = connection
        self._findings = findings
        self._store = SqliteStore(connection, "temp")
        self._world = LoadedWorld()
        self._folded = 0

    def run(self) -> None:
        self._world.open(self._store, 0)
        events = self._connection.execute(f"{select('main.events', EVENT_COLUMNS)} ORDER BY seq")
        commits = f"{select('main.commits', COMMIT_COLUMNS)} ORDER BY commit_no"
        chain = CommitChain(self._findings)
        ahead: Row | None = events.fetchone()
        for row in self._connection.execute(commits):
            commit = Commit(*row)
            mine: list[Row] = []
            while ahead is not None and ahead[0] <= commit.last_seq:
                mine.append(ahead)
                ahead = events.fetchone()
            chain.follow(commit, mine)
            now = Now(commit.wall_ms, commit.awake_ms, IncarnationId(commit.hub))
            for event in mine:
                self._take(event, now)
        chain.end(ahead)
        self._flush()

    def _take(self, row: Row, now: Now) -> None:
        seq, _, stream, _, _, kind, body, _ = row
        wrong = self._findings.add
        try:
            event = _event.decode(body)
            if event.stream != stream:
                wrong("events", seq, "stream", "it is in another stream than it says", event.stream, stream)
            if kind_of(event) != kind:
                wrong("events", seq, "kind", "it is of another kind than it says", kind_of(event), kind)
            evolve(self._world, event, now)
        except Exception as error:  # noqa: BLE001 - a forged event may be anything; the audit goes on and says so
            wrong(
                "events",
                seq,
                "body",
                f"it cannot be, or cannot follow what is before it: {error}",
                None,
                body,
            )
        self._folded += 1
        if self._folded >= FLUSH:
            self._flush()

    def _flush(self) -> None:
        weights: dict[type[Entity], int] = {}
        for kind, touched in self._world.touched.items():
            try:
                weights[kind] = self._store.write(kind, *touched.split())
            except (sqlite3.Error, OverflowError, UnicodeError) as error:
                # Only a forged event can make what a table cannot hold.
                self._findings.add(
                    TABLES[kind].name, "", None, f"what the events make cannot be kept: {error}"
                )
        self._world.keep(weights)
        self._world.open(self._store, 0)
        self._folded = 0


def _compare(
    connection: sqlite3.Connection, findings: Findings, name: str, keys: tuple[str, ...], columns: list[str]
) -> int:
    """Compare a table with its copy. Keys are unique in both, so three questions name every difference."""
    same = " AND ".join(f"m.{key} = c.{key}" for key in keys)
    try:
        for row in _only_in("temp", "main", connection, name, keys, same):
            findings.add(name, _key(row), None, "this row is missing")
        for row in _only_in("main", "temp", connection, name, keys, same):
            findings.add(name, _key(row), None, "no event has made this row")
        _name_differences(connection, findings, name, keys, columns)
        (rows,) = connection.execute(f"SELECT count(*) FROM main.{name}").fetchone()
    except sqlite3.OperationalError as error:
        findings.add(name, "", None, f"the table cannot be read as it should be: {error}")
        return 0
    return rows


def _only_in(
    here: str, there: str, connection: sqlite3.Connection, name: str, keys: tuple[str, ...], same: str
) -> Iterator[tuple[Any, ...]]:
    named = ", ".join(f"m.{key}" for key in keys)
    yield from connection.execute(
        f"SELECT {named} FROM {here}.{name} AS m "
        f"WHERE NOT EXISTS (SELECT 1 FROM {there}.{name} AS c WHERE {same}) ORDER BY {named}"
    )


def _name_differences(
    connection: sqlite3.Connection, findings: Findings, name: str, keys: tuple[str, ...], columns: list[str]
) -> None:
    if not columns:
        return
    (key,) = keys
    both = ", ".join(f"{side}.{column}" for side in ("c", "m") for column in columns)
    differs = " OR ".join(f"m.{column} IS NOT c.{column}" for column in columns)
    rows = connection.execute(
        f"SELECT m.{key}, {both} FROM main.{name} AS m JOIN temp.{name} AS c ON c.{key} = m.{key} "
        f"WHERE {differs} ORDER BY m.{key}"
    )
    for row in rows:
        expected, found = row[1 : 1 + len(columns)], row[1 + len(columns) :]
        for column, should, does in zip(columns, expected, found, strict=True):
            if should != does:
                findings.add(
                    name, row[0], column, "this is not what the events made", _null(should), _null(does)
                )


def _null(value: object) -> object:
    return "NULL" if value is None else value


def _key(row: tuple[Any, ...]) -> str:
    return " ".join(str(part) for part in row)
