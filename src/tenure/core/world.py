"""Where entities are kept while commands are decided or events are folded.

A `Space` is what `evolve` reads and writes. `World` is the plain one: a ledger fills it with what the
commands of a batch need; the memory ledger, the audit and the model checker keep everything in it. `Draft`
(in `draft`) is the one that lies over a World during a decision."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from tenure.core.access import Credential, Hub
from tenure.core.account import Account
from tenure.core.attempt import Attempt
from tenure.core.attention import Attention
from tenure.core.circuit import Circuit
from tenure.core.delivery import Delivery
from tenure.core.effect import Effect
from tenure.core.gate import Gate
from tenure.core.ids import AttemptId, ClaimId, NodeId, TaskId
from tenure.core.late import Late
from tenure.core.policy import PolicyChoice, PolicyDocument
from tenure.core.recipient import Node, Recipient, recipient_routes
from tenure.core.review import Review
from tenure.core.schedule import Schedule
from tenure.core.scope import EffectKind
from tenure.core.task import Task
from tenure.core.webhook import Inbound
from tenure.errors import InvariantError

if TYPE_CHECKING:
    from collections.abc import Iterable

Entity = (
    Task | Attempt | Delivery | Recipient | Node | Attention | Late | Credential | Hub | Effect | Inbound | Schedule
    | Account | Circuit | Gate | Review | PolicyDocument | PolicyChoice
)  # fmt: skip
ENTITY_KINDS: tuple[type[Entity], ...] = (
    Task, Attempt, Delivery, Recipient, Node, Attention, Late, Credential, Hub, Effect, Inbound, Schedule,
    Account, Circuit, Gate, Review, PolicyDocument, PolicyChoice,
)  # fmt: skip

E = TypeVar(
    "E", Task, Attempt, Delivery, Recipient, Node, Attention, Late, Credential, Hub, Effect, Inbound, Schedule,
    Account, Circuit, Gate, Review, PolicyDocument, PolicyChoice,
)  # fmt: skip
Changes = dict[type[Any], dict[str, Any]]


class Space(Protocol):
    def find(self, kind: type[E], key: str) -> E | None:
        """The entity as committed (and as changed since), or None if the record has none.

        None must never mean "not loaded": a space that holds a part of the record loads what is asked for and
        missing. What a batch is known to need may be loaded ahead; that is speed, this is truth."""
        ...

    def put(self, entity: Entity) -> None: ...


class World:
    """Entities by kind and key. Not frozen: it is a container, its entities are values."""

    def __init__(self) -> None:
        self.entities: Changes = {kind: {} for kind in ENTITY_KINDS}

    def find(self, kind: type[E], key: str) -> E | None:
        """The entity, or None if the record has none."""
        return self.entities[kind].get(key)

    def every(self, kind: type[E]) -> Iterable[E]:
        """All entities of a kind that are here, in the order in which they were first put."""
        return self.entities[kind].values()

    def put(self, entity: Entity) -> None:
        self.entities[type(entity)][entity.key] = entity

    # -- look-ups by anything but the key; a ledger answers them from its indexes. Each sees every
    # change accepted so far.

    def task_by_key(self, by: str, idempotency_key: str) -> Task | None:
        """The Task that `by` submitted under this key."""
        return next(
            (
                one
                for one in self.every(Task)
                if one.idempotency_key == idempotency_key and one.submitted_by == by
            ),
            None,
        )

    def deliveries_of_claim(self, node_id: NodeId, claim_id: ClaimId) -> list[Delivery]:
        """Every Delivery granted under this claim."""
        return [one for one in self.every(Delivery) if one.claim_id == claim_id and one.node_id == node_id]

    def deliveries_of_node(self, node_id: NodeId) -> list[Delivery]:
        """The node's Deliveries that still matter: not ended, or a slot taken."""
        return [
            one
            for one in self.every(Delivery)
            if one.node_id == node_id and (one.ended_at_ms is None or one.slot)
        ]

    def nodes_named(self, name: str) -> list[Node]:
        """Every node that ever had this name."""
        return [one for one in self.every(Node) if one.name == name]

    def serving(self, route: str) -> list[Recipient]:
        """Every declared recipient that serves a route, by address."""
        found = [one for one in self.every(Recipient) if one.declared and route in recipient_routes(one)]
        return sorted(found, key=lambda one: one.address)

    def reports_of(self, attempt: AttemptId) -> list[Late]:
        """Late reports about an Attempt, oldest first."""
        found = [one for one in self.every(Late) if one.attempt_id == attempt and one.outcome is not None]
        return sorted(found, key=lambda one: (one.heard_at_ms, one.late_id))

    def effect_by_key(self, task_id: TaskId, idempotency_key: str) -> Effect | None:
        """The Effect that stands for this key in this Task."""
        return next(
            (
                one
                for one in self.every(Effect)
                if one.idempotency_key == idempotency_key and one.task_id == task_id
            ),
            None,
        )

    def effects_of(self, task_id: TaskId, kind: EffectKind, subject: str) -> list[Effect]:
        """The Task's Effects of this kind and subject, oldest first."""
        found = [
            one
            for one in self.every(Effect)
            if one.task_id == task_id and one.kind is kind and one.subject == subject
        ]
        return sorted(found, key=lambda one: one.effect_id)

    def effects_known_as(self, identity: str) -> list[Effect]:
        """Every Effect that the provider knows, in one way or the other, by this identity; oldest first."""
        found = [one for one in self.every(Effect) if identity in (one.identity, one.twin)]
        return sorted(found, key=lambda one: one.effect_id)

    def waiting(self, queues: tuple[str, ...], limit: int, now_ms: int) -> dict[str, list[tuple[int, str]]]:
        """For each project at most `limit` places (`Task.order_ms`, Task), or a few more, of its Tasks that stand in one of
        the queues and are ready; in order."""
        wanted = set(queues)
        found: dict[str, list[tuple[int, str]]] = {}
        for one in self.every(Task):
            if one.queue_key in wanted and one.ready_at_ms <= now_ms:
                found.setdefault(one.project, []).append((one.order_ms, one.task_id))
        return {project: sorted(places)[:limit] for project, places in found.items()}

    def accept(self, changes: Changes) -> None:
        """Take over what a decision changed."""
        for kind, changed in changes.items():
            self.entities[kind].update(changed)


def get(space: Space, kind: type[E], key: str) -> E:
    """The entity; its absence is a bug, since whatever refers to it was committed with or after it.

    Raises:
        InvariantError: it is not in the record.
    """
    found = space.find(kind, key)
    if found is None:
        raise InvariantError(f"{kind.__name__} {key} is referred to but is not in the record")
    return found
