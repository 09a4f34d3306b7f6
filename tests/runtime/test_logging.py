"""Logging: one line per event, and never a secret in it."""

import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st

from tenure.runtime.clock import RealClock
from tenure.runtime.ids import RealIds
from tenure.runtime.logging import REDACTED, configure_logging, is_secret_key, redacted, redacted_text

TOKEN = RealIds(RealClock()).token()


@pytest.fixture(autouse=True)
def logging_as_it_was() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    structlog.reset_defaults()


def logged(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_an_event_is_one_line_of_json_with_time_level_and_fields() -> None:
    stream = io.StringIO()
    configure_logging(stream=stream)
    structlog.get_logger("tenure.node").warning("lease renewed", delivery="d_1", attempt=3)
    (line,) = logged(stream)
    assert line["event"] == "lease renewed"
    assert (line["level"], line["logger"], line["delivery"], line["attempt"]) == (
        "warning",
        "tenure.node",
        "d_1",
        3,
    )
    assert line["at"].endswith("Z")


def test_records_of_other_libraries_come_in_the_same_form_and_are_redacted_too() -> None:
    stream = io.StringIO()
    configure_logging(stream=stream)
    logging.getLogger("another.package").info(
        "GET /v1/tasks with %s", f"Bearer {TOKEN}", extra={"token": "abc"}
    )
    (line,) = logged(stream)
    assert line["logger"] == "another.package"
    assert TOKEN not in stream.getvalue()
    assert line["token"] == REDACTED


def test_a_level_below_the_threshold_is_not_written() -> None:
    stream = io.StringIO()
    configure_logging(stream=stream, level="warning")
    structlog.get_logger().info("quiet")
    assert stream.getvalue() == ""


def test_an_unknown_level_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match="expected debug"):
        configure_logging(level="loud", stream=io.StringIO())


def test_a_second_configuration_replaces_the_first() -> None:
    first, second = io.StringIO(), io.StringIO()
    configure_logging(stream=first)
    configure_logging(stream=second)
    structlog.get_logger().info("once")
    assert first.getvalue() == ""
    assert len(logged(second)) == 1


@pytest.mark.parametrize("style", ["json", "console"])
def test_a_token_in_key_text_nested_value_or_exception_never_reaches_the_stream(style: Any) -> None:
    stream = io.StringIO()
    configure_logging(style=style, stream=stream)
    log = structlog.get_logger()
    log.info(
        "claimed", lease_token="plain-secret-1", detail={"headers": [{"Authorization": "plain-secret-2"}]}
    )
    log.info("url https://user:plain-secret-3@example.org/x and %s", TOKEN)
    try:
        raise RuntimeError(f"refused {TOKEN}")
    except RuntimeError:
        log.exception("failed", raw=TOKEN.encode())
    text = stream.getvalue()
    assert "RuntimeError" in text
    assert TOKEN not in text
    assert "plain-secret" not in text


@pytest.mark.parametrize(
    "key",
    [
        "token",
        "lease_token",
        "Authorization",
        "clientSecret",
        "X-Api-Key",
        "credential",
        "git_credentials",
        "PASSWORD",
    ],
)
def test_keys_that_name_a_secret_are_known(key: str) -> None:
    assert is_secret_key(key)


@pytest.mark.parametrize("key", ["input_tokens", "tokenizer", "secretary", "task", "key", "author"])
def test_keys_that_only_resemble_one_are_left_alone(key: str) -> None:
    assert not is_secret_key(key)


def test_whether_there_is_a_secret_may_be_told() -> None:
    assert redacted("token", True) is True
    assert redacted("token", None) is None
    assert redacted("token", 7) == REDACTED


def test_counts_and_flags_keep_their_types() -> None:
    value = {"input_tokens": 12, "ok": True, "cost": 1.5, "none": None, "list": (1, "a")}
    assert redacted("usage", value) == {
        "input_tokens": 12,
        "ok": True,
        "cost": 1.5,
        "none": None,
        "list": [1, "a"],
    }


def test_a_container_that_holds_itself_does_not_hang_the_log() -> None:
    loop: dict[str, Any] = {}
    loop["self"] = loop
    assert "dict" in json.dumps(redacted("event", loop))


@given(st.text(), st.text())
def test_one_of_our_tokens_is_found_anywhere_in_a_text(before: str, after: str) -> None:
    assert TOKEN not in redacted_text(before + TOKEN + after)
