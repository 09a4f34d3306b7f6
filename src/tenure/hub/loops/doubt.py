"""Finding out what became of calls whose answer was lost (`reconcile_first`).

A start, and a return of a store that was away, reads every Effect that is under way or in doubt; from then on commits say
what there is. Calls whose time is over or whose hub is gone become in doubt; those in doubt are asked for at their
provider, at once in hope, and again when "not there" can prove something. A provider that does not answer is asked less
and less often, and after a while a person is told.

No turn waits for a lookup, and no provider for another one (`effects.enquiry`). A lookup that fails, for whatever reason,
is tried again after a pause; only a broken rule of the engine ends the loop.

Waits are counted on a clock that never goes back, and reckoned anew once the wall clock is set. Whether a term is over is
decided in core, by the commit's own clocks: asking too early does no harm."""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

import structlog

from tenure.core import effect_events as ev
from tenure.core.clock import Clock
from tenure.core.commands import Command
from tenure.core.effect import Effect
from tenure.core.effect_commands import DoubtEffect, EffectAnswer, LookUpEffect
from tenure.core.effect_proof import left_ms, proves_in_ms
from tenure.core.ids import EffectId
from tenure.core.limits import BATCH, LAST_INSTANT_MS
from tenure.errors import InvariantError, OutcomeUnknownError, TenureError, UnavailableError
from tenure.hub.agenda import Agenda
from tenure.hub.alarm import Alarm
from tenure.hub.clocks_apart import ClocksApart
from tenure.hub.effects.broker import Broker
from tenure.hub.effects.caller import texts_of
from tenure.hub.effects.enquiry import Enquiry
from tenure.hub.loops.endurance import run_enduring
from tenure.ledger.port import Committed, Ledger

PAGE = 1_000
FIRST_PAUSE_MS = 1_000
LONGEST_PAUSE_MS = 60_000
LEAST_PAUSE_MS = 250
"""Before the next question where the answer came too early to prove anything."""
NOT_YET_MS = 1_000
"""Before a call is judged again whose time is over by one clock and not by the other."""
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
        self._clocks = ClocksApart(clock)
        self._calls: Agenda[EffectId] = Agenda()
        """When the time of each call that is under way is over."""
        self._enquiries: dict[str, Enquiry] = {}
        self._news: dict[EffectId, None] = {}
        self._failures: dict[EffectId, int] = {}
        self._broken: InvariantError | None = None
        self._is_first = True
        broker.soon = self.soon

    async def run(self) -> None:
        try:
            await run_enduring("doubt", self.turn, self.start)
        finally:
            for one in self._enquiries.values():
                await one.close()

    def start(self) -> None:
        self._is_first = True

    def missed(self) -> None:
        """A commit may have gone by unheard: what is under way or in doubt is read anew."""
        self.start()
        self.alarm.ring()

    def soon(self, effect_id: EffectId) -> None:
        """Ask at once, however long a pause its provider was to have: there is news."""
        self._news[effect_id] = None
        self.alarm.ring()

    def heard(self, committed: Committed) -> None:
        for fact in committed.facts:
            if isinstance(fact, ev.EffectIssued):
                self._calls.put(fact.effect_id, self._now_ms() + fact.within_ms)
                self._later(fact.within_ms)
            elif isinstance(fact, ev.EffectDoubted):
                self._calls.drop(fact.effect_id)
                self.soon(fact.effect_id)
            elif isinstance(fact, ev.EffectSettled):
                self._calls.drop(fact.effect_id)
                self._forget(fact.effect_id)
            elif isinstance(fact, ev.EffectQuarantined):
                self._forget(fact.effect_id)

    def _forget(self, effect_id: EffectId) -> None:
        self._news.pop(effect_id, None)
        self._failures.pop(effect_id, None)
        for one in self._enquiries.values():
            one.drop(effect_id)

    def _now_ms(self) -> int:
        return self._clock.boot_ns() // 1_000_000

    def _later(self, pause_ms: int) -> None:
        self.alarm.no_later_than(self._clock.wall_ms() + pause_ms)

    async def turn(self) -> None:
        """Take in what there is, begin the lookups that are due, then sleep until something is."""
        self.alarm.begin()
        if self._broken is not None:
            raise self._broken
        if self._clocks.have_moved():
            self.start()
            for one in self._enquiries.values():
                one.forget()
        if self._is_first:
            await self._take_stock()
            self._is_first = False
        await self._doubt_overdue()
        await self._hear_news()
        for one in self._enquiries.values():
            one.begin()
        await self.alarm.sleep(self._next_ms())

    async def _take_stock(self) -> None:
        """Everything that is under way or in doubt, due or not, page by page."""
        last: Effect | None = None
        while True:
            page = await self._ledger.effects_due(LAST_INSTANT_MS, PAGE, last)
            await self._doubt_calls([one for one in page if one.is_under_way])
            for one in page:
                if one.is_asked_for:
                    self._enquiry(one).put(one.effect_id)
            if len(page) < PAGE:
                return
            last = page[-1]

    async def _doubt_calls(self, calls: list[Effect]) -> None:
        left = set(await self._still_under_way([one.effect_id for one in calls]))
        now = self._ledger.now()
        for one in calls:
            if one.effect_id in left and one.call_term is not None:
                wait_ms = max(left_ms(one.call_term, now), NOT_YET_MS)
                self._calls.put(one.effect_id, self._now_ms() + wait_ms)

    async def _doubt_overdue(self) -> None:
        now_ms = self._now_ms()
        overdue: list[EffectId] = []
        while (effect_id := self._calls.take(now_ms)) is not None:
            overdue.append(effect_id)
        for effect_id in await self._still_under_way(overdue):
            self._calls.put(effect_id, now_ms + NOT_YET_MS)

    async def _still_under_way(self, calls: Sequence[EffectId]) -> list[EffectId]:
        """Put calls in doubt; those come back whose time is not over yet."""
        left: list[EffectId] = []
        for first in range(0, len(calls), BATCH):
            some = calls[first : first + BATCH]
            commands: list[Command] = [DoubtEffect(one) for one in some]
            replies = await self._ledger.execute_many(commands)
            left += [
                one
                for one, reply in zip(some, replies, strict=True)
                if isinstance(reply, EffectAnswer) and reply.is_issued
            ]
        return left

    async def _hear_news(self) -> None:
        while some := list(self._news)[:PAGE]:
            found = await self._ledger.find_many(Effect, some)
            for effect_id in some:
                self._news.pop(effect_id, None)
                effect = found.get(effect_id)
                if effect is not None and effect.is_asked_for:
                    self._enquiry(effect).hurry(effect_id)

    def _enquiry(self, effect: Effect) -> Enquiry:
        provider = effect.target.partition(":")[0]
        if provider not in self._enquiries:
            self._enquiries[provider] = Enquiry(self._ask, self._now_ms, self._later)
        return self._enquiries[provider]

    def _next_ms(self) -> int | None:
        nexts = [self._calls.next, *(one.next_ms for one in self._enquiries.values())]
        known = [one for one in nexts if one is not None]
        return self._clock.wall_ms() + max(0, min(known) - self._now_ms()) if known else None

    async def _ask(self, effect_id: EffectId) -> int | None:
        """Ask for one Effect and record what was said; in how many milliseconds to do so again."""
        try:
            return await self._look(effect_id)
        except InvariantError as error:
            self._broken = error
            self.alarm.ring()
            return None
        except (UnavailableError, OutcomeUnknownError) as error:
            log.warning("the store is away", loop="doubt", effect=effect_id, error=str(error))
            return self._failed(effect_id)
        except Exception as error:
            log.exception("a lookup could not be recorded", effect=effect_id, error=str(error))
            return self._failed(effect_id)

    async def _look(self, effect_id: EffectId) -> int | None:
        effect = await self._ledger.find(Effect, effect_id)
        if effect is None or not effect.is_asked_for:
            return None
        asked = self._ledger.now()
        try:
            reached = self._broker.registry.reach(effect.target)
            asked, there = await self._broker.look(effect, reached)
        except TenureError as error:
            pause_ms = self._failed(effect_id, self._broker.rest_s(effect))
            log.warning(
                "a provider could not be asked", effect=effect_id, error=str(error), again_in_ms=pause_ms
            )
            if self._failures[effect_id] >= TELL_AFTER:
                said = f"{error.code}: {error.message}"[:500]
                await self._ledger.execute(LookUpEffect(effect_id, asked, unreachable=said))
            return pause_ms
        await self._ledger.execute(LookUpEffect(effect_id, asked, *texts_of(there)))
        self._failures.pop(effect_id, None)
        effect = await self._ledger.find(Effect, effect_id)
        if effect is None or not effect.is_asked_for:
            return None
        return max(proves_in_ms(effect, self._ledger.now()), LEAST_PAUSE_MS)

    def _failed(self, effect_id: EffectId, rest_s: float = 0.0) -> int:
        """Count it; how long to wait: 1, 2, 4 s and so on, and as long as the provider wants to be left alone."""
        times = self._failures[effect_id] = self._failures.get(effect_id, 0) + 1
        pause_ms = min(FIRST_PAUSE_MS << min(times - 1, 10), LONGEST_PAUSE_MS)
        return max(pause_ms, round(rest_s * 1000))
