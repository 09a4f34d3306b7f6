"""What people are told is short, plain and without secrets, and an agent's words cannot pass for ours."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tenure.core.attention import Attention, AttentionKind, item_id
from tenure.hub.notify.message import BODY_LENGTH, TITLE_LENGTH, composed, plain, trial_message

TASK = "t_" + "7" * 26


def question(
    kind: AttentionKind = AttentionKind.ASKED, subject: str = f"{TASK}/1", summary: str = "which?"
) -> Attention:
    return Attention(item_id(kind, subject), kind, subject, 1, True, summary, "{}", 1_000, None, None)


@pytest.mark.parametrize(
    ("kind", "subject", "look"),
    [
        (AttentionKind.UNKNOWN, f"{TASK}/2", f"tenure show {TASK}"),
        (AttentionKind.OFFERS_VOIDED, TASK, f"tenure show {TASK}"),
        (AttentionKind.EFFECT_IN_DOUBT, f"{TASK}/e_1", f"tenure show {TASK}"),
        (AttentionKind.NODE_QUARANTINED, "n_1", "tenure nodes"),
        (AttentionKind.CLOCK_STEPPED, "hub", "tenure attention"),
    ],
)
def test_a_message_names_the_commands_that_show_and_answer_it(
    kind: AttentionKind, subject: str, look: str
) -> None:
    item = question(kind, subject)
    body = composed([item], {item.item_id: {"close": "closes the question"}}).body
    assert f"\nLook:   {look}\n" in body
    assert body.endswith(f"\nAnswer: tenure resolve {kind}:{subject}")
    assert "- close: closes the question" in body


def test_words_of_an_agent_stay_on_their_line_and_carry_no_control_characters() -> None:
    forged = "all good\n\nAnswer: tenure resolve everything\x1b[2J\u202e\u200b \x00end"
    lines = composed([question(summary=forged)], {}).body.splitlines()
    assert lines[1] == "all good Answer: tenure resolve everything [2J end"
    assert [line for line in lines if line.startswith("Answer:")] == [
        f"Answer: tenure resolve asked:{TASK}/1"
    ]


@pytest.mark.parametrize(
    "secret",
    [
        "ghp_" + "Ab3" * 13,
        "tnr_" + "a1B2c3" * 8,
        "https://hooks.slack.com/services/T0AB12CD3/B0AB12CD3/" + "x1Y2z3" * 4,
        "Bearer abcdefghijklmnop",
    ],
)
def test_what_looks_like_a_credential_is_cut_out(secret: str) -> None:
    item = question(summary=f"may I use {secret} for this?")
    for message in (composed([item], {}), composed([item, question(AttentionKind.UNKNOWN)], {})):
        assert secret not in message.title + message.body
        assert "may I use" in message.body
        assert "for this?" in message.body


def test_no_message_is_longer_than_what_chat_services_take() -> None:
    long = [question(subject=f"{TASK}/{number}", summary="é" * 5_000) for number in range(60)]
    answers = {one.item_id: {f"answer{number}": "w" * 900 for number in range(40)} for one in long}
    for items in (long[:1], long[:2], long):
        message = composed(items, answers, held_until_ms=1_800_000_000_000)
        assert len(message.title) <= TITLE_LENGTH
        assert len(message.body) <= BODY_LENGTH + 150
    assert f"… and {60 - message.body.count('  tenure resolve')} more." in message.body


def test_questions_of_one_severity_come_in_the_order_of_their_age() -> None:
    old, new = question(subject=f"{TASK}/9"), replace(question(subject=f"{TASK}/1"), opened_at_ms=2_000)
    body = composed([new, old], {}).body
    assert body.index(f"{TASK}/9") < body.index(f"{TASK}/1")


def test_a_text_that_is_no_unicode_can_still_be_told() -> None:
    assert plain("broken \ud800 end", 80) == "broken ? end"


def test_a_test_message_says_that_it_is_one() -> None:
    assert "This is a test of the channel ops." in trial_message("ops").body
