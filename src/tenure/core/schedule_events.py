"""What can have happened to a schedule. Its events stand in a stream of its own; a Task that it submits begins the Task's
stream, in the same commit."""

from __future__ import annotations

from msgspec import Struct

from tenure.core.ids import TaskId
from tenure.core.origin import Origin
from tenure.core.schedule import OccurrenceOutcome, ScheduleSpec


class _ScheduleEvent(Struct, frozen=True, tag_field="event", kw_only=True, omit_defaults=True):
    schedule_id: str
    origin: Origin | None = None

    @property
    def stream(self) -> str:
        return self.schedule_id


class ScheduleAdded(_ScheduleEvent, frozen=True, kw_only=True, tag="schedule_added"):
    """New, or back after it was removed."""

    spec: ScheduleSpec
    by: str
    next_at_ms: int


class ScheduleChanged(_ScheduleEvent, frozen=True, kw_only=True, tag="schedule_changed"):
    """It has other content. A paused one stays paused."""

    spec: ScheduleSpec
    by: str
    next_at_ms: int


class SchedulePaused(_ScheduleEvent, frozen=True, kw_only=True, tag="schedule_paused"):
    by: str
    because: str


class ScheduleResumed(_ScheduleEvent, frozen=True, kw_only=True, tag="schedule_resumed"):
    by: str
    next_at_ms: int


class ScheduleRemoved(_ScheduleEvent, frozen=True, kw_only=True, tag="schedule_removed"):
    by: str
    because: str


class OccurrencesPassedOver(_ScheduleEvent, frozen=True, kw_only=True, tag="occurrences_passed_over"):
    """So many occurrences, from the one at `first_ms` to the last before `until_ms`, were missed and are not fired."""

    first_ms: int
    until_ms: int
    count: int


class OccurrenceHandled(_ScheduleEvent, frozen=True, kw_only=True, tag="occurrence_handled"):
    """What became of an occurrence. `task_id`: the Task that it has, or the one that was in its way."""

    occurrence_ms: int
    next_at_ms: int | None
    outcome: OccurrenceOutcome
    task_id: TaskId | None = None
    detail: str | None = None


ScheduleEvent = (
    ScheduleAdded
    | ScheduleChanged
    | SchedulePaused
    | ScheduleResumed
    | ScheduleRemoved
    | OccurrencesPassedOver
    | OccurrenceHandled
)
