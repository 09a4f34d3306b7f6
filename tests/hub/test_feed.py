"""Live events: the history first, then what happens, without a gap and without a repeat."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import cast

import pytest

from tenure.errors import OverloadedError
from tenure.hub.feed import Feed
from tenure.hub.sight import Sight
from tenure.ledger.port import Ledger, Reads, Recorded
from tests.hub.lab import ANN, Lab


async def collect(lab: Lab, stream: str | None, after: int, into: list[Recorded]) -> None:
    async for found in lab.hub.feed.follow(stream, after):
        into += found


async def until(condition) -> None:
    async def come() -> None:
        while not condition():
            await asyncio.sleep(0)

    await asyncio.wait_for(come(), 10)


async def test_history_comes_first_and_then_every_later_event_once() -> None:
    async with Lab().running() as lab:
        task_id = await lab.submit()
        seen: list[Recorded] = []
        reading = asyncio.ensure_future(collect(lab, None, 0, seen))
        await until(lambda: len(seen) >= 3)
        others = [asyncio.ensure_future(lab.submit()) for _ in range(20)]
        await asyncio.gather(*others)
        await lab.api.cancel(ANN, task_id, "")
        last = lab.hub.record.head().seq
        await until(lambda: seen[-1].seq == last)
        assert [one.seq for one in seen] == list(range(1, last + 1))
        lab.hub.feed.close()
        await asyncio.wait_for(reading, 10)


async def test_a_stream_of_one_task_has_its_events_only_and_goes_on_after_a_version() -> None:
    async with Lab().running() as lab:
        task_id = await lab.submit()
        seen: list[Recorded] = []
        reading = asyncio.ensure_future(collect(lab, task_id, 1, seen))
        await lab.submit()
        await lab.api.cancel(ANN, task_id, "")
        await until(lambda: seen and seen[-1].kind == "task_ended")
        assert {one.stream for one in seen} == {task_id}
        assert [one.version for one in seen] == list(range(2, 2 + len(seen)))
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
        assert lab.hub.feed._readers == {}


async def test_a_long_history_is_read_page_by_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tenure.hub.feed.PAGE", 2)
    async with Lab().running() as lab:
        for _ in range(5):
            await lab.submit()
        pages: list[int] = []
        async for found in lab.hub.feed.follow(None, 0):
            pages.append(len(found))
            if found[-1].seq == lab.hub.record.head().seq:
                break
        assert max(pages) == 2


async def test_a_quiet_stream_beats_and_the_number_of_streams_has_a_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tenure.hub.feed.BEAT_S", 0.001)
    monkeypatch.setattr("tenure.hub.feed.READERS", 1)
    async with Lab().running() as lab:
        stream = lab.hub.feed.follow("t_quiet", 0)
        assert await anext(stream) == []
        with pytest.raises(OverloadedError):
            lab.hub.feed.check_room()
        with pytest.raises(OverloadedError):
            await anext(lab.hub.feed.follow(None, 0))
        await stream.aclose()  # type: ignore[attr-defined] - a fake stands for it
        lab.hub.feed.check_room()


async def test_the_record_is_exported_up_to_its_head() -> None:
    async with Lab().running() as lab:
        for _ in range(3):
            await lab.submit()
        lines = b"".join([piece async for piece in lab.hub.record.export()]).splitlines()
        assert len(lines) == lab.hub.record.head().seq


async def test_whoever_is_bound_to_a_project_goes_past_what_others_did_in_one_question() -> None:
    async with Lab().running() as lab:
        await asyncio.gather(*(lab.submit(project="red") for _ in range(30)))
        mine = await lab.submit(project="blue")
        record = Counting(lab.hub.ledger)
        feed, sight = Feed(cast("Reads", record)), Sight(lab.hub.ledger, ("blue",))
        found, after = await feed.page(None, 0, 1, sight)
        assert ([one.stream for one in found], record.looks) == ([mine], 1)
        more, _ = await feed.page(None, after, 1, sight)
        assert [(one.stream, one.seq) for one in more] == [(mine, after + 1)]


class Counting:
    """How often the record is read for events."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self.looks = 0

    async def events_of(
        self, projects: Sequence[str], after_seq: int = 0, limit: int = 100
    ) -> tuple[list[Recorded], int]:
        self.looks += 1
        return await self._ledger.events_of(projects, after_seq, limit)
