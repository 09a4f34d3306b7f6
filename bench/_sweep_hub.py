"""A hub on a file with ten thousand leases, for the bench of sweeps: a fleet that holds them, and one node that goes on working."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import random
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

from bench import _record
from bench._record import MovableClock
from tenure.core import commands as cm
from tenure.core.access import Role
from tenure.core.attempt import Outcome, Verdict
from tenure.core.canonical import text_digest
from tenure.core.delivery import Terms
from tenure.core.ids import Address, ClaimId, DeliveryId, IncarnationId, NodeId
from tenure.core.limits import BATCH
from tenure.core.recipient import RecipientSpec
from tenure.hub.access import Principal
from tenure.hub.legs import Legs
from tenure.hub.service import Hub, Identity
from tenure.ledger.port import Committed
from tenure.ledger.sqlite import SqliteLedger, SqliteParts
from tenure.runtime.database import connect_database
from tenure.runtime.ids import RealIds
from tenure.runtime.worker import OneAtATime
from tenure.wire import legs as ws

NODES, UNITS = 1_000, 10
LEASES = NODES * UNITS
TOGETHER = 50
"""Nodes that are set up side by side, so that they share commits."""
RENEWED_WITHIN_S = 5.0
"""All leases are renewed once in this time, node after node: twice as fast as daemons do by default."""
TERMS = Terms(
    offer_ttl_ms=600_000, lease_ttl_ms=3_600_000, suspect_grace_ms=3_600_000, stall_after_ms=1_800_000
)
"""So long that nothing runs out before the bench moves the clock, however slow the machine is."""
PAUSE_S = 0.005
"""The claimer pauses up to so long before each claim, so that its claims do not keep step with the hub's commits."""


class Node:
    """A node's side of the legs, without HTTP."""

    def __init__(self, stage: Stage, name: str) -> None:
        self.stage = stage
        self.name = name
        self.recipients = (RecipientSpec("coder", "command", capacity=UNITS),)
        self.addresses = (Address(f"coder@{name}"),)
        self.incarnation = IncarnationId(stage.ids.new_id("i"))
        self.holds: list[tuple[DeliveryId, int]] = []
        self.node_id = NodeId("")

    async def enroll(self) -> None:
        credential = self.stage.ids.token()
        said = ws.EnrollRequest(
            name=self.name,
            credential=credential,
            incarnation=self.incarnation,
            boot_id="boot",
            contract=ws.CONTRACT_VERSION,
            platform="linux",
            version="bench",
            recipients=self.recipients,
        )
        reply = await self.stage.legs.enroll(Principal("join", Role.JOIN), said)
        self.node_id = reply.node_id
        self.who = await self.stage.hub.access.authenticate(f"Bearer {credential}")

    async def fill(self) -> None:
        """Take a Task for every unit there is."""
        (where,) = self.addresses
        tasks = [_record.submit(self.stage.next_number(), route=where) for _ in range(UNITS)]
        await self.stage.hub.ledger.execute_many(tasks)
        grants = await self.claim(UNITS)
        await self.acknowledge(grants)
        self.holds += [(one.delivery_id, one.fence) for one in grants]

    async def claim(self, units: int) -> tuple[ws.Grant, ...]:
        asked = ws.ClaimRequest(
            incarnation=self.incarnation,
            claim_id=ClaimId(self.stage.ids.new_id("c")),
            free=dict.fromkeys(self.addresses, units),
        )
        return (await self.stage.legs.claim(self.who, asked)).grants

    async def acknowledge(self, grants: tuple[ws.Grant, ...]) -> None:
        items = tuple(
            ws.AckItem(**_proof(one), receipt_digest=text_digest(one.delivery_id)) for one in grants
        )
        asked = ws.AckRequest(incarnation=self.incarnation, items=items)
        expect(await self.stage.legs.acknowledge(self.who, asked), "delivered")

    async def report(self, grants: tuple[ws.Grant, ...]) -> None:
        done = Outcome(verdict=Verdict.COMPLETED, summary="done", tree_gone=True)
        items = tuple(ws.ReportItem(**_proof(one), outcome=done) for one in grants)
        expect(
            await self.stage.legs.report(
                self.who, ws.ReportRequest(incarnation=self.incarnation, items=items)
            ),
            "recorded",
        )

    async def renew(self, counter: int) -> None:
        """Renew everything it holds. Nothing has moved."""
        items = tuple(
            ws.RenewItem(delivery_id=one, fence=fence, token=self.stage.hub.lease_token(one), counter=counter)
            for one, fence in self.holds
        )
        asked = ws.RenewRequest(incarnation=self.incarnation, items=items)
        expect(await self.stage.legs.renew(self.who, asked), "renewed")


def _proof(grant: ws.Grant) -> dict[str, Any]:
    return {"delivery_id": grant.delivery_id, "fence": grant.fence, "token": grant.token}


def expect(reply: ws.ItemsReply, answer: str) -> None:
    found = {one.answer for one in reply.items}
    if found != {answer}:
        raise RuntimeError(f"answered {found} instead of {answer}")


class Stage:
    """The hub, the fleet and the claimer. What the fleet's leases went through is counted by the kind of the event."""

    def __init__(self, hub: Hub, clock: MovableClock, ids: RealIds, seed: int) -> None:
        self.hub = hub
        self.legs = Legs(hub)
        self.clock = clock
        self.ids = ids
        self.chance = random.Random(seed)
        self.numbers = 0
        self._counts: dict[type, int] = {}
        self._moved = asyncio.Event()
        self.fleet = [Node(self, f"lost{one}") for one in range(NODES)]
        self.claimer = Node(self, "claimer")

    def next_number(self) -> int:
        self.numbers += 1
        return self.numbers

    async def set_up(self) -> None:
        await self.claimer.enroll()
        for first in range(0, NODES, TOGETHER):
            some = self.fleet[first : first + TOGETHER]
            await asyncio.gather(*(one.enroll() for one in some))
            await asyncio.gather(*(one.fill() for one in some))

    async def renew_all(self, counter: int) -> None:
        """Each node renews in its turn, all within `RENEWED_WITHIN_S` if the hub can."""
        begun = time.perf_counter()
        for number, node in enumerate(self.fleet):
            await asyncio.sleep(begun + number * RENEWED_WITHIN_S / NODES - time.perf_counter())
            await node.renew(counter)

    def heard(self, committed: Committed) -> None:
        for fact in committed.facts:
            self._counts[type(fact)] = self._counts.get(type(fact), 0) + 1
        self._moved.set()

    async def until(self, kind: type, count: int, bound_s: float = 300.0) -> None:
        """Until there were so many events of a kind."""
        async with asyncio.timeout(bound_s):
            while self._counts.get(kind, 0) < count:
                self._moved.clear()
                await self._moved.wait()

    def pass_s(self, seconds: float) -> None:
        """Time passes while the hub is awake; whoever sleeps until an instant looks again."""
        self.clock.pass_s(seconds)
        self.hub._clock_jumped()  # noqa: SLF001 - what the hub itself does when its clock has moved

    async def stock(self, tasks: int) -> None:
        """So many Tasks more wait for the claimer."""
        for first in range(0, tasks, BATCH):
            made: list[cm.Command] = [
                _record.submit(self.next_number(), route=self.claimer.addresses[0])
                for _ in range(min(BATCH, tasks - first))
            ]
            await self.hub.ledger.execute_many(made)

    async def work_once(self) -> float:
        """Claim, acknowledge and report one Delivery; the seconds that the claim took."""
        await asyncio.sleep(self.chance.uniform(0, PAUSE_S))
        begun = time.perf_counter()
        grants = await self.claimer.claim(1)
        took = time.perf_counter() - begun
        if len(grants) != 1:
            raise RuntimeError("the claimer has run out of Tasks")
        await self.claimer.acknowledge(grants)
        await self.claimer.report(grants)
        return took

    async def work(self, times: int) -> list[float]:
        return [await self.work_once() for _ in range(times)]

    async def work_during(self, other: asyncio.Task[Any]) -> list[float]:
        """The claims that began before `other` ended."""
        took: list[float] = []
        while not other.done():
            took.append(await self.work_once())
        await other
        return took


@contextlib.asynccontextmanager
async def stage(path: Path, seed: int) -> AsyncIterator[Stage]:
    """A hub that runs, with `LEASES` acknowledged leases of a fleet that will not be heard again."""
    clock = MovableClock()
    ids = RealIds(clock)
    incarnation = IncarnationId(ids.new_id("i"))
    write, read = OneAtATime("ledger"), OneAtATime("reads")
    ledger = SqliteLedger(SqliteParts(_connector(path), write, read, clock, incarnation, TERMS))
    await ledger.open()
    try:
        hub = Hub(ledger, clock, ids, TERMS, Identity(incarnation=incarnation, version="bench", secret=b"b"))
        async with hub.running():
            ours = Stage(hub, clock, ids, seed)
            await ours.set_up()
            ledger.subscribe(ours.heard)
            gc.collect()
            yield ours
    finally:
        await ledger.close()
        write.close()
        read.close()


def _connector(path: Path) -> Callable[[bool], Any]:
    return lambda read_only: connect_database(path, read_only=read_only)
