"""Lookups at one provider: which Effects it is asked for, when, and so many of them at a time.

Each provider has one of its own, so one that hangs or is gone keeps its own places and nobody else's. What is asked for
again later stands in an agenda and costs nothing until then."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import final

from tenure.core.ids import EffectId
from tenure.hub.agenda import Agenda

LOOKING = 16
"""Lookups at one provider at a time."""

Ask = Callable[[EffectId], Awaitable[int | None]]
"""Asks the provider for one Effect; gives back in how many milliseconds to do so again, None for never. Raises nothing
but a cancellation."""


@final
class Enquiry:
    def __init__(self, ask: Ask, now_ms: Callable[[], int], later: Callable[[int], None]) -> None:
        """`later` is told in how many milliseconds something is to be asked for again."""
        self._ask = ask
        self._now_ms = now_ms
        self._later = later
        self._agenda: Agenda[EffectId] = Agenda()
        self._looking: dict[EffectId, asyncio.Task[None]] = {}
        self._news: set[EffectId] = set()

    @property
    def next_ms(self) -> int | None:
        """When there is something to begin; None while every place is taken, for the end of a lookup begins the next."""
        return self._agenda.next if len(self._looking) < LOOKING else None

    def put(self, effect_id: EffectId) -> None:
        """Ask for it, unless it is known here already."""
        if effect_id not in self._agenda and effect_id not in self._looking:
            self._agenda.put(effect_id, self._now_ms())

    def hurry(self, effect_id: EffectId) -> None:
        """Ask at once, whatever pause it was to have: there is news. One that is being asked for is asked for again."""
        if effect_id in self._looking:
            self._news.add(effect_id)
        else:
            self._agenda.put(effect_id, self._now_ms())

    def drop(self, effect_id: EffectId) -> None:
        """It need not be asked for any more."""
        self._agenda.drop(effect_id)
        self._news.discard(effect_id)

    def forget(self) -> None:
        """What was to be asked for later is told anew; what is being asked for goes on."""
        self._agenda = Agenda()

    def begin(self) -> None:
        """Ask for what is to be asked for by now, as far as there are places."""
        while len(self._looking) < LOOKING and (effect_id := self._agenda.take(self._now_ms())) is not None:
            self._looking[effect_id] = asyncio.ensure_future(self._look(effect_id))

    async def _look(self, effect_id: EffectId) -> None:
        try:
            pause_ms = await self._ask(effect_id)
        finally:
            del self._looking[effect_id]
        if pause_ms is not None:
            pause_ms = 0 if effect_id in self._news else pause_ms
            self._agenda.put(effect_id, self._now_ms() + pause_ms)
            self._later(pause_ms)
        self._news.discard(effect_id)
        self.begin()

    async def close(self) -> None:
        lookups = list(self._looking.values())
        for lookup in lookups:
            lookup.cancel()
        await asyncio.gather(*lookups, return_exceptions=True)
