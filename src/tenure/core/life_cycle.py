"""Steps of the life cycles that several events share, each checked against its transition table.

A step that the table does not have raises `InvariantError`: an event that cannot follow is a bug of the
decision, or a forged record."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from tenure.core.account import Account, project_account
from tenure.core.attempt import ATTEMPT_TRANSITIONS, FINAL_ANSWERS, Attempt, AttemptState
from tenure.core.delivery import DELIVERY_TRANSITIONS, Delivery, DeliveryState
from tenure.core.effect import EFFECT_TRANSITIONS, Effect, EffectState
from tenure.core.ids import Address, AttemptId
from tenure.core.recipient import Recipient
from tenure.core.task import AGEING_MS, TASK_TRANSITIONS, Task, TaskState, avoiding_queue, queue_key
from tenure.core.world import Space, get
from tenure.errors import InvariantError


def to_task(task: Task, state: TaskState, **changes: Any) -> Task:
    if state is not task.state and state not in TASK_TRANSITIONS[task.state]:
        raise InvariantError(f"Task {task.task_id} cannot go from {task.state} to {state}")
    return replace(task, state=state, **changes)


def to_attempt(attempt: Attempt, state: AttemptState, **changes: Any) -> Attempt:
    if state not in ATTEMPT_TRANSITIONS[attempt.state]:
        raise InvariantError(f"Attempt {attempt.attempt_id} cannot go from {attempt.state} to {state}")
    return replace(attempt, state=state, **changes)


def to_delivery(delivery: Delivery, state: DeliveryState, **changes: Any) -> Delivery:
    if state not in DELIVERY_TRANSITIONS[delivery.state]:
        raise InvariantError(f"Delivery {delivery.delivery_id} cannot go from {delivery.state} to {state}")
    return replace(delivery, state=state, **changes)


def to_effect(effect: Effect, state: EffectState, **changes: Any) -> Effect:
    if state not in EFFECT_TRANSITIONS[effect.state]:
        raise InvariantError(f"Effect {effect.effect_id} cannot go from {effect.state} to {state}")
    return replace(effect, state=state, **changes)


def queued(task: Task, attempt: Attempt, ready_at_ms: int) -> Task:
    """Put the Task into its queue, if nothing but a recipient is missing."""
    waits = task.waits_for or task.failed_dependencies or task.is_cancel_requested or task.needs_approval
    waits = waits or task.hold is not None or task.is_stopping
    key = None if waits else queue_of(task, attempt)
    order_ms = ready_at_ms - task.spec.priority * AGEING_MS
    return replace(task, queue_key=key, ready_at_ms=ready_at_ms, order_ms=order_ms)


def queue_of(task: Task, attempt: Attempt) -> str:
    """Those that must not go to some recipient stand apart, so that nobody waits behind them for that one."""
    route = attempt.spec.goes_to(task.spec.route)
    return avoiding_queue(route) if attempt.spec.avoid else queue_key(route, attempt.harness, attempt.model)


def end_lease(space: Space, delivery: Delivery, fence: int) -> Task:
    task = get(space, Task, delivery.task_id)
    if task.lease != delivery.delivery_id or fence != task.fence + 1:
        raise InvariantError(
            f"{delivery.delivery_id} does not hold {task.task_id}, or {fence} is not the next fence"
        )
    count_running(space, task, -1)
    return replace(task, lease=None, fence=fence)


def count_running(space: Space, task: Task, more: int, turns: float | None = None) -> None:
    """A project's open leases, which decide whose turn it is. A lease that was granted before its project had an account
    was not counted, and its end is taken off all the same: the count may be too low until the last of those is over."""
    account = space.find(Account, project_account(task.project))
    if account is not None:
        taken = account.turns if turns is None else turns
        space.put(replace(account, running=max(0, account.running + more), turns=taken))


def free_slot(space: Space, delivery: Delivery) -> Delivery:
    if not delivery.slot:
        return delivery
    recipient = get(space, Recipient, delivery.recipient)
    space.put(replace(recipient, slots_used=recipient.slots_used - 1))
    return replace(delivery, slot=False)


def block(space: Space, where: Address, attempt: AttemptId) -> None:
    recipient = get(space, Recipient, where)
    if attempt not in recipient.blocks:
        space.put(replace(recipient, blocks=(*recipient.blocks, attempt)))


def lift_block(space: Space, delivery: Delivery, attempt: Attempt) -> None:
    """A block goes when a person has answered finally *and* the slot is free: neither alone is enough."""
    if attempt.answer not in FINAL_ANSWERS or delivery.slot:
        return
    recipient = get(space, Recipient, delivery.recipient)
    if attempt.attempt_id in recipient.blocks:
        left = tuple(blocked for blocked in recipient.blocks if blocked != attempt.attempt_id)
        space.put(replace(recipient, blocks=left))
