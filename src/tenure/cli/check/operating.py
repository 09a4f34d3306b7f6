"""What `doctor` asks of how the hub works: is something paused, a provider without room, a policy without its effect?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tenure.cli.check.finding import Finding, warn
from tenure.errors import TenureError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tenure.client.hub import HubClient
    from tenure.wire.accounts import CircuitBody, PauseBody
    from tenure.wire.api import RecipientBody

NAMED = 5


async def check_operating(hub: HubClient) -> list[Finding]:
    """Everything that keeps work back on purpose; nothing where nothing does, or where the hub does not tell us."""
    try:
        found = [*paused(await hub.pauses()), *left_alone(await hub.circuits())]
        policies = {one.policy for one in await hub.policies() if one.unknown == "auto"}
        if policies and any(one.means in policies for one in await hub.policy_choices()):
            found += without_effect(await hub.recipients())
    except TenureError:  # who may not ask was told so by the check of the token
        return []
    return found


def paused(pauses: Iterable[PauseBody]) -> list[Finding]:
    return [
        warn(
            "paused",
            f"{one.subject} is paused by {one.paused.by}: {one.paused.because}",
            f"`tenure resume {one.subject}`",
        )
        for one in pauses
        if one.paused is not None
    ]


def left_alone(circuits: Iterable[CircuitBody]) -> list[Finding]:
    return [
        warn(
            "circuit",
            f"{one.quota} has no room until {one.until_at}: {one.because}",
            "it goes on by itself; see `tenure circuits`",
        )
        for one in circuits
    ]


def without_effect(recipients: Iterable[RecipientBody]) -> list[Finding]:
    exposed = [one.address for one in recipients if one.isolation == "open"]
    if not exposed:
        return []
    more = f" and {len(exposed) - NAMED} more" if len(exposed) > NAMED else ""
    return [
        warn(
            "policy",
            f'a policy in use says unknown = "auto", which does nothing for {", ".join(exposed[:NAMED])}{more}: isolation open',
            "a person is asked there; isolate them (docs/guides/isolation.md)",
        )
    ]
