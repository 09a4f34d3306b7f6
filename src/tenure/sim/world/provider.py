"""A forge and a place for webhooks that count what they really did.

They fail as real ones do: they are down, slow, want to be left alone (429 with a time), lose the answer after the work or
before it, and show what they did only after a while. A contradiction (two of a thing that can be there once, or an entry
that nobody can read) is shown while the forge is in that mood, and only then.

What is known by an identity of its own (a pull request, a label) is refused a second time; a comment is taken as often as
it is sent, as forges do: there a second call would be a second comment."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from typing import TypeVar, final

from msgspec import Struct

from tenure.core.scope import EffectKind
from tenure.errors import DuplicateEffectError, OutcomeUnknownError, ProviderRefusedError, UnavailableError
from tenure.providers.port import Call, Capabilities, Found, Result
from tenure.sim.world.loop import CURRENT, Process, SimLoop, pass_on, pause, settle

KINDS = frozenset({EffectKind.COMMENT, EffectKind.LABEL, EffectKind.PULL_REQUEST, EffectKind.HTTP})
FINDS = frozenset({EffectKind.COMMENT, EffectKind.LABEL, EffectKind.PULL_REQUEST})
SETTLING_S = 5.0
PAST_DEADLINE_S = 0.5
"""What was sent in time may be done just after its caller has given up, and is shown before it must have settled."""
LATE_SHOW_S = 4.0

T = TypeVar("T")


class Mood(Struct, kw_only=True):
    """How the provider is now; shares of calls that go so."""

    is_down: bool = False
    loses_answers: float = 0.0
    loses_requests: float = 0.0
    refuses: float = 0.0
    limits: float = 0.0
    contradicts: bool = False
    slow_s: float = 0.0


class Made(Struct, frozen=True, kw_only=True):
    """Something that was really done. `shown_at_s`: from when on the forge shows it."""

    number: int
    name: str
    effect_id: str
    target: str
    kind: EffectKind
    shown_at_s: float


@final
class SimForge:
    """`applied` is told of each thing that was really done; `note` of each call."""

    def __init__(
        self,
        loop: SimLoop,
        process: Process,
        chance: random.Random,
        note: Callable[[str], None],
        applied: Callable[[Made], None],
    ) -> None:
        """`process` is the forge's own, which is never held."""
        self.mood = Mood()
        self.made: list[Made] = []
        self._on_the_way: dict[str, int] = {}
        self._loop = loop
        self._process = process
        self._chance = chance
        self._note = note
        self._applied = applied
        self._capabilities = Capabilities(kinds=KINDS, finds=FINDS, settling_s=SETTLING_S)

    @property
    def capabilities(self) -> Capabilities:
        return self._capabilities

    async def apply(self, call: Call) -> Result:
        self._note(f"apply {call.kind}")
        mood, chance = self.mood, self._chance.random()
        if mood.is_down:
            await pause(0.01)
            raise UnavailableError("no connection to the forge")
        if chance < mood.loses_requests:
            await pause(0.1)
            raise OutcomeUnknownError("the connection was cut before anything was done")
        self._on_the_way[call.effect_id] = self._on_the_way.get(call.effect_id, 0) + 1
        return await self._asked(lambda: self._apply(call), call.deadline_s)

    async def find(self, call: Call) -> Found:
        self._note(f"find {call.kind}")
        if self.mood.is_down:
            await pause(0.01)
            raise UnavailableError("no connection to the forge")
        return await self._asked(lambda: self._find(call), call.deadline_s)

    async def close(self) -> None:
        return None

    def really(self, effect_id: str) -> Made | None:
        """What a person finds who looks there for long enough."""
        return next((one for one in self.made if one.effect_id == effect_id), None)

    def is_on_its_way(self, effect_id: str) -> bool:
        """Is a request for it under way that may still be done?"""
        return self._on_the_way.get(effect_id, 0) > 0

    def named(self, name: str) -> Made | None:
        return next((one for one in self.made if one.name == name), None)

    def heal(self) -> None:
        self.mood = Mood()

    # -- on the way there and back

    async def _asked(self, work: Callable[[], T], deadline_s: float) -> T:
        """Once it is sent it is done there, whatever becomes of who sent it, and even just after that one gives up."""
        answer: asyncio.Future[T] = self._loop.create_future()
        there_s = 0.005 + 0.05 * self._chance.random()
        if self._chance.random() < 0.5:
            there_s += min(self.mood.slow_s * self._chance.random(), deadline_s + PAST_DEADLINE_S)
        self._loop.after(there_s, self._process, self._arrived, CURRENT.get(), answer, work)
        return await answer

    def _arrived(self, caller: Process, answer: asyncio.Future[T], work: Callable[[], T]) -> None:
        self._loop.count()
        done: asyncio.Future[T] = self._loop.create_future()
        settle(done, work)
        if self._chance.random() < self.mood.loses_answers:
            done.exception()
            if self._chance.random() < 0.5:
                return  # it is never heard of again
            done = self._loop.create_future()
            done.set_exception(OutcomeUnknownError("the answer was lost"))
        self._loop.after(0.005 + 0.05 * self._chance.random(), caller, pass_on, done, answer)

    # -- at the forge

    def _apply(self, call: Call) -> Result:
        self._on_the_way[call.effect_id] -= 1
        self._may_work()
        if self._chance.random() < self.mood.refuses:
            raise ProviderRefusedError("422: the forge says no")
        made = self._do(call)
        return Result(identity=str(made.number), url=f"https://forge.example/{made.number}")

    def _find(self, call: Call) -> Found:
        self._may_work()
        if self.mood.contradicts:
            return Found(contradiction="two entries carry this marker, and they disagree")
        found = next((one for one in self.made if self._is_it(one, call) and self._shows(one)), None)
        return Found() if found is None else Found(result=Result(identity=str(found.number)))

    def _may_work(self) -> None:
        if self._chance.random() < self.mood.limits:
            raise UnavailableError("429: too many requests", retry_after_s=1.0 + 20.0 * self._chance.random())

    def _do(self, call: Call) -> Made:
        name = known_as(call)
        there = self.named(name)
        if there is not None and call.params.identity is not None:
            raise DuplicateEffectError(f"it is there already: {there.number}")
        late_s = LATE_SHOW_S * self._chance.random() if self._chance.random() < 0.3 else 0.0
        made = Made(
            number=len(self.made) + 1,
            name=name,
            effect_id=call.effect_id,
            target=call.target,
            kind=call.kind,
            shown_at_s=self._loop.now_s + late_s,
        )
        self.made.append(made)
        self._applied(made)
        return made

    def _is_it(self, made: Made, call: Call) -> bool:
        return made.name == known_as(call) and str(made.number) not in call.not_these

    def _shows(self, made: Made) -> bool:
        return made.shown_at_s <= self._loop.now_s


def known_as(call: Call) -> str:
    """How the forge knows it: by its own identity, else by the marker in the text."""
    return f"{call.target}#{call.params.identity or call.marker}"
