"""What a scope allows, and where its bounds are."""

from __future__ import annotations

from typing import Any

import pytest

from tenure.core import commands as cm
from tenure.core.effect_commands import CallEnd
from tenure.core.effect_kind import Comment, Push
from tenure.core.ids import TaskId
from tenure.core.limits import EFFECTS, NAME_LENGTH, OPEN_EFFECTS, SCOPE_PATTERNS
from tenure.core.scope import EffectKind, Scope, fits, may, may_change, scope_problem
from tenure.core.task import TaskSpec
from tests.core.lab import OTHER_SHA, SCOPE, SHA, Lab, pull_request

PR = EffectKind.PULL_REQUEST


def scope(**changes: Any) -> Scope:
    return Scope(**{"kinds": (PR,), "targets": ("forge:acme/*",), "branches": ("tenure/*",), **changes})


def test_without_a_scope_nothing_may_be_done_outside(lab: Lab) -> None:
    _, _, delivery = lab.running()
    refusal = lab.begin(delivery)
    assert refusal.code == "out_of_scope"
    assert "has no scope" in refusal.message


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"kinds": ()}, "does not list pull_request (it lists nothing)"),
        ({"kinds": (EffectKind.COMMENT,)}, "(it lists comment)"),
        ({"targets": ()}, "does not list 'forge:acme/app'"),
        ({"targets": ("forge:other/*",)}, "(it lists forge:other/*)"),
        ({"branches": ()}, "does not list the branch 'tenure/one' (it lists none)"),
        ({"branches": ("feature/*",)}, "the branch 'tenure/one'"),
    ],
)
def test_what_the_scope_does_not_list_is_refused_and_nothing_is_recorded(
    lab: Lab, changes: dict[str, Any], says: str
) -> None:
    task_id, delivery = lab.performing(scope=scope(**changes))
    before = len(lab.events)
    refusal = lab.begin(delivery)
    assert refusal.code == "out_of_scope"
    assert says in refusal.message
    assert len(lab.events) == before
    assert lab.task(task_id).effects == 0


def test_a_kind_without_a_branch_needs_none(lab: Lab) -> None:
    _, delivery = lab.performing(scope=scope(kinds=(EffectKind.COMMENT,), branches=()))
    assert lab.begin(delivery, Comment(number=1, body="x")).state == "intended"


def test_a_push_needs_the_branch_that_it_moves(lab: Lab) -> None:
    _, delivery = lab.performing()
    assert lab.begin(delivery, Push(ref="main", old=OTHER_SHA, new=SHA)).code == "out_of_scope"
    assert lab.begin(delivery, Push(ref="tenure/x", old=OTHER_SHA, new=SHA)).state == "intended"


@pytest.mark.parametrize(
    ("pattern", "text", "does"),
    [
        ("*", "anything/at all\n", True),
        ("forge:acme/app", "forge:acme/app", True),
        ("forge:acme/app", "forge:acme/apps", False),
        ("forge:acme/*", "forge:acme/", True),
        ("forge:acme/*", "forge:acmeother/x", False),
        ("a.c", "abc", False),
        ("a[b]?", "a[b]?", True),
        ("*/docs/*", "x/docs/y/z", True),
        ("tenure/*", "xtenure/y", False),
        ("tenure/*", "tenure/y\n", True),
    ],
)
def test_a_star_stands_for_anything_and_all_else_for_itself(pattern: str, text: str, does: bool) -> None:
    assert fits(pattern, text) is does


def test_paths_that_are_not_named_may_not_be_changed() -> None:
    assert may_change(scope(), "anything")
    assert may_change(scope(paths=("src/*", "docs/*")), "src/a/b.py")
    assert not may_change(scope(paths=("src/*",)), "ci/deploy.yml")
    assert may(None, PR, "x", None) is not None


def test_no_more_effects_are_begun_than_the_scope_allows_and_what_is_there_is_told_beyond(lab: Lab) -> None:
    _, delivery = lab.performing(scope=scope(most=2))
    first = lab.begin(delivery).effect_id
    lab.issue(first)
    lab.settle(first)
    lab.begin(delivery, pull_request("tenure/two"))
    assert lab.begin(delivery, key="other").adopted
    refusal = lab.begin(delivery, pull_request("tenure/three"))
    assert refusal.code == "out_of_scope"
    assert refusal.facts == {"effects": 2, "most": 2}
    assert lab.begin(delivery).state == "confirmed", "what is recorded is told all the same"


@pytest.mark.parametrize("state", ["intended", "issued", "in_doubt"])
def test_what_is_recorded_is_told_although_the_scope_allows_no_more(lab: Lab, state: str) -> None:
    _, delivery = lab.performing(scope=scope(most=1))
    effect_id = lab.begin(delivery).effect_id
    if state != "intended":
        lab.issue(effect_id)
    if state == "in_doubt":
        lab.settle(effect_id, CallEnd.LOST)
    assert lab.begin(delivery).state == state


def test_another_try_of_what_proved_absent_is_no_other_effect(lab: Lab) -> None:
    _, delivery = lab.performing(scope=scope(most=1))
    effect_id = lab.begin(delivery).effect_id
    lab.issue(effect_id)
    lab.settle(effect_id, CallEnd.ABSENT)
    assert lab.begin(delivery).effect_id == effect_id
    assert lab.begin(delivery, pull_request("tenure/other")).code == "out_of_scope"


def test_so_many_effects_are_open_at_a_time_and_no_more(lab: Lab) -> None:
    task_id, delivery = lab.performing(scope=scope(most=EFFECTS))
    for one in range(OPEN_EFFECTS):
        assert lab.begin(delivery, pull_request(f"tenure/{one}")).state == "intended"
    refusal = lab.begin(delivery, pull_request("tenure/more"))
    assert refusal.code == "out_of_scope"
    first = lab.task(task_id).open_effects[0]
    lab.issue(first)
    lab.settle(first)
    assert lab.begin(delivery, pull_request("tenure/more")).state == "intended"


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"targets": ("x",) * (SCOPE_PATTERNS + 1)}, "targets"),
        ({"branches": ("x",) * (SCOPE_PATTERNS + 1)}, "branches"),
        ({"paths": ("x",) * (SCOPE_PATTERNS + 1)}, "paths"),
        ({"targets": ("",)}, "needs 1 to"),
        ({"targets": ("x" * (4 * NAME_LENGTH + 1),)}, "needs 1 to"),
        ({"branches": ("*****",)}, "at most four"),
        ({"most": 0}, "most is 0"),
        ({"most": EFFECTS + 1}, "most is"),
        ({"approval": (EffectKind.MERGE,)}, "approval names merge"),
    ],
)
def test_a_scope_that_is_none_is_refused_with_its_task(lab: Lab, changes: dict[str, Any], says: str) -> None:
    bad = scope(**changes)
    assert says in (scope_problem(bad) or "")
    spec = TaskSpec(objective="do it", route="claude", scope=bad)
    refusal = lab.run(cm.Submit(TaskId("t_bad"), spec, "ann", "key"))
    assert (refusal.code, refusal.facts) == ("invalid", {"field": "scope"})
    assert scope_problem(SCOPE) is None
