"""Keeping a lease and losing it: what each leg answers at its edges, and that time is judged to the millisecond."""

from __future__ import annotations

from typing import Any

import pytest

from tenure.core import commands as cm
from tenure.core import events as ev
from tenure.core.attempt import Answer, AttemptState, Verdict
from tenure.core.delivery import Delivery, Now, Progress, is_over, term_from
from tenure.core.ids import DeliveryId, IncarnationId
from tenure.core.late import Late
from tenure.core.leasing import has_advanced
from tests.core.lab import Lab


def renew_counting(lab: Lab, delivery: Delivery, counter: int, **more: Any) -> cm.LegAnswer:
    return lab.run(cm.Renew(lab.proof(delivery), counter, Progress(), cm.Usage(), **more))


def test_a_leg_about_a_delivery_that_the_record_does_not_know_is_told_to_stop(lab: Lab) -> None:
    _, _, delivery = lab.running()
    proof = lab.proof(delivery, delivery_id=DeliveryId("d_none"))
    for command in (
        cm.Acknowledge(proof, "receipt"),
        cm.Renew(proof, 1, Progress(), cm.Usage()),
        cm.Report(proof, "digest", cm.Outcome(Verdict.COMPLETED)),
        cm.HandBack(proof, "nothing started"),
    ):
        assert lab.run(command) == cm.LegAnswer(DeliveryId("d_none"), "stale_fence")
    assert lab.begin(delivery, delivery_id=DeliveryId("d_none")).code == "stale_fence"
    assert lab.run(cm.Due(DeliveryId("d_none"))).what == "nothing"


def test_a_lease_cannot_be_renewed_before_its_receipt(lab: Lab) -> None:
    node = lab.node()
    lab.submit()
    (delivery,) = lab.claim(node)
    assert lab.renew(delivery).answer == "stale_fence"
    assert [str(one.kind) for one in lab.world.every(Late)] == ["renew"]
    assert lab.ack(delivery) == "delivered"
    assert lab.renew(delivery).answer == "renewed"


def test_a_renewal_says_nothing_of_a_cancellation_that_nobody_asked_for(lab: Lab) -> None:
    _, task_id, delivery = lab.running()
    answer = lab.renew(delivery)
    assert (answer.cancel, answer.cancel_grace_ms) == (False, None)
    lab.cancel(task_id)
    lab.pass_s(25)
    answer = lab.renew(delivery)
    assert (answer.cancel, answer.cancel_grace_ms) == (True, 35_000)


@pytest.mark.parametrize(("gap_ms", "moved"), [(30_000, False), (30_001, True)])
def test_only_a_silence_longer_than_the_lease_counts_as_having_been_away(
    lab: Lab, gap_ms: int, moved: bool
) -> None:
    _, _, delivery = lab.running()
    before = lab.get(Delivery, delivery.delivery_id).progress_at_ms
    lab.pass_s(gap_ms / 1000)
    lab.renew(delivery)
    assert (lab.get(Delivery, delivery.delivery_id).progress_at_ms > before) is moved


@pytest.mark.parametrize(
    "after",
    [
        Progress(output_bytes=2, events=1, cpu_s=1.0, processes=1, files_changed=1),
        Progress(output_bytes=1, events=2, cpu_s=1.0, processes=1, files_changed=1),
        Progress(output_bytes=1, events=1, cpu_s=1.5, processes=1, files_changed=1),
        Progress(output_bytes=1, events=1, cpu_s=1.0, processes=2, files_changed=1),
        Progress(output_bytes=1, events=1, cpu_s=1.0, processes=0, files_changed=1),
        Progress(output_bytes=1, events=1, cpu_s=1.0, processes=1, files_changed=0),
        Progress(output_bytes=1, events=1, cpu_s=1.0, processes=1, files_changed=2),
        Progress(output_bytes=1, events=1, cpu_s=1.0, processes=1, files_changed=1, fraction=0.1),
        Progress(output_bytes=1, events=1, cpu_s=1.0, processes=1, files_changed=1, message="on it"),
    ],
)
def test_any_one_signal_that_moves_is_progress(after: Progress) -> None:
    before = Progress(output_bytes=1, events=1, cpu_s=1.0, processes=1, files_changed=1)
    assert has_advanced(before, after)
    assert not has_advanced(before, before)


def test_counters_that_begin_anew_are_no_progress() -> None:
    before = Progress(output_bytes=5, events=5, cpu_s=5.0)
    assert not has_advanced(before, Progress(output_bytes=4, events=4, cpu_s=4.0))


def test_when_work_started_is_recorded_once(lab: Lab) -> None:
    _, task_id, delivery = lab.running()
    renew_counting(lab, delivery, 1)
    assert lab.attempt(task_id).started_at_ms is None
    renew_counting(lab, delivery, 2, started_at_ms=5)
    renew_counting(lab, delivery, 3, started_at_ms=6)
    assert lab.attempt(task_id).started_at_ms == 5
    assert [one.started_at_ms for one in lab.events if isinstance(one, ev.AttemptStarted)] == [5]


def test_what_moves_is_dated_by_the_commit_that_heard_it(lab: Lab) -> None:
    _, _, delivery = lab.running()
    lab.pass_s(7)
    lab.renew(delivery, progress=Progress(output_bytes=1))
    assert lab.get(Delivery, delivery.delivery_id).progress_at_ms == lab.now.wall_ms


def test_nothing_is_due_before_its_time_nor_after_the_end(lab: Lab) -> None:
    node = lab.node()
    lab.submit()
    (delivery,) = lab.claim(node)
    lab.pass_s(9.999)
    assert lab.run(cm.Due(delivery.delivery_id)).what == "not_yet"
    lab.ack(delivery)
    lab.pass_s(29.999)
    assert lab.run(cm.Due(delivery.delivery_id)).what == "not_yet"
    lab.report(delivery)
    lab.pass_s(3600)
    assert lab.run(cm.Due(delivery.delivery_id)).what == "nothing"


def test_a_term_is_over_at_its_last_millisecond_by_both_clocks_and_not_before() -> None:
    began = Now(wall_ms=1_000, awake_ms=500, hub=IncarnationId("i_1"))
    term = term_from(began, 100)
    for wall_ms, awake_ms, hub, over in (
        (1_099, 600, "i_1", False),
        (1_100, 599, "i_1", False),
        (1_100, 600, "i_1", True),
        (1_100, 99, "i_2", False),
        (1_100, 100, "i_2", True),
    ):
        assert is_over(term, Now(wall_ms, awake_ms, IncarnationId(hub))) is over


def test_a_lease_that_runs_out_while_a_cancellation_waits_is_suspect_and_not_revoked(lab: Lab) -> None:
    _, task_id, delivery = lab.running()
    lab.cancel(task_id)
    lab.pass_s(30)
    assert lab.sweep() == ["suspect"]
    assert lab.attempt(task_id).state is AttemptState.SUSPECT
    lab.pass_s(30)
    assert lab.run(cm.Due(delivery.delivery_id)).what == "revoked"
    assert lab.get(Delivery, delivery.delivery_id).end_reason == "the cancellation was not answered in time"


@pytest.mark.parametrize("denied", [False, True])
def test_a_revocation_says_whether_the_node_lost_its_store_or_was_just_silent(lab: Lab, denied: bool) -> None:
    node, _, delivery = lab.running()
    if denied:
        lab.run(cm.Snapshot(node, lab.live(node), 1, ()))
    lab.lose(delivery)
    said = lab.get(Delivery, delivery.delivery_id).end_reason
    assert said == ("node lost its store" if denied else "the lease ran out and nobody reported")


def test_the_slot_on_a_machine_that_a_person_declared_gone_is_free_once_its_lease_is_over(lab: Lab) -> None:
    node, task_id, delivery = lab.running()
    lab.run(cm.ForgetNode(node, "ann", "it burned"))
    assert lab.recipient().slots_used == 1, "its lease may still be reported by what is on the wire"
    lab.lose(delivery)
    assert lab.recipient().slots_used == 0
    assert lab.recipient().is_blocked
    lab.answer(task_id, 1, Answer.RETIRE)
    assert not lab.recipient().is_blocked


def test_the_slot_on_a_machine_that_is_only_silent_stays_taken(lab: Lab) -> None:
    _, _, delivery = lab.running()
    lab.lose(delivery)
    assert lab.recipient().slots_used == 1


def test_what_was_used_when_nobody_reports_is_the_time_since_the_receipt(lab: Lab) -> None:
    node = lab.node()
    task_id = lab.submit()
    (delivery,) = lab.claim(node)
    lab.pass_s(4)
    lab.ack(delivery)
    lab.lose(delivery)
    held_s = (lab.terms.lease_ttl_ms + lab.terms.suspect_grace_ms) / 1000
    assert lab.get(Delivery, delivery.delivery_id).usage.wall_s == held_s
    assert lab.task(task_id).tally.used.wall_ms == held_s * 1000
