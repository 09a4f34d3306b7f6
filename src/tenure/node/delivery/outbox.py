"""The outbox: every ending is reported until the hub has answered it, however long that takes.

What is to be reported was committed before it comes here, and after a restart it comes here again. Reports are sent in
batches, bounded by count and by bytes, and repeated as they are: the hub knows a repeated one by its digest. An answer,
whichever it is, closes the Delivery here; the row is kept until a snapshot is told that the hub needs nothing more.

A report that the hub cannot take must not hold up the others, and must not be lost: it is sent alone, then once more without
its evidence, and then kept and tried now and then, with an error in the log each time.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import final

from tenure.core.clock import Clock, IdSource
from tenure.core.ids import IncarnationId
from tenure.core.limits import BATCH
from tenure.errors import InvalidError, InvariantError, TenureError, UnavailableError
from tenure.node.delivery.holding import Holding, Holdings, Phase
from tenure.node.delivery.mirror import NOT_STORED, Mirror
from tenure.node.delivery.mirrored import Ending
from tenure.node.delivery.report import without_evidence
from tenure.node.link import HubLegs, is_final
from tenure.node.pacing import Backoff, pause
from tenure.wire import legs as ws
from tenure.wire.codec import encode

BATCH_BYTES = 4 << 20
"""Of one request: half of the least body that a hub's default takes, twice the largest single report."""
RETRY_S = (0.2, 15.0)
REFUSED_S = 300.0
"""Between two tries of a report that the hub does not take."""
NS = 1_000_000_000
UNDERSTOOD = frozenset({"recorded", "replayed", "late", "handed_back", "refused", "stale_fence"})

log = logging.getLogger(__name__)


@final
class Outbox:
    def __init__(
        self,
        legs: HubLegs,
        mirror: Mirror,
        holdings: Holdings,
        clock: Clock,
        ids: IdSource,
        incarnation: IncarnationId,
    ) -> None:
        self._legs = legs
        self._mirror = mirror
        self._holdings = holdings
        self._clock = clock
        self._incarnation = incarnation
        self._backoff = Backoff(ids, *RETRY_S)
        self._not_before_ns: dict[Holding, int] = {}

    async def run(self) -> None:
        """Reports until it is canceled.

        Raises:
            TenureError: the hub does not hear this daemon any more.
        """
        while True:
            waiting = self._waiting()
            if not waiting:
                await self._holdings.reports.wait(REFUSED_S if self._not_before_ns else None)
                continue
            try:
                await self._send_or_split(batch_of(waiting))
                self._backoff.reset()
            except TenureError as error:
                if is_final(error):
                    raise
                pause_s = self._backoff.next_s()
                log.warning("%d reports wait; again in %.1f s: %s", len(waiting), pause_s, error)
                await pause(pause_s)

    def _waiting(self) -> list[Holding]:
        now_ns = self._clock.boot_ns()
        return [
            one
            for one in self._holdings.in_phase(Phase.REPORTING)
            if one.ending is not None
            and not one.is_renewing
            and not one.is_urgent
            and self._not_before_ns.get(one, 0) <= now_ns
        ]

    async def _send_or_split(self, batch: Sequence[Holding]) -> None:
        try:
            await self._send(batch)
        except InvalidError as error:
            await self._send_apart(batch, error)

    async def _send(self, batch: Sequence[Holding]) -> None:
        before = {one: one.may_be_recorded for one in batch}
        for one in batch:
            one.is_reporting = one.may_be_recorded = True
        try:
            items = tuple(report_of(one) for one in batch)
            reply = await self._legs.report(ws.ReportRequest(incarnation=self._incarnation, items=items))
            await self._close({one.delivery_id: one for one in batch}, reply)
        except UnavailableError:
            for one, was in before.items():
                one.may_be_recorded = was
            raise
        except InvalidError:
            # An answer: nothing of this request was recorded, nor will be; their leases are still to be kept.
            for one in batch:
                one.may_be_recorded = False
            raise
        finally:
            for one in batch:
                one.is_reporting = False

    async def _close(self, batch: dict[str, Holding], reply: ws.ItemsReply) -> None:
        """Frees the units at once; the row says so as soon as the disk does. Until then a crash only reports again."""
        closed = {
            item.delivery_id: item.answer
            for item in reply.items
            if item.delivery_id in batch and item.answer in UNDERSTOOD
        }
        for delivery_id, answer in closed.items():
            holding = batch[delivery_id]
            holding.answer = answer
            self._not_before_ns.pop(holding, None)
            self._holdings.enter(holding, Phase.CLOSED)
            log.info("%s: the hub says %s", delivery_id, answer)
        for holding in batch.values():
            if holding.delivery_id not in closed:
                holding.may_be_recorded = False
                self._put_off(holding, "the hub's answer was not understood")
        try:
            await self._mirror.close_all(closed)
            for delivery_id in closed:
                batch[delivery_id].forget_ending()
        except NOT_STORED as error:
            log.warning("that %d reports were answered could not be stored yet: %s", len(closed), error)
            for delivery_id in closed:
                batch[delivery_id].is_unsaved = True

    async def _send_apart(self, batch: Sequence[Holding], error: InvalidError) -> None:
        """Finds out which of them the hub does not take."""
        if len(batch) > 1:
            for one in batch:
                try:
                    await self._send((one,))
                except InvalidError as own:
                    await self._send_apart((one,), own)
            return
        (holding,) = batch
        ending = holding.ending
        if ending is not None and ending.outcome is not None and holding not in self._not_before_ns:
            log.error(
                "%s: the hub refused its report; it goes without evidence: %s", holding.delivery_id, error
            )
            plain = without_evidence(ending.outcome, error.message)
            holding.end(Ending(holding.delivery_id, plain))
        self._put_off(holding, error.message, at_once=holding.ending is not ending)

    def _put_off(self, holding: Holding, why: str, *, at_once: bool = False) -> None:
        wait_s = 0.0 if at_once else REFUSED_S
        self._not_before_ns[holding] = self._clock.boot_ns() + int(wait_s * NS)
        if not at_once:
            log.error("%s: its report is kept and tried again in %g s: %s", holding.delivery_id, wait_s, why)


def report_of(holding: Holding) -> ws.ReportItem:
    """The report of one Delivery, as it is sent each time.

    Raises:
        InvariantError: nothing is known to report. It is never made up.
    """
    ending = holding.ending
    if ending is None:
        raise InvariantError(f"{holding.delivery_id} is to be reported, and its ending is not known")
    return ws.ReportItem(
        delivery_id=holding.delivery_id,
        fence=holding.grant.fence,
        token=holding.grant.token,
        outcome=ending.outcome,
        handback=ending.handback,
    )


def batch_of(waiting: Sequence[Holding]) -> list[Holding]:
    """As many as fit into one request; one at least."""
    batch: list[Holding] = []
    room = BATCH_BYTES
    for holding in waiting[:BATCH]:
        room -= len(encode(report_of(holding)))
        if batch and room < 0:
            break
        batch.append(holding)
    return batch
