"""Where the hub's record is kept: in memory, or in a file on a disk that can fail.

Both give the ledger that a start of the hub is handed, survive its death, and show the whole record to whoever in the
world may know everything. On disk the record is folded from its events by the core's own `evolve`, and at the end the
audit compares every row of every table with that."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any, Protocol, TypeVar, final

import msgspec

from tenure.core.commands import Command
from tenure.core.decide import decide
from tenure.core.decision import Decision
from tenure.core.delivery import Now, Terms
from tenure.core.events import Event
from tenure.core.evolve import evolve
from tenure.core.ids import IncarnationId
from tenure.core.world import World
from tenure.ledger.audit import verify
from tenure.ledger.batch import recorded
from tenure.ledger.memory import MemoryLedger, MemoryParts
from tenure.ledger.port import Ledger, Recorded
from tenure.ledger.sqlite import SqliteLedger, SqliteParts
from tenure.ledger.sqlite_failure import STORAGE_ERRORS
from tenure.sim.disk.disk import SimulatedDisk
from tenure.sim.disk.failures import Failures, Op
from tenure.sim.world.engine import SimEngine
from tenure.sim.world.loop import Process
from tenure.sim.world.machine import Machine

PATH = "hub.db"
CHECKPOINT_FRAMES = 40
SPARE_BYTES = 8_192
"""What a full disk still takes."""

_EVENTS = "SELECT seq, stream, version, at_ms, kind, body, hash FROM events WHERE seq > ? ORDER BY seq"
_FOLD = (
    "SELECT e.seq, e.body, c.wall_ms, c.awake_ms, c.hub FROM events AS e JOIN commits AS c ON c.commit_no = e.commit_no "
    "WHERE e.seq > ? ORDER BY e.seq"
)

T = TypeVar("T")

Decided = Callable[[World, Decision], None]
Committed = Callable[[Sequence[Recorded]], None]
_EVENT: msgspec.json.Decoder[Event] = msgspec.json.Decoder(Event)


class HubStart(Protocol):
    """One start of a hub, as far as its ledger goes."""

    machine: Machine
    process: Process | None
    incarnation: IncarnationId
    terms: Terms

    async def run(self, work: Callable[[], T], /) -> T: ...

    async def run_reads(self, work: Callable[[], T], /) -> T: ...


class Keeping(Protocol):
    """`decided` is told of each decision, before the record takes it; `committed` of each commit's rows, or of none where
    there may be some that nobody was told of."""

    decided: Decided
    committed: Committed

    async def ledger(self, host: HubStart) -> Ledger: ...

    @property
    def state(self) -> World: ...

    def rows(self, after: int) -> list[Recorded]:
        """Events behind this one."""
        ...

    def kill(self, owner: str) -> None:
        """The process that had it open is dead."""
        ...

    def lose_power(self) -> None: ...

    def fail(self, what: str, size: float) -> None:
        """`fails`: commits are refused from now on; `loses`: their answers are lost."""
        ...

    def heal(self) -> None: ...

    def problems(self) -> list[str]:
        """What is wrong with the record itself."""
        ...

    def close(self) -> None: ...


@final
class InMemory:
    def __init__(self, terms: Terms, chance: random.Random) -> None:
        self._engine = SimEngine(terms, chance)
        self.decided: Decided = lambda _world, _decision: None
        self.committed: Committed = lambda _: None
        self._engine.decided = self._decided
        self._engine.committed = lambda known: self.committed(self.rows(known))

    def _decided(self, world: World, decision: Decision) -> None:
        self.decided(world, decision)

    async def ledger(self, host: HubStart) -> Ledger:
        parts = MemoryParts(run=host.run, clock=host.machine, hub=host.incarnation, terms=host.terms)
        return MemoryLedger(parts, self._engine)

    @property
    def state(self) -> World:
        return self._engine.world

    def rows(self, after: int) -> list[Recorded]:
        return [recorded(row) for row in self._engine.rows[after:]]

    def kill(self, owner: str) -> None:
        """Memory has nobody's locks."""

    def lose_power(self) -> None:
        """This memory keeps what was decided, as a disk keeps what was synced."""

    def fail(self, what: str, size: float) -> None:
        setattr(self._engine.mood, what, size)

    def heal(self) -> None:
        self._engine.mood.fails = self._engine.mood.loses = 0.0

    def problems(self) -> list[str]:
        return []

    def close(self) -> None:
        """There is nothing to let go of."""


@final
class OnDisk:
    def __init__(self, chance: random.Random) -> None:
        self.disk = SimulatedDisk(chance)
        self.disk.checkpoint_frames = CHECKPOINT_FRAMES
        self.decided: Decided = lambda _world, _decision: None
        self.committed: Committed = lambda _: None
        self._chance = chance
        self._world = World()
        self._seq = 0

    async def ledger(self, host: HubStart) -> Ledger:
        assert host.process is not None  # it is what starts it
        parts = SqliteParts(
            connect=self.disk.connector(PATH, owner=host.process.name),
            run=host.run,
            run_reads=host.run_reads,
            clock=host.machine,
            hub=host.incarnation,
            terms=host.terms,
            decide=self._decide,
        )
        ledger = SqliteLedger(parts)
        await ledger.open()
        ledger.subscribe(lambda one: self.committed(one.events), lambda: self.committed(()))
        return ledger

    @property
    def state(self) -> World:
        self._follow()
        return self._world

    def rows(self, after: int) -> list[Recorded]:
        return [Recorded(*row) for row in self._read(_EVENTS, after)]

    def kill(self, owner: str) -> None:
        self.disk.kill(owner)

    def lose_power(self) -> None:
        self.disk.crash()
        # What was seen and not synced may be gone: nothing of it was ever acknowledged.
        self._world, self._seq = World(), 0

    def fail(self, what: str, size: float) -> None:
        if what == "loses":
            self.disk.fail(Op.SYNC, after=int(size * 4), times=1 + int(size * 3))
            self.disk.fail(Op.READ, after=int(size * 10), times=1 + int(size * 6))
        elif size < 0.5:
            self.disk.set_budget(self.disk.used_bytes + int(size * SPARE_BYTES))
        else:
            self.disk.fail(Op.WRITE, after=int(size * 10), times=1 + int(size * 20))

    def heal(self) -> None:
        self.disk.set_budget(None)
        self.disk.failures.forget()

    def problems(self) -> list[str]:
        with closing(self.disk.connect(PATH)) as connection:
            report = verify(connection)
        return [str(one) for one in report.findings]

    def close(self) -> None:
        self.disk.close()

    def _decide(self, world: World, command: Command, now: Now, terms: Terms) -> Decision:
        decision = decide(world, command, now, terms)
        if decision.changes:
            self.decided(world, decision)
        return decision

    def _follow(self) -> None:
        for seq, body, wall_ms, awake_ms, hub in self._read(_FOLD, self._seq):
            evolve(self._world, _EVENT.decode(body), Now(wall_ms, awake_ms, IncarnationId(hub)))
            self._seq = seq

    def _read(self, statement: str, after: int) -> Sequence[tuple[Any, ...]]:
        """By somebody who stands beside: no fault is met, and nothing is written."""
        failures, self.disk.failures = self.disk.failures, Failures()
        try:
            with closing(self.disk.connect(PATH, read_only=True)) as connection:
                return connection.execute(statement, (after,)).fetchall()
        except STORAGE_ERRORS:
            return ()  # there is no record yet, or nobody can read it now
        finally:
            self.disk.failures = failures
