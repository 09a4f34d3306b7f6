"""The files in the data folder through which commands, hub, node and supervisor of one machine know each other.

`hub/url` says where the hub of this folder listens, `hub/certificate.pem` by which certificate it is known if it speaks TLS,
`hub/local.token` (mode 0600) lets this user talk to it without ceremony. While that token is rotated, the new one stands in
`hub/local.token.new`, from before the hub is asked until it has taken the old one's place: whatever dies in between, the one that
the hub takes is in one of the two.
`up/`, `hub/` and each `node/<name>/` hold a lock and the mark of the process that holds it.
"""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path

from tenure.errors import ConfigurationError
from tenure.runtime.data_folder import DataFolder, write_atomically

UP_PART = "up"
HUB_PART = "hub"
NODES = "node"
URL_FILE = "url"
CERTIFICATE_FILE = "certificate.pem"
DATABASE_FILE = "hub.db"
SECRET_FILE = "secret"  # noqa: S105 - the name of a file
TOKEN_FILE = "local.token"  # noqa: S105 - the name of a file
NEXT_TOKEN_FILE = "local.token.new"  # noqa: S105 - the name of a file
MAX_BYTES = 4096


def node_part(name: str) -> str:
    """The part of the data folder that belongs to a node."""
    return f"{NODES}/{name}"


def node_names(home: Path) -> list[str]:
    """The nodes that have a store in this data folder."""
    with contextlib.suppress(OSError):
        return sorted(entry.name for entry in (home / NODES).iterdir() if entry.is_dir())
    return []


def write_local_hub(folder: DataFolder, url: str) -> None:
    """Says where the hub of this folder listens."""
    write_atomically(folder.part(HUB_PART) / URL_FILE, url.encode() + b"\n", 0o600)


def keep_local_certificate(folder: DataFolder, pem: str) -> None:
    """Says which certificate the hub of this folder shows now. Costs one look where it says so already.

    Raises:
        StorageFullError: there is no room for it.
        OSError: it cannot be written for another reason.
    """
    path = folder.part(HUB_PART) / CERTIFICATE_FILE
    if not path.is_file() or path.read_bytes() != pem.encode():
        write_atomically(path, pem.encode(), 0o600)


def forget_local_hub(folder: DataFolder) -> None:
    """Nobody listens any more. The token stays: it is valid for the record, not for one run of the hub."""
    for name in (URL_FILE, CERTIFICATE_FILE):
        with contextlib.suppress(OSError):
            (folder.root / HUB_PART / name).unlink()


def local_hub_url(home: Path) -> str | None:
    """Where the hub of this folder listens, or listened last if it was killed; None where it was stopped or never ran."""
    return read_line(home / HUB_PART / URL_FILE)


def local_certificate(home: Path, url: str) -> Path | None:
    """The certificate that the hub at this address shows, where it is the hub of this folder; None where it is another, or one
    that has left none here."""
    path = home / HUB_PART / CERTIFICATE_FILE
    is_own = url.rstrip("/") == (local_hub_url(home) or "").rstrip("/")
    return path if is_own and path.is_file() else None


def local_token(home: Path) -> str | None:
    """The token of this folder's own hub.

    Raises:
        ConfigurationError: other users can read it.
    """
    path = home / HUB_PART / TOKEN_FILE
    token = read_line(path)
    if token is not None and stat.S_IMODE(path.stat().st_mode) & 0o077:
        raise ConfigurationError(
            f"{path} can be read by other users; run `chmod 600 {path}`, then revoke the token if others may have seen it",
            path=str(path),
        )
    return token


def next_local_token(home: Path) -> str | None:
    """The token that was to take the place of the local one, and has not yet."""
    return read_line(home / HUB_PART / NEXT_TOKEN_FILE)


def keep_next_token(part: Path, token: str) -> None:
    """Keeps what is to take the place of the local token, before the hub hears of it."""
    write_atomically(part / NEXT_TOKEN_FILE, token.encode() + b"\n", 0o600)


def put_in_place(part: Path, token: str) -> None:
    """Makes this the local token, which the hub has taken. Idempotent; whatever dies half-way may do it again."""
    if read_line(part / TOKEN_FILE) != token:
        write_atomically(part / TOKEN_FILE, token.encode() + b"\n", 0o600)
    (part / NEXT_TOKEN_FILE).unlink(missing_ok=True)


def read_line(path: Path) -> str | None:
    """The one line of a small file; None where it is missing, empty or no file."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return os.read(descriptor, MAX_BYTES).decode("utf-8", "replace").strip() or None
    except IsADirectoryError:
        return None
    finally:
        os.close(descriptor)
