"""apprise against a real server on this machine; and that an address is nowhere but in its request."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pytest

from tenure.errors import ConfigurationError, OutcomeUnknownError, UnavailableError
from tenure.providers import apprise_notifier
from tenure.providers.apprise_notifier import AppriseNotifier, scheme_of, secret_parts
from tests.message_receiver import SECRET, Receiver, receiving


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as server:
        yield server


def test_a_message_arrives_as_it_was_written(receiver: Receiver) -> None:
    notifier = AppriseNotifier(receiver.url)
    assert notifier.service == "JSON"
    notifier.send("Tenure: a *title*", "first line\n- <b>second</b> & last: 50 %")
    (got,) = receiver.got
    assert (got["title"], got["message"]) == ("Tenure: a *title*", "first line\n- <b>second</b> & last: 50 %")


@pytest.mark.parametrize("status", [400, 401, 404, 500, 302])
def test_a_service_that_says_no_is_an_error_without_the_address(
    receiver: Receiver, status: int, capfd: pytest.CaptureFixture[str]
) -> None:
    receiver.answers = status
    with pytest.raises(UnavailableError, match="JSON did not take it") as error:
        AppriseNotifier(receiver.url).send("title", "body")
    assert len(receiver.got) == 1
    assert SECRET not in str(error.value) + repr(error.value.__context__)
    assert capfd.readouterr() == ("", "")


def test_a_service_that_cannot_be_reached_is_an_error_without_the_address() -> None:
    with pytest.raises(UnavailableError, match="did not take it") as error:
        AppriseNotifier(f"json://u:{SECRET}@127.0.0.1:9/{SECRET}").send("title", "body")
    assert SECRET not in str(error.value)


def test_a_service_that_does_not_answer_in_time_may_have_got_it(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(apprise_notifier, "SEND_S", 0.2)
    receiver.gate.clear()
    with pytest.raises(OutcomeUnknownError, match=r"no answer within 0\.2 s"):
        AppriseNotifier(receiver.url).send("title", "body")


@pytest.mark.parametrize(
    "url", ["", "words", f"nope://{SECRET}", f"slack://{SECRET}", "json://", f"http://{SECRET}.example/"]
)
def test_an_address_that_apprise_does_not_know_is_refused_without_being_repeated(
    url: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ConfigurationError, match="no address of a service that apprise knows") as error:
        AppriseNotifier(url)
    assert SECRET not in str(error.value)
    assert capfd.readouterr() == ("", "")


def test_without_apprise_one_is_told_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "apprise", None)
    with pytest.raises(ConfigurationError, match=r"tenure\[notifications\]"):
        AppriseNotifier("json://127.0.0.1/")


def test_what_a_plugin_raises_tells_nothing_of_the_address(monkeypatch: pytest.MonkeyPatch) -> None:
    notifier = AppriseNotifier(f"json://u:{SECRET}@127.0.0.1:9/")

    def broken(**_: Any) -> None:
        raise ValueError(f"cannot post to http://u:{SECRET}@127.0.0.1")

    monkeypatch.setattr(notifier._all, "notify", broken)
    with pytest.raises(UnavailableError) as error:
        notifier.send("title", "body")
    assert SECRET not in str(error.value)
    assert repr(notifier) == "AppriseNotifier('JSON')"


def test_every_longer_part_of_an_address_counts_as_secret() -> None:
    assert {"tokenA", "tokenB", "abcd"} <= secret_parts("slack://tokenA/tokenB?x=abcd")
    assert scheme_of("MailTo://x") == "mailto"
