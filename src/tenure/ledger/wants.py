"""What the plans of a batch want in one round; `needs` says how plans work."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

from tenure.core.attention import Attention, AttentionKind, item_id
from tenure.core.world import ENTITY_KINDS, Entity

if TYPE_CHECKING:
    from tenure.ledger.loaded_world import LoadedWorld

Plan = Generator[None, None, None]


class Wants:
    """What the plans of a batch want in this round."""

    def __init__(self, world: LoadedWorld) -> None:
        self._world = world
        self._keys: dict[type[Entity], set[str]] = {kind: set() for kind in ENTITY_KINDS}
        self._found: dict[str, set[Any]] = {}
        self._queues: dict[str, int] = {}

    def key(self, kind: type[Entity], *keys: str | None) -> None:
        self._keys[kind].update(key for key in keys if key is not None)

    def item(self, subject: str, *kinds: AttentionKind) -> None:
        self._keys[Attention].update(item_id(kind, subject) for kind in kinds)

    def look_up(self, name: str, by: Any) -> None:
        """`name` is one of the look-ups of `LoadedWorld`: by_key, claimed, held, named, reported."""
        self._found.setdefault(name, set()).add(by)

    def queue(self, queue: str, places: int) -> None:
        self._queues[queue] = self._queues.get(queue, 0) + places

    def load(self) -> None:
        """Load everything that is wanted now."""
        for kind, keys in self._keys.items():
            if keys:
                self._world.load(kind, keys)
                keys.clear()
        for name, wanted in self._found.items():
            getattr(self._world, name).expect(wanted)
        self._found.clear()
        if self._queues:
            self._world.queues.expect(self._queues)
            self._queues = {}
