"""Which nodes are heard: what `why` calls connected, and `nodes` last seen.

It is kept in memory only. After a start nobody has been heard yet, which is the truth: this hub has heard nobody.
Nothing is ever decided by it (a lease is renewed or it is not)."""

from __future__ import annotations

from collections import Counter
from typing import final

from tenure.core.clock import Clock
from tenure.core.ids import NodeId

NANOSECONDS = 1_000_000_000
ONLINE_S = 45
"""A node with nothing to do asks for work every 30 seconds, a busy one renews every 10: heard within this time it
counts as connected."""


@final
class Presence:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._heard_ns: dict[NodeId, int] = {}
        self._heard_at_ms: dict[NodeId, int] = {}
        self._holding: Counter[NodeId] = Counter()

    def heard(self, node_id: NodeId) -> None:
        """A request of this node has just been authenticated."""
        self._heard_ns[node_id] = self._clock.boot_ns()
        self._heard_at_ms[node_id] = self._clock.wall_ms()

    def holds(self, node_id: NodeId) -> None:
        """The node has a request open that waits for work."""
        self._holding[node_id] += 1

    def let_go(self, node_id: NodeId) -> None:
        """That request has ended, answered or broken off."""
        self.heard(node_id)
        self._holding[node_id] -= 1

    def last_seen_at_ms(self, node_id: NodeId) -> int | None:
        """When the node was last heard, by the wall clock; None if this hub has never heard it."""
        return self._heard_at_ms.get(node_id)

    def online(self) -> frozenset[NodeId]:
        """The nodes that are connected now."""
        since_ns = self._clock.boot_ns() - ONLINE_S * NANOSECONDS
        recent = {node_id for node_id, at_ns in self._heard_ns.items() if at_ns >= since_ns}
        return frozenset(recent | {node_id for node_id, count in self._holding.items() if count > 0})
