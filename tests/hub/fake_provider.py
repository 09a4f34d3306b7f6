"""A provider whose answers can be lost, late or contradictory, and which counts what it really did."""

from __future__ import annotations

import asyncio
from collections import Counter

from tenure.core.scope import EffectKind
from tenure.errors import DuplicateEffectError, OutcomeUnknownError, ProviderRefusedError, UnavailableError
from tenure.providers.port import Call, Capabilities, Found, Result


class FakeProvider:
    """`fault` is what happens to the next call: `lost` (done, no answer), `never` (not done, no answer), `refused`,
    `away`, `bug`. `done` counts by what the provider knows an Effect by."""

    def __init__(self, *, finds: bool = True, settling_s: float = 0.0) -> None:
        kinds = frozenset(EffectKind) - {EffectKind.COMMIT}
        self._capabilities = Capabilities(
            kinds=kinds, finds=kinds if finds else frozenset(), settling_s=settling_s
        )
        self.done: Counter[str] = Counter()
        self.calls = 0
        self.looks = 0
        self.most_at_once = 0
        self.at_once = 0
        self.faults: list[str] = []
        self.away = False
        self.contradicts = False
        self.holds: asyncio.Event | None = None

    @property
    def capabilities(self) -> Capabilities:
        return self._capabilities

    async def apply(self, call: Call) -> Result:
        self.calls += 1
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        fault = self.faults.pop(0) if self.faults else ""
        try:
            if self.holds is not None:
                await self.holds.wait()
            if fault == "refused":
                raise ProviderRefusedError("422: no")
            if fault == "away":
                raise UnavailableError("no connection")
            if fault == "never":
                raise OutcomeUnknownError("the connection was cut")
            name = known_as(call)
            if self.done[name] and call.params.identity is not None:
                raise DuplicateEffectError("it is there already")
            self.done[name] += 1
            if fault == "lost":
                raise OutcomeUnknownError("the answer was lost")
            if fault == "bug":
                raise ValueError("not JSON")
            return Result(identity=name, url=f"https://forge.example/{name}")
        finally:
            self.at_once -= 1

    async def find(self, call: Call) -> Found:
        self.looks += 1
        if self.away:
            raise UnavailableError("the provider is away")
        if self.contradicts:
            return Found(contradiction="two of them")
        name = known_as(call)
        return Found(result=Result(identity=name)) if self.done[name] else Found()

    async def close(self) -> None:
        return None


def known_as(call: Call) -> str:
    return f"{call.target}#{call.params.identity or call.marker}"
