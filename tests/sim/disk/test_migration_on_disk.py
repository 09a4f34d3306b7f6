"""An upgrade that is cut anywhere is done again, and the record is whole. A sample of `python -m tests.sim.disk`."""

from __future__ import annotations

from tests.sim.disk import campaigns


async def test_an_upgrade_that_loses_power_is_done_again_and_loses_nothing() -> None:
    seed = 7
    count = 0
    async for case in campaigns.migrations(90, seed):
        count += 1
        assert not case.violations, f"seed {seed}, {case.name}: {case.violations}"
    assert count >= 6
