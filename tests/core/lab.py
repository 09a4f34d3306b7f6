"""A bench for the core: a World, a clock that is set by hand, and short words for the commands."""

from __future__ import annotations

import copy
from typing import Any

import msgspec
from msgspec.structs import replace

from tenure.core import commands as cm
from tenure.core import desk_commands as dc
from tenure.core import effect_commands as ec
from tenure.core.account import Account
from tenure.core.attempt import Answer, Attempt, Outcome, Usage, Verdict
from tenure.core.attention import Attention, AttentionKind, item_id
from tenure.core.canonical import digest, text_digest
from tenure.core.circuit import Circuit
from tenure.core.decide import decide
from tenure.core.delivery import Delivery, Now, Progress, Terms
from tenure.core.effect import Effect
from tenure.core.effect_commands import CallEnd
from tenure.core.effect_kind import Params, PullRequest
from tenure.core.events import Event
from tenure.core.evolve import evolve
from tenure.core.failure import CheckEnded, Evidence, FailureClass, StepEnded
from tenure.core.gate import Gate
from tenure.core.ids import (
    Address,
    ClaimId,
    DeliveryId,
    EffectId,
    IncarnationId,
    NodeId,
    TaskId,
    attempt_id,
)
from tenure.core.invariants import step_violations, world_violations
from tenure.core.policy import DEFAULT, UnknownRule
from tenure.core.recipient import Node, Recipient, RecipientSpec
from tenure.core.review import Review
from tenure.core.scope import EffectKind, Scope
from tenure.core.task import Task, TaskSpec
from tenure.core.why import Reason, WhyFacts, why
from tenure.core.world import World

SHA = "a" * 40
OTHER_SHA = "b" * 40
TREE = "c" * 40
FORGE = "forge:acme/app"
SCOPE = Scope(kinds=tuple(EffectKind), targets=("forge:acme/*", "hook:*"), branches=("tenure/*",))
CALL_S = 10
"""What a call has, from the commit that issues it."""
SETTLING_S = 5
"""What the provider of the Lab says that it needs to show what was done."""


def pull_request(head: str = "tenure/one", **changes: Any) -> PullRequest:
    return PullRequest(**{"head": head, "base": "main", "title": "A change", **changes})


def evidence(claimed: FailureClass | None = None, check: str | None = None, **more: Any) -> str:
    """What a node reports beside its word: the class that the harness named, the output of a check that did not pass."""
    checks = (CheckEnded(name="tests", ended=StepEnded(exit_code=1, output_tail=check)),) if check else ()
    known = Evidence(claimed_class=claimed, checks=checks, **more)
    return msgspec.json.encode({"harness": known}).decode()


class Lab:
    """Every command is checked: the invariants hold after it, and no step breaks a rule.

    `copies_deep`: also a value that is changed in place would be seen. It costs most of the time of a long run."""

    copies_deep = True

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
        before = self._copied()
        decision = decide(self.world, command, self.now, self.terms)
        assert self.world.entities == before.entities, "decide changed the world it was given"
        self.world.accept(decision.changes)
        assert not decision.changes or decision.events, "a change without an event"
        self.events += decision.events
        self.record += [(self.now, event) for event in decision.events]
        broken = world_violations(self.world) + step_violations(before, self.world)
        assert not broken, (command, broken)
        return decision.reply

    def _copied(self) -> World:
        if self.copies_deep:
            return copy.deepcopy(self.world)
        world = World()
        world.entities = {kind: dict(entities) for kind, entities in self.world.entities.items()}
        return world

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

    def store_auto(self) -> None:
        """The policy `auto`: the default one, but it answers unknown outcomes by itself where it may."""
        policy = replace(DEFAULT, name="auto", unknown=UnknownRule.AUTO)
        assert self.run(dc.StorePolicy(policy, "ann")) == cm.Done()

    # -- nodes

    def node(
        self, name: str = "laptop", boot: str = "boot1", generation: int = 0, **recipient: Any
    ) -> NodeId:
        known = [one for one in self.world.nodes_named(name) if not one.revoked]
        node_id = known[0].node_id if known else NodeId(self.fresh("n"))
        if not known:
            self.run(cm.Enroll(node_id, name, text_digest(name), "ann"))
        spec = RecipientSpec(**{"name": "claude", "harness": "command", **recipient})
        who = IncarnationId(self.fresh("i"))
        self.run(cm.StartNode(node_id, who, boot, 1, "linux", "1", (spec,), generation=generation))
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
        self,
        delivery: Delivery,
        counter: int | None = None,
        progress: Progress | None = None,
        usage: Usage | None = None,
        **changes: Any,
    ) -> Any:
        if counter is None:
            counter = self.counters.get(delivery.delivery_id, 0) + 1
        self.counters[delivery.delivery_id] = max(counter, self.counters.get(delivery.delivery_id, 0))
        proof = self.proof(delivery, **changes)
        return self.run(cm.Renew(proof, counter, progress or Progress(), usage or Usage()))

    def report(
        self,
        delivery: Delivery,
        verdict: Verdict = Verdict.COMPLETED,
        tree_gone: bool = True,
        session_id: str | None = None,
        **changes: Any,
    ) -> str:
        outcome = Outcome(verdict=verdict, tree_gone=tree_gone, session_id=session_id)
        return self.run(cm.Report(self.proof(delivery, **changes), digest(outcome), outcome)).answer

    def fail(self, delivery: Delivery, failure_class: FailureClass, **outcome: Any) -> str:
        """Report that it failed, and how the node classified that."""
        said = Outcome(Verdict.FAILED, failure_class=failure_class, tree_gone=True, **outcome)
        return self.run(cm.Report(self.proof(delivery), digest(said), said)).answer

    def report_used(self, delivery: Delivery, cost_usd_micros: int) -> str:
        """Report that it completed, and what that cost."""
        used = Usage(cost_usd_micros=cost_usd_micros)
        said = Outcome(Verdict.COMPLETED, usage=used, tree_gone=True)
        return self.run(cm.Report(self.proof(delivery), digest(said), said)).answer

    def work(self, node_id: NodeId, task_id: TaskId | None = None) -> Delivery:
        """The node takes the one Attempt that it is given."""
        (delivery,) = self.claim(node_id)
        assert task_id in (None, delivery.task_id)
        assert self.ack(delivery) == "delivered"
        return self.get(Delivery, delivery.delivery_id)

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

    # -- effects

    def performing(self, **spec: Any) -> tuple[TaskId, Delivery]:
        """A running Attempt that may do everything at the forge."""
        _, task_id, delivery = self.running(**{"scope": SCOPE, **spec})
        return task_id, delivery

    def begin(
        self, delivery: Delivery, params: Params | None = None, *, target: str = FORGE, **more: Any
    ) -> Any:
        asked: dict[str, Any] = {
            "effect_id": EffectId(self.fresh("e")),
            "delivery_id": delivery.delivery_id,
            "fence": delivery.fence,
            "target": target,
            "params": params or pull_request(),
            "finds": True,
            "settling_ms": SETTLING_S * 1000,
        }
        command = ec.BeginEffect(**(asked | more))
        return self.run(command)

    def issue(self, effect_id: EffectId, call_id: str = "call1", within_s: float = CALL_S) -> Any:
        return self.run(ec.IssueEffect(effect_id, call_id, round(within_s * 1000)))

    def settle(
        self, effect_id: EffectId, end: CallEnd = CallEnd.CONFIRMED, call_id: str = "call1", **more: Any
    ) -> Any:
        result = '{"number":7}' if end is CallEnd.CONFIRMED else None
        return self.run(ec.SettleEffect(effect_id, call_id, end, **{"result": result, **more}))

    def look_up(self, effect_id: EffectId, asked: Now | None = None, **said: Any) -> Any:
        return self.run(ec.LookUpEffect(effect_id, asked or self.now, **said))

    def doubt(self, effect_id: EffectId) -> Any:
        return self.run(ec.DoubtEffect(effect_id))

    def resolve(self, effect_id: EffectId, confirmed: bool, **more: Any) -> Any:
        effect = self.effect(effect_id)
        kind = AttentionKind.EFFECT_QUARANTINED
        if self.item(kind, f"{effect.task_id}/{effect_id}") is None:
            kind = AttentionKind.EFFECT_IN_DOUBT
        item = self.item(kind, f"{effect.task_id}/{effect_id}")
        more = {"item_version": item.version if item else 0, "by": "ann", "because": "I looked", **more}
        return self.run(ec.ResolveEffect(effect_id, confirmed, **more))

    def approve(self, task_id: TaskId, effect_id: EffectId | None, approve: bool = True, **more: Any) -> Any:
        subject = f"{task_id}/{effect_id}" if effect_id else attempt_id(task_id, self.task(task_id).attempts)
        item = self.item(AttentionKind.APPROVAL, subject)
        more = {"item_version": item.version if item else 0, "by": "ann", "because": "it is fine", **more}
        return self.run(ec.Approve(task_id, effect_id, approve, **more))

    def issued(self, **spec: Any) -> tuple[TaskId, Delivery, EffectId]:
        """A call under way."""
        task_id, delivery = self.performing(**spec)
        effect_id = self.begin(delivery).effect_id
        assert self.issue(effect_id).problem is None
        return task_id, delivery, effect_id

    def doubted(self, **spec: Any) -> tuple[TaskId, Delivery, EffectId]:
        """A call whose answer was lost."""
        task_id, delivery, effect_id = self.issued(**spec)
        assert self.settle(effect_id, CallEnd.LOST).state == "in_doubt"
        return task_id, delivery, effect_id

    def find_absent(self, effect_id: EffectId) -> None:
        """Let the provider say twice, late enough, that it does not have it."""
        for _ in range(2):
            self.pass_s(CALL_S + SETTLING_S)
            self.look_up(effect_id)
        assert self.effect(effect_id).state == "absent"

    def effect(self, effect_id: EffectId) -> Effect:
        return self.get(Effect, effect_id)

    def item(self, kind: AttentionKind, subject: str) -> Attention | None:
        """The open question of this kind."""
        item = self.world.find(Attention, item_id(kind, subject))
        return item if item is not None and item.open else None

    # -- looking

    def reason(self, task_id: TaskId) -> Reason:
        """What `why` says of a Task."""
        return why(self.why_facts(task_id), self.now.wall_ms)

    def why_facts(self, task_id: TaskId) -> WhyFacts:
        task = self.task(task_id)
        return WhyFacts(
            task=task,
            attempt=self.attempt(task_id, task.attempts),
            delivery=self.world.find(Delivery, task.lease) if task.lease else None,
            recipients=tuple(self.world.every(Recipient)),
            nodes={one.node_id: one for one in self.world.every(Node)},
            online=frozenset(one.node_id for one in self.world.every(Node)),
            attention=tuple(one for one in self.world.every(Attention) if one.subject.startswith(task_id)),
            circuits={one.quota: one for one in self.world.every(Circuit)},
            accounts={one.account_id: one for one in self.world.every(Account)},
            reviews={one.task_id: one for one in self.world.every(Review) if one.is_open},
            gates={one.gate_id: one for one in self.world.every(Gate)},
        )

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


class QuickLab(Lab):
    """For long runs: it does not see a value that is changed in place."""

    copies_deep = False
