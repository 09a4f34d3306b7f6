"""When a cron text fires in a time zone: cronsim knows the calendar, the zone database knows the clocks, and the rule for
the hours that a change of clocks takes away or gives twice is stated here.

A text is about *times of day* if neither its minute nor its hour begins with a star: `30 2 * * *`. It fires once for each
time of day. A time that the clocks skip is fired at the first minute after the gap; several of them, and one that falls on
that minute anyhow, are one occurrence. A time that comes twice is fired at its first coming.

Every other text is about *intervals*: `*/10 * * * *`, `15 * * * *`. It fires by time that really passes: as often as the
local clock shows what it names, so not at all in a skipped hour, and in both comings of one that comes twice.

That is Debian's rule, which cronsim keeps for times of day. For intervals it loses occurrences where clocks change by half
an hour, so these are found here: cronsim is asked in local time without a zone, from one change of the clocks to the next.

Reads the zone database, the machine's or else that of the package tzdata; no clock."""

from __future__ import annotations

import difflib
import zoneinfo
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from functools import cache
from typing import final

from cronsim import CronSim, CronSimError
from msgspec import Struct

from tenure.core.limits import CRON_LENGTH, LAST_INSTANT_MS, OCCURRENCES_COUNTED
from tenure.errors import InvalidError

FIELDS = (
    ("minute", "0 to 59"),
    ("hour", "0 to 23"),
    ("day of month", "1 to 31, L for the last day, LW for the last weekday"),
    ("month", "1 to 12 or JAN to DEC"),
    (
        "day of week",
        "0 to 7 or SUN to SAT (0 and 7 are Sunday), MON#2 for the second Monday, 5L for the last Friday",
    ),
)
MACROS = {
    "@HOURLY": "0 * * * *",
    "@DAILY": "0 0 * * *",
    "@MIDNIGHT": "0 0 * * *",
    "@WEEKLY": "0 0 * * 0",
    "@MONTHLY": "0 0 1 * *",
    "@YEARLY": "0 0 1 1 *",
    "@ANNUALLY": "0 0 1 1 *",
}
SUGGESTIONS = 3
SECOND = timedelta(seconds=1)
STEP = timedelta(days=1)
"""No zone changes its clocks and changes them back within a day."""
NOT_A_PLACE = frozenset({"localtime", "posixrules", "Factory"})
"""Files of the zone database that mean another thing on every machine, or nothing."""


class Due(Struct, frozen=True):
    """Occurrences whose time has come: the latest ones in order, how many stand before them (as far as they are counted),
    and the first that is still to come."""

    times: tuple[int, ...]
    earlier: int
    next_ms: int | None


@final
class Recurrence:
    """The occurrences of a cron text in a zone, as instants in milliseconds since the epoch.

    Raises:
        InvalidError: it is no cron text, it never fires, or there is no such zone.
    """

    def __init__(self, cron: str, zone: str) -> None:
        self._cron = plain_cron(cron)
        self._zone = zone_named(zone)
        minute, hour, *_ = self._cron.split()
        self._is_interval = minute.startswith("*") or hour.startswith("*")

    def after(self, at_ms: int) -> int | None:
        """The first occurrence after an instant; None if there is none within fifty years or before the year 10000."""
        start = datetime.fromtimestamp(at_ms // 1000, UTC)
        try:
            found = self._interval(start) if self._is_interval else self._time_of_day(start)
        except OverflowError:
            return None
        found_ms = None if found is None else int(found.timestamp()) * 1000
        return found_ms if found_ms is not None and found_ms <= LAST_INSTANT_MS else None

    def following(self, at_ms: int) -> Iterator[int]:
        """All occurrences after an instant, in order."""
        found = self.after(at_ms)
        while found is not None:
            yield found
            found = self.after(found)

    def due(self, first_ms: int, now_ms: int, keep: int) -> Due:
        """What is due at `now_ms`, beginning with the occurrence at `first_ms`; at least the latest `keep` of it."""
        times = [first_ms]
        for at_ms in self.following(first_ms):
            if at_ms > now_ms:
                return Due(tuple(times[-keep:]), max(0, len(times) - keep), at_ms)
            times.append(at_ms)
            if len(times) > OCCURRENCES_COUNTED + keep:
                return self._latest(now_ms, keep)
        return Due(tuple(times[-keep:]), max(0, len(times) - keep), None)

    def _latest(self, now_ms: int, keep: int) -> Due:
        """The latest due ones out of very many, without a walk through them all."""
        window_ms = 3_600_000
        while True:
            times: list[int] = []
            following: int | None = None
            for at_ms in self.following(now_ms - window_ms):
                if at_ms > now_ms:
                    following = at_ms
                    break
                times.append(at_ms)
            if len(times) >= keep:
                return Due(tuple(times[-keep:]), OCCURRENCES_COUNTED, following)
            window_ms *= 2

    def _time_of_day(self, start: datetime) -> datetime | None:
        # In the second coming of an hour the library begins again with the first.
        for found in CronSim(self._cron, start.astimezone(self._zone)):
            instant = found.astimezone(UTC)
            if instant > start:
                return instant
        return None

    def _interval(self, start: datetime) -> datetime | None:
        offset = _offset(start, self._zone)
        local = start.replace(tzinfo=None) + offset
        while True:
            named = next(CronSim(self._cron, local), None)
            if named is None:
                return None
            found = (named - offset).replace(tzinfo=UTC)
            change = _first_change(start, found, self._zone)
            if change is None:
                return found
            start, offset = change, _offset(change, self._zone)
            local = change.replace(tzinfo=None) + offset - SECOND


def _offset(instant: datetime, zone: tzinfo) -> timedelta:
    return instant.astimezone(zone).utcoffset() or timedelta(0)


def _first_change(start: datetime, end: datetime, zone: tzinfo) -> datetime | None:
    """The first second after `start`, `end` at most, at which the clocks stand otherwise than at `start`."""
    offset = _offset(start, zone)
    before = start
    while before < end:
        later = min(before + STEP, end)
        if _offset(later, zone) != offset:
            while later - before > SECOND:
                middle = before + (later - before) // 2
                middle = middle.replace(microsecond=0)
                before, later = (before, middle) if _offset(middle, zone) != offset else (middle, later)
            return later
        before = later
    return None


# -- what people write
# ----------------------------------------------------------------------------------------------


def plain_cron(text: str) -> str:
    """A cron text in one spelling.

    Raises:
        InvalidError: it is none, or it never fires.
    """
    words = text[: CRON_LENGTH + 1].upper().split()
    cron = " ".join(words)
    if len(text) > CRON_LENGTH:
        raise InvalidError(_no_cron(f"it has {len(text)} characters; at most {CRON_LENGTH}."), field="cron")
    if len(words) == 1 and words[0].startswith("@"):
        plain = MACROS.get(words[0])
        raise InvalidError(
            _no_cron(
                f"names like {text[:20]!r} are not known here; write "
                + (f"{plain!r}." if plain else "five fields.")
            ),
            field="cron",
        )
    if len(words) != len(FIELDS):
        seconds = (
            " Nothing fires more often than once a minute, so there is no field for seconds."
            if len(words) == 6
            else ""
        )
        raise InvalidError(
            _no_cron(
                f"it has {len(words)} fields; five are needed: minute, hour, day of month, month, day of week, such as"
                f" '0 9 * * 1-5'.{seconds}"
            ),
            field="cron",
        )
    _check_fields(cron, words)
    return cron


def _check_fields(cron: str, words: list[str]) -> None:
    for place, (name, allowed) in enumerate(FIELDS):
        alone = ["*"] * len(FIELDS)
        alone[place] = words[place]
        if not _parses(" ".join(alone)):
            raise InvalidError(
                _no_cron(
                    f"its {name} is {words[place][:40]!r}; allowed are {allowed}, lists (1,2), ranges that go up (1-5) and steps"
                    " (*/10)."
                ),
                field="cron",
            )
    if not _parses(cron) or next(CronSim(cron, datetime(2000, 1, 1)), None) is None:  # noqa: DTZ001 - of the calendar only
        raise InvalidError(
            _no_cron("it never fires: no day within fifty years is what its day, month and day of week say."),
            field="cron",
        )


def _parses(cron: str) -> bool:
    try:
        CronSim(cron, datetime(2000, 1, 1))  # noqa: DTZ001 - only whether it can be read
    except CronSimError:
        return False
    return True


def _no_cron(problem: str) -> str:
    return f"this is no cron text: {problem}"


def zone_named(name: str) -> tzinfo:
    """A time zone of the zone database.

    Raises:
        InvalidError: there is none of this name; the message has the nearest ones.
    """
    if name in _zones():
        return zoneinfo.ZoneInfo(name)
    near = nearest_zones(name)
    advice = f"Did you mean {' or '.join(near)}?" if near else "Names are such as Europe/Berlin or UTC."
    raise InvalidError(f"there is no time zone {name[:60]!r}. {advice}", field="zone", nearest=near)


def nearest_zones(name: str) -> list[str]:
    """Names that may have been meant, the likeliest first."""
    wanted = name[:60].casefold().replace(" ", "_")
    known = {one.casefold(): one for one in sorted(_zones())}
    if wanted in known:
        return [known[wanted]]
    places = {one.rpartition("/")[2]: full for one, full in known.items() if "/" in one}
    near = [
        places[one] for one in difflib.get_close_matches(wanted.rpartition("/")[2], places, SUGGESTIONS, 0.75)
    ]
    near += [known[one] for one in difflib.get_close_matches(wanted, known, SUGGESTIONS, 0.75)]
    return list(dict.fromkeys(near))[:SUGGESTIONS]


@cache
def _zones() -> frozenset[str]:
    return frozenset(zoneinfo.available_timezones()) - NOT_A_PLACE
