"""Tasks that wait for others: until those complete (`after`), fail (`after_failure`), or end in any way (`after_end`).

A challenge of a Task that has ended keeps whoever depends on it waiting until it is answered; one that is upheld counts
as if the Task had not completed, also for those that were let go and have not been given to anybody yet. A Task that was
to run only if another fails is canceled when that one completes: it is not needed. What continues a Task that did not
complete stands for it."""

from __future__ import annotations

from enum import Enum, auto

from tenure.core import events as ev
from tenure.core import recovery_events as rv
from tenure.core.asking import ask, closed_refusal, end_task, settle, unread_refusal
from tenure.core.attempt import AttemptState
from tenure.core.attention import Attention, AttentionKind, item_id
from tenure.core.cancellation import decide_cancel
from tenure.core.commands import Cancel, Done, Refusal, ReleaseDependent
from tenure.core.desk_commands import WaiveDependencies
from tenure.core.draft import Draft
from tenure.core.ids import TaskId
from tenure.core.limits import REASON_LENGTH
from tenure.core.review import Review
from tenure.core.task import Task, TaskSpec, TaskState


class Standing(Enum):
    """How a Task stands that another depends on."""

    MET = auto()
    WAITS = auto()
    FAILED = auto()
    MOOT = auto()


def standing_of(draft: Draft, spec: TaskSpec, other: Task) -> Standing:
    """How `other` stands for a Task of this spec that depends on it."""
    review = draft.find(Review, other.task_id)
    if not other.is_terminal or (review is not None and review.is_open):
        return Standing.WAITS
    completed = _stands(draft, other)
    if other.task_id in spec.after_end:
        return Standing.MET
    if other.task_id in spec.after_failure:
        return Standing.MOOT if completed else Standing.MET
    return Standing.MET if completed else Standing.FAILED


def _stands(draft: Draft, other: Task) -> bool:
    """Did it complete, and is that beyond doubt?"""
    review = draft.find(Review, other.task_id)
    is_doubted = review is not None and (review.is_open or is_disproved(review, other))
    return other.state is TaskState.COMPLETED and not is_doubted


def is_disproved(review: Review, other: Task) -> bool:
    """Did it complete, and was somebody right to challenge that? What is said of an earlier Attempt says nothing of the
    one that completed it."""
    return review.is_upheld and review.number == other.attempts and other.state is TaskState.COMPLETED


def decide_release(draft: Draft, command: ReleaseDependent) -> Done:
    """Tell a Task how one that it depends on has ended.

    A completed Task also satisfies those who waited for a failed one that it continues: that is what
    continuing is for. One whose challenge was upheld takes that back."""
    task = draft.find(Task, command.task_id)
    ended = draft.find(Task, command.dependency)
    if task is None or ended is None or task.is_terminal:
        return Done(replayed=True)
    if ended.is_terminal and ended.cancel_tree and ended.task_id in task.spec.dependencies:
        because = f"{ended.task_id}, which it waits for, was canceled with all that waits for it"
        decide_cancel(draft, Cancel(task.task_id, "tenure", because, tree=True))
        return Done()
    has_fallen = fall_back(draft, task)
    task = draft.get(Task, task.task_id)
    known = {*task.waits_for, *task.failed_dependencies}
    named = {ended.task_id, *ended.lineage} if _stands(draft, ended) else {ended.task_id}
    moved = [_tell(draft, task, ended, one) for one in task.spec.dependencies if one in known & named]
    return Done(replayed=not (has_fallen or any(moved)))


def _tell(draft: Draft, task: Task, ended: Task, dependency: TaskId) -> bool:
    """Tell it of one of its dependencies, as which `ended` counts; whether that changed anything."""
    task = draft.get(Task, task.task_id)
    standing = standing_of(draft, task.spec, ended)
    if dependency != ended.task_id:  # what continues it has completed
        standing = Standing.MET if dependency in task.spec.after else Standing.WAITS
    if standing is Standing.MET:
        draft.emit(ev.DependencyCompleted(task_id=task.task_id, dependency=dependency, through=ended.task_id))
        if not draft.get(Task, task.task_id).failed_dependencies:
            settle(draft, AttentionKind.DEPENDENCY_FAILED, task.task_id, "what it waits for has completed")
    elif standing is Standing.FAILED and dependency in task.waits_for:
        draft.emit(ev.DependencyFailed(task_id=task.task_id, dependency=dependency, state=ended.state))
        ask_failed_dependency(draft, draft.get(Task, task.task_id))
    elif standing is Standing.MOOT:
        not_needed(draft, task, dependency)
    else:
        return False
    return True


def fall_back(draft: Draft, task: Task) -> bool:
    """Let a Task that nobody has been given yet wait again for what has turned out not to have completed; whether there is
    any. Asked before a grant too: nothing starts between the answer to a challenge and the word of it."""
    known = {*task.waits_for, *task.failed_dependencies}
    lost = [one for one in task.spec.after if one not in known and _has_failed_since(draft, task, one)]
    if not lost or draft.newest_attempt(task).state is not AttemptState.PENDING:
        return False  # what runs already is not taken away
    for one in lost:
        state = draft.get(Task, one).state
        draft.emit(ev.DependencyFailed(task_id=task.task_id, dependency=one, state=state))
    ask_failed_dependency(draft, draft.get(Task, task.task_id))
    return True


def _has_failed_since(draft: Draft, task: Task, dependency: TaskId) -> bool:
    met_by = task.met_through.get(dependency, dependency)
    review = draft.find(Review, met_by)  # most have none, and then nothing more is looked at
    return review is not None and is_disproved(review, draft.get(Task, met_by))


def decide_waive(draft: Draft, command: WaiveDependencies) -> Done | Refusal:
    """Let a Task go on without what did not complete, on a person's word."""
    item = draft.find(Attention, item_id(AttentionKind.DEPENDENCY_FAILED, command.task_id))
    if item is None:
        return Refusal("not_found", f"nobody is asked what {command.task_id} depends on.")
    words = f"waived by {command.by}: {command.because}"[:REASON_LENGTH]
    if not item.open:
        return Done(replayed=True) if item.closed_because == words else closed_refusal(item)
    refusal = unread_refusal(item, command.item_version, command.because)
    if refusal is not None:
        return refusal
    task = draft.get(Task, command.task_id)
    for dependency in task.failed_dependencies:
        draft.emit(
            rv.DependencyWaived(
                task_id=task.task_id, dependency=dependency, by=command.by, because=command.because
            )
        )
    settle(draft, AttentionKind.DEPENDENCY_FAILED, task.task_id, words, by=command.by)
    return Done()


def ask_failed_dependency(draft: Draft, task: Task) -> None:
    """It can only go on if somebody does something about what it depends on."""
    named = ", ".join(task.failed_dependencies)
    ask(
        draft,
        AttentionKind.DEPENDENCY_FAILED,
        task.task_id,
        f"{task.task_id} waits for {named}, which did not complete: retry that one (what continues it counts), let "
        "this task go on without it, or cancel this task",
        {"failed": list(task.failed_dependencies)},
    )


def not_needed(draft: Draft, task: Task, dependency: TaskId) -> None:
    """End a Task that was to run only if another fails, which completed."""
    draft.emit(rv.DependencyMoot(task_id=task.task_id, dependency=dependency))
    newest = draft.newest_attempt(task)
    if newest.state is AttemptState.PENDING:
        draft.emit(ev.AttemptWithdrawn(task_id=task.task_id, number=newest.number))
    reason = f"it was to run only if {dependency} fails, and that one completed"
    end_task(draft, task, TaskState.CANCELED, reason, "the task is not needed")
