"""Questions to people as bodies of the API, with their facts in sentences. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec
from msgspec import Raw

from tenure.core.attention import Attention, severity_of
from tenure.wire.attention import AttentionBody
from tenure.wire.codec import instant, instant_or_none

_NAMES = {
    "cost_usd_micros": "what it may spend",
    "wall_s": "time of running",
    "wall_ms": "time of running",
    "repeats": "repeats of one failure",
    "interruptions": "questions to people",
    "rounds": "rounds without being better",
    "deadline": "time until its deadline",
}
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
        explanation=tuple(explained(msgspec.json.decode(item.facts), item.summary)),
    )


def explained(facts: Any, summary: str = "") -> Iterable[str]:
    """The facts of a question in sentences, in a fixed order; those that no sentence is known for come last, by name. What
    the summary says in the same words is not said again."""
    if not isinstance(facts, dict):
        return
    told: dict[str, Any] = dict(facts)  # pyright: ignore[reportUnknownArgumentType] - decoded from our own record
    told = {name: value for name, value in told.items() if not (isinstance(value, str) and value == summary)}
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
    limit = facts.get("limit")
    for one in facts["exhausted"]:
        named = _NAMES.get(one, str(one).replace("_", " "))
        yield f"used up: {named}" + (
            "" if limit is None else f", of which the limit is {_amount(one, limit)}"
        )


def _share(facts: dict[str, Any]) -> Iterable[str]:
    (one, *_) = facts.get("exhausted") or ("",)
    yield f"its share, which does not fit into that: {_amount(one, facts['share'])}"


def _left(facts: dict[str, Any]) -> Iterable[str]:
    named = ", ".join(_amount(name, amount) for name, amount in facts["left"].items())
    yield f"left of what it may use: {named}"


def _amount(dimension: str, amount: Any) -> str:
    match dimension:
        case "cost_usd_micros":
            return f"${amount / 1_000_000:.2f}"
        case "wall_s":
            return f"{amount} s of running"
        case "wall_ms":
            return f"{amount / 1000:.0f} s of running"
        case _:
            noun = dimension.replace("_", " ")
            return f"{amount} {noun.removesuffix('s') if amount == 1 else noun}"


def _options(facts: dict[str, Any]) -> Iterable[str]:
    """Each on a line of its own, with its number: an answer may name it so."""
    yield "it names these answers; your own words will do as well:"
    for number, one in enumerate(facts["options"][:LISTED], 1):
        yield f"  {number}. {one}"


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
    "options": _options,
    "exhausted": _exhausted,
    "share": _share,
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
    {
        "tried",
        "class",
        "policy",
        "signature",
        "spec_digest",
        "params_digest",
        "digest",
        "because",
        "by",
        "question",
        "limit",
    }
)
"""Facts that the summary or another sentence says already, or that are only compared."""
