"""Claims: looking for work, and waiting for it.

A claim looks, then enters the waiting room, then looks again: what is committed in between wakes it, and what was
committed before it finds. A node that goes away leaves the room at once. What was granted to it and never
acknowledged is voided by time (`no_start_before_handoff`), and until then its repeated claim gets the same grants:
the claim's id finds them, and their tokens can be made again."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, final

from tenure.core import limits
from tenure.core.attempt import Attempt
from tenure.core.canonical import text_digest
from tenure.core.circuit import Circuit
from tenure.core.commands import Claim, Claimed, Offer
from tenure.core.delivery import Delivery
from tenure.core.ids import DeliveryId, NodeId
from tenure.core.recipient import Recipient, recipient_queues
from tenure.hub.loops.ready import LONG_AGO_MS
from tenure.hub.recorded import recorded
from tenure.hub.service import Hub
from tenure.hub.waiting import Visit
from tenure.wire.legs import ClaimReply, ClaimRequest, Grant

LOOKS = 50
"""Looks of one claim while it only takes Tasks out of the queue that are held; each takes out some hundred."""
Gone = Callable[[], Awaitable[object]]
"""Watches for a node that goes away; called only by a claim that waits, so that nothing is left unawaited."""


@final
class Claims:
    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    async def claim(self, node_id: NodeId, asked: ClaimRequest, gone: Gone | None) -> ClaimReply:
        """Grants for as much as there is; without any, wait up to `wait_s` for some. `gone` completes when the node
        has gone away; it is not awaited further then."""
        granted = await self._look(node_id, asked)
        if granted or asked.wait_s <= 0:
            return await self._grants(granted)
        left = (
            asyncio.ensure_future(gone()) if gone is not None else asyncio.get_running_loop().create_future()
        )
        self._hub.presence.holds(node_id)
        try:
            return await self._grants(await self._wait(node_id, asked, left))
        finally:
            left.cancel()
            await asyncio.gather(left, return_exceptions=True)
            self._hub.presence.let_go(node_id)

    async def _wait(
        self, node_id: NodeId, asked: ClaimRequest, left: asyncio.Future[Any]
    ) -> tuple[DeliveryId, ...]:
        room, loop = self._hub.room, asyncio.get_running_loop()
        until = loop.time() + asked.wait_s
        owes = False
        with room.visit(asked.free) as visit:
            try:
                while not room.closed:
                    owes = owes or visit.woken.is_set()
                    visit.woken.clear()
                    await self._listen(visit, asked)
                    granted = await self._look(node_id, asked)
                    if owes:
                        await self._pass_on(visit)
                        owes = False
                    if granted:
                        return granted
                    await _first_of(visit.woken, left, until - loop.time())
                    if not visit.woken.is_set():
                        break
            finally:
                # Woken, and it did not look: whoever is woken in its place finds out whether there is anything.
                if owes or visit.woken.is_set():
                    room.pass_on(visit)
        return ()

    async def _listen(self, visit: Visit, asked: ClaimRequest) -> None:
        """Hear of Tasks for those recipients that could be given one now; the others must be eased first."""
        ledger, room = self._hub.ledger, self._hub.room
        known = await ledger.find_many(Recipient, asked.free)
        open_ones = [one for one in known.values() if one.free and one.may_work]
        await self._mind_circuits(visit, open_ones)
        visit.ready_at_ms = math.inf
        room.listen(visit, (queue for one in open_ones for queue in recipient_queues(one)))
        if visit.queues:
            at_ms = await ledger.next_ready_ms(visit.queues, self._hub.clock.wall_ms())
            if at_ms is not None:
                room.comes_of_age(visit, at_ms)

    async def _mind_circuits(self, visit: Visit, recipients: Sequence[Recipient]) -> None:
        """Look again when the first of their circuits lets something through."""
        quotas = {quota for one in recipients for quota in one.quotas}
        circuits = (await self._hub.ledger.find_many(Circuit, quotas)).values()
        now_ms = self._hub.clock.wall_ms()
        opening = [one.until_ms for one in circuits if not one.is_closed and one.until_ms > now_ms]
        self._hub.room.looks_at(visit, min(opening, default=math.inf))

    async def _pass_on(self, visit: Visit) -> None:
        if not self._hub.room.may_pass_on(visit):
            return
        ready_ms = await self._hub.ledger.next_ready_ms(visit.queues, LONG_AGO_MS)
        if ready_ms is not None and ready_ms <= self._hub.clock.wall_ms():
            self._hub.room.pass_on(visit)

    async def _look(self, node_id: NodeId, asked: ClaimRequest) -> tuple[DeliveryId, ...]:
        claimed = await self._ask(node_id, asked)
        for _ in range(LOOKS):
            if not claimed.look_again:
                break
            claimed = await self._ask(node_id, asked)
        return claimed.deliveries

    async def _ask(self, node_id: NodeId, asked: ClaimRequest) -> Claimed:
        units = min(sum(asked.free.values()), limits.GRANTS)
        offers: list[Offer] = []
        for _ in range(units):
            delivery_id = DeliveryId(self._hub.ids.new_id("d"))
            offers.append(Offer(delivery_id, text_digest(self._hub.lease_token(delivery_id))))
        command = Claim(node_id, asked.incarnation, asked.claim_id, asked.free, tuple(offers))
        return await self._hub.execute(command)

    async def _grants(self, granted: Sequence[DeliveryId]) -> ClaimReply:
        if not granted:
            return ClaimReply(grants=())
        ledger = self._hub.ledger
        with recorded():
            deliveries = await ledger.find_many(Delivery, granted)
            attempts = await ledger.find_many(Attempt, [one.attempt_id for one in deliveries.values()])
        ordered = [deliveries[one] for one in granted if one in deliveries]
        return ClaimReply(grants=tuple(self._grant(one, attempts[one.attempt_id]) for one in ordered))

    def _grant(self, delivery: Delivery, attempt: Attempt) -> Grant:
        left_ms = delivery.term.ends_at_ms - self._hub.clock.wall_ms()
        return Grant(
            delivery_id=delivery.delivery_id,
            task_id=delivery.task_id,
            number=delivery.number,
            recipient=delivery.recipient,
            spec=attempt.spec,
            spec_digest=attempt.spec_digest,
            fence=delivery.fence,
            token=self._hub.lease_token(delivery.delivery_id),
            capability=self._hub.capabilities.grant(delivery, delivery.timeout_s or attempt.spec.timeout_s),
            offer_ttl_s=min(max(left_ms, 0), delivery.term.length_ms) / 1000,
            timeout_s=delivery.timeout_s,
        )


async def _first_of(woken: asyncio.Event, left: asyncio.Future[Any], timeout_s: float) -> None:
    """Until it is woken, the other side has left, or the time is over."""
    waiting = asyncio.ensure_future(woken.wait())
    try:
        await asyncio.wait({waiting, left}, timeout=max(timeout_s, 0), return_when=asyncio.FIRST_COMPLETED)
    finally:
        waiting.cancel()
