"""Looking into a store from another process: nothing is written, nothing is brought up to date."""

import sqlite3
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from tenure.errors import ConflictError, DataFolderTooNewError, StorageFailedError
from tenure.node.delivery.mirror import Mirror
from tenure.node.delivery.mirror_reading import MirrorReader
from tenure.runtime.database import connect_database
from tests.node.test_node_store import DONE, Ending, connect, mirrored, write_older

READ = partial(connect_database, read_only=True)


@pytest.fixture
def executor() -> Iterator[Executor]:
    with ThreadPoolExecutor(1) as made:
        yield made


async def test_it_sees_what_the_daemon_beside_it_has_committed(tmp_path: Path, executor: Executor) -> None:
    path = tmp_path / "mirror.db"
    mirror, reader = Mirror(path, connect, executor), MirrorReader(path, READ, executor)
    await mirror.open()
    await mirror.identity("secret")
    await mirror.add([mirrored()])
    assert not await reader.is_closed("t_1/1")  # type: ignore[arg-type] - any text is an id here
    assert not await reader.is_enrolled()
    await mirror.end(Ending("d_1", DONE))  # type: ignore[arg-type] - any text is an id here
    await mirror.close_all({"d_1": "recorded"})  # type: ignore[dict-item] - any text is an id here
    await mirror.note_sent()
    await mirror.note_enrolled("n_1")  # type: ignore[arg-type] - any text is an id here
    assert await reader.is_closed("t_1/1")  # type: ignore[arg-type] - any text is an id here
    assert await reader.is_enrolled()
    await mirror.add([mirrored("d_2")])
    assert not await reader.is_closed("t_1/1")  # type: ignore[arg-type] - any text is an id here
    await mirror.close()
    assert not await reader.is_closed("t_1/1")  # type: ignore[arg-type] - any text is an id here


async def test_a_store_of_an_older_version_is_refused_and_stays_as_it_is(
    tmp_path: Path, executor: Executor
) -> None:
    path = tmp_path / "mirror.db"
    write_older(path)
    before = path.read_bytes()
    with pytest.raises(ConflictError, match="Start the node once"):
        await MirrorReader(path, READ, executor).check()
    assert path.read_bytes() == before


async def test_a_store_of_a_newer_version_is_refused(tmp_path: Path, executor: Executor) -> None:
    store = sqlite3.connect(tmp_path / "mirror.db")
    store.execute("PRAGMA user_version = 99")
    store.close()
    with pytest.raises(DataFolderTooNewError, match="schema 99"):
        await MirrorReader(tmp_path / "mirror.db", READ, executor).check()


async def test_a_store_that_is_not_there_is_not_made(tmp_path: Path, executor: Executor) -> None:
    with pytest.raises(StorageFailedError):
        await MirrorReader(tmp_path / "mirror.db", READ, executor).check()
    assert list(tmp_path.iterdir()) == []
