"""The end: faults stop, all is brought up, the person answers what is asked, and the fleet comes to rest within a bound."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from tenure.errors import TenureError
from tenure.sim.checkers import entry as en
from tenure.wire.api import EventBody, TaskBody
from tests.chaos.checks import Final
from tests.chaos.clients import Desk
from tests.chaos.fleet import DISK, Fleet
from tests.chaos.injector import passed
from tests.chaos.person import Person
from tests.chaos.views import effect_view, item_view, task_view

T = TypeVar("T")
PAGE = 500
LOOK_S = 1.0
READ_S = 60.0


async def heal(fleet: Fleet) -> None:
    """Nothing is broken any more."""
    fleet.heal_clocks()
    for name in ("hub", "n1") if fleet.abilities.can_mount else ():
        await asyncio.to_thread(fleet.abilities.free, fleet.home(name), DISK)
    for link in fleet.links.values():
        link.become("open")
    for wire in fleet.wires.values():
        await asyncio.to_thread(wire.heal)
    await fleet.forge("DELETE")
    # Who hangs on an answer that never comes is told so: the provider starts once more.
    fleet.programs["provider"].kill(0)
    await fleet.hub_answers()


async def come_to_rest(fleet: Fleet, desk: Desk, person: Person, within_s: float) -> float | None:
    """How long it took until every Task had ended and nothing was asked; None if it did not within the bound."""
    began = time.monotonic()
    while (took := time.monotonic() - began) < within_s:
        fleet.tend()
        items = await person.look()
        await person.settle(items)
        told = await desk.ask("count open tasks", open_tasks(desk))
        if told.value == 0 and not items and not await person.look():
            return took
        await passed(LOOK_S)
    return None


async def open_tasks(desk: Desk) -> int:
    found = [one async for one in desk.client.every_task() if one.ended_at is None]
    return len(found)


async def read_all(desk: Desk) -> Final:
    """Everything, after it has come to rest; each read is an entry of the history."""
    desk.recorder.add(en.Settled(at=time.monotonic_ns()))
    began = time.monotonic_ns()
    tasks = {one.task_id: one for one in await surely(lambda: every_task(desk))}
    attempts = {one: await surely(lambda one=one: desk.client.attempts(one)) for one in tasks}
    views = tuple(task_view(one, attempts[one.task_id]) for one in tasks.values())
    read = {"client": desk.name, "began": began, "ended": time.monotonic_ns(), "reply": en.Reply.DONE}
    desk.recorder.add(en.Read(**read, tasks=views, every_task=True))
    began = time.monotonic_ns()
    items = await surely(lambda: desk.client.every_question(open_only=False))
    read |= {"began": began, "ended": time.monotonic_ns()}
    desk.recorder.add(en.Read(**read, items=tuple(map(item_view, items)), every_item=True))
    began = time.monotonic_ns()
    effects = [each for one in tasks for each in await surely(lambda one=one: desk.client.effects(one))]
    read |= {"began": began, "ended": time.monotonic_ns()}
    desk.recorder.add(en.Read(**read, effects=tuple(map(effect_view, effects))))
    events = await surely(lambda: every_event(desk))
    return Final(tasks, attempts, tuple(effects), items, tuple(events))


async def every_task(desk: Desk) -> list[TaskBody]:
    return [one async for one in desk.client.every_task()]


async def every_event(desk: Desk) -> list[EventBody]:
    found: list[EventBody] = []
    after = 0
    while (page := await desk.client.events(after=after, limit=PAGE)).events:
        found += page.events
        after = page.next_after
    return found


async def surely(read: Callable[[], Awaitable[T]]) -> T:
    """A read of a hub that is up: it may take a few tries on a busy machine, not more."""
    until = time.monotonic() + READ_S
    while True:
        try:
            return await read()
        except TenureError:
            if time.monotonic() > until:
                raise
            await passed(LOOK_S)
