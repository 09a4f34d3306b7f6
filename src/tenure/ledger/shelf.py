"""Entities of one kind that are in memory, out of all that the record has.

A shelf is what a World has in place of a plain dict. What is asked for and not there is loaded, so None always
means that the record has none (`core.world.Space.find`); that is kept too, since the ledger is the only writer
and would know.

It holds two generations. What is used moves to the young one; when that has grown to its bound, the old one is
thrown away and the young one takes its place. So memory stays within twice the bound, what is in use stays,
and nothing has to be kept in order."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from tenure.errors import InvariantError

if TYPE_CHECKING:
    from tenure.core.world import Entity
    from tenure.ledger.store import Source

GENERATION_BYTES = 24_000_000
"""Estimated weight at which a generation is full; nine kinds have two each, but only three of them grow."""
ABSENT_WEIGHT = 200


class Shelf(dict[str, Any]):
    """`get` as of a dict that holds everything. Iteration sees the young generation only; nothing but `World`
    defaults iterates, and a loaded world answers those from indexes."""

    __slots__ = ("_kind", "_limit", "_old", "_old_average", "_source", "_weight", "loads")

    def __init__(self, kind: type[Entity], limit: int = GENERATION_BYTES) -> None:
        super().__init__()
        self._kind = kind
        self._limit = limit
        self._old: dict[str, Any] = {}
        self._old_average = 0
        self._source: Source | None = None
        self._weight = 0
        self.loads = 0
        """How often a single entity had to be loaded because nobody had foreseen it."""

    def open(self, source: Source) -> None:
        """From now on load from here; what is held already must be what it has."""
        self._source = source

    def peek(self, key: str) -> Any:
        """The entity if it is in memory; None may also mean that it is not."""
        found: Any = super().get(key)
        return self._old.get(key) if found is None else found

    def get(self, key: str, default: Any = None) -> Any:
        return self[key]

    def __missing__(self, key: str) -> Any:
        if not key:
            return None  # nothing is referred to; that is not worth a read
        old = self._old
        if key in old:
            return self._renew(key)
        self.loads += 1
        self.fetch((key,))
        return self[key]

    def knows(self, key: str) -> bool:
        """Is it known whether this entity exists, without loading? What is known moves to the young
        generation."""
        if key in self:
            return True
        if key in self._old:
            self._renew(key)
            return True
        return False

    def fetch(self, keys: Collection[str]) -> None:
        """Load these; those that do not exist are known to be absent afterwards.

        Raises:
            InvariantError: there is nothing to load from.
        """
        if self._source is None:
            raise InvariantError(f"{self._kind.__name__} is asked for outside a batch")
        found = self._source.load(self._kind, keys)
        self.update(dict.fromkeys(keys))
        self._weight += ABSENT_WEIGHT * len(keys)
        for entity, weight in found:
            self[entity.key] = entity
            self._weight += weight

    def age(self, weight: int) -> None:
        """Between batches: add what the written rows weighed; begin a new generation if this one is full."""
        self._weight += weight
        if self._weight > self._limit:
            self._old = dict(self)
            self._old_average = self._weight // max(1, len(self))
            self.clear()
            self._weight = 0

    def forget(self) -> None:
        """Nothing here can be trusted any more."""
        self.clear()
        self._old = {}
        self._weight = 0

    def _renew(self, key: str) -> Any:
        found = self[key] = self._old[key]
        self._weight += self._old_average
        return found
