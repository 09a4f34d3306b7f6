"""`[notifications]`: each mistake told with its place and with what was meant."""

from __future__ import annotations

import pytest

from tenure.errors import ConfigurationError
from tenure.runtime.settings import NotificationSettings, parse_settings
from tenure.runtime.settings_notifications import CHANNELS, ChannelTable

AT = "[notifications]\n"


def test_channels_and_quiet_hours_are_read() -> None:
    text = """
        [notifications]
        quiet = "22:00-07:00"
        zone = "Europe/Berlin"
        per_hour = 5
        [notifications.channels.ops]
        [notifications.channels.pager]
        least_severity = "urgent"
        kinds = ["unknown", "effect_in_doubt"]
    """
    given = parse_settings(text, "x").notifications
    assert (given.quiet, given.zone, given.urgent_anyway, given.per_hour) == (
        "22:00-07:00",
        "Europe/Berlin",
        True,
        5,
    )
    assert given.channels == {
        "ops": ChannelTable(),
        "pager": ChannelTable(least_severity="urgent", kinds=("unknown", "effect_in_doubt")),
    }


def test_without_a_word_nobody_is_quiet_and_no_channel_has_a_table() -> None:
    assert parse_settings("", "x").notifications == NotificationSettings()
    assert parse_settings("[notifications.channels]", "x").notifications == NotificationSettings()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (AT + 'quiet = "22-7"\nzone = "UTC"', "tenure.toml:2: notifications.quiet '22-7' is refused: expected two times of day as in 22:00-07:00"),
        (AT + 'quiet = "24:00-07:00"\nzone = "UTC"', "expected two times of day"),
        (AT + 'quiet = "22:00-07:60"\nzone = "UTC"', "expected two times of day"),
        (AT + 'quiet = true\nzone = "UTC"', "notifications.quiet true is refused"),
        (AT + 'quiet = "07:00-07:00"\nzone = "UTC"', "begins when it ends"),
        (AT + 'quiet = "22:00-07:00"', "notifications.zone is missing: quiet is meant by a clock somewhere"),
        (AT + 'zone = "Europe/Berlyn"', "tenure.toml:2: notifications.zone is refused: there is no time zone 'Europe/Berlyn'. Did you mean Europe/Berlin"),
        (AT + 'zone = "../../etc/passwd"', "there is no time zone"),
        (AT + 'zone = ""', "notifications.zone '' is refused"),
        (AT + "per_hour = 0", "expected an integer from 1 to 1000"),
        (AT + "per_hour = true", "notifications.per_hour true is refused"),
        (AT + 'urls = ["json://x"]', "notifications.urls is not a known key"),
        (AT + 'urgent = true', "did you mean urgent_anyway?"),
        ("notifications = 3", "notifications expected a table, not 3"),
        (AT + "channels = 3", "expected one [notifications.channels.NAME] table for each channel"),
        (AT + "channels.ops = 3", "notifications.channels.ops expected a table, not 3"),
        ("[notifications.channels.Big]", "notifications.channels.Big is no name for a channel"),
        ("[notifications.channels.x]\nurl = 'json://secret'", "tenure.toml:2: notifications.channels.x.url is not a known key"),
        ("[notifications.channels.x]\nleast_severity = 'grave'", 'is refused: expected "info" or "urgent" or "warning"'),
        ("[notifications.channels.x]\nkinds = ['unknwon']", "tenure.toml:2: notifications.channels.x.kinds 'unknwon' is no kind of question; did you mean unknown?"),
        ("[notifications.channels.x]\nkinds = ['zzz']", "'zzz' is no kind of question; known: approval, "),
        ("[notifications.channels.x]\nkinds = 'unknown'", "notifications.channels.x.kinds 'unknown' is refused: expected a list"),
        ("[notification]\nper_hour = 3", "did you mean notifications?"),
    ],
)  # fmt: skip
def test_each_mistake_is_told_with_its_place(text: str, says: str) -> None:
    with pytest.raises(ConfigurationError) as error:
        parse_settings(text, "tenure.toml")
    assert says in "\n".join(error.value.facts["problems"])
    assert "json://" not in error.value.message


def test_there_is_a_bound_to_channels() -> None:
    text = "".join(f"[notifications.channels.c{number}]\n" for number in range(CHANNELS + 1))
    with pytest.raises(ConfigurationError, match=f"{CHANNELS + 1} are too many: at most {CHANNELS}"):
        parse_settings(text, "x")
