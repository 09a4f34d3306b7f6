"""What must always hold of schedules; `invariants` looks at it together with everything else."""

from __future__ import annotations

from tenure.core.attention import Attention, AttentionKind, item_id
from tenure.core.schedule import LABEL, OccurrenceOutcome, Schedule
from tenure.core.task import Task
from tenure.core.world import World


def schedule_violations(world: World) -> list[str]:
    found: list[str] = []
    for one in world.every(Schedule):
        question = world.find(Attention, item_id(AttentionKind.SCHEDULE_FAILED, one.schedule_id))
        if not one.is_active and one.next_at_ms is not None:
            found.append(f"never_silent: {one.schedule_id} is {one.state} and has a next occurrence")
        if one.is_active and one.next_at_ms is None and question is None:
            found.append(
                f"never_silent: {one.schedule_id} is active, has no next occurrence, and nobody was told"
            )
        if one.last_outcome is OccurrenceOutcome.FIRED and one.last_task is None:
            found.append(f"once: {one.schedule_id} has fired without a Task")
        task = world.find(Task, one.last_task or "")
        if one.last_task is not None and (task is None or task.spec.labels.get(LABEL) != one.name):
            found.append(f"once: {one.last_task} is not a Task of {one.schedule_id}")
    return found
