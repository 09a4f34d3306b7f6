"""One call to a provider, one question to it, and what may be said after either.

A call has one deadline for all of it: the request, and the question which one it is if the provider has it already. Only
a provider's own certain no is "nothing was done"; a bug in its adapter is a lost answer.

A provider that says when it wants to be asked again is left alone until then, for calls and questions alike. That is
kept in memory: after a restart it says so once more."""

from __future__ import annotations

import asyncio
from typing import final

import msgspec
import structlog
from msgspec.structs import replace

from tenure.core.clock import Clock
from tenure.core.delivery import Now
from tenure.core.effect import Effect
from tenure.core.effect_commands import CallEnd, SettleEffect
from tenure.core.effect_kind import PARAMS
from tenure.core.ids import EffectId
from tenure.errors import DuplicateEffectError, ProviderRefusedError, TenureError, UnavailableError
from tenure.hub.effects.registry import Reached
from tenure.ledger.port import Ledger
from tenure.providers.port import Call, Found, Result

REASON = 1000
LONGEST_REST_S = 3_600.0
"""However long a provider wants to be left alone, it is asked again after this."""
CHAIN = 100
"""Repeats on purpose, one of another, whose results are told apart; a longer chain is cut."""

log = structlog.get_logger(__name__)


@final
class Caller:
    def __init__(self, ledger: Ledger, clock: Clock) -> None:
        self._ledger = ledger
        self._clock = clock
        self._rests: dict[str, int] = {}

    def rest_s(self, provider: str) -> float:
        """How long this provider is still to be left alone."""
        left_ns = self._rests.get(provider, 0) - self._clock.boot_ns()
        if left_ns <= 0:
            self._rests.pop(provider, None)
        return max(0, left_ns) / 1e9

    def _heed(self, provider: str, error: TenureError) -> str:
        """What its error says for people, with the wait that it asks for, which is kept."""
        wait_s = error.facts.get("retry_after_s")
        if not isinstance(wait_s, int | float) or not wait_s > 0:
            return error.message
        until_ns = self._clock.boot_ns() + int(min(wait_s, LONGEST_REST_S) * 1e9)
        self._rests[provider] = max(until_ns, self._rests.get(provider, 0))
        return f"{error.message}; retry after {wait_s:g} s"

    async def send(self, effect: Effect, reached: Reached, call: Call, call_id: str) -> SettleEffect:
        """Make the call, within its own deadline. Raises nothing but a cancellation."""
        name = effect.effect_id
        try:
            async with asyncio.timeout(call.deadline_s):
                return await self._apply(name, reached, call, call_id)
        except (UnavailableError, ProviderRefusedError) as error:
            reason = self._heed(reached.name, error)
            return SettleEffect(name, call_id, CallEnd.ABSENT, code=error.code, reason=reason)
        except Exception as error:  # noqa: BLE001 - whatever it was, it may have been done: that is all we know
            log.warning("the answer of a call was lost", effect=name, target=effect.target, error=str(error))
            return SettleEffect(
                name, call_id, CallEnd.LOST, reason=f"{type(error).__name__}: {error}"[:REASON]
            )

    async def _apply(self, name: EffectId, reached: Reached, call: Call, call_id: str) -> SettleEffect:
        sent_ns = self._clock.boot_ns()
        try:
            result = await reached.provider.apply(call)
        except DuplicateEffectError as error:
            left_s = call.deadline_s - (self._clock.boot_ns() - sent_ns) / 1e9
            return await self._which(
                name, reached, replace(call, deadline_s=max(left_s, 0.0)), call_id, error
            )
        return SettleEffect(name, call_id, CallEnd.CONFIRMED, result=result_text(result))

    async def _which(
        self, name: EffectId, reached: Reached, call: Call, call_id: str, error: DuplicateEffectError
    ) -> SettleEffect:
        """The provider has it already: which one is it?"""
        said = error.message
        try:
            found = await reached.provider.find(call)
        except Exception as second:  # noqa: BLE001 - it did answer that it is there: no error makes that undone
            return SettleEffect(name, call_id, CallEnd.LOST, reason=f"{said}; {second}"[:REASON])
        if found.result is None and call.not_these and found.contradiction is None:
            # What is there is what was made before: a repeat on purpose that the provider does not take.
            reason = f"{said}; it has the one before ({', '.join(call.not_these[:3])}), and takes no second"
            return SettleEffect(
                name, call_id, CallEnd.ABSENT, code="duplicate_effect", reason=reason[:REASON]
            )
        if found.result is None:
            return SettleEffect(name, call_id, CallEnd.LOST, reason=said[:REASON])
        return SettleEffect(name, call_id, CallEnd.CONFIRMED, result=result_text(found.result), reason=said)

    async def look(self, effect: Effect, reached: Reached, within_s: float) -> tuple[Now, Found]:
        """Ask the provider whether it has the Effect; when it was asked, and what it said.

        Raises:
            UnavailableError: it cannot be asked now, or gave no answer, or none that its adapter can take.
            ProviderRefusedError: it does not answer us.
            TenureError: another word of the adapter's.
        """
        rest_s = self.rest_s(reached.name)
        if rest_s > 0:
            raise UnavailableError(f"{reached.name} wants to be left alone", retry_after_s=rest_s)
        asked = self._ledger.now()
        call = await self.call_of(effect, reached, within_s)
        try:
            async with asyncio.timeout(within_s):
                return asked, await reached.provider.find(call)
        except TenureError as error:
            self._heed(reached.name, error)
            raise
        except TimeoutError as error:
            raise UnavailableError(f"{reached.name} gave no answer within {within_s:g} s") from error
        except Exception as error:
            # A bug in one adapter is that of its own Effects: the others are asked for, and a person hears of these.
            raise UnavailableError(
                f"asking {reached.name} failed: {type(error).__name__}: {error}"
            ) from error

    async def call_of(self, effect: Effect, reached: Reached, deadline_s: float) -> Call:
        """The call that stands for an Effect.

        Raises:
            UnavailableError: the record does not answer.
        """
        taken: list[str] = []
        before = effect.again_of
        for _ in range(CHAIN):
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
