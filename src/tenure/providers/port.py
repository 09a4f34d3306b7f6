"""The port: what every provider offers.

`apply` makes the call once and never repeats it by itself. `find` asks the provider whether it has the Effect, by the
provider's own identity (head and base, a marker in the text, a delivery id), never by what we remember.

The errors carry the one difference that matters (`tenure.errors`): after `UnavailableError` and its kinds, and after
`ProviderRefusedError`, nothing was done; after `OutcomeUnknownError` it may have been done. An adapter that is not
sure says unknown: connect failures and complete answers that say no are certain, everything after the first byte of a
request was sent is not."""

from __future__ import annotations

from typing import Any, Protocol

from msgspec import Struct

from tenure.core.effect_kind import Params
from tenure.core.scope import EffectKind


class Call(Struct, frozen=True, kw_only=True):
    """One call, as the hub hands it to a provider.

    `target`: what the Effect is about within the provider (`owner/repo`; empty for a webhook). `marker`: what text
    carries so that `find` can recognise it; the same for every call of one Effect. `deadline_s`: seconds from now by
    which the transport gives up. `not_these`: results that belong to other Effects of the same identity (a repeat on
    purpose) and are not to be taken for this one."""

    effect_id: str
    params: Params
    target: str
    marker: str
    deadline_s: float
    not_these: tuple[str, ...] = ()

    @property
    def kind(self) -> EffectKind:
        return self.params.kind


class Result(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The provider's word. `identity`: its own name for what was made (a number, an id, a SHA); `url` for people;
    `facts`: what else is worth keeping, small."""

    identity: str
    url: str | None = None
    facts: dict[str, Any] = {}


class Found(Struct, frozen=True, kw_only=True):
    """What `find` saw. `result`: it is there. `contradiction`: what is there cannot be told from it, or disagrees
    with it. Neither: it is not there."""

    result: Result | None = None
    contradiction: str | None = None


class Capabilities(Struct, frozen=True, kw_only=True):
    """`kinds`: what it can do. `finds`: which of them it can be asked for. `settling_s`: how long after a call its
    own answers may not show it yet. `folds_case`: names of what is in it ignore case."""

    kinds: frozenset[EffectKind]
    finds: frozenset[EffectKind]
    settling_s: float
    folds_case: bool = False


class Provider(Protocol):
    @property
    def capabilities(self) -> Capabilities: ...

    async def apply(self, call: Call) -> Result:
        """Do it, once.

        Raises:
            UnavailableError: nothing was done (no connection; 429, and a 403 that names a limit, with their `retry_after_s`).
            ProviderRefusedError: the provider said no; nothing was done.
            DuplicateEffectError: the provider says that it is there already; `find` says which.
            OutcomeUnknownError: it may have been done.
        """
        ...

    async def find(self, call: Call) -> Found:
        """Is it there? Only reads.

        Raises:
            UnavailableError: the provider cannot be asked now.
            ProviderRefusedError: it does not answer us (credential, no such repository).
        """
        ...

    async def close(self) -> None:
        """Let go of connections."""
        ...
