"""The plan of a seed: the shape of its world, what people do and when, and which faults strike and when.

It is drawn before anything runs, so that parts of it can be left out while everything else is drawn as before. A plan is
a JSON file (`tenure sim run --plan FILE`)."""

from __future__ import annotations

import random
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from tenure.core.delivery import Terms
from tenure.sim.world.world import Shape

SPAN_S = 900.0
"""Faults and work fall into this much virtual time."""

ON_SQLITE = 4
"""One seed of so many has its record on the simulated disk; it takes three times as long as one in memory."""
ON_DISKS = 0.5
"""The share of seeds whose nodes' stores are on simulated disks."""

FAULTS: dict[str, int] = {
    "hub_crash": 8,
    "hub_stop": 2,
    "hub_freeze": 3,
    "hub_suspend": 2,
    "hub_clock": 3,
    "hub_power": 2,
    "store_fails": 4,
    "commit_fails": 3,
    "commit_lost": 4,
    "daemon_crash": 9,
    "daemon_stop": 2,
    "daemon_freeze": 5,
    "machine_crash": 4,
    "machine_suspend": 5,
    "node_clock": 2,
    "node_settings": 3,
    "runner_kill": 4,
    "runner_freeze": 3,
    "agent_kill": 3,
    "agent_freeze": 1,
    "store_lost": 1,
    "link_cut": 8,
    "link_loss": 6,
    "link_repeats": 6,
    "link_slow": 4,
    "forge_down": 4,
    "forge_loses_answers": 6,
    "forge_loses_requests": 3,
    "forge_limits": 3,
    "forge_slow": 4,
    "forge_refuses": 1,
    "forge_contradicts": 2,
}
"""Every kind of fault, and how often it is drawn against the others."""

ONLY_ON_DISKS = "store_fails"
"""Real files do not fail here."""

MOMENTS = (
    "enroll arrives", "claim arrives", "reply to claim", "acknowledge arrives", "reply to acknowledge", "renew arrives",
    "report arrives", "reply to report", "reconcile arrives", "effect arrives", "submit arrives", "cancel arrives",
    "answer arrives", "spawn", "runner takes its folder", "executes", "outcome recorded", "paused at the deadline",
    "apply", "forge makes", "find", "hub starts", "daemon starts", "tree of", "commit",
)  # fmt: skip
"""Words of the trace at which a fault may strike; a fault with one waits for it."""


class Fault(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`at_s`: from when on it may strike. `on`: the moment that it waits for (any, if empty). `steps`: so many callbacks of
    its victim later. `victim`: the number of a node, where it concerns one. `length_s`: how long it lasts. `size`: how
    much of it, from 0 to 1."""

    kind: str
    at_s: float
    on: str = ""
    steps: int = 0
    victim: int = 0
    length_s: float = 0.0
    size: float = 0.5


DEEDS = frozenset(
    {
        "submit", "submit_again", "cancel", "cancel_tree", "stop", "retry", "challenge", "pause", "limit", "schedule",
        "policy", "token", "guest",
    }
)  # fmt: skip
WAITS = ("after", "after", "after_end", "after_failure")


class Deed(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What people do: one of `DEEDS`. `name`: of the Task, the schedule or the token's holder. `fields`: of what is submitted.
    `after`: names of Tasks that it depends on, and `waits` how (a field of a `TaskRequest`). `subject`: what is paused, limited
    or given a policy. `length_s`: until it is taken back."""

    kind: str
    at_s: float
    name: str = ""
    after: tuple[str, ...] = ()
    fields: dict[str, Any] = {}
    subject: str = ""
    length_s: float = 0.0
    waits: str = "after"


class Plan(Struct, frozen=True, kw_only=True):
    seed: int
    shape: Shape
    deeds: tuple[Deed, ...]
    faults: tuple[Fault, ...]


def plan_of(seed: int, faults: int | None = None, kinds: tuple[str, ...] = ()) -> Plan:
    """The plan of a seed. `faults`: how many; None: as drawn (20 at least). `kinds`: of these only, if any are named."""
    chance = random.Random(f"{seed}/plan")  # noqa: S311 - no secret is made
    shape = _shape(chance, "memory" if seed % ON_SQLITE else "sqlite")
    if ONLY_ON_DISKS in kinds:
        shape = replace(shape, stores="disk")
    deeds = _deeds(chance, len(shape.nodes))
    count = faults if faults is not None else 28 + chance.randrange(16)
    shares = {one: FAULTS[one] for one in kinds or FAULTS if one != ONLY_ON_DISKS or shape.stores == "disk"}
    drawn = [_fault(chance, len(shape.nodes), shares) for _ in range(count)]
    return Plan(
        seed=seed,
        shape=shape,
        deeds=tuple(sorted((*deeds, *_desk_deeds(chance), _guest(seed)), key=lambda one: one.at_s)),
        faults=tuple(sorted(drawn, key=lambda one: one.at_s)),
    )


def _shape(chance: random.Random, ledger: str) -> Shape:
    nodes = chance.choice((1, 2, 2, 3, 3))
    terms = chance.choice(
        (
            Terms(),
            Terms(),
            Terms(offer_ttl_ms=3_000, lease_ttl_ms=9_000, suspect_grace_ms=10_000, cancel_grace_ms=10_000),
            Terms(lease_ttl_ms=20_000, suspect_grace_ms=5_000, cancel_grace_ms=30_000, max_offers=3),
        )
    )
    return Shape(
        nodes=tuple((chance.choice((1, 2, 4)), chance.choice((1, 1, 2))) for _ in range(nodes)),
        wrong_by_ms=tuple(
            0 if chance.random() < 0.6 else chance.randrange(-90_000, 90_000) for _ in range(nodes + 1)
        ),
        terms=terms,
        renew_every_s=min(10.0, terms.lease_ttl_ms / 3_000),
        ledger=ledger,
        stores="disk" if chance.random() < ON_DISKS else "files",
    )


def _deeds(chance: random.Random, nodes: int) -> tuple[Deed, ...]:
    found: list[Deed] = []
    names: list[str] = []
    for number in range(9 + chance.randrange(10)):
        name = f"work{number}"
        after = tuple(chance.sample(names, min(len(names), chance.choice((0, 0, 0, 1, 1, 2)))))
        at_s = 1.0 + chance.random() * SPAN_S * 0.7
        fields = _fields(chance, nodes)
        waits = chance.choice(WAITS)
        found.append(Deed(kind="submit", at_s=at_s, name=name, after=after, fields=fields, waits=waits))
        names.append(name)
        found += _follow_ups(chance, name, at_s)
    for _ in range(chance.randrange(3)):
        subject = chance.choice(("hub", "node:node1", "coder@node1", "project:default"))
        at_s = chance.random() * SPAN_S * 0.8
        found.append(Deed(kind="pause", at_s=at_s, subject=subject, length_s=chance.random() * 120))
    if chance.random() < 0.25:
        subject = chance.choice(("hub", "project:default"))
        at_s = chance.random() * SPAN_S * 0.7
        found.append(Deed(kind="limit", at_s=at_s, subject=subject, length_s=10 + chance.random() * 200))
    if chance.random() < 0.25:
        at_s = chance.random() * SPAN_S * 0.6
        found.append(Deed(kind="schedule", at_s=at_s, name="regular", length_s=60 + chance.random() * 300))
    return tuple(sorted(found, key=lambda one: one.at_s))


def _desk_deeds(chance: random.Random) -> list[Deed]:
    """What operators do beside the work: a policy for a while, a token for a while."""
    found: list[Deed] = []
    for kind, share, subject in (("policy", 0.2, "project:default"), ("token", 0.2, "")):
        if chance.random() < share:
            at_s, length_s = chance.random() * SPAN_S * 0.7, 10 + chance.random() * 200
            found.append(Deed(kind=kind, at_s=at_s, name="own", subject=subject, length_s=length_s))
    return found


def _guest(seed: int) -> Deed:
    """Somebody is there for a while whose token is bound to a project."""
    chance = random.Random(f"{seed}/guest")  # noqa: S311 - no secret is made
    at_s, length_s = 1 + chance.random() * SPAN_S * 0.5, 60 + chance.random() * SPAN_S * 0.4
    return Deed(kind="guest", at_s=at_s, name="guest", length_s=length_s)


def _follow_ups(chance: random.Random, name: str, at_s: float) -> list[Deed]:
    found: list[Deed] = []
    for kind, share in (
        ("cancel", 0.12),
        ("cancel_tree", 0.06),
        ("stop", 0.08),
        ("retry", 0.15),
        ("submit_again", 0.2),
        ("challenge", 0.1),
    ):
        if chance.random() < share:
            found.append(Deed(kind=kind, at_s=at_s + chance.random() ** 2 * 200, name=name))
    return found


def _fields(chance: random.Random, nodes: int) -> dict[str, Any]:
    """What a Task asks for, beside its objective."""
    to = chance.choice(("any", "any", "coder", "writer", f"coder@node{chance.randrange(nodes) + 1}"))
    fields: dict[str, Any] = {"to": to}
    if chance.random() < 0.6:
        fields["scope"] = {
            "kinds": ["comment", "pull_request", "label"],
            "targets": ["forge:*"],
            "branches": ["*"],
            "approval": chance.choice(([], [], ["pull_request"])),
        }
    for share, name, value in (
        (0.15, "approval", True),
        (0.3, "priority", chance.randrange(-5, 6)),
        (0.2, "concurrency_key", chance.choice(("staging", "production"))),
        (0.3, "budget", {"attempts": chance.randrange(1, 4)}),
        (0.15, "timeout_s", chance.randrange(5, 60)),
        (0.2, "checks", [{"name": "tests", "argv": ["true"]}]),
    ):
        fields |= {name: value} if chance.random() < share else {}
    if chance.random() < 0.25:
        fields["repository"] = "https://forge.example/acme/shop.git"
        fields["base_sha"] = "a" * 40
    for name, share, bound_s in (("not_before_s", 0.1, 120), ("deadline_s", 0.1, 600)):
        if chance.random() < share:
            fields[name] = 20 + chance.randrange(bound_s)
    return fields


def _fault(chance: random.Random, nodes: int, shares: dict[str, int]) -> Fault:
    kind = chance.choices(list(shares), list(shares.values()))[0]
    return Fault(
        kind=kind,
        at_s=round(5.0 + chance.random() * SPAN_S, 3),
        on=chance.choice(MOMENTS) if chance.random() < 0.6 else "",
        steps=chance.randrange(40) if chance.random() < 0.7 else 0,
        victim=chance.randrange(nodes + 1),
        length_s=round(0.05 + 150.0 * chance.random() ** 3, 3),
        size=round(chance.random(), 3),
    )
