"""One machine with a node's daemon, its store and its runners, as a value.

`Held` is everything that a machine and the network between it and the hub hold of one Delivery: the grant that is on its
way, the row of the store, the runner, and every request that was sent and may yet arrive. A request, once sent, may arrive
at any later time and any number of times, or never, until a later start of the daemon has made its sender history. An
answer dies with the daemon that waited for it."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum

from msgspec import Struct
from msgspec.structs import replace

from tenure.sim.explore.bounds import LEASE, MARGIN
from tenure.sim.explore.reading import NodeReading


class Row(IntEnum):
    """What the store says. `released`: the hub needs nothing more, and the row is gone."""

    NONE = 0
    MIRRORED = 1
    ENDED = 2
    CLOSED = 3
    RELEASED = 4


class Run(IntEnum):
    """The harness, whatever anybody knows of it. `done`: its runner has recorded how it ended. `gone`: nothing is left of it,
    and nothing is recorded."""

    NONE = 0
    RUNNING = 1
    PAUSED = 2
    DONE = 3
    GONE = 4


class HubWord(IntEnum):
    """What the hub has told the daemon of a Delivery."""

    NOTHING = 0
    CANCEL = 1
    STALE = 2


class Phase(IntEnum):
    """`stale`: another start has taken over, and this daemon has not heard of it. `stopped`: it has. `gone`: never comes
    back. `absent`: a clone that nobody has made yet."""

    UP = 0
    DOWN = 1
    STALE = 2
    STOPPED = 3
    GONE = 4
    ABSENT = 5


DELIVERED, EXPIRED, DROPPED, HAND_BACK = 1, 2, 4, 8
"""Answers to a receipt that are on their way."""
RENEWED, TOLD_CANCEL, TOLD_STALE = 1, 2, 4
"""Answers to a renewal that are on their way."""
ALIVE = (Run.RUNNING, Run.PAUSED)
HANDBACK = "handback"


class Held(Struct, frozen=True, kw_only=True):
    """A Delivery on one machine. `left`: ticks to its own deadline. `taken`: the start marker. `starts`: how often its harness
    was started here, ever. Ages are ticks since the sending of what is waited for, as far as they matter."""

    offered: bool = False
    row: Row = Row.NONE
    accepted: bool = False
    told: HubWord = HubWord.NOTHING
    tried: bool = False
    spawned: int = 0
    taken: bool = False
    run: Run = Run.NONE
    starts: int = 0
    outcome: str = ""
    left: int = 0
    ending: str = ""
    gone: bool = False
    begun: bool = False
    receipt: bool = False
    awaits_receipt: bool = False
    receipt_age: int = 0
    receipt_said: int = 0
    refusal: bool = False
    renewals: int = 0
    spent: int = 0
    awaits_renewal: bool = False
    renewal_age: int = 0
    renewal_said: int = 0
    reports: tuple[str, ...] = ()
    answered: bool = False

    @property
    def is_blank(self) -> bool:
        return self == NOTHING_HELD

    @property
    def occupies(self) -> bool:
        """Does the daemon count a unit as taken for it?"""
        return self.row in (Row.MIRRORED, Row.ENDED)


NOTHING_HELD = Held()


class Machine(Struct, frozen=True):
    """`held`: what it holds of each Delivery, by number; `snapshots`: what each snapshot of this daemon said, in order."""

    phase: Phase
    held: tuple[Held, ...]
    snapshots: tuple[tuple[int, ...], ...] = ()

    def having(self, place: int, held: Held) -> Machine:
        kept = (*self.held[:place], held, *self.held[place + 1 :])
        return replace(self, held=kept)

    def each(self, change: Callable[[Held], Held]) -> tuple[Held, ...]:
        """What it would hold if this happened to each Delivery that it knows of."""
        return tuple(one if one.is_blank else change(one) for one in self.held)

    @property
    def is_up(self) -> bool:
        return self.phase in (Phase.UP, Phase.STALE)

    @property
    def speaks(self) -> bool:
        """May what it has sent still count at the hub?"""
        return self.phase in (Phase.UP, Phase.DOWN)


def new_machine(grants: int, phase: Phase = Phase.UP) -> Machine:
    return Machine(phase, (NOTHING_HELD,) * grants)


# -- time


def after_tick(machine: Machine, reading: NodeReading, *, asleep: bool = False) -> Machine:
    """A tick later. `asleep`: it was suspended meanwhile, and runs on before its runners look at the clock."""
    return replace(machine, held=machine.each(lambda one: _older(one, reading, asleep=asleep)))


def _older(held: Held, reading: NodeReading, *, asleep: bool) -> Held:
    left = max(0, held.left - 1)
    run = held.run
    if run is Run.RUNNING and left == 0 and reading.runner_pauses and not (asleep and held.left):
        run = Run.PAUSED
    most = LEASE if not reading.keeps_margin else LEASE - MARGIN
    return replace(
        held,
        left=left,
        run=run,
        receipt_age=min(most, held.receipt_age + 1) if held.awaits_receipt else 0,
        renewal_age=min(most, held.renewal_age + 1) if held.awaits_renewal else 0,
    )


def term_left(age: int, reading: NodeReading) -> int:
    """Ticks to the deadline, by an answer to what was sent so long ago."""
    whole = LEASE - (MARGIN if reading.keeps_margin else 0)
    return whole if not reading.counts_from_sending else max(0, whole - age)


# -- faults


def crashed(machine: Machine) -> Machine:
    """The daemon is gone: what it had in memory, and the answers that it waited for. Runners, store and network are as they
    were."""
    return replace(machine, phase=Phase.DOWN, held=machine.each(_forgotten))


def _forgotten(held: Held) -> Held:
    return replace(
        _waiting_no_more(held),
        offered=False,
        accepted=False,
        told=HubWord.NOTHING,
        tried=False,
        left=held.left if held.run in ALIVE or held.spawned else 0,
        answered=False,
    )


def restarted(machine: Machine, reading: NodeReading) -> Machine:
    """A new daemon has introduced itself: nothing that an earlier one has sent counts any more, and everything goes on from
    what the store and the run folders say."""
    return Machine(Phase.UP, machine.each(lambda one: _taken_up(one, reading)))


def _taken_up(held: Held, reading: NodeReading) -> Held:
    if reading.new_incarnation:
        held = _unsent(held)
    if held.row is Row.MIRRORED and not held.taken:
        return replace(held, receipt=True, awaits_receipt=True)
    if held.row is Row.MIRRORED:
        return settled_run(held, reading)
    if held.row is Row.ENDED:
        return reported(held, held.ending) if reading.report_is_kept else replace(held, row=Row.CLOSED)
    return held


def settled_run(held: Held, reading: NodeReading) -> Held:
    """What the daemon makes of a run that it looks at: followed while it lives, else judged and reported."""
    if held.run is Run.DONE:
        return reported(held, held.outcome)
    if held.run is Run.GONE:
        if not reading.crash_is_not_unstarted:
            return reported(held, HANDBACK)
        return reported(held, "unknown" if reading.lost_runner_is_unknown else "failed")
    return held


def reported(held: Held, ending: str) -> Held:
    """Its ending is stored, and the report is sent."""
    sent = tuple(sorted({*held.reports, ending}))
    return replace(
        _waiting_no_more(held),
        row=Row.ENDED,
        ending=ending,
        reports=sent,
        gone=ending != "unknown_left",
    )


def _waiting_no_more(held: Held) -> Held:
    """Nobody waits for an answer to a receipt or a renewal."""
    return replace(
        held,
        awaits_receipt=False,
        receipt_age=0,
        receipt_said=0,
        awaits_renewal=False,
        renewal_age=0,
        renewal_said=0,
    )


def _unsent(held: Held) -> Held:
    """Nothing that was sent for it arrives any more."""
    return replace(held, receipt=False, refusal=False, spent=held.renewals, reports=())


def without_disk(machine: Machine) -> Machine:
    """The store and the run folders are gone, and the daemon with them."""
    return replace(machine, phase=Phase.DOWN, held=crashed(machine).each(_lost))


def _lost(held: Held) -> Held:
    return replace(
        held,
        row=Row.NONE,
        taken=False,
        spawned=0,
        ending="",
        outcome="",
        left=0,
        gone=False,
        run=Run.GONE if held.run is not Run.NONE else Run.NONE,
    )


def never_back(machine: Machine, *, runners_live: bool) -> Machine:
    """The machine does not come back: nothing that it has sent and nobody has read arrives."""
    return Machine(
        Phase.GONE, crashed(machine).each(lambda one: _unreachable(one, runners_live=runners_live))
    )


def _unreachable(held: Held, *, runners_live: bool) -> Held:
    run = held.run if runners_live or held.run not in ALIVE else Run.GONE
    return replace(_unsent(held), begun=False, spawned=0, run=run)


def cloned(machine: Machine) -> Machine:
    """A machine that boots from a copy of this one's disk: no process of it, nothing that it has sent."""
    return Machine(Phase.DOWN, tuple(_copied(one) for one in machine.held))


def _copied(held: Held) -> Held:
    if held.row in (Row.NONE, Row.RELEASED):
        return NOTHING_HELD
    run = Run.GONE if held.run in ALIVE else held.run
    return Held(
        row=held.row, taken=held.taken, run=run, outcome=held.outcome, ending=held.ending, gone=held.gone
    )


def overtaken(machine: Machine) -> Machine:
    """Another start of the same node has taken over; whatever this one sends is told so, some time. One that is down may start
    again, and take over in its turn."""
    phase = Phase.DOWN if machine.phase is Phase.DOWN else Phase.STALE
    return replace(machine, phase=phase, held=machine.each(_unsent), snapshots=())


def stopped(machine: Machine) -> Machine:
    """The daemon was told that another has taken over, and has ended."""
    return replace(crashed(machine), phase=Phase.STOPPED, snapshots=())


def ended_by_hand(machine: Machine) -> Machine:
    """Somebody has gone there and ended what no daemon looks after any more."""
    ended = (replace(one, run=Run.GONE, left=0) if one.run in ALIVE else one for one in machine.held)
    return replace(machine, held=tuple(ended))
