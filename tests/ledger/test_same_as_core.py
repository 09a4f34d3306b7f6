"""A record on disk answers and ends as the plain World does, whatever is asked and however it is batched.

The machine of `tests.stateful` plays people, nodes, a bad network and time on a World; each command is noted with
its instant and its reply. Then the same commands go to each engine, cut into batches at random, over a cache so
small that entities fall out of it all the time. Replies, rows and hashes must be the same, the audit must agree,
and hardly anything may have to be loaded without having been foreseen."""

from __future__ import annotations

import atexit
import shutil
import sqlite3
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import rule

from tenure.core import commands as cm
from tenure.core.decide import decide
from tenure.core.delivery import Now
from tenure.core.world import ENTITY_KINDS
from tenure.ledger import audit, batch
from tenure.ledger.batch import Judge
from tenure.ledger.memory import MemoryEngine
from tenure.ledger.migrating import bring_up_to_date
from tenure.ledger.row import TABLES
from tenure.ledger.sqlite_engine import SqliteEngine
from tests.core.lab import QuickLab
from tests.ledger.desk import connector
from tests.stateful import test_core_machine as core
from tests.stateful import test_recovery_machine as recovery

SMALL_CACHE = 4_000


class NotingLab(QuickLab):
    """A Lab that keeps what was asked, when, and what was answered."""

    def __init__(self, *args: Any) -> None:
        self.asked: list[tuple[cm.Command, Now, Any]] = []
        super().__init__(*args)

    def run(self, command: cm.Command) -> Any:
        reply = super().run(command)
        self.asked.append((command, self.now, reply))
        return reply


class Engines:
    """Beside a machine of the core: at its end the engines have to say the same."""

    lab: NotingLab

    def __init__(self) -> None:
        with pytest.MonkeyPatch.context() as patch:
            for module in (core, recovery):
                patch.setattr(module, "QuickLab", NotingLab)
            super().__init__()
        self.cuts: list[int] = [3]
        self.foresees = True

    @rule(cut=st.integers(1, 9))
    def batch_so_many(self, cut: int) -> None:
        self.cuts.append(cut)

    @rule()
    def foresee_nothing(self) -> None:
        """What a batch will need is loaded ahead for speed only."""
        self.foresees = False

    def teardown(self) -> None:
        with pytest.MonkeyPatch.context() as patch:
            if not self.foresees:
                patch.setattr(batch, "foresee", lambda *_: None)
            self.compare()

    def compare(self) -> None:
        batches = list(cut_up(self.lab.asked, self.cuts))
        judge = Judge(decide, self.lab.terms)
        memory = MemoryEngine(judge)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(shutil.copy(empty_database(), Path(folder) / "hub.db"))
            engine = SqliteEngine(connector(path), judge, SMALL_CACHE)
            for commands, now, replies in batches:
                assert memory.run(commands, now).outcomes == replies
                assert engine.run(commands, now).outcomes == replies
            connection = engine.open().connection
            assert rows_of(connection) == {
                TABLES[kind].name: dict(memory.world.entities[kind]) for kind in ENTITY_KINDS
            }
            assert memory.world.entities == self.lab.world.entities
            found = connection.execute(
                "SELECT seq, commit_no, stream, version, at_ms, kind, body, hash FROM events"
            )
            assert found.fetchall() == memory.rows
            assert audit.head(connection).hash == memory.commits[-1].hash
            report = audit.verify(connection)
            assert report.agrees, "\n".join(map(str, report.findings))
            engine.close()


def cut_up(asked: list[tuple[cm.Command, Now, Any]], cuts: list[int]) -> Any:
    """Batches of commands that were asked at the same instant, none longer than the next cut says."""
    turn, start = 0, 0
    while start < len(asked):
        size, end = cuts[turn % len(cuts)], start
        while end < len(asked) and end < start + size and asked[end][1] == asked[start][1]:
            end += 1
        batch = asked[start:end]
        yield [command for command, _, _ in batch], batch[0][1], [reply for _, _, reply in batch]
        turn, start = turn + 1, end


def rows_of(connection: sqlite3.Connection) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for table in TABLES.values():
        columns = ", ".join(column.name for column in table.columns)
        rows = connection.execute(f"SELECT {columns} FROM {table.name}")
        found[table.name] = {one.key: one for one in map(table.entity, rows)}
    return found


@cache
def empty_database() -> Path:
    """Made once for all examples."""
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)
    path = Path(folder.name) / "hub.db"
    connect = connector(path)
    bring_up_to_date(lambda: connect(False))
    return path


class LedgerMachine(Engines, core.CoreMachine):
    lab: NotingLab


class RecoveryLedgerMachine(Engines, recovery.RecoveryMachine):
    lab: NotingLab


LedgerMachine.TestCase.settings = settings(
    max_examples=60, stateful_step_count=60, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
RecoveryLedgerMachine.TestCase.settings = settings(
    max_examples=40, stateful_step_count=40, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
TestTheRecordIsTheWorld = LedgerMachine.TestCase
TestTheRecordOfRecoveryIsTheWorld = RecoveryLedgerMachine.TestCase
