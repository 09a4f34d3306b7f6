"""What the forge does wrong, and when.

A plan is a list of `ForgeFault`s, in a JSON file or added while it runs. Each request, in the order in which they arrive,
takes the first fault that fits it and is not used up. So that a plan means the same however requests interleave, a
fault names what it is for: an operation, and a text (`match`) in the request's path or body. `skip` passes over the
first so many that fit.

`seeded` makes a plan of a given share of operations: the same seed, the same plan."""

import asyncio
import random
from typing import Any

import msgspec

FAULTS = frozenset(
    {
        "lose_answer",  # the work is done, the connection is closed without a byte
        "lose_request",  # the connection is closed, nothing was done
        "cut_answer",  # the work is done, the connection is closed in the middle of the answer
        "late",  # the work is done at once, the answer comes after `ms`
        "late_work",  # the work is done only after `ms`, whoever still waits for it
        "twice",  # the answer, and then a second one that is garbage
        "error_before",  # `status` (500), nothing was done
        "error_after",  # `status` (500), the work was done
        "limit",  # 429 with Retry-After, nothing was done
        "secondary_limit",  # 403 as GitHub's secondary rate limit, nothing was done
        "busy",  # 503 with Retry-After, nothing was done
        "refuse",  # 422, nothing was done
        "duplicate",  # as if it were there already, nothing was done
        "lag",  # the work is done, lists do not show it for `ms`
        "redirect",  # 307 elsewhere, nothing was done
        "page",  # 200 and a page for people, nothing was done
        "page_after",  # the same, the work was done
        "unreadable",  # the work is done, its JSON is broken
        "held",  # nothing is done and nothing answered until the faults are cleared; then as if nothing had been
        "hang",  # no answer until the other side goes away; nothing was done
        "hang_after",  # the same, the work was done
        "flood",  # the work is done, the answer has 10 MB
    }
)
LOSING = (
    "lose_answer",
    "lose_request",
    "cut_answer",
    "error_before",
    "error_after",
    "page_after",
    "unreadable",
)


class ForgeFault(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """`operation`: `pull_request`, `comment`, `label`, `status`, `merge`, `http`, the same behind `find_`, or `*`.

    `branch`, where a branch is, must be named: it is asked before some calls only, so that a plan for all calls would
    mean another one depending on that."""

    operation: str
    fault: str
    match: str = ""
    skip: int = 0
    times: int = 1
    ms: int = 500
    status: int = 500

    def fits(self, operation: str, text: str) -> bool:
        of_it = (
            self.operation == operation
            or (self.operation == "*" and operation != "branch")
            or (self.operation == "find_*" and operation.startswith("find_"))
        )
        return of_it and self.match in text


class Plan:
    """The faults still to come, and those that were."""

    def __init__(self, faults: list[ForgeFault] | None = None) -> None:
        self.faults: list[ForgeFault] = []
        self.injected: list[dict[str, Any]] = []
        self.cleared = asyncio.Event()
        for fault in faults or []:
            self.add(fault)

    @staticmethod
    def of(text: bytes) -> "Plan":
        return Plan(msgspec.json.decode(text, type=list[ForgeFault]))

    def add(self, fault: ForgeFault) -> None:
        if fault.fault not in FAULTS:
            raise ValueError(f"{fault.fault!r} is none of {', '.join(sorted(FAULTS))}")
        self.faults.append(fault)

    def clear(self) -> None:
        """Nothing goes wrong from here on, and what was held goes on."""
        self.faults.clear()
        self.cleared.set()
        self.cleared = asyncio.Event()

    def take(self, operation: str, text: str) -> ForgeFault | None:
        for fault in self.faults:
            if not fault.fits(operation, text):
                continue
            if fault.skip > 0:
                fault.skip -= 1
                continue
            fault.times -= 1
            if fault.times <= 0:
                self.faults.remove(fault)
            self.injected.append({"operation": operation, "fault": fault.fault, "match": fault.match})
            return fault
        return None


def seeded(
    seed: int,
    operations: list[tuple[str, str]],
    share: float,
    faults: tuple[str, ...] = LOSING,
    most_ms: int = 500,
) -> list[ForgeFault]:
    """Faults for `share` of the operations (kind, a text that only this one has)."""
    chance = random.Random(seed)  # noqa: S311 - the same seed must make the same plan
    return [
        ForgeFault(operation=kind, match=text, fault=chance.choice(faults), ms=chance.randrange(20, most_ms))
        for kind, text in operations
        if chance.random() < share
    ]
