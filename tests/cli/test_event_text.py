"""Every kind of event has a sentence."""

from typing import get_args

import msgspec
import pytest

from tenure.cli.text.event import DETAILS, SENTENCES, event_text
from tenure.core import events as ev

KINDS = {str(kind.__struct_config__.tag): kind for kind in get_args(ev.Event)}


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_kind_of_event_has_a_sentence_made_of_fields_that_it_has(kind: str) -> None:
    class Fields(dict[str, object]):
        def __missing__(self, name: str) -> object:
            assert name in known, f"{kind} has no field {name}"
            is_inner = name in {"spec", "outcome", "hold"} or (kind, name) == ("policy_stored", "policy")
            return Fields() if is_inner else "report" if name == "kind" else []

    known = {*KINDS[kind].__struct_fields__, "route", "verdict", "because"}
    known |= {"name", "version"} if kind == "policy_stored" else set()
    assert SENTENCES[kind](Fields())


def test_no_sentence_is_left_for_a_kind_that_is_gone() -> None:
    assert set(SENTENCES) == set(KINDS)
    assert set(KINDS) >= DETAILS


def test_an_event_of_a_later_version_is_shown_by_its_name() -> None:
    assert event_text("moon_reached", {}) == "moon reached"
    assert event_text("task_ended", {}).startswith("task ended")


def test_sentences_read_like_this() -> None:
    outcome = {"verdict": "failed", "failure_class": "validation", "summary": "check `lint` failed"}
    body = msgspec.json.decode(msgspec.json.encode({"number": 2, "outcome": outcome}))
    assert event_text("report_recorded", body) == (
        "attempt 2 ended failed (its node says validation): check `lint` failed"
    )
    begun = {
        "effect_id": "e_1",
        "kind": "comment",
        "subject": "7:ab",
        "target": "github:o/r",
        "approval": True,
    }
    assert event_text("effect_begun", begun) == (
        "e_1 begun: comment 7:ab at github:o/r, which needs your approval"
    )
    settled = {"effect_id": "e_1", "state": "absent", "reason": "rejected: no", "by": "ann"}
    assert event_text("effect_settled", settled) == "e_1 absent by ann: rejected: no"


def test_what_was_decided_and_why_can_be_read() -> None:
    decided = {
        "number": 2,
        "verdict": "failed",
        "failure_class": "capacity",
        "rule": "http-429",
        "policy": "default/1",
        "because": "the provider has no room until 12:00",
        "refunded": True,
    }
    assert event_text("recovery_decided", decided) == (
        "attempt 2 judged capacity by the policy default/1, whatever its node said (rule `http-429`): the provider has no room "
        "until 12:00; it does not count"
    )
    stop = {"number": 3, "step": "requested", "cause": "budget", "dimensions": ["tokens"]}
    assert event_text("stop_advanced", stop) == "attempt 3: stop requested for its budget (tokens)"
    used = {"accounts": ["hub"], "used": {"wall_ms": 90_000, "cost_usd_micros": 20_000, "tokens": 1200}}
    assert event_text("budget_settled", used) == (
        "settled in hub: running 1 min 30 s, cost $0.02, tokens 1,200 was used"
    )
    opened = {"quota": "anthropic", "until_ms": 1_800_000_000_000, "because": "429"}
    assert event_text("circuit_opened", opened) == (
        "anthropic is left alone until 2027-01-15T08:00:00.000Z: 429"
    )
