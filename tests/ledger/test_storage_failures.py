"""When the engine fails: nothing is lost, nothing is half done, and nobody is told what is not known."""

from __future__ import annotations

import errno
import shutil
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tenure.core import commands as cm
from tenure.core.ids import TaskId
from tenure.core.task import Task, TaskSpec
from tenure.errors import OutcomeUnknownError, StorageFailedError, StorageFullError, TenureError
from tenure.ledger import audit, batch
from tenure.ledger.port import TaskFilter
from tenure.ledger.sqlite_engine import overwrite_log
from tests.ledger.desk import Desk, HandClock, connector, raw, refuse, sqlite_ledger


class FaultyConnection(sqlite3.Connection):
    """Fails at COMMIT as it is told to: `before` it happened, or `after`; and from then on, if it is `gone`."""

    fault: str | None = None
    commits_first = 0
    unreadable: str | None = None
    is_gone = False
    failed: BaseException = sqlite3.OperationalError("disk I/O error")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if FaultyConnection.is_gone:
            raise sqlite3.OperationalError("unable to open database file")
        super().__init__(*args, **kwargs)

    def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
        fault = FaultyConnection.fault
        if FaultyConnection.is_gone:
            raise sqlite3.OperationalError("disk I/O error")
        if FaultyConnection.unreadable is not None and FaultyConnection.unreadable in sql:
            raise sqlite3.OperationalError("disk I/O error")
        if sql == "COMMIT" and fault is not None and not self._reads_only():
            if FaultyConnection.commits_first:
                FaultyConnection.commits_first -= 1
                return super().execute(sql)
            FaultyConnection.fault = None
            if fault.startswith("after"):
                super().execute("COMMIT")
            FaultyConnection.is_gone = fault.endswith("gone")
            raise FaultyConnection.failed
        return super().execute(sql, parameters)

    def _reads_only(self) -> bool:
        (answer,) = super().execute("PRAGMA query_only").fetchone()
        return bool(answer)


@pytest.fixture
async def faulty(database: Path, clock: HandClock) -> AsyncIterator[Desk]:
    FaultyConnection.fault, FaultyConnection.is_gone, FaultyConnection.unreadable = None, False, None
    FaultyConnection.failed = sqlite3.OperationalError("disk I/O error")
    ledger = sqlite_ledger(database, clock, connect=connector(database, FaultyConnection))
    await ledger.open()
    desk = Desk(ledger, clock)
    await desk.start(capacity=3)
    yield desk
    FaultyConnection.fault, FaultyConnection.is_gone, FaultyConnection.unreadable = None, False, None
    await ledger.close()
    with raw(database) as connection:
        report = audit.verify(connection)
        assert report.agrees, "\n".join(map(str, report.findings))


async def test_a_commit_that_failed_has_not_happened_and_may_be_sent_again(faulty: Desk) -> None:
    FaultyConnection.fault = "before"
    command = faulty.submission("key")
    with pytest.raises(StorageFailedError):
        await faulty.run(command)
    assert await faulty.ledger.task_by_key("ann", "key") is None
    assert await faulty.run(command) == cm.Submitted(command.task_id, replayed=False)


async def test_a_commit_whose_answer_was_lost_is_found_and_answered(faulty: Desk) -> None:
    FaultyConnection.fault = "after"
    command = faulty.submission("key")
    assert await faulty.run(command) == cm.Submitted(command.task_id, replayed=False)
    assert await faulty.ledger.find(Task, command.task_id) is not None
    assert await faulty.run(command) == cm.Submitted(command.task_id, replayed=True)


@pytest.mark.parametrize("fault", ["before, then gone", "after, then gone"])
async def test_a_commit_that_cannot_be_asked_about_is_said_to_be_unknown(faulty: Desk, fault: str) -> None:
    FaultyConnection.fault = fault
    command = faulty.submission("key")
    with pytest.raises(OutcomeUnknownError):
        await faulty.run(command)
    with pytest.raises(StorageFailedError):
        await faulty.run(command)
    FaultyConnection.is_gone = False
    reply = await faulty.run(command)
    assert reply == cm.Submitted(command.task_id, replayed=fault.startswith("after"))


async def test_until_a_failed_commit_is_settled_nothing_else_is_begun_and_the_connection_is_kept(
    faulty: Desk,
) -> None:
    """Whoever opens the log anew reads frames there that are in the kernel's memory only."""
    connection = faulty.engine.open().connection
    FaultyConnection.fault = "before, then gone"
    with pytest.raises(OutcomeUnknownError):
        await faulty.submit()
    for _ in range(2):
        with pytest.raises(StorageFailedError):
            await faulty.submit()
        with pytest.raises(StorageFailedError):
            await faulty.ledger.check()
    FaultyConnection.is_gone = False
    await faulty.ledger.check()
    await faulty.submit()
    assert faulty.engine.open().connection is connection


@pytest.mark.parametrize("overwrites", [False, True])
def test_what_a_failed_commit_left_in_the_log_comes_back_unless_it_is_written_over(
    tmp_path: Path, overwrites: bool
) -> None:
    """A COMMIT whose flush failed can leave its frames whole in the log, where a crash would bring them to life."""

    def opened(path: Path) -> sqlite3.Connection:
        connection = sqlite3.connect(path, isolation_level=None)
        connection.execute("PRAGMA journal_mode = WAL")
        return connection

    def names(connection: sqlite3.Connection) -> list[str]:
        return [name for (name,) in connection.execute("SELECT name FROM t ORDER BY name")]

    first = opened(tmp_path / "first.db")
    first.execute("CREATE TABLE t (name)")
    first.execute("INSERT INTO t VALUES ('kept')")
    for ending in ("", "-wal"):
        shutil.copy(tmp_path / f"first.db{ending}", tmp_path / f"second.db{ending}")
    whole = (tmp_path / "first.db-wal").stat().st_size
    first.execute("INSERT INTO t VALUES ('failed')")
    frames = (tmp_path / "first.db-wal").read_bytes()[whole:]
    first.close()

    second = opened(tmp_path / "second.db")
    assert names(second) == ["kept"]
    with (tmp_path / "second.db-wal").open("r+b") as log:
        log.seek(whole)
        log.write(frames)
    assert names(second) == ["kept"]  # for those who live on it has not happened
    if overwrites:
        overwrite_log(second)
    for ending in ("", "-wal"):
        shutil.copy(tmp_path / f"second.db{ending}", tmp_path / f"crashed.db{ending}")
    second.close()
    crashed = opened(tmp_path / "crashed.db")
    assert names(crashed) == (["kept"] if overwrites else ["failed", "kept"])
    crashed.close()


async def test_nothing_in_memory_outlives_a_commit_that_failed(faulty: Desk) -> None:
    task_id = await faulty.submit()
    FaultyConnection.fault = "before"
    with pytest.raises(StorageFailedError):
        await faulty.claim()
    task = await faulty.ledger.find(Task, task_id)
    assert task is not None
    assert (task.fence, task.lease) == (0, None)
    (delivery,) = await faulty.claim()
    assert delivery.fence == 1


async def test_no_space_left_is_told_apart_from_a_failed_disk(faulty: Desk) -> None:
    FaultyConnection.failed = OSError(errno.ENOSPC, "No space left on device")
    FaultyConnection.fault = "before"
    with pytest.raises(StorageFullError):
        await faulty.submit()
    await faulty.submit()


@pytest.mark.parametrize("fault", ["before", "before, then gone"])
async def test_a_commit_that_found_no_room_surely_did_not_happen(faulty: Desk, fault: str) -> None:
    """Whether or not the database answers just then: a full disk is in the way of that, too."""
    FaultyConnection.failed = full = sqlite3.OperationalError("database or disk is full")
    full.sqlite_errorcode = sqlite3.SQLITE_FULL
    FaultyConnection.fault = fault
    command = faulty.submission("key")
    with pytest.raises(StorageFullError, match="nothing was committed"):
        await faulty.run(command)
    FaultyConnection.is_gone = False
    assert await faulty.run(command) == cm.Submitted(command.task_id, replayed=False)


async def test_the_ledger_says_that_it_cannot_commit_until_it_can(faulty: Desk) -> None:
    await faulty.ledger.check()
    FaultyConnection.failed = full = sqlite3.OperationalError("database or disk is full")
    full.sqlite_errorcode = sqlite3.SQLITE_FULL
    FaultyConnection.fault = "before"
    with pytest.raises(StorageFullError):
        await faulty.submit()
    FaultyConnection.fault = "before"
    with pytest.raises(StorageFullError):
        await faulty.ledger.check()
    await faulty.ledger.check()
    await faulty.submit()


async def test_a_full_database_takes_nothing_loses_nothing_and_goes_on_when_there_is_room(
    sqlite_desk: Desk, database: Path
) -> None:
    await sqlite_desk.start()
    kept = [await sqlite_desk.submit() for _ in range(20)]
    connection = sqlite_desk.engine.open().connection
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    connection.execute(f"PRAGMA max_page_count = {pages}")
    refused = 0
    for _ in range(50):
        try:
            kept.append(await sqlite_desk.submit(objective="x" * 2_000))
        except StorageFullError:
            refused += 1
    assert refused > 30
    page = await sqlite_desk.ledger.tasks(TaskFilter())
    assert [one.task_id for one in page.tasks] == sorted(kept, reverse=True)
    connection.execute("PRAGMA max_page_count = 1000000")
    kept.append(await sqlite_desk.submit())
    with raw(database) as outside:
        assert audit.verify(outside).agrees


async def test_a_database_that_another_program_has_locked_is_a_failure_and_not_a_wait(
    faulty: Desk, database: Path
) -> None:
    with raw(database) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StorageFailedError, match="locked"):
            await faulty.submit()
        other.execute("ROLLBACK")
    await faulty.submit()


async def test_a_value_that_no_column_holds_fails_its_own_command_only(
    faulty: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    await faulty.submit()
    (delivery,) = await faulty.claim()
    await faulty.ack(delivery)
    too_large = cm.Renew(faulty.proof(delivery), 2**70, delivery.progress, delivery.usage)
    good = [faulty.submission(), faulty.submission()]
    replies = await faulty.ledger.execute_many([good[0], too_large, good[1]])
    assert [replies[0], replies[2]] == [cm.Submitted(one.task_id, replayed=False) for one in good]
    assert isinstance(replies[1], cm.Refusal)
    assert replies[1].code == "fault"
    assert "one by one" in caplog.text
    assert await faulty.renew(delivery) == "renewed"


@pytest.mark.parametrize("known", [True, False])
async def test_two_tasks_of_one_id_cannot_be(faulty: Desk, known: bool) -> None:
    task_id = await faulty.submit("one")
    if not known:
        faulty.engine.world.forget()
    with pytest.raises(TenureError, match=r"never changes|there already"):
        await faulty.run(cm.Submit(task_id, TaskSpec("another", "claude"), "ann", "two"))
    task = await faulty.ledger.find(Task, task_id)
    assert task is not None
    assert task.idempotency_key == "one"


async def test_a_bug_in_one_command_of_a_batch_is_no_failure_of_the_others(
    database: Path, clock: HandClock
) -> None:
    ledger = sqlite_ledger(database, clock, decide=refuse("Cancel"))
    await ledger.open()
    desk = Desk(ledger, clock)
    submission = desk.submission()
    replies = await ledger.execute_many(
        [submission, cm.Cancel(submission.task_id, "ann", "x"), desk.submission("k")]
    )
    assert [type(one).__name__ for one in replies] == ["Submitted", "Refusal", "Submitted"]
    task = await ledger.find(Task, submission.task_id)
    assert task is not None
    assert task.cancel_step is None
    await ledger.close()


async def test_a_database_that_is_gone_is_a_failure_of_reads_too(faulty: Desk) -> None:
    await faulty.submit()
    FaultyConnection.is_gone = True
    faulty.reads.close()
    with pytest.raises(StorageFailedError):
        await faulty.ledger.find(Task, TaskId("t_1"))
    FaultyConnection.is_gone = False
    assert await faulty.ledger.find(Task, TaskId("t_1")) is None


async def test_a_failure_while_commands_go_one_by_one_is_told_to_those_it_hit(faulty: Desk) -> None:
    await faulty.submit()
    (delivery,) = await faulty.claim()
    await faulty.ack(delivery)
    too_large = cm.Renew(faulty.proof(delivery), 2**70, delivery.progress, delivery.usage)
    first, second = faulty.submission(), faulty.submission()
    FaultyConnection.fault, FaultyConnection.commits_first = "before", 1
    replies = await faulty.ledger.execute_many([first, too_large, second])
    assert [one.code if isinstance(one, cm.Refusal) else "" for one in replies] == [
        "",
        "fault",
        "storage_failed",
    ]
    assert await faulty.run(second) == cm.Submitted(second.task_id, replayed=False)


async def test_a_database_that_cannot_be_read_in_the_middle_of_a_decision_is_no_bug_of_the_command(
    faulty: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    await faulty.submit()
    faulty.engine.world.forget()
    monkeypatch.setattr(batch, "foresee", lambda *_: None)
    FaultyConnection.unreadable = "FROM main.recipients"
    with pytest.raises(StorageFailedError):
        await faulty.run(faulty.claiming())
    FaultyConnection.unreadable = None
    assert len((await faulty.run(faulty.claiming())).deliveries) == 1


async def test_a_file_system_without_a_shared_log_is_refused_with_what_to_do(
    clock: HandClock, database: Path
) -> None:
    ledger = sqlite_ledger(database, clock, connect=lambda _read_only: sqlite3.connect(":memory:"))
    with pytest.raises(StorageFailedError, match="needs WAL"):
        await ledger.open()
