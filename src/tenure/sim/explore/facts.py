"""What the rest of a world needs to know of the hub's record, worked out once for each record that is met."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from msgspec import Struct

from tenure.core.account import Account
from tenure.core.attempt import Attempt
from tenure.core.attention import Attention, AttentionKind
from tenure.core.circuit import Circuit
from tenure.core.delivery import Delivery, DeliveryState
from tenure.core.effect import Effect
from tenure.core.gate import Gate
from tenure.core.ids import attempt_id
from tenure.core.recipient import Node, Recipient
from tenure.core.review import Review
from tenure.core.task import Task
from tenure.core.why import WhyFacts, why
from tenure.core.why_reason import Reason
from tenure.core.world import World
from tenure.sim.explore.canonical_form import NOW
from tenure.sim.explore.commands import EFFECT, TASKS

OUTSIDE = frozenset(
    {
        "ready",
        "no_recipient",
        "no_other_recipient",
        "recipient_blocked",
        "recipient_busy",
        "node_quarantined",
        "dependency",
        "held_key",
        "circuit_open",
    }
)
"""Reasons of a Task that waits for something that is not its own: whether that moves is looked at beside."""
BY_ANOTHER = frozenset({"dependency", "held_key"})
"""Those that are the other Task's: that one may be on the attention list."""


class Marks(NamedTuple):
    """A bit for each grant: its receipt was accepted; its lease has ended; its unit is taken. What a machine's form looks at."""

    received: int
    over: int
    slots: int

    def of(self, place: int) -> Marks:
        """Those of one grant."""
        return Marks(self.received >> place & 1, self.over >> place & 1, self.slots >> place & 1)


class HubFacts(Struct, frozen=True, kw_only=True):
    """By place of the grant: `node_of`, and `attempt_of` (the Task's place, the Attempt's number). Masks have a bit for each
    place: `marks`, `held` (its lease is open). `attended`: every Task has ended with settled Effects or is on the attention
    list; `outside`: those that are neither wait for something else; `asked`: an unknown Attempt waits for an answer; `told`:
    what may block a recipient, or what a Task waits for, is on the attention list. `rests`: all Tasks have ended, and no
    unknown Attempt waits. `silent`: Tasks of which `why` says nothing. `calls` and `effect`: how often the Effect was called,
    and its state. `ended`: a bit for each Task."""

    node_of: tuple[int, ...]
    attempt_of: tuple[tuple[int, int], ...]
    marks: Marks
    held: int
    attended: bool
    outside: bool
    rests: bool
    silent: tuple[str, ...]
    asked: bool
    told: bool
    calls: int
    effect: str
    is_asked_for: bool
    is_to_be_called: bool
    ended: int
    gone_nodes: int


def facts_of(world: World) -> HubFacts:
    """The facts of a canonical world."""
    rows = list(world.every(Delivery))
    tasks = [one for name in TASKS if (one := world.find(Task, name)) is not None]
    effect = world.find(Effect, EFFECT)
    reasons = {one.task_id: reason_of(world, one) for one in tasks}
    waiting = [one for one in tasks if not _is_attended(world, one)]
    asked = any(one.is_open_unknown for one in world.every(Attempt))
    open_kinds = {one.kind for one in world.every(Attention) if one.open}
    codes = {reasons[one.task_id].code for one in waiting}
    left = AttentionKind.RECIPIENT_BLOCKED in open_kinds
    stopped = AttentionKind.NODE_QUARANTINED in open_kinds and "node_quarantined" in codes
    kept = bool(codes & BY_ANOTHER)
    is_other_listed = any(_is_listed(world, one.task_id) for one in tasks)
    return HubFacts(
        node_of=tuple(int(one.node_id[2:]) - 1 for one in rows),
        attempt_of=tuple((int(one.task_id[2:]) - 1, one.number) for one in rows),
        marks=Marks(
            received=_mask(one.state in (DeliveryState.DELIVERED, DeliveryState.REPORTED) for one in rows),
            over=_mask(one.ended_at_ms is not None for one in rows),
            slots=_mask(one.slot for one in rows),
        ),
        held=_mask(world.entities[Task][one.task_id].lease == one.delivery_id for one in rows),
        attended=not waiting,
        outside=codes <= OUTSIDE,
        rests=all(one.is_terminal and not one.open_effects for one in tasks) and not asked,
        silent=tuple(name for name, reason in reasons.items() if not reason.sentence.strip()),
        asked=asked,
        told=asked or left or stopped or (kept and is_other_listed),
        calls=effect.calls if effect is not None else 0,
        effect=str(effect.state) if effect is not None else "",
        is_asked_for=effect is not None and effect.is_asked_for,
        is_to_be_called=effect is not None and effect.is_to_be_called,
        ended=_mask(one.is_terminal for one in tasks),
        gone_nodes=_mask(one.revoked for one in world.every(Node)),
    )


def _mask(bits: Iterable[bool]) -> int:
    return sum(1 << place for place, bit in enumerate(bits) if bit)


def _is_attended(world: World, task: Task) -> bool:
    """Has it ended and is all known of it, or is a person asked about it?"""
    if task.is_terminal and not task.open_effects:
        return True
    return _is_listed(world, task.task_id)


def _is_listed(world: World, task_id: str) -> bool:
    return any(one.open and one.subject.startswith(task_id) for one in world.every(Attention))


def reason_of(world: World, task: Task) -> Reason:
    """What `why` says of a Task, with everything that the hub would look up for it."""
    facts = WhyFacts(
        task=task,
        attempt=world.entities[Attempt][attempt_id(task.task_id, task.attempts)],
        delivery=world.find(Delivery, task.lease) if task.lease else None,
        recipients=tuple(world.every(Recipient)),
        nodes={one.node_id: one for one in world.every(Node)},
        online=frozenset(one.node_id for one in world.every(Node)),
        attention=tuple(one for one in world.every(Attention) if one.subject.startswith(task.task_id)),
        circuits={one.quota: one for one in world.every(Circuit)},
        accounts={one.account_id: one for one in world.every(Account)},
        reviews={one.task_id: one for one in world.every(Review) if one.is_open},
        gates={one.gate_id: one for one in world.every(Gate)},
    )
    return why(facts, NOW.wall_ms)
