"""Bodies of the API about recurring schedules."""

from __future__ import annotations

from msgspec import Raw

from tenure.core.schedule import Missed, Overlap
from tenure.wire.api import Answered, Asked, TaskRequest


class ScheduleRequest(Asked, frozen=True, kw_only=True, omit_defaults=True):
    """A Task to submit at each occurrence. `cron`: minute, hour, day of month, month, day of week. `zone`: a name of the
    time zone database, as Europe/Berlin. `missed`: what becomes of occurrences when no hub was there (`latest`, `skip`,
    `all`). `overlap`: whether one is fired while the Task before has not ended (`allow`, `skip`). `replace`: give a
    schedule of this name other content."""

    name: str
    cron: str
    zone: str
    task: TaskRequest
    missed: Missed = Missed.LATEST
    overlap: Overlap = Overlap.ALLOW
    replace: bool = False


class OccurrenceBody(Answered, frozen=True, kw_only=True):
    """When a schedule fires: `at` in UTC, `local_at` as the clocks of its zone show it."""

    schedule: str
    zone: str
    at: str
    local_at: str


class ScheduleBody(Answered, frozen=True, kw_only=True):
    """A schedule as it stands. `next_at`: its next occurrence, null unless it is active. `last_at`: the last one that was
    handled; `last_outcome` is `fired`, `missed`, `overlapped`, `repeated` (its key had a Task already) or `failed`,
    `last_detail` says why. `occurrences`: the next ones. `task`: the spec of its Tasks, as it is recorded. `replayed`: it
    was so before."""

    schedule_id: str
    name: str
    cron: str
    zone: str
    missed: str
    overlap: str
    objective: str
    to: str
    task: Raw
    revision: int
    state: str
    state_by: str
    state_because: str
    state_at: str
    next_at: str | None
    last_at: str | None
    last_outcome: str | None
    last_detail: str | None
    last_task: str | None
    fired: int
    skipped: int
    failed: int
    submitted_by: str
    added_at: str
    occurrences: tuple[OccurrenceBody, ...] = ()
    replayed: bool = False
