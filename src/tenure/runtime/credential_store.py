"""Credentials of providers and addresses of channels at rest: one file, each entry encrypted, the key elsewhere
(docs/adr/0011, 0013).

`providers.json` (mode 0600) names its entries and their kinds in the clear; everything else of an entry, addresses
included, is one Fernet token (AES-128-CBC with an HMAC-SHA256, from the `cryptography` package). The name is inside
the token, too, so that one entry cannot be put in another's place. The key is the line of `provider.key` (mode 0600)
beside it, made at the first entry, or the variable TENURE_PROVIDER_KEY where that is set: then the folder and its
backups alone open nothing. Of several keys, a line or word each, the first encrypts and any decrypts: so a key is replaced
(`rotate_key`) in three steps, of which each leaves a store that can be read. There is a shelf for providers and one for
channels, each with its own names.

A change replaces the file atomically, under a lock that writers take in turns. Readers take none: they see the old file
or the new one. A crash half-way leaves the old one.

`cryptography` comes with the extras `forges` and `notifications`; without it there is nothing stored, and a store that is there is refused
with the reason."""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from tenure.errors import ConfigurationError, NotFoundError
from tenure.runtime.bounded_read import read_at_most
from tenure.runtime.data_folder import FILE_MODE, write_atomically
from tenure.runtime.file_lock import file_lock
from tenure.runtime.stored_json import decode_stored

if TYPE_CHECKING:
    from cryptography.fernet import Fernet, MultiFernet

    Cipher = Fernet | MultiFernet

KEY_VARIABLE = "TENURE_PROVIDER_KEY"
STORE_FILE = "providers.json"
KEY_FILE = "provider.key"
LOCK_FILE = "providers.lock"
FORMAT = 1
MAX_STORE_BYTES = 8 * 2**20
MAX_KEY_BYTES = 4096
SECRET_BYTES = 8192
"""The longest credential or webhook secret: it goes into a header."""
ENTRIES = 500
"""Providers of one hub, or its channels."""
LOCK_S = 10.0


class Shelf(Struct, frozen=True, kw_only=True):
    """A part of the store, and how people speak of what is in it. `seal` stands before its names inside the tokens, so that
    no entry can be put on another shelf."""

    field: str
    noun: str
    command: str
    seal: str


PROVIDERS = Shelf(field="providers", noun="provider", command="tenure provider", seal="")
CHANNELS = Shelf(field="channels", noun="channel", command="tenure notify", seal="notify:")
SHELVES = (PROVIDERS, CHANNELS)


class Entry(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is stored of one provider, or of a channel: then `kind` is its service and `url` its address. Options that are
    None are those of its table in the settings, or their defaults."""

    kind: str
    url: str | None = None
    find_url: str | None = None
    user: str | None = None
    credential: str | None = None
    webhook_secret: str | None = None

    def __repr__(self) -> str:
        """Without what is secret, which an address may be as well."""
        return f"Entry(kind={self.kind!r})"


class _Sealed(Struct, frozen=True, kw_only=True):
    kind: str
    sealed: str


class _Inside(Struct, frozen=True, kw_only=True):
    name: str
    entry: Entry


class _File(Struct, frozen=True, kw_only=True):
    format: int = FORMAT
    providers: dict[str, _Sealed] = {}
    channels: dict[str, _Sealed] = {}

    def on(self, shelf: Shelf) -> dict[str, _Sealed]:
        return getattr(self, shelf.field)

    @property
    def is_empty(self) -> bool:
        return not self.providers and not self.channels


class Opened(Struct, frozen=True):
    """One name of the store, as far as it could be read: its entry, or why it could not be decrypted."""

    name: str
    kind: str
    entry: Entry | None
    problem: str | None = None


@final
class CredentialStore:
    """One shelf of the store of one hub, in its part of the data folder. Holds nothing in memory between calls."""

    def __init__(self, part: Path, env: Mapping[str, str], shelf: Shelf = PROVIDERS) -> None:
        self.part = part
        self._shelf = shelf
        self._given = env.get(KEY_VARIABLE) or None

    @property
    def key_source(self) -> str:
        """Where the key is, for people."""
        return KEY_VARIABLE if self._given is not None else str(self.part / KEY_FILE)

    def stamp(self) -> tuple[object, ...]:
        """Changes whenever the store or its key may have changed; costs two looks at the folder."""
        return tuple(_stamp(self.part / name) for name in (STORE_FILE, KEY_FILE))

    def read(self) -> dict[str, Opened]:
        """Every entry by its name.

        Raises:
            ConfigurationError: the file is none of ours, or open to other users.
        """
        entries = self._file().on(self._shelf)
        if not entries:
            return {}
        try:
            fernet, problem = self._fernet(), None
        except ConfigurationError as error:
            fernet, problem = None, error.message
        shelf = self._shelf
        return {name: _opened(shelf, name, one, fernet, problem) for name, one in entries.items()}

    async def put(self, name: str, change: Callable[[Entry | None], Entry]) -> Entry:
        """Make or replace an entry: `change` gets the one that is there. Durable when it returns.

        Raises:
            ConfigurationError: what is stored cannot be decrypted, so it would be lost; or the store is full.
            WorkspaceBusyError: another process is changing the store.
        """
        shelf = self._shelf
        async with file_lock(self.part / LOCK_FILE, LOCK_S, shelf.command):
            file = self._file()
            if file.is_empty:
                self._make_key()
            fernet = self._fernet()
            # All of them, so that no store is ever under two keys.
            known = {
                one.field: {
                    other: _entry(one, other, sealed, fernet) for other, sealed in file.on(one).items()
                }
                for one in SHELVES
            }[shelf.field]
            entry = change(known.get(name))
            sealed = _sealed(_Inside(name=shelf.seal + name, entry=entry), fernet)
            if len(known) >= ENTRIES and name not in known:
                raise ConfigurationError(f"{ENTRIES} {shelf.noun}s are stored; remove one first")
            self._write(file, {**file.on(shelf), name: sealed})
            return entry

    async def rotate_key(self) -> int:
        """Encrypt everything anew, under a new key that is made here, or under the first of those in the variable; the old
        ones open nothing of this store any more. How many entries there were; without any, and without a key, nothing is made.
        Repeatable after a crash.

        Raises:
            ConfigurationError: something cannot be decrypted; nothing was changed.
            WorkspaceBusyError: another process is changing the store.
        """
        path = self.part / KEY_FILE
        async with file_lock(self.part / LOCK_FILE, LOCK_S, self._shelf.command):
            file = self._file()
            if self._lacks_key() and not any(map(file.on, SHELVES)):
                return 0
            old = self._fernet()
            inside = {
                shelf.field: {
                    name: _Inside(name=shelf.seal + name, entry=_entry(shelf, name, sealed, old))
                    for name, sealed in file.on(shelf).items()
                }
                for shelf in SHELVES
            }
            new_key = b"" if self._given else _library().generate_key()
            if new_key:
                known = (_private_bytes(path, MAX_KEY_BYTES) or b"").split()
                write_atomically(path, b"\n".join([new_key, *known[:1]]) + b"\n", FILE_MODE)
            new = self._fernet()
            sealed = {
                field: {name: _sealed(one, new) for name, one in entries.items()}
                for field, entries in inside.items()
            }
            self._replace(replace(file, **sealed))
            if new_key:
                write_atomically(path, new_key + b"\n", FILE_MODE)
            return sum(map(len, sealed.values()))

    async def remove(self, name: str) -> None:
        """Forget an entry. Needs no key.

        Raises:
            NotFoundError: there is none.
            WorkspaceBusyError: another process is changing the store.
        """
        shelf = self._shelf
        missing = NotFoundError(f"no {shelf.noun} {name[:80]!r} is stored; `{shelf.command} list` shows them")
        if name not in self._file().on(shelf):
            raise missing  # before the lock, whose folder may not be there either
        async with file_lock(self.part / LOCK_FILE, LOCK_S, shelf.command):
            file = self._file()
            kept = dict(file.on(shelf))
            if kept.pop(name, None) is None:
                raise missing
            self._write(file, kept)

    def _write(self, file: _File, entries: dict[str, _Sealed]) -> None:
        self._replace(replace(file, **{self._shelf.field: entries}))

    def _replace(self, file: _File) -> None:
        data = msgspec.json.format(msgspec.json.encode(file), indent=2)
        write_atomically(self.part / STORE_FILE, data + b"\n", FILE_MODE)

    def _file(self) -> _File:
        path = self.part / STORE_FILE
        data = _private_bytes(path, MAX_STORE_BYTES)
        if data is None:
            return _File()
        try:
            file = decode_stored(data, _File)
        except ValueError as error:
            raise ConfigurationError(
                f"{path} cannot be read; restore it from a backup, or remove it and add the {self._shelf.noun}s again",
                path=str(path),
            ) from error
        if file.format != FORMAT:
            raise ConfigurationError(
                f"{path} has format {file.format}; this version reads {FORMAT}. Upgrade Tenure",
                path=str(path),
            )
        return file

    def _fernet(self) -> Cipher:
        path = self.part / KEY_FILE
        given = self._given
        if given is None:
            data = _private_bytes(path, MAX_KEY_BYTES)
            given = (data or b"").decode("ascii", "replace").strip()
        if not given:
            raise ConfigurationError(
                f"the key of the stored credentials is missing: neither {path} nor {KEY_VARIABLE} has one. Restore it,"
                f" or remove the {self._shelf.noun}s (`{self._shelf.command} remove`) and add them again",
                path=str(path),
            )
        return fernet_of(given, self.key_source)

    def _make_key(self) -> None:
        """A key for a store that is still empty; one that is there is kept."""
        if self._lacks_key():
            write_atomically(self.part / KEY_FILE, _library().generate_key() + b"\n", FILE_MODE)

    def _lacks_key(self) -> bool:
        return (
            self._given is None and not (_private_bytes(self.part / KEY_FILE, MAX_KEY_BYTES) or b"").strip()
        )


def fernet_of(keys: str, source: str) -> Cipher:
    """The cipher of keys in their text form, each 32 bytes in base 64: the first encrypts, any decrypts.

    Raises:
        ConfigurationError: one is no key; the message does not repeat it.
    """
    _library()
    from cryptography.fernet import MultiFernet

    return MultiFernet([_one_key(one, source) for one in keys.split() or [""]])


def _one_key(key: str, source: str) -> Fernet:
    try:
        raw = base64.b64decode(key.strip().replace("-", "+").replace("_", "/"), validate=True)
    except (binascii.Error, ValueError):
        raw = b""
    if len(raw) != 32:
        raise ConfigurationError(
            f"{source} holds no key: expected 32 bytes in base 64, as `openssl rand -base64 32` makes them"
        )
    return _library()(base64.urlsafe_b64encode(raw))


def secret_problem(text: str) -> str | None:
    """What is wrong with a credential or webhook secret, without repeating it."""
    if len(text.encode("utf-8", "surrogatepass")) > SECRET_BYTES:
        return f"it is longer than {SECRET_BYTES} bytes"
    if not text.isascii() or not text.isprintable() or " " in text:
        return "it has a space, a line break or a character that no header can carry"
    return None


def _library() -> type[Fernet]:
    try:
        from cryptography.fernet import Fernet
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            "credentials are stored encrypted, which needs the package cryptography; it comes with the extra:"
            " pip install 'tenure[forges]' or 'tenure[notifications]' (in a clone `make setup` brings it)",
            extra="forges",
        ) from error
    return Fernet


def _sealed(inside: _Inside, cipher: Cipher) -> _Sealed:
    return _Sealed(kind=inside.entry.kind, sealed=cipher.encrypt(msgspec.json.encode(inside)).decode())


def _opened(shelf: Shelf, name: str, sealed: _Sealed, fernet: Cipher | None, problem: str | None) -> Opened:
    if fernet is None:
        return Opened(name, sealed.kind, None, problem)
    try:
        return Opened(name, sealed.kind, _entry(shelf, name, sealed, fernet))
    except ConfigurationError as error:
        return Opened(name, sealed.kind, None, error.message)


def _entry(shelf: Shelf, name: str, sealed: _Sealed, fernet: Cipher) -> Entry:
    from cryptography.fernet import InvalidToken

    try:
        inside = decode_stored(fernet.decrypt(sealed.sealed), _Inside)
    except (InvalidToken, ValueError):
        inside = None
    if inside is None or inside.name != shelf.seal + name or inside.entry.kind != sealed.kind:
        # Not chained to what the library said: nothing of what was decrypted may reach a log.
        raise ConfigurationError(
            f"the stored credential of {name!r} cannot be decrypted: it was made with another key, or the file was"
            f" changed. Restore the key, or `{shelf.command} remove` and add it again"
        )
    return inside.entry


def _private_bytes(path: Path, most: int) -> bytes | None:
    """The content of a file that only this user can read; None where there is none.

    Raises:
        ConfigurationError: it is open to other users, cannot be read, or is too long.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror}", path=str(path)) from error
    with os.fdopen(descriptor, "rb") as file:
        if os.fstat(descriptor).st_mode & 0o077:
            raise ConfigurationError(
                f"{path} can be read by other users; run `chmod 600 {path}`, then replace the credentials if others may"
                " have seen them",
                path=str(path),
            )
        data = read_at_most(file, most)
    if len(data) > most:
        raise ConfigurationError(f"{path} is longer than {most} bytes", path=str(path))
    return data


def _stamp(path: Path) -> tuple[int, ...] | None:
    try:
        found = path.lstat()
    except OSError:
        return None
    return (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_mode)
