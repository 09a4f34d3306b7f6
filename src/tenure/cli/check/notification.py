"""What `doctor` finds about notifications: which channels there are, and whether the latest message got through."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tenure.cli.check.finding import Finding, fail, ok, warn

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tenure.runtime.settings_notifications import ChannelTable

MEND = "see `tenure notify list`; `tenure notify add NAME` stores an address again"
TRY = "`tenure notify test` tries it; `tenure notify add NAME` stores another address"


def check_notifications(
    tables: Mapping[str, ChannelTable], part: Path, env: Mapping[str, str]
) -> list[Finding]:
    """One finding for each channel; nothing is sent. `part`: the hub's part of the data folder, which need not be there."""
    from tenure.cli.process.notify_wiring import (
        channel_store,
        configured_channels,
        notifier_of,
        read_reports,
    )
    from tenure.errors import TenureError
    from tenure.wire.codec import instant_or_none

    found: list[Finding] = []
    reports = read_reports(part)
    for name, one in configured_channels(tables, channel_store(part, env)).items():
        check, report = f"notify: {name}", reports.get(name)
        try:
            notifier_of(one)
        except TenureError as error:
            found.append(fail(check, error.message, MEND))
            continue
        if report is not None and report.problem is not None:
            since = instant_or_none(report.failing_since_ms)
            found.append(warn(check, f"nothing gets through since {since}: {report.problem}", TRY))
        else:
            found.append(ok(check, f"{one.service}, with an address"))
    return found or [ok("notify", "no channel: what needs somebody is told by `tenure attention` only")]
