"""Held Tasks are looked at again when what they hang on has changed; nobody polls.

A commit says what may have changed: a concurrency key that is free, room in an account, an answered challenge, a node that
started with another configuration. The loop knows what Tasks are held on now and asks only for those. Where the change has
room for one, only the first Tasks of each route are let go: a thousand Tasks with one key cost one command each time the
key is free. If that one never takes what it was let go for, because it is canceled, the next is.

Nothing here outlives a restart: it begins with everything that is held."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import final

from tenure.core import desk_events as de
from tenure.core import events as ev
from tenure.core import recovery_events as rv
from tenure.core.desk_commands import Reconsider
from tenure.core.gate import GATE_PREFIX, gate_subject
from tenure.core.limits import BATCH
from tenure.core.recipient import Node
from tenure.core.review import review_subject
from tenure.core.task import Task
from tenure.hub.loops.endurance import run_enduring
from tenure.ledger.port import Committed, Ledger

SUBJECTS = 10_000
"""Different things that Tasks are held on; beyond these a restart, or the next change of theirs, is needed."""


FEW = 2
"""Tasks of each route let go for one unit of room: the one that takes it, and one more where its share was smaller."""


@final
class HoldsLoop:
    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._held: set[str] = set()
        self._changed: dict[str, bool] = {}
        self._started: dict[str, None] = {}
        self._some_changed = asyncio.Event()
        self._catch_up = True

    async def run(self) -> None:
        await run_enduring("holds", self.turn, self._start_over)

    async def turn(self) -> None:
        """Look at everything that is held; then wait for a change and look at what hangs on it."""
        if self._catch_up:
            self._held.update(await self._ledger.held_subjects(SUBJECTS))
            await self._reconsider({one: not one.startswith(GATE_PREFIX) for one in self._held})
            self._catch_up = False
        await self._some_changed.wait()
        changed, self._changed = self._changed, {}
        started, self._started = list(self._started), {}
        self._some_changed.clear()
        nodes = await self._ledger.find_many(Node, started)
        changed |= {where: True for one in nodes.values() for where in one.recipients}
        await self._reconsider(changed)

    def heard(self, committed: Committed) -> None:
        for fact in committed.facts:
            if isinstance(fact, rv.TaskHeld):
                self._held.add(fact.hold.subject)
            elif isinstance(fact, ev.NodeStarted):
                self._started[fact.node_id] = None
            for subject, is_all in _changed_by(fact).items():
                if self._may_hold(subject):
                    self._changed[subject] = is_all or self._changed.get(subject, False)
        if self._changed or self._started:
            self._some_changed.set()

    def _may_hold(self, subject: str) -> bool:
        """Could a Task hang on it? Most commits change nothing that any hangs on."""
        if subject == GATE_PREFIX:
            return any(one.startswith(GATE_PREFIX) for one in self._held)
        return subject in self._held

    def _start_over(self) -> None:
        self._catch_up = True
        self._some_changed.set()

    async def _reconsider(self, changed: dict[str, bool]) -> None:
        """`changed`: what may be free, and whether for all that hang on it or for few."""
        # What was held meanwhile is heard of; what is not there any more is forgotten.
        self._held.clear()
        held = await self._ledger.held_subjects(SUBJECTS)
        self._held.update(held)
        all_keys = GATE_PREFIX in changed
        tasks: list[Task] = []
        for subject in held:
            if subject in changed or (all_keys and subject.startswith(GATE_PREFIX)):
                found = await self._ledger.held_on(subject, BATCH)
                tasks += found if changed.get(subject) else few_of_each_route(found)
        await self._ledger.execute_patiently([Reconsider(one.task_id) for one in tasks])


def few_of_each_route(tasks: Iterable[Task]) -> list[Task]:
    """The first Tasks of each route, of Tasks in the order of their queues."""
    found: dict[tuple[str, str | None, str | None], list[Task]] = {}
    for one in tasks:
        found.setdefault((one.spec.route, one.spec.harness, one.spec.model), []).append(one)
    return [one for some in found.values() for one in some[:FEW]]


def _changed_by(fact: object) -> dict[str, bool]:
    match fact:
        case rv.KeyReleased():
            return {gate_subject(fact.key): False}
        case rv.BudgetSettled():
            return dict.fromkeys(fact.accounts, False)
        case rv.ChallengeAnswered():
            return {review_subject(fact.task_id): True}
        case de.AccountSet():
            return {fact.account_id: True}
        case ev.TaskEnded():
            # It may have been let go for a key that it never took.
            return {GATE_PREFIX: False}
        case _:
            return {}
