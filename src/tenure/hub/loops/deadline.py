"""Deadlines of Tasks: asked when they come, judged by the clock of the commit."""

from __future__ import annotations

from typing import final

from tenure.core.clock import Clock
from tenure.core.desk_commands import DueTask
from tenure.core.limits import BATCH
from tenure.hub.alarm import Alarm
from tenure.hub.loops.endurance import run_enduring
from tenure.ledger.port import Committed, Ledger


@final
class DeadlineLoop:
    def __init__(self, ledger: Ledger, clock: Clock) -> None:
        self._ledger = ledger
        self._clock = clock
        self.alarm = Alarm(clock)

    async def run(self) -> None:
        await run_enduring("deadline", self.turn, lambda: None)

    async def turn(self) -> None:
        """Ask for every Task whose deadline has come, then sleep until the next one does."""
        self.alarm.begin()
        due = await self._ledger.tasks_due(self._clock.wall_ms(), BATCH)
        if due:
            await self._ledger.execute_patiently([DueTask(one) for one in due])
            return  # there may be more
        await self.alarm.sleep(await self._ledger.next_task_due_ms())

    def heard(self, committed: Committed) -> None:
        """A commit may have set a deadline earlier than what the loop sleeps for."""
        if committed.due_at_ms is not None:
            self.alarm.no_later_than(committed.due_at_ms)
