"""From the schema with Effects to the one with schedules: nothing is lost, and the record proves itself."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import create_engine
from sqlalchemy.pool import StaticPool

from tenure.core.attention import AttentionKind
from tests.ledger.desk import connector

QUESTION = (
    "INSERT INTO attention (item_id, kind, subject, version, open, summary, facts, opened_at_ms) "
    "VALUES (?, ?, ?, 1, 1, 'look', '{}', 5)"
)
SCHEDULE = (
    "INSERT INTO schedules (schedule_id, spec, spec_digest, revision, state, state_by, state_because, state_at_ms, "
    "next_at_ms, fired, skipped, failed, submitted_by, added_at_ms) "
    "VALUES (?, '{}', 'd', 1, ?, 'ann', '', 5, ?, 0, 0, 0, 'ann', 5)"
)
NODE = (
    "INSERT INTO nodes (node_id, name, credential_digest, incarnation, superseded, boots, contract, compatible, quarantined, "
    "revoked, snapshot_sequence, platform, version, recipients, enrolled_at_ms, started_at_ms) "
    "VALUES ('n_1', 'laptop', 'd', 'i_1', '[]', '[\"a\"]', 1, 1, 0, 0, 3, 'linux', '1', '[]', 5, 6)"
)


def migrated_to(path: Path, revision: str) -> sqlite3.Connection:
    connect = connector(path)
    config = Config()
    config.set_main_option("script_location", "tenure.ledger:migrations")
    engine = create_engine("sqlite://", creator=lambda: connect(False), poolclass=StaticPool)
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, revision)
    engine.dispose()
    return connect(False)


def test_questions_of_the_schema_before_are_kept_as_they_were(tmp_path: Path) -> None:
    path = tmp_path / "hub.db"
    old = migrated_to(path, "0002")
    for number, kind in enumerate(("unknown", "approval", "effect_in_doubt")):
        old.execute(QUESTION, (f"{kind}:t_{number}", kind, f"t_{number}"))
    old.execute(
        "UPDATE attention SET open = 0, closed_at_ms = 9, closed_because = 'read' WHERE subject = 't_1'"
    )
    with pytest.raises(sqlite3.IntegrityError):
        old.execute(QUESTION, ("schedule_failed:s_x", "schedule_failed", "s_x"))
    old.commit()
    before = old.execute("SELECT * FROM attention ORDER BY item_id").fetchall()
    old.close()

    new = migrated_to(path, "0003")
    assert new.execute("SELECT * FROM attention ORDER BY item_id").fetchall() == before
    assert new.execute("PRAGMA user_version").fetchone() == (3,)
    new.execute(QUESTION, ("schedule_failed:s_x", str(AttentionKind.SCHEDULE_FAILED), "s_x"))
    for refused in ("DELETE FROM attention", "UPDATE attention SET subject = 'other'"):
        with pytest.raises(sqlite3.IntegrityError, match="frozen"):
            new.execute(refused)
    plan = str(new.execute("EXPLAIN QUERY PLAN SELECT 1 FROM attention WHERE subject = 'x'").fetchall())
    assert "attention_about" in plan
    new.close()


def test_a_schedule_is_kept_for_good_and_found_by_when_it_is_due(tmp_path: Path) -> None:
    new = migrated_to(tmp_path / "hub.db", "0003")
    new.execute(SCHEDULE, ("s_a", "active", 7))
    new.execute(SCHEDULE, ("s_b", "removed", None))
    with pytest.raises(sqlite3.IntegrityError):
        new.execute(SCHEDULE, ("s_c", "dreaming", 7))
    with pytest.raises(sqlite3.IntegrityError):
        new.execute("UPDATE schedules SET last_outcome = 'perhaps'")
    new.execute("UPDATE schedules SET last_outcome = 'overlapped', next_at_ms = 9 WHERE schedule_id = 's_a'")
    for refused in ("DELETE FROM schedules", "UPDATE schedules SET added_at_ms = 6"):
        with pytest.raises(sqlite3.IntegrityError, match="frozen"):
            new.execute(refused)
    plan = str(
        new.execute(
            "EXPLAIN QUERY PLAN SELECT min(next_at_ms) FROM schedules WHERE next_at_ms IS NOT NULL"
        ).fetchall()
    )
    assert "schedules_due" in plan
    new.close()


def test_questions_are_kept_when_a_blocked_recipient_becomes_one(tmp_path: Path) -> None:
    path = tmp_path / "hub.db"
    old = migrated_to(path, "0005")
    question = QUESTION.replace("opened_at_ms)", "opened_at_ms, notified_version)").replace("5)", "5, 1)")
    old.execute(question, ("late_evidence:t_1/1", "late_evidence", "t_1/1"))
    blocked = ("recipient_blocked:t_1/1", str(AttentionKind.RECIPIENT_BLOCKED), "t_1/1")
    with pytest.raises(sqlite3.IntegrityError):
        old.execute(question, blocked)
    old.commit()
    before = old.execute("SELECT * FROM attention ORDER BY item_id").fetchall()
    old.close()

    new = migrated_to(path, "0006")
    assert new.execute("SELECT * FROM attention ORDER BY item_id").fetchall() == before
    new.execute(question, blocked)
    for refused in ("DELETE FROM attention", "UPDATE attention SET subject = 'other'"):
        with pytest.raises(sqlite3.IntegrityError, match="frozen"):
            new.execute(refused)
    new.close()


def test_nodes_are_kept_when_their_starts_get_numbers_and_what_never_changes_still_does_not(
    tmp_path: Path,
) -> None:
    path = tmp_path / "hub.db"
    old = migrated_to(path, "0006")
    old.execute(NODE)
    old.commit()
    before = old.execute("SELECT * FROM nodes").fetchall()
    old.close()

    new = migrated_to(path, "0007")
    (row,) = new.execute("SELECT * FROM nodes").fetchall()
    assert [(*row[:-1],)] == before
    assert row[-1] == 0
    new.execute("UPDATE nodes SET generation = 7, credential_digest = 'e'")
    for refused in ("DELETE FROM nodes", "UPDATE nodes SET name = 'other'", NODE):
        with pytest.raises(sqlite3.IntegrityError, match="frozen"):
            new.execute(refused)
    new.close()
