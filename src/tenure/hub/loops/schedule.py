"""Recurring schedules fire: each occurrence is handled when its time has come.

The loop sleeps until the next occurrence of any schedule. Which occurrences are due is computed here, by the calendar;
what becomes of each is decided in core, in the commit that also submits its Task. So a hub that dies between the two has
done nothing, and its next start finds the same occurrence due; one that dies right after has moved the schedule on.

A clock that goes back only delays: what was fired is behind the schedule's next occurrence. A schedule whose zone or cron
text this machine cannot read any more is paused, and a person is asked; the others go on."""

from __future__ import annotations

from typing import final

import structlog

from tenure.core.clock import Clock, IdSource
from tenure.core.commands import Command, Refusal
from tenure.core.ids import TaskId
from tenure.core.limits import MISSED_OCCURRENCES
from tenure.core.schedule import Schedule
from tenure.core.schedule_commands import FireAnswer, FireSchedule, PauseSchedule
from tenure.core.schedule_events import ScheduleAdded, ScheduleChanged, ScheduleResumed
from tenure.core.scheduling import occurrences_to_handle
from tenure.errors import InvalidError
from tenure.hub.alarm import Alarm
from tenure.hub.loops.endurance import run_enduring
from tenure.ledger.port import Committed, Ledger
from tenure.runtime.recurrence import Recurrence

AT_ONCE = 100
"""Schedules read at once; those behind them are read right after."""
AGAIN_MS = 10_000
"""When to ask again what could not be handled."""
BY = "hub"

log = structlog.get_logger(__name__)


@final
class ScheduleLoop:
    def __init__(self, ledger: Ledger, clock: Clock, ids: IdSource) -> None:
        self._ledger = ledger
        self._clock = clock
        self._ids = ids
        self.alarm = Alarm(clock)

    async def run(self) -> None:
        await run_enduring("schedule", self.turn, lambda: None)

    async def turn(self) -> None:
        """Handle what is due, then sleep until the next occurrence."""
        self.alarm.begin()
        due = await self._ledger.schedules_due(self._clock.wall_ms(), AT_ONCE)
        moved = False
        for one in due:
            moved |= await self._handle(one)
        if moved:
            return  # another may be due by now; the next turn asks
        again_ms = self._clock.wall_ms() + AGAIN_MS if due else None
        await self.alarm.sleep(again_ms or await self._ledger.next_schedule_due_ms())

    def heard(self, committed: Committed) -> None:
        """A commit may have named an earlier occurrence than the one that the loop sleeps for."""
        for fact in committed.facts:
            if isinstance(fact, ScheduleAdded | ScheduleChanged | ScheduleResumed):
                self.alarm.no_later_than(fact.next_at_ms)

    async def _handle(self, one: Schedule) -> bool:
        """Handle a schedule's due occurrences, in order; whether anything became of them."""
        replies = await self._ledger.execute_many(self._commands(one))
        refused = next((reply for reply in replies if isinstance(reply, Refusal)), None)
        if refused is not None:
            log.error("an occurrence could not be handled", schedule=one.name, error=refused.message)
        return any(not isinstance(reply, FireAnswer | Refusal) or _is_done(reply) for reply in replies)

    def _commands(self, one: Schedule) -> list[Command]:
        try:
            recurrence = Recurrence(one.spec.cron, one.spec.zone)
        except InvalidError as error:
            because = f"{error.message} (on this machine)"
            return [PauseSchedule(one.schedule_id, BY, because, may_all=True, broken=True)]
        first_ms = one.next_at_ms or 0
        due = recurrence.due(first_ms, self._clock.wall_ms(), MISSED_OCCURRENCES)
        times = occurrences_to_handle(one.spec.missed, due.times)
        passed_over = due.earlier + len(due.times) - len(times)
        commands: list[Command] = []
        for at_ms, next_ms in zip(times, (*times[1:], due.next_ms), strict=True):
            commands.append(
                FireSchedule(
                    one.schedule_id,
                    one.revision,
                    at_ms if commands else first_ms,
                    at_ms,
                    next_ms,
                    TaskId(self._ids.new_id("t")),
                    0 if commands else passed_over,
                )
            )
        return commands


def _is_done(reply: FireAnswer | Refusal) -> bool:
    return isinstance(reply, FireAnswer) and reply.outcome is not None
