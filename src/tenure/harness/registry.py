"""Which adapter drives which harness, and how a recipient is declared to the hub."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from typing import Final

from msgspec.structs import replace

from tenure.core.canonical import digest
from tenure.core.recipient import RecipientSpec
from tenure.errors import ConfigurationError
from tenure.harness.command import CommandHarness
from tenure.harness.port import Harness
from tenure.runtime.settings_schema import RecipientSettings

HARNESSES: Final[Mapping[str, Callable[[RecipientSettings], Harness]]] = {"command": CommandHarness}
"""Every adapter by the name that `harness` has in a recipient's settings."""


def harness_for(recipient: RecipientSettings) -> Harness:
    """The adapter for a recipient.

    Raises:
        ConfigurationError: no adapter has that name.
    """
    make = HARNESSES.get(recipient.harness)
    if make is None:
        near = difflib.get_close_matches(recipient.harness, HARNESSES, 1, 0.5)
        hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(sorted(HARNESSES))}"
        raise ConfigurationError(
            f"recipient {recipient.name}: {recipient.harness!r} is not a known harness; {hint}",
            recipient=recipient.name,
            harness=recipient.harness,
        )
    return make(recipient)


def recipient_spec(recipient: RecipientSettings) -> RecipientSpec:
    """A recipient as its node declares it to the hub.

    The digest is over the settings without the values of `env`, which may be secrets: a short secret could be
    guessed from its digest.
    """
    public = replace(recipient, env=dict.fromkeys(recipient.env, ""))
    return RecipientSpec(
        name=recipient.name,
        harness=recipient.harness,
        model=recipient.model,
        pools=recipient.pools,
        capacity=recipient.capacity,
        isolation=recipient.isolation,
        config_digest=digest(public),
        provider=recipient.provider,
        resumes=recipient.can_resume,
    )
