"""The plan of faults: which, when, on what and for how long, drawn from a seed. The same seed is the same plan."""

from __future__ import annotations

import random

from msgspec import Struct
from msgspec.structs import replace

NODES = ("n1", "n2", "n3")
LINKS = (*NODES, "provider", "clients")
LEASE_S = 4.0
GRACE_S = 3.0
LONG_S = LEASE_S + GRACE_S
GAP_S = (1.0, 4.0)
BRIEF_GAP_S = (0.3, 1.2)
BRIEF_S = 2.0

FORGE_FAULTS = (
    "lose_answer", "lose_request", "cut_answer", "error_before", "error_after", "late", "late_work", "twice", "page_after",
    "unreadable", "busy", "limit", "duplicate", "lag", "hang", "hang_after",
)  # fmt: skip
"""What the provider may do wrong by itself (`tenure.testing.forge.plan`)."""

DECK: tuple[tuple[str, str, int], ...] = (
    ("kill", "hub", 3),
    *(("kill", node, 1) for node in NODES),
    ("kill", "provider", 2),
    ("kill", "runner", 3),
    ("kill", "harness", 2),
    *(("machine", node, 1) for node in NODES),
    ("stop", "hub", 2),
    *(("stop", node, 1) for node in NODES),
    ("stop", "provider", 1),
    ("stop", "runner", 2),
    ("stop", "harness", 1),
    *((how, link, 1) for how in ("cut", "hole", "deaf", "slow") for link in LINKS),
    *(("lost", node, 1) for node in NODES),
    ("disk", "hub", 2),
    ("disk", "n1", 1),
    ("clock", "hub", 2),
    *(("clock", node, 1) for node in NODES),
    ("starve", "hub", 1),
    *(("starve", node, 1) for node in NODES),
    ("forge", "provider", 6),
)
"""Kind, target, and how often it lies in the deck that is dealt again and again."""
KINDS = tuple(dict.fromkeys(kind for kind, _, _ in DECK))


class Fault(Struct, frozen=True):
    """One fault. `value`: by how many seconds a clock is moved, how slow a link is, which of several processes is meant
    (from 0 to 1), or what the provider does wrong."""

    number: int
    at_s: float
    kind: str
    target: str
    for_s: float
    value: float = 0.0
    what: str = ""


def plan(seed: int, seconds: float, *, brief: bool = False) -> list[Fault]:
    """Every card of the deck comes up before any comes up again, so that a long run meets each kind about equally often.
    `brief`: more often, and none lasts."""
    chance = random.Random(seed)
    made: list[Fault] = []
    cards: list[tuple[str, str]] = []
    gap_s, most_s = (BRIEF_GAP_S, BRIEF_S) if brief else (GAP_S, float("inf"))
    at_s = chance.uniform(*gap_s)
    while at_s < seconds:
        if not cards:
            cards = [(kind, target) for kind, target, times in DECK for _ in range(times)]
            chance.shuffle(cards)
        one = drawn(chance, len(made), at_s, *cards.pop())
        made.append(replace(one, for_s=min(one.for_s, most_s)))
        at_s += chance.uniform(*gap_s)
    return made


def drawn(chance: random.Random, number: int, at_s: float, kind: str, target: str) -> Fault:
    """One card, with how long and how much."""
    for_s, value, what = 0.0, chance.random(), ""
    if kind in ("kill", "machine"):
        for_s = chance.choice((0.0, 0.2, 1.0, 3.0, LONG_S + 1))
    elif kind in ("stop", "cut", "hole", "deaf", "lost"):
        for_s = chance.choice((0.5, LEASE_S - 1, LEASE_S + 1, LONG_S + 2))
    elif kind == "slow":
        for_s, value = chance.uniform(3, 8), chance.choice((0.05, 0.3, 1.0))
    elif kind == "disk":
        for_s = chance.uniform(1, LEASE_S + 2)
    elif kind == "clock":
        value = chance.choice((-3600, -90, -5, -1, 1, 5, 90, 3600, 86_400))
    elif kind == "starve":
        for_s = chance.uniform(2, LEASE_S + 2)
    elif kind == "forge":
        what, value = chance.choice(FORGE_FAULTS), float(chance.choice((100, 700, 2500)))
    return Fault(number, round(at_s, 3), kind, target, round(for_s, 3), value, what)
