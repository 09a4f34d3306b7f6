"""What the events of schedules do."""

from __future__ import annotations

from msgspec.structs import replace

from tenure.core import schedule_events as ev
from tenure.core.canonical import digest
from tenure.core.delivery import Now
from tenure.core.schedule import SCHEDULE_TRANSITIONS, OccurrenceOutcome, Schedule, ScheduleState
from tenure.core.world import Space, get
from tenure.errors import InvariantError


def schedule_added(space: Space, event: ev.ScheduleAdded, now: Now) -> None:
    known = space.find(Schedule, event.schedule_id)
    if known is None:
        space.put(_new(event, now))
        return
    back = replace(
        known,
        spec=event.spec,
        spec_digest=digest(event.spec),
        revision=known.revision + 1,
        submitted_by=event.by,
        next_at_ms=event.next_at_ms,
    )
    space.put(_moved(back, ScheduleState.ACTIVE, now, event.by))


def schedule_changed(space: Space, event: ev.ScheduleChanged, _now: Now) -> None:
    known = get(space, Schedule, event.schedule_id)
    if known.is_removed:
        raise InvariantError(f"{known.schedule_id} is removed and cannot be changed")
    space.put(
        replace(
            known,
            spec=event.spec,
            spec_digest=digest(event.spec),
            revision=known.revision + 1,
            submitted_by=event.by,
            next_at_ms=event.next_at_ms if known.is_active else None,
        )
    )


def schedule_paused(space: Space, event: ev.SchedulePaused, now: Now) -> None:
    known = replace(get(space, Schedule, event.schedule_id), next_at_ms=None)
    space.put(_moved(known, ScheduleState.PAUSED, now, event.by, event.because))


def schedule_resumed(space: Space, event: ev.ScheduleResumed, now: Now) -> None:
    known = replace(get(space, Schedule, event.schedule_id), next_at_ms=event.next_at_ms)
    space.put(_moved(known, ScheduleState.ACTIVE, now, event.by))


def schedule_removed(space: Space, event: ev.ScheduleRemoved, now: Now) -> None:
    known = replace(get(space, Schedule, event.schedule_id), next_at_ms=None)
    space.put(_moved(known, ScheduleState.REMOVED, now, event.by, event.because))


def occurrences_passed_over(space: Space, event: ev.OccurrencesPassedOver, _now: Now) -> None:
    known = _waiting_for(space, event.schedule_id, event.first_ms)
    if event.until_ms <= event.first_ms:
        raise InvariantError(f"{known.schedule_id}: its occurrences would go back")
    space.put(replace(known, next_at_ms=event.until_ms, skipped=known.skipped + event.count))


def occurrence_handled(space: Space, event: ev.OccurrenceHandled, _now: Now) -> None:
    known = _waiting_for(space, event.schedule_id, event.occurrence_ms)
    if event.next_at_ms is not None and event.next_at_ms <= event.occurrence_ms:
        raise InvariantError(f"{known.schedule_id}: its occurrences would go back")
    is_fired = event.outcome is OccurrenceOutcome.FIRED
    is_failed = event.outcome is OccurrenceOutcome.FAILED
    space.put(
        replace(
            known,
            next_at_ms=event.next_at_ms,
            last_at_ms=event.occurrence_ms,
            last_outcome=event.outcome,
            last_detail=event.detail,
            last_task=event.task_id or known.last_task,
            fired=known.fired + is_fired,
            failed=known.failed + is_failed,
            skipped=known.skipped + (not is_fired and not is_failed),
        )
    )


def _waiting_for(space: Space, schedule_id: str, at_ms: int) -> Schedule:
    known = get(space, Schedule, schedule_id)
    if not known.is_active or known.next_at_ms != at_ms:
        raise InvariantError(
            f"{schedule_id} is {known.state} and waits for {known.next_at_ms}, not for {at_ms}"
        )
    return known


def _moved(known: Schedule, state: ScheduleState, now: Now, by: str, because: str = "") -> Schedule:
    if state not in SCHEDULE_TRANSITIONS[known.state]:
        raise InvariantError(f"{known.schedule_id} cannot go from {known.state} to {state}")
    return replace(known, state=state, state_by=by, state_because=because, state_at_ms=now.wall_ms)


def _new(event: ev.ScheduleAdded, now: Now) -> Schedule:
    return Schedule(
        schedule_id=event.schedule_id,
        spec=event.spec,
        spec_digest=digest(event.spec),
        revision=1,
        state=ScheduleState.ACTIVE,
        state_by=event.by,
        state_because="",
        state_at_ms=now.wall_ms,
        next_at_ms=event.next_at_ms,
        last_at_ms=None,
        last_outcome=None,
        last_detail=None,
        last_task=None,
        fired=0,
        skipped=0,
        failed=0,
        submitted_by=event.by,
        added_at_ms=now.wall_ms,
    )
