"""The recurring schedule: a Task that is submitted again and again, at times that a cron text names in a time zone.

There is one schedule for each name, for good: its id is made of the name, a removed one keeps its row, and adding the name
again brings it back. When an occurrence is, is computed outside (`runtime.recurrence`) and handed in; core sees to it that
occurrences only go forward and that none gives two Tasks.

`FireSchedule` records an occurrence and submits its Task in one commit, under a key that is made of the schedule's name and
the occurrence's instant. So whatever dies, and however often, late or doubled the command comes, one occurrence is one Task:
a second command finds that the schedule has moved on (`next_at_ms`, `revision`), and if even that could not tell (the name
was removed and added again, the clock was set back), the key finds the Task.

An occurrence whose Task is refused is recorded as failed and a person is asked; the schedule goes on."""

from __future__ import annotations

from datetime import UTC, datetime
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from tenure.core.ids import TaskId
from tenure.core.task import TaskSpec

LABEL = "schedule"
"""The label of every Task that a schedule has submitted; its value is the schedule's name."""
ON_TIME_MS = 60_000
"""An occurrence that is handled later than this was missed: no cron text fires more often than once a minute, and an hub
that is up takes a fraction of a second."""


class ScheduleState(StrEnum):
    ACTIVE = "active"
    PAUSED = "paused"
    REMOVED = "removed"


SCHEDULE_TRANSITIONS: dict[ScheduleState, frozenset[ScheduleState]] = {
    ScheduleState.ACTIVE: frozenset({ScheduleState.PAUSED, ScheduleState.REMOVED}),
    ScheduleState.PAUSED: frozenset({ScheduleState.ACTIVE, ScheduleState.REMOVED}),
    ScheduleState.REMOVED: frozenset({ScheduleState.ACTIVE}),
}


class Missed(StrEnum):
    """What becomes of occurrences that fell into a time when no hub was there to handle them."""

    LATEST = "latest"
    """The latest one is fired, late; those before it are not."""
    SKIP = "skip"
    """None of them is fired."""
    ALL = "all"
    """Each is fired, the oldest first: the latest `limits.MISSED_OCCURRENCES` of them."""


class Overlap(StrEnum):
    """What becomes of an occurrence while the Task of the one before has not ended."""

    ALLOW = "allow"
    """It is fired all the same."""
    SKIP = "skip"
    """It is not fired."""


class OccurrenceOutcome(StrEnum):
    """What became of an occurrence."""

    FIRED = "fired"
    MISSED = "missed"
    OVERLAPPED = "overlapped"
    REPEATED = "repeated"
    """The key has a Task already; there is no second one."""
    FAILED = "failed"


class ScheduleSpec(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a schedule is to do. `cron`: five fields, in one spelling; `zone`: a name of the time zone database."""

    cron: str
    zone: str
    task: TaskSpec
    missed: Missed = Missed.LATEST
    overlap: Overlap = Overlap.ALLOW


class Schedule(Struct, frozen=True):
    """A schedule as it stands.

    `revision` counts its contents. `state_by` and `state_because` say who brought it into its state. `next_at_ms`: the
    next occurrence, None unless it is active; `last_at_ms`: the last one that was handled, and what became of it
    (`last_outcome`, in words `last_detail`). `last_task`: the last Task that it submitted. `fired`, `skipped` and `failed`
    count occurrences. `submitted_by`: who gave it its content; its Tasks are submitted in that name."""

    schedule_id: str
    spec: ScheduleSpec
    spec_digest: str
    revision: int
    state: ScheduleState
    state_by: str
    state_because: str
    state_at_ms: int
    next_at_ms: int | None
    last_at_ms: int | None
    last_outcome: OccurrenceOutcome | None
    last_detail: str | None
    last_task: TaskId | None
    fired: int
    skipped: int
    failed: int
    submitted_by: str
    added_at_ms: int

    @property
    def key(self) -> str:
        return self.schedule_id

    @property
    def name(self) -> str:
        return schedule_name(self.schedule_id)

    @property
    def is_active(self) -> bool:
        return self.state is ScheduleState.ACTIVE

    @property
    def is_paused(self) -> bool:
        return self.state is ScheduleState.PAUSED

    @property
    def is_removed(self) -> bool:
        return self.state is ScheduleState.REMOVED


def schedule_id(name: str) -> str:
    """`s_NAME`: the id of the one schedule of this name; also its stream, and the subject of questions about it."""
    return f"s_{name}"


def schedule_name(schedule_id: str) -> str:
    return schedule_id.removeprefix("s_")


def occurrence_text(at_ms: int) -> str:
    """An occurrence in RFC 3339, UTC, whole seconds (cron knows no smaller ones)."""
    return datetime.fromtimestamp(at_ms // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def occurrence_key(name: str, at_ms: int) -> str:
    """The idempotency key under which an occurrence's Task is submitted."""
    return f"schedule:{name}:{occurrence_text(at_ms)}"


def occurrence_task(name: str, spec: ScheduleSpec) -> TaskSpec:
    """The spec of every Task that the schedule submits: what was asked for, and the label that finds it."""
    return replace(spec.task, labels={**spec.task.labels, LABEL: name})
