"""What the database refuses by itself, from whoever has a SQL prompt (`frozen`)."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tenure.core.attempt import AttemptState
from tenure.core.effect import Effect
from tenure.core.task import TERMINAL_TASK_STATES
from tenure.ledger.row import FACETS, TABLES
from tests.ledger.desk import Desk, lived, raw

ALL = [*(table.name for table in TABLES.values()), FACETS, "events", "commits"]
FIXED = [(table.name, column.name) for table in TABLES.values() for column in table.columns if column.fixed]
ENDED_ATTEMPT = (
    "state",
    "harness",
    "model",
    "last_delivery",
    "started_at_ms",
    "ended_at_ms",
    "verdict",
    "outcome",
)
ANSWERS = ("answer", "answer_because", "answer_by", "answer_at_ms")
OTHER = {"state": "'pending'", "verdict": "'failed'", "answer": "'retire'"}


@pytest.fixture
async def prompt(sqlite_desk: Desk, database: Path) -> AsyncIterator[sqlite3.Connection]:
    await lived(sqlite_desk)
    with raw(database) as connection:
        yield connection


def changed(connection: sqlite3.Connection, statement: str) -> int:
    return connection.execute(statement).rowcount


def refused(connection: sqlite3.Connection, statement: str) -> None:
    with pytest.raises(sqlite3.IntegrityError, match="frozen"):
        connection.execute(statement)


@pytest.mark.parametrize("name", ALL)
def test_no_row_is_ever_deleted(prompt: sqlite3.Connection, name: str) -> None:
    assert prompt.execute(f"SELECT count(*) FROM {name}").fetchone() > (0,)
    refused(prompt, f"DELETE FROM {name}")


@pytest.mark.parametrize("name", ["events", "commits", FACETS])
def test_no_row_of_the_record_ever_changes(prompt: sqlite3.Connection, name: str) -> None:
    for _, column, *_ in prompt.execute(f"PRAGMA table_info({name})").fetchall():
        refused(prompt, f"UPDATE {name} SET {column} = {column}")


@pytest.mark.parametrize("name", [name for name in ALL if name != FACETS])
def test_no_row_is_ever_replaced(prompt: sqlite3.Connection, name: str) -> None:
    refused(prompt, f"INSERT OR REPLACE INTO {name} SELECT * FROM {name} ORDER BY 1 LIMIT 1")


@pytest.mark.parametrize(("name", "column"), FIXED)
def test_what_is_fixed_at_the_start_never_changes(prompt: sqlite3.Connection, name: str, column: str) -> None:
    refused(prompt, f"UPDATE {name} SET {column} = {column}")


def test_a_task_that_has_ended_never_changes(prompt: sqlite3.Connection) -> None:
    states = ", ".join(f"'{state}'" for state in TERMINAL_TASK_STATES)
    changing = next(table for table in TABLES.values() if table.name == "tasks").changing
    for column in changing:
        refused(prompt, f"UPDATE tasks SET {column} = {column} WHERE state IN ({states})")
    assert changed(prompt, f"UPDATE tasks SET fence = fence WHERE state NOT IN ({states})") > 0


@pytest.mark.parametrize("column", TABLES[Effect].changing)
def test_an_effect_that_is_confirmed_never_changes(prompt: sqlite3.Connection, column: str) -> None:
    refused(prompt, f"UPDATE effects SET {column} = {column} WHERE state = 'confirmed'")
    assert changed(prompt, f"UPDATE effects SET {column} = {column} WHERE state <> 'confirmed'") > 0


def test_two_effects_of_a_task_never_have_one_key(prompt: sqlite3.Connection) -> None:
    columns = [column.name for column in TABLES[Effect].columns]
    taken = ", ".join("'e_other'" if name == "effect_id" else name for name in columns)
    with pytest.raises(sqlite3.IntegrityError, match="UNIQUE"):
        prompt.execute(f"INSERT INTO effects ({', '.join(columns)}) SELECT {taken} FROM effects LIMIT 1")


@pytest.mark.parametrize("column", ENDED_ATTEMPT)
def test_an_attempt_that_has_ended_never_changes(prompt: sqlite3.Connection, column: str) -> None:
    value = OTHER.get(column, "12345")
    refused(prompt, f"UPDATE attempts SET {column} = {value} WHERE state = '{AttemptState.ENDED}'")


@pytest.mark.parametrize("column", ANSWERS)
def test_an_answer_is_final_and_stands_beside_an_ended_attempt(
    prompt: sqlite3.Connection, column: str
) -> None:
    value = OTHER.get(column, "12345")
    refused(prompt, f"UPDATE attempts SET {column} = {value} WHERE answer = 'rerun'")
    assert (
        changed(prompt, "UPDATE attempts SET answer = 'investigate' WHERE state = 'ended' AND answer IS NULL")
        > 0
    )
    assert changed(prompt, f"UPDATE attempts SET {column} = {value} WHERE answer = 'investigate'") > 0


@pytest.mark.parametrize("column", ["harness", "model"])
def test_harness_and_model_are_frozen_once_they_are_set(prompt: sqlite3.Connection, column: str) -> None:
    where = "WHERE state <> 'ended'"
    assert changed(prompt, f"UPDATE attempts SET {column} = 'this' {where} AND {column} IS NULL") > 0
    refused(prompt, f"UPDATE attempts SET {column} = 'that' {where}")
    refused(prompt, f"UPDATE attempts SET {column} = NULL {where}")
    assert changed(prompt, f"UPDATE attempts SET {column} = 'this' {where} AND {column} = 'this'") > 0


@pytest.mark.parametrize(
    ("name", "column", "value"),
    [
        ("tasks", "state", "'gone'"),
        ("attempts", "verdict", "'perhaps'"),
        ("deliveries", "slot", "2"),
        ("attention", "open", "-1"),
        ("tasks", "fence", "'one'"),
        ("tasks", "fence", "NULL"),
    ],
)  # fmt: skip
def test_a_column_holds_only_what_its_field_can_be(
    prompt: sqlite3.Connection, name: str, column: str, value: str
) -> None:
    open_ones = {"tasks": "WHERE ended_at_ms IS NULL", "attempts": "WHERE state <> 'ended'"}.get(name, "")
    with pytest.raises(sqlite3.IntegrityError, match=r"CHECK|cannot store|NOT NULL"):
        prompt.execute(f"UPDATE {name} SET {column} = {value} {open_ones}")
