"""A process is (id, start time), held by a lock; nothing else is ever signaled."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from tenure.cli.process.process_mark import (
    ProcessMark,
    ended_within,
    holder_of,
    is_running,
    mark_of,
    own_mark,
    read_mark,
    send_signal,
    write_mark,
)
from tenure.runtime.data_folder import DataFolder, open_data_folder


@pytest.fixture
def folder(tmp_path: Path) -> DataFolder:
    return open_data_folder(tmp_path / "home", "0")


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, "-S", "-c", "import signal; signal.pause()"])
    yield process
    process.kill()
    process.wait(timeout=10)


def test_nobody_holds_a_part_that_no_process_has_locked(folder: DataFolder) -> None:
    assert holder_of(folder, "hub") is None
    folder.lock("hub").release()
    assert holder_of(folder, "hub") is None


def test_the_holder_of_a_part_is_told_by_its_mark(folder: DataFolder) -> None:
    with folder.lock("hub", "tenure hub"):
        mark = write_mark(folder.part("hub"), "tenure hub")
        assert holder_of(folder, "hub") == mark
        assert is_running(mark)


def test_a_mark_that_was_left_behind_counts_for_nothing(folder: DataFolder) -> None:
    write_mark(folder.part("hub"), "tenure hub")
    assert holder_of(folder, "hub") is None


def test_a_holder_without_a_mark_is_told_by_the_lock_itself(folder: DataFolder) -> None:
    with folder.lock("hub", "tenure hub"):
        found = holder_of(folder, "hub")
    assert found is not None
    assert found.pid == own_mark("").pid
    assert found.program == "tenure hub"


def test_a_recycled_id_is_never_signaled(child: subprocess.Popen[bytes]) -> None:
    mark = mark_of(child.pid, "child")
    other = msgspec.structs.replace(mark, started="1")
    assert not is_running(other)
    assert not send_signal(other, signal.SIGKILL)
    assert ended_within(other, 0)
    assert child.poll() is None


def test_a_mark_of_another_boot_is_of_nobody(child: subprocess.Popen[bytes]) -> None:
    mark = msgspec.structs.replace(mark_of(child.pid, "child"), boot_id="another")
    assert not send_signal(mark, signal.SIGKILL)


def test_a_process_is_signaled_and_its_end_is_waited_for(child: subprocess.Popen[bytes]) -> None:
    mark = mark_of(child.pid, "child")
    assert not ended_within(mark, 0)
    assert send_signal(mark, signal.SIGTERM)
    assert ended_within(mark, 10)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff", b'{"pid": "x"}'])
def test_a_damaged_mark_is_no_mark(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "process.json").write_bytes(content)
    assert read_mark(tmp_path) is None


def test_a_process_that_has_ended_has_no_start(child: subprocess.Popen[bytes]) -> None:
    child.kill()
    child.wait(timeout=10)
    assert mark_of(child.pid, "child") == ProcessMark(
        pid=child.pid, started="", boot_id=own_mark("").boot_id, program="child"
    )
