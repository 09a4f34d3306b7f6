"""What people are told: plain text, short enough for any service, and without secrets.

What an agent wrote stands in it as one line, so that it can neither pass for ours nor hide what follows. Everything that
looks like a credential is cut out of it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from msgspec import Struct

from tenure.core.attention import Attention, Severity, severity_of
from tenure.hub.notify.channel import SEVERITIES
from tenure.hub.push.secret_rules import RULES
from tenure.runtime.logging import REDACTED, redacted_text
from tenure.wire.codec import instant

BODY_LENGTH = 1_800
"""Of a whole message: chat services cut or refuse one beyond 2,000 letters."""
TITLE_LENGTH = 120
SUMMARY_LENGTH = 400
LISTED_LENGTH = 120
"""Of a summary that stands among others."""
ANSWER_LENGTH = 140
CUT = "…"

Answers = Mapping[str, Mapping[str, str]]
"""By the question's id: each answer that may be given, with what it will do."""

_GAP = re.compile(r"[\s\x00-\x1f\x7f-\x9f\u2028\u2029\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]+")


class Message(Struct, frozen=True):
    title: str
    body: str


def composed(items: Sequence[Attention], answers: Answers, held_until_ms: int | None = None) -> Message:
    """One message about these open questions, the gravest first. `held_until_ms`: it is the last one before then."""
    ordered = sorted(items, key=lambda one: (-SEVERITIES.index(severity_of(one.kind)), one.opened_at_ms))
    message = (
        _about_one(ordered[0], answers.get(ordered[0].item_id, {}))
        if len(ordered) == 1
        else _about_many(ordered)
    )
    if held_until_ms is None:
        return message
    closing = f"The last message for now: what comes next is held until {instant(held_until_ms)} and then told as one."
    return Message(message.title, f"{message.body}\n\n{closing}")


def trial_message(name: str) -> Message:
    """What `tenure notify test` sends."""
    return Message(
        f"Tenure: test of {name}",
        f"This is a test of the channel {name}. When something needs you, it is told here.\nTo see what does: tenure attention",
    )


def _about_one(item: Attention, answers: Mapping[str, str]) -> Message:
    severity, summary = severity_of(item.kind), plain(item.summary, SUMMARY_LENGTH)
    lines = [f"{severity}: {item.kind}, {plain(item.subject, LISTED_LENGTH)}", summary, ""]
    if answers:
        lines += ["You may answer:"]
        lines += [f"- {answer}: {plain(what, ANSWER_LENGTH)}" for answer, what in answers.items()]
        lines += [""]
    lines += [f"Look:   {how_to_look(item)}", f"Answer: {how_to_answer(item)}"]
    return Message(
        plain(f"Tenure, {severity}: {item.kind}: {summary}", TITLE_LENGTH),
        _cut("\n".join(lines), BODY_LENGTH),
    )


def _about_many(items: Sequence[Attention]) -> Message:
    urgent = sum(severity_of(one.kind) is Severity.URGENT for one in items)
    title = f"Tenure: {len(items)} questions need you" + (f", {urgent} of them urgent" if urgent else "")
    closing = "All of them: tenure attention"
    lines: list[str] = []
    room = BODY_LENGTH - len(closing) - 40
    for item in items:
        entry = (
            f"- {severity_of(item.kind)}: {item.kind}, {plain(item.subject, LISTED_LENGTH)}:"
            f" {plain(item.summary, LISTED_LENGTH)}\n  {how_to_answer(item)}"
        )
        room -= len(entry) + 1
        if room < 0:
            break
        lines.append(entry)
    left = len(items) - len(lines)
    more = [f"… and {left} more."] if left else []
    return Message(title, "\n".join([*lines, *more, "", closing]))


def how_to_look(item: Attention) -> str:
    """The command that shows what a question is about."""
    about = item.subject.partition("/")[0]
    if about.startswith("t_"):
        return f"tenure show {about}"
    return "tenure nodes" if about.startswith("n_") else "tenure attention"


def how_to_answer(item: Attention) -> str:
    """The command that answers it."""
    return f"tenure resolve {plain(item.item_id, 2 * LISTED_LENGTH)}"


def plain(text: str, most: int) -> str:
    """A text as one line of at most so many letters, without what looks like a secret."""
    data = text.encode("utf-8", "replace")
    for _, shape in RULES.values():
        data = shape.sub(REDACTED.encode(), data)
    return _cut(_GAP.sub(" ", redacted_text(data.decode("utf-8", "replace"))).strip(), most)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - len(CUT)] + CUT
