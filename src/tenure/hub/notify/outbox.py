"""What is to be told on one channel, and when the next message may go.

Questions wait by their ids; what is said about them is read from the record when the message is made. Waits are counted on
a clock that never goes back, except for the instants that come from the record or the hours of the day."""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

from msgspec.structs import replace

from tenure.core.attention import Attention
from tenure.core.limits import LAST_INSTANT_MS
from tenure.hub.agenda import Agenda
from tenure.hub.notify.channel import Channel, ChannelReport

BURST_MS = 5_000
"""What comes within it after the first question goes into the same message."""
HOUR_MS = 3_600_000
FIRST_PAUSE_MS = 2_000
LONGEST_PAUSE_MS = 900_000
FAILING = 5
"""Failures in a row, after which the other channels' word is enough for a question to count as told."""


@final
class Outbox:
    def __init__(self, name: str, channel: Channel, per_hour: int) -> None:
        self.name = name
        self.channel = channel
        self.told: dict[str, int] = {}
        """The latest version of each open question that was told here."""
        self.is_busy = False
        """A message is under way, or its thread has not come back."""
        self._per_hour = per_hour
        self._waiting: Agenda[str] = Agenda()
        self._rests_until_ms = 0
        self._failures = 0
        self._report = ChannelReport()
        self._hour_ends_ms = 0
        self._sent_this_hour = 0

    @property
    def report(self) -> ChannelReport:
        return replace(self._report, waiting=len(self._waiting))

    @property
    def is_failing(self) -> bool:
        return self._failures >= FAILING

    def use(self, channel: Channel) -> None:
        """It is configured anew: what went wrong before says nothing any more."""
        self.channel = channel
        self._rests_until_ms = self._failures = 0

    def offer(self, item: Attention, at_ms: int) -> None:
        """Tell it here, not before an instant of the wall clock, unless this version was told."""
        if self.channel.wants(item.kind) and self.told.get(item.item_id) != item.version:
            self._waiting.put(item.item_id, at_ms)

    def put(self, item_id: str, at_ms: int) -> None:
        self._waiting.put(item_id, at_ms)

    def drop(self, item_id: str) -> None:
        """It need not be told here any more."""
        self._waiting.drop(item_id)

    def look_again(self, wall_ms: int) -> None:
        """The wall clock was set: no instant says anything any more. Whether it is time is seen when the message is made."""
        for item_id in self.take(LAST_INSTANT_MS):
            self._waiting.put(item_id, wall_ms)

    def next_ms(self, wall_ms: int, boot_ms: int) -> int | None:
        """When the next message may go, by the wall clock; None while there is nothing to tell or one is under way."""
        first_ms = self._waiting.next
        if first_ms is None or self.is_busy:
            return None
        rest_ms = self._rests_until_ms - boot_ms
        if self._sent_this_hour >= self._per_hour:
            rest_ms = max(rest_ms, self._hour_ends_ms - boot_ms)
        return max(first_ms + BURST_MS, wall_ms + rest_ms)

    def take(self, wall_ms: int) -> list[str]:
        """Everything that may be told by now; it waits no more."""
        taken: list[str] = []
        while (item_id := self._waiting.take(wall_ms)) is not None:
            taken.append(item_id)
        return taken

    def held_after_ms(self, wall_ms: int, boot_ms: int) -> int | None:
        """Until when everything is held after the message that goes now; None where more may follow."""
        is_new = boot_ms >= self._hour_ends_ms
        if (0 if is_new else self._sent_this_hour) + 1 < self._per_hour:
            return None
        return wall_ms + (HOUR_MS if is_new else self._hour_ends_ms - boot_ms)

    def sent(self, items: Sequence[Attention], wall_ms: int, boot_ms: int) -> None:
        """A message about these went out."""
        if boot_ms >= self._hour_ends_ms:
            self._hour_ends_ms, self._sent_this_hour = boot_ms + HOUR_MS, 0
        self._sent_this_hour += 1
        self._failures = 0
        self._report = ChannelReport(sent=self._report.sent + 1, last_sent_at_ms=wall_ms)
        for item in items:
            self.told[item.item_id] = item.version

    def failed(self, problem: str, wall_ms: int, boot_ms: int) -> int:
        """It did not; in how many milliseconds it is tried again: 2, 4, 8 s and so on."""
        pause_ms = min(FIRST_PAUSE_MS << min(self._failures, 20), LONGEST_PAUSE_MS)
        self._failures += 1
        self._rests_until_ms = boot_ms + pause_ms
        since_ms = self._report.failing_since_ms
        self._report = replace(
            self._report, problem=problem, failing_since_ms=wall_ms if since_ms is None else since_ms
        )
        return pause_ms
