"""Which channels people are told on: the tables of the settings and the stored addresses, put together.

The store is looked at again at each use (two calls of `stat`), so that a channel that was added or removed counts soon; the
settings are read at the start, as all settings are. How it goes with the channels is kept in a small file of the hub's
part, for `tenure notify list` and `tenure doctor`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import final

import msgspec
import structlog
from msgspec import Struct
from msgspec.structs import replace

from tenure.core.attention import AttentionKind, Severity
from tenure.errors import TenureError
from tenure.hub.companion import Companion
from tenure.hub.notify.channel import Around, Channel, ChannelReport, Plan
from tenure.hub.notify.loop import NotifyLoop
from tenure.hub.notify.quiet import QuietHours
from tenure.hub.queries import Queries
from tenure.hub.service import Hub
from tenure.providers.apprise_notifier import AppriseNotifier
from tenure.runtime.credential_store import CHANNELS, CredentialStore
from tenure.runtime.data_folder import FILE_MODE, write_atomically
from tenure.runtime.recurrence import zone_named
from tenure.runtime.settings_notifications import CHANNELS as MOST_CHANNELS
from tenure.runtime.settings_notifications import ChannelTable, NotificationSettings
from tenure.runtime.stored_json import read_stored
from tenure.runtime.worker import new_executor

REPORT_FILE = "notify.json"
REPORT_BYTES = 1 << 20
"""Far more than so many channels can say."""

log = structlog.get_logger(__name__)


class ConfiguredChannel(Struct, frozen=True, kw_only=True):
    """One channel as it is configured. `url` is None where `problem` says why it cannot be used."""

    name: str
    service: str
    in_settings: bool
    table: ChannelTable
    url: str | None
    problem: str | None = None

    def __repr__(self) -> str:
        """Without the address."""
        return f"ConfiguredChannel({self.name!r}, {self.service!r})"


def channel_store(part: Path, env: Mapping[str, str]) -> CredentialStore:
    return CredentialStore(part, env, CHANNELS)


def configured_channels(
    tables: Mapping[str, ChannelTable], store: CredentialStore
) -> dict[str, ConfiguredChannel]:
    """Every channel there is, by name. Nothing is connected."""
    try:
        opened, problem = store.read(), None
    except TenureError as error:
        opened, problem = {}, error.message
    found: dict[str, ConfiguredChannel] = {}
    for name in sorted({*tables, *opened}):
        stored = opened.get(name)
        why = problem or (stored.problem if stored is not None else None)
        url = stored.entry.url if stored is not None and stored.entry is not None else None
        if why is None and url is None:
            why = f"it has no address: `tenure notify add {name}` stores one"
        found[name] = ConfiguredChannel(
            name=name,
            service=stored.kind if stored is not None else "",
            in_settings=name in tables,
            table=tables.get(name, ChannelTable()),
            url=None if why else url,
            problem=why,
        )
    return found


def plan_of(given: NotificationSettings) -> Plan:
    quiet = None
    if given.quiet is not None and given.zone is not None:
        quiet = QuietHours(given.quiet, zone_named(given.zone))
    return Plan(per_hour=given.per_hour, quiet=quiet, urgent_anyway=given.urgent_anyway)


@contextmanager
def notifying(
    given: NotificationSettings, part: Path, env: Mapping[str, str]
) -> Generator[Callable[[Hub], Companion]]:
    """What makes the loop that tells people, for the hub whose part of the data folder this is; with its threads."""
    executor = new_executor(MOST_CHANNELS + 1, "notify")
    look = ChannelLook(given.channels, channel_store(part, env))

    def companion(hub: Hub) -> Companion:
        around = Around(
            look=look,
            threads=lambda work: asyncio.get_running_loop().run_in_executor(executor, work),
            note=lambda reports: keep_reports(part, reports),
            plan=plan_of(given),
        )
        return NotifyLoop(hub.ledger, hub.clock, around, Queries(hub).answers)

    try:
        yield companion
    finally:
        # Not waited for: a service that hangs must not keep the hub from ending; its notifier gives up soon.
        executor.shutdown(wait=False, cancel_futures=True)


@final
class ChannelLook:
    """What the loop asks: the channels as they are now. Those whose configuration is the same are the same objects."""

    def __init__(self, tables: Mapping[str, ChannelTable], store: CredentialStore) -> None:
        self._tables = tables
        self._store = store
        self._stamp: object = None
        self._made: dict[str, tuple[ConfiguredChannel, Channel]] = {}

    def __call__(self) -> Mapping[str, Channel]:
        stamp = self._store.stamp()
        if stamp != self._stamp:
            self._made = self._read()
            self._stamp = stamp
        return {name: channel for name, (_, channel) in self._made.items()}

    def _read(self) -> dict[str, tuple[ConfiguredChannel, Channel]]:
        made: dict[str, tuple[ConfiguredChannel, Channel]] = {}
        for name, one in configured_channels(self._tables, self._store).items():
            known = self._made.get(name)
            if known is not None and known[0] == one:
                made[name] = known
                continue
            try:
                made[name] = (one, channel_of(one))
            except TenureError as error:
                log.warning("a channel cannot be used", channel=name, reason=error.message)
        return made


def channel_of(one: ConfiguredChannel) -> Channel:
    """A channel that can be used.

    Raises:
        ConfigurationError: it cannot be.
    """
    table = one.table
    return Channel(
        notifier_of(one),
        Severity(table.least_severity),
        frozenset(map(AttentionKind, table.kinds)),
    )


def notifier_of(one: ConfiguredChannel) -> AppriseNotifier:
    """What sends on a channel.

    Raises:
        ConfigurationError: it cannot be used as it is configured, or apprise is missing.
    """
    from tenure.errors import ConfigurationError

    if one.url is None:
        raise ConfigurationError(f"{one.name}: {one.problem}")
    return AppriseNotifier(one.url)


def read_reports(part: Path) -> dict[str, ChannelReport]:
    """How it went with the channels, as the hub has noted it last; what cannot be read says nothing."""
    try:
        return read_stored(part / REPORT_FILE, dict[str, ChannelReport], REPORT_BYTES)
    except (OSError, ValueError):
        return {}


def keep_reports(part: Path, reports: Mapping[str, ChannelReport]) -> None:
    """Note how it goes. A hub that has sent nothing yet leaves what the one before it has noted."""
    before = read_reports(part)
    kept = {name: _after(before.get(name), report) for name, report in reports.items()}
    write_atomically(part / REPORT_FILE, msgspec.json.encode(kept) + b"\n", FILE_MODE)


def _after(before: ChannelReport | None, report: ChannelReport) -> ChannelReport:
    if before is None or report.last_sent_at_ms is not None:
        return report
    if report.problem is None:
        return replace(before, waiting=report.waiting)
    return replace(report, last_sent_at_ms=before.last_sent_at_ms)


def forget_report(part: Path, name: str) -> None:
    """What went wrong says nothing about a channel that is configured anew."""
    reports = read_reports(part)
    if reports.pop(name, None) is not None:
        write_atomically(part / REPORT_FILE, msgspec.json.encode(reports) + b"\n", FILE_MODE)
