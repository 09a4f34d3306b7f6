"""What time makes due: offers that ran out, leases that expired, graces that are over.

The store says which Deliveries may be due and when the next one will be. Each is asked by a command of its own,
judged by the clock of its own commit, so asking too early or twice does no harm. A whole fleet may be due at once:
they are asked patiently (`Ledger.execute_patiently`), the longest due first, so that a sweep of thousands holds up
nobody's claim. Some are due by the wall clock and not yet by this hub's own waking time (`core.delivery.is_over`):
those are asked again within a second."""

from __future__ import annotations

from typing import final

from tenure.core import events as ev
from tenure.core import recovery_events as rv
from tenure.core.clock import Clock
from tenure.core.commands import Due, DueAnswer
from tenure.core.task import CancelStep
from tenure.hub.alarm import Alarm
from tenure.hub.loops.endurance import run_enduring
from tenure.ledger.port import Committed, Ledger

AT_ONCE = 10_000
"""Deliveries asked in one turn. All that wait for this hub's waking time come first again and again; this many of
them must not hide one that is really due."""
AGAIN_MS = 1_000

_TERMS = (ev.DeliveryGranted, ev.DeliveryAcknowledged, ev.LeaseRenewed)


@final
class DueLoop:
    def __init__(self, ledger: Ledger, clock: Clock) -> None:
        self._ledger = ledger
        self._clock = clock
        self.alarm = Alarm(clock)

    async def run(self) -> None:
        await run_enduring("due", self.turn, lambda: None)

    async def turn(self) -> None:
        """Ask everything that may be due, then sleep until the next one is."""
        self.alarm.begin()
        found = await self._ledger.due(self._clock.wall_ms(), AT_ONCE)
        replies = await self._ledger.execute_patiently([Due(one) for one in found])
        if any(isinstance(reply, DueAnswer) and reply.what != "not_yet" for reply in replies):
            return  # a Delivery may be due again at once; the next turn asks
        again_ms = self._clock.wall_ms() + AGAIN_MS if found else None
        await self.alarm.sleep(again_ms or await self._ledger.next_due_ms())

    def heard(self, committed: Committed) -> None:
        """A commit may have made something due earlier than what the loop sleeps for."""
        for fact in committed.facts:
            if isinstance(fact, _TERMS):
                self.alarm.no_later_than(committed.wall_ms + fact.term_ms)
            elif isinstance(fact, ev.LeaseExpired) or (
                isinstance(fact, ev.CancelAdvanced | rv.StopAdvanced) and fact.step is CancelStep.REQUESTED
            ):
                self.alarm.no_later_than(committed.wall_ms + fact.grace_ms)
