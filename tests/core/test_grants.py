"""Who is given what: a claim answers its own node, for its own recipients, within what is free."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tenure.core import commands as cm
from tenure.core import events as ev
from tenure.core.attempt import Attempt, AttemptState, Verdict
from tenure.core.canonical import text_digest
from tenure.core.circuit import Circuit
from tenure.core.delivery import Delivery, DeliveryState
from tenure.core.evolve import evolve
from tenure.core.ids import Address, ClaimId, DeliveryId, IncarnationId, NodeId, TaskId, attempt_id
from tenure.core.limits import PASSED_OVER
from tenure.core.recipient import Recipient, fits
from tenure.core.task import CancelStep, Stop, StopCause, Task, TaskState, avoiding_queue
from tenure.errors import InvariantError
from tests.core.lab import Lab


def claim(lab: Lab, node_id: NodeId, free: dict[str, int], offers: int = 3, **more: object) -> cm.Claimed:
    named = tuple(
        cm.Offer(DeliveryId(one), text_digest(one)) for one in (lab.fresh("d") for _ in range(offers))
    )
    wanted = {Address(where): units for where, units in free.items()}
    reply = lab.run(cm.Claim(node_id, lab.live(node_id), ClaimId(lab.fresh("c")), wanted, named))
    assert isinstance(reply, cm.Claimed), reply
    return reply


def test_a_claim_of_a_node_that_was_never_enrolled_is_refused(lab: Lab) -> None:
    lab.submit()
    command = cm.Claim(NodeId("n_none"), IncarnationId("i_1"), ClaimId("c_1"), {}, ())
    assert lab.run(command).code == "unauthenticated"


def test_a_claim_for_a_recipient_that_the_record_does_not_know_is_given_nothing(lab: Lab) -> None:
    node = lab.node()
    lab.submit()
    assert claim(lab, node, {"nobody@laptop": 1}).deliveries == ()
    assert len(claim(lab, node, {"nobody@laptop": 1, "claude@laptop": 1}).deliveries) == 1


def test_a_node_is_never_given_work_for_the_recipient_of_another_node(lab: Lab) -> None:
    one, other = lab.node("one"), lab.node("other")
    task_id = lab.submit(route="claude@one")
    assert claim(lab, other, {"claude@one": 1}).deliveries == ()
    assert lab.attempt(task_id).state is AttemptState.PENDING
    assert len(claim(lab, one, {"claude@one": 1}).deliveries) == 1


def test_a_claim_gets_what_it_has_free_and_no_more(lab: Lab) -> None:
    node = lab.node(capacity=5)
    for _ in range(5):
        lab.submit()
    assert len(claim(lab, node, {"claude@laptop": 2}).deliveries) == 2
    assert claim(lab, node, {"claude@laptop": 0}).deliveries == ()
    assert claim(lab, node, {"claude@laptop": 2}, offers=0).deliveries == ()
    assert len(claim(lab, node, {"claude@laptop": 9}, offers=1).deliveries) == 1
    assert len(claim(lab, node, {"claude@laptop": 9}, offers=9).deliveries) == 2
    assert lab.recipient().slots_used == 5


def test_two_recipients_of_one_claim_share_its_offers_and_no_task_is_given_twice(lab: Lab) -> None:
    node_id = lab.node(pools=("pool",))
    specs = tuple(
        cm.RecipientSpec(name=name, harness="command", pools=("pool",), capacity=2) for name in ("a", "b")
    )
    lab.run(cm.StartNode(node_id, IncarnationId("i_two"), "boot1", 1, "linux", "1", specs))
    tasks = [lab.submit(route="pool") for _ in range(3)]
    given = claim(lab, node_id, {"a@laptop": 2, "b@laptop": 2}, offers=4).deliveries
    assert sorted(lab.get(Delivery, one).task_id for one in given) == sorted(tasks)
    assert {lab.get(Delivery, one).recipient for one in given} == {"a@laptop", "b@laptop"}


def test_a_claim_that_only_took_tasks_out_of_the_queue_says_that_another_look_pays(lab: Lab) -> None:
    node = lab.node(capacity=3)
    lab.submit(concurrency_key="one at a time")
    lab.submit(concurrency_key="one at a time")
    lab.submit()
    first = claim(lab, node, {"claude@laptop": 1})
    assert (len(first.deliveries), first.look_again) == (1, False)
    second = claim(lab, node, {"claude@laptop": 1})
    assert (len(second.deliveries), second.look_again) == (1, False), "held one, and granted one behind it"
    lab.submit(concurrency_key="one at a time")
    third = claim(lab, node, {"claude@laptop": 1})
    assert (third.deliveries, third.look_again) == ((), True)
    fourth = claim(lab, node, {"claude@laptop": 1})
    assert (fourth.deliveries, fourth.look_again) == ((), False)


def test_what_an_attempt_froze_at_its_first_grant_decides_who_may_have_it_again(lab: Lab) -> None:
    one = lab.node("one", pools=("pool",), model="m1")
    task_id = lab.submit(route="pool")
    (delivery,) = lab.claim(one)
    lab.ack(delivery, refused="no room")
    assert (lab.attempt(task_id).harness, lab.attempt(task_id).model) == ("command", "m1")
    other = lab.node("other", pools=("pool",), model="m2")
    assert lab.claim(other) == []
    third = lab.node("third", pools=("pool",), harness="codex", model="m1")
    assert lab.claim(third) == []
    assert len(lab.claim(one)) == 1


def test_what_the_spec_froze_is_not_changed_by_the_recipient_that_takes_it(lab: Lab) -> None:
    node = lab.node(harness="command", model="m1")
    task_id = lab.submit(harness="command", model="m1")
    lab.work(node, task_id)
    assert (lab.attempt(task_id).harness, lab.attempt(task_id).model) == ("command", "m1")


@pytest.mark.parametrize(
    ("harness", "model", "does"),
    [
        (None, None, True),
        ("command", None, True),
        (None, "m1", True),
        ("codex", None, False),
        (None, "m2", False),
    ],
)
def test_a_recipient_fits_what_was_frozen_as_far_as_anything_was(
    lab: Lab, harness: str | None, model: str | None, does: bool
) -> None:
    lab.node(model="m1")
    assert fits(lab.recipient(), harness, model) is does


def granted(lab: Lab, task: Task, **changes: object) -> ev.DeliveryGranted:
    given: dict[str, object] = {
        "task_id": task.task_id, "number": 1, "delivery_id": DeliveryId("d_more"), "recipient": Address("claude@laptop"),
        "node_id": lab.recipient().node_id, "claim_id": ClaimId("c_more"), "incarnation": lab.live(lab.recipient().node_id),
        "fence": task.fence + 1, "token_digest": "0" * 64, "harness": "command", "model": None, "term_ms": 10_000,
    }  # fmt: skip
    return ev.DeliveryGranted(**{**given, **changes})  # type: ignore[arg-type] - a table of plain values


def handed_back(lab: Lab, delivery: Delivery, off: int = 0) -> ev.HandedBack:
    fence = lab.task(delivery.task_id).fence + 1 + off
    return ev.HandedBack(task_id=delivery.task_id, delivery_id=delivery.delivery_id, fence=fence, detail="")


@pytest.mark.parametrize("off", [-1, 1])
def test_a_grant_under_any_fence_but_the_next_one_cannot_be_recorded(lab: Lab, off: int) -> None:
    lab.node()
    task = lab.task(lab.submit())
    with pytest.raises(InvariantError, match="next fence"):
        evolve(lab.world, granted(lab, task, fence=task.fence + 1 + off), lab.now)


def test_a_second_grant_of_a_task_that_is_held_cannot_be_recorded(lab: Lab) -> None:
    _, task_id, delivery = lab.running()
    with pytest.raises(InvariantError, match=delivery.delivery_id):
        evolve(lab.world, granted(lab, lab.task(task_id)), lab.now)


@pytest.mark.parametrize("off", [-1, 1])
def test_the_end_of_a_lease_moves_the_fence_by_one_or_cannot_be_recorded(lab: Lab, off: int) -> None:
    _, _, delivery = lab.running()
    with pytest.raises(InvariantError, match="next fence"):
        evolve(lab.world, handed_back(lab, delivery, off), lab.now)


def test_the_end_of_a_lease_that_another_holds_cannot_be_recorded(lab: Lab) -> None:
    node, _, delivery = lab.running()
    lab.run(cm.HandBack(lab.proof(delivery), "nothing started"))
    lab.claim(node)
    with pytest.raises(InvariantError, match="does not hold"):
        evolve(lab.world, handed_back(lab, delivery), lab.now)


@pytest.mark.parametrize("state", [one for one in DeliveryState if one is not DeliveryState.CLAIMED])
def test_only_what_was_claimed_can_be_acknowledged(lab: Lab, state: DeliveryState) -> None:
    node, _, delivery = lab.running()
    if state is DeliveryState.REPORTED:
        lab.report(delivery)
    elif state is DeliveryState.VOID:
        lab.submit(route="claude")
        lab.report(delivery)
        (delivery,) = lab.claim(node)
        lab.ack(delivery, refused="no")
    said = ev.DeliveryAcknowledged(
        task_id=delivery.task_id, delivery_id=delivery.delivery_id, incarnation=lab.live(node), receipt_digest="receipt",
        term_ms=30_000,
    )  # fmt: skip
    with pytest.raises(InvariantError, match="cannot go from"):
        evolve(lab.world, said, lab.now)


def test_what_has_ended_is_left_by_nothing(lab: Lab) -> None:
    _, task_id, delivery = lab.running()
    lab.report(delivery)
    with pytest.raises(InvariantError, match="cannot end"):
        evolve(lab.world, ev.TaskEnded(task_id=task_id, state=TaskState.FAILED, reason="no"), lab.now)
    assert lab.attempt(task_id).verdict is Verdict.COMPLETED


def test_an_offer_that_is_voided_gives_its_unit_back_and_one_slot_is_freed_once(lab: Lab) -> None:
    node = lab.node(capacity=2)
    lab.submit()
    lab.submit()
    first, second = lab.claim(node, 2)
    lab.ack(first, refused="no")
    assert lab.recipient().slots_used == 1
    lab.ack(second)
    lab.report(second)
    assert lab.recipient().slots_used == 0
    freed = ev.SlotFreed(task_id=second.task_id, delivery_id=second.delivery_id, reason="again")
    evolve(lab.world, freed, lab.now)
    assert lab.get(Recipient, "claude@laptop").slots_used == 0


@pytest.mark.parametrize("asked", ["cancel", "stop"])
def test_a_receipt_for_a_task_that_was_asked_to_end_takes_its_grant_back_whatever_left_it_open(
    lab: Lab, asked: str
) -> None:
    """A cancellation voids at once, so this takes a record that something else wrote."""
    node = lab.node()
    task_id = lab.submit()
    (delivery,) = lab.claim(node)
    stop = Stop(1, CancelStep.REQUESTED, StopCause.PERSON, "no", "ann", 0)
    changes = {"cancel_step": CancelStep.REQUESTED} if asked == "cancel" else {"stop": stop}
    lab.world.put(replace(lab.task(task_id), **changes))
    assert lab.ack(delivery) == "canceled"
    assert lab.attempt(task_id).verdict is Verdict.CANCELED
    assert lab.recipient().slots_used == 0
    ended = TaskState.CANCELED if asked == "cancel" else TaskState.INPUT_REQUIRED
    assert lab.task(task_id).state is ended


def test_in_the_queue_of_those_who_avoid_somebody_harness_and_model_still_decide(lab: Lab) -> None:
    one = lab.node("one", pools=("pool",), harness="codex")
    other = lab.node("other", pools=("pool",))
    task_id = lab.submit(route="pool", harness="command")
    attempt = lab.attempt(task_id)
    spec = replace(attempt.spec, avoid=(Address("claude@third"),))
    lab.world.put(replace(attempt, spec=spec))
    lab.world.put(replace(lab.task(task_id), queue_key=avoiding_queue("pool")))
    assert lab.claim(one) == []
    assert len(lab.claim(other)) == 1


@pytest.mark.parametrize(("declared", "recorded"), [("open", None), ("user", "user"), ("sandbox", "sandbox")])
def test_the_isolation_that_a_grant_records_is_none_for_the_own_user_of_the_node(
    lab: Lab, declared: str, recorded: str | None
) -> None:
    node = lab.node(isolation=declared)
    lab.submit()
    assert lab.work(node).isolation == recorded


def test_the_receipt_of_what_was_reported_as_canceled_is_stale_and_no_answer_of_then(lab: Lab) -> None:
    _, _, delivery = lab.running()
    lab.report(delivery, Verdict.CANCELED)
    assert lab.ack(delivery) == "stale_fence"


def test_what_is_frozen_stays_also_against_an_event_that_says_otherwise(lab: Lab) -> None:
    lab.node(model="m1")
    task_id = lab.submit(harness="command", model="m1")
    evolve(lab.world, granted(lab, lab.task(task_id), harness="codex", model="m2"), lab.now)
    assert (lab.attempt(task_id).harness, lab.attempt(task_id).model) == ("command", "m1")


@pytest.mark.parametrize(("failures", "probe"), [(0, None), (2, "d_more")])
def test_a_grant_probes_a_circuit_that_is_open_and_leaves_a_closed_one_alone(
    lab: Lab, failures: int, probe: str | None
) -> None:
    lab.node(provider="acme")
    task = lab.task(lab.submit())
    lab.world.put(Circuit("acme", failures, 0, 0, "no room", None))
    evolve(lab.world, granted(lab, task), lab.now)
    assert lab.get(Circuit, "acme").probe == probe


def test_a_claim_passes_over_so_many_that_must_not_come_here_and_looks_no_further(lab: Lab) -> None:
    node = lab.node()
    task_id = lab.submit()
    task, attempt = lab.task(task_id), lab.attempt(task_id)
    spec = replace(attempt.spec, avoid=(Address("claude@laptop"),))
    for number in range(3 * PASSED_OVER):
        # Put as they are: six hundred submissions one by one would take the bench a minute.
        name = TaskId(f"t_{number:05}")
        queue = avoiding_queue("claude")
        lab.world.put(replace(task, task_id=name, idempotency_key=name, queue_key=queue))
        lab.world.put(replace(attempt, attempt_id=attempt_id(name, 1), task_id=name, spec=spec))
    lab.cancel(task_id)
    lab.pass_s(1)
    behind = lab.submit()
    assert lab.claim(node) == []
    for number in range(2 * PASSED_OVER):
        del lab.world.entities[Task][f"t_{number:05}"]
        del lab.world.entities[Attempt][f"t_{number:05}/1"]
    assert [one.task_id for one in lab.claim(node)] == [behind]


def test_a_person_is_asked_once_so_many_offers_in_a_row_came_to_nothing(lab: Lab) -> None:
    node = lab.node()
    lab.submit()
    for offers in range(1, lab.terms.max_offers + 1):
        (delivery,) = lab.claim(node)
        lab.ack(delivery, "no disk")
        assert lab.open_items() == (["offers_voided"] if offers >= lab.terms.max_offers else [])
