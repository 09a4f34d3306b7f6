"""Snapshots: telling the hub everything that this store holds, and doing what it advises.

A snapshot is sent after a start, after the link was lost, and when reports have been answered, so that their rows can be let
go. It is sent between two claims only: a snapshot that is older than a grant would void it. One without an answer may
still be on its way then; so a receipt names the last number, up to which none counts any more. It grows over restarts.
Nothing in the advice extends a lease, and going on needs none.
"""

from __future__ import annotations

import logging
from typing import NamedTuple, final

from tenure.core.clock import Clock, IdSource
from tenure.core.ids import IncarnationId
from tenure.errors import TenureError
from tenure.node.delivery.holding import Holding, Holdings, Phase
from tenure.node.delivery.leasing import GENERATION_BITS
from tenure.node.delivery.mirror import NOT_STORED, Mirror
from tenure.node.link import HubLegs, is_final
from tenure.node.pacing import Backoff
from tenure.wire import legs as ws

RETRY_S = (1.0, 30.0)
RELEASE_EVERY_S = 300.0
"""Between two snapshots that only serve to let rows go: each is an event in the hub's record."""
KEPT = 200
"""Answered reports whose trees are not proven gone; what is beyond it, the oldest first, is let go without that word."""
CLOSED = 200
"""Answered reports that are kept before a snapshot is sent earlier: what memory and snapshot may cost."""
NS = 1_000_000_000

_STAGES = {
    Phase.OFFERED: "mirrored",
    Phase.STARTING: "acknowledged",
    Phase.RUNNING: "started",
    Phase.ENDING: "started",
    Phase.STUCK: "started",
    Phase.REPORTING: "ended",
    Phase.CLOSED: "closed",
}

log = logging.getLogger(__name__)


class Listed(NamedTuple):
    """What a snapshot said of a Delivery, and where it stood then: it goes on while the answer is on its way."""

    holding: Holding
    phase: Phase
    said: ws.HoldingItem


@final
class Reconciling:
    """`generation` is set when the store has counted this start; `can_prove_gone`: can this machine prove that a tree is
    gone, other than by a restart?"""

    def __init__(
        self,
        legs: HubLegs,
        mirror: Mirror,
        holdings: Holdings,
        clock: Clock,
        ids: IdSource,
        incarnation: IncarnationId,
    ) -> None:
        self.generation = 0
        self.can_prove_gone = True
        self._legs = legs
        self._mirror = mirror
        self._holdings = holdings
        self._clock = clock
        self._incarnation = incarnation
        self._backoff = Backoff(ids, *RETRY_S)
        self._is_wanted = True
        self._not_before_ns = 0
        self._last_ns = 0
        self._count = 0

    @property
    def last(self) -> int:
        """The number of the last snapshot that was sent, heard or not."""
        return (self.generation << GENERATION_BITS) + self._count

    def want(self) -> None:
        """The hub and this store may not agree: compare them before the next claim."""
        self._is_wanted = True
        self._holdings.eased.give()

    async def if_due(self) -> None:
        """Sends a snapshot if one is due. A hub that is away is asked again later.

        Raises:
            TenureError: the hub does not hear this daemon any more.
        """
        now_ns = self._clock.boot_ns()
        if not self._is_due(now_ns):
            return
        # Whoever wants one from here on wants another one.
        was_wanted, self._is_wanted = self._is_wanted, False
        try:
            # A snapshot that the hub has passed over was never compared with anything; the next one has a greater number.
            problem = None if await self._compare() else "the hub has heard a newer snapshot"
        except TenureError as error:
            if is_final(error):
                raise
            problem = str(error)
        if problem is not None:
            pause_s = self._backoff.next_s()
            self._not_before_ns = now_ns + int(pause_s * NS)
            self._is_wanted = self._is_wanted or was_wanted
            log.warning("hub and node could not be compared; again in %.1f s: %s", pause_s, problem)
            return
        self._backoff.reset()
        self._last_ns = now_ns
        self._holdings.compared.give()

    def _is_due(self, now_ns: int) -> bool:
        if now_ns < self._not_before_ns:
            return False
        closed = [one for one in self._holdings.in_phase(Phase.CLOSED) if one.tree_gone]
        # The hub may have taken it away, and nobody else tells: it is not renewed.
        is_needed = bool(closed or self._holdings.in_phase(Phase.STUCK))
        is_time = now_ns - self._last_ns >= RELEASE_EVERY_S * NS
        return self._is_wanted or len(closed) >= CLOSED or (is_needed and is_time)

    async def _compare(self) -> bool:
        """Tells and heeds; False where the hub has heard a newer snapshot."""
        self._count += 1
        told = {one.delivery_id: Listed(one, one.phase, told_of(one)) for one in self._holdings}
        request = ws.ReconcileRequest(
            incarnation=self._incarnation,
            sequence=self.last,
            holdings=tuple(one.said for one in told.values()),
        )
        reply = await self._legs.reconcile(request)
        if reply.ignored:
            return False
        advised = [(told[one.delivery_id], one.advice) for one in reply.advice if one.delivery_id in told]
        released = [one.holding for one, advice in advised if await self._heed(one, advice)]
        await self._release(released)
        return True

    async def _heed(self, told: Listed, advice: str) -> bool:
        """Does what is advised; True where the row may be let go.

        Advice on what has moved on since it was told is out of date; the next snapshot asks again. A row goes only once the
        hub has heard that its tree is gone: what was proven meanwhile is told by the next one."""
        holding, phase, said = told
        if holding.phase is not phase:
            return False
        match advice:
            case "close" | "stop" if phase is Phase.CLOSED:
                return said.tree_gone or self._is_given_up(holding)
            case "go_on" | "report" if phase is Phase.CLOSED:
                # It has lost our report (its data was restored from an older copy): it gets it again.
                await self._report_again(holding)
                return False
            case "close" | "stop" if phase is not Phase.REPORTING and not holding.is_lost:
                log.warning("%s: the hub says %s; its work is stopped", holding.delivery_id, advice)
                holding.lose()
                return False
            case _:
                return False

    def _is_given_up(self, holding: Holding) -> bool:
        """Must the word that its tree is gone be given up? Where nothing can prove it, and where too many wait for it."""
        if not self.can_prove_gone:
            return True
        waiting = [one for one in self._holdings.in_phase(Phase.CLOSED) if not one.tree_gone]
        return holding in waiting[:-KEPT]

    async def _report_again(self, holding: Holding) -> None:
        ending = holding.ending or await self._mirror.ending(holding.delivery_id)
        if ending is not None:
            log.warning("%s: the hub asks for its report again", holding.delivery_id)
            holding.end(ending)
            self._holdings.enter(holding, Phase.REPORTING)

    async def _release(self, holdings: list[Holding]) -> None:
        try:
            await self._mirror.release({one.delivery_id: one.answer for one in holdings})
        except NOT_STORED as error:
            log.warning("%d rows could not be let go yet: %s", len(holdings), error)
            return
        self._holdings.forget(holdings)


def told_of(holding: Holding) -> ws.HoldingItem:
    """What a snapshot says of one Delivery. That the tree is gone is said only of what is proven."""
    return ws.HoldingItem(
        delivery_id=holding.delivery_id,
        fence=holding.grant.fence,
        stage=_STAGES[holding.phase],
        tree_gone=holding.tree_gone,
    )
