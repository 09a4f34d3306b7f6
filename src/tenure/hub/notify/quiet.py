"""Quiet hours: the spans of local time in which nobody is told.

A span begins and ends by the clock on the wall of a named time zone, so its length changes where the clocks do. A time
that the clocks skip stands for the instant at which they jump. Of a time that comes twice the first one begins a span and
the second one ends it: quiet hours never get a hole."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import final

SPAN = re.compile(r"([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-3]):([0-5]\d)")
DAY = timedelta(days=1)
SECOND = timedelta(seconds=1)
MINUTE_MS = 60_000


@final
class QuietHours:
    """`span`: as in `22:00-07:00`; over midnight where the end is not after the begin."""

    def __init__(self, span: str, zone: tzinfo) -> None:
        parts = SPAN.fullmatch(span)
        if parts is None:
            raise ValueError(f"{span!r} is no span of hours")
        hours, minutes, until_hours, until_minutes = map(int, parts.groups())
        self._begin, self._end = time(hours, minutes), time(until_hours, until_minutes)
        self._zone = zone
        self._minute = -1
        self._until_ms: int | None = None

    def until_ms(self, now_ms: int) -> int | None:
        """The instant at which the quiet that there is now ends; None when it is not quiet now."""
        minute = now_ms // MINUTE_MS
        if minute != self._minute:  # thousands of questions may be asked about in one of them
            self._minute, self._until_ms = minute, self._end_ms(datetime.fromtimestamp(minute * 60, UTC))
        return self._until_ms

    def _end_ms(self, now: datetime) -> int | None:
        until: datetime | None = None
        for begin, end in self._spans(now.astimezone(self._zone).date()):
            if begin <= (until or now) < end:
                until = end
        return None if until is None else round(until.timestamp() * 1000)

    def _spans(self, today: date) -> Iterator[tuple[datetime, datetime]]:
        """Those of the days around one, in order."""
        length = DAY if self._end <= self._begin else timedelta()
        for days in range(-2, 3):
            day = today + timedelta(days=days)
            yield self._instant(day, self._begin, fold=0), self._instant(day + length, self._end, fold=1)

    def _instant(self, day: date, at: time, *, fold: int) -> datetime:
        """The instant in UTC at which the wall shows this; `fold`: which of two."""
        local = datetime.combine(day, at, self._zone)
        early, late = (local.replace(fold=one).astimezone(UTC) for one in (0, 1))
        if early <= late:
            return late if fold else early
        # The clocks skip it, and then the two readings lie around the jump, the other way round.
        return self._jump(late, early)

    def _jump(self, before: datetime, after: datetime) -> datetime:
        """The first second with the offset that there is at the end of this stretch."""
        offset = after.astimezone(self._zone).utcoffset()
        while after - before > SECOND:
            middle = before + timedelta(seconds=(after - before) // SECOND // 2)
            if middle.astimezone(self._zone).utcoffset() == offset:
                after = middle
            else:
                before = middle
        return after
