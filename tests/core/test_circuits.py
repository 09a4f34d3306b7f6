"""Capacity: back off with full jitter, do as the provider says, and leave its account alone until it has room again."""

from __future__ import annotations

import itertools
import statistics
from typing import Any

import pytest
from msgspec.structs import replace

from tenure.core import desk_commands as dc
from tenure.core import desk_events as de
from tenure.core.attempt import Verdict
from tenure.core.circuit import LONGEST_MS, Circuit, open_until_ms, pause_ms
from tenure.core.commands import Done
from tenure.core.delivery import Delivery
from tenure.core.failure import FailureClass
from tenure.core.ids import NodeId
from tenure.core.policy import DEFAULT, Action, Response
from tests.core.lab import Lab, QuickLab, evidence

BACK_OFF = Response(Action.BACK_OFF, first_s=5, most_s=60)


def no_room(lab: Lab, delivery: Delivery, **known: Any) -> None:
    assert (
        lab.fail(delivery, FailureClass.CAPACITY, evidence=evidence(http_status=429, **known)) == "recorded"
    )


def circuit(lab: Lab, quota: str = "account") -> Circuit:
    return lab.get(Circuit, quota)


def shared(lab: Lab, name: str, **more: Any) -> NodeId:
    return lab.node(name, **{"provider": "account", "pools": ("pool",), "capacity": 3, **more})


def test_pauses_are_spread_evenly_over_the_whole_range_and_never_beyond_its_cap() -> None:
    for times, whole_ms in ((0, 5_000), (1, 10_000), (3, 40_000), (4, 60_000), (500, 60_000)):
        drawn = [pause_ms(f"t_{n}/1", times, BACK_OFF) for n in range(2_000)]
        assert all(0 <= one < whole_ms for one in drawn)
        tenths = [sum(1 for one in drawn if one * 10 // whole_ms == part) for part in range(10)]
        assert min(tenths) > 130
        assert max(tenths) < 270
        assert abs(statistics.mean(drawn) - whole_ms / 2) < whole_ms / 20
    assert pause_ms("t_1/1", 3, BACK_OFF) == pause_ms("t_1/1", 3, BACK_OFF)


@pytest.mark.parametrize(
    ("wait_ms", "retry_after_s", "reset_at_ms", "until_ms"),
    [
        (3_000, None, None, 1_003_000),
        (3_000, 60.5, None, 1_060_500),
        (90_000, 60, None, 1_060_000),  # it is obeyed, and not made longer
        (3_000, None, 5_000_000, 5_000_000),
        (3_000, 1, 7, 1_001_000),
        (3_000, None, 10**15, 1_000_000 + LONGEST_MS),
        (3_000, 1e12, None, 1_000_000 + LONGEST_MS),
    ],
)
def test_the_provider_is_left_alone_as_long_as_it_says_within_reason(
    wait_ms: int, retry_after_s: float | None, reset_at_ms: int | None, until_ms: int
) -> None:
    assert open_until_ms(1_000_000, wait_ms, retry_after_s, reset_at_ms) == until_ms


def test_a_capacity_failure_is_refunded_and_the_same_spec_waits_for_its_time(lab: Lab) -> None:
    node = shared(lab, "one")
    task_id = lab.submit(route="claude@one")
    no_room(lab, lab.work(node), retry_after_s=30)
    task, attempt = lab.task(task_id), lab.attempt(task_id, 2)
    assert (task.tally.refunded, task.tally.waits, task.ready_at_ms) == (1, 1, lab.now.wall_ms + 30_000)
    assert attempt.spec.hypothesis is not None
    assert attempt.spec.hypothesis.transient
    lab.pass_s(29)
    assert lab.claim(node) == []
    lab.pass_s(1)
    lab.report(lab.work(node))
    assert lab.task(task_id).state == "completed"
    assert circuit(lab).is_closed


def test_many_refunded_attempts_do_not_use_up_the_budget_but_the_policy_has_an_end(lab: Lab) -> None:
    node = shared(lab, "one")
    task_id = lab.submit(route="claude@one")
    number = 0
    for number in itertools.count(1):
        no_room(lab, lab.work(node))
        if lab.task(task_id).attempts == number:
            break
        lab.pass_s(3_600)
    assert number == 51
    assert lab.open_items() == ["failed"]
    assert lab.task(task_id).tally.refunded == 51


def test_while_a_circuit_is_open_no_recipient_of_its_quota_is_given_anything(lab: Lab) -> None:
    one, two = shared(lab, "one"), shared(lab, "two")
    free = lab.node("three", pools=("pool",))
    first = lab.submit(route="claude@one")
    no_room(lab, lab.work(one), retry_after_s=100)
    others = [lab.submit(route="claude@two"), lab.submit(route="pool")]
    assert lab.claim(two) == []
    assert [one.task_id for one in lab.claim(free)] == [others[1]]
    assert circuit(lab).until_ms == lab.now.wall_ms + 100_000
    lab.restart_hub(away_s=50)
    assert lab.claim(two) == []
    assert "account" in lab.reason(others[0]).sentence
    assert lab.task(first).queue_key is not None


def test_a_task_of_a_pool_goes_to_another_provider_that_has_room(lab: Lab) -> None:
    one, other = shared(lab, "one"), lab.node("other", provider="another", pools=("pool",))
    task_id = lab.submit(route="pool")
    no_room(lab, lab.work(one), retry_after_s=3_600)
    lab.pass_s(5)
    delivery = lab.work(other)
    assert (delivery.task_id, delivery.number) == (task_id, 2)


def test_when_its_time_is_over_one_attempt_goes_first_and_its_end_opens_it_again_for_longer(lab: Lab) -> None:
    one, two = shared(lab, "one"), shared(lab, "two")
    for _ in range(4):
        lab.submit(route="pool")
    no_room(lab, lab.work(one), retry_after_s=10)
    lab.pass_s(10)
    (probe,) = lab.claim(two, 3)
    lab.ack(probe)
    assert lab.claim(one, 3) == []
    no_room(lab, probe, retry_after_s=20)
    assert (circuit(lab).failures, circuit(lab).until_ms) == (2, lab.now.wall_ms + 20_000)
    lab.pass_s(20)
    (probe,) = lab.claim(one, 3)
    lab.ack(probe)
    lab.report(probe)
    assert circuit(lab).is_closed
    assert len(lab.claim(one, 3) + lab.claim(two, 3)) == 3


@pytest.mark.parametrize("verdict", [Verdict.UNKNOWN, Verdict.CANCELED])
def test_a_probe_that_says_nothing_of_the_provider_leaves_it_to_the_next(lab: Lab, verdict: Verdict) -> None:
    one, two = shared(lab, "one"), shared(lab, "two")
    for _ in range(3):
        lab.submit(route="pool")
    no_room(lab, lab.work(one), retry_after_s=10)
    lab.pass_s(10)
    (probe,) = lab.claim(two, 3)
    lab.ack(probe)
    lab.report(probe, verdict)
    assert not circuit(lab).is_closed
    assert len(lab.claim(one, 3)) == 1


def test_a_failure_for_another_reason_shows_that_the_provider_served_it(lab: Lab) -> None:
    node = shared(lab, "one")
    lab.submit(route="claude@one")
    no_room(lab, lab.work(node), retry_after_s=5)
    lab.pass_s(5)
    lab.fail(lab.work(node), FailureClass.VALIDATION, evidence=evidence(check="wrong"))
    assert circuit(lab).is_closed


@pytest.mark.parametrize("later_s", [0, 3])
def test_attempts_that_were_under_way_when_it_opened_do_not_open_it_again(lab: Lab, later_s: int) -> None:
    node = shared(lab, "one")
    for _ in range(3):
        lab.submit(route="claude@one")
    held = lab.claim(node, 3)
    for delivery in held:
        lab.ack(delivery)
    no_room(lab, held[0], retry_after_s=60)
    lab.pass_s(later_s)
    no_room(lab, held[1], retry_after_s=10)
    no_room(lab, held[2], retry_after_s=90)
    assert (circuit(lab).failures, circuit(lab).until_ms) == (1, lab.now.wall_ms + 90_000)


def test_what_was_under_way_extends_a_circuit_only_by_what_is_later(lab: Lab) -> None:
    node = shared(lab, "one")
    for _ in range(3):
        lab.submit(route="claude@one")
    held = lab.claim(node, 3)
    for delivery in held:
        lab.ack(delivery)
    no_room(lab, held[0], retry_after_s=60)
    for delivery, retry_after_s, extended in ((held[1], 60, 0), (held[2], 61, 1)):
        no_room(lab, delivery, retry_after_s=retry_after_s)
        assert len([one for one in lab.events if isinstance(one, de.CircuitExtended)]) == extended


def test_what_was_granted_before_a_circuit_opened_does_not_close_it_and_a_closed_one_is_not_closed_again(
    lab: Lab,
) -> None:
    node = shared(lab, "one")
    for _ in range(3):
        lab.submit(route="claude@one")
    held = lab.claim(node, 2)
    for delivery in held:
        lab.ack(delivery)
    lab.pass_s(1)
    no_room(lab, held[0], retry_after_s=5)
    lab.report(held[1])
    assert not circuit(lab).is_closed
    lab.pass_s(5)
    for _ in range(2):
        lab.report(lab.work(node))
    assert len([one for one in lab.events if isinstance(one, de.CircuitClosed)]) == 1


@pytest.mark.parametrize(
    ("summary", "because"), [("too many requests", "too many requests"), ("", "http-busy")]
)
def test_a_circuit_says_why_it_is_open_in_the_words_of_the_node_or_by_the_rule(
    lab: Lab, summary: str, because: str
) -> None:
    node = shared(lab, "one")
    lab.submit(route="claude@one")
    said = evidence(http_status=429)
    lab.fail(lab.work(node), FailureClass.CAPACITY, evidence=said, summary=summary)
    assert circuit(lab).because == because


def test_a_shortage_of_the_machine_itself_concerns_no_other_machine(lab: Lab) -> None:
    one, two = shared(lab, "one"), shared(lab, "two")
    lab.submit(route="claude@one")
    known = evidence(start_error="ENOMEM", retry_after_s=60)
    lab.fail(lab.work(one), FailureClass.CAPACITY, evidence=known)
    assert not circuit(lab, "claude@one").is_closed
    lab.submit(route="claude@two")
    assert len(lab.claim(two)) == 1


def test_a_person_who_knows_better_closes_it(lab: Lab) -> None:
    node = shared(lab, "one")
    lab.submit(route="claude@one")
    no_room(lab, lab.work(node), retry_after_s=1_000)
    lab.submit(route="claude@one")
    assert lab.run(dc.CloseCircuit("account", "ann", "they called")).replayed is False
    assert lab.run(dc.CloseCircuit("account", "ann", "they called")).replayed is True
    assert lab.run(dc.CloseCircuit("nobody", "ann", "x")).code == "not_found"
    assert len(lab.claim(node)) == 1


def test_a_wait_beyond_the_deadline_is_not_begun(lab: Lab) -> None:
    node = shared(lab, "one")
    task_id = lab.submit(route="claude@one", deadline_ms=lab.now.wall_ms + 60_000)
    no_room(lab, lab.work(node), retry_after_s=60)
    assert (lab.task(task_id).attempts, lab.open_items()) == (1, ["exhausted"])


def test_a_time_that_nobody_can_mean_is_believed_up_to_eight_days() -> None:
    for said in (1e308, 10.0**12):
        assert open_until_ms(1_000, 5, said, None) == 1_000 + LONGEST_MS
    assert open_until_ms(1_000, 5, -1e308, None) == 1_000
    assert open_until_ms(1_000, 5, None, 2**62) == 1_000 + LONGEST_MS


def test_a_failure_that_never_reached_the_provider_says_nothing_of_its_room(lab: Lab) -> None:
    node = shared(lab, "one")
    for _ in range(3):
        lab.submit(route="claude@one")
    no_room(lab, lab.work(node), retry_after_s=60)
    lab.pass_s(60)
    lab.fail(lab.work(node), FailureClass.CONFIGURATION, evidence=evidence(start_error="ENOENT"))
    assert not circuit(lab).is_closed
    assert len(lab.claim(node, 3)) == 1


def test_a_failure_that_was_no_shortage_of_the_machine_closes_the_circuit_of_that_machine(lab: Lab) -> None:
    node = shared(lab, "one")
    lab.submit(route="claude@one")
    lab.fail(lab.work(node), FailureClass.CAPACITY, evidence=evidence(start_error="ENOMEM", retry_after_s=5))
    lab.pass_s(5)
    lab.fail(lab.work(node), FailureClass.CONFIGURATION, evidence=evidence(start_error="ENOENT"))
    assert circuit(lab, "claude@one").is_closed


def test_a_recipient_without_a_provider_stays_closed_off_until_it_was_served(lab: Lab) -> None:
    node = lab.node("one")
    for _ in range(2):
        lab.submit()
    no_room(lab, lab.work(node), retry_after_s=60)
    lab.pass_s(60)
    lab.fail(lab.work(node), FailureClass.CONFIGURATION, evidence=evidence(start_error="ENOENT"))
    assert not circuit(lab, "claude@one").is_closed
    lab.report(lab.work(node))
    assert circuit(lab, "claude@one").is_closed


def test_an_attempt_that_asks_was_served(lab: Lab) -> None:
    node = shared(lab, "one")
    for _ in range(2):
        lab.submit(route="claude@one")
    no_room(lab, lab.work(node), retry_after_s=60)
    lab.pass_s(60)
    lab.report(lab.work(node), Verdict.ASKED)
    assert circuit(lab).is_closed


@pytest.mark.parametrize("whole", [True, False])
def test_an_attempt_that_completes_while_it_is_to_end_was_served(lab: Lab, whole: bool) -> None:
    node = shared(lab, "one")
    task_id = lab.submit(route="claude@one")
    no_room(lab, lab.work(node), retry_after_s=60)
    lab.pass_s(60)
    delivery = lab.work(node)
    if whole:
        lab.cancel(task_id)
    else:
        lab.run(dc.StopAttempt(task_id, 2, "ann", "enough"))
    lab.report(delivery)
    assert circuit(lab).is_closed


def answering(lab: Lab, action: Action) -> str:
    """A policy that does something else about capacity than to back off."""
    if action is Action.END:
        return "once"
    responses = {**DEFAULT.responses, "capacity": Response(action)}
    assert lab.run(dc.StorePolicy(replace(DEFAULT, name="mine", responses=responses), "ann")) == Done()
    return "mine"


@pytest.mark.parametrize("action", [Action.ESCALATE, Action.END, Action.AGAIN, Action.ELSEWHERE])
def test_what_the_provider_said_is_heard_whatever_the_policy_does_about_the_task(
    lab: Lab, action: Action
) -> None:
    node, policy = shared(lab, "one"), answering(lab, action)
    for _ in range(3):
        lab.submit(route="pool", policy=policy)
    no_room(lab, lab.work(node), retry_after_s=600)
    assert circuit(lab).until_ms == lab.now.wall_ms + 600_000
    assert lab.claim(node, 3) == []


@pytest.mark.parametrize("whole", [True, False])
def test_what_the_provider_said_is_heard_although_its_attempt_was_to_end(lab: Lab, whole: bool) -> None:
    node = shared(lab, "one")
    tasks = [lab.submit(route="claude@one") for _ in range(2)]
    delivery = lab.work(node)
    if whole:
        lab.cancel(tasks[0])
    else:
        lab.run(dc.StopAttempt(tasks[0], 1, "ann", "enough"))
    no_room(lab, delivery, retry_after_s=600)
    assert circuit(lab).until_ms == lab.now.wall_ms + 600_000
    assert lab.claim(node, 3) == []


def test_what_the_provider_said_is_heard_at_once_although_an_effect_is_in_doubt(lab: Lab) -> None:
    _, delivery, _ = lab.issued()
    no_room(lab, delivery, retry_after_s=600)
    assert circuit(lab, "claude@laptop").until_ms == lab.now.wall_ms + 600_000


def test_a_provider_that_stays_without_room_is_asked_ever_more_rarely_by_whatever_tasks() -> None:
    lab = QuickLab()
    node = shared(lab, "one")
    for _ in range(60):
        lab.submit(route="claude@one")
    probes = []
    for _ in range(6 * 3_600 // 5):
        for delivery in lab.claim(node, 3):
            lab.ack(delivery)
            no_room(lab, delivery)
            probes.append((delivery.task_id, lab.now.wall_ms))
        lab.pass_s(5)
    waits = [after - before for (_, before), (_, after) in itertools.pairwise(probes)]
    assert len({task for task, _ in probes}) == len(probes)
    assert len(probes) < 35
    assert sum(waits[:5]) < 300_000 < 10 * 60_000 < max(waits) <= 3_605_000
