"""Targets have one spelling, and what overwrites a status is seen."""

from __future__ import annotations

import pytest

from tenure.core.effect_kind import Status
from tenure.core.effect_target import folded, target_problem
from tenure.core.scope import EffectKind, Scope, may
from tests.core.lab import Lab

SHA = "b" * 40
STATUSES = Scope(kinds=(EffectKind.STATUS,), targets=("*",))


@pytest.fixture
def lab() -> Lab:
    return Lab()


@pytest.mark.parametrize("target", ["github:owner/repo", "hook:", "origin:shop", "gl:group/sub/x.y"])
def test_a_target_is_a_provider_and_names_between_slashes(target: str) -> None:
    assert target_problem(target) is None


@pytest.mark.parametrize(
    "target",
    [
        "",
        "github",
        ":x",
        "gh:o//r",
        "gh:o/r?x=1",
        "gh:o /r",
        "gh:../r",
        "gh:o/./r",
        "gh:o/r.git",
        "gh:o/r%2e",
        "gh:/r",
        "g h:x",
    ],
)
def test_what_two_readers_could_read_in_two_ways_is_no_target(target: str) -> None:
    assert target_problem(target) is not None


def test_where_a_provider_ignores_case_the_scope_does_too() -> None:
    scope = Scope(kinds=(EffectKind.COMMENT,), targets=("gh:Own/Repo",))
    assert folded("gh:Own/Repo") == "gh:own/repo"
    assert may(scope, EffectKind.COMMENT, "gh:own/repo", None, folds=True) is None
    assert may(scope, EffectKind.COMMENT, "gh:own/repo", None) is not None


def done(lab: Lab, delivery: object, state: str, **more: str) -> str:
    answer = lab.begin(delivery, Status(sha=SHA, context="ci", state=state), **more)  # type: ignore[arg-type] - a Delivery
    lab.issue(answer.effect_id)
    lab.settle(answer.effect_id)
    lab.pass_s(1)
    return answer.effect_id


@pytest.mark.parametrize("key", [None, "another"])
def test_a_status_that_was_overwritten_is_not_told_as_if_it_were_so(lab: Lab, key: str | None) -> None:
    _, delivery = lab.performing(scope=STATUSES)
    first = done(lab, delivery, "success")
    assert lab.begin(delivery, Status(sha=SHA, context="ci", state="success")).effect_id == first
    second = done(lab, delivery, "failure")
    told = lab.begin(delivery, Status(sha=SHA, context="ci", state="success"), key=key)
    assert (told.code, told.facts) == ("conflict", {"effect_id": second})
    third = done(lab, delivery, "success", again="the tests pass now")
    assert lab.effect(third).state == "confirmed"  # type: ignore[arg-type] - an id
    assert lab.begin(delivery, Status(sha=SHA, context="ci", state="failure")).code == "conflict"
