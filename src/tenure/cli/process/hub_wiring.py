"""Where the hub is put together: clock, ids, threads, files and the database driver are made here and handed in."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tenure import __version__
from tenure.cli.process.data_files import (
    DATABASE_FILE,
    HUB_PART,
    NEXT_TOKEN_FILE,
    SECRET_FILE,
    TOKEN_FILE,
    put_in_place,
    read_line,
)
from tenure.core.access import Role
from tenure.core.delivery import Terms
from tenure.core.ids import IncarnationId
from tenure.errors import UnauthenticatedError
from tenure.hub.companion import Companion
from tenure.hub.effects.registry import Registry, Roster
from tenure.hub.service import Hub, Identity
from tenure.ledger.group_commit import Bounds
from tenure.ledger.sqlite import SqliteLedger, SqliteParts
from tenure.runtime.clock import RealClock
from tenure.runtime.data_folder import DataFolder, write_atomically
from tenure.runtime.database import connect_record
from tenure.runtime.ids import RealIds
from tenure.runtime.platform import user_name
from tenure.runtime.worker import OneAtATime

if TYPE_CHECKING:
    from tenure.runtime.settings import HubSettings

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
LOCAL_NAME = "operator"
"""Stands in the record for whoever uses the local token, where their own name on this machine cannot."""


@asynccontextmanager
async def running_hub(
    folder: DataFolder,
    settings: HubSettings,
    look: Callable[[], Roster] | None = None,
    companion: Callable[[Hub], Companion] | None = None,
) -> AsyncGenerator[Hub]:
    """A hub over the record of this data folder, with its loops running and the local token known.

    The caller holds the folder's hub part. `look` says which providers there are now; without it there are none.
    `companion` makes what runs along.

    Raises:
        DataFolderTooNewError: a later version wrote the record; nothing was touched.
        UnauthenticatedError: the local token was revoked.
        UnavailableError: the record cannot be opened.
    """
    clock = RealClock()
    ids = RealIds(clock)
    incarnation = IncarnationId(ids.new_id("i"))
    part = folder.part(HUB_PART)
    terms = terms_of(settings)
    writing, reading = OneAtATime("ledger"), OneAtATime("ledger-reads")
    parts = SqliteParts(
        connect=partial(connect_record, part / DATABASE_FILE),
        run=writing,
        run_reads=reading,
        clock=clock,
        hub=incarnation,
        terms=terms,
        bounds=Bounds(max_batch=settings.max_batch),
    )
    ledger = SqliteLedger(parts)
    try:
        await ledger.open()
        try:
            secret = kept_secret(part / SECRET_FILE, ids).encode()
            identity = Identity(incarnation=incarnation, version=__version__, secret=secret)
            hub = Hub(ledger, clock, ids, terms, identity, Registry(look=look))
            if companion is not None:
                hub.accompany(companion(hub))
            async with hub.running():
                await admit_local(hub, part, ids)
                yield hub
        finally:
            await ledger.close()
    finally:
        writing.close()
        reading.close()


async def admit_local(hub: Hub, part: Path, ids: RealIds) -> None:
    """Makes the local token known. Where it was rotated and whoever did it died before the new one was in its place, that is
    put there now.

    Raises:
        UnauthenticatedError: it was revoked, and nothing has taken its place.
    """
    path = part / TOKEN_FILE
    try:
        await hub.admit(local_name(), Role.OPERATOR, kept_secret(path, ids))
    except UnauthenticatedError as refused:
        kept = read_line(part / NEXT_TOKEN_FILE)
        if kept is None or not await hub.access.counts(f"Bearer {kept}"):
            raise UnauthenticatedError(
                f"the token in {path} was revoked, so nobody on this machine could talk to the hub: remove that file"
                f" (`rm {path}`) and start the hub again; it makes a new one there ({refused.message})",
                path=str(path),
            ) from refused
        put_in_place(part, kept)


def terms_of(settings: HubSettings) -> Terms:
    """The hub's settings as the core counts them."""
    return Terms(
        offer_ttl_ms=round(settings.offer_ttl_s * 1000),
        lease_ttl_ms=round(settings.lease_ttl_s * 1000),
        suspect_grace_ms=round(settings.suspect_grace_s * 1000),
        cancel_grace_ms=round(settings.cancel_grace_s * 1000),
        stall_after_ms=round(settings.stall_after_s * 1000),
        max_offers=settings.max_offers,
    )


def local_name() -> str:
    """The name in the record of whoever uses the local token: that of the user whose data folder it is."""
    name = user_name()
    return name if name is not None and NAME.fullmatch(name) else LOCAL_NAME


def kept_secret(path: Path, ids: RealIds) -> str:
    """The secret in a file that only this user can read; made where there is none, and durable before it is used."""
    found = read_line(path)
    if found is None:
        found = ids.token()
        write_atomically(path, found.encode() + b"\n", 0o600)
    return found
