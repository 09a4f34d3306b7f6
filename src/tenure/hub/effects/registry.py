"""The providers of this hub, by the names that targets begin with: `NAME:what`.

Where a `look` is handed in, it says at each use which providers there are now: a credential that was replaced or taken
away counts from the next call on, without a restart. Calls that are under way keep the provider they began with; it is
closed once none of them can be left."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import final

from msgspec import Struct

from tenure.core.scope import EffectKind
from tenure.errors import NotFoundError, UnavailableError
from tenure.providers.port import Capabilities, Provider

CLOSED_AFTER_S = 120.0
"""A provider that was replaced is closed this much later: longer than any call or lookup takes."""


class Inlet(Struct, frozen=True):
    """What a provider's own webhooks are checked by: the kind of forge, and the secret shared with it."""

    kind: str
    secret: str

    def __repr__(self) -> str:
        """Without the secret."""
        return f"Inlet(kind={self.kind!r})"


class Roster(Struct, frozen=True):
    """What is configured at one moment, by name. `unusable`: why a provider that is configured cannot be used."""

    providers: Mapping[str, Provider] = {}
    unusable: Mapping[str, str] = {}
    inlets: Mapping[str, Inlet] = {}


class Reached(Struct, frozen=True):
    """A target, taken apart. `repositories` of a provider are those it may be used for; empty: all."""

    name: str
    what: str
    provider: Provider

    def finds(self, kind: EffectKind) -> bool:
        return kind in self.capabilities.finds

    @property
    def capabilities(self) -> Capabilities:
        return self.provider.capabilities


@final
class Registry:
    def __init__(
        self, providers: Mapping[str, Provider] | None = None, look: Callable[[], Roster] | None = None
    ) -> None:
        """`look` gives the same Roster again while nothing has changed; it is called within the event loop."""
        self._roster = Roster(providers=dict(providers or {}))
        self._look = look
        self._replaced: dict[Provider, asyncio.TimerHandle] = {}
        self._closing: set[asyncio.Task[None]] = set()

    @property
    def names(self) -> list[str]:
        return sorted(self._now().providers)

    def reach(self, target: str, kind: EffectKind | None = None) -> Reached:
        """The provider of a target.

        Raises:
            NotFoundError: nobody configured it here, or it cannot do this kind.
            UnavailableError: it is configured, and cannot be used as it is; nothing was done.
        """
        name, colon, what = target.partition(":")
        roster = self._now()
        provider = roster.providers.get(name) if colon else None
        if provider is None and colon and name in roster.unusable:
            raise UnavailableError(
                f"the provider {name!r} cannot be used: {roster.unusable[name]}", target=target[:200]
            )
        if provider is None:
            known = ", ".join(sorted(roster.providers)) or "none is configured"
            raise NotFoundError(
                f"no provider is called {name[:80]!r} here (there are: {known}). A target is PROVIDER:WHAT, as github:owner/repo.",
                target=target[:200],
            )
        reached = Reached(name, what, provider)
        if kind is not None and kind not in reached.capabilities.kinds:
            can = ", ".join(sorted(reached.capabilities.kinds))
            raise NotFoundError(f"the provider {name!r} does no {kind}; it does: {can}.", target=target[:200])
        return reached

    def inlet(self, kind: str, name: str) -> Inlet | None:
        """What the webhooks of the provider `name` are checked by; None unless it is of this kind and has a secret."""
        found = self._now().inlets.get(name)
        return found if found is not None and found.kind == kind else None

    async def close(self) -> None:
        for timer in self._replaced.values():
            timer.cancel()
        replaced, self._replaced = list(self._replaced), {}
        await asyncio.gather(*self._closing, return_exceptions=True)
        for provider in (*replaced, *self._roster.providers.values()):
            await provider.close()

    def _now(self) -> Roster:
        if self._look is None:
            return self._roster
        found = self._look()
        if found is not self._roster:
            kept = {id(one) for one in found.providers.values()}
            for provider in self._roster.providers.values():
                if id(provider) not in kept:
                    self._close_later(provider)
            self._roster = found
        return found

    def _close_later(self, provider: Provider) -> None:
        loop = asyncio.get_running_loop()
        self._replaced[provider] = loop.call_later(CLOSED_AFTER_S, self._close_now, provider)

    def _close_now(self, provider: Provider) -> None:
        del self._replaced[provider]
        closing = asyncio.ensure_future(provider.close())
        self._closing.add(closing)
        closing.add_done_callback(self._closing.discard)
