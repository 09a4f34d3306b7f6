"""Stopping one Attempt while its Task goes on: every step is an event, and whoever comes second loses visibly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tenure.core import commands as cm
from tenure.core import desk_commands as dc
from tenure.core import recovery_events as rv
from tenure.core.account import Account
from tenure.core.attempt import Answer, Verdict
from tenure.core.attention import AttentionKind
from tenure.core.budget import NOTHING, Budget, Share
from tenure.core.delivery import Delivery
from tenure.core.gate import Gate
from tenure.core.ids import TaskId
from tenure.core.task import CancelStep, TaskState
from tests.core.lab import Lab


def stop(lab: Lab, task_id: TaskId, number: int = 1) -> Any:
    return lab.run(dc.StopAttempt(task_id, number, "ann", "it does harm"))


def steps(lab: Lab) -> list[str]:
    return [str(one.step) for one in lab.events if isinstance(one, rv.StopAdvanced)]


def test_an_attempt_that_nobody_holds_is_stopped_at_once_and_a_person_says_what_comes_next(lab: Lab) -> None:
    task_id = lab.submit()
    assert stop(lab, task_id).step == "terminated"
    assert (lab.attempt(task_id).verdict, lab.task(task_id).state) == (
        Verdict.CANCELED,
        TaskState.INPUT_REQUIRED,
    )
    assert lab.open_items() == ["stopped"]
    assert lab.claim(lab.node()) == []
    assert lab.run(cm.Retry(task_id, "ann", "")).successor == 2
    assert lab.open_items() == []
    assert len(lab.claim(lab.node())) == 1


def test_an_offer_that_was_not_acknowledged_is_taken_back_and_its_receipt_is_told_so(lab: Lab) -> None:
    node = lab.node()
    task_id = lab.submit()
    (delivery,) = lab.claim(node)
    assert stop(lab, task_id).step == "terminated"
    assert lab.ack(delivery) == "canceled"
    assert lab.recipient().slots_used == 0


def test_every_step_of_a_stop_is_an_event(lab: Lab) -> None:
    _, task_id, delivery = lab.running()
    assert stop(lab, task_id).step == "requested"
    answer = lab.renew(delivery)
    assert (answer.cancel, answer.cancel_grace_ms) == (True, 60_000)
    lab.report(delivery, Verdict.CANCELED)
    assert steps(lab) == ["requested", "signaled", "acknowledged", "reconciled", "terminated"]
    assert lab.task(task_id).state is TaskState.INPUT_REQUIRED


def test_a_stop_that_nobody_answers_ends_unknown_and_blocks(lab: Lab) -> None:
    _, task_id, delivery = lab.running()
    stop(lab, task_id)
    for _ in range(3):
        lab.pass_s(20)
        lab.renew(delivery)
    assert lab.sweep() == ["revoked"]
    assert steps(lab)[-3:] == ["unacknowledged", "reconciled", "terminated"]
    assert (lab.attempt(task_id).verdict, lab.open_items()) == (Verdict.UNKNOWN, ["unknown"])
    assert lab.recipient().is_blocked


def test_the_same_stop_again_is_answered_with_how_far_it_is(lab: Lab) -> None:
    _, task_id, delivery = lab.running()
    stop(lab, task_id)
    lab.renew(delivery)
    again = lab.run(dc.StopAttempt(task_id, 1, "bob", "me too"))
    assert (again.step, again.replayed) == ("signaled", True)
    known = lab.task(task_id).stop
    assert known is not None
    assert (known.by, known.because) == ("ann", "it does harm")


@pytest.mark.parametrize("number", [0, 2, -1])
def test_an_attempt_that_does_not_exist_cannot_be_stopped(lab: Lab, number: int) -> None:
    assert stop(lab, lab.submit(), number).code == "not_found"
    assert stop(lab, TaskId("t_none")).code == "not_found"


def test_what_has_ended_cannot_be_stopped(lab: Lab) -> None:
    _, task_id, delivery = lab.running()
    lab.report(delivery, Verdict.ASKED)
    assert stop(lab, task_id).code == "terminal"
    lab.run(cm.Retry(task_id, "ann", "the blue one"))
    assert stop(lab, task_id, 1).code == "terminal"
    assert stop(lab, task_id, 2).step == "terminated"


@pytest.mark.parametrize(
    ("verdict", "state", "items"),
    [
        (Verdict.COMPLETED, TaskState.COMPLETED, []),
        (Verdict.FAILED, TaskState.INPUT_REQUIRED, ["stopped"]),
        (Verdict.TIMED_OUT, TaskState.INPUT_REQUIRED, ["stopped"]),
        (Verdict.CANCELED, TaskState.INPUT_REQUIRED, ["stopped"]),
        (Verdict.ASKED, TaskState.INPUT_REQUIRED, ["asked"]),
        (Verdict.UNKNOWN, TaskState.INPUT_REQUIRED, ["unknown"]),
    ],
)
def test_whatever_is_reported_is_the_verdict_and_nothing_follows_by_itself(
    lab: Lab, verdict: Verdict, state: TaskState, items: list[str]
) -> None:
    _, task_id, delivery = lab.running()
    stop(lab, task_id)
    assert lab.report(delivery, verdict) == "recorded"
    assert lab.attempt(task_id).verdict is verdict
    assert (lab.task(task_id).state, lab.task(task_id).attempts, lab.open_items()) == (state, 1, items)
    assert steps(lab)[-1] == "terminated"


def test_a_cancel_of_the_task_outranks_the_stop_of_its_attempt(lab: Lab) -> None:
    _, task_id, delivery = lab.running()
    stop(lab, task_id)
    lab.pass_s(20)
    lab.renew(delivery)
    assert lab.cancel(task_id).step == "requested"
    answer = lab.renew(delivery)
    assert answer.cancel_grace_ms == 40_000
    lab.report(delivery, Verdict.CANCELED)
    assert (lab.task(task_id).state, lab.open_items()) == (TaskState.CANCELED, [])


def test_a_stop_after_the_cancel_of_its_task_is_the_same_thing(lab: Lab) -> None:
    _, task_id, delivery = lab.running()
    lab.cancel(task_id)
    lab.renew(delivery)
    answer = stop(lab, task_id)
    assert (answer.step, answer.replayed) == (CancelStep.SIGNALED, True)
    assert steps(lab) == []


RACES: dict[str, Callable[[Lab, Delivery], object]] = {
    "report": lambda lab, delivery: lab.report(delivery),
    "hand back": lambda lab, delivery: lab.run(cm.HandBack(lab.proof(delivery), "nothing started")),
    "renew": lambda lab, delivery: lab.renew(delivery),
}


@pytest.mark.parametrize("late", RACES)
def test_what_comes_after_a_stop_nobody_answered_is_history(lab: Lab, late: str) -> None:
    _, task_id, delivery = lab.running()
    stop(lab, task_id)
    lab.pass_s(60)
    lab.sweep()
    before = lab.task(task_id)
    assert getattr(RACES[late](lab, delivery), "answer", "late") in ("late", "stale_fence")
    assert lab.task(task_id).state is before.state
    assert lab.task(task_id).attempts == 1


def test_an_attempt_that_is_handed_back_while_it_is_stopped_is_offered_to_nobody(lab: Lab) -> None:
    node, task_id, delivery = lab.running()
    stop(lab, task_id)
    lab.run(cm.HandBack(lab.proof(delivery), "nothing started"))
    assert (lab.attempt(task_id).verdict, lab.open_items()) == (Verdict.CANCELED, ["stopped"])
    assert lab.claim(node) == []


def test_an_attempt_that_waits_for_an_approval_and_is_stopped_asks_nobody_for_it_any_more(lab: Lab) -> None:
    task_id = lab.submit(approval=True)
    item = lab.item(AttentionKind.APPROVAL, f"{task_id}/1")
    assert item is not None
    stop(lab, task_id)
    assert lab.open_items() == ["stopped"]
    for approve in (True, False):
        assert lab.approve(task_id, None, approve, item_version=item.version).code == "not_offered"
    assert lab.run(cm.Retry(task_id, "ann", "")).successor == 2
    assert not lab.task(task_id).needs_approval


def test_the_machine_does_not_take_up_what_a_person_has_stopped(lab: Lab) -> None:
    lab.store_auto()
    one = lab.node("one", pools=("pool",), isolation="sandbox")
    lab.node("other", pools=("pool",))
    task_id = lab.submit(route="pool", policy="auto")
    delivery = lab.work(one)
    stop(lab, task_id)
    lab.report(delivery, Verdict.UNKNOWN)
    assert (lab.task(task_id).attempts, lab.open_items()) == (1, ["unknown"])
    assert lab.answer(task_id, 1, Answer.RERUN).successor == 2


def test_a_budget_that_runs_out_while_a_person_stops_it_asks_once(lab: Lab) -> None:
    _, task_id, delivery = lab.running(budget=Budget(cost_usd_micros=10))
    stop(lab, task_id)
    lab.renew(delivery, usage=cm.Usage(cost_usd_micros=10))
    lab.report(delivery, Verdict.CANCELED)
    assert lab.open_items() == ["stopped"]


def test_a_stop_of_one_attempt_says_nothing_of_another(lab: Lab) -> None:
    _, task_id, delivery = lab.running()
    stop(lab, task_id)
    lab.report(delivery, Verdict.CANCELED)
    lab.run(cm.Retry(task_id, "ann", "once more"))
    second = lab.work(delivery.node_id)
    answer = stop(lab, task_id, 2)
    assert (answer.step, answer.replayed) == ("requested", False)
    assert stop(lab, task_id, 1).code == "terminal"
    lab.report(second, Verdict.CANCELED)
    assert stop(lab, task_id, 2).replayed


def test_what_is_canceled_as_a_whole_is_not_stopped_beside_that(lab: Lab) -> None:
    _, task_id, _ = lab.running(deadline_ms=lab.now.wall_ms + 1_000)
    lab.cancel(task_id)
    assert stop(lab, task_id).replayed
    lab.pass_s(1)
    lab.run(dc.DueTask(task_id))
    assert steps(lab) == []


def test_an_offer_that_is_taken_back_gives_back_what_was_set_aside(lab: Lab) -> None:
    lab.run(dc.SetAccount("hub", Share(tokens=100), Budget(), Share(), 1, "ann", "x"))
    node = lab.node()
    task_id = lab.submit(concurrency_key="k")
    assert len(lab.claim(node)) == 1
    stop(lab, task_id)
    assert lab.get(Account, "hub").reserved == NOTHING
    assert lab.get(Gate, "k").holder is None


@pytest.mark.parametrize(
    ("because", "words"), [("it does harm", "ann: it does harm; say"), ("", "stopped by ann; say")]
)
def test_who_stopped_it_and_why_is_told_with_the_question(lab: Lab, because: str, words: str) -> None:
    task_id = lab.submit()
    lab.run(dc.StopAttempt(task_id, 1, "ann", because))
    item = lab.item(AttentionKind.STOPPED, f"{task_id}/1")
    assert item is not None
    assert words in item.summary
