"""What a decision needs of an engine: rows in by the hundred, rows out by the hundred.

A `Store` speaks for one connection inside one transaction. Every method takes all that a batch wants of its
kind, so that a batch costs a handful of statements however many commands it has."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Protocol

from tenure.core.world import Entity
from tenure.ledger.chain import Commit
from tenure.ledger.row import Row

Pair = tuple[str, str]
Triple = tuple[str, str, str]
Place = tuple[int, str]
"""A place in a queue: the Task's `order_ms`, and the Task."""


class Source(Protocol):
    """Entities by key, with what each weighs in memory."""

    def load(self, kind: type[Entity], keys: Collection[str]) -> list[tuple[Any, int]]:
        """Those that exist, in any order."""
        ...


class Store(Source, Protocol):
    """The record within one transaction."""

    def last_commit(self) -> Commit | None: ...

    def heads(self, streams: Collection[str]) -> dict[str, tuple[int, str]]:
        """Version and hash of each stream's last event; streams without one are missing."""
        ...

    def tasks_by_key(self, pairs: Collection[Pair]) -> dict[Pair, str]:
        """Task by (submitter, idempotency key)."""
        ...

    def claimed(self, pairs: Collection[Pair]) -> dict[Pair, list[str]]:
        """Deliveries by (node, claim)."""
        ...

    def held_by_node(self, nodes: Collection[str]) -> dict[str, list[str]]:
        """Deliveries of each node that have not ended or whose slot is taken."""
        ...

    def nodes_named(self, names: Collection[str]) -> dict[str, list[str]]: ...

    def recipients_serving(self, routes: Collection[str]) -> dict[str, list[str]]:
        """Addresses of recipients, declared or not, by route: their address, their name, each of their pools."""
        ...

    def reported_late(self, attempts: Collection[str]) -> dict[str, list[str]]:
        """Late messages with an outcome, by Attempt."""
        ...

    def effects_by_key(self, pairs: Collection[Pair]) -> dict[Pair, str]:
        """Effect by (Task, idempotency key)."""
        ...

    def effects_about(self, triples: Collection[Triple]) -> dict[Triple, list[str]]:
        """Effects by (Task, kind, subject)."""
        ...

    def effects_known_as(self, identities: Collection[str]) -> dict[str, list[str]]:
        """Effects by what their provider knows them by, in one way or the other."""
        ...

    def queued(self, limits: Mapping[str, int], now_ms: int) -> dict[str, dict[str, list[Place]]]:
        """For each queue, and each project in it, the first Tasks that are ready, in order; at least so many, if there
        are."""
        ...

    def write(self, kind: type[Entity], new: Collection[Any], changed: Collection[Any]) -> int:
        """Insert and update entities of a kind; what they weigh together in memory."""
        ...

    def append(self, events: Collection[Row], commit: Commit) -> None: ...
