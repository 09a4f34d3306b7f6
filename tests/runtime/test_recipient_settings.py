"""What a recipient says of sessions, quotas and cancels: what is taken, and what is refused with what to do next."""

import pytest

from tenure.errors import ConfigurationError
from tenure.runtime.settings import RecipientSettings, parse_settings

HEAD = '[[recipients]]\nname = "agent"\nargv = ["agent"]\n'


def recipient(text: str) -> RecipientSettings:
    (found,) = parse_settings(HEAD + text, "settings.toml").recipients
    return found


def refused(text: str) -> str:
    with pytest.raises(ConfigurationError) as caught:
        recipient(text)
    return str(caught.value)


def test_a_recipient_that_says_nothing_resumes_nothing_and_shares_no_quota() -> None:
    found = recipient("")
    assert (found.can_resume, found.provider, found.cancel) == (False, None, "signals")


@pytest.mark.parametrize("text", ['resume = ["agent", "--resume={session_id}"]', "resumes = true"])
def test_either_way_of_resuming_is_one(text: str) -> None:
    assert recipient(text).can_resume


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('resume = ["agent", "--continue"]', "{session_id}"),
        ('resume = ["agent", "{session}"]', "did you mean {session_id}"),
        ('resume = ["", "{session_id}"]', "empty word"),
        ('resume = "agent"', "resume"),
        ('provider = "Anthropic Inc"', "lower-case"),
        ('provider = "' + "a" * 65 + '"', "provider"),
        ('cancel = "politely"', "cancel"),
    ],
)
def test_what_cannot_be_meant_is_refused_by_name(text: str, says: str) -> None:
    assert says in refused(text)


def test_a_resume_that_no_command_line_can_hold_is_refused() -> None:
    words = ", ".join(f'"{"x" * 60_000}"' for _ in range(20))
    assert "is too long" in refused(f'resume = ["{{session_id}}", {words}]')
