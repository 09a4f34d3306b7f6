"""A hub to try things on: the ledger in memory, a clock and ids set by hand, and short words for what nodes say."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

from tenure.core.access import Role
from tenure.core.attempt import Outcome, Verdict
from tenure.core.delivery import Terms
from tenure.core.ids import Address, ClaimId, IncarnationId
from tenure.core.recipient import RecipientSpec
from tenure.hub.access import Principal
from tenure.hub.api import Api
from tenure.hub.effect_desk import EffectDesk
from tenure.hub.effects.registry import Registry
from tenure.hub.legs import Legs
from tenure.hub.service import Hub, Identity
from tenure.ledger.memory import MemoryEngine, MemoryLedger, MemoryParts
from tenure.ledger.port import Ledger
from tenure.wire import api
from tenure.wire import legs as ws

SHA = "a" * 40
START_MS = 1_800_000_000_000
ANN = Principal("ann", Role.OPERATOR)
CREDENTIAL = "tnr_" + "c" * 40


class HandClock:
    """Three clocks that stand still until they are moved."""

    def __init__(self) -> None:
        self.wall, self.boot, self.awake = START_MS, 1_000_000, 1_000_000

    def wall_ms(self) -> int:
        return self.wall

    def boot_ns(self) -> int:
        return self.boot * 1_000_000

    def awake_ns(self) -> int:
        return self.awake * 1_000_000

    def pass_s(self, seconds: float) -> None:
        for name in ("wall", "boot", "awake"):
            setattr(self, name, getattr(self, name) + round(seconds * 1000))


class CountedIds:
    """Ids that count; tokens that nobody need guess."""

    def __init__(self) -> None:
        self.count = 0

    def new_id(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}_{self.count:026d}"

    def token(self, nbytes: int = 32) -> str:
        self.count += 1
        return f"tnr_{self.count:040d}"


async def at_once(work: Callable[[], Any]) -> Any:
    return work()


class Lab:
    """One hub and what is around it. `start` opens a context in which it runs, loops and all."""

    def __init__(self, terms: Terms | None = None, ledger: Callable[[Lab], Ledger] | None = None) -> None:
        self.clock = HandClock()
        self.ids = CountedIds()
        self.terms = terms or Terms()
        self.starts = 0
        self.engine: MemoryEngine | None = None
        self.registry = Registry()
        self._make_ledger = ledger or Lab.in_memory

    def in_memory(self) -> Ledger:
        parts = MemoryParts(run=at_once, clock=self.clock, hub=self.incarnation, terms=self.terms)
        ledger = MemoryLedger(parts, self.engine)
        self.engine = ledger.engine
        return ledger

    @property
    def incarnation(self) -> IncarnationId:
        return IncarnationId(f"i_hub{self.starts}")

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[Lab]:
        """Start the hub, anew over the same record if it ran before."""
        self.starts += 1
        identity = Identity(incarnation=self.incarnation, version="1.2.3", secret=b"secret")
        ledger: Any = self._make_ledger(self)
        await ledger.open()
        self.hub = Hub(ledger, self.clock, self.ids, self.terms, identity, self.registry)
        self.api, self.legs = Api(self.hub), Legs(self.hub)
        self.effects = EffectDesk(self.hub, self.hub.broker)
        try:
            async with self.hub.running():
                yield self
        finally:
            await ledger.close()

    def pass_s(self, seconds: float) -> None:
        """Time passes while the hub is awake; whoever sleeps until an instant looks again."""
        self.clock.pass_s(seconds)
        self.hub._clock_jumped()

    # -- people

    async def submit(self, key: str | None = None, who: Principal = ANN, **spec: Any) -> str:
        asked = api.TaskRequest(**{"objective": "do it", "to": "claude", **spec})
        return (await self.api.submit(who, key or self.ids.new_id("key"), asked)).task_id

    async def why(self, task_id: str) -> str:
        return (await self.api.queries.why(task_id)).code

    async def state(self, task_id: str) -> str:
        return (await self.api.queries.task(task_id)).state

    async def attempt(self, task_id: str, number: int = 1) -> api.AttemptBody:
        return (await self.api.queries.attempts(task_id)).attempts[number - 1]

    # -- nodes

    async def node(self, name: str = "laptop", *recipients: RecipientSpec, **start: Any) -> Desk:
        joins = Principal("join", Role.JOIN)
        desk = Desk(self, name, CREDENTIAL + name, recipients or (RecipientSpec("claude", "command"),))
        await desk.start(joins, **start)
        return desk


class Desk:
    """A node's side of the legs."""

    def __init__(self, lab: Lab, name: str, credential: str, recipients: tuple[RecipientSpec, ...]) -> None:
        self.lab = lab
        self.name = name
        self.credential = credential
        self.recipients = recipients
        self.incarnation = IncarnationId("")
        self.counters: dict[str, int] = {}

    async def start(self, who: Principal | None = None, **changes: Any) -> ws.EnrollReply:
        self.incarnation = IncarnationId(self.lab.ids.new_id("i"))
        return await self.lab.legs.enroll(who or await self.who(), self.said(**changes))

    def said(self, **changes: Any) -> ws.EnrollRequest:
        said = {
            "name": self.name,
            "credential": self.credential,
            "incarnation": self.incarnation,
            "boot_id": "boot1",
            "contract": 1,
            "platform": "linux",
            "version": "1",
            "recipients": self.recipients,
        }
        return ws.EnrollRequest(**{**said, **changes})

    async def who(self) -> Principal:
        return await self.lab.hub.access.authenticate(f"Bearer {self.credential}")

    def asks(self, free: int = 1, wait_s: float = 0.0, claim_id: str | None = None) -> ws.ClaimRequest:
        return ws.ClaimRequest(
            incarnation=self.incarnation,
            claim_id=ClaimId(claim_id or self.lab.ids.new_id("claim")),
            free={Address(f"{one.name}@{self.name}"): free for one in self.recipients},
            wait_s=wait_s,
        )

    async def claim(self, free: int = 1, wait_s: float = 0.0, claim_id: str | None = None) -> list[ws.Grant]:
        reply = await self.lab.legs.claim(await self.who(), self.asks(free, wait_s, claim_id))
        return list(reply.grants)

    def claiming(self, free: int = 1, wait_s: float = 20.0, **more: Any) -> asyncio.Task[list[ws.Grant]]:
        return asyncio.ensure_future(self.claim(free, wait_s, **more))

    async def ack(self, grant: ws.Grant, **changes: Any) -> ws.ItemReply:
        item = ws.AckItem(**{**_proof(grant), "receipt_digest": "r" * 64, **changes})
        reply = await self.lab.legs.acknowledge(
            await self.who(), ws.AckRequest(incarnation=self.incarnation, items=(item,))
        )
        return reply.items[0]

    async def renew(self, grant: ws.Grant, counter: int | None = None, **changes: Any) -> ws.ItemReply:
        if counter is None:
            counter = self.counters.get(grant.delivery_id, 0) + 1
        self.counters[grant.delivery_id] = counter
        item = ws.RenewItem(**{**_proof(grant), "counter": counter, **changes})
        reply = await self.lab.legs.renew(
            await self.who(), ws.RenewRequest(incarnation=self.incarnation, items=(item,))
        )
        return reply.items[0]

    async def report(self, grant: ws.Grant, verdict: Verdict = Verdict.COMPLETED, **changes: Any) -> str:
        outcome = Outcome(verdict=verdict, tree_gone=True, summary=str(verdict))
        item = ws.ReportItem(**{**_proof(grant), "outcome": outcome, **changes})
        reply = await self.lab.legs.report(
            await self.who(), ws.ReportRequest(incarnation=self.incarnation, items=(item,))
        )
        return reply.items[0].answer

    async def reconcile(self, sequence: int, *held: ws.HoldingItem) -> ws.ReconcileReply:
        asked = ws.ReconcileRequest(incarnation=self.incarnation, sequence=sequence, holdings=held)
        return await self.lab.legs.reconcile(await self.who(), asked)

    async def take(self) -> ws.Grant:
        """Claim one Task and confirm its receipt."""
        (grant,) = await self.claim()
        assert (await self.ack(grant)).answer == "delivered"
        return grant


def _proof(grant: ws.Grant) -> dict[str, Any]:
    return {"delivery_id": grant.delivery_id, "fence": grant.fence, "token": grant.token}
