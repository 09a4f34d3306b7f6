"""What the events of decisions about Tasks do: recovery, holds, stops, budgets, keys and reviews."""

from __future__ import annotations

from msgspec.structs import replace

from tenure.core import recovery_events as rv
from tenure.core.account import Account, new_account
from tenure.core.attempt import Attempt, Verdict
from tenure.core.budget import NOTHING, Tally, highest
from tenure.core.delivery import Delivery, Now
from tenure.core.gate import Gate
from tenure.core.ids import attempt_id
from tenure.core.life_cycle import queued, to_task
from tenure.core.policy import REPEATING
from tenure.core.review import Review
from tenure.core.task import CANCEL_TRANSITIONS, CancelStep, Stop, Task, TaskState
from tenure.core.task_evolution import arm_cancel
from tenure.core.world import Space, get
from tenure.errors import InvariantError


def recovery_decided(space: Space, event: rv.RecoveryDecided, _now: Now) -> None:
    task = get(space, Task, event.task_id)
    if event.number != task.attempts or event.number <= task.decided:
        raise InvariantError(f"{task.task_id}/{event.number} was decided about, or is not its newest Attempt")
    state = TaskState.INPUT_REQUIRED if event.asks else task.state
    space.put(to_task(task, state, decided=event.number, tally=tallied(task.tally, event)))


def tallied(tally: Tally, event: rv.RecoveryDecided) -> Tally:
    """What a Task has used once this was decided. A refunded Attempt says nothing of the Task."""
    tally = replace(tally, last=event.signature or None)
    if event.refunded:
        return replace(tally, refunded=tally.refunded + 1, waits=tally.waits + 1)
    if event.failure_class is None and event.verdict is Verdict.CANCELED:
        return tally
    signatures = dict(tally.signatures)
    if event.signature:
        signatures[event.signature] = signatures.get(event.signature, 0) + 1
    return replace(
        tally,
        waits=0,
        signatures=signatures,
        best=event.score if event.improved else tally.best,
        rounds=_rounds(tally, event),
    )


def _rounds(tally: Tally, event: rv.RecoveryDecided) -> int:
    """A round is an Attempt that is answered with a changed one; a loss that passes, or a question, is none."""
    if event.improved:
        return 0
    return tally.rounds if event.asks or event.action in REPEATING else tally.rounds + 1


def repeat_allowed(space: Space, event: rv.RepeatAllowed, _now: Now) -> None:
    """A person's word is said in the event; the Attempt that follows carries it as its hypothesis."""
    get(space, Attempt, attempt_id(event.task_id, event.number))


def budget_raised(space: Space, event: rv.BudgetRaised, _now: Now) -> None:
    task = get(space, Task, event.task_id)
    # A deadline that has passed and was acted on does not come again with every other limit that is raised.
    due_at_ms = task.due_at_ms if event.deadline_ms == task.deadline_ms else event.deadline_ms
    space.put(replace(task, budget=event.budget, deadline_ms=event.deadline_ms, due_at_ms=due_at_ms))


def budget_reserved(space: Space, event: rv.BudgetReserved, _now: Now) -> None:
    for name in event.accounts:
        account = get(space, Account, name)
        space.put(replace(account, reserved=account.reserved.plus(event.amounts)))
    delivery = get(space, Delivery, event.delivery_id)
    if delivery.reserved != NOTHING:
        raise InvariantError(f"{delivery.delivery_id} has reserved already")
    space.put(replace(delivery, accounts=event.accounts, reserved=event.amounts))


def budget_settled(space: Space, event: rv.BudgetSettled, now: Now) -> None:
    for name in event.accounts:
        account = space.find(Account, name) or new_account(name, now.wall_ms)
        reserved = account.reserved.minus(event.reserved)
        space.put(replace(account, reserved=reserved, used=account.used.plus(event.used)))
    delivery = get(space, Delivery, event.delivery_id)
    usage = delivery.usage if event.told is None else highest(delivery.usage, event.told)
    accounts = tuple(dict.fromkeys((*delivery.accounts, *event.accounts)))
    reserved = delivery.reserved.minus(event.reserved)
    space.put(replace(delivery, accounts=accounts, reserved=reserved, usage=usage))
    task = get(space, Task, event.task_id)
    if event.told is not None and not task.is_terminal:
        space.put(replace(task, tally=replace(task.tally, used=task.tally.used.plus(event.used))))


def budget_exhausted(space: Space, event: rv.BudgetExhausted, _now: Now) -> None:
    task = get(space, Task, event.task_id)
    space.put(
        to_task(
            task,
            TaskState.INPUT_REQUIRED,
            decided=max(task.decided, event.number),
            due_at_ms=None,
            queue_key=None,
        )
    )


def task_held(space: Space, event: rv.TaskHeld, _now: Now) -> None:
    task = get(space, Task, event.task_id)
    space.put(replace(task, hold=event.hold, held_on=event.hold.subject, queue_key=None))


def task_released(space: Space, event: rv.TaskReleased, _now: Now) -> None:
    task = replace(get(space, Task, event.task_id), hold=None, held_on=None)
    attempt = get(space, Attempt, attempt_id(task.task_id, task.attempts))
    # Its place in the queue is the one that it had.
    space.put(queued(task, attempt, task.ready_at_ms) if attempt.verdict is None else task)


def stop_advanced(space: Space, event: rv.StopAdvanced, now: Now) -> None:
    task = get(space, Task, event.task_id)
    before = task.stop if task.stop is not None and task.stop.number == event.number else None
    if event.step is CancelStep.REQUESTED:
        if before is not None or event.number != task.attempts:
            raise InvariantError(f"{task.task_id}/{event.number} was asked to stop before, or is over")
        stop = Stop(
            event.number, event.step, event.cause, event.because, event.by, now.wall_ms, event.dimensions
        )
        arm_cancel(space, task, event.grace_ms, now)
        space.put(replace(task, stop=stop, queue_key=None, needs_approval=False))
        return
    if before is None or event.step not in CANCEL_TRANSITIONS[before.step]:
        raise InvariantError(f"the stop of {task.task_id}/{event.number} cannot go to {event.step}")
    space.put(replace(task, stop=replace(before, step=event.step)))


def key_taken(space: Space, event: rv.KeyTaken, now: Now) -> None:
    gate = space.find(Gate, event.key)
    if gate is not None and gate.holder not in (None, event.task_id):
        raise InvariantError(f"the key {event.key!r} is held by {gate.holder}, not free for {event.task_id}")
    space.put(Gate(gate_id=event.key, holder=event.task_id, since_ms=now.wall_ms))


def key_released(space: Space, event: rv.KeyReleased, now: Now) -> None:
    gate = get(space, Gate, event.key)
    if gate.holder != event.task_id:
        raise InvariantError(f"the key {event.key!r} is held by {gate.holder}, not by {event.task_id}")
    space.put(replace(gate, holder=None, since_ms=now.wall_ms))


def challenged(space: Space, event: rv.Challenged, now: Now) -> None:
    before = space.find(Review, event.task_id)
    space.put(
        Review(
            task_id=event.task_id,
            number=event.number,
            about=event.about,
            by=event.by,
            because=event.because,
            challenged_at_ms=now.wall_ms,
            ruling=None,
            answered_by=None,
            answer_because=None,
            answered_at_ms=None,
            times=before.times + 1 if before else 1,
        )
    )


def challenge_answered(space: Space, event: rv.ChallengeAnswered, now: Now) -> None:
    review = get(space, Review, event.task_id)
    if not review.is_open or review.number != event.number:
        raise InvariantError(f"no challenge of {event.task_id}/{event.number} is open")
    space.put(
        replace(
            review,
            ruling=event.ruling,
            answered_by=event.by,
            answer_because=event.because,
            answered_at_ms=now.wall_ms,
        )
    )


def dependency_moot(space: Space, event: rv.DependencyMoot, _now: Now) -> None:
    task = get(space, Task, event.task_id)
    left = tuple(one for one in task.waits_for if one != event.dependency)
    space.put(replace(task, waits_for=left, queue_key=None))


def deadline_passed(space: Space, event: rv.DeadlinePassed, _now: Now) -> None:
    space.put(replace(get(space, Task, event.task_id), due_at_ms=None))
