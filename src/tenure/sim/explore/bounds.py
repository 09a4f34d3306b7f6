"""How large a world is, and what may happen in it."""

from __future__ import annotations

from msgspec import Struct

from tenure.core.delivery import Terms
from tenure.sim.explore.canonical_form import TICK_MS

OFFER, LEASE, MARGIN, GRACE, CANCEL, CALL, SETTLING = 1, 2, 1, 1, 2, 1, 1
"""In ticks. As in the settings, a cancellation has at least as long as a lease, and a lease is longer than its margin."""


class Bound(Struct, frozen=True, kw_only=True):
    """Counts bound how often something may happen; a word that is False never does.

    `grants`: Deliveries in all. `attempts`: of each Task, by the machine and by people;
    `budget`: how many the machine may make by itself, if that is less. `verdicts`: how a harness may
    end; the words are those of `commands.OUTCOMES`. `answers`: what a person may say of an unknown Attempt. `snapshots`: of each
    daemon. `calls`: of the Effect. `duplicates`: the network repeats
    also what was answered. `shape`: what is submitted, and with which policy, by a name of `opening`.
    `alike`: the nodes are, so that the first grant goes to the first of them, and nothing is explored twice."""

    shape: str = "plain"
    nodes: int = 1
    alike: bool = True
    grants: int = 2
    attempts: int = 2
    budget: int | None = None
    capacity: int = 1
    renewals: int = 0
    verdicts: tuple[str, ...] = ("completed", "failed")
    snapshots: int = 0
    effect: bool = False
    calls: int = 1
    duplicates: bool = False
    # persons
    cancel: bool = False
    cancel_tree: bool = False
    stop: bool = False
    answers: tuple[str, ...] = ("rerun", "retire", "accept")
    approve: bool = False
    decide: bool = False
    # faults
    daemon_crashes: int = 0
    runner_deaths: int = 0
    hub_restarts: int = 0
    suspends: int = 0
    hub_sleeps: int = 0
    clock_steps: int = 0
    disks_lost: int = 0
    machines_gone: int = 0
    clones: int = 0
    slow_spawns: bool = False
    refusals: bool = False
    provider_says_no: bool = False
    provider_is_away: bool = False
    provider_contradicts: bool = False
    short_cancel: bool = False

    @property
    def terms(self) -> Terms:
        """The hub's durations."""
        return Terms(
            offer_ttl_ms=OFFER * TICK_MS,
            lease_ttl_ms=LEASE * TICK_MS,
            suspect_grace_ms=GRACE * TICK_MS,
            cancel_grace_ms=(1 if self.short_cancel else CANCEL) * TICK_MS,
            stall_after_ms=2**40,
            max_offers=2,
        )


class NamedWorld(Struct, frozen=True):
    """A world that is explored to its end. `about`: one line for people."""

    name: str
    about: str
    bound: Bound
