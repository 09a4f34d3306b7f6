"""Reading webhooks: what a forge's message may be about, and nothing more."""

from __future__ import annotations

import json

import pytest

from tenure.core.scope import EffectKind
from tenure.errors import UnauthenticatedError
from tenure.providers.inbound import EVENTS, FORGES, Message, check, read

HEADERS = {"content-type": "application/json", "x-github-delivery": "d", "x-github-event": "push"}


def test_every_kind_that_a_forge_does_can_be_told_of_by_each_forge() -> None:
    done = set(EffectKind) - {EffectKind.COMMIT, EffectKind.HTTP}
    assert set(EVENTS) == set(FORGES)
    for forge, events in EVENTS.items():
        assert set().union(*events.values()) == done, forge


def test_markers_are_found_wherever_they_stand_each_once() -> None:
    first, second = f"e_{'0' * 26}", f"e_{'1' * 26}"
    texts = [f"<!-- tenure:effect {one} -->" for one in (first, second, first, "e_short", f"e_{'A' * 26}")]
    body = json.dumps(
        {"repository": {"full_name": "a/b"}, "deep": [{"body": text} for text in texts]}
    ).encode()
    heard = read("github", Message(HEADERS, body))
    assert (heard.named, heard.repository) == ((first, second), "a/b")


@pytest.mark.parametrize(
    "place", [None, [], "a/b", {"full_name": 3}, {"full_name": ""}, {"full_name": "x" * 500}]
)
def test_a_message_without_a_repositorys_name_is_about_none(place: object) -> None:
    body = json.dumps({"repository": place}).encode()
    assert read("github", Message(HEADERS, body)).repository is None


def test_a_signing_token_that_is_no_base_64_refuses_everything() -> None:
    headers = {"webhook-signature": "v1,AAAA", "webhook-id": "x", "webhook-timestamp": "1"}
    with pytest.raises(UnauthenticatedError, match="store it again"):
        check("gitlab", "whsec_!", Message(headers, b"{}"), 1_000)
