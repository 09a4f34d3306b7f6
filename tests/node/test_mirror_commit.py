"""A COMMIT that fails: what was written is found out, and where it cannot be, nobody is told that nothing was."""

import sqlite3
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tenure.errors import OutcomeUnknownError, StorageFailedError, StorageFullError
from tenure.node.delivery.mirror import Mirror
from tests.node.test_node_store import DONE, Ending, mirrored


class Disk:
    """What the next COMMIT meets."""

    trouble = ""
    fails_for_good = False
    answers = True


def failing(disk: Disk) -> type[sqlite3.Connection]:
    class Failing(sqlite3.Connection):
        def execute(self, sql: str, *parameters: Any) -> sqlite3.Cursor:
            if not disk.answers:
                raise sqlite3.OperationalError("the disk does not answer")
            trouble, disk.trouble = (disk.trouble, "") if sql == "COMMIT" else ("", disk.trouble)
            if trouble == "after":
                super().execute(sql)
            disk.answers = not (trouble and disk.fails_for_good)
            if trouble:
                error = sqlite3.OperationalError(f"the disk failed {trouble} the commit")
                error.sqlite_errorcode = 13 if trouble == "full" else 10
                raise error
            return super().execute(sql, *parameters)

    return Failing


@pytest.fixture
def disk() -> Disk:
    return Disk()


@pytest.fixture
async def mirror(tmp_path: Path, disk: Disk) -> AsyncIterator[Mirror]:
    def connect(path: Path) -> sqlite3.Connection:
        return sqlite3.connect(path, check_same_thread=False, factory=failing(disk))

    with ThreadPoolExecutor(1) as executor:
        made = Mirror(tmp_path / "mirror.db", connect, executor)
        await made.open()
        yield made
        await made.close()


async def test_a_commit_that_was_made_although_it_failed_counts(mirror: Mirror, disk: Disk) -> None:
    disk.trouble = "after"
    await mirror.add([mirrored()])
    assert await mirror.known() == {"d_1"}


@pytest.mark.parametrize(("trouble", "error"), [("before", StorageFailedError), ("full", StorageFullError)])
async def test_a_commit_that_was_not_made_left_nothing_and_can_be_repeated(
    mirror: Mirror, disk: Disk, trouble: str, error: type[Exception]
) -> None:
    disk.trouble = trouble
    with pytest.raises(error):
        await mirror.add([mirrored()])
    assert await mirror.known() == set()
    await mirror.add([mirrored()])
    await mirror.end(Ending("d_1", DONE))  # type: ignore[arg-type] - any text is an id here
    (row,) = await mirror.load()
    assert row.stage == "ended"


@pytest.mark.parametrize("trouble", ["before", "after"])
async def test_where_it_cannot_be_found_out_the_outcome_is_unknown(
    mirror: Mirror, disk: Disk, trouble: str
) -> None:
    disk.trouble, disk.fails_for_good = trouble, True
    with pytest.raises(OutcomeUnknownError, match="cannot be found out"):
        await mirror.add([mirrored()])
    for _ in range(2):
        with pytest.raises(StorageFailedError):
            await mirror.known()
        with pytest.raises(StorageFailedError):
            await mirror.add([mirrored("d_2")])
    disk.answers, disk.fails_for_good = True, False
    assert await mirror.known() == ({"d_1"} if trouble == "after" else set())
    await mirror.add([mirrored()])
    assert await mirror.known() == {"d_1"}


async def test_a_reader_that_keeps_the_log_open_is_in_nobodys_way(
    mirror: Mirror, disk: Disk, tmp_path: Path
) -> None:
    await mirror.add([mirrored("d_0")])
    reader = sqlite3.connect(tmp_path / "mirror.db")
    reader.execute("BEGIN")
    reader.execute("SELECT COUNT(*) FROM delivery").fetchone()
    try:
        disk.trouble = "after"
        await mirror.add([mirrored("d_1")])
        disk.trouble = "before"
        with pytest.raises(StorageFailedError):
            await mirror.add([mirrored("d_2")])
    finally:
        reader.close()
    assert await mirror.known() == {"d_0", "d_1"}
