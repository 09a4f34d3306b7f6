"""What must always hold, in every world and after every step. Used by stateful tests, the ledger suite, the
simulator and the model checker.

`world_violations` looks at one state; `step_violations` at what one decision changed. Each sentence begins
with the rule of DESIGN 4 that it guards."""

from __future__ import annotations

from collections import Counter

from tenure.core.attempt import FINAL_ANSWERS, Attempt, AttemptState, Verdict
from tenure.core.attention import Attention, AttentionKind, item_id
from tenure.core.delivery import Delivery, DeliveryState
from tenure.core.effect_invariants import effect_steps, effects_of_task, one_effect_each
from tenure.core.ids import attempt_id
from tenure.core.lease_invariants import lease_steps, lease_violations
from tenure.core.recipient import Recipient
from tenure.core.recovery_invariants import recovery_steps, recovery_violations
from tenure.core.schedule_invariants import schedule_violations
from tenure.core.task import Task, TaskState
from tenure.core.world import World

OPEN_STATES = frozenset({AttemptState.LEASED, AttemptState.DELIVERED, AttemptState.SUSPECT})


def world_violations(world: World) -> list[str]:
    """Every broken rule in a state, as sentences; empty when all hold."""
    found: list[str] = []
    for task in world.every(Task):
        found += _task_violations(world, task)
    for delivery in world.every(Delivery):
        found += _delivery_violations(world, delivery)
    for recipient in world.every(Recipient):
        found += _recipient_violations(world, recipient)
    for attempt in world.every(Attempt):
        found += _attempt_violations(world, attempt)
    found += lease_violations(world) + one_effect_each(world)
    return found + schedule_violations(world) + recovery_violations(world)


def _task_violations(world: World, task: Task) -> list[str]:
    found: list[str] = []
    name = task.task_id
    newest = world.find(Attempt, attempt_id(task.task_id, task.attempts))
    if newest is None:
        return [f"never_silent: {name} has no Attempt"]
    held = world.find(Delivery, task.lease or "")
    if (newest.state in OPEN_STATES) is not (held is not None):
        found.append(f"one_owner: {name} is {newest.state} with lease {task.lease}")
    if held is not None and (held.fence != task.fence or held.attempt_id != newest.attempt_id):
        found.append(
            f"one_owner: {name} holds fence {task.fence}, its lease {held.fence} of {held.attempt_id}"
        )
    if task.queue_key is not None and (newest.state is not AttemptState.PENDING or task.is_cancel_requested):
        found.append(f"one_owner: {name} is in a queue while {newest.state}, cancel {task.cancel_step}")
    moves = task.is_terminal or held is not None or task.queue_key is not None
    found += effects_of_task(world, task, held is not None)
    waits = task.waits_for or task.failed_dependencies or task.state is TaskState.INPUT_REQUIRED
    waits = waits or task.open_effects or task.needs_approval or task.hold is not None
    if not moves and not waits:
        found.append(
            f"never_silent: {name} ({task.state}, {newest.state}) neither moves nor waits for anything"
        )
    if task.is_terminal:
        found += _end_violations(task, newest)
    for number in range(1, task.attempts):
        earlier = world.find(Attempt, attempt_id(task.task_id, number))
        if earlier is None or earlier.state is not AttemptState.ENDED:
            found.append(f"one_owner: {name}/{number} is open beside a successor")
    return found


def _end_violations(task: Task, newest: Attempt) -> list[str]:
    wrong = (
        ("has ended with an open Attempt", newest.state is not AttemptState.ENDED),
        ("has ended and is in a queue", task.queue_key is not None),
        (
            f"was to be canceled and ended {task.state}",
            task.is_cancel_requested and task.state is not TaskState.CANCELED,
        ),
    )
    return [f"no_resurrection: {task.task_id} {what}" for what, holds in wrong if holds]


def _delivery_violations(world: World, delivery: Delivery) -> list[str]:
    found: list[str] = []
    name = delivery.delivery_id
    task = world.find(Task, delivery.task_id)
    holds = task is not None and task.lease == name
    if (delivery.due_at_ms is not None) is not holds:
        found.append(f"never_silent: {name} holds={holds} but is due at {delivery.due_at_ms}")
    if holds and not delivery.slot:
        found.append(f"block and slot: {name} is open without a slot")
    if delivery.state is DeliveryState.VOID and (delivery.acknowledged_at_ms is not None or delivery.slot):
        found.append(f"no_start_before_handoff: {name} was acknowledged and then voided, or keeps its slot")
    if (
        delivery.state in (DeliveryState.DELIVERED, DeliveryState.REPORTED)
        and delivery.receipt_digest is None
    ):
        found.append(f"no_start_before_handoff: {name} is {delivery.state} without a receipt")
    return found


def _recipient_violations(world: World, recipient: Recipient) -> list[str]:
    where = recipient.address
    slots = sum(1 for one in world.every(Delivery) if one.recipient == where and one.slot)
    found = (
        [f"block and slot: {where} counts {recipient.slots_used} slots, {slots} are taken"]
        if slots != recipient.slots_used
        else []
    )
    must: set[str] = set()
    for attempt in world.every(Attempt):
        last = world.find(Delivery, attempt.last_delivery or "")
        if attempt.verdict is not Verdict.UNKNOWN or last is None or last.recipient != where:
            continue
        if attempt.answer not in FINAL_ANSWERS or last.slot:
            must.add(attempt.attempt_id)
    if sorted(must) != sorted(recipient.blocks):
        found.append(f"no_guess: {where} is blocked by {recipient.blocks}, it must be by {sorted(must)}")
    return found


def _attempt_violations(world: World, attempt: Attempt) -> list[str]:
    found: list[str] = []
    name = attempt.attempt_id
    if (attempt.state is AttemptState.ENDED) is not (attempt.verdict is not None):
        found.append(f"frozen: {name} is {attempt.state} with verdict {attempt.verdict}")
    if attempt.outcome is None and attempt.verdict is Verdict.CANCELED:
        last = world.find(Delivery, attempt.last_delivery or "")
        if last is not None and (last.state is DeliveryState.DELIVERED or last.report_digest is not None):
            found.append(f"no_guess: {name} was withdrawn although its receipt was accepted")
    elif attempt.outcome is None and attempt.verdict not in (None, Verdict.UNKNOWN):
        found.append(f"no_guess: {name} is {attempt.verdict} and nobody reported it")
    if attempt.is_open_unknown:
        item = world.find(Attention, item_id(AttentionKind.UNKNOWN, name))
        if item is None or not item.open:
            found.append(f"never_silent: {name} is unknown and on no list")
    return found


def step_violations(before: World, after: World) -> list[str]:
    """Every rule that the step from one state to the next broke."""
    found: list[str] = []
    for task in before.every(Task):
        later = after.find(Task, task.task_id)
        if later is None:
            found.append(f"durable: {task.task_id} is gone")
            continue
        if task.is_terminal and later != task:
            found.append(f"no_resurrection: {task.task_id} changed after its end")
        if later.spec != task.spec:
            found.append(f"frozen: the spec of {task.task_id} changed")
        if task.is_cancel_requested and later.attempts > task.attempts:
            found.append(f"no_resurrection: {task.task_id} got an Attempt after its cancellation")
    for attempt in before.every(Attempt):
        found += _attempt_step(attempt, after.find(Attempt, attempt.attempt_id))
    found += _new_grants(before, after) + lease_steps(before, after)
    return found + effect_steps(before, after) + recovery_steps(before, after)


def _attempt_step(attempt: Attempt, later: Attempt | None) -> list[str]:
    if later is None:
        return [f"durable: {attempt.attempt_id} is gone"]
    found: list[str] = []
    if later.spec != attempt.spec:
        found.append(f"frozen: the spec of {attempt.attempt_id} changed")
    if attempt.answer in FINAL_ANSWERS and _answer_of(later) != _answer_of(attempt):
        found.append(f"no_guess: the final answer to {attempt.attempt_id} changed")
    return found


def _answer_of(attempt: Attempt) -> tuple[object, ...]:
    return attempt.answer, attempt.answer_because, attempt.answer_by, attempt.answer_at_ms


def _new_grants(before: World, after: World) -> list[str]:
    found: list[str] = []
    taken: Counter[str] = Counter()
    for delivery in after.every(Delivery):
        earlier = before.find(Delivery, delivery.delivery_id)
        recipient = before.find(Recipient, delivery.recipient)
        blocked = recipient is not None and recipient.is_blocked
        if earlier is None:
            taken[delivery.recipient] += 1
            if blocked:
                found.append(
                    f"no_guess: {delivery.delivery_id} was granted to {delivery.recipient}, which is blocked"
                )
        elif earlier.state is DeliveryState.CLAIMED and delivery.state is DeliveryState.DELIVERED and blocked:
            found.append(f"no_guess: a receipt of {delivery.recipient} was accepted while it is blocked")
    for where, units in taken.items():
        recipient = before.find(Recipient, where)
        if recipient is not None and recipient.slots_used + units > recipient.capacity:
            found.append(f"block and slot: {where} was granted beyond its capacity of {recipient.capacity}")
    return found
