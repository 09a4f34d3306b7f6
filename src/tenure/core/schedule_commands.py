"""What may be asked about schedules, and what is answered."""

from __future__ import annotations

from msgspec import Struct

from tenure.core.ids import TaskId
from tenure.core.schedule import OccurrenceOutcome, ScheduleSpec, schedule_id


class AddSchedule(Struct, frozen=True):
    """Add a schedule, or give the one of this name other content (`replace`).

    Idempotent by name and content: the same again changes nothing. `next_at_ms`: its first occurrence after now.
    `may_all`: may the one who asks change what others have added?"""

    name: str
    spec: ScheduleSpec
    next_at_ms: int
    by: str
    may_all: bool
    replace: bool = False

    @property
    def schedule_id(self) -> str:
        return schedule_id(self.name)


class PauseSchedule(Struct, frozen=True):
    """No occurrence is fired until it is resumed; those in between are passed over. Idempotent. `broken`: the hub itself
    pauses it, because it cannot tell when the next occurrence is."""

    schedule_id: str
    by: str
    because: str
    may_all: bool
    broken: bool = False


class ResumeSchedule(Struct, frozen=True):
    """Go on with `next_at_ms`, the first occurrence after now of the content with this `revision`. Idempotent."""

    schedule_id: str
    revision: int
    next_at_ms: int
    by: str
    may_all: bool


class RemoveSchedule(Struct, frozen=True):
    """No occurrence is fired any more; the row stays. Idempotent."""

    schedule_id: str
    by: str
    because: str
    may_all: bool


class FireSchedule(Struct, frozen=True):
    """Handle an occurrence whose time has come: record it and submit its Task, `task_id`, in one commit.

    `revision` and `due_at_ms` are the schedule's own as they were read; if it has moved on, nothing is done. The
    `passed_over` occurrences from `due_at_ms` on, before `occurrence_ms`, are recorded as missed. `next_at_ms`: the next
    occurrence after this one, due or not; None if there is none within fifty years."""

    schedule_id: str
    revision: int
    due_at_ms: int
    occurrence_ms: int
    next_at_ms: int | None
    task_id: TaskId
    passed_over: int = 0


class ScheduleAnswer(Struct, frozen=True):
    schedule_id: str
    revision: int
    replayed: bool = False


class FireAnswer(Struct, frozen=True):
    """`outcome` is None if there was nothing to do: the schedule has moved on, or it is not time yet."""

    schedule_id: str
    outcome: OccurrenceOutcome | None
    task_id: TaskId | None = None


ScheduleCommand = AddSchedule | PauseSchedule | ResumeSchedule | RemoveSchedule | FireSchedule
ScheduleReply = ScheduleAnswer | FireAnswer
