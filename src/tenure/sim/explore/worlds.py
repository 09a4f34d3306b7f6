"""The worlds that are explored to their end: each asks one question with as little beside it as can be."""

from __future__ import annotations

from msgspec.structs import replace

from tenure.sim.explore.bounds import Bound, NamedWorld

ALL = ("rerun", "retire", "accept", "investigate")

_WORLDS = (
    NamedWorld(
        "tiny",
        "one grant: a cancel, a crash of the daemon, a death of the runner",
        Bound(grants=1, cancel=True, daemon_crashes=1, runner_deaths=1),
    ),
    NamedWorld(
        "core",
        "two nodes, two grants, a renewal, a cancel, both crashes",
        Bound(nodes=2, renewals=1, cancel=True, daemon_crashes=1, runner_deaths=1, verdicts=("completed",)),
    ),
    NamedWorld(
        "failures",
        "two grants, a renewal, a cancel, both crashes, and what fails by itself",
        Bound(renewals=1, cancel=True, daemon_crashes=1, runner_deaths=1),
    ),
    NamedWorld(
        "three grants",
        "two nodes, three grants, a crash of the daemon",
        Bound(nodes=2, grants=3, daemon_crashes=1, verdicts=("failed",)),
    ),
    NamedWorld(
        "two renewals",
        "two renewals, a cancel, both crashes",
        Bound(renewals=2, cancel=True, daemon_crashes=1, runner_deaths=1),
    ),
    NamedWorld(
        "duplicates",
        "the network repeats everything that was ever sent",
        Bound(renewals=1, cancel=True, daemon_crashes=1, duplicates=True, verdicts=("completed",)),
    ),
    NamedWorld(
        "effect",
        "an Effect that may be called twice, two nodes, a cancel, a restart of the hub",
        Bound(
            nodes=2,
            effect=True,
            calls=2,
            cancel=True,
            hub_restarts=1,
            verdicts=("failed",),
            answers=("rerun", "retire"),
        ),
    ),
    NamedWorld(
        "effect, renewals",
        "an Effect, a renewal, a cancel, a restart of the hub",
        Bound(
            effect=True,
            renewals=1,
            hub_restarts=1,
            cancel=True,
            verdicts=("completed",),
            answers=("rerun", "retire"),
        ),
    ),
    NamedWorld(
        "effect, crashes",
        "an Effect, crashes of daemon, runner and hub",
        Bound(
            effect=True,
            daemon_crashes=1,
            runner_deaths=1,
            hub_restarts=1,
            verdicts=("failed",),
            answers=("rerun", "retire"),
        ),
    ),
    NamedWorld(
        "effect, suspend",
        "an Effect, two nodes, a deadline that passes in a suspend",
        Bound(nodes=2, effect=True, renewals=1, suspends=1, verdicts=("completed",)),
    ),
    NamedWorld(
        "effect, provider",
        "a provider that refuses, is away or contradicts itself",
        Bound(
            effect=True,
            provider_says_no=True,
            provider_is_away=True,
            provider_contradicts=True,
            hub_restarts=1,
            verdicts=("failed",),
            answers=("retire",),
        ),
    ),
    NamedWorld(
        "effect approval",
        "an Effect that a person must allow",
        Bound(
            shape="effect_approved",
            effect=True,
            approve=True,
            cancel=True,
            verdicts=("failed",),
            answers=("rerun", "retire"),
        ),
    ),
    NamedWorld(
        "disk lost",
        "a store is lost and comes back under the same name; late snapshots",
        Bound(
            nodes=2,
            renewals=1,
            disks_lost=1,
            snapshots=1,
            verdicts=("completed",),
            answers=("rerun", "retire"),
        ),
    ),
    NamedWorld(
        "snapshots",
        "snapshots before and after a crash, trees that are not proven gone",
        Bound(snapshots=1, daemon_crashes=1, runner_deaths=1, verdicts=("completed", "unknown_left")),
    ),
    NamedWorld(
        "node never returns",
        "a machine that never comes back, its runners dead or alive",
        Bound(nodes=2, renewals=1, machines_gone=1, cancel=True, answers=ALL),
    ),
    NamedWorld(
        "daemon restarts twice",
        "a renewal, a cancel, and two crashes of the daemon",
        Bound(renewals=1, cancel=True, daemon_crashes=2),
    ),
    NamedWorld(
        "clone",
        "a copy of a disk boots beside the original",
        Bound(clones=1, cancel=True),
    ),
    NamedWorld(
        "clone, turns",
        "original and copy take turns",
        Bound(clones=1, grants=1, daemon_crashes=1, verdicts=("completed",)),
    ),
    NamedWorld(
        "slow spawn",
        "runners that come late, a cancel, both crashes",
        Bound(
            slow_spawns=True,
            renewals=1,
            daemon_crashes=1,
            runner_deaths=1,
            cancel=True,
        ),
    ),
    NamedWorld(
        "two tasks, capacity 1",
        "two Tasks for one place",
        Bound(shape="two", grants=3, verdicts=("completed",)),
    ),
    NamedWorld(
        "two tasks, capacity 2",
        "two Tasks side by side",
        Bound(shape="two", grants=3, capacity=2, verdicts=("completed",), answers=("rerun", "retire")),
    ),
    NamedWorld(
        "two tasks, crashes",
        "two Tasks side by side, both crashes",
        Bound(
            shape="two",
            capacity=2,
            attempts=1,
            daemon_crashes=1,
            runner_deaths=1,
            verdicts=("completed",),
            answers=("retire",),
        ),
    ),
    NamedWorld(
        "outage",
        "the hub restarts while leases run",
        Bound(nodes=2, renewals=1, hub_restarts=1, verdicts=("completed",)),
    ),
    NamedWorld(
        "sleep",
        "the hub's machine sleeps for long",
        Bound(nodes=2, renewals=1, hub_sleeps=1, verdicts=("completed",)),
    ),
    NamedWorld(
        "clock step",
        "the hub's wall clock is set forward",
        Bound(nodes=2, renewals=1, clock_steps=1, verdicts=("completed",)),
    ),
    NamedWorld(
        "suspend",
        "a machine that sleeps past a deadline",
        Bound(nodes=2, renewals=1, suspends=1, cancel=True, verdicts=("completed",)),
    ),
    NamedWorld(
        "approval",
        "an Attempt that a person must allow",
        Bound(shape="approved", approve=True, cancel=True, stop=True, daemon_crashes=1),
    ),
    NamedWorld(
        "budget",
        "one automatic Attempt; a person raises the budget or gives up",
        Bound(grants=3, budget=1, decide=True, daemon_crashes=1, verdicts=("failed",)),
    ),
    NamedWorld(
        "capacity",
        "a provider without room: backing off, and its circuit",
        Bound(grants=3, verdicts=("capacity", "completed"), daemon_crashes=1),
    ),
    NamedWorld(
        "validation",
        "checks that fail, and a person's retry",
        Bound(shape="checked", grants=3, verdicts=("validation", "completed"), decide=True),
    ),
    NamedWorld(
        "question",
        "an Attempt that asks, and one that is refused",
        Bound(verdicts=("asked", "refused"), decide=True, cancel=True, daemon_crashes=1),
    ),
    NamedWorld(
        "cancel of a tree",
        "a cancel, with all that waits for it",
        Bound(shape="after", attempts=1, cancel=True, cancel_tree=True, daemon_crashes=1),
    ),
    NamedWorld(
        "dependency", "a Task that waits for another one", Bound(shape="after", attempts=1, decide=True)
    ),
    NamedWorld(
        "stop",
        "a person stops one Attempt and says what comes next",
        Bound(stop=True, decide=True, renewals=1, daemon_crashes=1, verdicts=("completed",)),
    ),
    NamedWorld(
        "reconcile",
        "every answer to an unknown Attempt, twice, and to an older version",
        Bound(nodes=2, answers=ALL, runner_deaths=1, verdicts=("completed", "unknown_left")),
    ),
    NamedWorld(
        "automatic rerun",
        "a policy answers an isolated unknown Attempt elsewhere",
        Bound(shape="auto_unknown", nodes=2, runner_deaths=1, daemon_crashes=1, verdicts=("completed",)),
    ),
    NamedWorld(
        "concurrency key",
        "two Tasks of one key",
        Bound(shape="keyed", capacity=2, attempts=1, runner_deaths=1, verdicts=("completed",)),
    ),
    NamedWorld(
        "refusals",
        "a node that cannot store, and offers that are voided",
        Bound(nodes=2, grants=3, refusals=True, decide=True, verdicts=("completed",), answers=("retire",)),
    ),
)
WORLDS: dict[str, NamedWorld] = {one.name: one for one in _WORLDS}
"""By name."""

_BOTH = ("completed", "failed")
_EVERY = ("rerun", "retire", "accept")
_WIDER: dict[str, dict[str, object]] = {
    "core": {"verdicts": _BOTH},
    "three grants": {"verdicts": _BOTH},
    "effect": {"verdicts": _BOTH, "answers": _EVERY},
    "effect, renewals": {"answers": _EVERY},
    "effect, crashes": {"verdicts": _BOTH, "answers": _EVERY, "cancel": True},
    "effect, suspend": {"cancel": True},
    "disk lost": {"verdicts": _BOTH, "answers": _EVERY, "cancel": True},
    "two tasks, capacity 2": {"answers": _EVERY},
}
WIDE: dict[str, NamedWorld] = {
    name: replace(one, bound=replace(one.bound, **_WIDER.get(name, {}))) for name, one in WORLDS.items()
}
"""By name, those that are dear with everything at once that the others have one by one."""
