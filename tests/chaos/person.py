"""The person: reads the list of what needs somebody, looks where the question points, and answers.

What a person knows, this one knows: the record by the API, and the provider by its own log. It is asked about an Effect in
doubt, so it looks there; it never says that a tree of processes is gone, since the nodes find that out."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from pathlib import Path

from tenure.core.budget import Budget
from tenure.wire.attention import AnswerRequest, AttentionBody
from tests.chaos.clients import Desk
from tests.chaos.injector import waited
from tests.chaos.outside import counted, op_of

ENDING = ("give_up", "retire", "close", "release", "waive", "dismiss", "approve", "cancel", "gone")
"""In this order of liking, once everything is to come to rest."""
ABOUT_EFFECTS = ("effect_in_doubt", "effect_quarantined")


class Person:
    """`read`: every question that was read, by its id, with its kind. `answered`: how often each answer was taken."""

    def __init__(self, desk: Desk, provider_log: Path, remotes: Path, seed: int) -> None:
        self.desk, self._log, self._remotes = desk, provider_log, remotes
        self._chance = random.Random(seed + 2)
        self.read: dict[str, str] = {}
        self.answered: Counter[str] = Counter()

    async def answering(self, ended: asyncio.Event) -> None:
        """While faults go on: most questions, in no hurry. About Effects only once the provider can be looked at in peace."""
        while not await waited(ended, self._chance.uniform(0.5, 2.0)):
            for item in await self.look():
                if ended.is_set():
                    return
                if item.kind not in ABOUT_EFFECTS and self._chance.random() < 0.6:
                    await self.answer(item, self._any(item))

    async def look(self) -> tuple[AttentionBody, ...]:
        items = await self.desk.questions()
        self.read.update({one.item_id: one.kind for one in items})
        return items

    async def settle(self, items: tuple[AttentionBody, ...]) -> None:
        """With an end in mind: what is answered leads to no new work, where that can be."""
        for item in items:
            if item.kind in ABOUT_EFFECTS:
                choice = await self._seen_outside(item)
            else:
                choice = next((one for one in ENDING if one in item.answers), self._any(item))
            await self.answer(item, choice)

    async def answer(self, item: AttentionBody, choice: str) -> None:
        if choice not in item.answers:
            return
        late_id = await self._late(item) if choice == "accept" else None
        if choice == "accept" and late_id is None:
            return
        asked = AnswerRequest(
            answer=choice,
            item_version=item.version,
            because=f"I looked at it: {choice}",
            late_id=late_id,
            result="1" if choice == "confirmed" else None,
            more=Budget(attempts=2) if choice == "raise" else Budget(),
        )
        if await self.desk.answer(item, asked):
            self.answered[f"{item.kind}: {choice}"] += 1

    def _any(self, item: AttentionBody) -> str:
        """Any answer but the one that gives up a machine for good, and the one that says what nobody has looked at."""
        answers = sorted(set(item.answers) - {"forget", "gone"})
        return self._chance.choice(answers) if answers else ""

    async def _late(self, item: AttentionBody) -> str | None:
        """A late report about the Attempt that is asked about."""
        task_id, _, number = item.subject.partition("/")
        for one in await self.desk.attempts(task_id):
            if str(one.number) == number:
                reports = [late for each in one.deliveries for late in each.late if late.verdict is not None]
                return self._chance.choice(reports).late_id if reports else None
        return None

    async def _seen_outside(self, item: AttentionBody) -> str:
        """Is it there? Nothing is said while the question's Effect cannot be read."""
        told = await self.desk.ask("read an effect", self.desk.client.effect(item.subject.rpartition("/")[2]))
        if told.value is None:
            return ""
        there = await asyncio.to_thread(counted, self._log, self._remotes)
        return "confirmed" if there[op_of(bytes(told.value.params).decode()), told.value.kind] else "absent"
