"""People of a seed: all that they began is waited for."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

from tenure.sim.run.doing import Doing
from tenure.sim.run.plan import Deed
from tenure.sim.world.chance import Chance


class SlowDesk:
    """A desk where each cancel is answered when it is told to be."""

    def __init__(self) -> None:
        self.tasks: dict[str, str] = {}
        self.waiting: list[asyncio.Event] = []

    async def cancel(self, _task_id: str) -> None:
        answered = asyncio.Event()
        self.waiting.append(answered)
        await answered.wait()


def test_two_deeds_of_one_name_are_both_waited_for() -> None:
    async def scene() -> None:
        begun: list[asyncio.Task[None]] = []

        def start(_process: object, work: Any) -> None:
            begun.append(asyncio.ensure_future(work))

        loop = SimpleNamespace(count=lambda: None, start=start)
        world: Any = SimpleNamespace(chance=Chance(1), loop=loop)
        desk, nobody = SlowDesk(), SimpleNamespace()
        doing = Doing(world, desk, nobody, nobody, ())  # type: ignore[arg-type]  # of a world it needs no more
        assert doing.is_done
        for _ in range(2):
            doing._start(Deed(kind="cancel", at_s=0.0, name="work1"))
            await asyncio.sleep(0)
        for one, is_last in zip(begun, (False, True), strict=True):
            assert not doing.is_done
            assert doing.left == "cancel work1"
            desk.waiting.pop(0).set()
            await one
            assert doing.is_done is is_last

    asyncio.run(scene())
