"""The end of a run held against what really happened: each check gives a sentence for each thing that is wrong."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from msgspec import Struct

from tenure.wire.api import AttemptBody, EventBody, TaskBody
from tenure.wire.attention import AttentionBody
from tenure.wire.effects import EffectBody
from tests.chaos.outside import op_of
from tests.chaos.provider import whole_lines

REPORTED_WORDS = {"completed": ("completed", "exit 0")}
"""By which last words of the agent a verdict may have come."""


class Final(Struct, frozen=True):
    """Everything as it was read once the fleet was at rest."""

    tasks: dict[str, TaskBody]
    attempts: dict[str, tuple[AttemptBody, ...]]
    effects: tuple[EffectBody, ...]
    items: tuple[AttentionBody, ...]
    events: tuple[EventBody, ...]


def all_checks(
    final: Final, witness: Path, done: Counter[tuple[str, str]], person_read: dict[str, str]
) -> dict[str, list[str]]:
    """What is wrong, by check."""
    marks = whole_lines(witness)
    bodies = [(one.kind, json.loads(bytes(one.body)), one) for one in final.events]
    return {
        "effects": effects_once(final.effects, done),
        "starts": starts_once(marks, bodies),
        "verdicts": verdicts_true(final, marks),
        "unknowns": unknowns_listed(bodies, final.items, person_read),
        "rest": at_rest(final),
    }


def effects_once(effects: tuple[EffectBody, ...], done: Counter[tuple[str, str]]) -> list[str]:
    """Each at the provider exactly as often as the record says: once if it is confirmed, never if it is absent."""
    states: dict[tuple[str, str], set[str]] = defaultdict(set)
    for one in effects:
        states[op_of(bytes(one.params).decode()), one.kind].add(one.state)
    problems = [f"{op} {kind} was done {times} times" for (op, kind), times in done.items() if times > 1]
    for (op, kind), said in states.items():
        there = done[op, kind]
        if "confirmed" in said and not there:
            problems.append(f"{op} {kind} is confirmed, and is not there")
        elif "confirmed" not in said and there:
            problems.append(f"{op} {kind} was done, and the record says {', '.join(sorted(said))}")
    problems += [
        f"{op} {kind} was done, and nobody asked for it" for op, kind in done if (op, kind) not in states
    ]
    return problems


def starts_once(marks: list[dict[str, Any]], bodies: list[tuple[str, Any, EventBody]]) -> list[str]:
    """The agent began at most once for each Delivery, and only for one whose receipt stands and that was not handed back."""
    starts = Counter(one["delivery"] for one in marks if one["mark"] == "start")
    acknowledged = {body["delivery_id"] for kind, body, _ in bodies if kind == "delivery_acknowledged"}
    gone = {body["delivery_id"]: kind for kind, body, _ in bodies if kind in ("handed_back", "grant_voided")}
    problems = [f"the agent began {times} times for {one}" for one, times in starts.items() if times > 1]
    for one in starts:
        if one not in acknowledged:
            problems.append(f"the agent began for {one}, whose receipt was never accepted")
        if one in gone:
            problems.append(f"the agent began for {one}, which then was {gone[one]}")
    return problems


def verdicts_true(final: Final, marks: list[dict[str, Any]]) -> list[str]:
    """No guess: `completed` only where the agent itself came to its end, and a reported verdict only where it ran."""
    ends: dict[tuple[str, int], set[str]] = defaultdict(set)
    for one in marks:
        if one["mark"] == "end":
            ends[one["task"], one["attempt"]].add(one["word"])
    problems: list[str] = []
    for task_id, attempts in final.attempts.items():
        for one in attempts:
            allowed = REPORTED_WORDS.get(one.verdict or "")
            if allowed and not ends[task_id, one.number] & set(allowed):
                said = ", ".join(sorted(ends[task_id, one.number])) or "nothing"
                problems.append(f"{task_id}/{one.number} is {one.verdict}, and its agent last said {said}")
    return problems


def unknowns_listed(
    bodies: list[tuple[str, Any, EventBody]], items: tuple[AttentionBody, ...], person_read: dict[str, str]
) -> list[str]:
    """Each Attempt that ended without a report is `unknown` and had a question of its own, which the person read or which
    was closed before that could be."""
    told = {one.subject: one for one in items if one.kind == "unknown"}
    problems: list[str] = []
    for kind, body, event in bodies:
        unknown = kind == "lease_revoked" or (
            kind == "report_recorded" and body["outcome"].get("verdict") == "unknown"
        )
        if not unknown:
            continue
        subject = f"{event.stream}/{body['number']}"
        item = told.get(subject)
        if item is None:
            problems.append(f"{subject} ended as unknown, and nobody was asked")
        elif item.item_id not in person_read and item.open:
            problems.append(
                f"{subject} is unknown, its question is open and was not on the list that the person read"
            )
    return problems


def at_rest(final: Final) -> list[str]:
    """Every Task has ended, nothing is asked any more, no Effect is open."""
    problems = [
        f"{one.task_id} is {one.state} ({one.why.code}: {one.why.sentence})"
        for one in final.tasks.values()
        if one.ended_at is None
    ]
    problems += [f"still asked: {one.item_id} {sorted(one.answers)}" for one in final.items if one.open]
    problems += [
        f"{one.effect_id} of {one.task_id} is {one.state}"
        for one in final.effects
        if one.state not in ("confirmed", "absent")
    ]
    return problems
