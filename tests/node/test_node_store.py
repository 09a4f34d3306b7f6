"""The node's store, and what is let go of it: nothing that was committed is lost, nothing that is needed is deleted."""

import sqlite3
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tenure.core.attempt import AttemptSpec, Outcome, Verdict
from tenure.core.canonical import canonical, digest
from tenure.errors import DataFolderTooNewError, StorageFailedError, StorageFullError
from tenure.node.delivery import retention
from tenure.node.delivery.mirror import Mirror
from tenure.node.delivery.mirror_file import STEPS, storage_error
from tenure.node.delivery.mirrored import Ending, MirroredDelivery
from tenure.runtime.database import connect_writer as connect
from tenure.wire.legs import Grant
from tests.node.fake_runners import Program
from tests.node.node_lab import AGENT, Lab, pause, settings_with, until


@pytest.fixture
async def mirror(tmp_path: Path) -> AsyncIterator[Mirror]:
    with ThreadPoolExecutor(1) as executor:
        made = Mirror(tmp_path / "mirror.db", connect, executor)
        await made.open()
        yield made
        await made.close()


def mirrored(name: str = "d_1", number: int = 1, **grant: Any) -> MirroredDelivery:
    fields: dict[str, Any] = {
        "delivery_id": name,
        "task_id": "t_1",
        "number": number,
        "recipient": "agent@laptop",
        "spec": AttemptSpec(objective="o", policy="p"),
        "spec_digest": "x",
        "fence": 1,
        "token": "secret",
        "offer_ttl_s": 10.0,
    }
    return MirroredDelivery(Grant(**(fields | grant)), AGENT, "i_1", 5)  # type: ignore[arg-type] - a fake stands for it


DONE = Outcome(verdict=Verdict.COMPLETED, tree_gone=True)


async def test_a_row_goes_from_mirrored_to_ended_to_closed_to_released(mirror: Mirror) -> None:
    await mirror.add([mirrored()])
    (row,) = await mirror.load()
    assert (row.stage, row.mirrored, row.receipt_digest) == ("mirrored", mirrored(), digest(mirrored()))
    await mirror.end(Ending("d_1", DONE))  # type: ignore[arg-type] - a fake stands for it
    (row,) = await mirror.load()
    assert (row.stage, row.outcome, row.tree_gone) == ("ended", DONE, True)
    await mirror.close_all({"d_1": "recorded"})  # type: ignore[dict-item] - a fake stands for it
    (row,) = await mirror.load()
    assert (row.stage, row.outcome, row.tree_gone, row.answer) == ("closed", None, True, "recorded")
    assert await mirror.ending("d_1") == Ending("d_1", DONE)  # type: ignore[arg-type] - any text is an id here
    await mirror.release({"d_1": None})  # type: ignore[dict-item] - a fake stands for it
    assert await mirror.load() == []
    assert await mirror.ending("d_1") is None  # type: ignore[arg-type] - any text is an id here
    (released,) = await mirror.released()
    assert (released.delivery_id, released.answer) == ("d_1", "recorded")
    assert await mirror.is_closed("t_1/1")  # type: ignore[arg-type] - any text is an id here
    await mirror.drop(["d_1"])  # type: ignore[list-item] - a fake stands for it
    assert await mirror.known() == set()


async def test_what_is_done_twice_is_as_done_once(mirror: Mirror) -> None:
    await mirror.add([mirrored()])
    await mirror.add([mirrored(token="another")])
    await mirror.end(Ending("d_1", DONE))  # type: ignore[arg-type] - a fake stands for it
    await mirror.end(Ending("d_1", None, "nothing was started"))  # type: ignore[arg-type] - a fake stands for it
    (row,) = await mirror.load()
    assert (row.mirrored.grant.token, row.outcome, row.handback) == ("secret", DONE, None)
    await mirror.close_all({"d_1": "recorded"})  # type: ignore[dict-item] - a fake stands for it
    await mirror.end(Ending("d_1", replace(DONE, summary="late")))  # type: ignore[arg-type] - a fake stands for it
    assert await mirror.ending("d_1") == Ending("d_1", DONE)  # type: ignore[arg-type] - any text is an id here


async def test_a_mirrored_delivery_cannot_be_changed_even_by_hand(mirror: Mirror, tmp_path: Path) -> None:
    await mirror.add([mirrored()])
    store = connect(tmp_path / "mirror.db")
    with pytest.raises(sqlite3.IntegrityError, match="never changes"):
        store.execute("UPDATE delivery SET body = CAST('x' AS BLOB)")
    store.close()


async def test_an_attempt_is_closed_only_when_all_of_its_deliveries_are(mirror: Mirror) -> None:
    await mirror.add([mirrored("d_1"), mirrored("d_2"), mirrored("d_3", number=2)])
    await mirror.end(Ending("d_1", None, "never started"))  # type: ignore[arg-type] - a fake stands for it
    await mirror.close_all({"d_1": "handed_back"})  # type: ignore[dict-item] - a fake stands for it
    for attempt in ("t_1/1", "t_1/2", "t_9/1"):
        assert not await mirror.is_closed(attempt)  # type: ignore[arg-type] - any text is an id here


async def test_changes_that_come_together_share_a_commit_and_each_hears_its_own_answer(
    mirror: Mirror, tmp_path: Path
) -> None:
    import asyncio

    before = commits(tmp_path)
    await asyncio.gather(*(mirror.add([mirrored(f"d_{number}")]) for number in range(50)))
    assert len(await mirror.known()) == 50
    assert commits(tmp_path) - before < 10


def commits(folder: Path) -> int:
    store = connect(folder / "mirror.db")
    (count,) = store.execute("PRAGMA data_version").fetchone()
    store.close()
    return count


async def test_the_file_is_for_this_user_only(mirror: Mirror, tmp_path: Path) -> None:
    await mirror.identity("secret")
    assert {one.name: one.stat().st_mode & 0o777 for one in tmp_path.glob("mirror.db*")} == {
        "mirror.db": 0o600,
        "mirror.db-wal": 0o600,
        "mirror.db-shm": 0o600,
    }


async def test_an_identity_is_made_once_and_each_start_counts(mirror: Mirror) -> None:
    assert (await mirror.identity("first")).credential == "first"
    assert (await mirror.identity("second")).credential == "first"
    assert await mirror.begin("i_1") == 1  # type: ignore[arg-type] - a fake stands for it
    assert await mirror.begin("i_2") == 2  # type: ignore[arg-type] - a fake stands for it
    await mirror.note_sent()
    await mirror.note_enrolled("n_1")  # type: ignore[arg-type] - a fake stands for it
    found = await mirror.identity("third")
    assert (found.was_sent, found.node_id, found.incarnation) == (True, "n_1", "i_2")
    await mirror.replace_credential("fourth")
    found = await mirror.identity("fifth")
    assert (found.credential, found.was_sent, found.node_id, found.generation) == ("fourth", False, None, 2)


async def test_a_store_of_a_newer_version_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    store = connect(tmp_path / "mirror.db")
    store.execute("PRAGMA user_version = 99")
    store.close()
    before = (tmp_path / "mirror.db").read_bytes()
    with ThreadPoolExecutor(1) as executor:
        made = Mirror(tmp_path / "mirror.db", connect, executor)
        with pytest.raises(DataFolderTooNewError, match="schema 99"):
            await made.open()
    assert (tmp_path / "mirror.db").read_bytes() == before


async def test_a_row_of_another_version_is_named_and_not_passed_over(mirror: Mirror, tmp_path: Path) -> None:
    store = connect(tmp_path / "mirror.db")
    store.execute(
        "INSERT INTO delivery (delivery_id, attempt_id, body) VALUES ('d_9', 't_9/1', CAST('{}' AS BLOB))"
    )
    store.commit()
    store.close()
    with pytest.raises(DataFolderTooNewError, match="start the version that wrote it"):
        await mirror.load()


async def test_without_room_nothing_is_written_and_the_same_write_can_be_made_later(
    mirror: Mirror, tmp_path: Path
) -> None:
    await mirror.add([mirrored("d_1")])
    store = mirror._connection
    assert store is not None
    pages = store.execute("PRAGMA page_count").fetchone()[0]
    store.execute(f"PRAGMA max_page_count = {pages}")
    big = mirrored("d_2", spec=AttemptSpec(objective="o" * 60_000, policy="p"))
    with pytest.raises(StorageFullError):
        await mirror.add([big])
    assert await mirror.known() == {"d_1"}
    store.execute("PRAGMA max_page_count = 1000000")
    await mirror.add([big])
    assert await mirror.known() == {"d_1", "d_2"}


def test_errors_of_the_disk_are_told_apart_from_errors_of_the_store(tmp_path: Path) -> None:
    assert isinstance(storage_error(tmp_path, OSError(28, "full")), StorageFullError)
    assert isinstance(storage_error(tmp_path, OSError(5, "broken")), StorageFailedError)


def write_older(path: Path) -> None:
    """A store as schema 1 left it, with one row."""
    store = connect(path)
    store.executescript(f"{STEPS[0]};PRAGMA user_version = 1")
    row = ("d_1", "t_1/1", canonical(mirrored()))
    store.execute("INSERT INTO delivery (delivery_id, attempt_id, body) VALUES (?, ?, ?)", row)
    store.commit()
    store.close()


async def test_a_store_that_was_written_by_an_older_version_is_brought_up_to_date(tmp_path: Path) -> None:
    with ThreadPoolExecutor(1) as executor:
        write_older(tmp_path / "mirror.db")
        made = Mirror(tmp_path / "mirror.db", connect, executor)
        await made.open()
        assert len(await made.load()) == 1
        await made.end(Ending("d_1", DONE))  # type: ignore[arg-type] - any text is an id here
        await made.close()


# -- letting go


def folders(lab: Lab) -> list[str]:
    return sorted(one.name for one in (lab.home / "node" / "laptop" / "runs").iterdir())


def test_the_newest_run_folders_are_kept_and_older_ones_go_with_their_rows(tmp_path: Path) -> None:
    async def scenario(lab: Lab) -> None:
        lab.runners.program = lambda _: Program(work_s=0.1)
        await lab.up()
        for _ in range(5):
            await lab.verdict(lab.hub.submit())
        # The hub has not said yet that it needs nothing more.
        await pause(100.0)
        assert len(folders(lab)) == 5
        await lab.restart()
        await until(lambda: len(folders(lab)) == 2, 200.0)
        assert folders(lab) == sorted(lab.runners.executed)[-2:]

    Lab(tmp_path, settings=settings_with(keep_runs=2)).play(scenario)


def test_kept_runs_stay_within_a_bound_on_bytes_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "RUNS_BYTES", 100_000)

    async def scenario(lab: Lab) -> None:
        lab.runners.program = lambda _: Program(work_s=0.1)
        await lab.up()
        for _ in range(3):
            await lab.verdict(lab.hub.submit())
        for name in folders(lab):
            (lab.home / "node" / "laptop" / "runs" / name / "stdout.0.0").write_bytes(b"x" * 40_000)
        await lab.restart()
        await until(lambda: len(folders(lab)) == 2, 200.0)

    Lab(tmp_path).play(scenario)


def test_rows_are_let_go_without_a_restart_too(tmp_path: Path) -> None:
    async def scenario(lab: Lab) -> None:
        await lab.up()
        await lab.verdict(lab.hub.submit())
        await until(lambda: folders(lab) == [], 900.0)

    Lab(tmp_path, settings=settings_with(keep_runs=0)).play(scenario)
