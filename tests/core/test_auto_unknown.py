"""`unknown = "auto"`: the machine may answer an unknown outcome itself, only where nothing can have happened unseen."""

from __future__ import annotations

from typing import Any

import pytest

from tenure.core.attempt import Answer, Relation, Verdict
from tenure.core.attention import AttentionKind
from tenure.core.budget import Budget
from tenure.core.delivery import Delivery
from tenure.core.effect_commands import CallEnd
from tenure.core.ids import NodeId, TaskId
from tests.core.lab import SCOPE, Lab


@pytest.fixture
def auto(lab: Lab) -> Lab:
    lab.store_auto()
    return lab


def isolated(lab: Lab, isolation: str = "sandbox", **spec: Any) -> tuple[NodeId, TaskId, Delivery]:
    """At work on `one`; `other` could take it over."""
    one = lab.node("one", pools=("pool",), isolation=isolation)
    other = lab.node("other", pools=("pool",))
    task_id = lab.submit(**{"route": "pool", "policy": "auto", "scope": SCOPE, **spec})
    return other, task_id, lab.work(one)


@pytest.mark.parametrize("isolation", ["user", "sandbox"])
@pytest.mark.parametrize("how", ["lost", "reported"])
def test_an_isolated_attempt_is_tried_again_on_another_recipient_and_the_block_stays(
    auto: Lab, isolation: str, how: str
) -> None:
    other, task_id, delivery = isolated(auto, isolation)
    if how == "lost":
        auto.lose(delivery)
    else:
        auto.report(delivery, Verdict.UNKNOWN, tree_gone=False)
    first, second = auto.attempt(task_id), auto.attempt(task_id, 2)
    assert (first.verdict, first.answer, first.answer_by) == (Verdict.UNKNOWN, Answer.RERUN, "policy:auto/1")
    assert (second.spec.avoid, second.spec.relation) == (("claude@one",), Relation.TAKEOVER)
    assert auto.recipient("claude@one").is_blocked
    assert auto.open_items() == ["recipient_blocked"]  # its processes may still run there
    assert auto.work(other).number == 2


@pytest.mark.parametrize(
    ("isolation", "spec"),
    [
        ("open", {}),
        ("sandbox", {"route": "claude@one"}),
        ("sandbox", {"policy": "default"}),
        ("sandbox", {"budget": Budget(attempts=1)}),
    ],
)
def test_where_something_could_have_happened_unseen_or_there_is_no_room_a_person_answers(
    auto: Lab, isolation: str, spec: dict[str, Any]
) -> None:
    _, task_id, delivery = isolated(auto, isolation, **spec)
    auto.lose(delivery)
    assert auto.task(task_id).attempts == 1
    assert auto.open_items() == ["unknown"]
    assert auto.answer(task_id, 1, Answer.RERUN).successor == 2


def test_after_the_deadline_a_person_answers(auto: Lab) -> None:
    _, task_id, delivery = isolated(auto, deadline_ms=auto.now.wall_ms + 60_000)
    auto.lose(delivery)
    assert (auto.task(task_id).attempts, auto.open_items()) == (1, ["unknown"])


def test_it_waits_until_every_effect_is_known(auto: Lab) -> None:
    _, task_id, delivery = isolated(auto)
    effect_id = auto.begin(delivery).effect_id
    auto.issue(effect_id)
    auto.lose(delivery)
    assert auto.task(task_id).attempts == 1
    assert auto.item(AttentionKind.UNKNOWN, f"{task_id}/1") is not None
    auto.find_absent(effect_id)
    assert auto.task(task_id).attempts == 2
    assert auto.open_items() == ["recipient_blocked"]


def test_a_person_who_was_quicker_has_answered(auto: Lab) -> None:
    _, task_id, delivery = isolated(auto)
    effect_id = auto.begin(delivery).effect_id
    auto.issue(effect_id)
    auto.lose(delivery)
    auto.answer(task_id, 1, Answer.INVESTIGATE)
    auto.settle(effect_id, CallEnd.CONFIRMED)
    assert auto.attempt(task_id).answer_by == "ann"
    assert auto.answer(task_id, 1, Answer.RETIRE).answer is Answer.RETIRE


def test_a_canceled_task_is_not_taken_up_again(auto: Lab) -> None:
    _, task_id, _ = isolated(auto)
    auto.cancel(task_id)
    auto.pass_s(60)
    auto.sweep()
    assert (auto.task(task_id).state, auto.task(task_id).attempts) == ("canceled", 1)
    assert auto.open_items() == ["unknown"]
