"""How databases are opened: who may read them, and what is done to a log that a dead process has left."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from tenure.runtime import database
from tenure.runtime.database import connect_writer, rewrite_log


def test_a_database_that_is_written_is_its_users_alone(tmp_path: Path) -> None:
    connection = connect_writer(tmp_path / "hub.db")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("CREATE TABLE t (a)")
    assert {stat.S_IMODE(one.stat().st_mode) for one in tmp_path.glob("hub.db*")} == {0o600}
    connection.close()


def test_a_link_in_place_of_a_database_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "hub.db").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic links"):
        connect_writer(tmp_path / "hub.db")


@pytest.mark.parametrize("size", [0, 100, 5_000_000])
def test_a_log_is_written_again_as_it_is_and_flushed(
    tmp_path: Path, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "hub.db-wal"
    content = os.urandom(size)
    log.write_bytes(content)
    written, flushed = bytearray(), list[int]()
    pwrite, fsync = os.pwrite, os.fsync

    def write(descriptor: int, data: bytes, at: int) -> int:
        written.extend(data)
        assert at + len(data) == len(written)
        return pwrite(descriptor, data, at)

    monkeypatch.setattr(database.os, "pwrite", write)
    monkeypatch.setattr(database.os, "fsync", lambda one: (fsync(one), flushed.append(len(written)))[0])
    rewrite_log(tmp_path / "hub.db")
    assert log.read_bytes() == content == bytes(written)
    assert flushed == ([size] if size else [])


def test_where_there_is_no_log_nothing_is_made(tmp_path: Path) -> None:
    rewrite_log(tmp_path / "hub.db")
    assert list(tmp_path.iterdir()) == []
