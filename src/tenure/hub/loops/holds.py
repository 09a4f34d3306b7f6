"""Held Tasks are looked at again when what they hang on has changed; nobody polls.

A commit says what may have changed: a concurrency key that is free, room in an account, an answered challenge, a node that
started with another configuration. The loop knows what Tasks are held on and asks only for those. Where the change has
room for some, only the first Tasks of each line are let go: a thousand Tasks with one key cost few commands each time the
key is free. A line is one project's Tasks that the same recipients could take, so none waits behind one whose project is
paused or whose recipient is away. The loop remembers whom it let go: when such a Task has left its queue, whether it took
what it was let go for or was stopped, the line is looked at again.

Nothing here outlives a restart: it begins with everything that is held."""

from __future__ import annotations

import asyncio
from typing import final

from msgspec import Struct

from tenure.core import desk_events as de
from tenure.core import events as ev
from tenure.core import recovery_events as rv
from tenure.core.attempt import Attempt
from tenure.core.desk_commands import Reconsider
from tenure.core.gate import GATE_PREFIX, Gate, gate_subject
from tenure.core.ids import TaskId, attempt_id
from tenure.core.limits import BATCH
from tenure.core.recipient import Node
from tenure.core.reconsidering import Line, is_going, line_of
from tenure.core.review import review_subject
from tenure.core.stream import TaskEvent
from tenure.core.task import Task
from tenure.hub.loops.endurance import run_enduring
from tenure.ledger.port import Committed, Ledger

FEW = 2
"""Tasks of each line let go for one unit of room: the one that takes it, and one more where its share was smaller."""
TRIES = 1_000
"""Tasks of each line asked for one change; if none of them can go, those behind them wait for the next change."""


class _LetGo(Struct, frozen=True):
    """What a Task was held on, and the line that it stands in."""

    subject: str
    line: Line


@final
class HoldsLoop:
    """Keeps one name for everything that some Task is held on, and the Tasks that it has let go and that nobody has
    taken yet: `FEW` of each line, or a few more."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._held: set[str] = set()
        self._held_anew: set[str] = set()
        self._changed: dict[str, bool] = {}
        self._started: dict[str, None] = {}
        self._let_go: dict[TaskId, _LetGo] = {}
        self._moved: dict[TaskId, None] = {}
        self._some_changed = asyncio.Event()
        self._catch_up = True

    async def run(self) -> None:
        await run_enduring("holds", self.turn, self._start_over)

    async def turn(self) -> None:
        """Look at everything that is held; then wait for a change and look at what hangs on it."""
        if self._catch_up:
            await self._look_at_everything()
            self._catch_up = False
        await self._some_changed.wait()
        self._some_changed.clear()
        changed, self._changed = self._changed, {}
        started, self._started = list(self._started), {}
        moved, self._moved = list(self._moved), {}
        nodes = await self._ledger.find_many(Node, started)
        changed |= {where: True for one in nodes.values() for where in one.recipients if where in self._held}
        for subject in await self._left_by(moved):
            changed.setdefault(subject, False)
        for subject, is_all in changed.items():
            await self._look(subject, is_all)

    def heard(self, committed: Committed) -> None:
        for fact in committed.facts:
            if isinstance(fact, rv.TaskHeld):
                self._held.add(fact.hold.subject)
                self._held_anew.add(fact.hold.subject)
            elif isinstance(fact, ev.NodeStarted):
                self._started[fact.node_id] = None
            for subject, is_all in _changed_by(fact).items():
                # Most commits change nothing that any Task hangs on.
                if subject in self._held:
                    self._changed[subject] = is_all or self._changed.get(subject, False)
            if (
                isinstance(fact, TaskEvent)
                and not isinstance(fact, rv.TaskReleased)
                and fact.task_id in self._let_go
            ):
                self._moved[fact.task_id] = None
        if self._changed or self._started or self._moved:
            self._some_changed.set()

    def missed(self) -> None:
        """A commit may have gone by unheard: everything that is held is looked at."""
        self._start_over()

    def _start_over(self) -> None:
        self._catch_up = True
        # What the turn that failed had heard of them is lost.
        self._moved |= dict.fromkeys(self._let_go)
        self._some_changed.set()

    async def _look_at_everything(self) -> None:
        """What is held while this reads is heard of; what changes meanwhile, the command sees that comes after."""
        last = ""
        while subjects := await self._ledger.held_subjects(BATCH, last):
            self._held.update(subjects)
            for subject in subjects:
                await self._look(subject, not subject.startswith(GATE_PREFIX))
            last = subjects[-1]

    async def _left_by(self, moved: list[TaskId]) -> list[str]:
        """What those were let go for that stand in no queue any more."""
        tasks = await self._ledger.find_many(Task, moved)
        gone = [one for one in moved if one not in tasks or tasks[one].queue_key is None]
        return [found.subject for one in gone if (found := self._let_go.pop(one, None)) is not None]

    async def _look(self, subject: str, is_all: bool) -> None:
        """Go through those that are held on it, in their order, and let all or the first of each line go."""
        lines = self._lines(subject)
        self._held_anew.clear()
        last: Task | None = None
        while await self._may_be_free(subject):
            page = await self._ledger.held_on(subject, BATCH, last)
            if is_all:
                await self._ledger.execute_patiently([Reconsider(one.task_id) for one in page])
            else:
                await self._let_few_go(subject, page, lines)
            if len(page) < BATCH:
                if last is None and not page and subject not in self._held_anew:
                    self._held.discard(subject)
                return
            last = page[-1]

    async def _may_be_free(self, subject: str) -> bool:
        """A key that somebody has is told of when it is released."""
        if not subject.startswith(GATE_PREFIX):
            return True
        gate = await self._ledger.find(Gate, subject.removeprefix(GATE_PREFIX))
        return gate is None or gate.holder is None

    def _lines(self, subject: str) -> dict[Line, _Tried]:
        """The lines of those that were let go for this before and that nobody has taken yet."""
        lines: dict[Line, _Tried] = {}
        for one in self._let_go.values():
            if one.subject == subject:
                lines.setdefault(one.line, _Tried()).going += 1
        return lines

    async def _let_few_go(self, subject: str, page: list[Task], lines: dict[Line, _Tried]) -> None:
        newest = {one.task_id: attempt_id(one.task_id, one.attempts) for one in page}
        attempts = await self._ledger.find_many(Attempt, newest.values())
        waiting: dict[Line, list[TaskId]] = {}
        for one in page:
            waiting.setdefault(line_of(one, attempts[newest[one.task_id]]), []).append(one.task_id)
        while some := {
            task_id: line
            for line, tasks in waiting.items()
            for task_id in lines.setdefault(line, _Tried()).next_of(tasks)
        }:
            # Before the commit, so that nothing that happens to them right after is missed.
            self._let_go |= {task_id: _LetGo(subject, line) for task_id, line in some.items()}
            await self._ledger.execute_patiently([Reconsider(task_id) for task_id in some])
            tasks = await self._ledger.find_many(Task, some)
            for task_id, line in some.items():
                if task_id in tasks and is_going(tasks[task_id]):
                    lines[line].going += 1
                else:
                    self._let_go.pop(task_id, None)
            if not await self._may_be_free(subject):
                return


class _Tried:
    """How far one line has come: how many of it were asked, and how many of those go."""

    __slots__ = ("going", "tried")

    def __init__(self) -> None:
        self.going = 0
        self.tried = 0

    def next_of(self, waiting: list[TaskId]) -> list[TaskId]:
        """Take the next ones to ask from those that wait: as many again as before, until enough of them go."""
        if self.going >= FEW or self.tried >= TRIES:
            return []
        size = max(FEW - self.going, self.tried)
        some, waiting[:] = waiting[:size], waiting[size:]
        self.tried += len(some)
        return some


def _changed_by(fact: object) -> dict[str, bool]:
    """What may be free because of this, and whether for all that hang on it or for few."""
    match fact:
        case rv.KeyReleased():
            return {gate_subject(fact.key): False}
        case rv.BudgetSettled():
            return dict.fromkeys(fact.accounts, False)
        case rv.ChallengeAnswered():
            return {review_subject(fact.task_id): True}
        case de.AccountSet():
            return {fact.account_id: True}
        case _:
            return {}
