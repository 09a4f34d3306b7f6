"""The worlds that are explored to their end: each asks one question with as little beside it as can be."""

from __future__ import annotations

from typing import Any

from tenure.sim.explore.bounds import Bound, NamedWorld

ALL_ANSWERS = ("rerun", "retire", "accept", "investigate")


def _world(name: str, about: str, **bound: Any) -> NamedWorld:
    return NamedWorld(name, about, Bound(**bound))


_WORLDS = (
    _world("tiny", "one node, one grant: a cancel, a crash of the daemon, a death of the runner", grants=1, cancel=True, daemon_crashes=1, runner_deaths=1),
    _world("core", "two nodes, two grants, a renewal, a cancel, both crashes", nodes=2, renewals=1, cancel=True, daemon_crashes=1, runner_deaths=1, verdicts=("completed",)),
    _world("three grants", "two nodes, three grants, a crash of the daemon", nodes=2, grants=3, daemon_crashes=1, verdicts=("failed",)),
    _world("two renewals", "one node, two renewals, a cancel, both crashes", renewals=2, cancel=True, daemon_crashes=1, runner_deaths=1),
    _world("duplicates", "the network repeats everything that was ever sent", renewals=1, cancel=True, daemon_crashes=1, duplicates=True, verdicts=("completed",)),
    _world("effect", "an Effect, two nodes, a cancel, a restart of the hub, lost answers", nodes=2, effect=True, cancel=True, hub_restarts=1, verdicts=("failed",)),
    _world("effect, renewals", "an Effect, a renewal, a restart of the hub", effect=True, renewals=1, hub_restarts=1, cancel=True, verdicts=("completed",)),
    _world("effect, crashes", "an Effect, crashes of daemon, runner and hub", effect=True, daemon_crashes=1, runner_deaths=1, hub_restarts=1, verdicts=("failed",)),
    _world("effect, suspend", "an Effect, two nodes, a deadline that passes in a suspend", nodes=2, effect=True, renewals=1, suspends=1, verdicts=("completed",)),
    _world("effect, provider", "a provider that refuses, is away or contradicts itself", effect=True, provider_says_no=True, provider_is_away=True, provider_contradicts=True, hub_restarts=1, verdicts=("failed",)),
    _world("effect approval", "an Effect that a person must allow", shape="effect_approved", effect=True, approve=True, cancel=True, daemon_crashes=1, verdicts=("failed",)),
    _world("disk lost", "a store is lost and comes back under the same name; late snapshots", nodes=2, renewals=1, disks_lost=1, snapshots=1, verdicts=("completed",)),
    _world("snapshots", "snapshots before and after a crash, trees that are not proven gone", snapshots=2, daemon_crashes=1, runner_deaths=1, verdicts=("completed", "unknown_left")),
    _world("node never returns", "a machine that never comes back, its runners dead or alive", nodes=2, renewals=1, machines_gone=1, answers=ALL_ANSWERS, verdicts=("completed",)),
    _world("daemon restarts twice", "one node, a renewal", renewals=1, daemon_crashes=2),
    _world("clone", "a copy of a disk boots beside the original", clones=1, renewals=1, verdicts=("completed",)),
    _world("slow spawn", "runners that come late, both crashes", slow_spawns=True, renewals=1, daemon_crashes=1, runner_deaths=1, cancel=True, verdicts=("completed",)),
    _world("two tasks, capacity 1", "two Tasks for one place", shape="two", grants=3, verdicts=("completed",)),
    _world("two tasks, capacity 2", "two Tasks side by side", shape="two", grants=3, capacity=2, verdicts=("completed",)),
    _world("two tasks, crashes", "two Tasks side by side, both crashes", shape="two", capacity=2, daemon_crashes=1, runner_deaths=1, verdicts=("completed",)),
    _world("outage", "the hub restarts while leases run", nodes=2, renewals=1, hub_restarts=1, verdicts=("completed",)),
    _world("sleep", "the hub's machine sleeps for long", nodes=2, renewals=1, hub_sleeps=1, verdicts=("completed",)),
    _world("clock step", "the hub's wall clock is set forward", nodes=2, renewals=1, clock_steps=1, verdicts=("completed",)),
    _world("approval", "an Attempt that a person must allow", shape="approved", approve=True, cancel=True, stop=True, daemon_crashes=1),
    _world("budget", "one automatic Attempt; a person raises the budget or gives up", grants=3, attempts=2, budget=1, decide=True, daemon_crashes=1, verdicts=("failed",)),
    _world("capacity", "a provider without room: backing off, and its circuit", grants=3, verdicts=("capacity", "completed"), daemon_crashes=1),
    _world("validation", "checks that fail, and a person's retry", shape="checked", grants=3, verdicts=("validation", "completed"), decide=True),
    _world("a question", "an Attempt that asks, one that is refused", grants=3, verdicts=("asked", "refused"), decide=True, cancel=True),
    _world("cancel of a tree", "a cancel, with all that waits for it", shape="after", grants=3, cancel=True, cancel_tree=True),
    _world("dependency", "a Task that waits for another one", shape="after", grants=3, decide=True, daemon_crashes=1),
    _world("stop", "a person stops one Attempt and says what comes next", stop=True, decide=True, renewals=1, daemon_crashes=1, runner_deaths=1, verdicts=("completed",)),
    _world("reconcile", "every answer to an unknown Attempt, twice, and to an older version", nodes=2, grants=3, attempts=3, answers=ALL_ANSWERS, runner_deaths=2, verdicts=("completed", "unknown_left")),
    _world("automatic rerun", "a policy answers an isolated unknown Attempt elsewhere", shape="auto_unknown", nodes=2, runner_deaths=1, daemon_crashes=1, verdicts=("completed",)),
    _world("concurrency key", "two Tasks of one key", shape="keyed", capacity=2, grants=3, runner_deaths=1, verdicts=("completed",)),
    _world("refusals", "a node that cannot store, and offers that are voided", nodes=2, grants=3, refusals=True, decide=True, daemon_crashes=1, verdicts=("completed",)),
)  # fmt: skip

WORLDS: dict[str, NamedWorld] = {one.name: one for one in _WORLDS}
