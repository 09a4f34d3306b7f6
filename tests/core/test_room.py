"""Room in accounts, asked for and found: which question is open then, about the account or about one Task's share."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from tenure.core import desk_commands as dc
from tenure.core import recovery_events as rv
from tenure.core.account import HUB_ACCOUNT, new_account
from tenure.core.accounting import ask_for_room, settle_room, settle_share
from tenure.core.asking import ask
from tenure.core.attempt import Usage, Verdict
from tenure.core.attention import Attention, AttentionKind
from tenure.core.budget import Amounts, Budget, Share
from tenure.core.draft import Draft
from tenure.core.hold import Hold, HoldKind
from tenure.core.ids import TaskId
from tests.core.lab import Lab

HELD = Hold(HoldKind.BUDGET, HUB_ACCOUNT, "no room")


def limited(lab: Lab, used: int = 0) -> None:
    """The hub may use 100, and each Attempt reserves 10 of it."""
    limits, share = Share(tokens=100), Share(tokens=10)
    hub = new_account(HUB_ACCOUNT, 1)
    lab.world.put(replace(hub, limits=limits, share=share, used=Amounts(tokens=used)))


@pytest.fixture
def task_id(lab: Lab) -> TaskId:
    """Of a Task that wants 50, with questions about the hub's room and about its own share."""
    task_id = lab.submit(budget=Budget(tokens=50))
    draft = Draft(lab.world, lab.now, lab.terms)
    for subject in (HUB_ACCOUNT, task_id):
        ask(draft, AttentionKind.EXHAUSTED, subject, "more?", {})
    lab.world.accept(draft.changes)
    return task_id


def asked_after(lab: Lab, step: Callable[[Draft], None]) -> set[str]:
    """What is still asked about after a step."""
    draft = Draft(lab.world, lab.now, lab.terms)
    step(draft)
    lab.world.accept(draft.changes)
    return {one.subject for one in lab.world.every(Attention) if one.open}


@pytest.mark.parametrize(
    ("used", "about"),
    [(0, set[str]()), (60, {"task"}), (95, {HUB_ACCOUNT})],
    ids=["room for it", "room for others", "none for anybody"],
)
def test_room_is_asked_for_where_it_is_lacking_and_nowhere_else(
    lab: Lab, task_id: TaskId, used: int, about: set[str]
) -> None:
    limited(lab, used)
    found = asked_after(lab, lambda draft: ask_for_room(draft, lab.task(task_id), HELD))
    assert found == {task_id if one == "task" else one for one in about}


@pytest.mark.parametrize(("used", "about"), [(0, set[str]()), (95, {HUB_ACCOUNT})])
def test_a_task_that_goes_on_asks_no_more_and_the_account_only_while_it_is_used_up(
    lab: Lab, task_id: TaskId, used: int, about: set[str]
) -> None:
    limited(lab, used)
    assert asked_after(lab, lambda draft: settle_room(draft, lab.task(task_id), HELD, "x")) == about


def test_once_an_attempt_has_ended_the_question_about_its_share_is_another_one(
    lab: Lab, task_id: TaskId
) -> None:
    lab.world.put(replace(lab.attempt(task_id), verdict=Verdict.FAILED))
    found = asked_after(lab, lambda draft: settle_share(draft, lab.task(task_id), "x"))
    assert task_id in found


@pytest.mark.parametrize(("tokens", "charged"), [(0, 0), (7, 1)])
def test_a_limit_that_came_after_the_grant_is_charged_for_what_was_used_if_anything_was(
    lab: Lab, tokens: int, charged: int
) -> None:
    _, _, delivery = lab.running()
    lab.run(dc.SetAccount(HUB_ACCOUNT, Share(tokens=100), Budget(), Share(), 1, "ann", "x"))
    lab.renew(delivery, usage=Usage(input_tokens=tokens))
    lab.report(delivery)
    assert len([one for one in lab.events if isinstance(one, rv.BudgetSettled)]) == charged
