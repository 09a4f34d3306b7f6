"""The clients: they submit, cancel, read and answer while everything fails, and keep what they asked and were told.

`Desk` is one client's hand on the API: every call becomes an entry of the history, with when it was sent and when its answer
was read. The same instants hold for all of them (`time.monotonic_ns` of the one process that they share)."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from hashlib import sha256
from typing import Any, TypeVar

import msgspec

from tenure.client.hub import HubClient
from tenure.errors import NotFoundError, OutcomeUnknownError, TenureError, UnavailableError
from tenure.sim.checkers import entry as en
from tenure.sim.checkers.history import Recorder
from tenure.wire.api import AttemptBody, BatchItem, TaskBody, TaskRequest
from tenure.wire.attention import AnswerRequest, AttentionBody
from tests.chaos.injector import waited
from tests.chaos.views import effect_view, item_view, task_view
from tests.chaos.work import Place
from tests.chaos.work import task as drawn_task

T = TypeVar("T")
CALL_S = 10.0


class CallEnd:
    """How one call ended. `value` is None unless it was answered."""

    def __init__(self, client: str) -> None:
        self.client, self.began = client, time.monotonic_ns()
        self.ended: int | None = None
        self.reply = en.Reply.NONE
        self.code = ""
        self.value: Any = None

    @property
    def call(self) -> dict[str, Any]:
        return {
            "client": self.client,
            "began": self.began,
            "ended": self.ended,
            "reply": self.reply,
            "code": self.code,
        }


class Desk:
    """One client. `counts`: its calls by what they were and how they ended. `unexpected`: answers that no client may get,
    such as an error that nobody names."""

    def __init__(self, name: str, client: HubClient, recorder: Recorder) -> None:
        self.name, self.client, self.recorder = name, client, recorder
        self.counts: Counter[str] = Counter()
        self.unexpected: list[str] = []

    async def ask(self, what: str, work: Awaitable[T]) -> CallEnd:
        told = CallEnd(self.name)
        try:
            told.value = await work
            told.reply = en.Reply.DONE
        except UnavailableError as error:
            told.reply, told.code = en.Reply.UNAVAILABLE, error.code
        except OutcomeUnknownError as error:
            told.reply, told.code = en.Reply.OUTCOME_UNKNOWN, error.code
        except TenureError as error:
            told.reply, told.code = en.Reply.REFUSED, error.code
            if error.code == "error":
                self.unexpected.append(f"{what}: {error}")
        told.ended = time.monotonic_ns()
        self.counts[f"{what}: {told.reply}"] += 1
        return told

    async def submit(self, key: str, asked: TaskRequest) -> str | None:
        told = await self.ask("submit", self.client.submit(asked, key))
        body: TaskBody | None = told.value
        self._submitted(
            told, key, asked, body.task_id if body else None, replayed=bool(body and body.replayed)
        )
        return body.task_id if body else None

    async def submit_many(self, made: dict[str, TaskRequest]) -> list[str]:
        items = [BatchItem(key=key, task=asked) for key, asked in made.items()]
        told = await self.ask("submit a batch", self.client.submit_batch(items))
        results = {one.key: one for one in told.value.results} if told.value else {}
        for key, asked in made.items():
            result = results.get(key)
            if result is not None and result.error is not None:
                refused = CallEnd(self.name)
                refused.began, refused.ended, refused.reply = told.began, told.ended, en.Reply.REFUSED
                refused.code = str(result.error["code"])
                self._submitted(refused, key, asked, None, replayed=False)
            else:
                self._submitted(
                    told, key, asked, result and result.task_id, replayed=bool(result and result.replayed)
                )
        return [one.task_id for one in results.values() if one.task_id is not None]

    def _submitted(
        self, told: CallEnd, key: str, asked: TaskRequest, task_id: str | None, *, replayed: bool
    ) -> None:
        digest = sha256(msgspec.json.encode(asked)).hexdigest()[:16]
        self.recorder.add(en.Submit(**told.call, replayed=replayed, key=key, digest=digest, task_id=task_id))

    async def cancel(self, task_id: str, *, tree: bool) -> None:
        told = await self.ask("cancel", self.client.cancel(task_id, "not needed any more", tree=tree))
        if told.value is not None and told.value.step is None:
            return  # it had ended before; nothing was promised
        self.recorder.add(
            en.Cancel(**told.call, replayed=bool(told.value and told.value.replayed), task_id=task_id)
        )
        for one in told.value.tree if told.value else ():
            if one.task_id != task_id and one.step is not None:
                self.recorder.add(en.Cancel(**told.call, replayed=one.replayed, task_id=one.task_id))

    async def answer(self, item: AttentionBody, asked: AnswerRequest) -> bool:
        told = await self.ask(f"answer {item.kind}", self.client.answer(item.item_id, asked))
        task_id, _, number = item.subject.partition("/")
        self.recorder.add(
            en.Answer(
                **told.call,
                replayed=bool(told.value and told.value.replayed),
                item_id=item.item_id,
                item_version=item.version,
                subject=item.subject,
                choice=asked.answer,
                task_id=task_id if task_id.startswith("t_") else None,
                number=int(number) if number.isdecimal() else None,
                made=told.value.number if told.value and asked.answer in MAKES else None,
                because=asked.because,
            )
        )
        return told.value is not None

    async def read(self, task_id: str) -> TaskBody | None:
        """One Task. Whoever asks for one that is not there has an answer, too."""
        told = await self.ask("read a task", self.client.task(task_id))
        missing = (task_id,) if told.code == NotFoundError.code else ()
        if missing:
            told.reply = en.Reply.DONE
        tasks = (task_view(told.value),) if told.value else ()
        self.recorder.add(en.Read(**told.call, tasks=tasks, missing=missing))
        return told.value

    async def read_effects(self, task_id: str) -> None:
        told = await self.ask("read effects", self.client.effects(task_id))
        self.recorder.add(en.Read(**told.call, effects=tuple(map(effect_view, told.value or ()))))

    async def attempts(self, task_id: str) -> tuple[AttemptBody, ...]:
        """A Task's Attempts. They are no entry of their own: a view of Attempts needs its Task's of the same instant."""
        told = await self.ask("read attempts", self.client.attempts(task_id))
        return told.value or ()

    async def page(self) -> None:
        told = await self.ask("list tasks", self.client.tasks(limit=50))
        tasks = tuple(map(task_view, told.value.tasks)) if told.value else ()
        self.recorder.add(en.Read(**told.call, tasks=tasks))

    async def questions(self) -> tuple[AttentionBody, ...]:
        told = await self.ask("read attention", self.client.every_question())
        items: tuple[AttentionBody, ...] = told.value or ()
        self.recorder.add(en.Read(**told.call, items=tuple(map(item_view, items))))
        return items


MAKES = frozenset({"rerun", "retry", "raise"})


class Crew:
    """All clients of a run, over what they share: the Tasks that were acknowledged, and the seed's chance."""

    def __init__(self, desk: Callable[[str], Desk], place: Place, seed: int) -> None:
        self._desk, self._place = desk, place
        self._chance = random.Random(seed + 1)
        self.known: list[str] = []
        self._count = 0

    async def submitting(self, name: str, ended: asyncio.Event, every_s: float) -> None:
        """New Tasks; now and then the same again, two at once, or a batch."""
        desk, chance = self._desk(name), self._chance
        sent: dict[str, TaskRequest] = {}
        while not await waited(ended, chance.uniform(0.3, 1.7) * every_s):
            roll = chance.random()
            if roll < 0.15:
                made = dict(self._new() for _ in range(chance.randint(2, 4)))
                sent |= made
                self.known += await desk.submit_many(made)
                continue
            key, asked = chance.choice(list(sent.items())) if sent and roll < 0.3 else self._new()
            sent[key] = asked
            times = 2 if chance.random() < 0.1 else 1
            for found in await asyncio.gather(*(desk.submit(key, asked) for _ in range(times))):
                if found is not None and found not in self.known:
                    self.known.append(found)

    def _new(self) -> tuple[str, TaskRequest]:
        self._count += 1
        op = f"op-{self._count:05d}"
        return op, drawn_task(self._chance, op, self._place, self.known[-20:])

    async def canceling(self, ended: asyncio.Event, every_s: float) -> None:
        desk, chance = self._desk("canceler"), self._chance
        while not await waited(ended, chance.uniform(0.5, 1.5) * every_s):
            if self.known:
                await desk.cancel(chance.choice(self.known[-15:]), tree=chance.random() < 0.2)

    async def reading(self, name: str, ended: asyncio.Event) -> None:
        desk, chance = self._desk(name), self._chance
        while not await waited(ended, chance.uniform(0.05, 0.5)):
            roll = chance.random()
            if not self.known or roll < 0.2:
                await desk.page()
            elif roll < 0.3:
                await desk.read_effects(chance.choice(self.known[-40:]))
            else:
                await desk.read(chance.choice(self.known[-40:] if roll < 0.8 else self.known))
