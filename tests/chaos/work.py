"""What the clients ask for: scripts of the agent (`agent.py`) and Tasks around them, drawn from a seed."""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path
from typing import Any

from msgspec import Struct

from tenure.core.budget import Budget
from tenure.core.scope import EffectKind, Scope
from tenure.wire.api import TaskRequest

AGENT = Path(__file__).with_name("agent.py")
POOL = "fleet"
KINDS = ("comment", "pull_request", "status", "http")
SCOPE = Scope(
    kinds=(EffectKind.PULL_REQUEST, EffectKind.COMMENT, EffectKind.STATUS, EffectKind.HTTP, EffectKind.PUSH),
    targets=("forge:quay/lamp", "hook:", "origin:quay/lamp"),
    branches=("tenure/*", "main"),
)
Step = list[Any]


def failed(failure_class: str, **more: Any) -> Step:
    return [
        "say",
        {"type": "result", "verdict": "failed", "class": failure_class, "summary": "as told", **more},
    ]


COMPLETED: Step = ["say", {"type": "result", "verdict": "completed", "summary": "as told"}]


def ends(chance: random.Random) -> list[Step]:
    """How a turn ends, mostly well."""
    bad: list[list[Step]] = [
        [["exit", 1]],
        [["exit", 75]],
        [["die"]],
        [failed("capacity", retry_after_s=1), ["exit", 75]],
        [failed("validation"), ["exit", 1]],
        [failed("conflict"), ["exit", 1]],
        [failed("authorization"), ["exit", 77]],
        [failed("configuration"), ["exit", 78]],
        [["say", {"type": "ask", "question": "This way or that?", "options": ["this", "that"]}]],
        [["say", {"type": "result", "verdict": "unknown", "summary": "cannot tell"}]],
        [["work", 600]],
        [["deaf"], ["work", 600]],
    ]
    return chance.choice(bad) if chance.random() < 0.3 else chance.choice(([COMPLETED], []))


def steps(chance: random.Random, *, pushes: bool) -> list[Step]:
    """One turn."""
    made: list[Step] = [["work", round(chance.choice((0.1, 0.5, 1.5, 4.0)), 1)]]
    if chance.random() < 0.15:
        made.append(["fork", 120])
    if chance.random() < 0.1:
        made.append(["deaf"])
    return [*made, *([["push"]] if pushes else ()), *ends(chance)]


class Place(Struct, frozen=True):
    """What the scripts of a run need to know. `limits_s`: the time limits that Tasks have."""

    witness: str
    source: str
    base_sha: str
    tenure: str
    limits_s: tuple[int, ...]


def task(chance: random.Random, op: str, place: Place, before: list[str]) -> TaskRequest:
    """A Task. `before`: Tasks that it may wait for. All of its Attempts ask for the same Effects, which happen once."""
    pushes = chance.random() < 0.15
    count = chance.choice((0, 1, 1, 2))
    effects: list[Step] = [["effect", kind] for kind in chance.sample(KINDS, count)]
    if chance.random() < 0.08:
        effects = [["command"]]
    # The last of them ends well, so that no task is refused for lack of room for ever.
    turns = [steps(chance, pushes=pushes), steps(chance, pushes=pushes), [["work", 0.2], COMPLETED]]
    turns = [[*turn[:1], *effects, *turn[1:]] for turn in turns]
    script = {"op": op, "tenure": place.tenure, "attempts": turns}
    relation: dict[str, Any] = {}
    if before and chance.random() < 0.25:
        name = chance.choices(("after", "after_end", "after_failure"), (4, 2, 1))[0]
        relation[name] = (chance.choice(before),)
    approval = chance.random() < 0.05
    scope = SCOPE
    if chance.random() < 0.06:
        scope = Scope(SCOPE.kinds, SCOPE.targets, SCOPE.branches, approval=SCOPE.kinds[:2])
    return TaskRequest(
        objective=f"{op} as its script says",
        to=chance.choice((POOL, POOL, POOL, "a", "b")),
        command=(sys.executable, "-S", "-E", str(AGENT), place.witness, json.dumps(script)),
        repository=place.source if pushes else None,
        base_sha=place.base_sha if pushes else None,
        timeout_s=chance.choice(place.limits_s),
        scope=scope,
        approval=approval,
        priority=chance.choice((0, 0, 0, 5)),
        concurrency_key="lock" if chance.random() < 0.05 else None,
        budget=Budget(attempts=6),
        labels={"op": op},
        **relation,
    )
