"""Which process exactly: its id and when it started, so that a recycled id is never taken for it.

A part of the data folder (hub, node, supervisor) writes its mark beside the lock that it holds. Who wants to signal it checks that the lock
is held and that the process of that id started when the mark says; the signal then goes through a pidfd opened before the check, so
that it cannot reach another process even if this one ends meanwhile. Nothing is ever found by name.

Where `/proc` or pidfds are missing (macOS) the held lock and the id in it are all there is.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
from collections.abc import Generator
from pathlib import Path

import msgspec
from msgspec import Struct

from tenure.errors import DataFolderBusyError
from tenure.runtime.data_folder import DataFolder, write_atomically
from tenure.runtime.stored_json import decode_stored

MARK_FILE = "process.json"
MAX_MARK_BYTES = 65_536


class ProcessMark(Struct, frozen=True, kw_only=True):
    """A process of the data folder. `started` is its start in clock ticks since boot `boot_id`; empty where that cannot be told."""

    pid: int
    started: str
    boot_id: str
    program: str


def own_mark(program: str) -> ProcessMark:
    """The mark of this process."""
    return mark_of(os.getpid(), program)


def mark_of(pid: int, program: str) -> ProcessMark:
    return ProcessMark(pid=pid, started=started_of(pid), boot_id=boot_id(), program=program)


def started_of(pid: int) -> str:
    """When the process of this id started; empty where there is none, or where that cannot be told."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return ""
    # The program's name stands in brackets and may itself hold brackets and spaces; a zombie has ended.
    fields = stat[stat.rindex(b")") + 2 :].split()
    return "" if fields[0] in {b"Z", b"X"} else fields[19].decode("ascii")


def boot_id() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def write_mark(folder: Path, program: str) -> ProcessMark:
    """Writes the mark of this process into its part of the data folder, whose lock it must hold."""
    mark = own_mark(program)
    write_atomically(folder / MARK_FILE, msgspec.json.encode(mark) + b"\n")
    return mark


def read_mark(folder: Path) -> ProcessMark | None:
    """The mark in a part of the data folder. It may be of a process that has ended: see `is_running`."""
    try:
        with (folder / MARK_FILE).open("rb") as file:
            return decode_stored(file.read(MAX_MARK_BYTES), ProcessMark)
    except (OSError, ValueError):
        return None


def holder_of(folder: DataFolder, part: str) -> ProcessMark | None:
    """The process that holds a part now; None when nobody does.

    A lock that is held by a process without a mark (it has just started, or could not write) is told by the id that stands in the lock.
    """
    path = folder.root / part
    if not (path / "lock").exists():
        return None
    try:
        folder.lock(part, "tenure (looking)").release()
    except DataFolderBusyError as error:
        mark = read_mark(path)
        if mark is not None and is_running(mark):
            return mark
        pid = error.facts.get("pid")
        if isinstance(pid, int) and has_open(pid, path / "lock"):
            return mark_of(pid, str(error.facts.get("program")))
    return None


def has_open(pid: int, path: Path) -> bool:
    """Has this process the file open? True where that cannot be told.

    The id in a lock is of its last holder until the next one has written its own.
    """
    try:
        wanted = path.stat()
        descriptors = list(Path(f"/proc/{pid}/fd").iterdir())
    except OSError:
        return not Path("/proc/self/fd").exists()
    for descriptor in descriptors:
        with contextlib.suppress(OSError):
            if os.path.samestat(descriptor.stat(), wanted):
                return True
    return False


def is_running(mark: ProcessMark) -> bool:
    """Does this very process still run?"""
    if mark.boot_id != boot_id():
        return False
    if mark.started or Path("/proc/self/stat").exists():
        return bool(mark.started) and started_of(mark.pid) == mark.started
    try:
        os.kill(mark.pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def send_signal(mark: ProcessMark, number: signal.Signals) -> bool:
    """Signals this very process. False when it has ended; then nobody was signaled."""
    with _handle(mark) as handle:
        if not is_running(mark):
            return False
        with contextlib.suppress(ProcessLookupError):
            if handle is None:
                os.kill(mark.pid, number)
            else:
                signal.pidfd_send_signal(handle, number)
            return True
    return False


def ended_within(mark: ProcessMark, wait_s: float) -> bool:
    """Waits until this very process has ended, at most so long. False when it still runs."""
    with _handle(mark) as handle:
        if not is_running(mark):
            return True
        if handle is None:
            return _polled(mark, wait_s)
        return bool(select.select([handle], [], [], wait_s)[0])


def _polled(mark: ProcessMark, wait_s: float) -> bool:
    step_s = 0.05
    for _ in range(max(1, round(wait_s / step_s))):
        select.select([], [], [], step_s)
        if not is_running(mark):
            return True
    return False


@contextlib.contextmanager
def _handle(mark: ProcessMark) -> Generator[int | None]:
    try:
        handle = os.pidfd_open(mark.pid)
    except (AttributeError, OSError):
        yield None
        return
    try:
        yield handle
    finally:
        os.close(handle)
