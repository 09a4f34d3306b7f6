"""What the faults met: what was in flight when each struck, and which transitions were committed while each was in force.

A transition is a kind of event of the record, so the list of all of them is the core's own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import final

from tenure.core.attempt import Attempt, AttemptState
from tenure.core.effect import Effect, EffectState
from tenure.core.task import Task
from tenure.sim.run.plan import Fault
from tenure.sim.world.world import SimWorld

MOMENTS = (
    "enroll", "claim", "acknowledge", "renew", "report", "reconcile", "effect", "submit", "cancel", "retry", "answer",
    "queued", "leased", "preparing", "starting", "running", "paused", "ending", "suspect", "canceling", "orphaned",
    "intended", "issued", "in_doubt", "approval", "hub_down", "node_down",
)  # fmt: skip
"""What may be in flight: legs and requests on the wire, phases of an execution, states of Effects, parts that are down."""
NONE = "none"
"""The column of what was committed while no fault was in force."""
AFTERMATH_S = 30.0
"""For so long after it has passed a fault is still taken to be in force: leases, calls and restarts take their time."""


@final
class Coverage:
    def __init__(self, world: SimWorld) -> None:
        self._world = world
        self._hits: dict[str, Counter[str]] = {}
        self._transitions: dict[str, Counter[str]] = {}
        self._until_s: dict[str, float] = {}

    def committed(self, kind: str) -> None:
        """An event of this kind was committed."""
        now_s = self._world.loop.now_s
        row = self._transitions.setdefault(kind, Counter())
        in_force = [fault for fault, until_s in self._until_s.items() if until_s > now_s]
        row.update(in_force or (NONE,))

    def transitions(self) -> dict[str, dict[str, int]]:
        """Events by the faults that were in force."""
        return {kind: dict(row) for kind, row in sorted(self._transitions.items())}

    def struck(self, fault: Fault) -> None:
        until_s = self._world.loop.now_s + fault.length_s + AFTERMATH_S
        self._until_s[fault.kind] = max(until_s, self._until_s.get(fault.kind, 0.0))
        hits = self._hits.setdefault(fault.kind, Counter())
        hits["struck"] += 1
        for moment in set(self._moments()):
            hits[moment] += 1

    def table(self) -> dict[str, dict[str, int]]:
        return {kind: dict(hits) for kind, hits in sorted(self._hits.items())}

    def _moments(self) -> Iterator[str]:
        world = self._world
        yield from (one.asked.name for one in world.network.in_flight)
        yield from self._executions()
        for attempt in world.state.every(Attempt):
            yield from {AttemptState.LEASED: ["leased"], AttemptState.SUSPECT: ["suspect"]}.get(
                attempt.state, []
            )
        for task in world.state.every(Task):
            if task.queue_key is not None:
                yield "queued"
            if task.is_cancel_requested and not task.is_terminal:
                yield "canceling"
        for effect in world.state.every(Effect):
            if not effect.has_ended:
                yield {EffectState.AWAITING_APPROVAL: "approval"}.get(effect.state, str(effect.state))
        if world.hub.running is None:
            yield "hub_down"
        if not all(node.is_ready for node in world.nodes):
            yield "node_down"

    def _executions(self) -> Iterator[str]:
        for node in self._world.nodes:
            for run in node.runners.runs.values():
                if run.has_tree:
                    yield "paused" if run.is_paused else "running" if run.is_held else "orphaned"
                elif run.is_held:
                    yield "ending" if run.exit is not None else "starting"
                elif run.started is None and run.outcome is None:
                    yield "preparing"
