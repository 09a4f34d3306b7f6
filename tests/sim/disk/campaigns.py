"""The attacks on what stands on SQLite, each over every operation of its script. Tests take every so many-th case of each;
`python -m tests.sim.disk` takes them all."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tenure.sim.disk.disk import SimulatedDisk
from tenure.sim.disk.failures import Op
from tests.ledger.desk import lived
from tests.sim.disk import ledger_attack as ledger
from tests.sim.disk import migration_attack as migration
from tests.sim.disk import mirror_attack as mirror

CHECKPOINT_FRAMES = 30
"""So that the logs of short scripts are folded in many times."""
FULL_STEP_BYTES = 1_000
"""Less than a frame of the log, so that writes are cut short everywhere."""
CUTS = (None, 2, 5, 10, 20, 40, 80, 160)
"""How many changes after a failure the power goes; None is at the end of the script."""
FAILING = (Op.SYNC, Op.WRITE, Op.READ, Op.TRUNCATE, Op.CREATE)


@dataclass
class Case:
    """`name`: what was done; `violations`: what did not hold then."""

    name: str
    violations: list[str]


Campaign = Callable[[int, int], AsyncIterator[Case]]
"""Takes `every` (each so many-th case) and a seed."""


async def ledger_crashes(every: int, seed: int) -> AsyncIterator[Case]:
    """Power is cut at each change, four crashes each."""
    for script in (ledger.errands, lived):
        with image(ledger.opened_disk(seed)) as disk:
            for at in range(0, await changes_of_ledger(disk, script), every):
                found = await ledger.power_cut_violations(disk, script, at, seed)
                yield Case(f"{script.__name__}, cut at {at}", found or [])


async def ledger_faults(every: int, seed: int) -> AsyncIterator[Case]:
    """Each operation fails once, twice, three times in a row; the process goes on, or is started anew."""
    chance = random.Random(seed)
    with image(ledger.opened_disk(seed)) as disk:
        counts = await counts_of_ledger(disk)
        for op in FAILING:
            for times in (1, 2, 3):
                for on_error in (None, ledger.Witness.restart):
                    for at in range((times - 1) % every, counts[op] + 1, every):
                        cut = chance.choice(CUTS)
                        fault = ledger.PlannedFailure(op, at, times, cut, on_error)
                        name = f"{op} {at} fails {times}x{', then a restart' if on_error else ''}, cut after {cut}"
                        yield Case(
                            name, await judged(ledger.fault_violations(disk, ledger.errands, fault, seed))
                        )


async def ledger_full(every: int, seed: int) -> AsyncIterator[Case]:
    """No room from each byte on, until somebody makes some."""
    with image(ledger.opened_disk(seed)) as disk:
        with ledger.forked(disk, seed) as other:
            await ledger.played(other, ledger.errands)
            grown = other.used_bytes - disk.used_bytes
        for room in range(0, grown, FULL_STEP_BYTES * every):
            fault = ledger.PlannedFailure(None, room)
            yield Case(
                f"full after {room} bytes",
                await judged(ledger.fault_violations(disk, ledger.errands, fault, seed)),
            )


async def migrations(every: int, seed: int) -> AsyncIterator[Case]:
    """Power is cut at each change of an upgrade, from nothing and from each older record."""
    for revision in (None, "0001", "0002"):
        with image(migration.record_as_written(revision, seed)) as disk:
            with ledger.forked(disk, seed) as other:
                migration.upgraded(other)
                count = other.changes
            for at in range(0, count, every):
                found = migration.migration_violations(disk, revision, at, seed)
                yield Case(f"from {revision}, cut at {at}", found or [])


async def mirror_crashes(every: int, seed: int) -> AsyncIterator[Case]:
    """Power is cut at each change, from nothing and from an older file."""
    for name, disk in (("empty", mirror.empty_disk(seed)), ("schema 1", mirror.older_store(seed))):
        with image(disk):
            counts = await counts_of_mirror(disk)
            for at in range(0, counts["changes"], every):
                found = await mirror.mirror_violations(disk, at, seed)
                yield Case(f"{name}, cut at {at}", found or [])


async def mirror_faults(every: int, seed: int) -> AsyncIterator[Case]:
    """Each operation fails once, twice, three times in a row; what failed is tried again, or left out."""
    chance = random.Random(seed)
    with image(mirror.empty_disk(seed)) as disk:
        counts = await counts_of_mirror(disk)
        for op in FAILING:
            for times in (1, 2, 3):
                for on_error in (None, mirror.restarted):
                    for again in (True, False):
                        for at in range((times - 1) % every, counts[op] + 1, every):
                            cut = chance.choice(CUTS)
                            fault = ledger.PlannedFailure(op, at, times, cut, on_error)
                            found = await mirror.mirror_violations(disk, fault, seed, again=again)
                            how = f"{'again' if again else 'left out'}{', a restart' if on_error else ''}, cut after {cut}"
                            yield Case(f"{op} {at} fails {times}x, {how}", found or [])


async def mirror_full(every: int, seed: int) -> AsyncIterator[Case]:
    """No room from each byte on, until somebody makes some."""
    with image(mirror.empty_disk(seed)) as disk:
        with ledger.forked(disk, seed) as other:
            await mirror.attacked(other, again=False)
            grown = other.used_bytes
        for room in range(0, grown, FULL_STEP_BYTES * every):
            found = await mirror.mirror_violations(disk, ledger.PlannedFailure(None, room), seed)
            yield Case(f"full after {room} bytes", found or [])


async def flipped_bits(every: int, seed: int) -> AsyncIterator[Case]:
    """A bit of the record is turned over. What the ledger then says is an error of its own, or is found by the audit."""
    with image(ledger.opened_disk(seed)) as disk:
        await (await ledger.played(disk, ledger.errands)).ledger.close()
        disk.crash()
        truth = await ledger.answers(disk)
        places = random.Random(seed)
        for _ in range(0, 2_000, every):
            place = places.randrange(disk.size(ledger.RECORD) * 8)
            with ledger.forked(disk, seed) as other:
                other.flip_bit(ledger.RECORD, place)
                yield Case(f"bit {place}", await ledger.damage_violations(other, truth))


CAMPAIGNS: dict[str, Campaign] = {
    one.__name__.replace("_", "-"): one
    for one in (
        ledger_crashes,
        ledger_faults,
        ledger_full,
        migrations,
        mirror_crashes,
        mirror_faults,
        mirror_full,
        flipped_bits,
    )
}


@contextmanager
def image(disk: SimulatedDisk) -> Iterator[SimulatedDisk]:
    disk.checkpoint_frames = CHECKPOINT_FRAMES
    try:
        yield disk
    finally:
        disk.close()


async def changes_of_ledger(disk: SimulatedDisk, script: ledger.Script) -> int:
    with ledger.forked(disk, 0) as other:
        await ledger.played(other, script)
        return other.changes


async def counts_of_ledger(disk: SimulatedDisk) -> Counter[str]:
    with ledger.forked(disk, 0) as other:
        await ledger.played(other, ledger.errands)
        return Counter(other.counts)


async def counts_of_mirror(disk: SimulatedDisk) -> Counter[str]:
    with ledger.forked(disk, 0) as other:
        await mirror.attacked(other, again=False)
        return Counter({**other.counts, "changes": other.changes})


async def judged(attack: Awaitable[tuple[list[str], ledger.Witness]]) -> list[str]:
    """What an attack found; that its script came to no end is a finding, too."""
    try:
        found, _ = await attack
    except Exception as error:  # noqa: BLE001 - whatever it is, the case is named
        return [f"the script did not end: {error!r}"]
    return found
