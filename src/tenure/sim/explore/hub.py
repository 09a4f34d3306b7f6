"""The hub of a world: the real `core` over canonical worlds, each with a number.

A command is decided once for each world that it meets, however many states of nodes, network and provider that world comes
with: what was decided, what was answered and what was broken are kept by number."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, final

from msgspec.structs import replace

from tenure.core import commands as cm
from tenure.core import effect_commands as ec
from tenure.core.decide import decide
from tenure.core.delivery import Now
from tenure.core.events import DeliveryDenied, Event
from tenure.core.ids import IncarnationId
from tenure.core.invariants import step_violations, world_violations
from tenure.core.world import World
from tenure.errors import InvariantError
from tenure.ledger.batch import kind_of
from tenure.sim.explore.bounds import Bound
from tenure.sim.explore.canonical_form import NOW, TICK_MS, canonical_world, world_key
from tenure.sim.explore.commands import command_of
from tenure.sim.explore.facts import HubFacts, facts_of
from tenure.sim.explore.moves import Request
from tenure.sim.explore.opening import opening

NEW_HUB = Now(wall_ms=NOW.wall_ms, awake_ms=0, hub=IncarnationId("i_hub_next"))
"""The instant at which another start of the hub takes over."""
BROKE = "error"
"""In the place of an answer."""


class Heard(NamedTuple):
    """What became of a command: the number of the world after it, its answer in short, which kinds of events it committed,
    and the rules that it broke."""

    hub: int
    answer: str
    kinds: tuple[str, ...]
    wrong: tuple[str, ...]


@final
class Hub:
    """Worlds by number; number 0 is the first state."""

    def __init__(self, bound: Bound) -> None:
        self.bound = bound
        self.worlds: list[World] = []
        self._numbers: dict[bytes, int] = {}
        self._heard: dict[tuple[int, Request], Heard] = {}
        self._facts: dict[int, HubFacts] = {}
        self._ticks: dict[int, int] = {}
        self.opening: list[Event] = []
        self._open()

    def _open(self) -> None:
        world = World()
        for command in opening(self.bound):
            decision = decide(world, command, NOW, self.bound.terms)
            if isinstance(decision.reply, cm.Refusal):
                raise InvariantError(f"the opening of a world is refused: {decision.reply.message}")
            world.accept(decision.changes)
            self.opening += decision.events
        self.number_of(canonical_world(world, NOW))

    def number_of(self, world: World) -> int:
        """The number of a canonical world; a new one where it was never met."""
        key = world_key(world)
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self.worlds)
            self.worlds.append(world)
        return number

    def facts(self, hub: int) -> HubFacts:
        found = self._facts.get(hub)
        if found is None:
            found = self._facts[hub] = facts_of(self.worlds[hub])
        return found

    def hear(self, hub: int, request: Request) -> Heard:
        """What the hub makes of a request."""
        key = hub, request
        found = self._heard.get(key)
        if found is None:
            found = self._heard[key] = self._decided(hub, request)
        return found

    def events_of(self, hub: int, request: Request) -> tuple[Event, ...]:
        """The events of a request that was heard, decided once more; none where the core broke down over it."""
        if self.hear(hub, request).answer == BROKE:
            return ()
        world = self.worlds[hub]
        now = NEW_HUB if request[0] == "start_hub" else NOW
        return decide(world, command_of(world, request, self.bound), now, self.bound.terms).events

    def _decided(self, hub: int, request: Request) -> Heard:
        world = self.worlds[hub]
        now = NEW_HUB if request[0] == "start_hub" else NOW
        try:
            decision = decide(world, command_of(world, request, self.bound), now, self.bound.terms)
        except Exception as error:  # noqa: BLE001 - whatever the core raises here is what is looked for
            return Heard(hub, BROKE, (), (f"engine: {type(error).__name__}: {error}",))
        answer = answer_of(decision.reply)
        if not decision.events:
            wrong = (f"engine: {request[0]} changed something without an event",) if decision.changes else ()
            return Heard(hub, answer, (), wrong)
        after = World()
        after.entities = {
            kind: {**entities, **decision.changes.get(kind, {})} for kind, entities in world.entities.items()
        }
        wrong = (*world_violations(after), *step_violations(world, after), *self._untrue(decision.events))
        number = self.number_of(canonical_world(after, now))
        return Heard(number, answer, tuple(kind_of(one) for one in decision.events), wrong)

    def _untrue(self, events: tuple[Event, ...]) -> Iterator[str]:
        """What the record must not say, since here it cannot be so."""
        if self.bound.disks_lost or self.bound.clones:
            return
        for event in events:
            if isinstance(event, DeliveryDenied):
                yield f"durable: the record says that a node has lost {event.delivery_id}, which it holds"

    def tick(self, hub: int) -> int:
        """The world a tick later, before anything was done about it."""
        found = self._ticks.get(hub)
        if found is None:
            later = replace(NOW, wall_ms=NOW.wall_ms + TICK_MS, awake_ms=NOW.awake_ms + TICK_MS)
            found = self._ticks[hub] = self.number_of(canonical_world(self.worlds[hub], later))
        return found

    def wall_moves(self, hub: int, ticks: int) -> int:
        """The world after the wall clock alone has moved: the hub's machine slept, or somebody set its clock."""
        later = replace(NOW, wall_ms=NOW.wall_ms + ticks * TICK_MS)
        return self.number_of(canonical_world(self.worlds[hub], later))


def answer_of(reply: cm.Reply) -> str:
    """A reply in a word or two, with everything that its receiver acts on."""
    if isinstance(reply, cm.LegAnswer):
        return f"{reply.answer}+cancel" if reply.cancel else reply.answer
    if isinstance(reply, cm.Claimed):
        return (
            " ".join(("replayed" if reply.replayed else "granted", *reply.deliveries))
            if reply.deliveries
            else "nothing"
        )
    if isinstance(reply, cm.DueAnswer):
        return reply.what
    if isinstance(reply, cm.Refusal):
        return f"no: {reply.code}"
    if isinstance(reply, cm.SnapshotAnswer):
        advice = " ".join(f"{key}={value}" for key, value in sorted(reply.advice.items()))
        return "ignored" if reply.ignored else f"compared {advice}".rstrip()
    if isinstance(reply, ec.EffectAnswer):
        return f"{reply.state}: {reply.problem}" if reply.problem else reply.state
    return "done"
