"""The node's store survives every crash, full disk and failed operation. A sample of `python -m tests.sim.disk`."""

from __future__ import annotations

from typing import Any

import pytest

from tenure.node.delivery import mirror as node_mirror
from tenure.sim.disk.disk import SimulatedDisk
from tenure.sim.disk.failures import Op
from tests.sim.disk import campaigns
from tests.sim.disk import mirror_attack as attack
from tests.sim.disk.ledger_attack import PlannedFailure, forked

EVERY = {"mirror_crashes": 17, "mirror_faults": 60, "mirror_full": 12}


@pytest.mark.parametrize("name", list(EVERY))
async def test_what_was_stored_stays_and_what_was_not_does_not_come_back(name: str) -> None:
    seed = 7
    count = 0
    async for case in getattr(campaigns, name)(EVERY[name], seed):
        count += 1
        assert not case.violations, f"seed {seed}, {case.name}: {case.violations}"
    assert count >= 10


async def test_a_disk_whose_syncs_lie_is_found_out() -> None:
    with campaigns.image(attack.empty_disk()) as disk, forked(disk, 1) as other:
        other.lies = True
        other.cut_power(200)
        tried = await attack.attacked(other, again=False)
        allowed = [await attack.Model(disk).after(one) for one in tried.histories()]
        assert await attack.crashed_violations(other, allowed, 1)


async def test_a_mirror_that_opens_the_log_anew_after_a_failed_flush_is_found_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def ask_anew(mirror: Any, connection: Any, number: int, error: Exception) -> bool:
        connection.close()
        mirror._connection = again = mirror._opened()
        (counted,) = again.execute(node_mirror._COUNTED).fetchone()
        return counted >= number

    monkeypatch.setattr(node_mirror.Mirror, "_was_made", ask_anew)
    monkeypatch.setattr(SimulatedDisk, "rewrite_log", lambda *_: None)
    with campaigns.image(attack.empty_disk()) as disk:
        found = [
            await attack.mirror_violations(disk, PlannedFailure(Op.SYNC, at, 2, then_cut=9), seed)
            for at in range(8, 16)
            for seed in (0, 1_000)
        ]
    assert any(found)
