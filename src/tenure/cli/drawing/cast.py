"""Who takes part in a story: lanes by the names that events know them by.

The number of lanes is bounded, whatever the events say: beyond it nodes, and providers, share a last lane.
"""

from __future__ import annotations

from typing import final

from tenure.cli.drawing.story import Lane, Role

PERSON, HUB = "person", "hub"
MOST = {Role.NODE: 7, Role.PROVIDER: 5}
SHARED = {Role.NODE: "other nodes", Role.PROVIDER: "other providers"}


@final
class Cast:
    """The lanes of one story, in the order in which they first appear within their role."""

    def __init__(self) -> None:
        self._lanes: dict[str, Lane] = {HUB: Lane(HUB, Role.HUB, "hub")}
        self._of_delivery: dict[str, str] = {}

    def person(self) -> str:
        return self._lane(PERSON, Role.PERSON, "person")

    def provider(self, target: str) -> str:
        """The lane of an Effect's target, `PROVIDER:what`."""
        name = target.partition(":")[0] or "provider"
        return self._lane(f"provider:{name}", Role.PROVIDER, name)

    def hand(self, delivery_id: str, recipient: str) -> str:
        """The lane of the node that gets a Delivery."""
        name = recipient.rpartition("@")[2] or "node"
        lane = self._lane(f"node:{name}", Role.NODE, name)
        self._of_delivery[delivery_id] = lane
        return lane

    def node_of(self, delivery_id: str) -> str:
        """The lane of the node that has a Delivery; of one that nobody knows, the hub's."""
        return self._of_delivery.get(delivery_id, HUB)

    def lanes(self) -> tuple[Lane, ...]:
        order = list(Role)
        return tuple(sorted(self._lanes.values(), key=lambda lane: order.index(lane.role)))

    def _lane(self, key: str, role: Role, name: str) -> str:
        if key in self._lanes:
            return key
        if sum(lane.role is role for lane in self._lanes.values()) >= MOST.get(role, 1):
            key, name = f"{role}:", SHARED[role]
        self._lanes.setdefault(key, Lane(key, role, name))
        return key
