"""How people write tasks, durations and instants, and what is said when they cannot be read."""

import pytest

from tenure.cli.asking.task_name import TaskName, parse_task_name
from tenure.cli.command.providers import where
from tenure.cli.text.counting import counted
from tenure.cli.text.moment import parse_duration_s, parse_not_before, shown_duration
from tenure.errors import InvalidError

WHOLE = "t_" + "0" * 26


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("t_01kb", TaskName("t_01kb", None, "t_01kb")),
        ("01KB", TaskName("t_01kb", None, "01KB")),
        (" t_01kb/12 ", TaskName("t_01kb", 12, "t_01kb")),
        (WHOLE, TaskName(WHOLE, None, WHOLE)),
    ],
)
def test_a_task_may_be_named_by_the_beginning_of_its_id(text: str, name: TaskName) -> None:
    assert parse_task_name(text) == name


@pytest.mark.parametrize("text", ["", "t_", "t_01/0", "t_01/x", "d_01", "../x", "t_" + "0" * 27, "t_\x00"])
def test_what_cannot_be_a_task_is_refused_with_what_is_expected(text: str) -> None:
    with pytest.raises(InvalidError, match="tenure list"):
        parse_task_name(text)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90), ("90s", 90), ("15m", 900), ("1h30m", 5400), ("1.5h", 5400), ("2 d", 172_800)],
)
def test_durations_are_read_with_their_units(text: str, seconds: float) -> None:
    assert parse_duration_s(text) == seconds


@pytest.mark.parametrize("text", ["", "x", "-3", "1x", "10 minutes", "1m!"])
def test_what_is_no_duration_is_refused_with_what_is_expected(text: str) -> None:
    with pytest.raises(InvalidError, match="1h30m"):
        parse_duration_s(text)


def test_an_instant_may_be_told_from_now() -> None:
    assert parse_not_before("+10m", 0) == "1970-01-01T00:10:00.000Z"
    assert parse_not_before("2026-01-31T08:00:00+02:00", 0) == "2026-01-31T06:00:00.000Z"


def test_durations_are_shown_in_their_two_largest_units() -> None:
    shown = [shown_duration(seconds) for seconds in (0.25, 59.6, 61, 3700, 90_000)]
    assert shown == ["0.2 s", "1 min 0 s", "1 min 1 s", "1 h 1 min", "1 d 1 h"]


def test_a_noun_stands_in_the_number_of_what_is_counted() -> None:
    shown = [counted(0, "run"), counted(1, "run"), counted(2, "run"), counted(2, "entry", "entries")]
    assert shown == ["0 runs", "1 run", "2 runs", "2 entries"]


def test_a_folder_that_a_provider_is_has_no_host() -> None:
    assert where("/srv/git") == "this machine"
    assert where("https://x@git.example/a") == "git.example"
