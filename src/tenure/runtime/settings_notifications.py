"""The settings of notifications: which channels there are, and when nobody is told.

Addresses stand in the store of credentials and not here, since they are secrets."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from tenure.runtime.settings_value import Name, Text, expects, says

CHANNELS = 16
"""Channels of one hub: each may hold a thread."""
PerHour = Annotated[int, Meta(ge=1, le=1000)]
Hours = Annotated[
    str,
    expects(
        "two times of day as in 22:00-07:00",
        r"\A([01][0-9]|2[0-3]):[0-5][0-9]-([01][0-9]|2[0-3]):[0-5][0-9]\Z",
    ),
]


class ChannelTable(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is told on a channel. One `[notifications.channels.NAME]` table for each.

    Its address is a secret and does not stand here: `tenure notify add NAME` stores it, encrypted. A channel can also be
    made by that command alone; then it is told everything.
    """

    least_severity: Annotated[
        Literal["info", "warning", "urgent"],
        says("Only what is at least as grave: `info` has time, `warning` blocks work, `urgent` has none."),
    ] = "info"
    kinds: Annotated[
        tuple[Name, ...],
        Meta(max_length=50),
        says("Only questions of these kinds, such as `unknown` or `approval`. When empty: all."),
    ] = ()


class NotificationSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Telling people that something needs them: see docs/guides/notifications.md."""

    quiet: Annotated[
        Hours | None,
        says(
            "When nobody is told, by the clock on the wall of `zone`; over midnight where the second time is the earlier one."
            " What comes then is told afterwards in one message."
        ),
    ] = None
    zone: Annotated[
        Text | None, says("The time zone of `quiet`, by its name in the time zone database: `Europe/Berlin`.")
    ] = None
    urgent_anyway: Annotated[bool, says("What is urgent is told in quiet hours, too.")] = True
    per_hour: Annotated[
        PerHour,
        says(
            "Messages on one channel within an hour; what comes beyond them is told in one message after it."
        ),
    ] = 20
    channels: Annotated[dict[str, ChannelTable], says("The channels that have a table of their own.")] = {}
