"""The broker: it makes the calls to providers, each once, and writes down what became of them.

Two fenced commits stand before a call (`begin`, `issue`), one after it (`settle`). Between issue and send it looks at
the clock once more: a call whose time is nearly over is not sent. A call belongs to this process and to nobody's
request: whoever asked may go away, the call goes on and is settled.

Crash between any two lines: before `issue` nothing was called, and the intent dies with its lease or is taken up by
the agent's own repeat. After it the next start finds a call of a hub that is gone, and asks the provider."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, final

import msgspec
import structlog

from tenure.core import effect_events as ev
from tenure.core.clock import Clock, IdSource
from tenure.core.delivery import Now
from tenure.core.effect import Effect
from tenure.core.effect_commands import CallEnd, EffectAnswer, IssueEffect, LookUpEffect, SettleEffect
from tenure.core.effect_kind import PARAMS
from tenure.core.ids import EffectId
from tenure.errors import (
    DuplicateEffectError,
    NotFoundError,
    OutcomeUnknownError,
    OverloadedError,
    ProviderRefusedError,
    TenureError,
    UnavailableError,
)
from tenure.hub.effects.registry import Reached, Registry
from tenure.hub.pause import pause
from tenure.ledger.port import Committed, Ledger
from tenure.providers.port import Call, Found, Result

CALL_S = 30.0
"""How long a call may take, from its issue to the answer's last byte."""
TOO_LATE_S = 1.0
"""A call with less time than this left is not sent: the provider might do it after we have given up."""
IN_FLIGHT = 64
"""Calls to one provider at a time; further ones wait before they are issued."""
WAITING = 10_000
"""Calls under way or waiting, of all providers; each is a task and a few kilobytes."""
SETTLE_PAUSES_S = (0.05, 0.2, 1.0, 5.0)
"""Between tries to record an end. After the last the row stays issued and is found out about later."""

log = structlog.get_logger(__name__)


@final
class Broker:
    def __init__(self, ledger: Ledger, clock: Clock, ids: IdSource, registry: Registry) -> None:
        self._ledger = ledger
        self._clock = clock
        self._ids = ids
        self.registry = registry
        self._calls: dict[EffectId, asyncio.Task[None]] = {}
        self._once_more: set[EffectId] = set()
        """Intended again in the very commit that ended a call of theirs, which is not quite gone yet."""
        self._wanted: set[EffectId] = set()
        self._reading: asyncio.Future[dict[str, Effect]] | None = None
        self._turns: dict[str, asyncio.Semaphore] = {}
        self._waiters: dict[EffectId, set[asyncio.Event]] = {}
        self.soon: Callable[[EffectId], None] = lambda _: None
        """Told of an Effect that may be found out about at once."""

    def heard(self, committed: Committed) -> None:
        """Call what a person has allowed; wake whoever waits for the end of an Effect."""
        for fact in committed.facts:
            if isinstance(fact, ev.EffectSettled):
                for woken in self._waiters.get(fact.effect_id, ()):
                    woken.set()
            elif isinstance(fact, ev.EffectApproved) and len(self._calls) < WAITING:
                self.start(fact.effect_id)  # else the agent's own repeat starts it
            elif isinstance(fact, ev.EffectDoubted):
                self.soon(fact.effect_id)

    def start(self, effect_id: EffectId) -> None:
        """Make an intended Effect's call, unless it is under way. Returns at once.

        Raises:
            OverloadedError: as many are under way as may be; nothing was issued.
        """
        if effect_id in self._calls:
            self._once_more.add(effect_id)
            return
        if len(self._calls) >= WAITING:
            raise OverloadedError(f"{WAITING} calls are under way; repeat this later under the same key.")
        call = asyncio.ensure_future(self._call(effect_id))
        self._calls[effect_id] = call
        call.add_done_callback(lambda ended: self._is_over(effect_id, ended))

    def _is_over(self, effect_id: EffectId, ended: asyncio.Task[None]) -> None:
        self._calls.pop(effect_id, None)
        if effect_id in self._once_more and not ended.cancelled():
            self._once_more.discard(effect_id)
            self.start(effect_id)

    async def settled(self, effect_id: EffectId, wait_s: float) -> Effect | None:
        """The Effect as soon as it is confirmed or absent, or as it is after `wait_s`."""
        woken = asyncio.Event()
        self._waiters.setdefault(effect_id, set()).add(woken)
        until = asyncio.get_running_loop().time() + wait_s
        try:
            while True:
                woken.clear()
                effect = await self._find(effect_id)
                left = until - asyncio.get_running_loop().time()
                if effect is None or effect.has_ended or left <= 0:
                    return effect
                try:
                    async with asyncio.timeout(left):
                        await woken.wait()
                except TimeoutError:
                    continue
        finally:
            self._waiters[effect_id].discard(woken)
            if not self._waiters[effect_id]:
                del self._waiters[effect_id]

    async def _find(self, effect_id: EffectId) -> Effect | None:
        """The Effect as it is now. All whom one commit has woken share one read."""
        if self._reading is None:
            self._reading = asyncio.ensure_future(self._read())
        self._wanted.add(effect_id)
        return (await asyncio.shield(self._reading)).get(effect_id)

    async def _read(self) -> dict[str, Effect]:
        # It runs when the loop turns next, and by then all of them have asked.
        wanted, self._wanted, self._reading = self._wanted, set(), None
        return await self._ledger.find_many(Effect, wanted)

    async def close(self) -> None:
        """Give up what is under way. Issued calls are found out about at the next start."""
        calls = list(self._calls.values())
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        await self.registry.close()

    async def _call(self, effect_id: EffectId) -> None:
        try:
            effect = await self._find(effect_id)
            if effect is None or not effect.is_to_be_called:
                return
            try:
                reached = self.registry.reach(effect.target, effect.kind)
            except (NotFoundError, UnavailableError) as error:
                log.warning("nobody can call this", effect=effect_id, error=str(error))
                return
            async with self._turns.setdefault(reached.name, asyncio.Semaphore(IN_FLIGHT)):
                end = await self._call_now(effect, reached)
            if end is not None:  # recording it keeps nobody from calling
                await self._settle(end)
        except (UnavailableError, OutcomeUnknownError) as error:
            log.warning("the record is away; this call was not made", effect=effect_id, error=str(error))
        except Exception:
            log.exception("a call failed in a way nobody expected", effect=effect_id)

    async def _call_now(self, effect: Effect, reached: Reached) -> SettleEffect | None:
        """What became of the call; None if there was none."""
        if effect.calls and reached.finds(effect.kind) and await self._is_there(effect, reached):
            return None
        call_id = self._ids.new_id("call")
        issued_ns = self._clock.boot_ns()
        command = IssueEffect(effect.effect_id, call_id, round(CALL_S * 1000))
        answer = await self._issue(command)
        if not isinstance(answer, EffectAnswer) or not answer.is_issued:
            return None
        # From the request on, not from the commit: so we give up before the record says that we have.
        left_s = CALL_S - (self._clock.boot_ns() - issued_ns) / 1e9
        if left_s < TOO_LATE_S:
            return SettleEffect(effect.effect_id, call_id, CallEnd.ABSENT, reason="never sent: too late")
        return await self._send(effect, reached, call_id, left_s)

    async def _issue(self, command: IssueEffect) -> Any:
        """Issued for sure, or not at all: whether a lost commit was made is asked with the same call id."""
        for pause_s in SETTLE_PAUSES_S:
            try:
                return await self._ledger.execute(command)
            except OutcomeUnknownError:
                await pause(pause_s)
        return None

    async def _send(self, effect: Effect, reached: Reached, call_id: str, left_s: float) -> SettleEffect:
        call = await self.call_of(effect, reached, left_s)
        name = effect.effect_id
        try:
            async with asyncio.timeout(left_s):
                result = await reached.provider.apply(call)
        except DuplicateEffectError as error:
            return await self._find_duplicate(effect, reached, call, call_id, str(error))
        except (UnavailableError, ProviderRefusedError) as error:
            return SettleEffect(name, call_id, CallEnd.ABSENT, reason=reason_of(error))
        except Exception as error:  # noqa: BLE001 - whatever it was, it may have been done: that is all we know
            log.warning("the answer of a call was lost", effect=name, target=effect.target, error=str(error))
            return SettleEffect(name, call_id, CallEnd.LOST, reason=f"{type(error).__name__}: {error}"[:1000])
        return SettleEffect(name, call_id, CallEnd.CONFIRMED, result=result_text(result))

    async def _find_duplicate(
        self, effect: Effect, reached: Reached, call: Call, call_id: str, said: str
    ) -> SettleEffect:
        """The provider has it already: which one is it?"""
        try:
            found = await reached.provider.find(call)
        except TenureError as error:
            return SettleEffect(effect.effect_id, call_id, CallEnd.LOST, reason=f"{said}; {error}"[:1000])
        if found.result is not None:
            return SettleEffect(
                effect.effect_id, call_id, CallEnd.CONFIRMED, result=result_text(found.result), reason=said
            )
        return SettleEffect(effect.effect_id, call_id, CallEnd.LOST, reason=said[:1000])

    async def _settle(self, command: SettleEffect) -> None:
        for pause_s in SETTLE_PAUSES_S:
            try:
                await self._ledger.execute(command)
            except (UnavailableError, OutcomeUnknownError) as error:
                log.warning("an end could not be recorded yet", effect=command.effect_id, error=str(error))
                await pause(pause_s)
            else:
                return

    async def _is_there(self, effect: Effect, reached: Reached) -> bool:
        """Was it done by a call that was taken for lost? Asked before one that was called before is called again."""
        asked, found = await self.look(effect, reached)
        command = LookUpEffect(effect.effect_id, asked, *texts_of(found))
        answer = await self._ledger.execute(command)
        return not isinstance(answer, EffectAnswer) or not answer.may_be_called

    async def look(self, effect: Effect, reached: Reached) -> tuple[Now, Found]:
        """Ask the provider whether it has the Effect; when it was asked, and what it said.

        Raises:
            UnavailableError: it cannot be asked now, or gave no answer, or none that its adapter can take.
            ProviderRefusedError: it does not answer us.
            TenureError: another word of the adapter's.
        """
        asked = self._ledger.now()
        call = await self.call_of(effect, reached, CALL_S)
        try:
            async with asyncio.timeout(CALL_S):
                return asked, await reached.provider.find(call)
        except TenureError:
            raise
        except TimeoutError as error:
            raise UnavailableError(f"{reached.name} gave no answer within {CALL_S:g} s") from error
        except Exception as error:
            # A bug in one adapter is that of its own Effects: the others are asked for, and a person hears of these.
            raise UnavailableError(
                f"asking {reached.name} failed: {type(error).__name__}: {error}"
            ) from error

    async def call_of(self, effect: Effect, reached: Reached, deadline_s: float) -> Call:
        taken: list[str] = []
        before = effect.again_of
        for _ in range(100):  # a chain of repeats on purpose; longer ones are cut
            earlier = await self._ledger.find(Effect, before) if before is not None else None
            if earlier is None:
                break
            if earlier.result is not None:
                taken.append(msgspec.json.decode(earlier.result, type=Result).identity)
            before = earlier.again_of
        return Call(
            effect_id=effect.effect_id,
            params=msgspec.json.decode(effect.params, type=PARAMS[effect.kind]),
            target=reached.what,
            marker=marker_of(effect.effect_id),
            deadline_s=deadline_s,
            not_these=tuple(taken),
        )


def marker_of(effect_id: EffectId) -> str:
    """What a text carries so that its Effect can be recognised; invisible where Markdown is rendered."""
    return f"<!-- tenure:effect {effect_id} -->"


def result_text(result: Result) -> str:
    return msgspec.json.encode(result).decode()


def texts_of(found: Found) -> tuple[str | None, str | None]:
    """Result and contradiction as a lookup records them."""
    return (result_text(found.result) if found.result is not None else None), found.contradiction


def reason_of(error: TenureError) -> str:
    """Why nothing was done, with the code that a program reads."""
    return f"{error.code}: {error.message}"[:2000]
