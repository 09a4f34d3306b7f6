"""The node's real mirror on a simulated disk: a script of changes, a fault at a chosen operation, and what must hold then.

What the mirror may hold afterwards is computed by the mirror itself, on a disk that never fails: every change that was
acknowledged, none that was said not to be written, and of those whose outcome is unknown any."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

from tenure.core.canonical import canonical
from tenure.errors import OutcomeUnknownError, UnavailableError
from tenure.node.delivery.mirror import Mirror
from tenure.node.delivery.mirror_file import STEPS
from tenure.sim.disk.disk import SimulatedDisk
from tenure.sim.disk.file import Keeping
from tests.node.test_node_store import DONE, Ending, mirrored, replace
from tests.sim.disk.ledger_attack import CRASHES, RECOVERY_CHANGES, ROOM_AFTER, PlannedFailure, arm, forked

STORE = Path("/mirror.db")
Change = Callable[[Mirror], Awaitable[Any]]
Dump = tuple[Any, ...]


class InPlace(Executor):
    """Runs what it is given at once."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except BaseException as error:  # noqa: BLE001 - whoever waits for it gets it
            future.set_exception(error)
        return future


def changes() -> list[tuple[Change, ...]]:
    """Some dozens of changes; those of one entry are made at once, and share a commit."""
    named: Any = mirrored
    ending: Any = Ending
    steps: list[tuple[Change, ...]] = [
        (lambda m: m.identity("secret"),),
        (lambda m: m.begin("i_1"),),  # type: ignore[arg-type] - any text is an id here
        (lambda m: m.note_sent(),),
        (lambda m: m.note_enrolled("n_1"),),  # type: ignore[arg-type] - any text is an id here
    ]
    for number in range(4):
        a, b, c = (f"d_{number}{one}" for one in "abc")
        outcome = replace(DONE, summary="x" * (5_000 * number))
        steps += [
            (lambda m, a=a, b=b: m.add([named(a), named(b)]),),
            (lambda m, c=c: m.add([named(c)]), lambda m, a=a: m.note_gone([a])),
            (lambda m, a=a, outcome=outcome: m.end(ending(a, outcome)),),
            (lambda m, b=b: m.end(ending(b, None, "nothing was started")),),
            (lambda m, a=a, b=b: m.close_all({a: "recorded", b: "handed_back"}),),
            (lambda m, a=a: m.release({a: None}), lambda m, c=c: m.end(ending(c, DONE))),
            (lambda m, b=b: m.drop([b]),),
        ]
    steps.append((lambda m: m.begin("i_2"),))  # type: ignore[arg-type] - any text is an id here
    steps.append((lambda m: m.replace_credential("another"),))
    return steps


@dataclass
class Tried:
    """Every try of a change, in order, and what its caller was told: True, False (not written) or None (unknown)."""

    tries: list[tuple[Change, bool | None]] = field(default_factory=list)

    def histories(self) -> Iterator[list[Change]]:
        """Every history that is in keeping with what was told."""
        unknown = [told is None for _, told in self.tries]
        for chosen in product((True, False), repeat=sum(unknown)):
            left = iter(chosen)
            yield [change for change, told in self.tries if told or (told is None and next(left))]


async def attacked(disk: SimulatedDisk, *, again: bool, on_error: Any = None) -> Tried:
    """Make all changes. `again`: one that failed is made again, else it is left out."""
    tried = Tried()
    failed = 0
    mirror = await opened(disk)
    for number, step in enumerate(changes()):
        if mirror is None:
            break
        left = list(step)
        for _ in range(6):
            told = await asyncio.gather(*(tell(mirror, one) for one in left))
            tried.tries += list(zip(left, told, strict=True))
            left = [one for one, answer in zip(left, told, strict=True) if not answer]
            if disk.failures.is_off:
                return tried
            failed += len(left)
            if failed >= ROOM_AFTER:
                disk.set_budget(None)
            if left and on_error is restarted:
                disk.kill()
                mirror = await opened(disk)
                if mirror is None:
                    return tried
            # Without an identity nothing else could be.
            if not left or not (again or number == 0):
                break
        else:
            raise AssertionError("a change was never taken")
    return tried


async def restarted(_: Any) -> None:
    """Stands for a restart of the process after an error."""


async def tell(mirror: Mirror, change: Change) -> bool | None:
    try:
        await change(mirror)
    except OutcomeUnknownError:
        return None
    except UnavailableError:
        return False
    return True


async def opened(disk: SimulatedDisk) -> Mirror | None:
    """The mirror; None if the power goes before it is open."""
    mirror = Mirror(STORE, disk.connect_writer, InPlace())
    for number in range(6):
        try:
            await mirror.open()
        except UnavailableError:
            if disk.failures.is_off:
                return None
            if number == ROOM_AFTER:
                disk.set_budget(None)
        else:
            return mirror
    raise AssertionError("the mirror cannot be opened")


async def dump(mirror: Mirror) -> Dump:
    """All that the mirror holds."""
    identity = await mirror._read(
        "SELECT credential, was_sent, node_id, generation, incarnation FROM identity"
    )
    return (identity, await mirror.load(), await mirror.released(), await mirror.known())


async def dump_of(disk: SimulatedDisk) -> Dump:
    mirror = await opened(disk)
    assert mirror is not None
    found = await dump(mirror)
    await mirror.close()
    return found


class Model:
    """What the mirror holds after a history, on a disk that never fails."""

    def __init__(self, image: SimulatedDisk) -> None:
        self._image = image

    async def after(self, history: list[Change]) -> Dump:
        with forked(self._image, 0) as disk:
            mirror = await opened(disk)
            assert mirror is not None
            for change in history:
                await change(mirror)
            found = await dump(mirror)
            await mirror.close()
        return found


async def mirror_violations(
    image: SimulatedDisk, fault: PlannedFailure | int, seed: int = 0, *, again: bool = True
) -> list[str] | None:
    """Attack the mirror, cut the power at a change (an int) or let an operation fail, then crash it; None if the script ends
    before the power is cut."""
    with forked(image, seed) as disk:
        if isinstance(fault, int):
            disk.cut_power(fault)
            tried = await attacked(disk, again=False)
            if not disk.failures.is_off:
                return None
            at = fault
        else:
            arm(disk, fault)
            tried = await attacked(disk, again=again, on_error=fault.on_error)
            at = fault.after
        model = Model(image)
        allowed = [await model.after(one) for one in tried.histories()]
        return await crashed_violations(disk, allowed, (seed + at) * len(CRASHES))


async def crashed_violations(disk: SimulatedDisk, allowed: list[Dump], seed: int) -> list[str]:
    found: list[str] = []
    for number, keeping in enumerate(CRASHES):
        with forked(disk, seed + number) as fork:
            fork.crash(keeping)
            if keeping is None:
                fork.cut_power(Random(seed + number).randrange(RECOVERY_CHANGES))
                await opened(fork)
                fork.crash()
            try:
                held = await dump_of(fork)
            except Exception as error:  # noqa: BLE001 - whatever it is, the store cannot be read
                found.append(f"{keeping}: unreadable: {error!r}")
                continue
            if held not in allowed:
                found.append(f"{keeping}: holds {held!r:.200}")
    return found


def older_store(seed: int = 0) -> SimulatedDisk:
    """A store as schema 1 left it, with one row, all of it durable."""
    disk = SimulatedDisk(Random(seed))
    store = disk.connect(STORE)
    store.isolation_level = None
    store.executescript(f"{STEPS[0]};PRAGMA user_version = 1")
    row = ("d_1", "t_1/1", canonical(mirrored()))
    store.execute("INSERT INTO delivery (delivery_id, attempt_id, body) VALUES (?, ?, ?)", row)
    store.execute("PRAGMA journal_mode = WAL")
    store.close()
    disk.crash(Keeping.EVERYTHING)
    return disk


def empty_disk(seed: int = 0) -> SimulatedDisk:
    return SimulatedDisk(Random(seed))
