"""What the events of Tasks and Attempts do, but for those of a Delivery."""

from __future__ import annotations

from msgspec.structs import replace

from tenure.core import events as ev
from tenure.core import recovery_events as rv
from tenure.core.account import Account, new_account, project_account
from tenure.core.attempt import ANSWER_TRANSITIONS, Attempt, AttemptState, Verdict
from tenure.core.attention import Attention, item_id
from tenure.core.canonical import digest
from tenure.core.delivery import Delivery, DeliveryState, Now, term_from
from tenure.core.ids import TaskId, attempt_id
from tenure.core.life_cycle import lift_block, queued, to_attempt, to_task
from tenure.core.policy import AUTHOR
from tenure.core.task import CANCEL_TRANSITIONS, DEFAULT_PROJECT, CancelStep, Task, TaskState
from tenure.core.world import Space, get
from tenure.errors import InvariantError


def task_submitted(space: Space, event: ev.TaskSubmitted, now: Now) -> None:
    span_s, deadline_ms = event.budget.deadline_s, event.spec.deadline_ms
    if deadline_ms is None and span_s is not None:
        deadline_ms = max(now.wall_ms, event.spec.not_before_ms or 0) + span_s * 1000
    space.put(
        Task(
            task_id=event.task_id,
            spec=event.spec,
            spec_digest=digest(event.spec),
            state=TaskState.SUBMITTED,
            fence=0,
            lease=None,
            attempts=0,
            voided_offers=0,
            queue_key=None,
            ready_at_ms=max(now.wall_ms, event.spec.not_before_ms or 0),
            waits_for=event.waits_for,
            failed_dependencies=event.failed_dependencies,
            lineage=event.lineage,
            cancel_step=None,
            cancel_because=None,
            cancel_at_ms=None,
            submitted_by=event.by,
            idempotency_key=event.idempotency_key,
            submitted_at_ms=now.wall_ms,
            ended_at_ms=None,
            end_reason=None,
            project=event.spec.project or DEFAULT_PROJECT,
            deadline_ms=deadline_ms,
            due_at_ms=deadline_ms,
            budget=event.budget,
        )
    )
    if event.project is not None and space.find(Account, project_account(event.project)) is None:
        space.put(new_account(project_account(event.project), now.wall_ms))


def attempt_created(space: Space, event: ev.AttemptCreated, now: Now) -> None:
    attempt = Attempt(
        attempt_id=attempt_id(event.task_id, event.number),
        task_id=event.task_id,
        number=event.number,
        spec=event.spec,
        spec_digest=event.spec_digest,
        state=AttemptState.PENDING,
        harness=event.spec.harness,
        model=event.spec.model,
        last_delivery=None,
        created_at_ms=now.wall_ms,
        started_at_ms=None,
        ended_at_ms=None,
        verdict=None,
        outcome=None,
        answer=None,
        answer_because=None,
        answer_by=None,
        answer_at_ms=None,
    )
    space.put(attempt)
    task = get(space, Task, event.task_id)
    if event.number != task.attempts + 1:
        raise InvariantError(f"Attempt {event.number} cannot follow {task.attempts} of {task.task_id}")
    # A successor goes on with a working Task; the first Attempt waits for its first grant.
    state = TaskState.WORKING if task.attempts else task.state
    needs = (
        event.spec.hypothesis is None and task.spec.approval
    )  # what a person asked for needs no second word
    hypothesis = event.spec.hypothesis
    if hypothesis is not None and not hypothesis.by.startswith(AUTHOR):
        task = replace(task, tally=replace(task.tally, rounds=0))  # a person has changed its course
    if task.deadline_ms is not None and task.deadline_ms > now.wall_ms:
        task = replace(task, due_at_ms=task.deadline_ms)  # the deadline binds this one too
    task = to_task(
        task, state, attempts=event.number, voided_offers=0, needs_approval=needs, hold=None, held_on=None
    )
    space.put(queued(task, attempt, max(now.wall_ms, task.ready_at_ms, event.ready_at_ms or 0)))


def dependency_completed(space: Space, event: ev.DependencyCompleted, now: Now) -> None:
    task = get(space, Task, event.task_id)
    task = replace(
        task,
        waits_for=tuple(one for one in task.waits_for if one != event.dependency),
        failed_dependencies=tuple(one for one in task.failed_dependencies if one != event.dependency),
        met_through=_without(task.met_through, event.dependency)
        | ({event.dependency: event.through} if event.through != event.dependency else {}),
    )
    attempt = get(space, Attempt, attempt_id(task.task_id, task.attempts))
    space.put(queued(task, attempt, max(now.wall_ms, task.ready_at_ms)))


def dependency_waived(space: Space, event: rv.DependencyWaived, now: Now) -> None:
    """It stands for its own dependency: nothing that becomes of that one later takes it back."""
    through = ev.DependencyCompleted(
        task_id=event.task_id, dependency=event.dependency, through=event.task_id
    )
    dependency_completed(space, through, now)


def dependency_failed(space: Space, event: ev.DependencyFailed, _now: Now) -> None:
    task = get(space, Task, event.task_id)
    space.put(
        replace(
            task,
            waits_for=tuple(one for one in task.waits_for if one != event.dependency),
            failed_dependencies=(*task.failed_dependencies, event.dependency),
            met_through=_without(task.met_through, event.dependency),
            queue_key=None,
        )
    )


def _without(met_through: dict[TaskId, TaskId], dependency: TaskId) -> dict[TaskId, TaskId]:
    return {one: through for one, through in met_through.items() if one != dependency}


def attempt_approved(space: Space, event: ev.AttemptApproved, now: Now) -> None:
    task = get(space, Task, event.task_id)
    if not task.needs_approval or event.number != task.attempts:
        raise InvariantError(f"{task.task_id}/{event.number} waits for nobody's word")
    attempt = get(space, Attempt, attempt_id(task.task_id, task.attempts))
    space.put(queued(replace(task, needs_approval=False), attempt, max(now.wall_ms, task.ready_at_ms)))


def attempt_withdrawn(space: Space, event: ev.AttemptWithdrawn, now: Now) -> None:
    attempt = get(space, Attempt, attempt_id(event.task_id, event.number))
    space.put(to_attempt(attempt, AttemptState.ENDED, verdict=Verdict.CANCELED, ended_at_ms=now.wall_ms))
    # What never ran hangs on nothing any more.
    space.put(replace(get(space, Task, event.task_id), queue_key=None, hold=None, held_on=None))


def task_ended(space: Space, event: ev.TaskEnded, now: Now) -> None:
    task = get(space, Task, event.task_id)
    if task.is_terminal or task.lease is not None:
        raise InvariantError(f"{task.task_id} cannot end: it is {task.state}, lease {task.lease}")
    space.put(
        to_task(
            task,
            event.state,
            queue_key=None,
            ended_at_ms=now.wall_ms,
            end_reason=event.reason,
            due_at_ms=None,
            hold=None,
            held_on=None,
        )
    )


def cancel_advanced(space: Space, event: ev.CancelAdvanced, now: Now) -> None:
    task = get(space, Task, event.task_id)
    if event.step is CancelStep.REQUESTED:
        if task.cancel_step is not None:
            raise InvariantError(f"{task.task_id} was asked to cancel before")
        task = replace(
            task,
            cancel_because=event.because,
            cancel_at_ms=now.wall_ms,
            cancel_tree=event.tree,
            queue_key=None,
        )
        arm_cancel(space, task, event.grace_ms, now)
    elif task.cancel_step is None or event.step not in CANCEL_TRANSITIONS[task.cancel_step]:
        raise InvariantError(
            f"cancellation of {task.task_id} cannot go from {task.cancel_step} to {event.step}"
        )
    space.put(replace(task, cancel_step=event.step))


def arm_cancel(space: Space, task: Task, grace_ms: int, now: Now) -> None:
    """From now on the holder of an acknowledged lease has `cancel_grace` to answer. One that was asked before has no more
    time than it had."""
    if task.lease is None:
        return
    delivery = get(space, Delivery, task.lease)
    if delivery.state is DeliveryState.DELIVERED and delivery.cancel_term is None:
        grace = term_from(now, grace_ms)
        due = min(grace.ends_at_ms, delivery.term.ends_at_ms)
        space.put(replace(delivery, cancel_term=grace, due_at_ms=due))


def attempt_reconciled(space: Space, event: ev.AttemptReconciled, now: Now) -> None:
    attempt = get(space, Attempt, attempt_id(event.task_id, event.number))
    if attempt.verdict is not Verdict.UNKNOWN or event.answer not in ANSWER_TRANSITIONS[attempt.answer]:
        raise InvariantError(
            f"{attempt.attempt_id} cannot be answered {event.answer}: {attempt.verdict}, {attempt.answer}"
        )
    attempt = replace(
        attempt,
        answer=event.answer,
        answer_because=event.because,
        answer_by=event.by,
        answer_at_ms=now.wall_ms,
    )
    space.put(attempt)
    delivery = _last_delivery(space, attempt)
    if delivery is not None:
        lift_block(space, delivery, attempt)


def _last_delivery(space: Space, attempt: Attempt) -> Delivery | None:
    """The Delivery whose end made the Attempt unknown."""
    return space.find(Delivery, attempt.last_delivery or "")


def attention_opened(space: Space, event: ev.AttentionOpened, now: Now) -> None:
    key = item_id(event.kind, event.subject)
    before = space.find(Attention, key)
    space.put(
        Attention(
            item_id=key,
            kind=event.kind,
            subject=event.subject,
            version=before.version + 1 if before else 1,
            open=True,
            summary=event.summary,
            facts=event.facts,
            opened_at_ms=before.opened_at_ms if before and before.open else now.wall_ms,
            closed_at_ms=None,
            closed_because=None,
            assigned_to=before.assigned_to if before and before.open else None,
            notified_version=before.notified_version if before else 0,
        )
    )
    is_news = before is None or not before.open
    if not isinstance(event, ev.TaskAttentionOpened) or not event.counted or not is_news:
        return
    task = get(space, Task, event.task_id)
    if not task.is_terminal:
        tally = replace(task.tally, interruptions=task.tally.interruptions + 1)
        space.put(replace(task, tally=tally))


def attention_closed(space: Space, event: ev.AttentionClosed, now: Now) -> None:
    item = get(space, Attention, item_id(event.kind, event.subject))
    space.put(
        replace(
            item,
            open=False,
            version=item.version + 1,
            closed_at_ms=now.wall_ms,
            closed_because=event.because,
            closed_by=event.by,
            snoozed_until_ms=None,
        )
    )
