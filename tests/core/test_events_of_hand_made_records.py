"""What single events do to records that decisions do not make: forged ones, those of an older hub, those of a copy."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tenure.core import effect_events as ef
from tenure.core import events as ev
from tenure.core.account import Account, project_account
from tenure.core.attempt import Answer, Attempt, Verdict
from tenure.core.delivery import Delivery
from tenure.core.draft import Draft
from tenure.core.effect import Effect, EffectState
from tenure.core.evolve import evolve
from tenure.core.fairness import in_turn
from tenure.core.ids import EffectId, NodeId, TaskId, attempt_id
from tenure.core.recipient import Node, Recipient
from tenure.core.schedule import OccurrenceOutcome, Schedule, ScheduleState
from tenure.core.schedule_commands import RemoveSchedule
from tenure.core.schedule_events import OccurrenceHandled, ScheduleChanged
from tenure.core.task import Task, TaskSpec
from tenure.core.webhook import Inbound
from tenure.core.webhook_events import WebhookReceived, WebhookRefused
from tenure.errors import InvariantError
from tests.core.lab import Lab
from tests.core.test_schedules import HOUR_MS, ID, SPEC, Clockwork


def refuses(lab: Lab, event: Any) -> None:
    with pytest.raises(InvariantError):
        evolve(lab.world, event, lab.now)


# -- Tasks


def test_a_record_of_before_accounts_makes_none(lab: Lab) -> None:
    task_id = TaskId("t_old")
    spec = TaskSpec(objective="x", route="claude")
    evolve(lab.world, ev.TaskSubmitted(task_id=task_id, spec=spec, by="ann", idempotency_key="old"), lab.now)
    assert lab.task(task_id).project == "default"
    assert [*lab.world.every(Account)] == []


def test_a_project_without_an_account_has_its_turn(lab: Lab) -> None:
    task_id = lab.submit()
    del lab.world.entities[Account][project_account("default")]
    assert in_turn(Draft(lab.world, lab.now, lab.terms), ("claude|*|*",), 1).order == [task_id]


def test_an_approval_of_an_earlier_attempt_is_none_of_the_newest(lab: Lab) -> None:
    task_id = lab.submit(approval=True)
    lab.world.put(replace(lab.attempt(task_id), attempt_id=attempt_id(task_id, 2), number=2))
    lab.world.put(replace(lab.task(task_id), attempts=2))
    refuses(lab, ev.AttemptApproved(task_id=task_id, number=1, by="ann", because="fine"))
    evolve(lab.world, ev.AttemptApproved(task_id=task_id, number=2, by="ann", because="fine"), lab.now)
    assert not lab.task(task_id).needs_approval


def test_what_nobody_acknowledged_has_run_for_no_time(lab: Lab) -> None:
    _, task_id, delivery = lab.running()
    lab.world.put(replace(delivery, acknowledged_at_ms=None))
    lab.pass_s(7)
    event = ev.LeaseRevoked(
        task_id=task_id,
        number=1,
        delivery_id=delivery.delivery_id,
        fence=lab.task(task_id).fence + 1,
        reason="x",
        counted=True,
    )
    evolve(lab.world, event, lab.now)
    assert lab.get(Delivery, delivery.delivery_id).usage.wall_s == 0


def test_only_what_is_unknown_has_a_final_answer_that_counts(lab: Lab) -> None:
    _, task_id, delivery = lab.running()
    lab.lose(delivery)
    lab.answer(task_id, 1, Answer.RETIRE)
    unknown: Attempt = lab.attempt(task_id)
    assert unknown.is_settled_unknown
    assert not replace(unknown, verdict=Verdict.FAILED).is_settled_unknown


# -- nodes


def test_a_node_that_is_revoked_leaves_the_address_to_who_has_taken_it_over(lab: Lab) -> None:
    node = lab.node()
    lab.world.put(replace(lab.recipient(), node_id=NodeId("n_next")))
    evolve(lab.world, ev.NodeRevoked(node_id=node, by="ann", because="gone"), lab.now)
    assert lab.get(Node, node).revoked
    assert lab.get(Recipient, "claude@laptop").declared


# -- Effects


def test_an_effect_that_is_adopted_counts_as_one_of_its_task(lab: Lab) -> None:
    task_id = lab.submit()
    event = ef.EffectAdopted(
        task_id=task_id, effect_id=EffectId("e_1"), number=1, owner=TaskId("t_2"), idempotency_key="k"
    )
    evolve(lab.world, event, lab.now)
    assert (lab.task(task_id).effects, lab.task(task_id).open_effects) == (1, ())


def test_what_was_looked_up_before_is_not_looked_up_for_the_first_time_again(lab: Lab) -> None:
    task_id, _, effect_id = lab.doubted()
    event = ef.EffectLookedUp(task_id=task_id, effect_id=effect_id, again_after_ms=5)
    evolve(lab.world, event, lab.now)
    until = lab.effect(effect_id).not_found_term
    lab.pass_s(3)
    refuses(lab, event)
    assert lab.effect(effect_id).not_found_term == until


def settled(effect: Effect, **more: Any) -> ef.EffectSettled:
    said = {"state": EffectState.CONFIRMED, "result": "{}", "by": "ann", "is_word": True, **more}
    return ef.EffectSettled(task_id=effect.task_id, effect_id=effect.effect_id, **said)


def test_a_person_confirms_what_is_absent_only_where_the_provider_contradicts_itself(lab: Lab) -> None:
    _, _, effect_id = lab.doubted()
    lab.find_absent(effect_id)
    absent = lab.effect(effect_id)
    refuses(lab, settled(absent))
    lab.world.put(replace(absent, quarantined=True))
    task = lab.task(absent.task_id)
    evolve(lab.world, settled(absent), lab.now)
    assert lab.effect(effect_id).state is EffectState.CONFIRMED
    assert lab.world.find(Task, absent.task_id) is task, "it was settled for its Task before"


# -- schedules


def changed(one: Clockwork) -> ScheduleChanged:
    return ScheduleChanged(schedule_id=ID, spec=SPEC, by="ann", next_at_ms=one.now_ms + HOUR_MS)


def test_what_is_removed_is_not_changed() -> None:
    one = Clockwork()
    one.lab.run(RemoveSchedule(ID, "ann", "no use", may_all=False))
    refuses(one.lab, changed(one))
    assert one.schedule.state is ScheduleState.REMOVED


def handled(at_ms: int, outcome: OccurrenceOutcome = OccurrenceOutcome.FIRED) -> OccurrenceHandled:
    return OccurrenceHandled(schedule_id=ID, occurrence_ms=at_ms, next_at_ms=at_ms + HOUR_MS, outcome=outcome)


@pytest.mark.parametrize("by_ms", [-1, 1])
def test_only_the_occurrence_that_is_waited_for_is_handled(by_ms: int) -> None:
    one = Clockwork()
    at_ms = one.schedule.next_at_ms
    assert at_ms is not None
    refuses(one.lab, handled(at_ms + by_ms))
    evolve(one.lab.world, handled(at_ms), one.lab.now)
    assert one.schedule.next_at_ms == at_ms + HOUR_MS


def test_nothing_of_a_paused_schedule_is_handled_even_where_it_has_kept_its_next_occurrence() -> None:
    one = Clockwork()
    at_ms = one.schedule.next_at_ms
    assert at_ms is not None
    paused: Schedule = replace(one.schedule, state=ScheduleState.PAUSED)
    one.lab.world.put(paused)
    refuses(one.lab, handled(at_ms))


@pytest.mark.parametrize(
    ("outcome", "counts"),
    [(OccurrenceOutcome.FIRED, (1, 0, 0)), (OccurrenceOutcome.FAILED, (0, 1, 0))],
)
def test_an_occurrence_is_counted_once(outcome: OccurrenceOutcome, counts: tuple[int, int, int]) -> None:
    one = Clockwork()
    at_ms = one.schedule.next_at_ms
    assert at_ms is not None
    evolve(one.lab.world, handled(at_ms, outcome), one.lab.now)
    known = one.schedule
    assert (known.fired, known.failed, known.skipped) == counts


# -- webhooks


def test_of_the_bodies_under_an_id_that_was_claimed_only_the_first_other_one_is_recorded(lab: Lab) -> None:
    evolve(lab.world, WebhookReceived(inbound_id="w_1", provider="hook", kind="push", digest="a"), lab.now)
    refuses(lab, WebhookRefused(inbound_id="w_1", digest="a"))
    evolve(lab.world, WebhookRefused(inbound_id="w_1", digest="b"), lab.now)
    for digest in ("b", "c"):
        refuses(lab, WebhookRefused(inbound_id="w_1", digest=digest))
    assert lab.get(Inbound, "w_1").refused_digest == "b"
