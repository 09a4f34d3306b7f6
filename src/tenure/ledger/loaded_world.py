"""A World over a record that is too large to be loaded.

Decisions see it as they see any World: what they look up is there, and None means that the record has none.
Behind it stand shelves of what is in memory, one store for the rest, and for each look-up by something other
than the key the store's answer as of the last commit with this batch's own changes laid over it.

`foresee` (in `needs`) fills it before a batch is decided. A look-up that was not foreseen is answered all the
same, by a statement of its own; `unforeseen` counts them, so that a test can hold the hot path to none."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from tenure.core.delivery import Delivery
from tenure.core.effect import Effect
from tenure.core.ids import AttemptId, ClaimId, NodeId, TaskId
from tenure.core.late import Late
from tenure.core.recipient import Node, Recipient, recipient_routes
from tenure.core.scope import EffectKind
from tenure.core.task import Task
from tenure.core.world import ENTITY_KINDS, Changes, E, Entity, World
from tenure.errors import InvariantError
from tenure.ledger.queues import Queues
from tenure.ledger.row import check_fixed
from tenure.ledger.shelf import GENERATION_BYTES, Shelf

if TYPE_CHECKING:
    from tenure.ledger.store import Store

K = TypeVar("K")


class Touched:
    """What a batch has changed in one kind: the entities as they are now, and which of them are new."""

    __slots__ = ("entities", "new")

    def __init__(self) -> None:
        self.entities: dict[str, Any] = {}
        self.new: set[str] = set()

    def split(self) -> tuple[list[Any], list[Any]]:
        """New ones and changed ones."""
        new = self.new
        if not new:
            return [], list(self.entities.values())
        if len(new) == len(self.entities):
            return list(self.entities.values()), []
        return (
            [one for key, one in self.entities.items() if key in new],
            [one for key, one in self.entities.items() if key not in new],
        )


class Found:
    """Keys found by something other than the key: as the record has them, and those that are new in this
    batch. What they are found by never changes, so only new entities can add to it."""

    __slots__ = ("_ask", "_known", "_new")

    def __init__(self, ask: Callable[[Collection[Any]], Mapping[Any, list[str]]]) -> None:
        self._ask = ask
        self._known: dict[Any, list[str]] = {}
        self._new: dict[Any, list[str]] = {}

    def expect(self, wanted: Iterable[Any]) -> None:
        missing = {one for one in wanted if one not in self._known}
        if missing:
            found = self._ask(missing)
            for one in missing:
                self._known[one] = found.get(one, [])

    def add(self, by: Any, key: str) -> None:
        self._new.setdefault(by, []).append(key)

    def keys(self, by: Any) -> list[str]:
        if by not in self._known:
            self.expect((by,))
        return self._known[by] + self._new.get(by, [])


class LoadedWorld(World):
    """Use: `open`, any number of decisions each followed by `accept`, then `touched` is what is to be
    written, then `keep` or `forget`."""

    def __init__(self, generation_bytes: int = GENERATION_BYTES) -> None:
        self.shelves: dict[type[Entity], Shelf] = {
            kind: Shelf(kind, generation_bytes) for kind in ENTITY_KINDS
        }
        self.entities: Changes = dict(self.shelves)
        self.touched: dict[type[Entity], Touched] = {}

    def open(self, store: Store, now_ms: int) -> None:
        """Begin a batch inside the store's transaction."""
        self.touched = {}
        for shelf in self.shelves.values():
            shelf.open(store)
        self.by_key = Found(lambda pairs: _single(store.tasks_by_key(pairs)))
        self.claimed = Found(store.claimed)
        self.held = Found(store.held_by_node)
        self.named = Found(store.nodes_named)
        self.reported = Found(store.reported_late)
        self.served = Found(store.recipients_serving)
        self.effect_keys = Found(lambda pairs: _single(store.effects_by_key(pairs)))
        self.effects_about = Found(store.effects_about)
        self.known_as = Found(store.effects_known_as)
        self.queues = Queues(store.queued, now_ms)

    @property
    def unforeseen(self) -> int:
        """Entities that had to be loaded one by one, since the World was made."""
        return sum(shelf.loads for shelf in self.shelves.values())

    def accept(self, changes: Changes) -> None:
        """Take over what a decision changed.

        Raises:
            InvariantError: it would change what never changes; nothing of it was taken over.
        """
        for kind, changed in changes.items():
            peek = self.shelves[kind].peek
            for key, entity in changed.items():
                before = peek(key)
                if before is not None:
                    check_fixed(kind, before, entity)
        for kind, changed in changes.items():
            shelf = self.shelves[kind]
            touched = self.touched.get(kind)
            if touched is None:
                touched = self.touched[kind] = Touched()
            for key, entity in changed.items():
                # What was never looked up counts as new: if it is there already the engine refuses.
                if key not in touched.entities and shelf.peek(key) is None:
                    touched.new.add(key)
                    self._index(kind, entity)
            touched.entities.update(changed)
            shelf.update(changed)
        for task in changes.get(Task, {}).values():
            self.queues.note(task)

    def put(self, entity: Entity) -> None:
        self.accept({type(entity): {entity.key: entity}})

    def keep(self, weights: Mapping[type[Entity], int]) -> None:
        """The batch was committed: what it changed is what the record has now."""
        for kind, shelf in self.shelves.items():
            shelf.age(weights.get(kind, 0))

    def forget(self) -> None:
        """The batch was not committed, or it is not known: start again from what the record has."""
        for shelf in self.shelves.values():
            shelf.forget()

    def every(self, kind: type[E]) -> NoReturn:
        raise InvariantError(f"not every {kind.__name__} is loaded; look up what you need")

    def task_by_key(self, by: str, idempotency_key: str) -> Task | None:
        keys = self.by_key.keys((by, idempotency_key))
        return self.find(Task, keys[0]) if keys else None

    def deliveries_of_claim(self, node_id: NodeId, claim_id: ClaimId) -> list[Delivery]:
        return self._all(Delivery, self.claimed.keys((node_id, claim_id)))

    def deliveries_of_node(self, node_id: NodeId) -> list[Delivery]:
        known = self._all(Delivery, self.held.keys(node_id))
        return [one for one in known if one.ended_at_ms is None or one.slot]

    def nodes_named(self, name: str) -> list[Node]:
        return self._all(Node, self.named.keys(name))

    def serving(self, route: str) -> list[Recipient]:
        found = self._all(Recipient, self.served.keys(route))
        return sorted(
            (one for one in found if one.declared and route in recipient_routes(one)),
            key=lambda one: one.address,
        )

    def reports_of(self, attempt: AttemptId) -> list[Late]:
        known = self._all(Late, self.reported.keys(attempt))
        return sorted(known, key=lambda one: (one.heard_at_ms, one.late_id))

    def effect_by_key(self, task_id: TaskId, idempotency_key: str) -> Effect | None:
        keys = self.effect_keys.keys((task_id, idempotency_key))
        return self.find(Effect, keys[0]) if keys else None

    def effects_of(self, task_id: TaskId, kind: EffectKind, subject: str) -> list[Effect]:
        return _oldest_first(self._all(Effect, self.effects_about.keys((task_id, str(kind), subject))))

    def effects_known_as(self, identity: str) -> list[Effect]:
        return _oldest_first(self._all(Effect, self.known_as.keys(identity)))

    def waiting(self, queues: tuple[str, ...], limit: int, now_ms: int) -> dict[str, list[tuple[int, str]]]:
        return self.queues.first(queues, limit)

    def load(self, kind: type[Entity], keys: Iterable[str]) -> None:
        """Load those that are not known, in one statement."""
        shelf = self.shelves[kind]
        missing = {key for key in keys if not shelf.knows(key)}
        if missing:
            shelf.fetch(missing)

    def _all(self, kind: type[E], keys: list[str]) -> list[E]:
        self.load(kind, keys)
        found = (self.find(kind, key) for key in dict.fromkeys(keys))
        return [one for one in found if one is not None]

    def _index(self, kind: type[Entity], entity: Any) -> None:
        """Let a new entity be found by what it will be looked up by."""
        if kind is Task:
            self.by_key.add((entity.submitted_by, entity.idempotency_key), entity.task_id)
        elif kind is Delivery:
            self.claimed.add((entity.node_id, entity.claim_id), entity.delivery_id)
            self.held.add(entity.node_id, entity.delivery_id)
        elif kind is Late and entity.outcome is not None:
            self.reported.add(entity.attempt_id, entity.late_id)
        elif kind is Recipient:
            for route in recipient_routes(entity):
                self.served.add(route, entity.address)
        elif kind is Node:
            self.named.add(entity.name, entity.node_id)
        elif kind is Effect:
            self._index_effect(entity)

    def _index_effect(self, effect: Effect) -> None:
        self.effect_keys.add((effect.task_id, effect.idempotency_key), effect.effect_id)
        self.effects_about.add((effect.task_id, str(effect.kind), effect.subject), effect.effect_id)
        for identity in (effect.identity, effect.twin):
            if identity is not None:
                self.known_as.add(identity, effect.effect_id)


def _oldest_first(effects: list[Effect]) -> list[Effect]:
    return sorted(effects, key=lambda one: one.effect_id)


def _single(found: Mapping[K, str]) -> dict[K, list[str]]:
    return {one: [key] for one, key in found.items()}
