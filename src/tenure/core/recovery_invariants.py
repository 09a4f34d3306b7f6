"""What must always hold of recovery: budgets, holds, stops, keys, circuits, pauses and questions. `invariants` looks at it
together with everything else.

Each sentence begins with the rule of DESIGN 4 that it guards, or with the thing whose count is wrong."""

from __future__ import annotations

from collections import Counter, defaultdict

from tenure.core.account import HUB_ACCOUNT, Account, project_account, used_up
from tenure.core.asking import ABOUT_ATTEMPT, ABOUT_TASK
from tenure.core.attempt import Attempt, Verdict
from tenure.core.attention import Attention, AttentionKind, item_id
from tenure.core.budget import NOTHING, Amounts, Share, amounts_of, exhausted, highest
from tenure.core.circuit import Circuit
from tenure.core.delivery import Delivery, DeliveryState
from tenure.core.gate import Gate
from tenure.core.hold import HoldKind
from tenure.core.ids import attempt_id
from tenure.core.policy import AUTHOR, TRANSIENT
from tenure.core.recipient import Node, Recipient
from tenure.core.recovery import is_failure
from tenure.core.review import Review
from tenure.core.task import Stop, StopCause, Task, TaskState
from tenure.core.world import World

WAITS_FOR_WORD = (AttentionKind.UNKNOWN, *ABOUT_ATTEMPT)
"""Questions about an Attempt whose answer lets its Task go on."""


def recovery_violations(world: World) -> list[str]:
    """Every broken rule of recovery in a state."""
    found: list[str] = []
    for task in world.every(Task):
        newest = world.find(Attempt, attempt_id(task.task_id, task.attempts))
        if newest is not None:
            found += _waiting_violations(world, task, newest)
            found += _question_violations(world, task, newest)
            found += _decision_violations(task, newest)
    for attempt in world.every(Attempt):
        found += _reason_violations(world, attempt)
    for review in world.every(Review):
        name = attempt_id(review.task_id, review.number)
        if review.is_open is not _is_open(world, AttentionKind.CHALLENGED, name):
            found.append(
                f"never_silent: the challenge of {name} is open={review.is_open}, the question is not"
            )
    return found + _account_violations(world) + _key_violations(world)


def _waiting_violations(world: World, task: Task, newest: Attempt) -> list[str]:
    """A Task stands in its queue exactly if nothing keeps it, and what keeps it has a name."""
    found: list[str] = []
    name = task.task_id
    if task.queue_key is not None:
        kept = (
            ("is held", task.hold is not None),
            ("is being stopped", task.is_stopping),
            ("needs an approval", task.needs_approval),
            ("waits for others", bool(task.waits_for or task.failed_dependencies)),
            ("waits for a person", task.state is TaskState.INPUT_REQUIRED),
        )
        found += [f"bounded: {name} is in a queue although it {what}" for what, holds in kept if holds]
    if task.held_on != (task.hold.subject if task.hold is not None else None):
        found.append(f"never_silent: {name} is held by {task.hold} but is looked for under {task.held_on}")
    if task.hold is not None and task.is_terminal:
        found.append(f"no_resurrection: {name} has ended and is held")
    if task.stop is not None and task.stop.number > task.attempts:
        found.append(f"no_resurrection: {name} stops Attempt {task.stop.number} of {task.attempts}")
    if task.needs_approval and not task.is_terminal and not _is_open(world, _K.APPROVAL, newest.attempt_id):
        found.append(f"never_silent: {newest.attempt_id} needs an approval that nobody is asked for")
    return found


_K = AttentionKind
_BESIDE_EXHAUSTED = frozenset({_K.EXHAUSTED, _K.UNKNOWN, _K.DEPENDENCY_FAILED})
"""What an unknown outcome and a failed dependency ask is not what a used-up budget asks. Anything else would ask the same again."""


def _is_open(world: World, kind: AttentionKind, subject: str) -> bool:
    item = world.find(Attention, item_id(kind, subject))
    return item is not None and item.open


def _question_violations(world: World, task: Task, newest: Attempt) -> list[str]:
    """Who waits for a person has asked one; who does not asks nobody how to go on."""
    found: list[str] = []
    name = task.task_id
    asks = [kind for kind in WAITS_FOR_WORD if _is_open(world, kind, newest.attempt_id)]
    asks += [kind for kind in ABOUT_TASK if _is_open(world, kind, name)]
    is_told = asks or task.hold is not None or task.open_effects
    if task.state is TaskState.INPUT_REQUIRED and not is_told:
        found.append(f"never_silent: {name} waits for a person and nobody is asked")
    if task.is_terminal:
        left = [str(kind) for kind in asks if kind is not _K.UNKNOWN]
        found += [
            f"no_resurrection: {name} has ended, and a person is asked about it ({one})" for one in left
        ]
    if _K.EXHAUSTED in asks and (task.lease is not None or task.queue_key is not None):
        found.append(f"bounded: {name} is exhausted and goes on")
    if _K.EXHAUSTED in asks and (beside := [str(one) for one in asks if one not in _BESIDE_EXHAUSTED]):
        found.append(f"bounded: {name} is exhausted, and is asked about once more ({', '.join(beside)})")
    for number in range(1, task.attempts):
        earlier = attempt_id(name, number)
        stale = [str(kind) for kind in WAITS_FOR_WORD if _is_open(world, kind, earlier)]
        found += [
            f"never_silent: {earlier} has a successor and is still asked about ({one})" for one in stale
        ]
    return found


def _decision_violations(task: Task, newest: Attempt) -> list[str]:
    found: list[str] = []
    if task.decided > task.attempts:
        found.append(f"bounded: {task.task_id} has decided about Attempt {task.decided} of {task.attempts}")
    is_free = not task.is_terminal and not task.is_cancel_requested and not task.open_effects
    if is_free and is_failure(newest) and task.decided < task.attempts:
        found.append(f"never_silent: {newest.attempt_id} {newest.verdict} and nothing was decided about it")
    if not 0 <= task.tally.refunded <= task.attempts:
        found.append(
            f"bounded: {task.task_id} was refunded {task.tally.refunded} of {task.attempts} Attempts"
        )
    return found


def _reason_violations(world: World, attempt: Attempt) -> list[str]:
    """Every Attempt but the first says what it changes; without a change its cause passes, or a person answers for it."""
    name, why = attempt.attempt_id, attempt.spec.hypothesis
    if attempt.number == 1:
        return []
    before = world.find(Attempt, attempt_id(attempt.task_id, attempt.number - 1))
    if why is None or before is None or attempt.spec.follows != before.number:
        return [f"reasoned_retry: {name} says neither what it follows nor why"]
    is_changed = why.before_digest != why.after_digest or any(one.before != one.after for one in why.changes)
    # What was stopped has not failed.
    passes = attempt.spec.failure_class in TRANSIENT or before.verdict is Verdict.CANCELED
    if why.by.startswith(AUTHOR):
        if not is_changed and not (why.transient and passes):
            return [f"reasoned_retry: {name} was made by {why.by} and changes nothing"]
    elif is_failure(before) and not is_changed and not passes and not why.override:
        return [f"reasoned_retry: {name} repeats {before.attempt_id}, and nobody answers for it"]
    return []


def _account_violations(world: World) -> list[str]:
    found: list[str] = []
    reserved: dict[str, Amounts] = defaultdict(Amounts)
    for delivery in world.every(Delivery):
        for account in delivery.accounts:
            reserved[account] = reserved[account].plus(delivery.reserved)
        if delivery.ended_at_ms is not None and delivery.reserved != NOTHING:
            found.append(f"bounded: {delivery.delivery_id} has ended and keeps {delivery.reserved} set aside")
    running = Counter(project_account(one.project) for one in world.every(Task) if one.lease is not None)
    for account in world.every(Account):
        name = account.account_id
        if account.reserved != reserved[name]:
            found.append(f"bounded: {name} has {account.reserved} set aside, its leases {reserved[name]}")
        if _is_open(world, _K.EXHAUSTED, name) and used_up(account) is None:
            found.append(f"bounded: people are asked for more of {name}, which has room")
        if account.running != running[name]:
            found.append(f"fair shares: {name} counts {account.running} leases, {running[name]} are open")
    return found


def _key_violations(world: World) -> list[str]:
    """A key is held by the one Task that runs under it, or whose Attempt under it nobody knows the end of."""
    found: list[str] = []
    users: dict[str, list[str]] = defaultdict(list)
    for task in world.every(Task):
        key = task.spec.concurrency_key
        newest = world.find(Attempt, attempt_id(task.task_id, task.attempts))
        if key is not None and newest is not None and (task.lease is not None or newest.is_open_unknown):
            users[key].append(task.task_id)
    for gate in world.every(Gate):
        expected = users.pop(gate.gate_id, [])
        if expected != ([gate.holder] if gate.holder is not None else []):
            found.append(f"one_owner: the key {gate.gate_id!r} is held by {gate.holder}, used by {expected}")
    return found + [
        f"one_owner: the key {key!r} is used by {tasks} and held by nobody" for key, tasks in users.items()
    ]


def recovery_steps(before: World, after: World) -> list[str]:
    """Every rule of recovery that the step from one state to the next broke."""
    found: list[str] = []
    for attempt in after.every(Attempt):
        if before.find(Attempt, attempt.attempt_id) is None:
            found += _new_attempt(before, after, attempt)
    granted: Counter[str] = Counter()
    for delivery in after.every(Delivery):
        earlier = before.find(Delivery, delivery.delivery_id)
        if earlier is None:
            found += _new_grant(before, after, delivery)
            granted.update(one.quota for one in _open_circuits(before, delivery))
        else:
            found += _delivery_step(before, earlier, delivery)
    for quota, units in granted.items():
        if units > 1:
            found.append(
                f"capacity: {quota} was given {units} Attempts at once to find out whether it has room"
            )
    return found + _task_steps(before, after) + _account_steps(before, after)


def _new_attempt(before: World, after: World, attempt: Attempt) -> list[str]:
    """`bounded`: what the machine makes by itself has room in the budget, and time."""
    why, task = attempt.spec.hypothesis, after.find(Task, attempt.task_id)
    if why is None or task is None or not why.by.startswith(AUTHOR):
        return []
    found: list[str] = []
    name = attempt.attempt_id
    dimensions = exhausted(task.budget, task.tally, attempt.number - 1)
    if dimensions:
        found.append(f"bounded: {name} was made although nothing is left in {', '.join(dimensions)}")
    if task.deadline_ms is not None and max(attempt.created_at_ms, task.ready_at_ms) >= task.deadline_ms:
        found.append(f"bounded: {name} was made for a time after the deadline")
    was_asked = _is_open(before, _K.EXHAUSTED, task.task_id)
    is_asked = _is_open(after, _K.EXHAUSTED, task.task_id)
    stop = task.stop if task.stop is not None and task.stop.number == attempt.number - 1 else None
    is_stopped = stop is not None and (
        stop.cause is StopCause.PERSON or not _is_moved(after, task, attempt, stop)
    )
    if is_asked or (is_stopped and not was_asked):
        found.append(f"bounded: {name} was made although a person is to say whether it goes on")
    return found


def _is_moved(after: World, task: Task, attempt: Attempt, stop: Stop) -> bool:
    """May the machine itself go on after this stop: can the Attempt use more than the one before had left?"""
    before = after.find(Attempt, attempt_id(task.task_id, stop.number))
    delivery = after.find(Delivery, before.last_delivery or "") if before is not None else None
    if before is None or delivery is None:
        return "deadline" in stop.dimensions
    had, has, used = before.spec.share or Share(), attempt.spec.share or Share(), amounts_of(delivery.usage)
    for name in set(stop.dimensions) & set(Share.__struct_fields__):
        limit, now = getattr(had, name), getattr(has, name)
        if limit is not None and now is not None and now <= limit - getattr(used, name):
            return False
    return True


def _new_grant(before: World, after: World, delivery: Delivery) -> list[str]:
    task, recipient = before.find(Task, delivery.task_id), before.find(Recipient, delivery.recipient)
    attempt = after.find(Attempt, delivery.attempt_id)
    node = before.find(Node, delivery.node_id)
    if task is None or recipient is None or attempt is None:
        return [f"durable: {delivery.delivery_id} was granted out of nothing"]
    name = delivery.delivery_id
    accounts = (before.find(Account, one) for one in (HUB_ACCOUNT, project_account(task.project)))
    reviews = (before.find(Review, task.met_through.get(one, one)) for one in task.spec.dependencies)
    refused = (
        ("its node is paused", node is not None and node.paused is not None),
        ("its recipient is paused", recipient.paused is not None),
        ("its project or the hub is paused", any(one is not None and one.paused for one in accounts)),
        ("its Attempt must avoid that recipient", recipient.address in attempt.spec.avoid),
        ("what it depends on is challenged", any(one is not None and one.is_open for one in reviews)),
        ("it was held", task.hold is not None),
        ("its Attempt was asked to stop", task.is_stopping),
        ("its deadline has come", task.due_at_ms is not None and task.due_at_ms <= delivery.claimed_at_ms),
    )
    found = [f"bounded: {name} was granted although {why}" for why, holds in refused if holds]
    for circuit in _open_circuits(before, delivery):
        probe = before.find(Delivery, circuit.probe or "")
        is_out = probe is not None and probe.ended_at_ms is None
        if is_out or delivery.claimed_at_ms < circuit.until_ms:
            found.append(f"capacity: {name} was granted while the circuit of {circuit.quota} is open")
    return found


def _open_circuits(before: World, delivery: Delivery) -> list[Circuit]:
    """The quotas of a grant that had no room, as far as is known."""
    recipient = before.find(Recipient, delivery.recipient)
    if recipient is None:
        return []
    circuits = (before.find(Circuit, quota) for quota in recipient.quotas)
    return [one for one in circuits if one is not None and not one.is_closed]


def _delivery_step(before: World, earlier: Delivery, later: Delivery) -> list[str]:
    found: list[str] = []
    if highest(earlier.usage, later.usage) != later.usage:
        found.append(f"bounded: {later.delivery_id} has given back some of what it used")
    task = before.find(Task, later.task_id)
    is_received = earlier.state is DeliveryState.CLAIMED and later.state is DeliveryState.DELIVERED
    if is_received and task is not None and (task.is_cancel_requested or task.is_stopping):
        found.append(f"no_resurrection: a receipt of {later.delivery_id} was accepted after its cancellation")
    return found


def _task_steps(before: World, after: World) -> list[str]:
    found: list[str] = []
    for task in before.every(Task):
        later = after.find(Task, task.task_id)
        if later is None or later == task:
            continue
        name = task.task_id
        if later.decided < task.decided or later.attempts < task.attempts:
            found.append(f"once: {name} has forgotten what was decided")
        if later.tally.interruptions < task.tally.interruptions or not _covers(
            later.tally.used, task.tally.used
        ):
            found.append(f"bounded: {name} has given back some of what it used")
        is_told = _is_open(after, _K.DEPENDENCY_FAILED, name) or later.is_terminal
        if set(later.failed_dependencies) - set(task.failed_dependencies) and not is_told:
            found.append(f"never_silent: {name} waits for {later.failed_dependencies}, and nobody is told")
        if later.attempts > task.attempts:
            found += _held_successor(after, task, later)
    return found


def _held_successor(after: World, task: Task, later: Task) -> list[str]:
    """What waited for another configuration goes on with another one, or on a person's word."""
    hold, attempt = task.hold, after.find(Attempt, attempt_id(later.task_id, later.attempts))
    why = attempt.spec.hypothesis if attempt is not None else None
    if hold is None or hold.kind is not HoldKind.CONFIGURATION or why is None:
        return []
    recipient = after.find(Recipient, hold.subject)
    is_same = recipient is not None and recipient.config_digest == hold.before
    if is_same and why.by.startswith(AUTHOR):
        return [f"reasoned_retry: {later.task_id} went on with the configuration that it waited to change"]
    return []


def _account_steps(before: World, after: World) -> list[str]:
    found: list[str] = []
    for account in before.every(Account):
        later = after.find(Account, account.account_id)
        if later is None:
            found.append(f"durable: {account.account_id} is gone")
        elif (
            later.used != NOTHING
            and later.since_ms == account.since_ms
            and not _covers(later.used, account.used)
        ):
            found.append(f"bounded: {account.account_id} has given back some of what was used")
    return found + _charges(before, after)


def _charges(before: World, after: World) -> list[str]:
    """What a Delivery used is charged once, whenever it is heard of: to its accounts, and to its Task while that goes on."""
    charged: dict[str, Amounts] = defaultdict(Amounts)
    found: list[str] = []
    for delivery in after.every(Delivery):
        earlier = before.find(Delivery, delivery.delivery_id)
        if earlier is None or delivery.ended_at_ms is None:
            continue
        told = amounts_of(delivery.usage)
        new = told if earlier.ended_at_ms is None else told.minus(amounts_of(earlier.usage))
        for name in delivery.accounts:
            charged[name] = charged[name].plus(new)
        # What was handed back never ran, as far as its Task is concerned.
        if earlier.ended_at_ms is not None or delivery.end_reason != "handed back":
            charged[delivery.task_id] = charged[delivery.task_id].plus(new)
        found += _uncharged(after, delivery, new)
    for account in after.every(Account):
        was = before.find(Account, account.account_id)
        if was is None or was.since_ms != account.since_ms:
            continue
        grown = account.used.minus(was.used)
        if grown != charged[account.account_id]:
            found.append(
                f"bounded: {account.account_id} was charged {grown} for {charged[account.account_id]}"
            )
    for task in before.every(Task):
        later = after.find(Task, task.task_id)
        grown = later.tally.used.minus(task.tally.used) if later is not None else NOTHING
        if not task.is_terminal and grown != charged[task.task_id]:
            found.append(f"bounded: {task.task_id} counts {grown} for {charged[task.task_id]}")
    return found


def _uncharged(after: World, delivery: Delivery, new: Amounts) -> list[str]:
    """The accounts that limit its Task and know nothing of what it used."""
    task = after.find(Task, delivery.task_id)
    if task is None or new == NOTHING:
        return []
    named = (after.find(Account, one) for one in (project_account(task.project), HUB_ACCOUNT))
    return [
        f"bounded: {one.account_id} is not charged for {delivery.delivery_id}"
        for one in named
        if one is not None and one.is_limited and one.account_id not in delivery.accounts
    ]


def _covers(whole: Amounts, part: Amounts) -> bool:
    return part.minus(whole) == NOTHING
