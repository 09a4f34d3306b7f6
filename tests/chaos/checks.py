"""The end of a run held against what really happened: each check gives a sentence for each thing that is wrong.

What can be told from the history alone is not here: `tenure.sim.checkers` judges that."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from msgspec import Struct

from tenure.wire.api import AttemptBody, EventBody, TaskBody
from tenure.wire.attention import AttentionBody
from tenure.wire.effects import EffectBody
from tests.chaos.outside import op_of
from tests.chaos.provider import whole_lines

REPORTED_WORDS = {"completed": ("completed", "exit 0"), "asked": ("ask",)}
"""By which last words of the agent a verdict may have come."""
SAID = frozenset({"as told", "cannot tell"})
"""Summaries that only the agent gives (`work.py`), whatever verdict was made of it."""


class Final(Struct, frozen=True):
    """Everything as it was read once the fleet was at rest."""

    tasks: dict[str, TaskBody]
    attempts: dict[str, tuple[AttemptBody, ...]]
    effects: tuple[EffectBody, ...]
    items: tuple[AttentionBody, ...]
    events: tuple[EventBody, ...]


def all_checks(final: Final, witness: Path, done: Counter[tuple[str, str]]) -> dict[str, list[str]]:
    """What is wrong, by check."""
    return {
        "counts at the provider": effects_once(final.effects, done),
        "verdicts of the agents": verdicts_true(final, whole_lines(witness)),
        "at rest": at_rest(final),
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


def verdicts_true(final: Final, marks: list[dict[str, Any]]) -> list[str]:
    """No guess: `completed` and `asked` only where the agent itself came to that end, and a verdict by the agent's own word only
    where it ran."""
    ends: dict[tuple[str, int], set[str]] = defaultdict(set)
    ran = {(one["task"], one["attempt"]) for one in marks if one["mark"] == "start"}
    for one in marks:
        if one["mark"] == "end":
            ends[one["task"], one["attempt"]].add(one["word"])
    problems: list[str] = []
    for task_id, attempts in final.attempts.items():
        for one in attempts:
            if one.summary in SAID and (task_id, one.number) not in ran:
                problems.append(
                    f"{task_id}/{one.number} is {one.verdict} by the word of its agent, which never ran"
                )
                continue
            allowed = REPORTED_WORDS.get(one.verdict or "")
            if allowed and not ends[task_id, one.number] & set(allowed):
                said = ", ".join(sorted(ends[task_id, one.number])) or "nothing"
                problems.append(f"{task_id}/{one.number} is {one.verdict}, and its agent last said {said}")
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
