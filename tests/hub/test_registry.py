"""The registry: what is configured now counts at the next use, and what was replaced is let go later."""

from __future__ import annotations

import pytest

from tenure.core.scope import EffectKind
from tenure.errors import NotFoundError, UnavailableError
from tenure.hub.effects.registry import Inlet, Registry, Roster
from tests.hub.fake_provider import FakeProvider


class Closing(FakeProvider):
    closed = 0

    async def close(self) -> None:
        self.closed += 1


async def test_a_provider_that_was_replaced_is_used_no_more_and_closed_once() -> None:
    first, second = Closing(), Closing()
    roster = Roster(providers={"forge": first})
    registry = Registry(look=lambda: roster)
    assert registry.reach("forge:shop").provider is first
    roster = Roster(providers={"forge": second})
    assert registry.reach("forge:shop").provider is second
    assert first.closed == 0, "a call may be under way"
    await registry.close()
    assert (first.closed, second.closed) == (1, 1)


async def test_a_provider_that_did_not_change_is_kept_when_another_one_did() -> None:
    kept = Closing()
    roster = Roster(providers={"forge": kept})
    registry = Registry(look=lambda: roster)
    assert registry.names == ["forge"]
    roster = Roster(providers={"forge": kept, "hook": Closing()})
    assert registry.names == ["forge", "hook"]
    assert registry.reach("forge:shop").provider is kept
    await registry.close()
    assert kept.closed == 1


async def test_a_provider_that_was_removed_is_not_there_any_more() -> None:
    roster = Roster(providers={"forge": Closing()})
    registry = Registry(look=lambda: roster)
    registry.reach("forge:shop")
    roster = Roster()
    with pytest.raises(NotFoundError):
        registry.reach("forge:shop")
    await registry.close()


def test_a_provider_that_cannot_be_used_is_unavailable_with_the_reason() -> None:
    registry = Registry(look=lambda: roster)
    roster = Roster(unusable={"forge": "its credential cannot be decrypted"})
    with pytest.raises(UnavailableError, match="cannot be decrypted"):
        registry.reach("forge:shop", EffectKind.PUSH)


def test_an_inlet_is_there_for_its_own_kind_only_and_never_shows_its_secret() -> None:
    registry = Registry(look=lambda: roster)
    roster = Roster(inlets={"forge": Inlet("github", "hidden-secret")})
    assert registry.inlet("gitea", "forge") is None
    assert registry.inlet("github", "other") is None
    found = registry.inlet("github", "forge")
    assert found is not None
    assert "hidden" not in repr(found)
    assert "hidden" not in repr(roster)
