"""What the commands about schedules will look at; `needs` says how plans work."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tenure.core import schedule_commands as sc
from tenure.core.attention import AttentionKind
from tenure.core.schedule import Schedule, occurrence_key
from tenure.core.task import Task
from tenure.ledger.wants import Plan, Wants

if TYPE_CHECKING:
    from tenure.ledger.loaded_world import LoadedWorld


def schedule_plan(command: ScheduleNamed, wants: Wants, _world: LoadedWorld) -> Plan:
    wants.key(Schedule, command.schedule_id)
    wants.item(command.schedule_id, AttentionKind.SCHEDULE_FAILED)
    yield


def fire_plan(command: sc.FireSchedule, wants: Wants, world: LoadedWorld) -> Plan:
    yield from schedule_plan(command, wants, world)
    known = world.shelves[Schedule].peek(command.schedule_id)
    if known is None:
        return
    by_key = (known.submitted_by, occurrence_key(known.name, command.occurrence_ms))
    wants.look_up("by_key", by_key)
    wants.key(Task, known.last_task, command.task_id)
    yield
    wants.key(Task, *world.by_key.keys(by_key))


ScheduleNamed = sc.AddSchedule | sc.PauseSchedule | sc.ResumeSchedule | sc.RemoveSchedule | sc.FireSchedule
