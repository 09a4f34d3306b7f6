"""A bench for the core: a World, a clock that is set by hand, and short words for the commands."""

from __future__ import annotations

import copy
from typing import Any

import msgspec
from msgspec.structs import replace

from tenure.core import commands as cm
from tenure.core.attempt import Answer, Attempt, Outcome, Usage, Verdict
from tenure.core.attention import Attention, AttentionKind, item_id
from tenure.core.canonical import digest, text_digest
from tenure.core.decide import decide
from tenure.core.delivery import Delivery, Now, Progress, Terms
from tenure.core.events import Event
from tenure.core.evolve import evolve
from tenure.core.ids import Address, ClaimId, DeliveryId, IncarnationId, NodeId, TaskId, attempt_id
from tenure.core.invariants import step_violations, world_violations
from tenure.core.recipient import Node, Recipient, RecipientSpec
from tenure.core.task import Task, TaskSpec
from tenure.core.world import World

SHA = "a" * 40


class Lab:
    """Every command is checked: the invariants hold after it, and no step breaks a rule."""

    def __init__(self, terms: Terms | None = None) -> None:
        self.world = World()
        self.terms = terms or Terms()
        self.now = Now(wall_ms=1_000_000_000_000, awake_ms=0, hub=IncarnationId("i_hub1"))
        self.events: list[Any] = []
        self.record: list[tuple[Now, Any]] = []
        self.count = 0
        self.counters: dict[str, int] = {}
        self.run(cm.StartHub(self.now.hub, "1"))

    def run(self, command: cm.Command) -> Any:
        before = copy.deepcopy(self.world)
        decision = decide(self.world, command, self.now, self.terms)
        assert self.world.entities == before.entities, "decide changed the world it was given"
        self.world.accept(decision.changes)
        assert not decision.changes or decision.events, "a change without an event"
        self.events += decision.events
        self.record += [(self.now, event) for event in decision.events]
        broken = world_violations(self.world) + step_violations(before, self.world)
        assert not broken, (command, broken)
        return decision.reply

    # -- time

    def pass_s(self, seconds: float) -> None:
        self.now = replace(
            self.now,
            wall_ms=self.now.wall_ms + round(seconds * 1000),
            awake_ms=self.now.awake_ms + round(seconds * 1000),
        )

    def sleep_s(self, seconds: float) -> None:
        """The hub's machine is suspended: the wall clock goes on, the awake clock does not."""
        self.now = replace(self.now, wall_ms=self.now.wall_ms + round(seconds * 1000))

    def restart_hub(self, away_s: float = 0) -> None:
        self.count += 1
        self.now = Now(
            wall_ms=self.now.wall_ms + round(away_s * 1000),
            awake_ms=0,
            hub=IncarnationId(f"i_hub{self.count + 1}"),
        )
        self.run(cm.StartHub(self.now.hub, "1"))

    def sweep(self) -> list[str]:
        due = [
            one.delivery_id
            for one in self.world.every(Delivery)
            if (one.due_at_ms or 2**60) <= self.now.wall_ms
        ]
        return [self.run(cm.Due(one)).what for one in due]

    # -- people

    def fresh(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}_{self.count:04d}"

    def submit(self, key: str | None = None, by: str = "ann", **spec: Any) -> TaskId:
        spec = {"objective": "do it", "route": "claude", **spec}
        reply = self.run(cm.Submit(TaskId(self.fresh("t")), TaskSpec(**spec), by, key or self.fresh("key")))
        assert isinstance(reply, cm.Submitted), reply
        return reply.task_id

    def cancel(self, task_id: TaskId) -> Any:
        return self.run(cm.Cancel(task_id, "ann", "not needed"))

    def answer(self, task_id: TaskId, number: int, answer: Answer, **more: Any) -> Any:
        item = self.world.find(Attention, item_id(AttentionKind.UNKNOWN, attempt_id(task_id, number)))
        version = more.pop("item_version", item.version if item else 0)
        return self.run(
            cm.Reconcile(task_id, number, answer, version, "ann", more.pop("because", "I looked"), **more)
        )

    # -- nodes

    def node(self, name: str = "laptop", boot: str = "boot1", **recipient: Any) -> NodeId:
        known = [one for one in self.world.nodes_named(name) if not one.revoked]
        node_id = known[0].node_id if known else NodeId(self.fresh("n"))
        if not known:
            self.run(cm.Enroll(node_id, name, text_digest(name), "ann"))
        spec = RecipientSpec(**{"name": "claude", "harness": "command", **recipient})
        self.run(cm.StartNode(node_id, IncarnationId(self.fresh("i")), boot, 1, "linux", "1", (spec,)))
        return node_id

    def live(self, node_id: NodeId) -> IncarnationId:
        return self.get(Node, node_id).incarnation

    def claim(self, node_id: NodeId, free: int = 1, claim_id: str | None = None) -> list[Delivery]:
        node = self.get(Node, node_id)
        offers = tuple(
            cm.Offer(DeliveryId(one), text_digest("token " + one))
            for one in (self.fresh("d") for _ in range(free))
        )
        wanted: dict[Address, int] = dict.fromkeys(node.recipients, free)
        reply = self.run(
            cm.Claim(node_id, node.incarnation, ClaimId(claim_id or self.fresh("c")), wanted, offers)
        )
        return [self.get(Delivery, one) for one in reply.deliveries] if isinstance(reply, cm.Claimed) else []

    def proof(self, delivery: Delivery, **changes: Any) -> cm.Proof:
        return replace(
            cm.Proof(
                delivery.delivery_id, delivery.fence, delivery.token_digest, self.live(delivery.node_id)
            ),
            **changes,
        )

    def ack(self, delivery: Delivery, refused: str | None = None, **changes: Any) -> str:
        return self.run(cm.Acknowledge(self.proof(delivery, **changes), "receipt", refused)).answer

    def renew(
        self, delivery: Delivery, counter: int | None = None, progress: Progress | None = None, **changes: Any
    ) -> Any:
        if counter is None:
            counter = self.counters.get(delivery.delivery_id, 0) + 1
        self.counters[delivery.delivery_id] = max(counter, self.counters.get(delivery.delivery_id, 0))
        return self.run(cm.Renew(self.proof(delivery, **changes), counter, progress or Progress(), Usage()))

    def report(
        self, delivery: Delivery, verdict: Verdict = Verdict.COMPLETED, tree_gone: bool = True, **changes: Any
    ) -> str:
        outcome = Outcome(verdict=verdict, tree_gone=tree_gone)
        return self.run(cm.Report(self.proof(delivery, **changes), digest(outcome), outcome)).answer

    def running(self, **spec: Any) -> tuple[NodeId, TaskId, Delivery]:
        """A node, and a Task of which it runs Attempt 1."""
        node_id = self.node()
        task_id = self.submit(**spec)
        (delivery,) = self.claim(node_id)
        assert self.ack(delivery) == "delivered"
        return node_id, task_id, self.get(Delivery, delivery.delivery_id)

    def lose(self, delivery: Delivery) -> None:
        """Let the lease run out, and then its grace."""
        self.pass_s(self.terms.lease_ttl_ms / 1000)
        assert self.sweep() == ["suspect"]
        self.pass_s(self.terms.suspect_grace_ms / 1000)
        assert self.sweep() == ["revoked"]

    # -- looking

    def refolded(self) -> World:
        """What the events alone make, from nothing."""
        world = World()
        for now, event in self.record:
            evolve(world, msgspec.json.decode(msgspec.json.encode(event), type=Event), now)
        return world

    def get(self, kind: Any, key: str) -> Any:
        found = self.world.find(kind, key)
        assert found is not None, key
        return found

    def task(self, task_id: TaskId) -> Task:
        return self.get(Task, task_id)

    def attempt(self, task_id: TaskId, number: int = 1) -> Attempt:
        return self.get(Attempt, attempt_id(task_id, number))

    def recipient(self, where: str = "claude@laptop") -> Recipient:
        return self.get(Recipient, where)

    def open_items(self) -> list[str]:
        return sorted(str(one.kind) for one in self.world.every(Attention) if one.open)
