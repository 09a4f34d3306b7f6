"""Why a transition never happens in any of the worlds, or never after some fault.

Each line says it once for all the cells that it covers. A cell that is zero and that no line covers is a problem, and so is
a line that covers no zero any more."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import NamedTuple

from tenure.sim.explore.hits import Hits


class Why(NamedTuple):
    """`kinds` and `faults` are patterns with `*`."""

    kinds: tuple[str, ...]
    faults: tuple[str, ...]
    because: str


ALWAYS = ("*",)
ZEROS: tuple[Why, ...] = (
    Why(
        ("node_enrolled", "policy_*", "task_submitted"),
        ALWAYS,
        "a world begins with its nodes, its policies and its Tasks; the commands that make them are judged there as well",
    ),
    Why(
        ("schedule_*", "occurrence*", "webhook_*"),
        ALWAYS,
        "calendar and webhooks only submit Tasks, and those are there from the beginning",
    ),
    Why(
        ("credential_*", "node_credential_renewed"),
        ALWAYS,
        "people speak without a token here; the one thing that `core` decides by it is that what a revoked one says is refused whole "
        "and changes nothing (tests/security/test_revocation.py and the simulator, where tokens are issued, rotated and revoked)",
    ),
    Why(
        ("account_set", "budget_reserved", "budget_settled", "paused", "resumed"),
        ALWAYS,
        "no account has a budget here and nothing is paused: both only keep a claim from a Task, as a taken unit does",
    ),
    Why(
        ("attention_assigned", "attention_notified", "attention_snoozed", "hub_attention_*"),
        ALWAYS,
        "who looks at a question and who was told of it moves nothing; the hub's own questions are about calendar and clock",
    ),
    Why(
        ("challenge*",),
        ALWAYS,
        "a challenge is made of a Task that has ended, and holds back only those that wait for it",
    ),
    Why(
        ("attempt_started",),
        ALWAYS,
        "renewals here do not say that the harness runs; only `why` and the refusal of a hand-back read it",
    ),
    Why(
        ("deadline_passed",),
        ALWAYS,
        "no Task has a deadline here: passed, it is a stop, and those are explored",
    ),
    Why(("circuit_extended",), ALWAYS, "it takes a second Task that meets the same provider without room"),
    Why(
        ("effect_adopted",),
        ALWAYS,
        "there is one Effect under one key; a second key for it needs a second Task",
    ),
    Why(("dependency_moot",), ALWAYS, "no Task here is to run only where another one fails"),
    Why(("handed_back",), ("none",), "without a fault whatever was received is started"),
    Why(
        ("node_*",),
        ("none",),
        "a daemon starts again, is quarantined or forgotten only after something has become of it",
    ),
    Why(("hub_started",), ("hub restart",), "in each world the hub starts again at most once"),
    Why(
        ("attempt_approved",),
        ("daemon crash",),
        "the word comes before the first grant, when a daemon has nothing to lose",
    ),
)


def zeros_of(hits: Hits) -> list[tuple[str, str]]:
    """Every cell that is zero."""
    return [(kind, fault) for kind, row in hits.events.items() for fault, times in row.items() if not times]


def is_apart(hits: Hits, kind: str, fault: str) -> bool:
    """Does it happen, but only in worlds that do not have this fault?"""
    return kind in hits.possible and fault not in hits.possible[kind]


def covers(line: Why, kind: str, fault: str) -> bool:
    return any(fnmatchcase(kind, one) for one in line.kinds) and any(
        fnmatchcase(fault, one) for one in line.faults
    )


def problems(hits: Hits) -> list[str]:
    """What is wrong with the lines: zeros that none explains, and lines that explain none."""
    zeros = [one for one in zeros_of(hits) if not is_apart(hits, *one)]
    bare = [one for one in zeros if not any(covers(line, *one) for line in ZEROS)]
    found = [f"not explained: {kind} never happens after {fault}" for kind, fault in bare]
    stale = [line for line in ZEROS if not any(covers(line, *one) for one in zeros)]
    return found + [
        f"explains no zero: {', '.join(line.kinds)} after {', '.join(line.faults)}" for line in stale
    ]


def explained(hits: Hits) -> list[str]:
    """Each explanation with how many zeros it covers first."""
    zeros = zeros_of(hits)
    left = [one for one in zeros if not is_apart(hits, *one)]
    found = [f"{len(zeros) - len(left):4} zeros: it happens, and only in worlds that do not have the fault"]
    for line in ZEROS:
        mine = [one for one in left if covers(line, *one)]
        left = [one for one in left if one not in mine]
        found.append(
            f"{len(mine):4} zeros: {', '.join(line.kinds)} after {', '.join(line.faults)}: {line.because}"
        )
    return found
