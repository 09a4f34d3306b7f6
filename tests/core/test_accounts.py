"""Accounts: what all Tasks of a project, or of the hub, may use together. Reserved before the start, settled at every end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from tenure.core import commands as cm
from tenure.core import desk_commands as dc
from tenure.core.account import Account, default_share, new_account
from tenure.core.answers import Subject, answers_to
from tenure.core.attempt import Usage, Verdict
from tenure.core.attention import Attention, AttentionKind
from tenure.core.budget import NOTHING, Amounts, Budget, Share
from tenure.core.delivery import Delivery
from tenure.core.failure import FailureClass
from tenure.core.ids import NodeId, TaskId
from tests.core.lab import Lab

RED = "project:red"


def limit(lab: Lab, account: str = RED, cost: int | None = 100, **more: Any) -> Any:
    share = Share(cost_usd_micros=1_000)
    said = {"limits": Share(cost_usd_micros=cost), "per_task": Budget(), "share": share, "weight": 1, **more}
    return lab.run(dc.SetAccount(account_id=account, by="ann", because="so be it", **said))


def account(lab: Lab, name: str = RED) -> Account:
    return lab.get(Account, name)


def submit(lab: Lab, cost: int | None = None) -> TaskId:
    budget = Budget(cost_usd_micros=cost) if cost else None
    return lab.submit(project="red", budget=budget)


def reserving(lab: Lab, cost: int = 40) -> tuple[NodeId, TaskId, Delivery]:
    node = lab.node(capacity=3)
    limit(lab)
    task_id = submit(lab, cost)
    return node, task_id, lab.work(node)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"account": "planet:mars"}, "neither `hub` nor"),
        ({"account": "project:"}, "neither `hub` nor"),
        ({"cost": 0}, "the limit of cost_usd_micros is 0"),
        ({"cost": -1}, "the limit of cost_usd_micros is -1"),
        ({"cost": 2**60}, "the limit of cost_usd_micros"),
        ({"share": Share(tokens=0)}, "the share of tokens is 0"),
        ({"weight": 0}, "the weight is 0"),
        ({"weight": 1_001}, "the weight is 1001"),
        ({"per_task": Budget(attempts=-3)}, "budget.attempts is -3"),
    ],
)
def test_an_account_that_makes_no_sense_is_refused(lab: Lab, said: dict[str, Any], words: str) -> None:
    refusal = limit(lab, **said)
    assert refusal.code == "invalid"
    assert words in refusal.message


def test_the_same_account_again_changes_nothing_and_a_reset_starts_anew(lab: Lab) -> None:
    _, _, delivery = reserving(lab)
    lab.report_used(delivery, 30)
    assert limit(lab).replayed
    lab.pass_s(1)
    assert not limit(lab, reset=True).replayed
    assert (account(lab).used, account(lab).since_ms) == (NOTHING, lab.now.wall_ms)


def test_an_attempt_without_a_limit_of_its_own_reserves_a_share_of_the_account() -> None:
    known = new_account(RED, 0)
    assert default_share(known) is None
    limited = type(known)(
        **{**{n: getattr(known, n) for n in known.__struct_fields__}, "limits": Share(tokens=45)}
    )
    assert default_share(limited) == Share(tokens=4)


def test_two_attempts_of_one_project_cannot_overrun_it_together(lab: Lab) -> None:
    node, _, first = reserving(lab, 60)
    second = submit(lab, 60)
    assert lab.claim(node) == []
    assert lab.task(second).held_on == RED
    assert lab.open_items() == []
    lab.report_used(first, 10)
    assert not lab.run(dc.Reconsider(second)).replayed
    assert lab.work(node).task_id == second
    assert (account(lab).reserved.cost_usd_micros, account(lab).used.cost_usd_micros) == (60, 10)


def test_the_hub_bounds_all_projects_together(lab: Lab) -> None:
    node = lab.node(capacity=3)
    limit(lab, "hub", 100)
    lab.submit(project="red", budget=Budget(cost_usd_micros=80))
    lab.pass_s(1)
    other = lab.submit(project="blue", budget=Budget(cost_usd_micros=80))
    lab.work(node)
    assert lab.claim(node) == []
    assert lab.task(other).held_on == "hub"


ENDS: dict[str, Callable[[Lab, Delivery], object]] = {
    "report": lambda lab, delivery: lab.report(delivery),
    "failure": lambda lab, delivery: lab.fail(delivery, FailureClass.AUTHORIZATION),
    "unknown": lambda lab, delivery: lab.report(delivery, Verdict.UNKNOWN),
    "hand back": lambda lab, delivery: lab.run(cm.HandBack(lab.proof(delivery), "no disk")),
    "revoked": lambda lab, delivery: lab.lose(delivery),
    "canceled": lambda lab, delivery: (lab.cancel(delivery.task_id), lab.report(delivery, Verdict.CANCELED)),
    "unanswered": lambda lab, delivery: (lab.cancel(delivery.task_id), lab.pass_s(60), lab.sweep()),
}


@pytest.mark.parametrize("end", ENDS)
def test_what_was_reserved_is_settled_at_every_end_of_a_lease(lab: Lab, end: str) -> None:
    _, _, delivery = reserving(lab)
    lab.renew(delivery, usage=Usage(cost_usd_micros=15))
    assert account(lab).reserved == Amounts(cost_usd_micros=40)
    ENDS[end](lab, delivery)
    assert account(lab).reserved == NOTHING
    assert account(lab).used.cost_usd_micros == 15
    assert account(lab).running == 0


@pytest.mark.parametrize("end", ["offer expired", "refused", "canceled"])
def test_an_offer_that_comes_to_nothing_costs_nothing(lab: Lab, end: str) -> None:
    node = lab.node()
    limit(lab)
    task_id = submit(lab, 40)
    (delivery,) = lab.claim(node)
    assert account(lab).reserved == Amounts(cost_usd_micros=40)
    if end == "offer expired":
        lab.pass_s(10)
        lab.sweep()
    elif end == "refused":
        lab.ack(delivery, "no disk")
    else:
        lab.cancel(task_id)
    assert (account(lab).reserved, account(lab).used, account(lab).running) == (NOTHING, NOTHING, 0)


def test_an_account_that_is_used_up_for_good_is_one_question_for_all_its_tasks(lab: Lab) -> None:
    node, _, delivery = reserving(lab, 100)
    lab.report_used(delivery, 95)
    waiting = [submit(lab, 20) for _ in range(3)]
    assert lab.claim(node, 3) == []
    assert {lab.task(one).held_on for one in waiting} == {RED}
    assert lab.open_items() == ["exhausted"]
    limit(lab, cost=200)
    assert lab.open_items() == []
    for one in waiting:
        lab.run(dc.Reconsider(one))
    assert len(lab.claim(node, 3)) == 3


def test_room_that_is_not_enough_for_those_who_wait_is_asked_for_again(lab: Lab) -> None:
    node, task_id = too_large(lab)
    version = told(lab, task_id).version
    limit(lab, cost=110, share=Share())
    lab.run(dc.Reconsider(task_id))
    assert told(lab, task_id).version == version + 1
    limit(lab, cost=130, share=Share())
    lab.run(dc.Reconsider(task_id))
    assert lab.open_items() == []
    assert lab.work(node).task_id == task_id


def too_large(lab: Lab) -> tuple[NodeId, TaskId]:
    """A Task whose share of 80 does not fit beside the 50 of 100 that are used."""
    node, _, delivery = reserving(lab)
    limit(lab, share=Share())
    lab.report_used(delivery, 50)
    task_id = submit(lab, 80)
    assert lab.claim(node) == []
    return node, task_id


def told(lab: Lab, task_id: TaskId) -> Attention:
    item = lab.item(AttentionKind.EXHAUSTED, task_id)
    assert item is not None
    assert lab.open_items() == ["exhausted"]
    return item


def test_a_share_that_can_never_fit_is_a_question_about_its_task_and_others_go_on(lab: Lab) -> None:
    node, task_id = too_large(lab)
    assert f"the share of {task_id}, 80 in cost_usd_micros, does not fit" in told(lab, task_id).summary
    submit(lab)
    assert lab.work(node).reserved == Amounts(cost_usd_micros=10)
    for _ in range(2):
        lab.run(dc.Reconsider(task_id))
    assert told(lab, task_id).version == 1


@pytest.mark.parametrize("answer", ["cancel", "raise the account", "stop"])
def test_the_question_about_a_share_is_closed_by_every_answer_to_it(lab: Lab, answer: str) -> None:
    _, task_id = too_large(lab)
    item = told(lab, task_id)
    assert set(answers_to(item, Subject(task=lab.task(task_id)))) == {"cancel"}
    assert lab.run(dc.RaiseBudget(task_id, Budget(), None, "ann", "more")).code == "invalid"
    assert lab.run(dc.GiveUp(task_id, item.item_id, item.version, "ann", "no use")).code == "not_offered"
    if answer == "cancel":
        lab.cancel(task_id)
    elif answer == "stop":
        lab.run(dc.StopAttempt(task_id, 1, "ann", "not so"))
        assert lab.open_items() == ["stopped"]
        lab.cancel(task_id)
    else:
        limit(lab, cost=200)
        lab.run(dc.Reconsider(task_id))
        assert lab.task(task_id).queue_key is not None
    assert lab.open_items() == []


def test_a_deadline_that_passes_while_it_waits_for_room_is_the_question_then(lab: Lab) -> None:
    _, task_id = too_large(lab)
    lab.run(dc.RaiseBudget(task_id, Budget(), lab.now.wall_ms + 5, "ann", "soon"))
    lab.pass_s(1)
    lab.run(dc.DueTask(task_id))
    limit(lab, cost=900)
    lab.run(dc.Reconsider(task_id))
    assert "deadline" in told(lab, task_id).summary


def test_a_task_that_waits_for_something_else_by_now_asks_for_no_room(lab: Lab) -> None:
    node, _, delivery = reserving(lab)
    limit(lab, share=Share())
    lab.report_used(delivery, 50)
    task_id = lab.submit(project="red", budget=Budget(cost_usd_micros=80), concurrency_key="k")
    assert lab.claim(node) == []
    told(lab, task_id)
    lab.submit(concurrency_key="k")
    lab.work(node)
    lab.run(dc.Reconsider(task_id))
    assert (lab.task(task_id).held_on, lab.open_items()) == ("key:k", [])


def test_a_task_that_may_use_more_than_its_whole_account_reserves_the_account(lab: Lab) -> None:
    node = lab.node()
    submit(lab, 200)
    limit(lab)
    assert lab.work(node).reserved == Amounts(cost_usd_micros=100)
    assert lab.open_items() == []


@pytest.mark.parametrize("again", [True, False])
def test_a_question_about_an_account_that_has_room_is_closed_by_the_same_limits_and_by_a_look(
    lab: Lab, again: bool
) -> None:
    node, _, delivery = reserving(lab, 100)
    lab.report_used(delivery, 100)
    waiting = submit(lab)
    assert lab.claim(node) == []
    assert limit(lab).replayed
    assert lab.open_items() == ["exhausted"]
    # As it was before the record knew better: asked although there is room.
    lab.world.put(replace(account(lab), used=NOTHING))
    lab.record.clear()
    if again:
        assert limit(lab).replayed
    else:
        lab.run(dc.Reconsider(waiting))
    assert lab.open_items() == []


@pytest.mark.parametrize("usages", [(70,), (70, 70), (70, 50), (50, 70), (90, 10, 90)])
def test_what_a_late_report_used_is_charged_once(lab: Lab, usages: tuple[int, ...]) -> None:
    _, _, delivery = reserving(lab)
    lab.renew(delivery, usage=Usage(cost_usd_micros=15))
    lab.lose(delivery)
    for number, cost in enumerate(usages):
        lab.fail(delivery, FailureClass.VALIDATION, usage=Usage(cost_usd_micros=cost), summary=str(number))
    assert account(lab).used.cost_usd_micros == max(usages)


def test_a_limit_that_comes_after_an_attempt_was_made_still_binds_its_grant(lab: Lab) -> None:
    node = lab.node()
    submit(lab)
    limit(lab, share=Share())
    delivery = lab.work(node)
    assert account(lab).reserved == Amounts(cost_usd_micros=10)
    lab.report_used(delivery, 7)
    assert account(lab).used == Amounts(cost_usd_micros=7)


def test_a_task_with_a_share_in_another_dimension_is_bound_by_its_account_as_well(lab: Lab) -> None:
    node = lab.node(capacity=3)
    for _ in range(3):
        lab.submit(project="red", budget=Budget(wall_s=600))
    limit(lab, share=Share(cost_usd_micros=40))
    first, second = lab.claim(node, 3)
    assert first.reserved == Amounts(wall_ms=600_000, cost_usd_micros=40)
    assert account(lab).reserved == Amounts(wall_ms=1_200_000, cost_usd_micros=80)
    lab.ack(first)
    lab.ack(second)
    assert lab.renew(first, usage=Usage(cost_usd_micros=40)).cancel
    assert not lab.renew(second, usage=Usage(cost_usd_micros=39)).cancel


def test_a_limit_of_wall_time_that_comes_after_an_attempt_was_made_ends_it_in_time(lab: Lab) -> None:
    node = lab.node()
    submit(lab)
    limit(lab, limits=Share(wall_ms=100_000), share=Share())
    assert lab.work(node).timeout_s == 10


def test_the_own_limit_of_a_task_is_not_cut_to_the_share_of_its_account(lab: Lab) -> None:
    node = lab.node()
    limit(lab, cost=1_000, share=Share(cost_usd_micros=10))
    task_id = lab.submit(project="red", budget=Budget(cost_usd_micros=500))
    delivery = lab.work(node)
    assert account(lab).reserved == Amounts(cost_usd_micros=500)
    assert not lab.renew(delivery, usage=Usage(cost_usd_micros=400)).cancel
    lab.fail(delivery, FailureClass.EXECUTOR_LOST, usage=Usage(cost_usd_micros=400))
    assert lab.attempt(task_id, 2).spec.share == Share(cost_usd_micros=100)


@pytest.mark.parametrize("end", [one for one in ENDS if one != "hand back"])
def test_what_runs_when_an_account_gets_its_limit_is_charged_to_it_once(lab: Lab, end: str) -> None:
    _, _, delivery = reserving(lab)
    lab.renew(delivery, usage=Usage(cost_usd_micros=15))
    limit(lab, "hub", 1_000)
    ENDS[end](lab, delivery)
    assert [account(lab, one).used.cost_usd_micros for one in (RED, "hub")] == [15, 15]
    for _ in range(2):
        lab.fail(delivery, FailureClass.VALIDATION, usage=Usage(cost_usd_micros=70))
    assert lab.get(Delivery, delivery.delivery_id).accounts == (RED, "hub")
    assert [account(lab, one).used.cost_usd_micros for one in (RED, "hub")] == [70, 70]
    assert account(lab, "hub").reserved == NOTHING


def test_a_limit_that_comes_after_the_end_is_charged_for_what_is_heard_from_then_on(lab: Lab) -> None:
    _, _, delivery = lab.running(project="red")
    lab.renew(delivery, usage=Usage(cost_usd_micros=15))
    lab.lose(delivery)
    limit(lab)
    lab.fail(delivery, FailureClass.VALIDATION, usage=Usage(cost_usd_micros=70))
    assert account(lab).used == Amounts(cost_usd_micros=55)
