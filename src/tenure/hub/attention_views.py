"""Questions to people as bodies of the API, with their facts in sentences. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec
from msgspec import Raw

from tenure.core.attention import Attention, severity_of
from tenure.wire.attention import AttentionBody
from tenure.wire.codec import instant, instant_or_none

LISTED = 20
"""Things of one kind that an explanation names; all of them are in the facts."""


def attention_body(item: Attention, answers: dict[str, str]) -> AttentionBody:
    return AttentionBody(
        item_id=item.item_id,
        kind=str(item.kind),
        subject=item.subject,
        version=item.version,
        open=item.open,
        summary=item.summary,
        facts=Raw(item.facts.encode()),
        opened_at=instant(item.opened_at_ms),
        closed_at=instant_or_none(item.closed_at_ms),
        closed_because=item.closed_because,
        answers=answers,
        severity=str(severity_of(item.kind)),
        assigned_to=item.assigned_to,
        snoozed_until_at=instant_or_none(item.snoozed_until_ms),
        closed_by=item.closed_by,
        explanation=tuple(explained(msgspec.json.decode(item.facts))),
    )


def explained(facts: Any) -> Iterable[str]:
    """The facts of a question in sentences, in a fixed order; those that no sentence is known for come last, by name."""
    if not isinstance(facts, dict):
        return
    told: dict[str, Any] = dict(facts)  # pyright: ignore[reportUnknownArgumentType] - decoded from our own record
    for name, sentences in SENTENCES.items():
        if told.get(name):
            yield from sentences(told)
        told.pop(name, None)
    for name, value in told.items():
        if name not in SILENT and value not in (None, "", [], {}):
            yield f"{name.replace('_', ' ')}: {value}"


def _judged(facts: dict[str, Any]) -> Iterable[str]:
    named = facts.get("class") or "no class"
    yield f"it was judged {named} by the rule `{facts['rule']}` of the policy {facts.get('policy') or '?'}"


def _exhausted(facts: dict[str, Any]) -> Iterable[str]:
    yield f"used up: {', '.join(map(str, facts['exhausted']))}"


def _left(facts: dict[str, Any]) -> Iterable[str]:
    named = ", ".join(_amount(name, amount) for name, amount in facts["left"].items())
    yield f"left of what it may use: {named}"


def _amount(dimension: str, amount: Any) -> str:
    match dimension:
        case "cost_usd_micros":
            return f"${amount / 1_000_000:.2f}"
        case "wall_s":
            return f"{amount} s of running"
        case _:
            return f"{amount} {dimension.replace('_', ' ')}"


def _late_reports(facts: dict[str, Any]) -> Iterable[str]:
    for late_id, verdict in list(facts["late_reports"].items())[:LISTED]:
        yield f"the late report {late_id} says {verdict}"


def _passed_over(facts: dict[str, Any]) -> Iterable[str]:
    yield from (f"passed over: {one}" for one in facts["passed_over"][:LISTED])


def _failed(facts: dict[str, Any]) -> Iterable[str]:
    yield f"did not complete: {', '.join(map(str, facts['failed'][:LISTED]))}"


def _said(sentence: str, name: str) -> Callable[[dict[str, Any]], Iterable[str]]:
    return lambda facts: (sentence.format(facts[name]),)


def _at(sentence: str, name: str) -> Callable[[dict[str, Any]], Iterable[str]]:
    return lambda facts: (sentence.format(instant(int(facts[name]))),)


SENTENCES: dict[str, Callable[[dict[str, Any]], Iterable[str]]] = {
    "exhausted": _exhausted,
    "unsafe_because": _said("another automatic attempt is unsafe: {}", "unsafe_because"),
    "left": _left,
    "refunded": _said("attempts that do not count, because a provider had no room: {}", "refunded"),
    "deadline_ms": _at("its deadline: {}", "deadline_ms"),
    "recipient": _said("it was with {}", "recipient"),
    "reason": _said("why: {}", "reason"),
    "late_reports": _late_reports,
    "rule": _judged,
    "passed_over": _passed_over,
    "failed": _failed,
    "since_ms": _at("since: {}", "since_ms"),
    "node": _said("node: {}", "node"),
}
SILENT = frozenset(
    {"tried", "class", "policy", "signature", "spec_digest", "params_digest", "digest", "because", "by"}
)
"""Facts that the summary or another sentence says already, or that are only compared."""
