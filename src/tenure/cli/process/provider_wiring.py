"""Which providers the hub has: the tables of the settings and the stored entries, put together with their secrets.

A table in the settings says what its provider is; a stored entry brings the secrets, and everything where there is no
table. The store is looked at again at each use (two calls of `stat`), so that a credential that was replaced or removed
counts at once; the settings are read at the start, as all settings are."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import final

import structlog
from msgspec import Struct
from msgspec.structs import replace

from tenure.core.canonical import text_digest
from tenure.errors import NotFoundError, TenureError
from tenure.hub.effects.registry import Inlet, Roster
from tenure.providers.catalog import Parts, make_provider
from tenure.providers.inbound import FORGES
from tenure.providers.port import Provider
from tenure.providers.settings import ProviderSettings
from tenure.runtime.clock import RealClock
from tenure.runtime.credential_store import KEY_VARIABLE, CredentialStore, Entry, Opened
from tenure.runtime.git import Git
from tenure.runtime.settings_schema import ProviderTable

log = structlog.get_logger(__name__)

REPOSITORIES = "repositories"
"""The folder in the hub's part in which it keeps the commits that are to be pushed."""


class Configured(Struct, frozen=True, kw_only=True):
    """One provider as it is configured. `settings` is None where `problem` says why it cannot be used."""

    name: str
    kind: str
    in_settings: bool
    settings: ProviderSettings | None
    problem: str | None = None


def configured(tables: Mapping[str, ProviderTable], store: CredentialStore) -> dict[str, Configured]:
    """Every provider there is, by name. Nothing is connected or made."""
    try:
        opened, problem = store.read(), None
    except TenureError as error:
        opened, problem = {}, error.message
    names = sorted({*tables, *opened})
    return {name: _configured(name, tables.get(name), opened, problem) for name in names}


def _configured(
    name: str, table: ProviderTable | None, opened: Mapping[str, Opened], problem: str | None
) -> Configured:
    stored = opened.get(name)
    kind = table.kind if table is not None else stored.kind if stored is not None else ""
    needed = {name}
    if table is not None:
        needed = {table.credential or name, table.webhook_secret or name}
    for one in (opened[other] for other in sorted(needed) if other in opened):
        problem = problem or one.problem
    missing = sorted(other for other in needed - opened.keys() if other != name)
    if problem is None and missing:
        problem = f"its table names the stored secret of {missing[0]!r}, and there is none"
    settings = None if problem is not None else _settings(name, table, opened)
    return Configured(name=name, kind=kind, in_settings=table is not None, settings=settings, problem=problem)


def _settings(name: str, table: ProviderTable | None, opened: Mapping[str, Opened]) -> ProviderSettings:
    own = _entry(opened.get(name))
    if table is None:
        return settings_of(own)
    credential = _entry(opened.get(table.credential or name)).credential
    secret = _entry(opened.get(table.webhook_secret or name)).webhook_secret
    return ProviderSettings(
        kind=table.kind,
        url=table.url or "",
        credential=credential,
        secret=secret,
        settling_s=table.settling_s,
        find_url=table.find_url,
        user=table.user or ProviderSettings(kind=table.kind).user,
        api_version=table.api_version,
        ca_file=table.ca_file,
        proxy=table.proxy,
    )


def settings_of(entry: Entry) -> ProviderSettings:
    """The settings of a provider that is stored and has no table."""
    return ProviderSettings(
        kind=entry.kind,
        url=entry.url or "",
        credential=entry.credential,
        secret=entry.webhook_secret,
        find_url=entry.find_url,
        user=entry.user or ProviderSettings(kind=entry.kind).user,
    )


def secrets_held(settings: ProviderSettings) -> str:
    """Which secrets a provider has, for people; never the secrets."""
    held = [
        name
        for name, value in (("a credential", settings.credential), ("a webhook secret", settings.secret))
        if value
    ]
    return " and ".join(held) or "no secret"


def _entry(opened: Opened | None) -> Entry:
    return opened.entry if opened is not None and opened.entry is not None else Entry(kind="")


def provider_parts(part: Path, env: Mapping[str, str]) -> Parts:
    """What adapters are handed on a real machine. `part`: the hub's part of the data folder. `store` takes a whole target,
    `NAME:what`, and names the folder that pushes are staged in."""
    store = part / REPOSITORIES
    # The key opens every credential; no child of the hub needs it.
    without_key = {name: value for name, value in env.items() if name != KEY_VARIABLE}
    return Parts(
        clock=RealClock(),
        git=Git(without_key),
        store=lambda target: store / f"{text_digest(target)[:40]}.git",
    )


def provider_look(tables: Mapping[str, ProviderTable], part: Path, env: Mapping[str, str]) -> ProviderLook:
    """The look of a hub whose part of the data folder this is. What cannot be used now is told in the log."""
    look = ProviderLook(tables, CredentialStore(part, env), provider_parts(part, env))
    for name, why in look().unusable.items():
        log.warning("a provider cannot be used", provider=name, reason=why)
    return look


@final
class ProviderLook:
    """What the hub's registry asks: the providers as they are now. Providers whose configuration is the same are kept,
    with their connections."""

    def __init__(self, tables: Mapping[str, ProviderTable], store: CredentialStore, parts: Parts) -> None:
        self._tables = tables
        self._store = store
        self._parts = parts
        self._stamp: object = None
        self._roster = Roster()
        self._made: dict[str, tuple[ProviderSettings, Provider]] = {}

    def __call__(self) -> Roster:
        stamp = self._store.stamp()
        if stamp != self._stamp:
            self._roster = self._read()
            # Taken before it was read: a change in between is read again.
            self._stamp = stamp
        return self._roster

    def settings(self, name: str) -> ProviderSettings:
        """What a provider is configured with now, secrets and all.

        Raises:
            NotFoundError: there is none of this name that can be used.
        """
        roster, made = self(), self._made
        if name not in made:
            why = roster.unusable.get(name, "nobody configured it here")
            raise NotFoundError(f"there is no provider {name[:80]!r}: {why}", provider=name[:80])
        return made[name][0]

    def _read(self) -> Roster:
        made: dict[str, tuple[ProviderSettings, Provider]] = {}
        unusable: dict[str, str] = {}
        inlets: dict[str, Inlet] = {}
        for name, one in configured(self._tables, self._store).items():
            if one.settings is None:
                unusable[name] = one.problem or "it cannot be read"
                continue
            try:
                made[name] = (one.settings, self._provider(name, one.settings))
            except TenureError as error:
                unusable[name] = error.message
            if one.kind in FORGES and one.settings.secret:
                inlets[name] = Inlet(kind=one.kind, secret=one.settings.secret)
        self._made = made
        return Roster(
            providers={name: provider for name, (_, provider) in made.items()},
            unusable=unusable,
            inlets=inlets,
        )

    def _provider(self, name: str, settings: ProviderSettings) -> Provider:
        known = self._made.get(name)
        if known is not None and known[0] == settings:
            return known[1]

        def store(what: str) -> Path:
            return self._parts.store(f"{name}:{what}")

        return make_provider(settings, replace(self._parts, store=store))
