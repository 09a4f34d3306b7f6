"""The broker: it makes the calls to providers, each once, and writes down what became of them.

Two fenced commits stand before a call (`begin`, `issue`), one after it (`settle`). Between issue and send it looks at
the clock once more: a call whose time is nearly over is not sent. A call belongs to this process and to nobody's
request: whoever asked may go away, the call goes on and is settled.

What keeps a call from being made (its provider cannot be reached, wants to be left alone or does not answer whether it
has the Effect; the lease ran out) leaves the Effect intended. Whoever waits is told that very reason, and asks again
under the same key.

Crash between any two lines: before `issue` nothing was called, and the intent dies with its lease or is taken up by
the agent's own repeat. After it the next start finds a call of a hub that is gone, and asks the provider. An orderly end
waits for calls under way, within a bound, so that few are left to be found out about."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import final

import structlog
from msgspec.structs import replace

from tenure.core import effect_events as ev
from tenure.core.clock import Clock, IdSource
from tenure.core.commands import Reply
from tenure.core.delivery import Now
from tenure.core.effect import Effect
from tenure.core.effect_commands import CallEnd, EffectAnswer, IssueEffect, LookUpEffect, SettleEffect
from tenure.core.ids import EffectId
from tenure.errors import (
    FaultError,
    LeaseExpiredError,
    OutcomeUnknownError,
    OverloadedError,
    TenureError,
    UnavailableError,
)
from tenure.hub.effects.caller import Caller, texts_of
from tenure.hub.effects.registry import Reached, Registry
from tenure.hub.pause import pause
from tenure.ledger.port import Committed, Ledger
from tenure.providers.port import Found

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
STOP_S = 5.0
"""How long an orderly end waits for calls under way and the record of their ends: most answers take a second or two, and
who stops the hub kills it after 20."""

STOPPING = "the hub is stopping; nothing was done. Ask again under the same key."

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
        self._waiters: dict[EffectId, dict[asyncio.Event, None]] = {}
        """In the order in which they came, so that they are woken in it."""
        self._caller = Caller(ledger, clock)
        self._kept: dict[EffectId, TenureError] = {}
        self._is_stopping = False
        self.stop_s = STOP_S
        self.soon: Callable[[EffectId], None] = lambda _: None
        """Told of an Effect that may be found out about at once."""

    def heard(self, committed: Committed) -> None:
        """Call what a person has allowed; wake whoever waits for the end of an Effect."""
        for fact in committed.facts:
            if isinstance(fact, ev.EffectSettled):
                self._kept.pop(fact.effect_id, None)
                self._wake(fact.effect_id)
            elif isinstance(fact, ev.EffectApproved) and len(self._calls) < WAITING and not self._is_stopping:
                self.start(fact.effect_id)  # else the agent's own repeat starts it

    def _wake(self, effect_id: EffectId) -> None:
        for woken in self._waiters.get(effect_id, ()):
            woken.set()

    def missed(self) -> None:
        """A commit may have gone by unheard: whoever waits for the end of an Effect looks."""
        for effect_id in tuple(self._waiters):
            self._wake(effect_id)

    def kept_by(self, effect: Effect) -> TenureError | None:
        """What kept an intended Effect from being called when that was last tried; nothing was sent then."""
        return self._kept.get(effect.effect_id) if effect.is_to_be_called else None

    def rest_s(self, effect: Effect) -> float:
        """How long the provider of an Effect is still to be left alone."""
        return self._caller.rest_s(effect.target.partition(":")[0])

    def start(self, effect_id: EffectId) -> None:
        """Make an intended Effect's call, unless it is under way. Returns at once.

        Raises:
            OverloadedError: as many are under way as may be; nothing was issued.
            UnavailableError: the hub is stopping; nothing was issued.
        """
        if self._is_stopping:
            raise UnavailableError(STOPPING)
        if effect_id in self._calls:
            self._once_more.add(effect_id)
            return
        if len(self._calls) >= WAITING:
            raise OverloadedError(f"{WAITING} calls are under way; repeat this later under the same key.")
        self._kept.pop(effect_id, None)
        call = asyncio.ensure_future(self._call(effect_id))
        self._calls[effect_id] = call
        call.add_done_callback(lambda ended: self._is_over(effect_id, ended))

    def _is_over(self, effect_id: EffectId, ended: asyncio.Task[None]) -> None:
        self._calls.pop(effect_id, None)
        is_wanted = effect_id in self._once_more
        self._once_more.discard(effect_id)
        if is_wanted and not ended.cancelled() and not self._is_stopping:
            self.start(effect_id)
        elif effect_id in self._kept:
            self._wake(effect_id)

    async def settled(self, effect_id: EffectId, wait_s: float) -> Effect | None:
        """The Effect as soon as it is confirmed or absent or cannot be called now, or as it is after `wait_s`."""
        woken = asyncio.Event()
        self._waiters.setdefault(effect_id, {})[woken] = None
        until = asyncio.get_running_loop().time() + wait_s
        try:
            while True:
                woken.clear()
                effect = await self._find(effect_id)
                left = until - asyncio.get_running_loop().time()
                if effect is None or effect.has_ended or left <= 0 or self._is_stopping:
                    return effect
                if self.kept_by(effect) is not None and effect_id not in self._calls:
                    return effect
                try:
                    async with asyncio.timeout(left):
                        await woken.wait()
                except TimeoutError:
                    continue
        finally:
            del self._waiters[effect_id][woken]
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

    def let_go(self) -> None:
        """Start nothing more, and let go of whoever waits for an end. More than once is no harm."""
        self._is_stopping = True
        for effect_id in self._waiters:
            self._wake(effect_id)

    async def close(self) -> None:
        """Wait up to `stop_s` for the calls under way and the record of their ends, then give them up: those are found
        out about at the next start."""
        self.let_go()
        if self._calls:
            _, left = await asyncio.wait(list(self._calls.values()), timeout=self.stop_s)
            if left:
                log.warning("calls are given up, and found out about at the next start", calls=len(left))
            for call in left:
                call.cancel()
            await asyncio.gather(*left, return_exceptions=True)
        await self.registry.close()

    async def _call(self, effect_id: EffectId) -> None:
        try:
            effect = await self._find(effect_id)
            if effect is None or not effect.is_to_be_called:
                return
            reached = self.registry.reach(effect.target, effect.kind)
            async with self._turns.setdefault(reached.name, asyncio.Semaphore(IN_FLIGHT)):
                end = await self._call_now(effect, reached)
            if end is not None:  # recording it keeps nobody from calling
                await self._settle(end)
        except OutcomeUnknownError as error:
            self._keep(effect_id, UnavailableError(f"the record is away ({error.message}); nothing was sent"))
        except TenureError as error:
            self._keep(effect_id, error)
        except Exception:
            log.exception("a call failed in a way nobody expected", effect=effect_id)
            self._keep(effect_id, FaultError("the hub failed at this call; its log says more"))

    def _keep(self, effect_id: EffectId, error: TenureError) -> None:
        """An Effect that stays intended was not called, for this reason."""
        log.warning("an effect was not called now", effect=effect_id, code=error.code, error=error.message)
        if len(self._kept) >= WAITING:
            del self._kept[next(iter(self._kept))]
        self._kept[effect_id] = error

    async def _call_now(self, effect: Effect, reached: Reached) -> SettleEffect | None:
        """What became of the call; None if there was none.

        Raises:
            TenureError: it was not made, for this reason.
        """
        self._may_call(reached)
        if effect.calls and reached.finds(effect.kind) and await self._is_there(effect, reached):
            return None
        call = await self._caller.call_of(effect, reached, CALL_S)
        self._may_call(reached)
        call_id = self._ids.new_id("call")
        issued_ns = self._clock.boot_ns()
        if not await self._issue(IssueEffect(effect.effect_id, call_id, round(CALL_S * 1000))):
            return None
        # From the request on, not from the commit: so we give up before the record says that we have.
        left_s = CALL_S - (self._clock.boot_ns() - issued_ns) / 1e9
        if left_s < TOO_LATE_S:
            return SettleEffect(
                effect.effect_id, call_id, CallEnd.ABSENT, code="unavailable", reason="never sent: too late"
            )
        return await self._caller.send(effect, reached, replace(call, deadline_s=left_s), call_id)

    def _may_call(self, reached: Reached) -> None:
        """Nothing new is begun at an end, or while the provider wants to be left alone.

        Raises:
            UnavailableError: one of these is so.
        """
        if self._is_stopping:
            raise UnavailableError(STOPPING)
        rest_s = self._caller.rest_s(reached.name)
        if rest_s > 0:
            raise UnavailableError(
                f"{reached.name} wants to be left alone, so it was not called; retry after {rest_s:.1f} s",
                retry_after_s=rest_s,
            )

    async def _issue(self, command: IssueEffect) -> bool:
        """Is the call issued for sure? Whether a lost commit was made is asked with the same call id.

        Raises:
            LeaseExpiredError: the lease ran out, and may be renewed yet.
            UnavailableError: the record does not take it.
            OutcomeUnknownError: nor does it say whether it did.
        """
        for pause_s in SETTLE_PAUSES_S:
            try:
                answer = await self._ledger.execute(command)
            except OutcomeUnknownError:
                await pause(pause_s)
            else:
                return _is_issued(answer)
        raise OutcomeUnknownError("it cannot be told whether the call was recorded")

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
        """Was it done by a call that was taken for lost? Asked before one that was called before is called again.

        Raises:
            TenureError: nobody can tell now; then it is not called.
        """
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
        return await self._caller.look(effect, reached, CALL_S)


def _is_issued(answer: Reply) -> bool:
    """May the call be made?

    Raises:
        LeaseExpiredError: the lease ran out, and may be renewed yet.
    """
    if not isinstance(answer, EffectAnswer):
        return False
    if answer.problem == LeaseExpiredError.code:
        raise LeaseExpiredError(
            "the lease ran out and has not been renewed, so it was not called. Wait a little, then repeat this."
        )
    return answer.is_issued
