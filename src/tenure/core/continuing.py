"""More work after the end: a new Task that continues one that has ended (`no_resurrection`).

It asks for what the ended one asked for, with a person's changes, and says why. What nobody knows yet comes first: while
the outcome of the newest Attempt is unknown and not answered, nothing continues its Task (`no_guess`)."""

from __future__ import annotations

from msgspec.structs import replace

from tenure.core.attempt import Attempt
from tenure.core.commands import Refusal, Retry
from tenure.core.desk_commands import Changes
from tenure.core.retrying import read_refusal
from tenure.core.task import Task, TaskSpec

CHANGEABLE = tuple(name for name in Changes.__struct_fields__ if name != "elsewhere")


def continuation(task: Task, newest: Attempt, command: Retry, now_ms: int) -> TaskSpec | Refusal:
    """The spec of the Task that continues this one, or why there can be none.

    A deadline that has passed is left out: the work is asked for anew."""
    refusal = read_refusal(command, newest)
    if refusal is not None:
        return refusal
    if command.ended is False:
        return Refusal(
            "conflict",
            f"{task.task_id} has ended ({task.state}) since you read it, so nothing continues it. Read it again, then say what shall "
            "follow.",
            {"state": str(task.state)},
        )
    if newest.is_open_unknown:
        return Refusal(
            "not_offered",
            f"nobody knows how {newest.attempt_id} ended, so nothing follows it yet: answer it with "
            f"`tenure reconcile {newest.attempt_id}` (rerun, accept, retire or investigate).",
            {"attempt": newest.attempt_id},
        )
    if command.changes.elsewhere:
        return Refusal(
            "invalid",
            f"{task.task_id} has ended, and the new Task knows of no recipient to avoid; say where it shall go (`to`).",
            {"field": "elsewhere"},
        )
    changed = changed_fields(task.spec, command.changes)
    because = command.because.strip()
    if not because and not changed:
        return Refusal(
            "invalid",
            f"{task.task_id} has ended ({task.state}), and the Task that continues it would ask for the same: change something "
            "(objective, base, recipient, model, command, time limit), or say in `because` why it should go better now.",
            {"field": "because"},
        )
    fields = dict(changed)
    if "route" in changed:
        # Harness and model were chosen for where it was sent before.
        fields = {**changed, "harness": command.changes.harness, "model": command.changes.model}
    is_over = task.spec.deadline_ms is not None and task.spec.deadline_ms <= now_ms
    spec: TaskSpec = replace(
        task.spec,
        **fields,
        continues=task.task_id,
        because=because or f"changes the {', '.join(changed)}",
        deadline_ms=None if is_over else task.spec.deadline_ms,
    )
    return spec


def changed_fields(spec: TaskSpec, changes: Changes) -> dict[str, object]:
    """The fields of a Task's spec that these changes really change, with their new values."""
    asked = {name: getattr(changes, name) for name in CHANGEABLE}
    return {name: to for name, to in asked.items() if to is not None and to != getattr(spec, name)}
