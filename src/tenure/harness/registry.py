"""Which adapter drives which harness, and how a recipient is declared to the hub."""

from __future__ import annotations

import difflib
import hashlib
import hmac
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


def recipient_spec(recipient: RecipientSettings, secret: str) -> RecipientSpec:
    """A recipient as its node declares it to the hub.

    The digest tells when the settings are others, those in `env` too. Their values may be secrets, and a short one could be
    guessed from its digest; so each goes in as a code that only this node can make, with its own `secret`.
    """
    env = {name: _coded(name, value, secret) for name, value in recipient.env.items()}
    public = replace(recipient, env=env)
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


def _coded(name: str, value: str, secret: str) -> str:
    return hmac.new(
        secret.encode(), f"{name}={value}".encode("utf-8", "surrogatepass"), hashlib.sha256
    ).hexdigest()
