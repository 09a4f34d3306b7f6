"""Whose turn it is: fair shares by weight between projects, priority with ageing within one; nothing starves."""

from __future__ import annotations

import heapq
from collections import Counter

import pytest

from tenure.core import commands as cm
from tenure.core import desk_commands as dc
from tenure.core.account import Account
from tenure.core.budget import Budget, Share
from tenure.core.canonical import text_digest
from tenure.core.decide import decide
from tenure.core.fairness import CREDIT, Load, Place, fair_order
from tenure.core.ids import Address, ClaimId, DeliveryId, NodeId, TaskId
from tenure.core.task import AGEING_MS, PRIORITY
from tests.core.lab import Lab


def places(project: str, count: int, first_ms: int = 0) -> list[Place]:
    return [(first_ms + number, f"{project}{number}") for number in range(count)]


def weigh(lab: Lab, project: str, weight: int) -> None:
    lab.run(dc.SetAccount(f"project:{project}", Share(), Budget(), Share(), weight, "ann", "x"))


def test_a_project_with_ten_thousand_tasks_takes_nothing_from_one_with_three() -> None:
    waiting = {"big": places("big", 10_000), "small": places("small", 3, 5_000)}
    taken = fair_order(waiting, {}, 6).order
    assert taken == ["big0", "small0", "big1", "small1", "big2", "small2"]


def test_what_runs_already_counts() -> None:
    waiting = {"a": places("a", 5), "b": places("b", 5, 1)}
    assert fair_order(waiting, {"a": Load(running=3)}, 4).order == ["b0", "b1", "b2", "a0"]


@pytest.mark.parametrize(("weight", "share"), [(1, 50), (3, 75), (9, 90)])
def test_a_weight_is_the_part_of_all_turns_that_a_project_gets(weight: int, share: int) -> None:
    waiting = {"heavy": places("heavy", 500), "light": places("light", 500)}
    taken = fair_order(waiting, {"heavy": Load(weight=weight)}, 100).order
    assert abs(sum(one.startswith("heavy") for one in taken) - share) <= 1


def test_a_paused_project_has_no_turn_and_no_work_is_no_turn_lost() -> None:
    waiting = {"paused": places("paused", 9), "none": [], "works": places("works", 2)}
    assert fair_order(waiting, {"paused": Load(paused=True)}, 5).order == ["works0", "works1"]


def test_of_equal_ones_the_project_goes_first_whose_task_has_waited_longest() -> None:
    assert fair_order({"a": places("a", 1, 10), "b": places("b", 1, 3)}, {}, 2).order == ["b0", "a0"]


def test_turns_are_shared_by_weight_at_real_grants(lab: Lab) -> None:
    node = lab.node(capacity=8)
    weigh(lab, "heavy", 3)
    for _ in range(8):
        lab.submit(project="light")
    for _ in range(8):
        lab.submit(project="heavy")
    granted = Counter(lab.task(one.task_id).project for one in lab.claim(node, 8))
    assert granted == {"heavy": 6, "light": 2}
    assert lab.get(Account, "project:heavy").running == 6


def grant_one(lab: Lab, node: NodeId) -> TaskId:
    delivery = lab.work(node)
    lab.report(delivery)
    return delivery.task_id


def test_a_higher_priority_overtakes_what_came_within_its_ageing_and_no_more(lab: Lab) -> None:
    node = lab.node()
    first = lab.submit()
    lab.pass_s(AGEING_MS / 1000 + 1)
    second = lab.submit()
    lab.pass_s(1)
    urgent = lab.submit(priority=1)
    low = lab.submit(priority=-1)
    assert [grant_one(lab, node) for _ in range(4)] == [first, urgent, second, low]


@pytest.mark.parametrize("priority", [PRIORITY + 1, -PRIORITY - 1, 10**9])
def test_a_priority_beyond_the_bounds_is_refused(lab: Lab, priority: int) -> None:
    spec = cm.TaskSpec(objective="x", route="claude", priority=priority)
    assert lab.run(cm.Submit(TaskId("t_1"), spec, "ann", "k")).facts == {"field": "priority"}


def test_an_attempt_that_was_offered_and_not_taken_keeps_its_place(lab: Lab) -> None:
    node = lab.node()
    first = lab.submit()
    lab.pass_s(1)
    lab.submit()
    (delivery,) = lab.claim(node)
    lab.pass_s(10)
    lab.sweep()
    assert delivery.task_id == first
    assert lab.claim(node)[0].task_id == first


def test_nothing_starves_under_a_stream_of_urgent_work() -> None:
    """One machine, a minute a Task, more urgent work than it can do: the least of all waits twenty steps of ageing and the
    queue it found, no longer."""
    minute = 60_000
    waiting: list[tuple[int, str]] = [(0 + PRIORITY * AGEING_MS, "least")]
    for now in range(0, 24 * 60 * minute, minute):
        heapq.heappush(waiting, (now - PRIORITY * AGEING_MS, f"urgent{now}"))
        if now % (2 * minute) == 0:
            heapq.heappush(waiting, (now, f"usual{now}"))
        (taken,) = fair_order({"all": sorted(waiting)}, {}, 1).order
        waiting = [one for one in waiting if one[1] != taken]
        heapq.heapify(waiting)
        if taken == "least":
            break
    else:
        pytest.fail("it was never its turn")
    assert now <= 2 * PRIORITY * AGEING_MS * 2


def test_no_project_starves_beside_any_others_of_any_weight() -> None:
    running: Counter[str] = Counter()
    weights = {"small": 1, "big": 1_000, "other": 500}
    for turn in range(10_000):
        waiting = {name: [(turn, name)] for name in weights}
        standings = {name: Load(running[name], weight) for name, weight in weights.items()}
        (taken,) = fair_order(waiting, standings, 1).order
        running[taken] += 1
    assert running["small"] >= 6
    assert running["big"] > running["other"] > running["small"]


def test_where_one_task_runs_at_a_time_weights_decide_over_the_turns(lab: Lab) -> None:
    for name, weight in (("heavy", 2), ("light", 1)):
        lab.run(dc.SetAccount(f"project:{name}", Share(), Budget(), Share(), weight, "ann", "a trial"))
    for _ in range(9):
        for name in ("heavy", "light"):
            lab.submit(project=name)
    node = lab.node()
    served: list[str] = []
    for _ in range(9):
        (claimed,) = lab.claim(node)
        served.append(lab.task(claimed.task_id).project)
        lab.ack(claimed)
        lab.report(claimed)
    assert (served.count("heavy"), served.count("light")) == (6, 3)


def test_a_project_that_comes_back_makes_good_a_few_turns_and_no_more(lab: Lab) -> None:
    node = lab.node()
    served: list[str] = []

    def serve(times: int) -> None:
        for _ in range(times):
            (claimed,) = lab.claim(node)
            served.append(lab.task(claimed.task_id).project)
            lab.ack(claimed)
            lab.report(claimed)

    for _ in range(40):
        lab.submit(project="busy")
    serve(20)
    for _ in range(20):
        lab.submit(project="back")
    served.clear()
    serve(15)
    assert served[0] == "back"
    assert served.count("busy") == (15 - CREDIT) // 2


def test_a_claim_without_offers_left_looks_for_nobody_else(lab: Lab) -> None:
    node = lab.node("wide", pools=("pool",), capacity=9)
    for _ in range(9):
        lab.submit(route="pool")
    looked: list[int] = []
    waiting = lab.world.waiting

    def counted(queues: tuple[str, ...], limit: int, now_ms: int) -> dict[str, list[tuple[int, str]]]:
        looked.append(limit)
        return waiting(queues, limit, now_ms)

    lab.world.waiting = counted
    claim = cm.Claim(
        node,
        lab.live(node),
        ClaimId("c1"),
        {Address("claude@wide"): 9},
        (cm.Offer(DeliveryId("d_1"), text_digest("one")),),
    )
    decision = decide(lab.world, claim, lab.now, lab.terms)
    assert isinstance(decision.reply, cm.Claimed)
    assert (len(decision.reply.deliveries), len(looked)) == (1, 1)
