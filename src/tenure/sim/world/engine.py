"""The record in memory, with a disk that may refuse a commit, or lose its answer after it was made.

What a real engine does when it cannot tell (`OutcomeUnknownError`) it does too: nobody is told of that commit."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import final

from msgspec import Struct

from tenure.core.commands import Command
from tenure.core.decide import decide
from tenure.core.decision import Decision
from tenure.core.delivery import Now, Terms
from tenure.core.world import World
from tenure.errors import OutcomeUnknownError, StorageFailedError
from tenure.ledger.batch import Judge
from tenure.ledger.group_commit import Ran
from tenure.ledger.memory import MemoryEngine


class DiskMood(Struct, kw_only=True):
    """Shares of commits that are refused, and of those that are made and whose answer is lost."""

    fails: float = 0.0
    loses: float = 0.0


@final
class SimEngine(MemoryEngine):
    """`decided` is told of each decision before the world accepts it, `committed` of each batch: how many rows there were
    before."""

    def __init__(self, terms: Terms, chance: random.Random) -> None:
        super().__init__(Judge(self._decide, terms))
        self.mood = DiskMood()
        self._chance = chance
        self.decided: Callable[[World, Decision], None] = lambda _world, _decision: None
        self.committed: Callable[[int], None] = lambda _: None

    def run(self, commands: Sequence[Command], now: Now) -> Ran:
        if self.mood.fails and self._chance.random() < self.mood.fails:
            raise StorageFailedError("the disk does not take it")
        known = len(self.rows)
        ran = super().run(commands, now)
        self.committed(known)
        if self.mood.loses and self._chance.random() < self.mood.loses:
            raise OutcomeUnknownError("COMMIT failed and the database does not say whether it happened")
        return ran

    def _decide(self, world: World, command: Command, now: Now, terms: Terms) -> Decision:
        decision = decide(world, command, now, terms)
        if decision.changes:
            self.decided(world, decision)
        return decision

    def probe(self) -> None:
        if self.mood.fails:
            raise StorageFailedError("the disk does not take it")
