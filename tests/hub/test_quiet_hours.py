"""Quiet hours go by the clock on the wall, over midnight and through changes of the clocks, and never have a hole."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenure.hub.notify.quiet import QuietHours

BERLIN = "Europe/Berlin"
ZONES = (BERLIN, "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe", "Africa/Casablanca", "UTC")


def ms(text: str) -> int:
    return round(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)


@pytest.mark.parametrize(
    ("span", "zone", "now", "until"),
    [
        ("22:00-07:00", BERLIN, "2026-01-05T20:59:59", None),
        ("22:00-07:00", BERLIN, "2026-01-05T21:00", "2026-01-06T06:00"),
        ("22:00-07:00", BERLIN, "2026-01-06T05:59:59", "2026-01-06T06:00"),
        ("22:00-07:00", BERLIN, "2026-01-06T06:00", None),
        # One hour less on the night on which the clocks go forward, one more when they go back.
        ("22:00-07:00", BERLIN, "2026-03-28T21:00", "2026-03-29T05:00"),
        ("22:00-07:00", BERLIN, "2026-10-24T20:00", "2026-10-25T06:00"),
        # A time that is skipped stands for the jump.
        ("22:00-02:30", BERLIN, "2026-03-28T22:00", "2026-03-29T01:00"),
        ("02:30-09:00", BERLIN, "2026-03-29T00:59", None),
        ("02:30-09:00", BERLIN, "2026-03-29T01:00", "2026-03-29T07:00"),
        # Of a time that comes twice the first begins and the second ends.
        ("22:00-02:30", BERLIN, "2026-10-25T00:45", "2026-10-25T01:30"),
        ("02:30-09:00", BERLIN, "2026-10-25T00:30", "2026-10-25T08:00"),
        ("02:30-09:00", BERLIN, "2026-10-25T00:29", None),
        # In the day, and in a zone with an offset of three quarters of an hour.
        ("09:00-17:00", "Asia/Kathmandu", "2026-03-29T03:15", "2026-03-29T11:15"),
        ("09:00-17:00", "Asia/Kathmandu", "2026-03-29T03:14", None),
        # Half an hour is skipped there.
        ("01:00-02:15", "Australia/Lord_Howe", "2026-10-03T15:00", "2026-10-03T15:30"),
    ],
)  # fmt: skip
def test_a_span_of_hours_means_what_the_clock_on_the_wall_shows(
    span: str, zone: str, now: str, until: str | None
) -> None:
    found = QuietHours(span, ZoneInfo(zone)).until_ms(ms(now))
    assert found == (None if until is None else ms(until))


@given(
    st.sampled_from(ZONES),
    st.integers(0, 1439),
    st.integers(0, 1439),
    st.integers(ms("2025-01-01T00:00") // 60_000, ms("2027-12-31T00:00") // 60_000),
)
@settings(max_examples=300, deadline=None)
def test_quiet_has_no_hole_before_its_end_and_is_over_at_it(zone: str, begin: int, end: int, at: int) -> None:
    if begin == end:
        end = (end + 1) % 1440
    span = f"{begin // 60:02}:{begin % 60:02}-{end // 60:02}:{end % 60:02}"
    quiet, now_ms = QuietHours(span, ZoneInfo(zone)), at * 60_000
    until_ms = quiet.until_ms(now_ms)
    wall = datetime.fromtimestamp(now_ms / 1000, ZoneInfo(zone))
    minute = wall.hour * 60 + wall.minute
    shown = begin <= minute < end if begin < end else minute >= begin or minute < end
    if shown:
        assert until_ms is not None
    if until_ms is not None:
        assert now_ms < until_ms <= now_ms + 50 * 3_600_000
        assert quiet.until_ms(until_ms - 60_000) == until_ms
        assert quiet.until_ms(until_ms) is None


@pytest.mark.parametrize("span", ["", "22-7", "24:00-07:00", "22:00 - 07:00", "22:60-07:00", "22:00-07:00\n"])
def test_what_is_no_span_is_refused(span: str) -> None:
    with pytest.raises(ValueError, match="is no span of hours"):
        QuietHours(span, ZoneInfo(BERLIN))
