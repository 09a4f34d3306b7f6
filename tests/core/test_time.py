"""Leases and time: `expiry_is_suspect`, and that no restart, sleep or stepped clock costs a lease. Every step is also checked by `core.invariants` (in the Lab)."""

from __future__ import annotations

import pytest

from tenure.core import commands as cm
from tenure.core.attempt import AttemptState
from tenure.core.delivery import Progress
from tenure.core.task import TaskState
from tests.core.lab import Lab


def test_an_expired_lease_is_suspect_and_a_renewal_makes_it_whole_again(lab: Lab) -> None:
    _, task_id, delivery = lab.running()
    lab.pass_s(30)
    assert lab.sweep() == ["suspect"]
    assert lab.attempt(task_id).state is AttemptState.SUSPECT
    assert lab.ack(delivery) == "lease_expired"
    assert lab.renew(delivery).answer == "renewed"
    assert lab.attempt(task_id).state is AttemptState.DELIVERED
    assert lab.report(delivery) == "recorded"


def test_expiry_is_judged_by_the_clock_of_the_commit_not_by_the_sweep(lab: Lab) -> None:
    _, task_id, delivery = lab.running()
    lab.pass_s(31)
    assert lab.attempt(task_id).state is AttemptState.DELIVERED
    assert lab.ack(delivery) == "lease_expired"


def test_a_suspect_may_report_and_its_report_counts(lab: Lab) -> None:
    _, task_id, delivery = lab.running()
    lab.pass_s(30)
    lab.sweep()
    assert lab.report(delivery) == "recorded"
    assert lab.task(task_id).state is TaskState.COMPLETED


def test_a_repeated_renewal_extends_nothing(lab: Lab) -> None:
    _, _, delivery = lab.running()
    lab.pass_s(10)
    assert lab.renew(delivery, 3).term_ms == 30_000
    due = lab.get(type(delivery), delivery.delivery_id).due_at_ms
    lab.pass_s(10)
    again = lab.renew(delivery, 3)
    assert (again.answer, again.term_ms) == ("replayed", None)
    assert lab.renew(delivery, 2).answer == "replayed"
    assert lab.get(type(delivery), delivery.delivery_id).due_at_ms == due


@pytest.mark.parametrize("how", ["sleep", "restart"])
def test_a_sleep_or_a_restart_of_the_hub_costs_no_lease(lab: Lab, how: str) -> None:
    _, task_id, delivery = lab.running()
    lab.pass_s(5)
    if how == "sleep":
        lab.sleep_s(3600)
    else:
        lab.restart_hub(3600)
    assert lab.sweep() == ["not_yet"]
    lab.pass_s(24)
    assert lab.sweep() == ["not_yet"]
    lab.pass_s(6)
    assert lab.sweep() == ["suspect"]
    lab.restart_hub(3600)
    assert lab.sweep() == ["not_yet"]
    assert lab.renew(delivery).answer == "renewed"
    assert lab.attempt(task_id).state is AttemptState.DELIVERED


def test_a_wall_clock_that_goes_back_only_delays(lab: Lab) -> None:
    _, _, _ = lab.running()
    lab.sleep_s(-500)
    lab.pass_s(30)
    assert lab.sweep() == []
    lab.pass_s(500)
    assert lab.sweep() == ["suspect"]


def test_a_step_of_the_wall_clock_is_an_attention_item_and_a_small_drift_is_none(lab: Lab) -> None:
    lab.run(cm.NoteClockStep(59_999))
    assert lab.open_items() == []
    lab.run(cm.NoteClockStep(-60_000))
    assert lab.open_items() == ["clock_stepped"]


def test_alive_without_progress_is_a_question_that_closes_when_something_moves(lab: Lab) -> None:
    _, _, delivery = lab.running()
    for _ in range(30):
        lab.pass_s(20)
        lab.renew(delivery)
    assert lab.open_items() == ["stalled"]
    lab.renew(delivery, progress=Progress(output_bytes=1))
    assert lab.open_items() == []


def test_what_is_handed_back_is_asked_about_no_more(lab: Lab) -> None:
    _, _, delivery = lab.running()
    for _ in range(30):
        lab.pass_s(20)
        lab.renew(delivery)
    assert lab.open_items() == ["stalled"]
    assert lab.run(cm.HandBack(lab.proof(delivery), "nothing started")).answer == "handed_back"
    assert lab.open_items() == []


def test_a_node_that_was_away_is_not_taken_for_stalled(lab: Lab) -> None:
    _, _, delivery = lab.running()
    lab.renew(delivery)
    lab.pass_s(7_200)
    lab.renew(delivery)
    assert lab.open_items() == []
