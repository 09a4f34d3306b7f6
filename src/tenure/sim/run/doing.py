"""What people do in one seed: the deeds of its plan, and answers to what is asked of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Coroutine
from typing import Any, final

import msgspec

from tenure.sim.run.guest import Guest
from tenure.sim.run.plan import Deed
from tenure.sim.world.answering import chosen
from tenure.sim.world.loop import Process, pause
from tenure.sim.world.machine import EPOCH_MS
from tenure.sim.world.network import LATEST_REPEAT_S
from tenure.sim.world.people import Desk
from tenure.sim.world.world import SimWorld
from tenure.wire import api
from tenure.wire.attention import AttentionBody
from tenure.wire.codec import instant

LOOKS_EVERY_S = 40.0
HEALED_EVERY_S = 15.0
ENDS_AFTER_S = 1800.0
"""People who have answered for so long after the heal want things over: they choose what ends a Task."""


@final
class Doing:
    def __init__(
        self, world: SimWorld, desk: Desk, guest: Guest, process: Process, deeds: tuple[Deed, ...]
    ) -> None:
        self._guest = guest
        self._world = world
        self._desk = desk
        self._process = process
        self._deeds = deeds
        self._chance = world.chance.stream("answers")
        self._healed_at_s: float | None = None
        self._open: Counter[str] = Counter()
        self._acts: dict[str, Callable[[Deed], Coroutine[Any, Any, object]]] = {
            "submit": self._submit,
            "submit_again": self._submit,
            "pause": self._pause,
            "limit": self._limit,
            "schedule": self._schedule,
            "policy": self._policy,
            "token": self._token,
            "guest": lambda deed: self._guest.stays(deed.length_s),
        }

    @property
    def is_done(self) -> bool:
        return not self._open.total()

    @property
    def left(self) -> str:
        return ", ".join(+self._open)

    def begin(self) -> None:
        for deed in self._deeds:
            self._world.loop.after(deed.at_s, self._process, self._start, deed)
        self._world.loop.start(self._process, self._answers())

    def heal(self) -> None:
        self._healed_at_s = self._world.loop.now_s
        self._world.loop.start(self._process, self._make_sure())

    def _start(self, deed: Deed) -> None:
        self._world.loop.count()
        self._world.loop.start(self._process, self._counted(deed))

    async def _counted(self, deed: Deed) -> None:
        name = f"{deed.kind} {deed.name or deed.subject}"
        self._open[name] += 1
        try:
            await self._do(deed)
        finally:
            self._open[name] -= 1

    def _do(self, deed: Deed) -> Coroutine[Any, Any, object]:
        desk, task_id = self._desk, self._desk.tasks.get(deed.name, "")
        if deed.kind in self._acts:
            return self._acts[deed.kind](deed)
        match deed.kind:
            case "cancel":
                return desk.cancel(task_id)
            case "cancel_tree":
                return desk.cancel(task_id, tree=True)
            case "stop":
                return desk.cancel(task_id, number=1)
            case "retry":
                return desk.retry(task_id)
            case _:
                return desk.challenge(task_id)

    async def _submit(self, deed: Deed) -> None:
        deed = next(one for one in self._deeds if one.kind == "submit" and one.name == deed.name)
        fields = dict(deed.fields)
        now_ms = EPOCH_MS + round(deed.at_s * 1000)
        for name, field in (("not_before_s", "not_before_at"), ("deadline_s", "deadline_at")):
            if name in fields:
                fields[field] = instant(now_ms + fields.pop(name) * 1000)
        after = tuple(self._desk.tasks[one] for one in deed.after if one in self._desk.tasks)
        asked = msgspec.convert(
            {"objective": f"{deed.name}: do it", deed.waits: after, **fields}, api.TaskRequest
        )
        await self._desk.submit(deed.name, asked, f"key-{deed.name}")

    async def _pause(self, deed: Deed) -> None:
        await self._desk.pause(deed.subject)
        await pause(deed.length_s)
        await self._desk.resume(deed.subject)

    async def _limit(self, deed: Deed) -> None:
        await self._desk.limit(deed.subject, int(deed.length_s))
        await pause(deed.length_s)
        await self._desk.limit(deed.subject, None)

    async def _schedule(self, deed: Deed) -> None:
        task = api.TaskRequest(objective=f"{deed.name}: again", to="any")
        await self._desk.schedule(deed.name, task)
        await pause(deed.length_s / 3)
        await self._desk.change_schedule(deed.name, "pause")
        await pause(deed.length_s / 6)
        await self._desk.change_schedule(deed.name, "resume")
        await self._desk.schedule(deed.name, msgspec.structs.replace(task, to="writer"), changed=True)
        await pause(deed.length_s / 2)
        await self._desk.change_schedule(deed.name, "remove")

    async def _policy(self, deed: Deed) -> None:
        await self._desk.store_policy(deed.name)
        await self._desk.choose_policy(deed.subject, deed.name)
        await pause(deed.length_s)
        await self._desk.choose_policy(deed.subject, None)

    async def _token(self, deed: Deed) -> None:
        issued = await self._desk.issue_token(deed.name)
        await pause(deed.length_s)
        if issued is not None:
            await self._desk.revoke_token(issued.credential_id)

    async def _make_sure(self) -> None:
        """Whoever had stopped something sees to it that it goes on: a repeat of that request may have come after its end, and
        the last word counts."""
        await pause(LATEST_REPEAT_S)
        for deed in self._deeds:
            match deed.kind:
                case "pause":
                    await self._desk.resume(deed.subject)
                case "limit":
                    await self._desk.limit(deed.subject, None)
                case "schedule":
                    await self._desk.change_schedule(deed.name, "remove")
                case "policy":
                    await self._desk.choose_policy(deed.subject, None)
                case _:
                    pass

    # -- answers

    async def _answers(self) -> None:
        while True:
            every_s = LOOKS_EVERY_S if self._healed_at_s is None else HEALED_EVERY_S
            await pause(every_s * (0.5 + self._chance.random()))
            await self._ask_why()
            await self._answer_all()
            if self._healed_at_s is not None:
                await self._forget_strangers()

    async def _answer_all(self) -> None:
        for item in await self._desk.questions():
            if self._healed_at_s is None and self._chance.random() < 0.35:
                await self._put_off(item)
                continue  # nobody has the time
            asked = chosen(self._world, item, self._chance, ends=self._wants_end())
            if asked is not None:
                await self._desk.answer(item, asked)

    async def _put_off(self, item: AttentionBody) -> None:
        """Whoever has no time may say who has, or when."""
        word = self._chance.random()
        if word < 0.2:
            await self._desk.assign(item)
        elif word < 0.4:
            await self._desk.snooze(item, instant(self._world.hub.machine.wall_ms() + 60_000))

    async def _ask_why(self) -> None:
        """Somebody wants to know why some Task is where it is."""
        if not self._desk.tasks:
            return
        name = self._chance.choice(sorted(self._desk.tasks))
        await self._desk.why(self._desk.tasks[name])

    async def _forget_strangers(self) -> None:
        """A node that has lost its store is a new one; its name is taken until somebody says that the old one is gone."""
        for node in self._world.nodes:
            if node.is_ready or not node.deaths or not node.deaths[-1].startswith("name_taken"):
                continue
            node.deaths.clear()
            await self._desk.forget(node.name)
            node.end_strays()

    def _wants_end(self) -> bool:
        return self._healed_at_s is not None and self._world.loop.now_s - self._healed_at_s > ENDS_AFTER_S
