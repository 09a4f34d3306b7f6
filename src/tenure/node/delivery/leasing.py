"""Keeping the leases: one batched renewal for all of them, every few seconds, whatever else the node is doing.

The loop is a task of its own and its requests go over a connection of their own; what it says of each run stands in memory
already. So no busy agent, no slow disk and no long report can starve it.

- A deadline counts from the *sending* of the renewal that was answered, less the margin, on the clock that runs through a
  suspend. An answer that comes late is worth little, never too much.
- Counters grow over restarts: the generation of the daemon is their high part.
- A report and a renewal of one Delivery are never under way at once; else the report could be recorded first, and the
  renewal would be kept as that of a stale owner.
- After a stop (SIGSTOP, a suspend) past the time of a renewal, the round goes before anything is started: whoever starts
  something calls `caught_up` first.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Sequence
from typing import final

from msgspec import Struct

from tenure.core.clock import Clock, IdSource
from tenure.core.ids import DeliveryId, IncarnationId
from tenure.core.limits import BATCH
from tenure.errors import InvalidError, OutcomeUnknownError, TenureError
from tenure.node.delivery.holding import RENEWED, Holding, Holdings, Phase
from tenure.node.link import HubLegs, is_final
from tenure.node.pacing import Backoff, Signal
from tenure.wire import legs as ws

NS = 1_000_000_000
RETRY_S = (0.5, 10.0)
ROOM = 2.5
"""Renewals that fit into a lease where our own pace does not: one may be lost, and the next still comes in time."""
LOOK_S = 1.0
"""The loop's timers stand still in a suspend; so it looks at the clock that does not, this often, while it keeps leases."""
SHORTEST_ANSWER_S = 5.0
"""A hub under load may take so long for a commit; giving up earlier would lose the lease that it is about to extend."""
GENERATION_BITS = 32
"""Rounds of one daemon: four thousand million, one a second for a century."""

log = logging.getLogger(__name__)


class Pace(Struct, frozen=True, kw_only=True):
    """`renew_every_s`: time between two rounds. `margin_s`: how long before the hub's own deadline ours is."""

    renew_every_s: float
    margin_s: float

    def deadline_ns(self, sent_ns: int, ttl_s: float) -> int:
        return sent_ns + int((ttl_s - self.margin_s) * NS)

    @property
    def answer_s(self) -> float:
        """How long a renewal waits for its answer."""
        return max(self.renew_every_s, SHORTEST_ANSWER_S)


def pace_for(renew_every_s: float, margin_s: float, lease_ttl_s: float) -> Pace:
    """The node's own settings, held against the hub's terms: as they are where one lost renewal costs no lease."""
    if margin_s <= lease_ttl_s / 4 and 2 * renew_every_s + margin_s < lease_ttl_s:
        return Pace(renew_every_s=renew_every_s, margin_s=margin_s)
    margin = min(margin_s, lease_ttl_s / 4)
    return Pace(renew_every_s=min(renew_every_s, (lease_ttl_s - margin) / ROOM), margin_s=margin)


class LeasingTools(Struct, frozen=True, kw_only=True):
    """`link_is_back` is told when the hub answers again."""

    legs: HubLegs
    holdings: Holdings
    clock: Clock
    ids: IdSource
    incarnation: IncarnationId
    link_is_back: Callable[[], None]


@final
class Leasing:
    """`pace` is set anew when the hub has told its terms, `generation` when the store has counted this start."""

    def __init__(self, tools: LeasingTools, pace: Pace) -> None:
        self.pace = pace
        self.generation = 0
        self._legs = tools.legs
        self._holdings = tools.holdings
        self._clock = tools.clock
        self._incarnation = tools.incarnation
        self._link_is_back = tools.link_is_back
        self._backoff = Backoff(tools.ids, *RETRY_S)
        self._rounds = 0
        self._due_ns = 0
        self._is_catching_up = False
        self._round_over = Signal()

    async def run(self) -> None:
        """Renews until it is canceled.

        Raises:
            TenureError: the hub does not hear this daemon any more.
        """
        self._due_ns = self._clock.boot_ns()
        while True:
            await self._until_due()
            await self._round()

    async def caught_up(self) -> None:
        """Returns at once, unless a round is overdue: then when it is over, answered or not."""
        while self._is_overdue() or self._is_catching_up:
            self._holdings.grown.give()
            await self._round_over.wait()

    async def lease_is_open(self, holding: Holding) -> None:
        """Returns when something may be started under this lease now, or when it is interrupted.

        Past the deadline it asks for a renewal and waits for it, however long the hub is away."""
        while not holding.is_interrupted and self._clock.boot_ns() >= holding.deadline_ns:
            self._holdings.want_renewal(holding)
            await holding.changed.wait(self.pace.answer_s)
        if not holding.is_interrupted:
            await self.caught_up()

    def first_deadline(self, holding: Holding, ttl_s: float) -> None:
        """The acknowledgement was accepted: it is the first renewal, and counts from its first sending."""
        sent_ns = self._clock.boot_ns() if holding.first_ack_ns is None else holding.first_ack_ns
        holding.extend(0, self.pace.deadline_ns(sent_ns, ttl_s))

    async def _until_due(self) -> None:
        while not any(one.is_urgent for one in self._may_be_renewed()):
            if not self._kept():
                await self._holdings.grown.wait()
                # The first lease that comes has just been earned by its acknowledgement.
                self._due_ns = self._clock.boot_ns() + int(self.pace.renew_every_s * NS)
                self._round_over.give()
                continue
            left_s = (self._due_ns - self._clock.boot_ns()) / NS
            if left_s <= 0:
                return
            await self._holdings.grown.wait(min(left_s, LOOK_S))

    async def _round(self) -> None:
        """One round over all leases, or, between rounds, over those that want it now.

        Raises:
            TenureError: the hub does not hear this daemon any more.
        """
        now_ns = self._clock.boot_ns()
        self._is_catching_up = self._is_overdue()
        renewable = list(self._may_be_renewed())
        is_due = now_ns >= self._due_ns
        batch = renewable if is_due else [one for one in renewable if one.is_urgent]
        if is_due:
            self._due_ns = now_ns + int(self.pace.renew_every_s * NS)
        try:
            await self._renew_each(list(_parts(batch)))
            if batch and self._backoff.tries:
                self._backoff.reset()
                self._link_is_back()
        except TenureError as error:
            if is_final(error):
                raise
            pause_s = min(self._backoff.next_s(), self.pace.renew_every_s)
            log.warning("leases were not renewed; again in %.1f s: %s", pause_s, error)
            self._due_ns = min(self._due_ns, self._clock.boot_ns() + int(pause_s * NS))
        finally:
            self._is_catching_up = False
            self._round_over.give()

    async def _renew_each(self, parts: Sequence[Sequence[Holding]]) -> None:
        """Renews all parts at once: none waits for the answer of another, and none is left out because another failed.

        Raises:
            TenureError: what a part ran into, when all of them are over; that the hub does not hear us goes first.
        """
        results = await asyncio.gather(*(self._renew(part) for part in parts), return_exceptions=True)
        errors = [one for one in results if one is not None]
        if errors:
            error = next((one for one in errors if isinstance(one, TenureError) and is_final(one)), errors[0])
            raise error

    async def _renew(self, part: Sequence[Holding]) -> None:
        self._rounds += 1
        counter = (self.generation << GENERATION_BITS) + self._rounds
        request = ws.RenewRequest(
            incarnation=self._incarnation, items=tuple(renewal(one, counter) for one in part)
        )
        for one in part:
            one.is_renewing, one.is_urgent = True, False
        sent_ns = self._clock.boot_ns()
        try:
            reply = await self._answered(request)
            self._heed({one.delivery_id: one for one in part}, reply, sent_ns, counter)
        except InvalidError:
            # One item that the hub cannot take must not cost the others their leases.
            if len(part) == 1:
                log.exception("the renewal of %s was refused as invalid", part[0].delivery_id)
                return
            await self._renew_each((part[: len(part) // 2], part[len(part) // 2 :]))
        finally:
            for one in part:
                one.is_renewing = False
            if any(one.phase is Phase.REPORTING for one in part):
                self._holdings.reports.give()

    async def _answered(self, request: ws.RenewRequest) -> ws.ItemsReply:
        """The answer, if it comes while it is worth having.

        Raises:
            OutcomeUnknownError: it did not; a new renewal is worth more.
        """
        try:
            async with asyncio.timeout(self.pace.answer_s):
                return await self._legs.renew(request)
        except TimeoutError as error:
            raise OutcomeUnknownError(f"no answer within {self.pace.answer_s:g} s") from error

    def _heed(
        self, part: dict[DeliveryId, Holding], reply: ws.ItemsReply, sent_ns: int, counter: int
    ) -> None:
        for item in reply.items:
            holding = part.get(item.delivery_id)
            if holding is None:
                continue
            if item.ttl_s is not None:
                holding.extend(counter, self.pace.deadline_ns(sent_ns, item.ttl_s))
            if item.cancel:
                holding.ask_cancel(item.cancel_grace_s or 0.0)
            if item.answer == "stale_fence" and not holding.is_lost:
                log.warning("%s was taken away from this node; its work is stopped", holding.delivery_id)
                holding.lose()

    def _kept(self) -> bool:
        return any(one.phase in RENEWED for one in self._holdings)

    def _may_be_renewed(self) -> Iterator[Holding]:
        """A stale one is not: the hub has said its word, and would keep each further renewal as evidence of a stray."""
        for one in self._holdings:
            is_free = not one.is_reporting and not one.is_lost and not one.may_be_recorded
            is_free = is_free and one.phase in RENEWED
            if is_free and (one.is_urgent or not self._is_about_to_report(one)):
                yield one

    def _is_about_to_report(self, holding: Holding) -> bool:
        """One that has just begun to report is most likely answered before its lease needs us; and if only that answer was
        lost, its renewal would be kept as that of a stale owner."""
        if holding.phase is not Phase.REPORTING:
            return False
        now_ns = self._clock.boot_ns()
        if holding.reporting_since_ns is None:
            holding.reporting_since_ns = now_ns
        return now_ns - holding.reporting_since_ns < int(self.pace.renew_every_s * NS / 2)

    def _is_overdue(self) -> bool:
        late_ns = int(self.pace.renew_every_s * NS / 2)
        return self._clock.boot_ns() > self._due_ns + late_ns and any(True for _ in self._may_be_renewed())


def renewal(holding: Holding, counter: int) -> ws.RenewItem:
    """What a renewal says of one Delivery."""
    return ws.RenewItem(
        delivery_id=holding.delivery_id,
        fence=holding.grant.fence,
        token=holding.grant.token,
        counter=counter,
        progress=holding.progress,
        usage=holding.usage,
        started_at_ms=holding.started_at_ms,
    )


def _parts(batch: Sequence[Holding]) -> Iterator[Sequence[Holding]]:
    for start in range(0, len(batch), BATCH):
        yield batch[start : start + BATCH]
