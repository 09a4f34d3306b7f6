"""Claiming: asking for work, mirroring what is granted, and acknowledging it.

One claim at a time, in this order: claim, mirror (one commit for all grants of a reply), acknowledge, hand over to
execution; then, if one is due, a snapshot; then the next claim. So a snapshot meets a grant of ours on its way only if the
network kept it: that grant is voided unless its receipt, which names the snapshot, came first.

- A claim whose answer was lost is repeated under its id, at once and without waiting: the hub gives the same grants.
- A unit that becomes free for a recipient which the open claim does not name breaks that claim off; it is repeated under
  its id as well.
- What cannot be mirrored is refused, with the reason, and the next claim waits a little: nobody else's offers must run out
  on a full disk.
- The deadline counts from the *first* sending of the acknowledgement: the hub's own count may have begun there.
- After a stop past the time of a renewal, the renewals go before the acknowledgements.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import final

from msgspec import Struct

from tenure.core.canonical import digest
from tenure.core.clock import Clock, IdSource
from tenure.core.ids import Address, ClaimId, DeliveryId, IncarnationId
from tenure.core.limits import BATCH
from tenure.errors import InvalidError, TenureError
from tenure.node.delivery.holding import Holding, Holdings, Phase
from tenure.node.delivery.leasing import Leasing
from tenure.node.delivery.mirror import NOT_STORED, Mirror
from tenure.node.delivery.mirrored import MirroredDelivery
from tenure.node.link import HubLegs, is_final
from tenure.node.pacing import Backoff, pause
from tenure.wire import legs as ws

RETRY_S = (0.2, 15.0)
EMPTY_S = (0.05, 1.0)
"""After an empty answer that came at once although the claim could have waited: the hub has its reasons, and must not be
asked in a tight loop."""
SOON = 0.5
"""An empty answer within this share of the wait came at once."""
ABORT_BOUND_S = 5.0
FULL_S = 30.0
"""A snapshot that is due must not wait for a free unit."""
NS = 1_000_000_000

log = logging.getLogger(__name__)


class ClaimingTools(Struct, frozen=True, kw_only=True):
    """`runs`: the folder of all run folders. `start` goes on with an accepted Delivery. `hand_back` gives one back that an
    earlier daemon had accepted, or whose fence is stale. `link_is_back` is told when the hub answers again. `between` is
    called between two claims; `last_snapshot` says the number of the last one that was sent."""

    legs: HubLegs
    mirror: Mirror
    holdings: Holdings
    leasing: Leasing
    clock: Clock
    ids: IdSource
    incarnation: IncarnationId
    runs: Path
    wait_s: float
    start: Callable[[Holding], None]
    hand_back: Callable[[Holding, str], None]
    link_is_back: Callable[[], None]
    between: Callable[[], Awaitable[None]]
    last_snapshot: Callable[[], int]


@final
class Claiming:
    def __init__(self, tools: ClaimingTools) -> None:
        self._tools = tools
        self._backoff = Backoff(tools.ids, *RETRY_S)
        self._empty = Backoff(tools.ids, *EMPTY_S)
        self._refusals = Backoff(tools.ids, 1.0, 60.0)

    async def run(self) -> None:
        """Claims until it is canceled.

        Raises:
            TenureError: the hub does not hear this daemon any more.
        """
        claim_id, wait_s = self._new_id(), self._tools.wait_s
        while True:
            await self._tools.between()
            free = self._tools.holdings.free()
            if not free:
                await self._tools.holdings.eased.wait(FULL_S)
                continue
            began_ns = self._tools.clock.awake_ns()
            try:
                reply = await self._claim(claim_id, free, wait_s)
            except TenureError as error:
                if is_final(error):
                    raise
                pause_s = self._backoff.next_s()
                log.warning("no work was asked for; again in %.1f s: %s", pause_s, error)
                await pause(pause_s)
                wait_s = 0.0
                continue
            if self._backoff.tries:
                self._backoff.reset()
                self._tools.link_is_back()
            if reply is None:  # broken off
                wait_s = 0.0
                continue
            if reply.grants:
                self._empty.reset()
                await self.take(reply.grants)
            elif self._came_at_once(began_ns, wait_s):
                await self._empty.pause()
            claim_id, wait_s = self._new_id(), self._tools.wait_s

    async def take(self, grants: Sequence[ws.Grant]) -> None:
        """Mirrors and acknowledges grants, and starts those that the hub lets start."""
        # What an answer that was lost or late has brought before is known already.
        fresh = [one for one in grants if self._tools.holdings.get(one.delivery_id) is None]
        known = [self._tools.holdings.get(one.delivery_id) for one in grants]
        offered = [one for one in known if one is not None and one.phase is Phase.OFFERED]
        mirrored, refused = await self._mirrored(fresh)
        await self._tools.leasing.caught_up()
        await self.acknowledge([*offered, *mirrored], refused)
        if refused and not mirrored:
            await self._refusals.pause()
        else:
            self._refusals.reset()

    async def acknowledge(
        self, holdings: Sequence[Holding], refused: Sequence[tuple[ws.Grant, str]] = ()
    ) -> None:
        """Sends receipts (and refusals) until each is answered, and does what the answers say.

        Raises:
            TenureError: the hub does not hear this daemon any more.
        """
        items = [receipt(one) for one in holdings]
        items += [refusal(grant, why) for grant, why in refused]
        by_id = {one.delivery_id: one for one in holdings}
        for start in range(0, len(items), BATCH):
            part = tuple(items[start : start + BATCH])
            reply = await self._answered(part, by_id)
            answers = {item.delivery_id: item for item in reply.items}
            for item in part:
                if (holding := by_id.get(item.delivery_id)) is not None:
                    # One that the hub passed over must not keep its unit for ever.
                    none = ws.ItemReply(delivery_id=item.delivery_id, answer="not at all")
                    await self._heed(holding, answers.get(item.delivery_id, none))

    # -- asking

    async def _claim(
        self, claim_id: ClaimId, free: dict[Address, int], wait_s: float
    ) -> ws.ClaimReply | None:
        """The answer; None where the claim was broken off, since there is now more to ask for."""
        request = ws.ClaimRequest(
            incarnation=self._tools.incarnation, claim_id=claim_id, free=free, wait_s=wait_s
        )
        asking = asyncio.ensure_future(self._tools.legs.claim(request))
        try:
            while not asking.done():
                eased = asyncio.ensure_future(self._tools.holdings.eased.wait())
                await asyncio.wait({asking, eased}, return_when=asyncio.FIRST_COMPLETED)
                eased.cancel()
                if not asking.done() and self._tools.holdings.free().keys() - free.keys():
                    return None
            return asking.result()
        finally:
            asking.cancel()
            await asyncio.wait({asking}, timeout=ABORT_BOUND_S)
            if asking.done() and not asking.cancelled():
                asking.exception()  # an answer or error that came while it was broken off; the repeat gets it again

    def _came_at_once(self, began_ns: int, wait_s: float) -> bool:
        took_s = (self._tools.clock.awake_ns() - began_ns) / NS
        return wait_s > 0 and took_s < wait_s * SOON

    def _new_id(self) -> ClaimId:
        return ClaimId(self._tools.ids.new_id("c"))

    # -- taking

    async def _mirrored(self, grants: Sequence[ws.Grant]) -> tuple[list[Holding], list[tuple[ws.Grant, str]]]:
        """Those that are stored now, and those that are refused, each with the reason."""
        refused: list[tuple[ws.Grant, str]] = []
        taken: list[MirroredDelivery] = []
        free = self._tools.holdings.free()
        for grant in grants:
            recipient = self._tools.holdings.recipients.get(grant.recipient)
            if recipient is None:
                refused.append((grant, f"there is no recipient {grant.recipient} on this node (any more)"))
            elif free.get(grant.recipient, 0) <= 0:
                refused.append((grant, f"{grant.recipient} has no free unit on this node"))
            else:
                free[grant.recipient] -= 1
                at_ms = self._tools.clock.wall_ms()
                taken.append(MirroredDelivery(grant, recipient, self._tools.incarnation, at_ms))
        try:
            await self._tools.mirror.add(taken)
        except NOT_STORED as error:
            # One that is stored all the same comes up with the next start, and is handed back then.
            log.error("%d grants are refused: %s", len(taken), error)  # noqa: TRY400 - the message says it all
            refused += [(one.grant, f"the node cannot store it: {error.message}") for one in taken]
            return [], refused
        holdings = [Holding(one, digest(one), self._tools.runs / one.delivery_id) for one in taken]
        for holding in holdings:
            self._tools.holdings.add(holding)
        return holdings, refused

    async def _answered(
        self, items: tuple[ws.AckItem, ...], by_id: dict[DeliveryId, Holding]
    ) -> ws.ItemsReply:
        backoff = Backoff(self._tools.ids, *RETRY_S)
        last = self._tools.last_snapshot()
        request = ws.AckRequest(incarnation=self._tools.incarnation, items=items, snapshot=last)
        while True:
            sent_ns = self._tools.clock.boot_ns()
            for item in items:
                holding = by_id.get(item.delivery_id)
                if holding is not None and holding.first_ack_ns is None:
                    holding.first_ack_ns = sent_ns
            try:
                return await self._tools.legs.acknowledge(request)
            except InvalidError as error:
                log.error("%d receipts were refused as invalid: %s", len(items), error)  # noqa: TRY400 - it says it all
                return ws.ItemsReply(
                    items=tuple(ws.ItemReply(delivery_id=one.delivery_id, answer=error.code) for one in items)
                )
            except TenureError as error:
                if is_final(error):
                    raise
                pause_s = backoff.next_s()
                log.warning("%d receipts wait; again in %.1f s: %s", len(items), pause_s, error)
                await pause(pause_s)

    async def _heed(self, holding: Holding, item: ws.ItemReply) -> None:
        match item.answer:
            case "delivered" if item.ttl_s is not None:
                self._tools.leasing.first_deadline(holding, item.ttl_s)
                self._tools.start(holding)
            case "lease_expired":
                # Ours, but its time is over: the start waits for a renewal.
                self._tools.start(holding)
            case "blocked" | "canceled" | "refused":
                # The grant is void, and this receipt was never accepted: nothing of it exists.
                await self._drop(holding, item.answer)
            case "other_incarnation":
                self._tools.hand_back(holding, "accepted by an earlier start of this node, and never started")
            case _:
                # It may have been accepted once: the hub is told that nothing was started.
                self._tools.hand_back(holding, f"never started; its receipt was answered {item.answer}")

    async def _drop(self, holding: Holding, why: str) -> None:
        log.info("%s is dropped: %s", holding.delivery_id, why)
        self._tools.holdings.forget([holding])
        try:
            await self._tools.mirror.drop([holding.delivery_id])
        except NOT_STORED as error:
            # It is asked about again after the next start, and answered the same.
            log.warning("%s could not be deleted: %s", holding.delivery_id, error)


def receipt(holding: Holding) -> ws.AckItem:
    """The proof that a Delivery is mirrored."""
    return ws.AckItem(
        delivery_id=holding.delivery_id,
        fence=holding.grant.fence,
        token=holding.grant.token,
        receipt_digest=holding.receipt_digest,
    )


def refusal(grant: ws.Grant, why: str) -> ws.AckItem:
    """The node will not take it; nothing of it was stored."""
    return ws.AckItem(
        delivery_id=grant.delivery_id, fence=grant.fence, token=grant.token, receipt_digest="", refused=why
    )
