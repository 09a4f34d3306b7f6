"""Finding out what became of calls whose answer was lost (`reconcile_first`).

The store says which Effects are to be looked at: calls whose time is over or whose hub is gone become in doubt; those
in doubt are asked for at their provider, at once in hope and again when "not there" can prove something. A provider
that does not answer is asked less and less often, and after a while a person is told.

No turn waits for a lookup: a provider that hangs keeps its own places and nobody else's. What a lookup raises is the
failure of the next turn."""

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
"""Lookups at one provider at a time."""
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
        self._looking: dict[EffectId, asyncio.Task[None]] = {}
        self._places: dict[str, asyncio.Semaphore] = {}
        self._is_first = True
        broker.soon = self.soon

    async def run(self) -> None:
        try:
            await run_enduring("doubt", self.turn, self.start)
        finally:
            lookups = list(self._looking.values())
            for lookup in lookups:
                lookup.cancel()
            await asyncio.gather(*lookups, return_exceptions=True)

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
        """Begin to look at everything that is due, then sleep until the next one is."""
        self.alarm.begin()
        self._take_leave()
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
        for one in asked:
            if one.effect_id not in self._looking:
                lookup = asyncio.ensure_future(self._look_in_turn(one))
                lookup.add_done_callback(self._ended)
                self._looking[one.effect_id] = lookup
        self._forget(found)
        await self._sleep()

    def _take_leave(self) -> None:
        """Forget the lookups that are over; what one of them raised is raised here."""
        over = {name: one for name, one in self._looking.items() if one.done() and not one.cancelled()}
        for name in over:
            del self._looking[name]
        failed = [one for one in over.values() if one.exception() is not None]
        for one in failed:
            one.result()

    def _ended(self, lookup: asyncio.Task[None]) -> None:
        if not lookup.cancelled() and lookup.exception() is not None:
            self.alarm.ring()

    async def _look_in_turn(self, effect: Effect) -> None:
        provider = effect.target.partition(":")[0]
        async with self._places.setdefault(provider, asyncio.Semaphore(LOOKING)):
            await self._look(effect)

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
