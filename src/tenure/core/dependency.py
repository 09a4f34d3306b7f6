"""Tasks that wait for others: until those complete (`after`), fail (`after_failure`), or end in any way (`after_end`).

A challenge of a Task that has ended keeps whoever depends on it waiting until it is answered; one that is upheld counts
as if the Task had not completed. A Task that was to run only if another fails is canceled when that one completes: it is
not needed. What continues a Task that did not complete stands for it."""

from __future__ import annotations

from enum import Enum, auto

from tenure.core import events as ev
from tenure.core import recovery_events as rv
from tenure.core.asking import ask, settle, settle_all
from tenure.core.attempt import AttemptState
from tenure.core.attention import AttentionKind
from tenure.core.cancellation import decide_cancel
from tenure.core.commands import Cancel, Done, ReleaseDependent
from tenure.core.draft import Draft
from tenure.core.ids import TaskId
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
    completed = other.state is TaskState.COMPLETED and not (review is not None and review.is_upheld)
    if other.task_id in spec.after_end:
        return Standing.MET
    if other.task_id in spec.after_failure:
        return Standing.MOOT if completed else Standing.MET
    return Standing.MET if completed else Standing.FAILED


def decide_release(draft: Draft, command: ReleaseDependent) -> Done:
    """Tell a waiting Task how one that it waits for has ended.

    A completed Task also satisfies those who waited for a failed one that it continues: that is what
    continuing is for."""
    task = draft.find(Task, command.task_id)
    ended = draft.find(Task, command.dependency)
    if task is None or ended is None or not ended.is_terminal or task.is_terminal:
        return Done(replayed=True)
    if ended.cancel_tree and ended.state is TaskState.CANCELED and ended.task_id in task.spec.dependencies:
        because = f"{ended.task_id}, which it waits for, was canceled with all that waits for it"
        decide_cancel(draft, Cancel(task.task_id, "tenure", because, tree=True))
        return Done()
    known = {*task.waits_for, *task.failed_dependencies}
    named = {ended.task_id, *ended.lineage} if ended.state is TaskState.COMPLETED else {ended.task_id}
    moved = [_tell(draft, task, ended, one) for one in task.spec.dependencies if one in known & named]
    return Done(replayed=not any(moved))


def _tell(draft: Draft, task: Task, ended: Task, dependency: TaskId) -> bool:
    """Tell it of one of its dependencies, as which `ended` counts; whether that changed anything."""
    task = draft.get(Task, task.task_id)
    if task.is_terminal:
        return False
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
        _not_needed(draft, task, dependency)
    else:
        return False
    return True


def fall_back(draft: Draft, task: Task) -> None:
    """A challenge of something that it depends on was upheld before it began: that one does not count as completed."""
    for dependency in task.spec.after:
        ended = draft.get(Task, dependency)
        known = (*task.waits_for, *task.failed_dependencies)
        if dependency not in known and standing_of(draft, task.spec, ended) is Standing.FAILED:
            draft.emit(ev.DependencyFailed(task_id=task.task_id, dependency=dependency, state=ended.state))
            ask_failed_dependency(draft, draft.get(Task, task.task_id))


def ask_failed_dependency(draft: Draft, task: Task) -> None:
    """It can only go on if somebody does something about what it depends on."""
    named = ", ".join(task.failed_dependencies)
    ask(
        draft,
        AttentionKind.DEPENDENCY_FAILED,
        task.task_id,
        f"{task.task_id} waits for {named}, which did not complete: retry that one (what continues it counts), or cancel "
        "this task",
        {"failed": list(task.failed_dependencies)},
    )


def _not_needed(draft: Draft, task: Task, dependency: TaskId) -> None:
    draft.emit(rv.DependencyMoot(task_id=task.task_id, dependency=dependency))
    settle_all(draft, task, "the task is not needed")
    newest = draft.newest_attempt(task)
    if newest.state is AttemptState.PENDING:
        draft.emit(ev.AttemptWithdrawn(task_id=task.task_id, number=newest.number))
    reason = f"it was to run only if {dependency} fails, and that one completed"
    draft.emit(ev.TaskEnded(task_id=task.task_id, state=TaskState.CANCELED, reason=reason))
