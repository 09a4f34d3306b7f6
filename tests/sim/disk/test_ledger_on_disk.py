"""The record survives every crash, full disk and failed operation; and each check that says so sees a loss where there is one.

A sample of the cases of `python -m tests.sim.disk`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tenure.errors import OutcomeUnknownError
from tenure.ledger import sqlite_engine
from tenure.sim.disk.disk import SimulatedDisk
from tenure.sim.disk.failures import Op
from tests.ledger.desk import HandClock, lived, sqlite_ledger
from tests.sim.disk import campaigns
from tests.sim.disk import ledger_attack as attack

EVERY = {"ledger_crashes": 150, "ledger_faults": 160, "ledger_full": 20, "flipped_bits": 40}


@pytest.fixture(autouse=True)
def _is_quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("CRITICAL")


@pytest.fixture(scope="module")
def empty() -> Iterator[SimulatedDisk]:
    """A disk with an empty record; fork it."""
    with campaigns.image(attack.opened_disk()) as disk:
        yield disk


@pytest.mark.parametrize("name", list(EVERY))
async def test_nothing_acknowledged_is_lost_and_nothing_comes_back(name: str) -> None:
    every = EVERY[name]
    seed = 7
    count = 0
    async for case in getattr(campaigns, name)(every, seed):
        count += 1
        assert not case.violations, f"seed {seed}, {case.name}: {case.violations}"
    assert count >= 10


async def test_the_record_is_the_same_as_over_the_standard_driver(
    empty: SimulatedDisk, tmp_path: Path
) -> None:
    clock = HandClock()
    real = sqlite_ledger(tmp_path / "hub.db", clock)
    await real.open()
    await lived(attack.Desk(real, clock))
    with attack.forked(empty, 0) as disk:
        witness = await attack.played(disk, lived)
        assert witness.engine._tail.commit == real._engine._tail.commit
    await real.close()


async def lost(disk: SimulatedDisk, **how: Any) -> bool:
    """Does some power cut lose what was acknowledged?"""
    for at in range(100, 700, 60):
        with attack.forked(disk, at) as other:
            other.lies = how.get("lies", False)
            other.cut_power(at)
            witness = await attack.played(other, attack.errands)
            if any("lost" in one for one in attack.crash_violations(other, witness.told, at)):
                return True
    return False


async def test_a_disk_whose_syncs_lie_is_found_out(empty: SimulatedDisk) -> None:
    assert await lost(empty, lies=True)
    assert not await lost(empty)


@pytest.mark.parametrize("level", ["OFF", "NORMAL"])
async def test_a_ledger_that_does_not_flush_every_commit_is_found_out(
    empty: SimulatedDisk, level: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pragmas = tuple(one.replace("FULL", level) for one in sqlite_engine.WRITER_PRAGMAS)
    monkeypatch.setattr(sqlite_engine, "WRITER_PRAGMAS", pragmas)
    assert await lost(empty)


async def faults_lose(disk: SimulatedDisk, times: int, on_error: Any = None) -> bool:
    """Do failed syncs lose what is acknowledged after them?"""
    for at in range(2, 12, 2):
        for seed in range(4):
            fault = attack.PlannedFailure(Op.SYNC, at, times, 20, on_error)
            found, _ = await attack.fault_violations(disk, attack.errands, fault, seed * 1_000)
            if any("lost" in one for one in found):
                return True
    return False


async def test_a_ledger_that_opens_the_log_anew_after_a_failed_flush_is_found_out(
    empty: SimulatedDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What SQLite reads then was not flushed, and never will be; what is committed behind it goes with it."""

    def ask_anew(engine: sqlite_engine.SqliteEngine, store: Any, commit: Any) -> bool:
        engine.close()
        try:
            again = engine.open()
            if engine._tail.commit.hash == commit.hash:
                return True
            sqlite_engine.overwrite_log(again.connection)
        except Exception as error:
            engine.close()
            raise OutcomeUnknownError("it does not answer", commit_no=commit.commit_no) from error
        return False

    monkeypatch.setattr(sqlite_engine.SqliteEngine, "_has_happened", ask_anew)
    monkeypatch.setattr(SimulatedDisk, "rewrite_log", lambda *_: None)
    assert await faults_lose(empty, 2)


async def test_a_process_that_starts_without_writing_the_log_again_is_found_out(
    empty: SimulatedDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not await faults_lose(empty, 3, attack.Witness.restart)
    monkeypatch.setattr(SimulatedDisk, "rewrite_log", lambda *_: None)
    assert await faults_lose(empty, 3, attack.Witness.restart)
