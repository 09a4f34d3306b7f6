"""A hub in this process: the legs over `core.decide`, with every invariant checked after every command.

It can be away, lose its replies, and be slow, each for one leg.
"""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from msgspec.structs import replace

from tenure.core import commands as cm
from tenure.core.attempt import Attempt
from tenure.core.canonical import digest, text_digest
from tenure.core.delivery import Delivery, Terms
from tenure.core.ids import DeliveryId, NodeId, attempt_id
from tenure.core.recipient import Node
from tenure.errors import (
    ContractVersionError,
    OutcomeUnknownError,
    SupersededError,
    TenureError,
    UnauthenticatedError,
    UnavailableError,
    all_errors,
)
from tenure.node.pacing import Signal
from tenure.wire import legs as ws
from tests.core.lab import Lab
from tests.node.virtual import FakeClock, pause

JOIN_TOKEN = "join"
SUPERSEDED = "superseded"

T = TypeVar("T")


class FakeHub:
    """The hub itself; `FakeLegs` are one daemon's connection to it."""

    def __init__(self, clock: FakeClock, terms: Terms | None = None) -> None:
        self.clock = clock
        self.lab = Lab(terms)
        self.began_ns = clock.awake_ns()
        self.is_away = False
        self.lose_replies: Counter[str] = Counter()
        self.refuse: dict[str, TenureError] = {}
        self.delays: defaultdict[str, float] = defaultdict(float)
        self.heard: list[tuple[str, Any]] = []
        self.changed = Signal()
        self.granted: Callable[[ws.Grant], ws.Grant] = lambda grant: grant

    def run(self, command: cm.Command) -> Any:
        self.look_at_clock()
        reply = self.lab.run(command)
        self.changed.give()
        if isinstance(reply, cm.Refusal):
            raise all_errors()[reply.code](reply.message, **reply.facts)
        return reply

    def look_at_clock(self) -> None:
        awake_ms = (self.clock.awake_ns() - self.began_ns) // 1_000_000
        self.lab.now = replace(self.lab.now, wall_ms=self.clock.wall_ms(), awake_ms=awake_ms)

    def sweep(self) -> None:
        """What the loops of a real hub do as time passes."""
        self.look_at_clock()
        if self.lab.sweep():
            self.changed.give()

    async def keep_time(self) -> None:
        while True:
            await pause(0.25)
            if not self.is_away:
                self.sweep()

    # -- people

    def submit(self, **spec: Any) -> str:
        self.look_at_clock()
        task_id = self.lab.submit(**{"route": "agent", **spec})
        self.changed.give()
        return task_id

    def cancel(self, task_id: Any) -> None:
        self.look_at_clock()
        self.lab.cancel(task_id)

    def attempt(self, task_id: Any, number: int = 1) -> Attempt:
        return self.lab.attempt(task_id, number)

    def deliveries(self, task_id: Any) -> list[Delivery]:
        return [one for one in self.lab.world.every(Delivery) if one.task_id == task_id]

    def verdict(self, task_id: Any, number: int = 1) -> str | None:
        found = self.lab.world.find(Attempt, attempt_id(task_id, number))
        return str(found.verdict) if found and found.verdict else None

    def legs_heard(self, leg: str) -> list[Any]:
        return [request for name, request in self.heard if name == leg]


class FakeLegs:
    """`HubLegs` of one daemon."""

    def __init__(self, hub: FakeHub) -> None:
        self.hub = hub
        self.credential: str | None = None

    def use(self, credential: str) -> None:
        self.credential = credential

    async def enroll(self, request: ws.EnrollRequest, token: str) -> ws.EnrollReply:
        return await self._leg("enroll", request, lambda: self._enroll(request, token))

    async def claim(self, request: ws.ClaimRequest) -> ws.ClaimReply:
        loop = asyncio.get_running_loop()
        until = loop.time() + request.wait_s

        async def look() -> ws.ClaimReply:
            while True:
                grants = self._claim(request)
                left_s = until - loop.time()
                if grants or left_s <= 0:
                    return ws.ClaimReply(grants=grants)
                await self.hub.changed.wait(left_s)
                if self.hub.is_away:
                    raise OutcomeUnknownError("the connection broke")

        return await self._leg_of("claim", request, look)

    async def acknowledge(self, request: ws.AckRequest) -> ws.ItemsReply:
        return await self._leg(
            "acknowledge",
            request,
            lambda: self._items(request, partial(self._acknowledge, snapshot=request.snapshot)),
        )

    async def renew(self, request: ws.RenewRequest) -> ws.ItemsReply:
        return await self._leg("renew", request, lambda: self._items(request, self._renew))

    async def report(self, request: ws.ReportRequest) -> ws.ItemsReply:
        return await self._leg("report", request, lambda: self._items(request, self._report))

    async def reconcile(self, request: ws.ReconcileRequest) -> ws.ReconcileReply:
        return await self._leg("reconcile", request, lambda: self._reconcile(request))

    # -- each leg

    def _enroll(self, request: ws.EnrollRequest, token: str) -> ws.EnrollReply:
        known = self._known(token)
        if known is None and token != JOIN_TOKEN:
            raise UnauthenticatedError("this token is not known here")
        if known is None:
            node_id = NodeId(self.hub.lab.fresh("n"))
            command = cm.Enroll(node_id, request.name, text_digest(request.credential), "ann")
            node_id = self.hub.run(command).node_id
        else:
            node_id = known.node_id
        started = self.hub.run(
            cm.StartNode(
                node_id,
                request.incarnation,
                request.boot_id,
                request.contract,
                request.platform,
                request.version,
                request.recipients,
                generation=request.generation,
            )
        )
        if not started.compatible:
            raise ContractVersionError("the node speaks another version of the contract")
        terms = self.hub.lab.terms
        return ws.EnrollReply(
            node_id=node_id,
            superseded=started.superseded,
            quarantined=started.quarantined,
            lease_ttl_s=terms.lease_ttl_ms / 1000,
            cancel_grace_s=terms.cancel_grace_ms / 1000,
            hub_incarnation=self.hub.lab.now.hub,
        )

    def _claim(self, request: ws.ClaimRequest) -> tuple[ws.Grant, ...]:
        node = self._speaker(request.incarnation)
        offers = tuple(
            cm.Offer(one, text_digest("token " + one))
            for one in (DeliveryId(self.hub.lab.fresh("d")) for _ in range(sum(request.free.values())))
        )
        command = cm.Claim(node.node_id, request.incarnation, request.claim_id, request.free, offers)
        return tuple(self._grant(one) for one in self.hub.run(command).deliveries)

    def _grant(self, delivery_id: DeliveryId) -> ws.Grant:
        delivery = self.hub.lab.get(Delivery, delivery_id)
        attempt = self.hub.lab.get(Attempt, delivery.attempt_id)
        grant = ws.Grant(
            delivery_id=delivery_id,
            task_id=delivery.task_id,
            number=delivery.number,
            recipient=delivery.recipient,
            spec=attempt.spec,
            spec_digest=attempt.spec_digest,
            fence=delivery.fence,
            token="token " + delivery_id,
            offer_ttl_s=self.hub.lab.terms.offer_ttl_ms / 1000,
        )
        return self.hub.granted(grant)

    def _acknowledge(self, item: Any, proof: cm.Proof, snapshot: int) -> cm.Command:
        return cm.Acknowledge(proof, item.receipt_digest, item.refused, snapshot)

    def _renew(self, item: Any, proof: cm.Proof) -> cm.Command:
        return cm.Renew(proof, item.counter, item.progress, item.usage, item.started_at_ms)

    def _report(self, item: Any, proof: cm.Proof) -> cm.Command:
        if item.outcome is None:
            return cm.HandBack(proof, item.handback)
        return cm.Report(proof, digest(item.outcome), item.outcome)

    def _items(self, request: Any, make: Any) -> ws.ItemsReply:
        self._speaker(request.incarnation)
        replies: list[ws.ItemReply] = []
        for item in request.items:
            proof = cm.Proof(item.delivery_id, item.fence, text_digest(item.token), request.incarnation)
            said: cm.LegAnswer = self.hub.run(make(item, proof))
            replies.append(
                ws.ItemReply(
                    delivery_id=said.delivery_id,
                    answer=said.answer,
                    ttl_s=None if said.term_ms is None else said.term_ms / 1000,
                    cancel=said.cancel,
                    cancel_grace_s=None if said.cancel_grace_ms is None else said.cancel_grace_ms / 1000,
                )
            )
        return ws.ItemsReply(items=tuple(replies))

    def _reconcile(self, request: ws.ReconcileRequest) -> ws.ReconcileReply:
        node = self._speaker(request.incarnation)
        holdings = tuple(
            cm.Holding(one.delivery_id, one.fence, one.stage, one.tree_gone) for one in request.holdings
        )
        answer = self.hub.run(cm.Snapshot(node.node_id, request.incarnation, request.sequence, holdings))
        advice = tuple(ws.Advice(delivery_id=one, advice=what) for one, what in answer.advice.items())
        return ws.ReconcileReply(ignored=answer.ignored, advice=advice)

    # -- all legs

    async def _leg(self, name: str, request: Any, work: Any) -> Any:
        async def done() -> Any:
            return work()

        return await self._leg_of(name, request, done)

    async def _leg_of(self, name: str, request: Any, work: Any) -> Any:
        hub = self.hub
        if hub.is_away:
            raise UnavailableError("the hub is away")
        if name in hub.refuse:
            raise hub.refuse[name]
        if hub.delays[name]:
            await pause(hub.delays[name])
        hub.heard.append((name, request))
        reply = await work()
        if hub.lose_replies[name] > 0:
            hub.lose_replies[name] -= 1
            raise OutcomeUnknownError("the reply was lost")
        await pause(0.001)
        return reply

    def _known(self, token: str | None) -> Node | None:
        wanted = text_digest(token or "")
        nodes = self.hub.lab.world.every(Node)
        return next((one for one in nodes if one.credential_digest == wanted and not one.revoked), None)

    def _speaker(self, incarnation: str) -> Node:
        node = self._known(self.credential)
        if node is None:
            raise UnauthenticatedError("this token is not known here")
        if node.incarnation != incarnation:
            raise SupersededError("a newer start of this node has taken over; stop.")
        return node
