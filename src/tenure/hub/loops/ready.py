"""Tasks with a `not_before` come of age, and whoever waits for them is woken.

Of those for whom a Task has come of age a few are woken at a time, in order of arrival and twice as many each time,
as long as the record says that something is ready for the rest. So one Task in a pool of a thousand idle nodes wakes
one of them, and a thousand Tasks wake them all soon."""

from __future__ import annotations

import math
from typing import final

from tenure.core.clock import Clock
from tenure.hub.alarm import Alarm
from tenure.hub.loops.endurance import pause, run_enduring
from tenure.hub.waiting import Visit, WaitingRoom
from tenure.ledger.port import Reads

LONG_AGO_MS = -1
LOOK_S = 0.005
"""About how long it takes the ones that were woken to take what they find."""


@final
class ReadyLoop:
    def __init__(self, ledger: Reads, clock: Clock, room: WaitingRoom, alarm: Alarm) -> None:
        self._ledger = ledger
        self._clock = clock
        self._room = room
        self._alarm = alarm

    async def run(self) -> None:
        await run_enduring("ready", self.turn, lambda: None)

    async def turn(self) -> None:
        """Wake whom it is time for, then sleep until the next Task comes of age for somebody."""
        self._alarm.begin()
        self._room.wake_lookers(self._clock.wall_ms())
        few = 1
        while of_age := self._room.take_of_age(self._clock.wall_ms()):
            asleep, next_ms = of_age, LONG_AGO_MS
            try:
                next_ms = await self._earliest_ms(of_age)
                if next_ms <= self._clock.wall_ms():
                    asleep = of_age[few:]
                    for one in of_age[:few]:
                        one.woken.set()
                    few *= 2
                    await pause(LOOK_S)
            finally:
                # The earliest of them all: earlier than its own next one, perhaps, and never later.
                for one in asleep:
                    self._room.comes_of_age(one, next_ms)
        await self._alarm.sleep(self._room.next_of_age_ms())

    async def _earliest_ms(self, visits: list[Visit]) -> float:
        queues = {queue for one in visits for queue in one.queues}
        found = await self._ledger.next_ready_ms(queues, LONG_AGO_MS)
        return math.inf if found is None else found
