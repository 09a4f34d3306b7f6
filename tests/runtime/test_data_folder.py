"""The data folder: one user, one holder of each part, one format, and files that are replaced whole."""

import contextlib
import errno
import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tenure.errors import (
    ConfigurationError,
    DataFolderBusyError,
    DataFolderTooNewError,
    StorageFullError,
    UnsafePathError,
)
from tenure.runtime import data_folder
from tenure.runtime.data_folder import DataFolder, default_data_folder, open_data_folder, write_atomically

HOLD = """
import sys
from pathlib import Path
from tenure.runtime.data_folder import DataFolder
with DataFolder(Path(sys.argv[1])).lock(sys.argv[2], "tenure hub"):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def folder(tmp_path: Path) -> DataFolder:
    return open_data_folder(tmp_path / "home", "0.1.0")


@contextlib.contextmanager
def holder(folder: DataFolder, part: str) -> Iterator[subprocess.Popen[str]]:
    child = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(folder.root), part],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with child:
        try:
            assert child.stdout is not None
            assert child.stdout.readline() == "held\n"
            yield child
        finally:
            child.kill()
            child.wait(timeout=30)


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_new_folder_is_closed_to_others_and_names_its_format(tmp_path: Path) -> None:
    home = tmp_path / "a" / "b"
    open_data_folder(home, "0.1.0")
    assert mode_of(home) == 0o700
    assert json.loads((home / "format.json").read_text()) == {"format": 1, "written_by": "0.1.0"}
    assert mode_of(home / "format.json") == 0o600


def test_opening_it_again_changes_nothing(folder: DataFolder) -> None:
    before = (folder.root / "format.json").read_bytes()
    open_data_folder(folder.root, "9.9.9")
    assert (folder.root / "format.json").read_bytes() == before


def test_a_folder_of_a_newer_version_is_refused_and_untouched(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    text = '{"format": 2, "written_by": "3.0.0", "more": []}'
    (tmp_path / "format.json").write_text(text)
    with pytest.raises(
        DataFolderTooNewError, match=r"format 2, written by Tenure 3\.0\.0.*Upgrade"
    ) as caught:
        open_data_folder(tmp_path, "0.1.0")
    assert caught.value.facts["supported"] == 1
    assert mode_of(tmp_path) == 0o755
    assert (tmp_path / "format.json").read_text() == text
    tmp_path.chmod(0o700)


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"format": "1", "written_by": "x"}', '{"format": 0, "written_by": ""}']
)
def test_a_format_file_that_makes_no_sense_is_an_error_and_not_a_new_folder(
    tmp_path: Path, text: str
) -> None:
    (tmp_path / "format.json").write_text(text)
    with pytest.raises(ConfigurationError):
        open_data_folder(tmp_path, "0.1.0")
    assert (tmp_path / "format.json").read_text() == text


def test_an_own_folder_that_became_open_to_others_is_closed_again(folder: DataFolder) -> None:
    folder.root.chmod(0o755)
    open_data_folder(folder.root, "0.1.0")
    assert mode_of(folder.root) == 0o700


def test_a_folder_that_holds_only_a_settings_file_is_taken(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    (tmp_path / "tenure.toml").write_text("")
    open_data_folder(tmp_path, "0.1.0")
    assert mode_of(tmp_path) == 0o700


def test_a_strangers_folder_is_never_closed_to_its_other_users(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    (tmp_path / "somebody.txt").write_text("")
    with pytest.raises(ConfigurationError, match="chmod 700"):
        open_data_folder(tmp_path, "0.1.0")
    assert mode_of(tmp_path) == 0o755
    assert not (tmp_path / "format.json").exists()
    tmp_path.chmod(0o700)


def test_a_folder_that_is_closed_to_others_already_is_taken_whatever_it_holds(tmp_path: Path) -> None:
    (tmp_path / "somebody.txt").write_text("")
    tmp_path.chmod(0o700)
    open_data_folder(tmp_path, "0.1.0")
    assert (tmp_path / "format.json").exists()


def test_a_file_in_the_folders_place_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for home in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(ConfigurationError, match="TENURE_HOME"):
            open_data_folder(home, "0.1.0")


def test_the_default_folder_follows_tenure_home_then_xdg_then_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/someone")
    assert default_data_folder({}) == Path("/home/someone/.local/share/tenure")
    assert default_data_folder({"XDG_DATA_HOME": "/data"}) == Path("/data/tenure")
    assert default_data_folder({"XDG_DATA_HOME": "relative"}) == Path("/home/someone/.local/share/tenure")
    assert default_data_folder({"XDG_DATA_HOME": "/data", "TENURE_HOME": "/t"}) == Path("/t")
    assert default_data_folder({"TENURE_HOME": "~/t"}) == Path("/home/someone/t")


def test_a_part_that_is_held_by_another_process_names_it_and_what_to_do(folder: DataFolder) -> None:
    with holder(folder, "hub") as child, pytest.raises(DataFolderBusyError) as caught:
        folder.lock("hub")
    assert f"process {child.pid} (tenure hub)" in caught.value.message
    assert "tenure down" in caught.value.message
    assert caught.value.facts["pid"] == child.pid
    assert not caught.value.retryable


def test_a_part_is_free_as_soon_as_its_holder_was_killed(folder: DataFolder) -> None:
    with holder(folder, "node/laptop") as child:
        child.send_signal(signal.SIGKILL)
        child.wait(timeout=30)
        with folder.lock("node/laptop") as lock:
            assert json.loads(lock.path.read_bytes())["pid"] == os.getpid()


def test_parts_are_held_apart_from_each_other(folder: DataFolder) -> None:
    with folder.lock("hub"), folder.lock("node/a"), folder.lock("node/b"):
        assert mode_of(folder.root / "node" / "a") == 0o700
        with pytest.raises(DataFolderBusyError):
            folder.lock("node/b")
    with folder.lock("hub"):
        pass


def test_the_lock_is_not_inherited_by_children(folder: DataFolder) -> None:
    lock = folder.lock("hub")
    child = subprocess.Popen(["sleep", "60"], close_fds=False)
    try:
        # Not through release, which unlocks expressly: the close alone must do, as at this process's death.
        assert lock._descriptor is not None
        os.close(lock._descriptor)
        with folder.lock("hub"):
            pass
    finally:
        child.kill()
        child.wait(timeout=30)


def test_letting_go_counts_even_where_a_forked_child_has_a_copy_of_the_descriptor(folder: DataFolder) -> None:
    lock = folder.lock("hub")
    assert lock._descriptor is not None
    copy = os.dup(lock._descriptor)
    try:
        lock.release()
        folder.lock("hub").release()
    finally:
        os.close(copy)


def test_neither_a_refused_lock_nor_a_write_leaves_a_descriptor_open(folder: DataFolder) -> None:
    def descriptors() -> set[str]:
        return {entry.name for entry in Path("/dev/fd").iterdir()}

    before = descriptors()
    with folder.lock("hub"), pytest.raises(DataFolderBusyError):
        folder.lock("hub")
    write_atomically(folder.root / "file", b"x")
    assert descriptors() == before


def test_a_note_of_a_process_that_is_gone_is_not_told_as_the_holder(folder: DataFolder) -> None:
    gone = subprocess.Popen(["true"])
    gone.wait(timeout=30)
    with folder.lock("hub") as lock:
        lock.path.write_text(json.dumps({"pid": gone.pid, "program": "tenure hub"}))
        with pytest.raises(DataFolderBusyError, match="held by another process") as caught:
            folder.lock("hub")
        assert caught.value.facts["pid"] is None


def test_letting_go_twice_is_harmless(folder: DataFolder) -> None:
    lock = folder.lock("hub")
    lock.release()
    lock.release()
    assert lock.path.read_bytes() == b""


def test_a_file_system_without_locks_is_named_as_such(
    folder: DataFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_descriptor: int, _how: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(data_folder.fcntl, "flock", refuse)
    with pytest.raises(ConfigurationError, match="local disk"):
        folder.lock("hub")


@pytest.mark.parametrize(
    "name", ["", "..", "hub/../..", "/etc", "node/", "node//a", "a\x00b", ".hidden", "x" * 65]
)
def test_a_part_never_leads_out_of_the_folder(folder: DataFolder, name: str) -> None:
    with pytest.raises(UnsafePathError):
        folder.part(name)


def test_a_part_that_is_a_symbolic_link_is_refused(folder: DataFolder, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (folder.root / "hub").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UnsafePathError, match="symbolic link"):
        folder.lock("hub")


def test_an_atomic_write_sets_content_and_mode_whatever_the_umask(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    before = os.umask(0o077)
    try:
        write_atomically(path, b"one", 0o640)
        assert (path.read_bytes(), mode_of(path)) == (b"one", 0o640)
        write_atomically(path, b"two" * 100_000)
        assert (path.read_bytes(), mode_of(path)) == (b"two" * 100_000, 0o600)
    finally:
        os.umask(before)
    assert [entry.name for entry in tmp_path.iterdir()] == ["secret"]


@pytest.mark.parametrize("failing", ["write", "fsync", "fchmod"])
def test_a_full_disk_leaves_the_old_content_and_no_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    path = tmp_path / "file"
    write_atomically(path, b"old")

    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(data_folder.os, failing, full)
        with pytest.raises(StorageFullError, match="free some space") as caught:
            write_atomically(path, b"new")
    assert caught.value.retryable
    assert path.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_a_write_that_was_killed_before_the_rename_leaves_the_old_content(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_atomically(path, b"old")
    script = (
        "import os, sys, signal\nfrom pathlib import Path\nfrom tenure.runtime import data_folder\n"
        "data_folder.os.fsync = lambda descriptor: os.kill(os.getpid(), signal.SIGKILL)\n"
        "data_folder.write_atomically(Path(sys.argv[1]), b'new')\n"
    )
    killed = subprocess.run([sys.executable, "-c", script, str(path)], timeout=60)
    assert killed.returncode == -signal.SIGKILL
    assert path.read_bytes() == b"old"


def test_a_write_syncs_the_file_before_the_rename_and_the_folder_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[tuple[bool, bool]] = []
    real = os.fsync

    def fsync(descriptor: int) -> None:
        synced.append((stat.S_ISDIR(os.fstat(descriptor).st_mode), (tmp_path / "file").exists()))
        real(descriptor)

    with monkeypatch.context() as patched:
        patched.setattr(data_folder.os, "fsync", fsync)
        write_atomically(tmp_path / "file", b"new")
    assert synced == [(False, False), (True, True)]


def test_a_missing_folder_is_the_systems_own_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        write_atomically(tmp_path / "no" / "file", b"")
