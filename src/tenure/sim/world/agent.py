"""What agents do: a script for each execution, drawn from the seed, the Task and the number of its Attempt.

An agent works for a while, asks for Effects through the hub's agent API (and repeats what it got no answer to, under the
same key), says a result, and exits; or it fails in one of the ways that agents fail. It obeys a cancel, or ignores it until
it is killed. It knows nothing of leases: what stops it is its runner."""

from __future__ import annotations

import json
import random
from collections.abc import Awaitable, Callable
from typing import Any

from msgspec import Struct

from tenure.core.scope import EffectKind
from tenure.errors import (
    ConflictError,
    OutcomeUnknownError,
    StaleFenceError,
    TenureError,
    UnauthenticatedError,
    UnavailableError,
)
from tenure.sim.world.loop import pause
from tenure.wire.effects import EffectBody, EffectRequest

TARGET = "forge:acme/shop"
TRIES = 6
ENDS = (
    ("completed", 52),
    ("failed", 8),
    ("capacity", 8),
    ("validation", 6),
    ("authorization", 3),
    ("configuration", 3),
    ("conflict", 4),
    ("asked", 5),
    ("crash", 7),
    ("silent", 4),
)
"""How a script ends, and how often of a hundred. `silent`: exit 0 without a word."""

Perform = Callable[[EffectRequest], Awaitable[EffectBody]]


class Act(Struct, frozen=True, kw_only=True):
    """`work_s`: what it does first. `effect`: what it asks for then."""

    work_s: float
    effect: EffectRequest | None = None


class Script(Struct, frozen=True, kw_only=True):
    """`exit_code` or `signal` is how the process ends; `result` the line it says before. `obeys_s`: how long it takes to end
    when it is asked to; None: until it is killed."""

    acts: tuple[Act, ...]
    exit_code: int | None = 0
    signal: int | None = None
    result: str | None = None
    obeys_s: float | None = 0.5

    @property
    def end(self) -> str:
        return self.result or f"exit {self.exit_code} signal {self.signal}"


def script_of(chance: random.Random, task: str, task_id: str, number: int, *, may_act: bool) -> Script:
    """What the agent of this Attempt does. `task`: a name that is the same in each play of the seed."""
    acts = [Act(work_s=_work_s(chance))]
    if may_act:
        counts = range(chance.choice((0, 1, 1, 2, 3)))
        acts += [
            Act(work_s=_work_s(chance) / 3, effect=_effect(chance, task, task_id, count)) for count in counts
        ]
    end = chance.choices([name for name, _ in ENDS], [share for _, share in ENDS])[0]
    if number > 2 and chance.random() < 0.7:
        end = "completed"
    code, signal, result = _end(end, chance)
    obeys = chance.random()
    return Script(
        acts=tuple(acts),
        exit_code=code,
        signal=signal,
        result=result,
        obeys_s=None if obeys < 0.15 else 8.0 * obeys * obeys,
    )


async def play(script: Script, perform: Perform) -> None:
    """Until it would exit."""
    for act in script.acts:
        await pause(act.work_s)
        if act.effect is not None and not await performed(act.effect, perform):
            return


async def performed(asked: EffectRequest, perform: Perform) -> bool:
    """Asks until it is answered, a few times. False where the agent is told to stop."""
    for _ in range(TRIES):
        try:
            body = await perform(asked)
        except (StaleFenceError, UnauthenticatedError, ConflictError):
            return False
        except (OutcomeUnknownError, UnavailableError) as error:
            await pause(float(error.facts.get("retry_after_s") or 1.0))
            continue
        except TenureError:
            return True  # it goes on without
        if body.state in ("confirmed", "absent"):
            return True
        await pause(3.0)
    return True


def _work_s(chance: random.Random) -> float:
    return 0.2 + 45.0 * chance.random() ** 3


def _effect(chance: random.Random, task: str, task_id: str, count: int) -> EffectRequest:
    kind = chance.choice((EffectKind.COMMENT, EffectKind.COMMENT, EffectKind.PULL_REQUEST, EffectKind.LABEL))
    params: dict[str, Any]
    if kind is EffectKind.COMMENT:
        params = {"number": 7, "body": f"done {count} of {task}"}
    elif kind is EffectKind.PULL_REQUEST:
        params = {"head": f"work/{task}", "base": "main", "title": f"The work of {task}"}
    else:
        params = {"number": 7, "labels": [task[:30]]}
    key = f"{task_id}-{count}" if chance.random() < 0.5 else None
    wait_s = chance.choice((0.0, 5.0, 45.0))
    return EffectRequest(kind=kind, target=TARGET, params=params, key=key, wait_s=wait_s)


def _end(end: str, chance: random.Random) -> tuple[int | None, int | None, str | None]:
    if end == "crash":
        return None, chance.choice((9, 11)), None
    if end == "silent":
        return 0, None, None
    if end == "asked":
        return 0, None, json.dumps({"type": "ask", "question": "which of the two is meant?"})
    if end == "completed":
        return 0, None, json.dumps({"type": "result", "verdict": "completed", "summary": "it is done"})
    said: dict[str, Any] = {"type": "result", "verdict": "failed", "summary": f"it failed: {end}"}
    if end != "failed":
        said["class"] = end
    if end == "capacity":
        said["retry_after_s"] = chance.choice((2, 20, 60))
    return 1, None, json.dumps(said)
