"""The loop that tells people, over real records: in memory, and in a file with a restart in between."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tenure.core.attention import Attention
from tenure.hub.notify.channel import Around, Channel
from tenure.hub.notify.loop import NotifyLoop
from tests.eventually import eventually_async, eventually_so
from tests.hub.lab import Lab, at_once
from tests.hub.notify_lab import KeepingNotifier
from tests.hub.test_on_sqlite import Disk


@asynccontextmanager
async def notifying(lab: Lab, told: KeepingNotifier) -> AsyncGenerator[NotifyLoop]:
    """The loop beside the hub of this lab; its hub rings it when time passes."""
    around = Around(look=lambda: channels, threads=at_once, note=lambda _: None)
    channels = {"ops": Channel(told)}
    loop = NotifyLoop(lab.hub.ledger, lab.clock, around, lab.api.queries.answers)
    lab.hub.accompany(loop)
    forget = lab.hub.ledger.subscribe(loop.heard)
    running = asyncio.ensure_future(loop.run())
    try:
        yield loop
    finally:
        forget()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def until_open(lab: Lab) -> Attention:
    found: list[Attention] = []

    async def opened() -> bool:
        found[:] = await lab.hub.ledger.attention()
        return len(found) == 1

    await eventually_so(opened)
    return found[0]


async def until_recorded(lab: Lab, item: Attention) -> None:
    async def recorded() -> bool:
        now = await lab.hub.ledger.find(Attention, item.item_id)
        return now is not None and now.notified_version == item.version

    await eventually_so(recorded)


async def an_unknown_attempt(lab: Lab) -> Attention:
    await lab.submit()
    desk = await lab.node()
    await desk.take()
    lab.pass_s(30)
    await eventually_async(lambda: lab.hub._due.alarm._until_ms > lab.clock.wall_ms())
    lab.pass_s(60)
    return await until_open(lab)


@pytest.mark.parametrize("where", ["memory", "disk"])
async def test_a_question_is_told_with_its_own_answers_and_recorded_over_a_restart(
    where: str, tmp_path: Path
) -> None:
    disk = Disk(tmp_path)
    lab = Lab() if where == "memory" else Lab(ledger=disk.ledger)
    told = KeepingNotifier()
    async with lab.running(), notifying(lab, told) as loop:
        item = await an_unknown_attempt(lab)
        await eventually_async(lambda: len(loop._outboxes["ops"]._waiting) == 1)
        lab.pass_s(5)
        await eventually_async(lambda: len(told.messages) == 1)
        assert "- rerun: " in told.last
        assert f"tenure resolve {item.item_id}" in told.last
        await until_recorded(lab, item)
    async with lab.running(), notifying(lab, told) as loop:
        lab.pass_s(5)
        await eventually_async(lambda: not loop._is_first)
        lab.pass_s(60)
        await asyncio.sleep(0)
        assert len(told.messages) == 1
    disk.close()
