"""Two records side by side: one as it is, and one in canonical form, to which the same things are said."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from tenure.core import commands as cm
from tenure.core import effect_commands as ec
from tenure.core.decide import decide
from tenure.core.delivery import Delivery, Now
from tenure.core.ids import IncarnationId, NodeId
from tenure.core.recipient import Node
from tenure.core.world import World
from tenure.ledger.batch import kind_of
from tenure.sim.explore.bounds import Bound
from tenure.sim.explore.canonical_form import GENERATION, NOW, TICK_MS, canonical_world, world_key
from tenure.sim.explore.commands import command_of
from tenure.sim.explore.hub import answer_of
from tenure.sim.explore.moves import Request
from tenure.sim.explore.opening import opening
from tenure.sim.explore.people import hub_requests, people_words

TRIES = 4
"""How often something else is thought of that is to be said, if nothing would come of it: else a walk leads nowhere."""
RARELY = 0.15
MANY = 1_000
"""Which start a raw node's first one is: an earlier one has a number too."""
QUIET = frozenset({"late_heard"})
"""What is kept of a late acknowledgement or renewal, and never asked for."""


class Walk:
    """`raw` has real instants, incarnations of its own for each start, and everything that was ever heard; `canonical` is what
    the model checker keeps of it."""

    def __init__(self, bound: Bound, seed: int) -> None:
        self.bound = bound
        self.random = random.Random(seed)
        self.now = Now(1_700_000_000_123, 5_000, IncarnationId("i_h1"))
        self.starts = 1
        self.raw, self.canonical = World(), World()
        for command in opening(bound):
            said = command
            if isinstance(command, cm.StartHub):
                said = cm.StartHub(self.now.hub, "1")
            elif isinstance(command, cm.StartNode):
                said = replace(command, incarnation=self.fresh(), generation=MANY)
            self.raw.accept(decide(self.raw, said, self.now, bound.terms).changes)
            self.canonical.accept(decide(self.canonical, command, NOW, bound.terms).changes)
        self.canonical = canonical_world(self.canonical, NOW)
        self.compare("the opening")

    def fresh(self) -> IncarnationId:
        self.starts += 1
        return IncarnationId(f"i_{self.starts:03}")

    def live(self, node: NodeId) -> IncarnationId:
        return self.raw.entities[Node][node].incarnation

    def compare(self, what: object) -> None:
        again = canonical_world(self.canonical, NOW)
        assert world_key(again) == world_key(self.canonical), f"not canonical after {what}"
        assert world_key(canonical_world(self.raw, self.now)) == world_key(self.canonical), what

    def step(self) -> None:
        """One thing that may be said or that may pass, to both."""
        if self.random.random() < 0.2:
            self.time_passes()
            return
        requests = list(self.requests())
        request = self.random.choice(requests)
        for _ in range(TRIES):
            command = command_of(self.canonical, request, self.bound)
            events = decide(self.canonical, command, NOW, self.bound.terms).events
            if {kind_of(one) for one in events} - QUIET:
                break
            request = self.random.choice(requests)
        self.say(request)

    def time_passes(self) -> None:
        wall, awake = self.random.choice(((1, 1), (1, 1), (1, 1), (8, 0)))
        self.now = replace(
            self.now, wall_ms=self.now.wall_ms + wall * TICK_MS, awake_ms=self.now.awake_ms + awake * TICK_MS
        )
        later = replace(NOW, wall_ms=NOW.wall_ms + wall * TICK_MS, awake_ms=NOW.awake_ms + awake * TICK_MS)
        self.canonical = canonical_world(self.canonical, later)
        self.compare("time")

    def requests(self) -> Iterator[Request]:
        yield from hub_requests(self.canonical)
        words = [word.request for word in people_words(self.canonical, self.bound)]
        yield from (one for one in words if one[0] != "forget" or self.random.random() < RARELY / 10)
        made = len(self.canonical.entities[Delivery])
        for node in range(self.bound.nodes):
            if self.random.random() < RARELY:
                yield "start", node, f"boot_{node}", "new"
                yield "start", node, f"boot_{node}", "earlier"
                yield "start", node, f"boot_{node}", "late"
                yield "start", node, f"boot_{node}", "copied"
            if made < self.bound.grants:
                yield "claim", node, 1
                yield "claim", node, min(self.bound.capacity, self.bound.grants - made)
        for place in range(made):
            yield from (("receipt", place, 0), ("receipt", place, 0), ("refusal", place))
            yield from (("renew", place, counter) for counter in range(4))
            for verdict in (*self.bound.verdicts, "canceled", "unknown", "unknown_left", "handback"):
                yield "report", place, verdict
            if self.bound.effect:
                yield from [("begin", place)] * 4
        if self.random.random() < RARELY / 3:
            yield ("start_hub",)
        if self.bound.effect:
            number = self.random.randint(1, 2)
            yield from [("issue", number)] * 4
            yield from (("settle", number, end) for end in ("lost", "lost", "confirmed", "absent"))
            yield from (("look", "found", 0), ("doubt",))
            yield from (("look", "not_found", self.random.randint(0, 1)) for _ in range(4))
        if self.bound.snapshots and made:
            told = (self.random.choice((0, 1, 2, 3, 14, 15)) for _ in range(made))
            yield "snapshot", 0, self.random.randint(1, 4), *told

    def say(self, request: Request) -> None:
        terms = self.bound.terms
        now, later = self.now, NOW
        if request[0] == "start_hub":
            now = Now(self.now.wall_ms, 0, self.fresh())
            later = replace(NOW, awake_ms=0, hub=IncarnationId("i_hub_next"))
        meant = decide(self.canonical, command_of(self.canonical, request, self.bound), later, terms)
        told = decide(self.raw, self.as_raw(command_of(self.raw, request, self.bound)), now, terms)
        assert answer_of(told.reply) == answer_of(meant.reply), request
        kinds = [[kind_of(one) for one in side.events] for side in (told, meant)]
        assert [one for one in kinds[0] if one not in QUIET] == [
            one for one in kinds[1] if one not in QUIET
        ], request
        self.raw.accept(told.changes)
        after = World()
        after.entities = {kind: dict(known) for kind, known in self.canonical.entities.items()}
        after.accept(meant.changes)
        self.canonical = canonical_world(after, later)
        self.now = now
        self.compare(request)

    def as_raw(self, command: Any) -> Any:
        """The command with the incarnations and instants of the raw record."""
        if isinstance(command, cm.Acknowledge | cm.Renew | cm.Report | cm.HandBack):
            row = self.raw.entities[Delivery][command.proof.delivery_id]
            return replace(command, proof=replace(command.proof, incarnation=self.live(row.node_id)))
        if isinstance(command, cm.Claim | cm.Snapshot):
            return replace(command, incarnation=self.live(command.node_id))
        if isinstance(command, cm.StartNode):
            is_new = command.incarnation in ("i_next", "i_late")
            node = self.raw.entities[Node][command.node_id]
            earlier = None if is_new or not node.superseded else node.superseded[0]
            number = (node.generation or MANY) + command.generation - GENERATION
            return replace(command, incarnation=earlier or self.fresh(), generation=number)
        if isinstance(command, cm.StartHub):
            return cm.StartHub(self.now.hub, "1")
        if isinstance(command, ec.LookUpEffect):
            age_ms = NOW.wall_ms - command.asked.wall_ms
            asked = replace(self.now, wall_ms=self.now.wall_ms - age_ms, awake_ms=self.now.awake_ms - age_ms)
            return replace(command, asked=asked)
        return command
