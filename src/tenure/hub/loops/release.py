"""Telling Tasks how those they wait for have ended.

A Task's end commits alone; its dependents are told right after, one command each. If the hub dies in between, the
store still knows who was not told (`unreleased`), so a start, and a return of a store that was away, begin there."""

from __future__ import annotations

import asyncio
from typing import final

from tenure.core import events as ev
from tenure.core import recovery_events as rv
from tenure.core.commands import Refusal, ReleaseDependent
from tenure.core.ids import TaskId
from tenure.core.limits import BATCH
from tenure.core.review import Ruling
from tenure.errors import UnavailableError
from tenure.hub.loops.endurance import run_enduring
from tenure.ledger.port import Committed, Ledger


@final
class ReleaseLoop:
    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._ended: dict[TaskId, bool] = {}
        """Whom to tell of each: also those that it let go."""
        self._some_ended = asyncio.Event()
        self._catch_up = True

    async def run(self) -> None:
        await run_enduring("release", self.turn, self._start_over)

    async def turn(self) -> None:
        """Tell all who were not told, or wait for a Task to end and tell its dependents."""
        if self._catch_up:
            await self._tell_the_untold()
            self._catch_up = False
        await self._some_ended.wait()
        ended, self._ended = self._ended, {}
        self._some_ended.clear()
        pairs: list[tuple[TaskId, TaskId]] = []
        for task_id, let_go in ended.items():
            dependents = await self._ledger.dependents_of(task_id, let_go=let_go)
            pairs += [(dependent, task_id) for dependent in dependents]
        await self._tell(pairs)

    def heard(self, committed: Committed) -> None:
        for fact in committed.facts:
            if isinstance(fact, ev.TaskEnded | rv.ChallengeAnswered):
                is_upheld = isinstance(fact, rv.ChallengeAnswered) and fact.ruling is Ruling.UPHELD
                self._ended[fact.task_id] = is_upheld or self._ended.get(fact.task_id, False)
                self._some_ended.set()

    def missed(self) -> None:
        """A commit may have gone by unheard: the record knows who was not told."""
        self._start_over()
        self._some_ended.set()

    def _start_over(self) -> None:
        """After a failure some of those that were taken may not have been told."""
        self._catch_up = True

    async def _tell_the_untold(self) -> None:
        told: set[tuple[TaskId, TaskId]] = set()
        while pairs := [pair for pair in await self._ledger.unreleased(BATCH) if pair not in told]:
            await self._tell(pairs)
            told.update(pairs)

    async def _tell(self, pairs: list[tuple[TaskId, TaskId]]) -> None:
        commands = [ReleaseDependent(dependent, ended) for dependent, ended in pairs]
        replies = await self._ledger.execute_patiently(commands)
        refused = next((reply for reply in replies if isinstance(reply, Refusal)), None)
        if refused is not None:
            raise UnavailableError(f"not every dependent could be told: {refused.message}")
