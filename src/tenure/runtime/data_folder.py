"""The data folder: who may use it, who holds which part of it, and how a file in it is replaced.

The folder and everything in it belongs to one user (mode 0700). Each part (`hub`, `node/<name>`) is held by
one process at a time through `flock` on the part's `lock` file: the kernel lets go when the holder dies,
however it dies, so there is no stale lock to clear. The file's content (process id and what it runs) only
serves the message to whoever comes second; it proves nothing. The file is never deleted, since two processes
could then each hold a lock on a file of that name.

`format.json` names the version of the folder's layout. A folder of a newer version is refused before anything
in it is touched.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import secrets
import stat
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import final

import msgspec
from msgspec import Struct

from tenure.errors import (
    ConfigurationError,
    DataFolderBusyError,
    DataFolderTooNewError,
    StorageFullError,
    UnsafePathError,
)
from tenure.runtime.stored_json import decode_stored, read_stored

FORMAT = 1
"""The layout that this version writes and reads."""
FORMAT_FILE = "format.json"
LOCK_FILE = "lock"
SETTINGS_FILE = "tenure.toml"
FOLDER_MODE = 0o700
OTHERS_SEE = 0o066
"""Rights by which others could list or change a folder. To pass through it shows nothing, and the isolation `user` needs it."""
FILE_MODE = 0o600
MAX_LOCK_BYTES = 4096
MAX_FORMAT_BYTES = 65_536

_PART = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT})
_NO_LOCKS = frozenset({errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS, errno.EINVAL})


class FormatFile(Struct, frozen=True):
    """What `format.json` says. Other keys, from a newer version, are ignored: the number alone decides."""

    format: int
    written_by: str


class Holder(Struct, frozen=True):
    """What a lock file says of its holder. It may be out of date."""

    pid: int
    program: str


def default_data_folder(env: Mapping[str, str]) -> Path:
    """Where the data folder is: `TENURE_HOME`, else `$XDG_DATA_HOME/tenure`, else `~/.local/share/tenure`.

    Raises:
        ConfigurationError: none of these and no home folder is known.
    """
    if env.get("TENURE_HOME"):
        return Path(env["TENURE_HOME"]).expanduser().absolute()
    # The XDG base directory specification: a relative path is invalid and is to be ignored.
    data_home = Path(env.get("XDG_DATA_HOME", ""))
    if data_home.is_absolute():
        return data_home / "tenure"
    try:
        return Path.home() / ".local" / "share" / "tenure"
    except RuntimeError as error:
        raise ConfigurationError("no home folder is known; name the data folder in TENURE_HOME") from error


@final
class FolderLock:
    """A held part of the data folder.

    Closing it, or the death of this process, lets go. Not inherited by children.
    """

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self._descriptor: int | None = descriptor

    def release(self) -> None:
        """Lets go. Doing it twice is harmless."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            with contextlib.suppress(OSError):
                os.ftruncate(descriptor, 0)
                # Not left to the close alone: a child that was forked without an exec has a copy of it.
                fcntl.flock(descriptor, fcntl.LOCK_UN)
            os.close(descriptor)

    def __enter__(self) -> FolderLock:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


@final
class DataFolder:
    """An opened data folder. Opening takes no lock: several processes may read, each part has one owner."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def part(self, name: str) -> Path:
        """The folder of a part (`hub`, `node/<name>`), made with mode 0700 where it is missing.

        Raises:
            UnsafePathError: the name could lead out of the data folder.
        """
        pieces = name.split("/")
        if not all(_PART.fullmatch(piece) for piece in pieces):
            raise UnsafePathError(
                f"{name!r} is not a part of the data folder: expected letters, digits, '.', '_' and '-'",
                name=name,
            )
        path = self.root
        for piece in pieces:
            path /= piece
            if path.is_symlink():
                raise UnsafePathError(
                    f"{path} is a symbolic link; parts of the data folder must be real", path=str(path)
                )
            path.mkdir(mode=FOLDER_MODE, exist_ok=True)
        return path

    def lock(self, name: str, program: str = "tenure") -> FolderLock:
        """Takes hold of a part, without waiting, for as long as the returned lock is kept.

        `program` is what a rival is shown.

        Raises:
            DataFolderBusyError: another process holds it.
            ConfigurationError: the file system cannot lock files.
        """
        path = self.part(name) / LOCK_FILE
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, FILE_MODE)
        try:
            take_lock(descriptor, path)
        except BaseException:
            os.close(descriptor)
            raise
        note = msgspec.json.encode(Holder(pid=os.getpid(), program=program))
        # A full disk must not refuse the lock: the note is for people only.
        with contextlib.suppress(OSError):
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, note, 0)
        return FolderLock(path, descriptor)


def take_lock(descriptor: int, path: Path) -> None:
    """Locks the opened lock file, or says who holds it.

    Raises:
        DataFolderBusyError: another process holds it.
        ConfigurationError: the file system cannot lock files.
        OSError: the lock failed for another reason.
    """
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        holder = read_holder(descriptor)
        who = f"process {holder.pid} ({holder.program})" if holder else "another process"
        raise DataFolderBusyError(
            f"{path.parent} is held by {who}; stop it with `tenure down`, or use another data folder"
            " (TENURE_HOME)",
            path=str(path.parent),
            pid=holder.pid if holder else None,
            program=holder.program if holder else None,
        ) from error
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
        raise ConfigurationError(
            f"{path} cannot be locked ({error.strerror}); put the data folder on a local disk and name it in"
            " TENURE_HOME",
            path=str(path),
        ) from error


def open_data_folder(root: Path, version: str) -> DataFolder:
    """Opens the data folder, and makes it where it is missing; `version` is this program's, for the record.

    Two processes may do this at once. A crash half-way leaves a folder that opens like a new one.

    Raises:
        DataFolderTooNewError: a newer version wrote it; nothing was touched.
        ConfigurationError: it is not ours, is open to others, or its `format.json` cannot be read.
    """
    try:
        root.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError, PermissionError) as error:
        raise ConfigurationError(
            f"the data folder {root} cannot be made ({error.strerror}); name another in TENURE_HOME",
            path=str(root),
        ) from error
    known = check_format(root)
    close_to_others(root, known)
    if not known:
        content = FormatFile(format=FORMAT, written_by=version)
        write_atomically(root / FORMAT_FILE, msgspec.json.encode(content) + b"\n", FILE_MODE)
    return DataFolder(root)


def check_format(root: Path) -> bool:
    """Does the folder say that it is ours? False when it says nothing.

    Raises:
        DataFolderTooNewError: a newer version wrote it.
        ConfigurationError: `format.json` cannot be read as one.
    """
    path = root / FORMAT_FILE
    try:
        found = read_stored(path, FormatFile, MAX_FORMAT_BYTES)
    except FileNotFoundError:
        return False
    except (ValueError, OSError) as error:
        raise ConfigurationError(
            f"{path} cannot be read ({error}); restore it from a backup, or name another folder in"
            " TENURE_HOME",
            path=str(path),
        ) from error
    if found.format > FORMAT:
        raise DataFolderTooNewError(
            f"{root} has format {found.format}, written by Tenure {found.written_by}; this version reads"
            f" formats up to {FORMAT}. Upgrade Tenure, or name another folder in TENURE_HOME",
            path=str(root),
            format=found.format,
            supported=FORMAT,
            written_by=found.written_by,
        )
    if found.format < 1:
        raise ConfigurationError(f"{path} names format {found.format}; expected 1 or more", path=str(path))
    return True


def close_to_others(root: Path, known: bool) -> None:
    """Makes sure that only this user can look into the folder.

    A folder that is ours or empty is tightened. Another one is not: its mode may be wanted (it could be
    `/tmp`).

    Raises:
        ConfigurationError: the folder is another user's, or holds other things and is open to others.
    """
    status = root.stat()
    if status.st_uid != os.geteuid():
        raise ConfigurationError(
            f"the data folder {root} belongs to user id {status.st_uid}, not to you ({os.geteuid()}); name"
            " another in TENURE_HOME",
            path=str(root),
        )
    mode = stat.S_IMODE(status.st_mode)
    if not mode & OTHERS_SEE:
        return
    if not known and any(entry.name != SETTINGS_FILE for entry in root.iterdir()):
        raise ConfigurationError(
            f"{root} holds files that are not Tenure's and is open to other users (mode {mode:04o}); run"
            f" `chmod 700 {root}` if it is meant to be the data folder, or name another in TENURE_HOME",
            path=str(root),
            mode=mode,
        )
    root.chmod(FOLDER_MODE)


def read_holder(descriptor: int) -> Holder | None:
    """What the lock file says of its holder; None when it says nothing or names a process that is gone."""
    with contextlib.suppress(OSError, ValueError):
        holder = decode_stored(os.pread(descriptor, MAX_LOCK_BYTES, 0), Holder)
        # A rival that has just taken the lock may not have written its own note yet.
        if holder.pid > 0 and is_alive(holder.pid):
            return holder
    return None


def is_alive(pid: int) -> bool:
    """Is there a process of this id? It may be another one than was meant; good for messages only."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


def write_atomically(path: Path, data: bytes, mode: int = FILE_MODE) -> None:
    """Replaces a file: afterwards, even after a power cut, it holds either the old content or all of the new.

    Durable when it returns. A crash half-way can leave a file `.<name>.<random>.tmp` beside it, which means
    nothing.

    Raises:
        StorageFullError: the disk is full; the old content stands.
        OSError: the write failed for another reason; the old content stands unless the folder's own sync
        failed.
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")
    try:
        with _new_file(temporary, mode) as descriptor:
            view = memoryview(data)
            while view:
                view = view[os.write(descriptor, view) :]
            os.fsync(descriptor)
        temporary.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        if error.errno in _NO_ROOM:
            raise StorageFullError(
                f"no room to write {path}; free some space and repeat", path=str(path)
            ) from error
        raise
    sync_folder(path.parent)


def sync_folder(path: Path) -> None:
    """Makes the folder's entries durable: names that were made, replaced or removed in it."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _new_file(path: Path, mode: int) -> Generator[int]:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, mode)
    try:
        os.fchmod(descriptor, mode)  # the process's umask must not decide
        yield descriptor
    finally:
        os.close(descriptor)
