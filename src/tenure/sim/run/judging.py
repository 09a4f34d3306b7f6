"""What is looked at while a seed is played, and at its end.

- after each commit: what the step broke, on the entities that the commit has touched (`core.invariants`);
- now and then, and at the end: the whole record;
- after each commit, too: nothing is said of a node that cannot be so here;
- at each start of a program: no other program of the same Task runs under a lease that both believe to be open;
- at the end: that everything has come to its end, and what the independent checkers say of the history.

An error that the engine logs as unexpected is a finding, too: nobody would look at it otherwise."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, final

import msgspec

from tenure.core.account import Account
from tenure.core.attention import Attention
from tenure.core.budget import NOTHING
from tenure.core.decision import Decision
from tenure.core.effect import Effect
from tenure.core.gate import Gate
from tenure.core.invariants import step_violations, world_violations
from tenure.core.recipient import Recipient
from tenure.core.task import Task
from tenure.core.world import E, World
from tenure.errors import OutcomeUnknownError, UnavailableError
from tenure.ledger.port import Recorded
from tenure.ledger.sqlite_failure import STORAGE_ERRORS
from tenure.node.run.messages import Launch
from tenure.sim.checkers.checking import check
from tenure.sim.checkers.entry import Observed, Settled
from tenure.sim.checkers.entry import Recorded as Fact
from tenure.sim.run.guest import broken_in_record
from tenure.sim.world.node_host import NodeHost
from tenure.sim.world.run_state import Run
from tenure.sim.world.world import SimWorld

BROKEN_DISKS = (*STORAGE_ERRORS, UnavailableError, OutcomeUnknownError)
"""What is to be expected where disks break on purpose."""
ENOUGH = 40
WHOLE_EVERY = 60
"""Commits between two looks at the whole record."""

UNTRUE = {
    "delivery_denied": "every store keeps what it has acknowledged",
    "node_quarantined": "no credential is ever copied",
}
"""What the record must never say of a node here, and why it would not be so."""


@final
class Window(World):
    """A record of which only some entities are looked at one by one; what they refer to is found as it is there."""

    def __init__(self, whole: World, shown: dict[type[Any], dict[str, Any]]) -> None:
        super().__init__()
        self._whole = whole
        self.entities |= shown

    def find(self, kind: type[E], key: str) -> E | None:
        return self.entities[kind].get(key) or self._whole.find(kind, key)


@final
class Judge:
    """`found` are sentences, each with the name of what was broken."""

    def __init__(self, world: SimWorld) -> None:
        self._world = world
        self.enough = ENOUGH
        self.found: list[str] = []
        self.kinds: Counter[str] = Counter()
        self._commits = 0
        self.events = 0
        self._rows = 0
        self.on_event: Callable[[str], None] = lambda _: None
        """Told of the kind of each event that was committed."""
        world.keeping.decided = self._decided
        world.keeping.committed = self._committed
        world.on_start = self._executed

    @property
    def has_enough(self) -> bool:
        """Is more broken than anybody would read? Then the seed need not be played to its end."""
        return len(self.found) >= self.enough

    def add(self, sentence: str) -> None:
        if sentence not in self.found and not self.has_enough:
            self.found.append(sentence)
            self._world.trace.add(f"VIOLATION {sentence}")

    # -- decisions and commits

    def _decided(self, world: World, decision: Decision) -> None:
        earlier = {
            kind: {key: was for key in changed if (was := world.find(kind, key)) is not None}
            for kind, changed in decision.changes.items()
        }
        for sentence in step_violations(Window(world, earlier), Window(world, decision.changes)):
            self.add(sentence)

    def _committed(self, heard: Sequence[Recorded]) -> None:
        rows = heard
        if not rows or rows[0].seq > self._rows + 1:  # something went by unheard
            rows = self._world.keeping.rows(self._rows)
        if not rows:
            return
        self._rows = rows[-1].seq
        for row in rows:
            self.kinds[row.kind] += 1
            self.on_event(row.kind)
            self._world.note(f"commit {row.stream} {row.kind}")
            if row.kind in UNTRUE:
                self.add(f"{row.kind}: {row.stream}, and yet {UNTRUE[row.kind]}")
        self._commits += 1
        if self._commits % WHOLE_EVERY == 0:
            self.look_at_all()

    def look_at_all(self) -> None:
        for sentence in world_violations(self._world.state):
            self.add(sentence)

    # -- what really runs

    def _executed(self, node: NodeHost, run: Run, launch: Launch) -> None:
        task_id = node.grants[launch.delivery_id].task_id
        for other_node, other in self._trees_of(task_id):
            if other is run:
                continue
            self.add(
                f"one_owner: {run.name} was started on {node.name} while {other.name} of the same Task runs on "
                f"{other_node.name} under a lease that it believes to be open"
            )

    def _trees_of(self, task_id: str) -> Iterable[tuple[NodeHost, Run]]:
        for node in self._world.nodes:
            for run in node.runners.living():
                grant = node.grants.get(run.name)
                is_open = node.machine.boot_ns() < run.deadline_ns and run.is_held
                if grant is not None and grant.task_id == task_id and run.has_tree and is_open:
                    yield node, run

    # -- the end

    def demand_end(self) -> list[str]:
        """What has not come to its end yet; empty when all has."""
        world, left = self._world.state, list[str]()
        left += [f"{one.task_id} is {one.state}" for one in world.every(Task) if not one.is_terminal]
        left += [f"{one.effect_id} is {one.state}" for one in world.every(Effect) if not one.has_ended]
        left += [f"{one.item_id} is open" for one in world.every(Attention) if one.open]
        left += [
            f"{one.address} has {one.slots_used} slots taken, blocks {one.blocks}"
            for one in world.every(Recipient)
            if one.declared and (one.slots_used or one.blocks)
        ]
        left += [
            f"{one.account_id} has {one.reserved} reserved"
            for one in world.every(Account)
            if one.reserved != NOTHING
        ]
        left += [f"{one.gate_id} is held by {one.holder}" for one in world.every(Gate) if one.holder]
        for node in self._world.nodes:
            left += [f"{node.name} owes a report of {one}" for one in node.owed()]
            left += [f"{run.name} is alive on {node.name}" for run in node.runners.living()]
            left += [f"{node.name} is not ready"] if not node.is_ready else []
        return left

    def judge_end(self) -> None:
        self.look_at_all()
        history = self._world.history
        rows = self._world.keeping.rows(0)
        self.events = len(rows)
        for row in rows:
            history.add(told(row))
        for sentence in broken_in_record(rows):
            self.add(sentence)
        history.add(Settled(at=history.now()))
        history.add(Observed(kinds=("legs", "executions", "provider", "record", "people")))
        for finding in check(history.recorder.history()):
            self.add(f"history: {finding}")
        for problem in self._world.keeping.problems():
            self.add(f"frozen: {problem}")
        for complaint in self._world.loop.complaints:
            self.add(f"unexpected: {complaint}")
        for bug in self._world.network.bugs:
            self.add(f"unexpected: {bug}")


def told(row: Recorded) -> Fact:
    """An event of the record, as the checkers read it."""
    return Fact(
        seq=row.seq,
        stream=row.stream,
        version=row.version,
        kind=row.kind,
        at_ms=row.at_ms,
        hash=row.hash,
        body=msgspec.json.decode(row.body),
        covers=row.body,
    )


class LogWatch(logging.Handler):
    """Errors that the engine logs with a stack: nobody expected them."""

    def __init__(self, judge: Judge) -> None:
        super().__init__(logging.ERROR)
        self._judge = judge

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        if error is not None and not isinstance(error, BROKEN_DISKS):
            self._judge.add(f"unexpected: {record.getMessage()}: {error!r}")
