"""The providers of this hub, by the names that targets begin with: `NAME:what`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import final

from msgspec import Struct

from tenure.core.scope import EffectKind
from tenure.errors import NotFoundError
from tenure.providers.port import Capabilities, Provider


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
    def __init__(self, providers: Mapping[str, Provider] | None = None) -> None:
        self._providers = dict(providers or {})

    @property
    def names(self) -> list[str]:
        return sorted(self._providers)

    def reach(self, target: str, kind: EffectKind | None = None) -> Reached:
        """The provider of a target.

        Raises:
            NotFoundError: nobody configured it here, or it cannot do this kind.
        """
        name, colon, what = target.partition(":")
        provider = self._providers.get(name) if colon else None
        if provider is None:
            known = ", ".join(self.names) or "none is configured"
            raise NotFoundError(
                f"no provider is called {name[:80]!r} here (there are: {known}). A target is PROVIDER:WHAT, as github:owner/repo.",
                target=target[:200],
            )
        reached = Reached(name, what, provider)
        if kind is not None and kind not in reached.capabilities.kinds:
            can = ", ".join(sorted(reached.capabilities.kinds))
            raise NotFoundError(f"the provider {name!r} does no {kind}; it does: {can}.", target=target[:200])
        return reached

    async def close(self) -> None:
        for provider in self._providers.values():
            await provider.close()
