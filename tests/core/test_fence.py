"""Who may write, and when work may start: `one_owner`, `fenced_writes`, `no_start_before_handoff`. Every step is also checked by `core.invariants` (in the Lab)."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tenure.core import commands as cm
from tenure.core.attempt import AttemptState, Outcome, Verdict
from tenure.core.attention import Attention, AttentionKind, item_id
from tenure.core.canonical import digest
from tenure.core.delivery import Delivery, Progress
from tenure.core.late import Late
from tenure.core.usage import Usage
from tests.core.lab import Lab


@pytest.mark.parametrize("change", [{"fence": 0}, {"fence": 2}, {"token_digest": "0" * 64}])
def test_a_write_without_fence_and_token_changes_nothing_on_any_leg(lab: Lab, change: dict[str, Any]) -> None:
    _, task_id, delivery = lab.running()
    task, attempt = lab.task(task_id), lab.attempt(task_id)
    assert lab.ack(delivery, **change) == "stale_fence"
    assert lab.renew(delivery, 5, **change).answer == "stale_fence"
    assert lab.report(delivery, **change) in ("late", "stale_fence")
    assert lab.run(cm.HandBack(lab.proof(delivery, **change), "x")).answer == "stale_fence"
    assert (lab.task(task_id), lab.attempt(task_id)) == (task, attempt)
    assert lab.get(type(delivery), delivery.delivery_id).counter == 0


def test_what_a_stale_owner_says_is_kept_once_as_late(lab: Lab) -> None:
    _, task_id, delivery = lab.running()
    lab.lose(delivery)
    assert lab.report(delivery) == "late"
    assert lab.report(delivery) == "late"
    assert lab.renew(delivery).answer == "stale_fence"
    assert lab.renew(delivery).answer == "stale_fence"
    kinds = sorted(str(one.kind) for one in lab.world.every(Late))
    assert kinds == ["renew", "report"]
    assert lab.attempt(task_id).verdict is Verdict.UNKNOWN


def test_who_does_not_know_the_token_leaves_no_late_message_behind(lab: Lab) -> None:
    _, _, delivery = lab.running()
    lab.lose(delivery)
    assert lab.report(delivery, token_digest="0" * 64) == "stale_fence"
    assert not list(lab.world.every(Late))


@pytest.mark.parametrize("early", ["before the receipt", "under a wrong fence"])
def test_a_report_that_was_kept_as_late_does_not_swallow_the_same_words_under_the_current_fence(
    lab: Lab, early: str
) -> None:
    node = lab.node()
    task_id = lab.submit()
    (delivery,) = lab.claim(node)
    if early == "before the receipt":
        assert lab.report(delivery) == "late"
        assert lab.ack(delivery) == "delivered"
    else:
        assert lab.ack(delivery) == "delivered"
        assert lab.report(delivery, fence=9) == "late"
    assert lab.report(delivery) == "recorded"
    assert lab.attempt(task_id).verdict is Verdict.COMPLETED


def test_a_recorded_report_is_not_confirmed_to_who_does_not_know_the_token(lab: Lab) -> None:
    _, _, delivery = lab.running()
    lab.report(delivery)
    assert lab.report(delivery, token_digest="0" * 64) == "stale_fence"


def test_late_messages_of_one_delivery_are_bounded(lab: Lab) -> None:
    _, _, delivery = lab.running()
    lab.lose(delivery)
    for number in range(80):
        outcome = Outcome(verdict=Verdict.COMPLETED, summary=str(number))
        assert lab.run(cm.Report(lab.proof(delivery), digest(outcome), outcome)).answer == "late"
    assert len(list(lab.world.every(Late))) == 50


def test_an_offer_nobody_confirms_is_voided_and_the_same_attempt_offered_under_a_higher_fence(
    lab: Lab,
) -> None:
    node = lab.node()
    task_id = lab.submit()
    (first,) = lab.claim(node)
    lab.pass_s(10)
    assert lab.sweep() == ["voided"]
    assert lab.ack(first) == "stale_fence"
    (second,) = lab.claim(node)
    assert (second.number, second.fence) == (1, 3)
    assert lab.task(task_id).attempts == 1


def test_a_late_ack_is_accepted_until_the_commit_that_voids_the_grant(lab: Lab) -> None:
    node = lab.node()
    lab.submit()
    (delivery,) = lab.claim(node)
    lab.pass_s(60)
    assert lab.ack(delivery) == "delivered"
    assert lab.sweep() == []


def test_a_refused_receipt_voids_and_after_too_many_a_person_is_asked_until_somebody_takes_it(
    lab: Lab,
) -> None:
    node = lab.node()
    lab.submit()
    for _ in range(lab.terms.max_offers):
        (delivery,) = lab.claim(node)
        assert lab.ack(delivery, refused="no space left") == "refused"
        assert lab.ack(delivery, refused="no space left") == "refused"
    assert lab.open_items() == ["offers_voided"]
    (delivery,) = lab.claim(node)
    assert lab.ack(delivery) == "delivered"
    assert lab.open_items() == []


def test_a_delivery_acknowledged_by_an_earlier_incarnation_is_handed_back_and_offered_again(lab: Lab) -> None:
    node, task_id, delivery = lab.running()
    lab.node()
    assert lab.ack(delivery) == "other_incarnation"
    back = cm.HandBack(lab.proof(delivery), "started_by is ours and empty")
    assert lab.run(back).answer == "handed_back"
    assert lab.run(back).answer == "replayed"
    assert lab.attempt(task_id).state is AttemptState.PENDING
    assert lab.recipient().slots_used == 0
    (again,) = lab.claim(node)
    assert (again.number, again.fence) == (1, 3)


def test_a_copy_of_a_disk_cannot_hand_back_what_the_original_may_be_running(lab: Lab) -> None:
    node, task_id, delivery = lab.running()
    lab.node(boot="copy")
    assert lab.ack(delivery) == "other_incarnation"
    assert lab.run(cm.HandBack(lab.proof(delivery), "nothing is in my store")).answer == "stale_fence"
    assert lab.attempt(task_id).state is AttemptState.DELIVERED
    assert lab.claim(node) == []
    lab.pass_s(lab.terms.lease_ttl_ms / 1000)
    assert lab.sweep() == ["suspect"]
    assert "restarted meanwhile, or a copy of its disk" in lab.reason(task_id).sentence
    lab.pass_s(lab.terms.suspect_grace_ms / 1000)
    assert lab.sweep() == ["revoked"]
    assert lab.open_items() == ["unknown"]
    (item,) = (one for one in lab.world.every(Attention) if one.open)
    assert "restarted meanwhile, or a copy of its disk" in item.summary


@pytest.mark.parametrize(("boot", "is_told"), [("boot1", False), ("copy", True)])
def test_an_unknown_outcome_that_another_boot_reports_says_that_it_may_come_from_a_copy(
    lab: Lab, boot: str, is_told: bool
) -> None:
    _, task_id, delivery = lab.running()
    lab.node(boot=boot)
    assert lab.report(delivery, Verdict.UNKNOWN) == "recorded"
    item = lab.get(Attention, item_id(AttentionKind.UNKNOWN, f"{task_id}/1"))
    assert ("restarted meanwhile, or a copy of its disk" in item.summary) is is_told


def test_a_hand_back_of_what_the_same_boot_acknowledged_is_taken_whatever_other_boots_came_before(
    lab: Lab,
) -> None:
    node = lab.node(boot="old")
    lab.node(boot="new")
    task_id = lab.submit()
    delivery = lab.work(node)
    lab.node(boot="new")
    assert lab.ack(delivery) == "other_incarnation"
    assert lab.run(cm.HandBack(lab.proof(delivery), "never started")).answer == "handed_back"
    assert lab.attempt(task_id).state is AttemptState.PENDING


def test_a_hand_back_of_what_was_acknowledged_before_boots_were_kept_is_taken(lab: Lab) -> None:
    _, task_id, delivery = lab.running()
    lab.world.entities[Delivery][delivery.delivery_id] = replace(delivery, boot_id=None)
    lab.node(boot="another")
    assert lab.run(cm.HandBack(lab.proof(delivery), "never started")).answer == "handed_back"
    assert lab.attempt(task_id).state is AttemptState.PENDING


def test_what_was_said_to_have_started_cannot_be_handed_back(lab: Lab) -> None:
    _, task_id, delivery = lab.running()
    started = lab.run(
        replace(cm.Renew(lab.proof(delivery), 1, Progress(), Usage()), started_at_ms=lab.now.wall_ms)
    )
    assert started.answer == "renewed"
    assert lab.run(cm.HandBack(lab.proof(delivery), "never started")).answer == "stale_fence"
    assert lab.attempt(task_id).state is AttemptState.DELIVERED


def test_a_late_hand_back_across_a_restart_of_the_machine_frees_the_slot(lab: Lab) -> None:
    _, _, delivery = lab.running()
    lab.node(boot="boot2")
    lab.lose(delivery)
    assert lab.run(cm.HandBack(lab.proof(delivery), "never started")).answer == "stale_fence"
    assert lab.recipient().slots_used == 0
