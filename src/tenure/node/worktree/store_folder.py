"""Measuring and deleting folders inside the node's store, and never outside it.

An agent may have put anything into its worktree and in the worktree's place: symbolic links, other mounts,
names that are not text. So no path is trusted. Each folder on the way is opened from its parent's descriptor
without following links, and what is deleted is reached through those descriptors only; a folder that somebody
swaps for a link meanwhile is refused, not followed. There is no second way of deleting that could be tried
when this one refuses.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import sys
from collections.abc import Generator, Sequence
from pathlib import Path

from msgspec import Struct

from tenure.errors import UnsafePathError

MAX_DEPTH = 400
"""Folders in folders: deleting goes as deep on the stack and holds one descriptor a level."""

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_OWNER_RWX = 0o700
_MOUNTS = Path("/proc/self/mountinfo")
_MOUNT_POINT_FIELD = 4


class FolderSize(Struct, frozen=True):
    """What a folder takes on disk, as its file system counts it; `foreign` names a mount inside it, if there is one."""

    size_bytes: int
    foreign: str | None = None


@contextlib.contextmanager
def opened_folder(root: Path, *names: str) -> Generator[int]:
    """The descriptor of the folder `root/names…`; only `root` itself may be reached through symbolic links.

    Raises:
        UnsafePathError: a name is not a plain name, or a step is not a real folder.
        FileNotFoundError: a step is missing.
        OSError: a step cannot be opened.
    """
    descriptor = os.open(root, _FOLDER & ~os.O_NOFOLLOW)
    path = root
    try:
        for name in names:
            if name in {"", ".", ".."} or "/" in name:
                raise UnsafePathError(f"{name!r} is not the name of a folder in {path}", path=str(path))
            path /= name
            try:
                step = os.open(name, _FOLDER, dir_fd=descriptor)
            except OSError as error:
                # Linux says of a link that it is not a folder; others have words of their own for it.
                if isinstance(error, NotADirectoryError) or path.is_symlink():
                    raise UnsafePathError(
                        f"{path} is not a real folder (a symbolic link, or a file, stands in its place); nothing was"
                        " touched",
                        path=str(path),
                    ) from error
                raise
            os.close(descriptor)
            descriptor = step
        yield descriptor
    finally:
        os.close(descriptor)


def is_real_folder(root: Path, *names: str) -> bool:
    """Is `root/names…` a folder of its own, reached without a symbolic link? False when it is missing.

    Raises:
        UnsafePathError: something else stands there.
    """
    try:
        with opened_folder(root, *names):
            return True
    except FileNotFoundError:
        return False


def end_of_file(path: Path, size: int) -> bytes:
    """The last `size` bytes of a plain file that an agent may have replaced by a link, a folder or a pipe.

    Raises:
        UnsafePathError: it is no plain file.
        FileNotFoundError: it is missing.
        OSError: it cannot be read.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        if path.is_symlink():
            raise UnsafePathError(f"{path} is a symbolic link", path=str(path)) from error
        raise
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise UnsafePathError(f"{path} is not a plain file", path=str(path))
        return os.pread(descriptor, size, max(0, status.st_size - size))
    finally:
        os.close(descriptor)


def folder_size(root: Path, *names: str) -> FolderSize:
    """What `root/names…` takes on disk. Links are not followed, mounts inside are named and not entered.

    Raises:
        UnsafePathError: something else stands there.
        OSError: it cannot be read.
    """
    foreign = next(iter(mounts_below(root.joinpath(*names))), None)
    device = _device(root, names)
    total = 0
    for folder, entries in _walk(root, names):
        status = os.fstat(folder)
        if status.st_dev != device:
            foreign = foreign or "another file system is mounted inside it"
            continue
        total += _allocated(status)
        for entry in entries:
            with contextlib.suppress(FileNotFoundError):
                if not entry.is_dir(follow_symlinks=False):
                    total += _allocated(entry.stat(follow_symlinks=False))
    return FolderSize(total, foreign)


def delete_folder(root: Path, *names: str) -> None:
    """Deletes the folder `root/names…` and what is in it. One that is missing is deleted already.

    A crash half-way leaves the rest to be deleted by the next call.

    Raises:
        UnsafePathError: it is not a real folder inside `root`, or something is mounted in it; nothing was
            deleted.
        OSError: a part cannot be deleted.
    """
    *parents, name = names
    path = root.joinpath(*names)
    with contextlib.suppress(FileNotFoundError):
        foreign = folder_size(root, *names).foreign
        if foreign:
            raise UnsafePathError(f"{path} is not deleted: {foreign}", path=str(path))
        device = _device(root, names)
        for folder, _ in _walk(root, names, repair=True):
            if os.fstat(folder).st_dev != device:
                raise UnsafePathError(
                    f"{path} is not deleted: something is mounted inside it", path=str(path)
                )
        with opened_folder(root, *parents) as parent:
            # Refuses a link at `name`, and opens each folder below from its parent without following links.
            shutil.rmtree(name, dir_fd=parent)


def _device(root: Path, names: Sequence[str]) -> int:
    """The file system of a folder, found out without opening it: its owner may have closed it even to himself.

    Raises:
        UnsafePathError: it is not a real folder.
        FileNotFoundError: it is missing.
        OSError: it cannot be reached.
    """
    *parents, name = names
    with opened_folder(root, *parents) as parent:
        if name in {"", ".", ".."} or "/" in name:
            raise UnsafePathError(f"{name!r} is not the name of a folder", path=str(root))
        status = os.stat(name, dir_fd=parent, follow_symlinks=False)
    if not stat.S_ISDIR(status.st_mode):
        raise UnsafePathError(
            f"{root.joinpath(*names)} is not a real folder", path=str(root.joinpath(*names))
        )
    return status.st_dev


def _walk(
    root: Path, names: Sequence[str], *, repair: bool = False
) -> Generator[tuple[int, list[os.DirEntry[str]]]]:
    """Each folder from `root/names…` down: its descriptor, valid until the next step, and what is in it.

    `repair` gives the owner back the rights to list and empty each folder before it is opened: agents leave
    read-only ones behind (Go's module cache). Without it an unreadable folder is passed over.

    Raises:
        UnsafePathError: a step is not a real folder, or the folders are nested too deeply.
        PermissionError: the rights of a folder could not be repaired.
        OSError: a folder cannot be read.
    """
    pending = [tuple(names)]
    while pending:
        at = pending.pop()
        if len(at) > MAX_DEPTH:
            raise UnsafePathError(
                f"{root.joinpath(*names)} is nested deeper than {MAX_DEPTH} folders", path=str(root)
            )
        if repair:
            with opened_folder(root, *at[:-1]) as parent:
                _give_back_rights(parent, at[-1])
        try:
            with opened_folder(root, *at) as folder, os.scandir(folder) as found:
                entries = list(found)
                yield folder, entries
        except PermissionError:
            if repair:
                raise
            continue
        pending.extend((*at, entry.name) for entry in entries if entry.is_dir(follow_symlinks=False))


def _give_back_rights(parent: int, name: str) -> None:
    status = os.stat(name, dir_fd=parent, follow_symlinks=False)
    mode = stat.S_IMODE(status.st_mode)
    if not stat.S_ISDIR(status.st_mode) or mode & _OWNER_RWX == _OWNER_RWX:
        return
    if sys.platform == "linux":
        # chmod here follows links and fchmod needs a readable folder; O_PATH needs neither and pins what was looked at.
        pinned = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
        try:
            Path(f"/proc/self/fd/{pinned}").chmod(mode | _OWNER_RWX)
        finally:
            os.close(pinned)
    else:
        os.chmod(name, mode | _OWNER_RWX, dir_fd=parent, follow_symlinks=False)


def mounts_below(path: Path) -> list[str]:
    """Says what is mounted at or below the path. Empty where the system has no list of mounts."""
    try:
        lines = _MOUNTS.read_bytes().splitlines()
    except OSError:
        return []
    top = os.fsencode(path.resolve())
    points = [_unescaped(line.split(b" ")[_MOUNT_POINT_FIELD]) for line in lines]
    return [
        f"{os.fsdecode(point)} is a mount" for point in points if point == top or point.startswith(top + b"/")
    ]


def _unescaped(field: bytes) -> bytes:
    """Mount points write blanks and backslashes as three octal digits (proc(5))."""
    for escaped, plain in ((b"\\040", b" "), (b"\\011", b"\t"), (b"\\012", b"\n"), (b"\\134", b"\\")):
        field = field.replace(escaped, plain)
    return field


def _allocated(status: os.stat_result) -> int:
    return status.st_blocks * 512
