"""What the simulated disk keeps and loses, and that SQLite hears of its failures as it does of a real one's."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from random import Random

import pytest

from tenure.sim.disk.disk import SimulatedDisk
from tenure.sim.disk.failures import Op
from tenure.sim.disk.file import PAGE, SECTOR, DiskFile, Keeping
from tests.sim.disk.ledger_attack import forked

BASE = "/a.db"


@pytest.fixture
def disk() -> Iterator[SimulatedDisk]:
    made = SimulatedDisk(Random(1))
    yield made
    made.close()


def opened(disk: SimulatedDisk, *, level: str = "FULL") -> sqlite3.Connection:
    connection = disk.connect_writer(BASE)
    connection.isolation_level = None
    assert connection.execute("PRAGMA journal_mode = WAL").fetchone() == ("wal",)
    connection.execute(f"PRAGMA synchronous = {level}")
    connection.execute("CREATE TABLE IF NOT EXISTS t (a)")
    return connection


def rows(disk: SimulatedDisk) -> list[int]:
    connection = disk.connect(BASE)
    found = [one for (one,) in connection.execute("SELECT a FROM t ORDER BY a")]
    connection.close()
    return found


def written(size: int = 3 * PAGE) -> DiskFile:
    """A file of zeros, all of it durable, with ones written over it."""
    file = DiskFile(1)
    file.write(bytes(size), 0)
    file.sync()
    file.write(b"\1" * size, 0)
    return file


def test_what_was_synced_is_kept_and_what_was_not_is_lost_or_kept_as_asked() -> None:
    for keeping, content in ((Keeping.NOTHING, 0), (Keeping.EVERYTHING, 1)):
        file = written()
        file.lose_power(Random(1), keeping)
        assert set(file.seen) == {content}
        assert file.is_clean
    file = written()
    file.sync()
    file.lose_power(Random(1), Keeping.NOTHING)
    assert set(file.seen) == {1}


def test_a_write_is_torn_between_sectors_and_never_inside_of_one() -> None:
    torn = 0
    for seed in range(50):
        file = written()
        torn += file.lose_power(Random(seed), Keeping.SECTORS).torn
        for at in range(0, len(file.seen), SECTOR):
            assert len(set(file.seen[at : at + SECTOR])) == 1
    assert torn > 10


def test_a_later_write_can_survive_an_earlier_one_that_is_lost() -> None:
    found = set[bytes]()
    for seed in range(100):
        file = DiskFile(1)
        for number in range(3):
            file.write(bytes([number + 1]), number * PAGE)
        file.lose_power(Random(seed), Keeping.WRITES)
        found.add(
            bytes(file.seen[number * PAGE] if number * PAGE < len(file.seen) else 0 for number in range(3))
        )
    assert {b"\0\0\3", b"\1\0\3", b"\0\2\0", b"\1\2\3"} <= found


def test_what_was_written_after_a_truncation_that_is_lost_is_lost_too() -> None:
    for seed in range(100):
        file = written()
        file.truncate(0)
        file.write(b"\2" * PAGE, 0)
        file.lose_power(Random(seed), Keeping.WRITES)
        assert not (set(file.seen) >= {2, 0})
        assert not (set(file.seen) >= {2, 1})


def test_a_failed_sync_forgets_what_it_did_not_write_although_it_may_be_seen() -> None:
    ghosts = 0
    for seed in range(60):
        file = written()
        file.fail_sync(Random(seed))
        seen = bytes(file.seen)
        file.sync()
        ghosts += seen != bytes(file.kept)
        file.lose_power(Random(seed), Keeping.EVERYTHING)
        assert file.seen == file.kept
    assert ghosts > 5


def test_a_new_file_and_a_deleted_one_depend_on_a_sync_of_their_folder(disk: SimulatedDisk) -> None:
    connection = disk.connect(BASE)
    connection.isolation_level = None
    connection.execute("PRAGMA synchronous = OFF")
    connection.execute("CREATE TABLE t (a)")
    with forked(disk, 1) as other:
        other.crash(Keeping.NOTHING)
        assert not other.has(BASE)
    again = opened(disk)
    again.execute("INSERT INTO t VALUES (1)")
    connection.close()
    again.close()
    assert not disk.has(f"{BASE}-wal")
    disk.crash(Keeping.NOTHING)
    assert disk.has(f"{BASE}-wal"), "nobody synced its deletion"
    assert rows(disk) == [1]


def test_after_a_crash_old_connections_are_dead_and_touch_nothing(disk: SimulatedDisk) -> None:
    old = opened(disk)
    old.execute("INSERT INTO t VALUES (1)")
    old.execute("BEGIN IMMEDIATE")
    old.execute("INSERT INTO t VALUES (2)")
    disk.crash()
    before = disk.changes
    with pytest.raises(sqlite3.OperationalError, match="disk I/O error"):
        old.execute("COMMIT")
    old.close()
    assert disk.changes == before
    assert rows(disk) == [1]


def test_a_process_that_dies_loses_its_connections_only(disk: SimulatedDisk) -> None:
    mine = disk.connector(BASE, "mine")(False)
    mine.isolation_level = None
    mine.execute("PRAGMA synchronous = OFF")
    mine.execute("CREATE TABLE t (a)")
    mine.execute("INSERT INTO t VALUES (1)")
    other = disk.connect(BASE, owner="other")
    disk.kill("mine")
    assert other.execute("SELECT a FROM t").fetchall() == [(1,)]
    with pytest.raises(sqlite3.OperationalError):
        mine.execute("SELECT 1")


@pytest.mark.parametrize(
    ("op", "name"),
    [(Op.SYNC, "SQLITE_IOERR_FSYNC"), (Op.WRITE, "SQLITE_IOERR_WRITE")],
)
def test_a_failed_operation_is_an_error_of_the_standard_driver(
    disk: SimulatedDisk, op: Op, name: str
) -> None:
    connection = opened(disk)
    disk.fail(op)
    with pytest.raises(sqlite3.OperationalError) as caught:
        connection.execute("INSERT INTO t VALUES (1)")
    assert caught.value.sqlite_errorname == name
    assert caught.value.sqlite_errorcode == getattr(sqlite3, name)
    assert not connection.in_transaction
    connection.execute("INSERT INTO t VALUES (2)")
    assert rows(disk) == [2]
    assert disk.counts[f"failed {op}"] == 1


def test_a_disk_without_room_writes_what_fits_and_says_so(disk: SimulatedDisk) -> None:
    connection = opened(disk)
    disk.set_budget(disk.used_bytes + 10_000)
    with pytest.raises(sqlite3.OperationalError, match="full") as caught:
        connection.execute("INSERT INTO t VALUES (zeroblob(50000))")
    assert caught.value.sqlite_errorcode == sqlite3.SQLITE_FULL
    assert disk.counts["short write"] == 1
    disk.set_budget(None)
    connection.execute("INSERT INTO t VALUES (1)")
    assert rows(disk) == [1]


def test_a_checkpoint_that_fails_after_a_commit_is_passed_over_as_sqlite_does(disk: SimulatedDisk) -> None:
    connection = opened(disk)
    connection.execute("PRAGMA wal_autocheckpoint = 1")
    disk.fail(Op.SYNC, name=BASE)
    connection.execute("INSERT INTO t VALUES (1)")
    assert disk.counts["failed sync"] == 1
    disk.crash(Keeping.NOTHING)
    assert rows(disk) == [1]


def test_power_that_is_cut_fails_everything_until_it_is_back(disk: SimulatedDisk) -> None:
    connection = opened(disk)
    disk.cut_power(1)
    for _ in range(2):
        with pytest.raises(sqlite3.OperationalError):
            connection.execute("INSERT INTO t VALUES (1)")
    with pytest.raises(sqlite3.OperationalError):
        disk.connect_writer(BASE).execute("SELECT * FROM t")
    disk.crash(Keeping.EVERYTHING)
    assert rows(disk) == []


def test_what_is_slow_takes_virtual_time() -> None:
    passed = list[int]()
    disk = SimulatedDisk(Random(1), passed.append)
    disk.slow(Op.SYNC, 5_000_000)
    opened(disk).execute("INSERT INTO t VALUES (1)")
    assert set(passed) == {5_000_000}
    assert len(passed) == disk.counts[Op.SYNC]
    disk.close()


def test_a_lock_is_waited_for_in_virtual_time() -> None:
    passed = list[int]()
    disk = SimulatedDisk(Random(1), passed.append)
    opened(disk).execute("BEGIN IMMEDIATE")
    second = disk.connect(BASE, wait_s=0.5)
    second.isolation_level = None
    with pytest.raises(sqlite3.OperationalError, match="locked") as caught:
        second.execute("BEGIN IMMEDIATE")
    assert caught.value.sqlite_errorname == "SQLITE_BUSY"
    assert 0.3e9 < sum(passed) <= 0.6e9
    disk.close()


def test_one_seed_is_one_history() -> None:
    def history(seed: int) -> tuple[object, ...]:
        disk = SimulatedDisk(Random(seed))
        connection = opened(disk, level="OFF")
        for number in range(20):
            connection.execute("INSERT INTO t VALUES (?)", (number,))
        disk.crash()
        found = (dict(disk.counts), disk.size(BASE), disk.size(f"{BASE}-wal"))
        disk.close()
        return found

    assert history(3) == history(3)
    assert len({str(history(seed)) for seed in range(8)}) > 3


def test_a_connection_that_would_begin_by_itself_is_refused(disk: SimulatedDisk) -> None:
    opened(disk).close()
    connection = disk.connect(BASE)
    with pytest.raises(sqlite3.NotSupportedError, match="isolation_level"):
        connection.execute("INSERT INTO t VALUES (1)")


def test_errors_are_those_of_the_standard_driver(disk: SimulatedDisk) -> None:
    ours, real = opened(disk), sqlite3.connect(":memory:", isolation_level=None)
    for connection in (ours, real):
        connection.execute("CREATE TABLE s (a INTEGER NOT NULL UNIQUE CHECK (a < 9)) STRICT")
        connection.execute("CREATE TRIGGER r BEFORE DELETE ON s BEGIN SELECT RAISE(ABORT, 'frozen'); END")
        connection.execute("INSERT INTO s VALUES (1)")
    for statement, values in (
        ("INSERT INTO s VALUES (1)", ()),
        ("INSERT INTO s VALUES (NULL)", ()),
        ("INSERT INTO s VALUES (10)", ()),
        ("INSERT INTO s VALUES ('x')", ()),
        ("DELETE FROM s", ()),
        ("SELECT nothing", ()),
        ("COMMIT", ()),
        ("SELECT ?", ()),
        ("SELECT ?", (2**70,)),
        ("SELECT ?", ("\ud800",)),
        ("SELECT CAST(x'ff' AS TEXT)", ()),
    ):
        raised: list[tuple[object, ...]] = []
        for connection in (ours, real):
            with pytest.raises(Exception) as caught:  # noqa: PT011 - compared just below
                connection.execute(statement, values).fetchall()
            raised.append((type(caught.value), getattr(caught.value, "sqlite_errorcode", None)))
        assert raised[0] == raised[1], statement
    real.close()
