"""What one commit does, whichever engine keeps it.

Load what the commands will look at, decide them in their order, each seeing what those before it changed,
then write: each touched entity once however often it changed, every event, and the commit itself.

A command that runs into a bug is answered with an error, and nothing of it is accepted; the others of its
batch go on. Everything that a decision says is encoded before it is accepted, so that what cannot be written
is found while it can still be left out."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from tenure.core.canonical import canonical
from tenure.core.commands import Command, Said
from tenure.core.decision import Decision
from tenure.core.delivery import Now, Terms
from tenure.core.recipient import Recipient
from tenure.core.task import Task
from tenure.core.world import World
from tenure.errors import FaultError, TenureError
from tenure.ledger.chain import GENESIS, Commit, commit_hash, event_hash
from tenure.ledger.needs import foresee
from tenure.ledger.port import Committed, Recorded

if TYPE_CHECKING:
    from tenure.core.events import Event
    from tenure.core.ids import Address
    from tenure.core.world import Entity
    from tenure.ledger.group_commit import Outcome
    from tenure.ledger.loaded_world import LoadedWorld
    from tenure.ledger.row import Row
    from tenure.ledger.store import Store

Decide = Callable[[World, Command, Now, Terms], Decision]

log = logging.getLogger(__name__)


class Decided:
    """The decisions of a batch: an outcome for each command, and the events of all in order, each with its
    canonical JSON."""

    __slots__ = ("bodies", "events", "outcomes")

    def __init__(self) -> None:
        self.outcomes: list[Outcome] = []
        self.events: list[Event] = []
        self.bodies: list[str] = []


class Judge(Struct, frozen=True):
    """How commands are decided. `decide` is the core's own but in tests; `passing` are the errors of an engine
    that fails while a decision looks something up, which are no bug of the command."""

    decide: Decide
    terms: Terms
    passing: tuple[type[Exception], ...] = ()


def decide_all(world: World, judge: Judge, commands: Sequence[Command], now: Now) -> Decided:
    """Decide commands in their order; the world accepts what each decides."""
    decided = Decided()
    for command in commands:
        try:
            decision = judge.decide(world, command, now, judge.terms)
            bodies = [canonical(event).decode() for event in decision.events]
            world.accept(decision.changes)
        except judge.passing:
            raise
        except Exception as error:
            log.exception("a command ran into a bug; nothing of it was accepted: %s", type(command).__name__)
            decided.outcomes.append(bug(command, error))
            continue
        decided.events += decision.events
        decided.bodies += bodies
        decided.outcomes.append(decision.reply)
    return decided


def bug(command: Command, error: Exception) -> TenureError:
    """What the sender of a command hears that ran into a bug."""
    name = type(command.command if isinstance(command, Said) else command).__name__
    return FaultError(
        f"{name} ran into a bug of the hub ({type(error).__name__}: {error}); nothing of it "
        "was recorded. The hub's log has the details.",
        command=name,
    )


class Tail:
    """Where the record ends: its last commit, its last event, and the last event of each stream in use."""

    def __init__(self, last: Commit | None) -> None:
        self.commit = last or Commit(0, 0, 0, 0, 0, "", GENESIS)
        self.heads: dict[str, tuple[int, str]] = {}


def link(decided: Decided, tail: Tail, now: Now) -> tuple[list[Row], Commit]:
    """Put events and commit into their chains. `tail.heads` must have every stream that has events; it moves
    on, `tail.commit` does not."""
    commit_no = tail.commit.commit_no + 1
    seq, at_ms, heads = tail.commit.last_seq, now.wall_ms, tail.heads
    rows: list[Row] = []
    for event, body in zip(decided.events, decided.bodies, strict=True):
        stream = event.stream
        version, before = heads[stream]
        digest = event_hash(before, stream, version + 1, at_ms, body)
        heads[stream] = (version + 1, digest)
        seq += 1
        rows.append((seq, commit_no, stream, version + 1, at_ms, kind_of(event), body, digest))
    commit = Commit(commit_no, tail.commit.last_seq + 1, seq, now.wall_ms, now.awake_ms, now.hub, "")
    digest = commit_hash(tail.commit.hash, commit, (row[7] for row in rows))
    return rows, replace(commit, hash=digest)


def kind_of(event: Struct) -> str:
    """An event's tag, as it stands in its body."""
    return str(event.__struct_config__.tag)


def committed(decided: Decided, rows: list[Row], commit: Commit, changed: Sequence[Entity]) -> Committed:
    """A commit as its subscribers see it; `changed` are the Tasks and recipients it touched."""
    queued: dict[str, int] = {}
    eased: list[Address] = []
    due: list[int] = []
    for one in changed:
        if isinstance(one, Task):
            if one.queue_key is not None:
                queued[one.queue_key] = min(one.ready_at_ms, queued.get(one.queue_key, one.ready_at_ms))
            if one.due_at_ms is not None:
                due.append(one.due_at_ms)
        elif isinstance(one, Recipient) and one.free and one.may_work:
            eased.append(one.address)
    return Committed(
        commit_no=commit.commit_no,
        hash=commit.hash,
        wall_ms=commit.wall_ms,
        events=tuple(recorded(row) for row in rows),
        facts=tuple(decided.events),
        queued=queued,
        eased=tuple(eased),
        due_at_ms=min(due, default=None),
    )


def recorded(row: Row) -> Recorded:
    seq, _, stream, version, at_ms, kind, body, digest = row
    return Recorded(seq, stream, version, at_ms, kind, body, digest)


class Written:
    """A batch in the store, before its COMMIT."""

    __slots__ = ("commit", "decided", "rows", "weights")

    def __init__(
        self, decided: Decided, rows: list[Row], commit: Commit | None, weights: dict[type[Entity], int]
    ) -> None:
        self.decided = decided
        self.rows = rows
        self.commit = commit
        self.weights = weights


class Batch:
    """Decides and writes batches into a store; begins and ends no transaction."""

    def __init__(self, world: LoadedWorld, judge: Judge) -> None:
        self._world = world
        self._judge = judge

    def write(self, store: Store, tail: Tail, commands: Sequence[Command], now: Now) -> Written:
        """Everything up to the COMMIT. `commit` is None if nothing is to be committed."""
        world = self._world
        world.open(store, now.wall_ms)
        foresee(world, commands)
        decided = decide_all(world, self._judge, commands, now)
        if not decided.events:
            return Written(decided, [], None, {})
        self._find_heads(store, tail, decided)
        rows, commit = link(decided, tail, now)
        weights: dict[type[Entity], int] = {}
        for kind, touched in world.touched.items():
            new, changed = touched.split()
            weights[kind] = store.write(kind, new, changed)
        store.append(rows, commit)
        return Written(decided, rows, commit, weights)

    def _find_heads(self, store: Store, tail: Tail, decided: Decided) -> None:
        heads = tail.heads
        missing = {event.stream for event in decided.events if event.stream not in heads}
        if missing:
            touched = self._world.touched.get(Task)
            # A Task's stream begins with the Task.
            started = missing & touched.new if touched else set[str]()
            heads.update(dict.fromkeys(started, (0, GENESIS)))
            older = missing - started
            heads.update(dict.fromkeys(older, (0, GENESIS)))
            if older:
                heads.update(store.heads(older))
