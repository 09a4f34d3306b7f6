"""Commands that come together share a commit; none waits for time, none is lost, none is cut apart."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest

from tenure.core import commands as cm
from tenure.core.delivery import Now
from tenure.core.ids import DeliveryId
from tenure.errors import OutcomeUnknownError, OverloadedError, StorageFullError, UnavailableError
from tenure.ledger.group_commit import MAX_BATCH, QUIET_TURNS, Bounds, GroupCommit, Ran
from tests.ledger.desk import HUB, START_MS, HandClock, in_place


class CountingEngine:
    """Answers each command with its own number within its batch, and remembers the batches."""

    def __init__(self) -> None:
        self.batches: list[list[cm.Command]] = []
        self.nows: list[Now] = []
        self.error: Exception | None = None
        self.probes = 0

    def run(self, commands: Sequence[cm.Command], now: Now) -> Ran:
        self.batches.append(list(commands))
        self.nows.append(now)
        if self.error is not None:
            raise self.error
        return Ran([cm.DueAnswer(f"{len(self.batches)}.{place}") for place in range(len(commands))], list)

    def probe(self) -> None:
        self.probes += 1
        if self.error is not None:
            raise self.error


class Gate:
    """An executor that holds work back until it is let through."""

    def __init__(self) -> None:
        self.waiting: list[asyncio.Future[None]] = []

    async def __call__(self, work: Callable[[], Any]) -> Any:
        held = asyncio.get_running_loop().create_future()
        self.waiting.append(held)
        await held
        return work()

    async def reached(self) -> asyncio.Future[None]:
        while not self.waiting:
            await asyncio.sleep(0)
        return self.waiting.pop()


@pytest.fixture
def engine() -> CountingEngine:
    return CountingEngine()


def group(engine: CountingEngine, clock: HandClock, run: Any = in_place, **bounds: Any) -> GroupCommit:
    return GroupCommit(engine, run, clock, HUB, Bounds(**bounds))


def due(name: int = 0) -> cm.Due:
    return cm.Due(DeliveryId(f"d_{name}"))


async def together(*waiting: Awaitable[Any]) -> list[Any]:
    return await asyncio.wait_for(asyncio.gather(*waiting, return_exceptions=True), 10)


async def test_commands_of_one_turn_share_a_commit_and_each_gets_its_own_reply(
    engine: CountingEngine, clock: HandClock
) -> None:
    ours = group(engine, clock)
    replies = await together(*(ours.execute(due(one)) for one in range(64)))
    assert [len(batch) for batch in engine.batches] == [64]
    assert replies == [cm.DueAnswer(f"1.{one}") for one in range(64)]


async def test_one_client_alone_waits_for_a_few_turns_and_no_time(
    engine: CountingEngine, clock: HandClock
) -> None:
    ours, turns = group(engine, clock), 0
    waiting = asyncio.ensure_future(ours.execute(due()))
    while not waiting.done():
        turns += 1
        await asyncio.sleep(0)
    assert turns <= QUIET_TURNS + 4


async def test_commands_that_trickle_in_turn_by_turn_are_waited_for(
    engine: CountingEngine, clock: HandClock
) -> None:
    ours = group(engine, clock)

    async def later(turns: int) -> None:
        for _ in range(turns):
            await asyncio.sleep(0)
        await ours.execute(due(turns))

    await together(*(later(2 * one) for one in range(20)))
    assert [len(batch) for batch in engine.batches] == [20]


async def test_what_comes_during_a_commit_shares_the_next_one(
    engine: CountingEngine, clock: HandClock
) -> None:
    gate = Gate()
    ours = group(engine, clock, gate)
    first = asyncio.ensure_future(ours.execute(due()))
    held = await gate.reached()
    others = [asyncio.ensure_future(ours.execute(due(one))) for one in range(1, 6)]
    await asyncio.sleep(0)
    assert not first.done()
    held.set_result(None)
    (await gate.reached()).set_result(None)
    await together(first, *others)
    assert [len(batch) for batch in engine.batches] == [1, 5]


async def test_no_reply_leaves_before_its_commit(engine: CountingEngine, clock: HandClock) -> None:
    gate = Gate()
    waiting = asyncio.ensure_future(group(engine, clock, gate).execute(due()))
    held = await gate.reached()
    for _ in range(20):
        await asyncio.sleep(0)
    assert not waiting.done()
    held.set_result(None)
    assert await waiting == cm.DueAnswer("1.0")


async def test_the_instant_is_read_after_the_last_command_came(
    engine: CountingEngine, clock: HandClock
) -> None:
    ours = group(engine, clock)

    async def late() -> None:
        await asyncio.sleep(0)
        clock.pass_s(0.001)
        await ours.execute(due(2))

    await together(ours.execute(due(1)), late())
    assert engine.nows == [Now(wall_ms=START_MS + 1, awake_ms=1, hub=HUB)]


async def test_a_batch_that_keeps_growing_is_closed_by_its_bounds(
    engine: CountingEngine, clock: HandClock
) -> None:
    ours = group(engine, clock)
    replies = await together(*(ours.execute(due(one)) for one in range(MAX_BATCH + 10)))
    assert [len(batch) for batch in engine.batches] == [MAX_BATCH, 10]
    assert replies[-1] == cm.DueAnswer("2.9")

    async def slowly(turn: int) -> None:
        for _ in range(turn):
            await asyncio.sleep(0)
        clock.pass_s(0.001)
        await ours.execute(due(turn))

    await together(*(slowly(turn) for turn in range(12)))
    assert max(len(batch) for batch in engine.batches[2:]) <= 4


async def test_several_commands_of_one_caller_are_never_cut_apart(
    engine: CountingEngine, clock: HandClock
) -> None:
    ours = group(engine, clock)
    many = [due(one) for one in range(300)]
    replies = await together(ours.execute_many(many), ours.execute_many(many), ours.execute_many([]))
    assert [len(batch) for batch in engine.batches] == [300, 300]
    assert replies[1] == [cm.DueAnswer(f"2.{one}") for one in range(300)]
    assert replies[2] == []
    huge = [due(one) for one in range(MAX_BATCH + 1)]
    assert len(await ours.execute_many(huge)) == MAX_BATCH + 1


async def test_beyond_the_bound_of_the_queue_nothing_is_taken(
    engine: CountingEngine, clock: HandClock
) -> None:
    gate = Gate()
    ours = group(engine, clock, gate, max_queue=3)
    first = asyncio.ensure_future(ours.execute(due()))
    held = await gate.reached()
    waiting = [asyncio.ensure_future(ours.execute(due(one))) for one in range(3)]
    await asyncio.sleep(0)
    with pytest.raises(OverloadedError):
        await ours.execute(due(9))
    with pytest.raises(OverloadedError):
        await ours.execute_many([due(8), due(9)])
    held.set_result(None)
    (await gate.reached()).set_result(None)
    await together(first, *waiting)
    assert [len(batch) for batch in engine.batches] == [1, 3]


async def test_a_caller_that_is_gone_before_its_batch_is_dropped_from_it(
    engine: CountingEngine, clock: HandClock
) -> None:
    gate = Gate()
    ours = group(engine, clock, gate)
    first = asyncio.ensure_future(ours.execute(due(1)))
    held = await gate.reached()
    gone, stays = asyncio.ensure_future(ours.execute(due(2))), asyncio.ensure_future(ours.execute(due(3)))
    await asyncio.sleep(0)
    gone.cancel()
    held.set_result(None)
    (await gate.reached()).set_result(None)
    await together(first, gone, stays)
    assert engine.batches == [[due(1)], [due(3)]]


async def test_a_caller_that_is_gone_during_its_commit_harms_nobody(
    engine: CountingEngine, clock: HandClock
) -> None:
    gate = Gate()
    ours = group(engine, clock, gate)
    gone, stays = asyncio.ensure_future(ours.execute(due(1))), asyncio.ensure_future(ours.execute(due(2)))
    held = await gate.reached()
    gone.cancel()
    held.set_result(None)
    _, reply = await together(gone, stays)
    assert reply == cm.DueAnswer("1.1")


async def test_everybody_hears_that_nothing_happened_and_the_next_commit_goes_on(
    engine: CountingEngine, clock: HandClock
) -> None:
    ours = group(engine, clock)
    engine.error = StorageFullError("no room", engine="full")
    first, second = await together(ours.execute(due(1)), ours.execute_many([due(2), due(3)]))
    assert type(first) is type(second) is StorageFullError
    assert first is not second
    assert first.facts == {"engine": "full"}
    engine.error = None
    assert await ours.execute(due(4)) == cm.DueAnswer("2.0")


async def test_an_error_that_nobody_foresaw_says_that_the_outcome_is_unknown(
    engine: CountingEngine, clock: HandClock, caplog: pytest.LogCaptureFixture
) -> None:
    ours = group(engine, clock)
    engine.error = ZeroDivisionError("what?")
    (outcome,) = await together(ours.execute(due()))
    assert type(outcome) is OutcomeUnknownError
    assert "not one of ours" in caplog.text


async def test_a_commit_that_is_interrupted_leaves_its_outcome_unknown(
    engine: CountingEngine, clock: HandClock
) -> None:
    gate = Gate()
    ours = group(engine, clock, gate)
    waiting = asyncio.ensure_future(ours.execute(due()))
    held = await gate.reached()
    behind = asyncio.ensure_future(ours.execute(due()))
    await asyncio.sleep(0)
    held.cancel()
    outcomes = await together(waiting, behind)
    assert [type(one) for one in outcomes] == [OutcomeUnknownError, UnavailableError]
    assert len(engine.batches) == 0


async def test_no_commit_holds_more_commands_than_the_settings_say(
    engine: CountingEngine, clock: HandClock
) -> None:
    ours = group(engine, clock, max_batch=4)
    await together(*(ours.execute(due(one)) for one in range(10)))
    assert [len(batch) for batch in engine.batches] == [4, 4, 2]


async def test_a_check_asks_the_engine_only_after_a_failure_and_until_it_commits_again(
    engine: CountingEngine, clock: HandClock
) -> None:
    ours = group(engine, clock)
    await ours.execute(due())
    await ours.check()
    assert engine.probes == 0
    engine.error = StorageFullError("no room")
    with pytest.raises(StorageFullError):
        await ours.execute(due())
    for _ in range(2):
        with pytest.raises(StorageFullError):
            await ours.check()
    engine.error = None
    await ours.check()
    await ours.check()
    assert engine.probes == 3


async def test_closing_finishes_what_was_taken_and_refuses_the_rest(
    engine: CountingEngine, clock: HandClock
) -> None:
    ours = group(engine, clock)
    waiting = [asyncio.ensure_future(ours.execute(due(one))) for one in range(3)]
    await asyncio.sleep(0)
    await ours.drain()
    assert all(one.done() for one in waiting)
    with pytest.raises(UnavailableError, match="closed"):
        await ours.execute(due())
