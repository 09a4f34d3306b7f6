"""When a cron text fires: the calendar, the hours that clocks skip and give twice, and what is no cron text at all."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import islice
from zoneinfo import ZoneInfo

import pytest
from cronsim import CronSim

from tenure.core.limits import LAST_INSTANT_MS, OCCURRENCES_COUNTED
from tenure.errors import InvalidError
from tenure.runtime.recurrence import Recurrence, plain_cron, zone_named

BERLIN, NEW_YORK, LORD_HOWE = "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"


def ms(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp()) * 1000


def local(cron: str, zone: str, start: str, count: int) -> list[str]:
    """The first occurrences after a local day's beginning: month-day hour:minute and the offset."""
    begin = datetime.fromisoformat(start).replace(tzinfo=ZoneInfo(zone))
    times = islice(Recurrence(cron, zone).following(int(begin.timestamp()) * 1000 - 1), count)
    moments = (datetime.fromtimestamp(at_ms / 1000, UTC).astimezone(ZoneInfo(zone)) for at_ms in times)
    return [f"{one:%m-%dT%H:%M%z}" for one in moments]


# -- the hour that is skipped


@pytest.mark.parametrize(
    ("zone", "day", "cron", "expected"),
    [
        (BERLIN, "2026-03-28", "30 2 * * *", ["03-28T02:30+0100", "03-29T03:00+0200", "03-30T02:30+0200"]),
        (NEW_YORK, "2026-03-07", "30 2 * * *", ["03-07T02:30-0500", "03-08T03:00-0400", "03-09T02:30-0400"]),
        (LORD_HOWE, "2026-10-03", "15 2 * * *", ["10-03T02:15+1030", "10-04T02:30+1100", "10-05T02:15+1100"]),
        # Two in the gap, and one right behind it, are one occurrence.
        (
            BERLIN,
            "2026-03-29",
            "0,30 2,3 * * *",
            ["03-29T03:00+0200", "03-29T03:30+0200", "03-30T02:00+0200"],
        ),
        ("America/Santiago", "2026-09-05", "0 0 * * *", ["09-05T00:00-0400", "09-06T01:00-0300"]),
    ],
)
def test_a_time_of_day_that_the_clocks_skip_fires_at_the_first_minute_after_the_gap(
    zone: str, day: str, cron: str, expected: list[str]
) -> None:
    assert local(cron, zone, day, len(expected)) == expected


@pytest.mark.parametrize(
    ("zone", "day", "cron", "expected"),
    [
        (BERLIN, "2026-03-29", "30 * * * *", ["03-29T00:30+0100", "03-29T01:30+0100", "03-29T03:30+0200"]),
        (NEW_YORK, "2026-03-08", "30 * * * *", ["03-08T00:30-0500", "03-08T01:30-0500", "03-08T03:30-0400"]),
        (
            LORD_HOWE,
            "2026-10-04",
            "*/30 1-3 * * *",
            ["10-04T01:00+1030", "10-04T01:30+1030", "10-04T02:30+1100", "10-04T03:00+1100"],
        ),
    ],
)
def test_an_interval_goes_on_by_time_that_really_passes_where_the_clocks_skip(
    zone: str, day: str, cron: str, expected: list[str]
) -> None:
    assert local(cron, zone, day, len(expected)) == expected


# -- the hour that comes twice


@pytest.mark.parametrize(
    ("zone", "day", "cron", "expected"),
    [
        (BERLIN, "2026-10-25", "30 2 * * *", ["10-25T02:30+0200", "10-26T02:30+0100"]),
        (NEW_YORK, "2026-11-01", "30 1 * * *", ["11-01T01:30-0400", "11-02T01:30-0500"]),
        (LORD_HOWE, "2026-04-05", "45 1 * * *", ["04-05T01:45+1100", "04-06T01:45+1030"]),
    ],
)
def test_a_time_of_day_that_comes_twice_fires_at_its_first_coming(
    zone: str, day: str, cron: str, expected: list[str]
) -> None:
    assert local(cron, zone, day, len(expected)) == expected


@pytest.mark.parametrize(
    ("zone", "day", "cron", "expected"),
    [
        (BERLIN, "2026-10-25", "0 1-3 * * *", ["10-25T01:00+0200", "10-25T02:00+0200", "10-25T03:00+0100"]),
        (
            BERLIN,
            "2026-10-25",
            "*/60 1-3 * * *",
            ["10-25T01:00+0200", "10-25T02:00+0200", "10-25T02:00+0100", "10-25T03:00+0100"],
        ),
        (NEW_YORK, "2026-11-01", "30 * * * *", ["11-01T00:30-0400", "11-01T01:30-0400", "11-01T01:30-0500"]),
        (
            LORD_HOWE,
            "2026-04-05",
            "*/15 1 * * *",
            [
                "04-05T01:00+1100", "04-05T01:15+1100", "04-05T01:30+1100", "04-05T01:45+1100",
                "04-05T01:30+1030", "04-05T01:45+1030", "04-06T01:00+1030",
            ],
        ),
    ],
)  # fmt: skip
def test_an_interval_fires_in_both_comings_and_a_range_of_hours_in_one(
    zone: str, day: str, cron: str, expected: list[str]
) -> None:
    assert local(cron, zone, day, len(expected)) == expected


@pytest.mark.parametrize("zone", [BERLIN, NEW_YORK, LORD_HOWE, "Antarctica/Troll", "Asia/Kathmandu"])
@pytest.mark.parametrize("cron", ["30 2 * * *", "15,45 1,2 * * *", "*/20 1-2 * * *", "7 * * * *"])
def test_the_next_occurrence_is_the_same_wherever_one_begins_to_ask(zone: str, cron: str) -> None:
    recurrence = Recurrence(cron, zone)
    for day in ("2026-03-07", "2026-03-28", "2026-04-04", "2026-10-03", "2026-10-24", "2026-10-31"):
        begin = ms(f"{day}T12:00:00Z")
        end = begin + 48 * 3_600_000
        times = [at_ms for at_ms in islice(recurrence.following(begin), 200) if at_ms <= end]
        assert times == sorted(set(times))
        for at_ms in range(begin, times[-1], 13 * 60_000):
            assert recurrence.after(at_ms) == next(one for one in times if one > at_ms)


@pytest.mark.parametrize("zone", [BERLIN, NEW_YORK, LORD_HOWE, "Antarctica/Troll"])
@pytest.mark.parametrize("cron", ["* * * * *", "*/15 3 * * *", "30 * * * *", "*/20 0 * * *"])
def test_an_interval_fires_at_every_minute_whose_local_clock_fits_and_at_no_other(
    zone: str, cron: str
) -> None:
    wanted = CronSim(cron, datetime(2026, 1, 1))  # noqa: DTZ001 - asked for its fields only
    recurrence = Recurrence(cron, zone)
    for day in ("2026-03-08", "2026-03-28", "2026-04-04", "2026-10-03", "2026-10-25", "2026-11-01"):
        begin = datetime.fromisoformat(f"{day}T00:00:00+00:00")
        minutes = [begin + timedelta(minutes=one) for one in range(1, 30 * 60)]
        fits = [
            int(one.timestamp()) * 1000
            for one in minutes
            if (there := one.astimezone(ZoneInfo(zone))).minute in wanted.minutes
            and there.hour in wanted.hours
        ]
        found = islice(recurrence.following(int(begin.timestamp()) * 1000), len(fits))
        assert list(found) == fits, day


# -- the calendar


@pytest.mark.parametrize(
    ("cron", "expected"),
    [
        ("0 9 * * 1-5", ["2027-01-01T09:00", "2027-01-04T09:00"]),
        ("0 0 29 2 *", ["2028-02-29T00:00", "2032-02-29T00:00"]),
        ("0 0 l * *", ["2027-01-31T00:00", "2027-02-28T00:00"]),
        ("0 0 * * mon#2", ["2027-01-11T00:00", "2027-02-08T00:00"]),
        ("0 0 13 * fri", ["2027-01-01T00:00", "2027-01-08T00:00", "2027-01-13T00:00"]),
        ("59 23 31 12 *", ["2027-12-31T23:59", "2028-12-31T23:59"]),
    ],
)
def test_the_calendar_is_crons(cron: str, expected: list[str]) -> None:
    times = islice(Recurrence(cron, "UTC").following(ms("2026-12-31T23:59:30Z")), len(expected))
    assert [f"{datetime.fromtimestamp(one / 1000, UTC):%Y-%m-%dT%H:%M}" for one in times] == expected


def test_there_is_an_end_at_the_last_instant_that_can_be_written() -> None:
    assert Recurrence("0 0 1 1 *", BERLIN).after(LAST_INSTANT_MS - 1000) is None
    assert Recurrence("* * * * *", BERLIN).after(LAST_INSTANT_MS - 1000) is None


def test_due_are_the_latest_ones_and_how_many_stand_before_them() -> None:
    first = ms("2026-06-01T00:00:00Z")
    due = Recurrence("0 * * * *", "UTC").due(first, first + 5 * 3_600_000 + 1, keep=2)
    assert due.times == (first + 4 * 3_600_000, first + 5 * 3_600_000)
    assert (due.earlier, due.next_ms) == (4, first + 6 * 3_600_000)


def test_a_year_of_missed_minutes_costs_no_walk_through_it() -> None:
    first = ms("2026-06-01T00:00:00Z")
    now = ms("2027-06-01T00:00:30Z")
    due = Recurrence("* * * * *", BERLIN).due(first, now, keep=100)
    assert due.times == tuple(range(now - 30_000 - 99 * 60_000, now, 60_000))
    assert (due.earlier, due.next_ms) == (OCCURRENCES_COUNTED, now + 30_000)


# -- what is refused


@pytest.mark.parametrize(
    ("cron", "match"),
    [
        ("", "0 fields"),
        ("* * * *", "4 fields"),
        ("*/5 * * * * *", "more often than once a minute"),
        ("@daily", "write '0 0 \\* \\* \\*'"),
        ("@reboot", "five fields"),
        ("60 * * * *", "minute is '60'"),
        ("* 24 * * *", "hour is '24'"),
        ("* * 0 * *", "day of month is '0'"),
        ("* * * 13 *", "month is '13'"),
        ("* * * * 8", "day of week is '8'"),
        ("* * * * MONDAY", "SUN to SAT"),
        ("* * * * FRI-MON", "go up"),
        ("5-1 * * * *", "go up"),
        ("*/0 * * * *", "minute"),
        ("1,,2 * * * *", "minute"),
        ("-1 * * * *", "minute"),
        ("\u0661 * * * *", "minute"),
        ("1" * 150 + " * * * *", "minute"),
        ("0 0 30 2 *", "never fires"),
        ("0 0 31 4,6,9,11 *", "never fires"),
        ("* * */20 * 1L", "never fires"),
        ("*" * 300, "300 characters"),
        ("0 0 * * *; rm -rf /", "fields"),
    ],
)
def test_what_is_no_cron_text_is_told_why(cron: str, match: str) -> None:
    with pytest.raises(InvalidError, match=match) as caught:
        Recurrence(cron, "UTC")
    assert caught.value.facts["field"] == "cron"


def test_a_cron_text_has_one_spelling() -> None:
    assert plain_cron("  0  9 *\t* mon-fri ") == "0 9 * * MON-FRI"


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("europe/berlin", "Europe/Berlin"),
        ("Berlin", "Europe/Berlin"),
        ("Europe/Berln", "Europe/Berlin"),
        ("New York", "America/New_York"),
        ("America/Los Angeles", "America/Los_Angeles"),
        ("Kyiv", "Europe/Kyiv"),
    ],
)
def test_a_zone_that_does_not_exist_is_told_which_may_have_been_meant(name: str, near: str) -> None:
    with pytest.raises(InvalidError, match=f"Did you mean {near}") as caught:
        zone_named(name)
    assert caught.value.facts["nearest"][0] == near


@pytest.mark.parametrize(
    "name",
    [
        "",
        "Mars/Phobos",
        "../../etc/passwd",
        "/etc/localtime",
        "localtime",
        "Europe",
        "\0",
        "\ud800",
        "x" * 9_999,
    ],
)
def test_what_is_no_zone_at_all_is_refused(name: str) -> None:
    with pytest.raises(InvalidError, match="there is no time zone"):
        zone_named(name)
