"""Somebody whose token is bound to a project, and is revoked: what would break that is found."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tenure.core import commands as cm
from tenure.core import decide as deciding
from tenure.core.decision import Decision
from tenure.core.delivery import Now, Terms
from tenure.core.world import World
from tenure.hub import sight
from tenure.hub.access import Access
from tenure.sim.run.plan import plan_of
from tenure.sim.run.playing import Played, play
from tenure.sim.world import engine

PLAN = plan_of(2, 0)


def found_in(played: Played, rule: str) -> list[str]:
    return [one for one in played.found if one.startswith(rule)]


def test_every_plan_has_somebody_whose_token_is_bound_and_ends() -> None:
    kinds = {"credential_issued", "credential_revoked"}
    assert [one.kind for one in PLAN.deeds].count("guest") == 1
    played = play(PLAN)
    assert not played.found
    assert kinds <= set(played.kinds)
    assert any(": unauthenticated: " in one for one in played.refused)
    assert any(": not_found: " in one for one in played.refused)


def test_a_hub_that_never_forgets_a_token_and_a_core_that_does_not_ask_for_it_are_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    decide = deciding.decide

    def trusting(world: World, command: Any, now: Now, terms: Terms) -> Decision:
        whole = decide(world, command, now, terms)
        if isinstance(command, cm.Said) and getattr(whole.reply, "code", "") == "unauthenticated":
            bare = decide(world, command.command, now, terms)
            events = deciding.stamped(bare.events, getattr(command.command, "by", None), command.origin)
            return replace(bare, events=events)
        return whole

    monkeypatch.setattr(Access, "heard", lambda *_: None)
    assert not found_in(play(PLAN), "revoked: credential")  # the core still refuses what is said
    monkeypatch.setattr(engine, "decide", trusting)
    assert found_in(play(PLAN), "revoked: ")


def test_a_hub_that_keeps_nothing_of_other_projects_back_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sight, "may_know", lambda *_: True)
    found = "\n".join(found_in(play(PLAN), "tenancy: "))
    assert "of another project, and got" in found
    assert "bob read of t_" in found


def test_a_core_that_does_not_narrow_what_is_said_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deciding, "narrowed", lambda draft, *_: draft)
    assert found_in(play(PLAN), "tenancy: bob canceled t_")
