"""Records of earlier versions on a simulated disk: the upgrade is cut at a chosen operation, and done again."""

from __future__ import annotations

from pathlib import Path
from random import Random

from tenure.ledger.migrating import bring_up_to_date
from tenure.sim.disk.disk import SimulatedDisk
from tenure.sim.disk.file import Keeping
from tests.sim.disk.ledger_attack import CRASHES, RECORD, forked, record_of

RECORDS = Path(__file__).parents[2] / "migration" / "records"


def record_as_written(revision: str | None, seed: int = 0) -> SimulatedDisk:
    """A disk with a record that a version with this schema wrote, all of it durable; an empty disk without one."""
    disk = SimulatedDisk(Random(seed))
    if revision is not None:
        connection = disk.connect(RECORD)
        connection.isolation_level = None
        connection.executescript((RECORDS / f"{revision}.sql").read_text("utf-8"))
        connection.execute("PRAGMA journal_mode = WAL")
        connection.close()
        disk.crash(Keeping.EVERYTHING)
    return disk


def upgraded(disk: SimulatedDisk) -> None:
    bring_up_to_date(lambda: disk.connect_writer(RECORD))


def commits_of(disk: SimulatedDisk) -> dict[int, str]:
    connection = disk.connect(RECORD)
    try:
        return dict(connection.execute("SELECT commit_no, hash FROM commits").fetchall())
    finally:
        connection.close()


def migration_violations(
    image: SimulatedDisk, revision: str | None, at: int, seed: int = 0
) -> list[str] | None:
    """Cut the power at the change number `at` of the upgrade, crash it in several ways, and upgrade again; None if the
    upgrade ends before."""
    with forked(image, seed) as disk:
        before = {} if revision is None else commits_of(disk)
        disk.cut_power(at)
        try:
            upgraded(disk)
        except Exception:
            if not disk.failures.is_off:
                raise
        if not disk.failures.is_off:
            return None
        found: list[str] = []
        for number, keeping in enumerate(CRASHES):
            with forked(disk, (seed + at) * len(CRASHES) + number) as fork:
                fork.crash(keeping)
                found += [f"{keeping}: {one}" for one in _after_crash(fork, before)]
        return found


def _after_crash(disk: SimulatedDisk, before: dict[int, str]) -> list[str]:
    try:
        commits, findings = record_of(disk)
    except Exception as error:  # noqa: BLE001 - whatever it is, the record cannot be read
        return [f"unreadable: {error!r}"]
    return findings if commits == before else [*findings, f"commits {len(before)} became {len(commits)}"]
