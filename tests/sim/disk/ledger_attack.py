"""The real ledger on a simulated disk: a script of commands, a fault at a chosen operation, and what must hold then.

An acknowledged reply stands on some commit, the record's last one when the reply was given. Each of these must be in
the record after any crash. A command that was told that nothing happened has made no commit; one whose outcome is
unknown has made one or none. Whatever is there proves itself (`ledger.audit`)."""

from __future__ import annotations

import sqlite3
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from random import Random
from typing import Any

from tenure.core import commands as cm
from tenure.core import desk_commands as dc
from tenure.core import effect_commands as ec
from tenure.core.attempt import Answer, Verdict
from tenure.core.attention import Attention, AttentionKind, item_id
from tenure.core.decide import decide
from tenure.core.delivery import Delivery, Terms
from tenure.core.ids import EffectId, TaskId, attempt_id
from tenure.core.world import ENTITY_KINDS
from tenure.errors import OutcomeUnknownError, TenureError, UnavailableError
from tenure.ledger import audit
from tenure.ledger.batch import Judge
from tenure.ledger.migrating import bring_up_to_date
from tenure.ledger.sqlite import SqliteLedger
from tenure.ledger.sqlite_engine import SqliteEngine
from tenure.sim.disk.disk import SimulatedDisk
from tenure.sim.disk.failures import Op
from tenure.sim.disk.file import Keeping
from tests.ledger.desk import SCOPE, Desk, HandClock, pull_request, sqlite_ledger

RECORD = "/hub.db"
TRIES = 6
"""How often a command is sent again after an error; a planned fault hits fewer than that."""
ROOM_AFTER = 3
"""Errors until somebody makes room on a full disk."""
RECOVERY_CHANGES = 40
"""About as many as there are when a record is opened after a crash."""
CRASHES = (Keeping.NOTHING, Keeping.EVERYTHING, None, None)
"""How each moment is crashed: twice as chance has it."""

Script = Callable[["Witness"], Awaitable[None]]


class PowerGoneError(Exception):
    """The machine is off: whoever sent commands hears nothing any more."""


@dataclass
class PlannedFailure:
    """After so many operations of this kind, so many fail, and so many changes later the power goes (else at the end).
    Without a kind the disk is full after so many more bytes."""

    op: Op | None
    after: int
    times: int = 1
    then_cut: int | None = None
    on_error: Callable[[Any], Awaitable[None]] | None = None
    """What is done after an error, before the command is sent again."""


@dataclass
class Promised:
    """What callers were told: the commits that replies stand on, and how many outcomes were unknown."""

    acknowledged: dict[int, str] = field(default_factory=dict)
    unknown: int = 0
    unavailable: dict[str, int] = field(default_factory=dict)

    def violations(self, commits: dict[int, str]) -> Iterator[str]:
        """Where a record breaks what was told."""
        for number, digest in self.acknowledged.items():
            if commits.get(number) != digest:
                yield f"lost: commit {number} was acknowledged; the record has {commits.get(number)} there"
        others = len(set(commits.values()) - set(self.acknowledged.values()))
        if others > self.unknown:
            yield f"resurrected: {others} commits that nobody was told of, {self.unknown} outcomes were unknown"


class Patient:
    """Asks a ledger's questions again while the storage fails."""

    def __init__(self, ledger: SqliteLedger, failed: Callable[[], None]) -> None:
        self.real = ledger
        self._failed = failed

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        async def ask(*values: Any) -> Any:
            for _ in range(TRIES):
                try:
                    return await getattr(self.real, name)(*values)
                except UnavailableError:
                    self._failed()
            raise AssertionError(f"{name} failed {TRIES} times")

        return ask


class Witness(Desk):
    """A desk that keeps what it was told. With `again` it sends a command again after an error, as clients do, and does
    `on_error` in between."""

    def __init__(
        self, disk: SimulatedDisk, clock: HandClock, again: bool = False, on_error: Script | None = None
    ) -> None:
        self.told = Promised()
        self.disk = disk
        self.again = again
        self.on_error = on_error
        self.errors = 0
        super().__init__(self.patient(clock), clock)

    def patient(self, clock: HandClock) -> Any:
        return Patient(ledger_on(self.disk, clock), self.failed)

    def failed(self) -> None:
        """Something could not be had.

        Raises:
            PowerGoneError: nothing more can be.
        """
        self.errors += 1
        if self.errors == ROOM_AFTER:
            self.disk.set_budget(None)
        if not self.again or self.disk.failures.is_off:
            raise PowerGoneError

    @property
    def engine(self) -> SqliteEngine:
        return self.ledger.real._engine

    async def open(self) -> None:
        await self.ledger.open()

    async def restart(self) -> None:
        """The process is killed and started anew: what the kernel holds is still there."""
        self.disk.kill()
        self.ledger = self.patient(self.clock)
        await self.open()

    async def run(self, command: cm.Command) -> Any:
        for _ in range(TRIES):
            try:
                reply = await self.ledger.real.execute(command)
            except OutcomeUnknownError:
                self.told.unknown += 1
            except UnavailableError as error:
                self.told.unavailable[error.code] = self.told.unavailable.get(error.code, 0) + 1
            else:
                commit = self.engine._tail.commit
                if commit.commit_no:
                    self.told.acknowledged[commit.commit_no] = commit.hash
                return reply
            self.failed()
            if self.on_error is not None:
                await self.on_error(self)
        raise AssertionError(f"{command} was sent {TRIES} times and never taken")


def opened_disk(seed: int = 0) -> SimulatedDisk:
    """A disk with an empty record, all of it durable."""
    disk = SimulatedDisk(Random(seed))
    bring_up_to_date(lambda: disk.connect(RECORD))
    disk.connect(RECORD).close()
    disk.crash(Keeping.EVERYTHING)
    return disk


def ledger_on(disk: SimulatedDisk, clock: HandClock) -> SqliteLedger:
    return sqlite_ledger(RECORD, clock, connect=disk.connector(RECORD))  # type: ignore[arg-type] - a name, not a path


@contextmanager
def forked(disk: SimulatedDisk, seed: int) -> Iterator[SimulatedDisk]:
    other = disk.fork(Random(seed))
    try:
        yield other
    finally:
        other.close()


async def played(
    disk: SimulatedDisk, script: Script, *, again: bool = False, on_error: Script | None = None
) -> Witness:
    """Open the ledger and play a script until it ends or the power goes."""
    clock = HandClock()
    witness = Witness(disk, clock, again, on_error)
    try:
        await witness.open()
        await script(witness)
    except (PowerGoneError, UnavailableError):
        if not disk.failures.is_off:
            raise
    return witness


def record_of(disk: SimulatedDisk) -> tuple[dict[int, str], list[str]]:
    """The commits of a record, and what its audit finds."""
    connection = disk.connect(RECORD)
    try:
        bring_up_to_date(lambda: disk.connect(RECORD))
        report = audit.verify(connection)
        commits = dict(connection.execute("SELECT commit_no, hash FROM commits").fetchall())
    finally:
        connection.close()
    return commits, [f"audit: {one}" for one in report.findings]


def crash_again(disk: SimulatedDisk, rng: Random) -> None:
    """Power goes a second time, while the record is opened after the first."""
    disk.cut_power(rng.randrange(RECOVERY_CHANGES))
    with suppress(TenureError, sqlite3.Error):
        SqliteEngine(disk.connector(RECORD), Judge(decide, Terms())).open()
    disk.crash()


def crash_violations(disk: SimulatedDisk, told: Promised, seed: int) -> list[str]:
    """Crash this moment in several ways; what each time does not hold."""
    found: list[str] = []
    for number, keeping in enumerate(CRASHES):
        with forked(disk, seed * len(CRASHES) + number) as fork:
            fork.crash(keeping)
            if keeping is None:
                crash_again(fork, Random(seed + number))
            try:
                commits, findings = record_of(fork)
            except Exception as error:  # noqa: BLE001 - whatever it is, the record cannot be read
                found.append(f"{keeping}: unreadable: {error!r}")
                continue
            found += [f"{keeping}: {one}" for one in (*findings, *told.violations(commits))]
    return found


async def power_cut_violations(
    image: SimulatedDisk, script: Script, at: int, seed: int = 0
) -> list[str] | None:
    """Cut the power at the change number `at`; None if the script ends before it."""
    with forked(image, seed) as disk:
        disk.cut_power(at)
        witness = await played(disk, script)
        if not disk.failures.is_off:
            return None
        return crash_violations(disk, witness.told, seed + at)


async def fault_violations(
    image: SimulatedDisk, script: Script, fault: PlannedFailure, seed: int = 0
) -> tuple[list[str], Witness]:
    """Play a script through to its end over a disk that fails once, then crash it."""
    with forked(image, seed) as disk:
        arm(disk, fault)
        witness = await played(disk, script, again=True, on_error=fault.on_error)
        found = crash_violations(disk, witness.told, seed + fault.after)
        if fault.op is None and (witness.told.unknown or set(witness.told.unavailable) - {"storage_full"}):
            found.append(f"a full disk was told as {witness.told}")
        return found, witness


def arm(disk: SimulatedDisk, fault: PlannedFailure) -> None:
    """Let a fault come."""
    if fault.op is None:
        disk.set_budget(disk.used_bytes + fault.after)
    else:
        disk.fail(fault.op, fault.after, fault.times, then_cut=fault.then_cut)


async def answers(disk: SimulatedDisk) -> list[Any]:
    """All entities and events of a record, as its ledger serves them."""
    ledger = ledger_on(disk, HandClock())
    try:
        await ledger.open()
        kinds: Any = ENTITY_KINDS
        served: list[Any] = [await ledger.all_of(kind) for kind in kinds]
        served.append(await ledger.events(0, 10_000))
    finally:
        with suppress(TenureError):
            await ledger.close()
    return served


async def damage_violations(disk: SimulatedDisk, truth: list[Any]) -> list[str]:
    """What a ledger over a damaged record neither says by an error of its own nor has its audit find."""
    try:
        served = await answers(disk)
    except TenureError:
        return []
    except Exception as error:  # noqa: BLE001 - whatever it is, it is none of ours
        return [f"raised {error!r}"]
    if served == truth:
        return []
    try:
        return [] if record_of(disk)[1] else ["something else was served, and the audit agrees with it"]
    except (TenureError, sqlite3.Error):
        return []


async def errands(desk: Witness) -> None:
    """Some dozens of commands of all kinds. Each may be sent again, and none depends on the answer being the first."""
    await desk.start(capacity=3)
    for _ in range(3):
        await desk.submit(scope=SCOPE)
    first, second, third = await desk.claim(3)
    for one in (first, second, third):
        await desk.ack(one)
        await desk.renew(one)
    await acted(desk, first)
    await desk.report(first)
    await desk.report(second, Verdict.FAILED)
    await desk.run(cm.Cancel(third.task_id, "ann", "not needed"))
    await desk.report(third)
    lost = await desk.submit(objective="x" * 9_000)
    (delivery,) = await desk.claim()
    await desk.ack(delivery)
    desk.clock.pass_s(desk.terms.lease_ttl_ms / 1000)
    await desk.sweep()
    desk.clock.pass_s(desk.terms.suspect_grace_ms / 1000)
    await desk.sweep()
    await answered(desk, lost)
    await desk.run(dc.Pause("hub", "ann", "the office moves"))
    await desk.run(dc.Unpause("hub", "ann", "it has moved"))
    await desk.claim()
    for number in range(6):
        await desk.submit(project=f"p{number}", labels={"n": str(number)})


async def acted(desk: Witness, delivery: Delivery) -> None:
    effect_id = (await desk.run(desk.beginning(delivery, pull_request()))).effect_id
    await desk.run(ec.IssueEffect(EffectId(effect_id), "a call", 10_000))
    result = '{"number":7}'
    await desk.run(ec.SettleEffect(EffectId(effect_id), "a call", ec.CallEnd.CONFIRMED, result, "so it said"))


async def answered(desk: Witness, task_id: TaskId) -> None:
    item = await desk.ledger.find(Attention, item_id(AttentionKind.UNKNOWN, attempt_id(task_id, 1)))
    if item is not None:
        version = item.version
        await desk.run(cm.Reconcile(task_id, 1, Answer.RERUN, version, "ann", "I looked", tree_gone=True))
