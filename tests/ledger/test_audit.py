"""Whatever is changed in the record by hand is found and named."""

from __future__ import annotations

import asyncio
import json
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tenure.core.canonical import canonical
from tenure.ledger import audit
from tenure.ledger.chain import GENESIS, Commit, commit_hash, event_hash
from tenure.ledger.finding import LISTED, Finding
from tenure.ledger.row import FACETS, TABLES
from tenure.ledger.statement import COMMIT_COLUMNS, EVENT_COLUMNS
from tests.ledger.desk import Desk, HandClock, connector, lived, raw, sqlite_ledger, without_triggers

KEYS = {table.name: table.key for table in TABLES.values()} | {"events": "seq", "commits": "commit_no"}
COLUMNS = [(table.name, column.name) for table in TABLES.values() for column in table.columns]
COLUMNS += [("events", column) for column in EVENT_COLUMNS] + [
    ("commits", column) for column in COMMIT_COLUMNS
]


HIDDEN = {("events", "body"), ("commits", "awake_ms"), ("commits", "hub")}
"""Only the hash beside it says what should stand there."""


@pytest.fixture(scope="module")
def lived_database(empty_database: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = Path(shutil.copy(empty_database, tmp_path_factory.mktemp("lived") / "hub.db"))

    async def live() -> None:
        clock = HandClock()
        ledger = sqlite_ledger(path, clock)
        await ledger.open()
        await lived(Desk(ledger, clock))
        await ledger.close()

    asyncio.run(live())
    return path


@pytest.fixture
def record(lived_database: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(lived_database, tmp_path / "hub.db"))


def findings(path: Path, anchor: audit.Anchor | None = None) -> list[Finding]:
    """What a verify finds over a connection that cannot write."""
    connection = connector(path)(True)
    try:
        report = audit.verify(connection, anchor)
        assert report.agrees is not bool(report.findings)
        return list(report.findings)
    finally:
        connection.close()


def other(value: Any) -> Any:
    if value is None:
        return "x"
    return value + 1 if isinstance(value, int) else f"{value}x"


def tampered(connection: sqlite3.Connection, name: str, column: str) -> Any:
    """Change one column of one row, preferably where it holds something; the row's key."""
    key = KEYS[name]
    row = connection.execute(
        f"SELECT {key}, {column} FROM {name} ORDER BY {column} IS NULL, {key} DESC LIMIT 1"
    ).fetchone()
    value = other(row[1])
    kinds = {column: kind for _, column, kind, *_ in connection.execute(f"PRAGMA table_info({name})")}
    if row[1] is None and kinds[column] == "INTEGER":
        value = 1
    connection.execute(f"UPDATE {name} SET {column} = ? WHERE {key} = ?", (value, row[0]))
    return row[0]


def test_an_untouched_record_agrees_with_itself(record: Path) -> None:
    assert findings(record) == []
    with raw(record) as connection:
        report = audit.verify(connection)
        assert report.head == audit.head(connection)
        tables = [*(table.name for table in TABLES.values()), FACETS]
        assert report.rows == sum(
            connection.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in tables
        )
        assert audit.verify(connection, report.head).agrees


def test_a_record_with_nothing_in_it_agrees_with_itself(database: Path) -> None:
    with raw(database) as connection:
        assert audit.head(connection) == audit.Anchor(0, GENESIS, 0, 0)
        assert audit.verify(connection, audit.head(connection)).agrees
        assert list(audit.export(connection)) == []


@pytest.mark.parametrize(("name", "column"), COLUMNS)
def test_every_column_of_every_table_that_was_changed_is_named(record: Path, name: str, column: str) -> None:
    with without_triggers(record) as connection:
        key = tampered(connection, name, column)
    found = findings(record)
    assert found
    if column == KEYS[name]:
        assert name in {one.table for one in found}
        return
    named = [(one.table, one.key, one.column) for one in found]
    if (name, column) in HIDDEN:
        assert (name, str(key), "hash") in named
    elif (name, column) == ("events", "version"):
        assert {(name, str(key), "version"), (name, str(key), "hash")} <= set(named)
    else:
        assert (name, str(key), column) in named
    if name in {table.name for table in TABLES.values()}:
        assert len(found) == 1
        assert (found[0].expected, found[0].found) != (None, None)
        assert f"{name} {key} {column}: " in str(found[0])


@pytest.mark.parametrize("name", [*(table.name for table in TABLES.values()), FACETS])
def test_a_row_that_is_missing_or_was_added_is_named(record: Path, name: str) -> None:
    with without_triggers(record) as connection:
        rows = connection.execute(f"SELECT count(*) FROM {name}").fetchone()[0]
        cursor = connection.execute(f"SELECT * FROM {name} LIMIT 1")
        row = list(cursor.fetchone())
        names = [one[0] for one in cursor.description]
        keys = [KEYS[name]] if name in KEYS else names
        where = " AND ".join(f"{key} = ?" for key in keys)
        values = [row[names.index(key)] for key in keys]
        connection.execute(f"DELETE FROM {name} WHERE {where}", values)
        assert connection.execute(f"SELECT count(*) FROM {name}").fetchone()[0] == rows - 1
        row[names.index(keys[-1])] += "x"
        if name == "tasks":
            row[names.index("idempotency_key")] += "x"
        connection.execute(f"INSERT INTO {name} VALUES ({', '.join('?' * len(row))})", row)
    found = findings(record)
    assert (name, " ".join(values), "this row is missing") in [
        (one.table, one.key, one.problem) for one in found
    ]
    values[-1] += "x"
    assert (name, " ".join(values), "no event has made this row") in [
        (one.table, one.key, one.problem) for one in found
    ]


def test_a_commit_cut_off_with_its_events_is_found_by_the_rows_it_made(record: Path) -> None:
    with without_triggers(record) as connection:
        (last, first_seq) = connection.execute(
            "SELECT max(commit_no), max(first_seq) FROM commits"
        ).fetchone()
        connection.execute("DELETE FROM events WHERE seq >= ?", (first_seq,))
        connection.execute("DELETE FROM commits WHERE commit_no = ?", (last,))
    assert {one.table for one in findings(record)} == {"attention"}


def test_a_commit_cut_off_with_everything_it_made_is_found_by_an_anchor(record: Path) -> None:
    with without_triggers(record) as connection:
        anchor = audit.head(connection)
        (last, first_seq) = connection.execute(
            "SELECT max(commit_no), max(first_seq) FROM commits"
        ).fetchone()
        connection.execute("DELETE FROM events WHERE seq >= ?", (first_seq,))
        connection.execute("DELETE FROM commits WHERE commit_no = ?", (last,))
        connection.execute("DELETE FROM attention WHERE kind = 'clock_stepped'")
    assert findings(record) == []
    (found,) = findings(record, anchor)
    assert (found.table, found.key, found.expected) == ("commits", str(last), anchor.hash)


def test_a_commit_without_its_row_is_found(record: Path) -> None:
    with without_triggers(record) as connection:
        connection.execute("DELETE FROM commits WHERE commit_no = (SELECT max(commit_no) FROM commits)")
    assert any("the record's tail was cut" in one.problem for one in findings(record))


@pytest.mark.parametrize("number", [1, 5])
def test_a_commit_missing_in_the_middle_is_found(record: Path, number: int) -> None:
    with without_triggers(record) as connection:
        connection.execute("DELETE FROM commits WHERE commit_no = ?", (number,))
    named = {(one.table, one.key, one.column) for one in findings(record)}
    assert ("commits", str(number + 1), "commit_no") in named


def test_a_whole_task_that_was_removed_with_all_its_events_is_found(record: Path) -> None:
    with without_triggers(record) as connection:
        (task_id,) = connection.execute("SELECT task_id FROM tasks ORDER BY task_id LIMIT 1").fetchone()
        connection.execute("DELETE FROM events WHERE stream = ?", (task_id,))
        for name in ("tasks", "attempts", "deliveries", "facets", "late"):
            connection.execute(f"DELETE FROM {name} WHERE task_id = ?", (task_id,))
    named = {(one.table, one.column) for one in findings(record)}
    assert {("commits", "last_seq"), ("commits", "hash")} <= named


def rewritten(connection: sqlite3.Connection, change: Callable[[list[Any]], None]) -> None:
    """Forge the record from end to end: change the events' rows, then make every hash anew."""
    events = [
        list(row) for row in connection.execute(f"SELECT {', '.join(EVENT_COLUMNS)} FROM events ORDER BY seq")
    ]
    commits = [
        Commit(*row)
        for row in connection.execute(f"SELECT {', '.join(COMMIT_COLUMNS)} FROM commits ORDER BY 1")
    ]
    change(events)
    heads: dict[str, str] = {}
    for row in events:
        _, _, stream, version, at_ms, _, body, _ = row
        row[7] = heads[stream] = event_hash(heads.get(stream, GENESIS), stream, version, at_ms, body)
        connection.execute("UPDATE events SET body = ?, hash = ? WHERE seq = ?", (body, row[7], row[0]))
    before = GENESIS
    for commit in commits:
        mine = [row[7] for row in events if commit.first_seq <= row[0] <= commit.last_seq]
        before = commit_hash(before, commit, mine)
        connection.execute("UPDATE commits SET hash = ? WHERE commit_no = ?", (before, commit.commit_no))


def test_a_record_forged_from_end_to_end_disagrees_with_its_rows_and_with_an_anchor(record: Path) -> None:
    def change(events: list[Any]) -> None:
        row = next(row for row in events if row[5] == "task_ended")
        row[6] = canonical(json.loads(row[6]) | {"reason": "something better"}).decode()

    with without_triggers(record) as connection:
        anchor = audit.head(connection)
        rewritten(connection, change)
    (by_rows,) = findings(record)
    assert (by_rows.table, by_rows.column) == ("tasks", "end_reason")
    assert ("commits", "hash") in [(one.table, one.column) for one in findings(record, anchor)]


def test_an_event_that_cannot_follow_is_named_and_the_audit_goes_on(record: Path) -> None:
    def change(events: list[Any]) -> None:
        for row in events:
            if row[5] == "delivery_acknowledged":
                row[6] = canonical(json.loads(row[6]) | {"delivery_id": "d_none"}).decode()
            if row[5] == "task_ended":
                row[6] = '{"event":"task_ended","reason":"x","state":"somehow","task_id":"' + row[2] + '"}'
            if row[5] == "lease_renewed":
                row[6] = canonical(json.loads(row[6]) | {"counter": 2**70}).decode()

    with without_triggers(record) as connection:
        rewritten(connection, change)
    problems = " ".join(one.problem for one in findings(record))
    assert "Delivery d_none is referred to but is not in the record" in problems
    assert "Invalid enum value 'somehow'" in problems
    assert "what the events make cannot be kept" in problems


def test_a_trigger_that_is_missing_or_weaker_is_named(record: Path) -> None:
    with raw(record) as connection:
        connection.execute("DROP TRIGGER tasks_kept")
        connection.execute("DROP TRIGGER events_fixed")
        connection.execute("CREATE TRIGGER events_fixed BEFORE UPDATE ON events BEGIN SELECT 1; END")
    assert {(one.table, one.key) for one in findings(record)} == {
        ("sqlite_master", "events_fixed"),
        ("sqlite_master", "tasks_kept"),
    }


def test_a_table_that_is_gone_or_lacks_a_column_is_named(record: Path) -> None:
    with raw(record) as connection:
        connection.execute("DROP TABLE credentials")
        connection.execute("ALTER TABLE hub RENAME COLUMN starts TO beginnings")
    named = {one.table for one in findings(record)}
    assert {"credentials", "hub"} <= named


def test_findings_beyond_a_bound_are_counted(record: Path) -> None:
    with without_triggers(record) as connection:
        connection.execute(
            "UPDATE deliveries SET number = 9, fence = 9, token_digest = '', claimed_at_ms = 0, usage = ''"
        )
        connection.execute(
            "UPDATE events SET hash = '', at_ms = seq, commit_no = 0, version = version + 1000"
        )
    with raw(record) as connection:
        report = audit.verify(connection)
    assert len(report.findings) == LISTED
    assert report.more > 0


def test_an_export_has_every_commit_and_event_with_what_their_hashes_cover(record: Path) -> None:
    with raw(record) as connection:
        lines = [msgspec.json.decode(line) for line in audit.export(connection)]
        head = audit.head(connection)
    before, heads, hashes = GENESIS, dict[str, str](), list[str]()
    pending: Commit | None = None
    for line in [*lines, {}]:
        if "event" in line:
            event = line["event"]
            text = (event["stream"], event["version"], event["at_ms"], event["body"])
            digest = event_hash(heads.get(event["stream"], GENESIS), *text)
            assert digest == event["hash"]
            heads[event["stream"]] = digest
            hashes.append(digest)
            continue
        if pending is not None:
            before = commit_hash(before, pending, hashes)
            assert before == pending.hash
        pending, hashes = (Commit(**line["commit"]) if line else None), []
    assert before == head.hash
    assert sum("event" in line for line in lines) == head.events


def test_a_record_of_many_tasks_is_audited_within_a_small_memory(database: Path) -> None:
    """More is folded than fits the cache, and more than one flush."""

    async def live() -> None:
        clock = HandClock()
        ledger = sqlite_ledger(database, clock)
        await ledger.open()
        desk = Desk(ledger, clock)
        await desk.start(capacity=500)
        for _ in range(6):
            await ledger.execute_many([desk.submission(labels={"a": "b"}) for _ in range(200)])
            for delivery in await desk.claim(100):
                await desk.ack(delivery)
                await desk.report(delivery)
        await ledger.close()

    asyncio.run(live())
    with raw(database) as connection:
        report = audit.verify(connection)
    assert report.agrees
    assert report.head.events > 5_000 - 500
