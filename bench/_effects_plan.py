"""What the fault run does: operations, and for each the faults that it meets, from a seed alone.

A *scenario* is what happens to one operation: what the provider does to its requests, and where the hub or the worker
dies, stops or says it twice. Every hundred operations hold each scenario once, in an order of the seed's, and the rest
of them meet nothing. Names of points: `hub-STEP:before|during|after`, `die-STEP:…` of a worker, `pause-…`, `twice-…`.

What a plain retrying worker meets is the same: its own name for the place at which the process that calls dies
(`plain`). It looks nothing up, so points of looking up are none for it; what led there stays."""

from __future__ import annotations

import hashlib
import random
import re
from typing import Any

from msgspec import Struct

from bench._effects_points import ANY
from tenure.core.scope import EffectKind

BLOCK = 100
CALL_S, SETTLING_S = 1.2, 0.6
"""How long a call may take, and the provider's settling time. A real hub has 30 s; here time is what the run costs."""
NAME = re.compile(r"op-\d{4}")
REPOSITORY = "bench/shop"
MIX = (EffectKind.PULL_REQUEST,) * 4 + (EffectKind.COMMENT,) * 3 + (EffectKind.STATUS,) * 2
HTTP_OF_A_BLOCK = 12
LOOKED_UP = "find"
SPARES_FROM, SPARES_OF_A_CELL = 5_000, 500

Provider = tuple[tuple[str, str, int], ...]
"""What the provider does: `work` or `find`, the fault, its milliseconds."""


class Scenario(Struct, frozen=True):
    """`finds`: it makes sense only where the provider can be asked."""

    name: str
    provider: Provider = ()
    points: tuple[str, ...] = ()
    plain: tuple[str, ...] = ()
    finds: bool = False


class Operation(Struct, frozen=True):
    name: str
    kind: EffectKind
    scenario: Scenario

    @property
    def number(self) -> int:
        return int(self.name.partition("-")[2])

    @property
    def sha(self) -> str:
        return hashlib.sha1(self.name.encode()).hexdigest()

    @property
    def finds(self) -> bool:
        return self.kind is not EffectKind.HTTP

    @property
    def target(self) -> str:
        return f"forge:{REPOSITORY}" if self.finds else "hook:"

    @property
    def params(self) -> dict[str, Any]:
        match self.kind:
            case EffectKind.PULL_REQUEST:
                return {"head": f"tenure/{self.name}", "base": "main", "title": f"change of {self.name}"}
            case EffectKind.COMMENT:
                return {"number": self.number + 1, "body": f"this is {self.name}"}
            case EffectKind.STATUS:
                return {"sha": self.sha, "context": self.name, "state": "success"}
            case _:
                return {"body": f'{{"about": "{self.name}"}}'}

    @property
    def faults(self) -> list[dict[str, Any]]:
        """For the forge's plan. A request is recognised by what only this operation has in it."""
        found = {
            EffectKind.PULL_REQUEST: f"tenure%2F{self.name}",
            EffectKind.COMMENT: f"/issues/{self.number + 1}/comments",
            EffectKind.STATUS: f"/commits/{self.sha}/",
        }
        return [
            {
                "operation": f"find_{self.kind}" if what == LOOKED_UP else str(self.kind),
                "match": found.get(self.kind, self.name) if what == LOOKED_UP else self.name,
                "fault": fault,
                "ms": ms,
            }
            for what, fault, ms in self.scenario.provider
        ]


def did(*faults: str, ms: int = 0) -> Provider:
    return tuple(("work", one, ms) for one in faults)


LOST, NEVER = did("lose_answer"), did("lose_request")
SLOW = did("late", ms=700)
BEYOND_MS = round(CALL_S * 1000) + 400
"""After the caller has given up, and before the provider has settled."""


def _of_provider() -> list[Scenario]:
    one = Scenario
    return [
        one("provider loses the answer", LOST),
        one("provider loses the request", NEVER),
        one("provider breaks off in the answer", did("cut_answer")),
        one("provider answers late", SLOW),
        one("provider answers too late", did("late", ms=BEYOND_MS)),
        one("provider works late", did("late_work", ms=700)),
        one("provider works after the caller gave up", did("late_work", ms=BEYOND_MS)),
        one("provider answers twice", did("twice")),
        one("provider fails before the work (500)", did("error_before")),
        one("provider fails after the work (500)", did("error_after")),
        one("provider limits the rate (429)", did("limit")),
        one("provider is busy (503)", did("busy")),
        one("provider says no once (422)", did("refuse")),
        one("provider says it is there, and it is not", did("duplicate"), finds=True),
        one("provider hangs", did("hang")),
        one("provider hangs after the work", did("hang_after")),
        one("provider answers what nobody can read", did("unreadable")),
        one("provider loses three requests in a row", did("lose_request", "error_before", "lose_request")),
        one("answer lost, then no lookup answered", (*LOST, ("find", "error_before", 0)), finds=True),
    ]


def _of_hub() -> list[Scenario]:
    made = [
        *_sides("submit"),
        *_sides("claim", "take"),
        *_sides("ack", "call:before"),
        *_sides("renew", "call:before"),
        *_sides("begin", "call:before"),
        *_sides("issue", "call:before"),
        *_sides("settle", "call:after", "done:before"),
        *_sides("report", "done:before", "done:after"),
        *_sides("expire", "call:before", first="die-ack:after"),
        *_sides("revoke", "call:before", first="die-ack:after"),
        *_sides("rerun", "call:before", first="die-ack:after"),
        *_sides("doubt", "call:after", first="hub-call:after", finds=True),
        *_sides("find", provider=LOST, finds=True),
        *_sides("lookup", provider=LOST, finds=True),
        *_sides("absence", provider=NEVER, finds=True),
    ]
    call = (("before", "call:before", ()), ("during", "call:sent", SLOW), ("after", "call:after", ()))
    for side, plain, provider in call:
        made.append(Scenario(f"hub dies {side} call", provider, (f"hub-call:{side}",), (f"die-{plain}",)))
    lagging = did("lag", ms=400)
    made.append(
        Scenario(
            "hub dies after call, search lags", lagging, ("hub-call:after",), ("die-call:after",), finds=True
        )
    )
    made.append(
        Scenario("hub stands still before call", (), ("hub-stop-call:before",), ("pause-call:before",))
    )
    return made


def _sides(
    step: str, *plain: str, first: str | None = None, provider: Provider = (), finds: bool = False
) -> list[Scenario]:
    """The hub dies on each side of a commit or lookup. `plain` is where a plain worker dies then: on both sides, or
    one for each."""
    names = plain or (None, None)
    each = names * 2 if len(names) == 1 else names
    before = (first,) if first else ()
    return [
        Scenario(
            f"hub dies {side} {step}",
            provider,
            (*before, f"hub-{step}:{side}"),
            (f"die-{where}",) if where else (),
            finds,
        )
        for side, where in zip(("before", "after"), each, strict=True)
    ]


def _of_worker() -> list[Scenario]:
    dies = {
        "claim:before": "take",
        "claim:sent": "take",
        "claim:after": "call:before",
        "ack:sent": "call:before",
        "ack:after": "call:before",
        "effect:before": "call:before",
        "effect:sent": "call:sent",
        "effect:after": "done:before",
        "report:before": "done:before",
        "report:sent": "done:after",
        "report:after": "done:after",
    }
    stops = {"ack:after": "call:before", "effect:sent": "call:sent", "effect:after": "done:before"}
    said = {"claim": (), "ack": (), "effect": ("twice",), "report": ()}
    return [
        *(Scenario(f"worker dies at {at}", (), (f"die-{at}",), (f"die-{to}",)) for at, to in dies.items()),
        *(
            Scenario(f"worker stops past its lease at {at}", (), (f"pause-{at}",), (f"pause-{to}",))
            for at, to in stops.items()
        ),
        *(
            Scenario(f"worker says its {what} twice", (), (f"twice-{what}",), plain)
            for what, plain in said.items()
        ),
        Scenario("worker stops, provider is slow", SLOW, ("pause-effect:sent",), ("pause-call:sent",)),
    ]


QUIET = Scenario("nothing")
SCENARIOS = (*_of_provider(), *_of_hub(), *_of_worker())


def operations(seed: int, count: int) -> list[Operation]:
    """The same ones for the same seed; in each hundred every scenario once."""
    made: list[Operation] = []
    for block in range(0, count, BLOCK):
        chance = random.Random(f"{seed}:{block}")
        size = min(BLOCK, count - block)
        scenarios = [*SCENARIOS, *[QUIET] * (size - len(SCENARIOS))]
        chance.shuffle(scenarios)
        scenarios = scenarios[:size]
        able = [number for number, one in enumerate(scenarios) if not one.finds]
        http = set(chance.sample(able, min(HTTP_OF_A_BLOCK * size // BLOCK, len(able))))
        made += [
            Operation(
                f"op-{block + number:04d}",
                EffectKind.HTTP if number in http else chance.choice(MIX),
                scenario,
            )
            for number, scenario in enumerate(scenarios)
        ]
    return made


def only(names: list[str], seed: int) -> list[Operation]:
    """One operation for each of these scenarios."""
    known = {one.name: one for one in SCENARIOS}
    chance = random.Random(seed)
    return [Operation(f"op-{n:04d}", chance.choice(MIX), known[name]) for n, name in enumerate(names)]


def spare(number: int, scenario: Scenario) -> Operation:
    """A further operation, for a scenario that another one's death has kept an operation from."""
    name = f"op-{number:04d}"
    return Operation(name, random.Random(name).choice(MIX), scenario)


def points_of(operation: Operation) -> list[str]:
    """The files that arm its points."""
    return [armed_name(operation, point, UNNAMED) for point in operation.scenario.points]


def armed_name(operation: Operation, point: str, unnamed: tuple[str, ...]) -> str:
    """Whoever asks for work does not know yet for what: such a point only counts for the operation."""
    return f"{ANY if point in unnamed else ''}{operation.name}.{point}"


UNNAMED = ("die-claim:before", "die-claim:sent", "twice-claim")
