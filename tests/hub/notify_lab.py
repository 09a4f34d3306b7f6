"""A loop that tells people, to try things on: questions kept by hand, a clock set by hand, notifiers that keep what they
are told or fail when they should."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from msgspec.structs import replace

from tenure.core import events as ev
from tenure.core.attention import Attention, AttentionKind, item_id
from tenure.core.commands import Done
from tenure.core.desk_commands import NoteNotified
from tenure.core.desk_events import AttentionSnoozed
from tenure.core.ids import TaskId
from tenure.errors import UnavailableError
from tenure.hub.notify.channel import Around, Channel, ChannelReport, Plan
from tenure.hub.notify.loop import NotifyLoop
from tenure.ledger.port import Committed, Opened
from tests.hub.lab import HandClock

TASK = TaskId("t_" + "0" * 26)


class KeepingNotifier:
    """A notifier that keeps what it is told; `fails` is what it raises instead. It hangs while its gate is shut."""

    def __init__(self) -> None:
        self.messages: list[tuple[str, str]] = []
        self.tries = 0
        self.fails: Exception | None = None
        self.gate = threading.Event()
        self.gate.set()

    def send(self, title: str, body: str) -> None:
        self.tries += 1
        assert self.gate.wait(10)
        if self.fails is not None:
            raise self.fails
        self.messages.append((title, body))

    @property
    def titles(self) -> list[str]:
        return [title for title, _ in self.messages]

    @property
    def last(self) -> str:
        return self.messages[-1][1]


class Questions:
    """What the loop needs of a ledger: questions, and whether they were told."""

    def __init__(self, clock: HandClock) -> None:
        self.items: dict[str, Attention] = {}
        self.noted: list[tuple[str, int]] = []
        self.listener: Callable[[Committed], None] = lambda _: None
        self.is_away = False
        self._clock = clock

    async def find_many(self, kind: type[Attention], keys: Iterable[str]) -> dict[str, Attention]:
        self._refuse_when_away()
        return {key: self.items[key] for key in keys if key in self.items}

    async def attention(self, open_only: bool, limit: int, after: Opened | None) -> list[Attention]:
        self._refuse_when_away()
        place = (after.at_ms, after.item_id) if after else (-1, "")
        found = sorted(self.items.values(), key=lambda one: (one.opened_at_ms, one.item_id))
        return [one for one in found if one.open and (one.opened_at_ms, one.item_id) > place][:limit]

    async def execute_many(self, commands: Sequence[Any]) -> list[Any]:
        self._refuse_when_away()
        for one in commands:
            assert isinstance(one, NoteNotified)
            self.noted.append((one.item_id, one.version))
            self.items[one.item_id] = replace(self.items[one.item_id], notified_version=one.version)
        return [Done() for _ in commands]

    def _refuse_when_away(self) -> None:
        if self.is_away:
            raise UnavailableError("the store is away")

    def ask(
        self,
        number: int = 1,
        kind: AttentionKind = AttentionKind.UNKNOWN,
        summary: str = "what became of it?",
    ) -> str:
        """Open a question about a Task's Attempt, or change its facts."""
        subject = f"{TASK}/{number}"
        name = item_id(kind, subject)
        before = self.items.get(name)
        self.items[name] = Attention(
            item_id=name,
            kind=kind,
            subject=subject,
            version=before.version + 1 if before else 1,
            open=True,
            summary=summary,
            facts="{}",
            opened_at_ms=self._clock.wall_ms(),
            closed_at_ms=None,
            closed_because=None,
            notified_version=before.notified_version if before else 0,
        )
        self._say(
            ev.TaskAttentionOpened(task_id=TASK, kind=kind, subject=subject, summary=summary, facts="{}")
        )
        return name

    def answer(self, name: str) -> None:
        item = replace(
            self.items[name], open=False, closed_at_ms=self._clock.wall_ms(), closed_because="done"
        )
        self.items[name] = item
        self._say(
            ev.TaskAttentionClosed(task_id=TASK, kind=item.kind, subject=item.subject, because="answered")
        )

    def snooze(self, name: str, for_s: float | None) -> None:
        until_ms = None if for_s is None else self._clock.wall_ms() + round(for_s * 1000)
        self.items[name] = replace(self.items[name], snoozed_until_ms=until_ms)
        self._say(AttentionSnoozed(item_id=name, until_ms=until_ms, by="ann"))

    def _say(self, fact: Any) -> None:
        self.listener(Committed(1, "", self._clock.wall_ms(), (), (fact,), {}, ()))


class NotifyLab:
    def __init__(self, *names: str, plan: Plan | None = None) -> None:
        self.clock = HandClock()
        self.questions = Questions(self.clock)
        self.plan = plan or Plan()
        self.told = KeepingNotifier()
        self.channels: dict[str, Channel] = {"ops": Channel(self.told)}
        self.reports: Mapping[str, ChannelReport] = {}
        self.threads: Callable[[Callable[[], Any]], Any] = at_once
        self.note: Callable[[Mapping[str, ChannelReport]], None] = self._keep

    def also(self, name: str, **options: Any) -> KeepingNotifier:
        """One more channel."""
        told = KeepingNotifier()
        self.channels = {**self.channels, name: Channel(told, **options)}
        return told

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[NotifyLab]:
        """Start the loop, anew over the same questions if it ran before."""
        around = Around(
            look=lambda: self.channels,
            threads=self._on_thread,
            note=self.note,
            plan=self.plan,
        )
        ledger: Any = self.questions
        self.loop = NotifyLoop(ledger, self.clock, around, answers_to)
        self.questions.listener = self.loop.heard
        running = asyncio.ensure_future(self.loop.run())
        try:
            await settle()
            yield self
            assert not running.done()
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
            self.questions.listener = lambda _: None

    def _on_thread(self, work: Callable[[], Any]) -> Any:
        return self.threads(work)

    def _keep(self, reports: Mapping[str, ChannelReport]) -> None:
        self.reports = reports

    async def pass_s(self, seconds: float) -> None:
        """Time passes, once the loop has taken in what it has heard."""
        await settle()
        self.clock.pass_s(seconds)
        await self.look()

    async def look(self) -> None:
        self.loop.alarm.ring()
        await settle()


async def at_once(work: Callable[[], Any]) -> Any:
    return work()


async def answers_to(items: Sequence[Attention]) -> dict[str, dict[str, str]]:
    return {one.item_id: {"rerun": "makes the next Attempt", "retire": "ends the Task"} for one in items}


async def settle() -> None:
    for _ in range(60):
        await asyncio.sleep(0)
