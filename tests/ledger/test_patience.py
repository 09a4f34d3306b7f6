"""What nobody waits for goes in small pieces, lets others go first, and still comes to its end."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tenure.core import commands as cm
from tenure.errors import StorageFullError, UnavailableError
from tenure.ledger.pace import FIRST, LEAST, TIMES, Pace
from tests.ledger.desk import Desk, HandClock
from tests.ledger.test_group_commit import CountingEngine, Gate, due, group, together

MS = 1_000_000


@pytest.fixture
def engine() -> CountingEngine:
    return CountingEngine()


def names(batch: list[cm.Command]) -> list[str]:
    return [one.delivery_id for one in batch if isinstance(one, cm.Due)]


async def test_many_commands_go_piece_by_piece_in_their_order_and_each_is_answered(
    engine: CountingEngine, clock: HandClock
) -> None:
    ours = group(engine, clock)
    replies = await ours.execute_patiently([due(one) for one in range(100)])
    assert len(engine.batches) > 1
    assert len(engine.batches[0]) == FIRST
    assert [name for batch in engine.batches for name in names(batch)] == [f"d_{one}" for one in range(100)]
    assert replies[0] == cm.DueAnswer("1.0")
    assert len(replies) == 100
    assert await ours.execute_patiently([]) == []


async def test_it_steps_back_once_for_what_somebody_waits_for(
    engine: CountingEngine, clock: HandClock
) -> None:
    gate = Gate()
    ours = group(engine, clock, gate, max_batch=FIRST)
    sweep = asyncio.ensure_future(ours.execute_patiently([due(one) for one in range(FIRST, 3 * FIRST)]))
    held = await gate.reached()
    claim = asyncio.ensure_future(ours.execute(due(0)))
    await asyncio.sleep(0)
    held.set_result(None)
    held = await gate.reached()
    assert [len(batch) for batch in engine.batches] == [FIRST]
    report = asyncio.ensure_future(ours.execute(due(1)))
    await asyncio.sleep(0)
    held.set_result(None)
    (await gate.reached()).set_result(None)
    await together(sweep, claim, report)
    first, second, third = map(names, engine.batches[:3])
    assert len(first) == FIRST
    assert second == ["d_0"]
    assert third[:2] == ["d_1", f"d_{2 * FIRST}"]


async def test_it_ends_although_others_never_stop_coming(engine: CountingEngine, clock: HandClock) -> None:
    ours = group(engine, clock)
    over = False

    async def insist() -> None:
        while not over:
            await ours.execute(due(1))

    crowd = [asyncio.ensure_future(insist()) for _ in range(5)]
    replies = await asyncio.wait_for(ours.execute_patiently([due(one) for one in range(200)]), 10)
    over = True
    await together(*crowd)
    assert len(replies) == 200


async def test_a_batch_keeps_its_bound_when_some_of_it_was_waited_for_by_nobody(
    engine: CountingEngine, clock: HandClock
) -> None:
    ours = group(engine, clock, max_batch=10)
    await together(
        ours.execute_patiently([due(one) for one in range(50)]),
        *(ours.execute(due(one)) for one in range(100)),
    )
    assert sum(map(len, engine.batches)) == 150
    assert max(map(len, engine.batches)) == 10


async def test_a_full_queue_does_not_keep_it_out(engine: CountingEngine, clock: HandClock) -> None:
    ours = group(engine, clock, max_queue=1)
    replies = await together(ours.execute(due(1)), ours.execute_patiently([due(2), due(3)]))
    assert len(replies[1]) == 2


async def test_a_failure_ends_it_and_what_was_committed_stands(
    engine: CountingEngine, clock: HandClock
) -> None:
    gate = Gate()
    ours = group(engine, clock, gate)
    sweep = asyncio.ensure_future(ours.execute_patiently([due(one) for one in range(100)]))
    (await gate.reached()).set_result(None)
    held = await gate.reached()
    engine.error = StorageFullError("no room")
    held.set_result(None)
    with pytest.raises(StorageFullError):
        await asyncio.wait_for(sweep, 10)
    assert len(engine.batches) == 2


async def test_a_ledger_that_closes_takes_no_further_piece(engine: CountingEngine, clock: HandClock) -> None:
    gate = Gate()
    ours = group(engine, clock, gate)
    sweep = asyncio.ensure_future(ours.execute_patiently([due(one) for one in range(100)]))
    held = await gate.reached()
    closing = asyncio.ensure_future(ours.drain())
    await asyncio.sleep(0)
    held.set_result(None)
    await together(closing)
    with pytest.raises(UnavailableError):
        await sweep
    assert len(engine.batches) == 1


async def test_one_whose_caller_is_gone_is_dropped(engine: CountingEngine, clock: HandClock) -> None:
    gate = Gate()
    ours = group(engine, clock, gate)
    first = asyncio.ensure_future(ours.execute(due(1)))
    held = await gate.reached()
    gone = asyncio.ensure_future(ours.execute_patiently([due(2)]))
    await asyncio.sleep(0)
    gone.cancel()
    held.set_result(None)
    await together(first, gone)
    await together(ours.drain())
    assert [names(batch) for batch in engine.batches] == [["d_1"]]


async def test_every_ledger_sweeps_leases_patiently(desk: Desk) -> None:
    await desk.start(capacity=20)
    for _ in range(20):
        await desk.submit()
    leases = await desk.claim(20)
    for one in leases:
        await desk.ack(one)
    desk.clock.pass_s(30)
    asked = [cm.Due(one.delivery_id) for one in leases]
    assert await desk.ledger.execute_patiently(asked) == [cm.DueAnswer("suspect")] * 20
    assert await desk.ledger.execute_patiently(asked) == [cm.DueAnswer("not_yet")] * 20


async def test_it_leaves_a_gap_after_a_commit_for_others_and_none_otherwise(
    engine: CountingEngine, clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    gaps: list[float] = []

    async def slept(seconds: float) -> None:
        gaps.append(seconds)

    ours = group(engine, clock)
    with monkeypatch.context() as patched:
        patched.setattr("tenure.ledger.group_commit._gap", slept)
        await ours.execute_patiently([due(one) for one in range(50)])
        assert gaps == []
        await ours.execute(due(1))
        await ours.execute_patiently([due(one) for one in range(50)])
    assert len(gaps) == 1


class TestPace:
    def test_it_grows_while_its_commits_are_short_and_shrinks_when_they_are_long(self) -> None:
        pace = Pace(500)
        pace.took(1 * MS)
        assert pace.size == FIRST + 1
        pace.took(TIMES * 1 * MS + 1)
        assert pace.size < FIRST

    def test_it_stays_within_its_bounds(self) -> None:
        pace = Pace(20)
        for _ in range(100):
            pace.took(0)
        assert pace.size == 20
        for _ in range(100):
            pace.took(100 * MS)
        assert pace.size == LEAST
        assert (Pace(2).size, Pace(1).size) == (2, 1)

    def test_on_a_slow_disk_more_commands_go_together(self) -> None:
        def settled(disk_ms: float) -> int:
            pace = Pace(500)
            for _ in range(500):
                pace.others_took(round((disk_ms + 0.2) * MS))
                pace.took(round((disk_ms + 0.1 * pace.size) * MS))
            return pace.size

        assert settled(0.3) < 10
        assert 80 < settled(10) < 110

    def test_one_large_commit_does_not_count_for_much(self) -> None:
        def after(*others: Any) -> int:
            pace = Pace(500)
            for took_ms in others:
                pace.others_took(took_ms * MS)
            for _ in range(100):
                pace.took(pace.size * MS // 4)
            return pace.size

        assert after(1, 1, 1, 1, 50, 1, 1, 1, 1) == after(1)
