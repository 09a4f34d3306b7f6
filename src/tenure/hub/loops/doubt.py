"""Finding out what became of calls whose answer was lost (`reconcile_first`).

The store says which Effects are to be looked at: calls whose time is over or whose hub is gone become in doubt; those
in doubt are asked for at their provider, at once in hope and again when "not there" can prove something. A provider
that does not answer is asked less and less often, and after a while a person is told."""

from __future__ import annotations

import asyncio
from typing import final

import structlog

from tenure.core import effect_events as ev
from tenure.core.clock import Clock
from tenure.core.effect import Effect
from tenure.core.effect_commands import DoubtEffect, LookUpEffect
from tenure.core.ids import EffectId
from tenure.core.limits import LAST_INSTANT_MS
from tenure.errors import TenureError
from tenure.hub.alarm import Alarm
from tenure.hub.effects.broker import Broker, texts_of
from tenure.hub.loops.endurance import run_enduring
from tenure.ledger.port import Committed, Ledger

AT_ONCE = 1_000
LOOKING = 16
"""Lookups at a time."""
FIRST_PAUSE_MS = 500
LONGEST_PAUSE_MS = 60_000
TELL_AFTER = 5
"""Lookups in a row that got no answer, after which a person is told; the asking goes on."""

log = structlog.get_logger(__name__)


@final
class DoubtLoop:
    def __init__(self, ledger: Ledger, clock: Clock, broker: Broker) -> None:
        self._ledger = ledger
        self._clock = clock
        self._broker = broker
        self.alarm = Alarm(clock)
        self._soon: dict[EffectId, None] = {}
        self._failures: dict[EffectId, int] = {}
        self._not_before: dict[EffectId, int] = {}
        self._is_first = True
        broker.soon = self.soon

    async def run(self) -> None:
        await run_enduring("doubt", self.turn, self.start)

    def start(self) -> None:
        self._is_first = True

    def soon(self, effect_id: EffectId) -> None:
        """Ask at once, however long a pause its provider was to have: there is news."""
        self._not_before.pop(effect_id, None)
        self._soon[effect_id] = None
        self.alarm.ring()

    def heard(self, committed: Committed) -> None:
        for fact in committed.facts:
            if isinstance(fact, ev.EffectIssued):
                self.alarm.no_later_than(committed.wall_ms + fact.within_ms)
            elif isinstance(fact, ev.EffectLookedUp):
                self.alarm.no_later_than(committed.wall_ms + fact.again_after_ms)

    async def turn(self) -> None:
        """Look at everything that is due, then sleep until the next one is."""
        self.alarm.begin()
        hoped, self._soon = list(self._soon), {}
        now_ms = self._clock.wall_ms()
        # After a start every call of the hub before is looked at, due or not.
        due = await self._ledger.effects_due(LAST_INSTANT_MS if self._is_first else now_ms, AT_ONCE)
        self._is_first = False
        known = await self._ledger.find_many(Effect, hoped)
        found = {one.effect_id: one for one in (*due, *known.values())}
        calls = [one for one in found.values() if one.is_under_way]
        if calls:
            await self._ledger.execute_many([DoubtEffect(one.effect_id) for one in calls])
        asked = [
            one
            for one in found.values()
            if one.is_asked_for and self._not_before.get(one.effect_id, 0) <= now_ms
        ]
        for first in range(0, len(asked), LOOKING):
            await asyncio.gather(*(self._look(one) for one in asked[first : first + LOOKING]))
        self._forget(found)
        await self._sleep()

    async def _sleep(self) -> None:
        next_ms = await self._ledger.next_effect_due_ms()
        if next_ms is not None and next_ms <= (now_ms := self._clock.wall_ms()):
            # Due by the wall clock and still there: it waits for waking time or for a provider.
            next_ms = now_ms + FIRST_PAUSE_MS
        await self.alarm.sleep(next_ms)

    def _forget(self, found: dict[EffectId, Effect]) -> None:
        """What is no longer asked for needs no memory."""
        for effect_id in [one for one in self._not_before if one not in found]:
            self._not_before.pop(effect_id, None)
            self._failures.pop(effect_id, None)

    async def _look(self, effect: Effect) -> None:
        name = effect.effect_id
        asked = self._ledger.now()
        try:
            reached = self._broker.registry.reach(effect.target)
            asked, there = await self._broker.look(effect, reached)
        except TenureError as error:
            times = self._failures[name] = self._failures.get(name, 0) + 1
            pause_ms = min(FIRST_PAUSE_MS << min(times, 10), LONGEST_PAUSE_MS)
            self._not_before[name] = self._clock.wall_ms() + pause_ms
            log.warning("a provider could not be asked", effect=name, error=str(error), again_in_ms=pause_ms)
            if times == TELL_AFTER:
                await self._ledger.execute(
                    LookUpEffect(name, asked, unreachable=f"{error.code}: {error}"[:500])
                )
            return
        self._failures.pop(name, None)
        await self._ledger.execute(LookUpEffect(name, asked, *texts_of(there)))
