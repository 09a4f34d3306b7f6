"""Recurring schedules as people and programs see them: adding, looking, pausing, removing.

Whoever may submit may add schedules and change their own; an operator may change them all. The calendar is asked here, the
rules are in `core.scheduling`."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import islice
from typing import final

from msgspec import Raw
from msgspec.structs import replace

from tenure.core.access import Role, covers
from tenure.core.canonical import canonical
from tenure.core.limits import LAST_INSTANT_MS, SCHEDULES
from tenure.core.schedule import Schedule, ScheduleSpec, schedule_id
from tenure.core.schedule_commands import (
    AddSchedule,
    PauseSchedule,
    RemoveSchedule,
    ResumeSchedule,
    ScheduleAnswer,
)
from tenure.core.scheduling import is_schedule_name
from tenure.errors import DependencyError, InvalidError, NotFoundError, TooLargeError
from tenure.hub.access import Principal
from tenure.hub.recorded import recorded
from tenure.hub.service import Hub
from tenure.hub.submitting import task_spec
from tenure.runtime.recurrence import Recurrence, plain_cron, zone_named
from tenure.wire.codec import instant, instant_or_none
from tenure.wire.schedules import OccurrenceBody, ScheduleBody, ScheduleRequest

OCCURRENCES = 5
"""How many of the next occurrences a schedule is shown with."""
MOST_OCCURRENCES = 100


@final
class ScheduleDesk:
    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    async def add(self, who: Principal, asked: ScheduleRequest) -> ScheduleBody:
        """Add a schedule, or give one other content. Idempotent by name and content.

        Raises:
            InvalidError: its name, cron text, zone or Task is none; or it never fires.
            ConflictError: there is one of this name with other content, and `replace` was not asked for.
            ForbiddenError: it is somebody else's.
            TooLargeError: there are too many.
        """
        spec = _spec(asked)
        first_ms = Recurrence(spec.cron, spec.zone).after(self._hub.clock.wall_ms())
        if first_ms is None:
            raise InvalidError(f"{spec.cron} names no time within fifty years.", field="cron")
        await self._bound(asked.name)
        done = await self._hub.execute(
            AddSchedule(asked.name, spec, first_ms, who.name, may_all(who), asked.replace)
        )
        return await self._told(done)

    async def pause(self, who: Principal, name: str, because: str) -> ScheduleBody:
        """Fire none of its occurrences until it is resumed.

        Raises:
            NotFoundError: there is none of this name.
            ConflictError: it is removed.
            ForbiddenError: it is somebody else's.
        """
        return await self._told(
            await self._hub.execute(PauseSchedule(_key(name), who.name, because, may_all(who)))
        )

    async def resume(self, who: Principal, name: str) -> ScheduleBody:
        """Go on, with the first occurrence after now.

        Raises:
            NotFoundError: there is none of this name.
            ConflictError: it is removed, or was changed in this moment.
            ForbiddenError: it is somebody else's.
            InvalidError: this machine cannot read its cron text or zone.
        """
        known = await self._find(name)
        first_ms = Recurrence(known.spec.cron, known.spec.zone).after(self._hub.clock.wall_ms())
        if first_ms is None:
            raise InvalidError(f"{known.spec.cron} names no time within fifty years.", field="cron")
        return await self._told(
            await self._hub.execute(
                ResumeSchedule(known.schedule_id, known.revision, first_ms, who.name, may_all(who))
            )
        )

    async def remove(self, who: Principal, name: str, because: str) -> ScheduleBody:
        """Fire none of its occurrences any more. Its Tasks go on, and what was recorded stays.

        Raises:
            NotFoundError: there is none of this name.
            ForbiddenError: it is somebody else's.
        """
        return await self._told(
            await self._hub.execute(RemoveSchedule(_key(name), who.name, because, may_all(who)))
        )

    # -- looking

    async def list(self, *, with_removed: bool) -> tuple[ScheduleBody, ...]:
        """All of them, by name, without their next occurrences."""
        return tuple(_body(one) for one in await self._hub.ledger.schedules(with_removed))

    async def show(self, name: str, occurrences: int = OCCURRENCES) -> ScheduleBody:
        """One of them, with its next occurrences.

        Raises:
            NotFoundError: there is none of this name.
            InvalidError: too many occurrences are asked for.
        """
        known = await self._find(name)
        return replace(_body(known), occurrences=_next(known, _most(occurrences)))

    async def upcoming(self, limit: int) -> tuple[OccurrenceBody, ...]:
        """The next occurrences of all that are active, in order.

        Raises:
            InvalidError: too many are asked for.
        """
        limit = _most(limit)
        active = [one for one in await self._hub.ledger.schedules() if one.is_active]
        # Only the first `limit` by their own next one can be among the first `limit` of all.
        soonest = heapq.nsmallest(
            limit, active, key=lambda one: (one.next_at_ms or LAST_INSTANT_MS, one.name)
        )
        # Each is asked for its next one only when its turn comes.
        merged = heapq.merge(*map(_line, soonest), key=lambda place: place[:2])
        return tuple(_occurrence(one, at_ms) for at_ms, _, one in islice(merged, limit))

    # -- within

    async def _bound(self, name: str) -> None:
        known = await self._hub.ledger.find(Schedule, schedule_id(name)) if is_schedule_name(name) else None
        if known is not None and not known.is_removed:
            return
        if len(await self._hub.ledger.schedules()) >= SCHEDULES:
            raise TooLargeError(
                f"there are {SCHEDULES} schedules, which is as many as there may be; remove one first.",
                limit=SCHEDULES,
            )

    async def _find(self, name: str) -> Schedule:
        known = await self._hub.ledger.find(Schedule, _key(name))
        if known is None:
            raise no_schedule(name)
        return known

    async def _told(self, done: ScheduleAnswer) -> ScheduleBody:
        with recorded():
            known = await self._find(done.schedule_id.removeprefix("s_"))
        body = replace(_body(known), replayed=done.replayed)
        return replace(body, occurrences=_next(known, OCCURRENCES))


def may_all(who: Principal) -> bool:
    """May they change what others have added?"""
    return covers(who.role, Role.OPERATOR)


def no_schedule(name: str) -> NotFoundError:
    return NotFoundError(
        f"there is no schedule {name[:80]!r}; `tenure schedule list` shows them.", name=name[:80]
    )


def _key(name: str) -> str:
    if not is_schedule_name(name):
        raise no_schedule(name)
    return schedule_id(name)


def _spec(asked: ScheduleRequest) -> ScheduleSpec:
    cron = plain_cron(asked.cron)
    zone_named(asked.zone)
    try:
        task = task_spec(asked.task, {})
    except DependencyError as error:
        raise InvalidError(
            "after: a schedule's Tasks wait for no others: those would be the same ones each time.",
            field="after",
        ) from error
    return ScheduleSpec(cron=cron, zone=asked.zone, task=task, missed=asked.missed, overlap=asked.overlap)


def _most(number: int) -> int:
    if not 1 <= number <= MOST_OCCURRENCES:
        raise InvalidError(f"{number} occurrences; 1 to {MOST_OCCURRENCES} are told at once.", field="limit")
    return number


def _next(known: Schedule, limit: int) -> tuple[OccurrenceBody, ...]:
    """The next occurrences of one that is active; none of one whose calendar cannot be read here."""
    return tuple(_occurrence(known, at_ms) for at_ms in islice(_times(known), limit))


def _line(known: Schedule) -> Iterator[tuple[int, str, Schedule]]:
    return ((at_ms, known.name, known) for at_ms in _times(known))


def _times(known: Schedule) -> Iterator[int]:
    if known.next_at_ms is None:
        return
    try:
        recurrence = Recurrence(known.spec.cron, known.spec.zone)
    except InvalidError:
        return
    yield known.next_at_ms
    yield from recurrence.following(known.next_at_ms)


def _occurrence(known: Schedule, at_ms: int) -> OccurrenceBody:
    local = datetime.fromtimestamp(at_ms // 1000, UTC).astimezone(zone_named(known.spec.zone))
    return OccurrenceBody(
        schedule=known.name, zone=known.spec.zone, at=instant(at_ms), local_at=local.isoformat()
    )


def _body(known: Schedule) -> ScheduleBody:
    spec = known.spec
    return ScheduleBody(
        schedule_id=known.schedule_id,
        name=known.name,
        cron=spec.cron,
        zone=spec.zone,
        missed=str(spec.missed),
        overlap=str(spec.overlap),
        objective=spec.task.objective,
        to=spec.task.route,
        task=Raw(canonical(spec.task)),
        revision=known.revision,
        state=str(known.state),
        state_by=known.state_by,
        state_because=known.state_because,
        state_at=instant(known.state_at_ms),
        next_at=instant_or_none(known.next_at_ms),
        last_at=instant_or_none(known.last_at_ms),
        last_outcome=None if known.last_outcome is None else str(known.last_outcome),
        last_detail=known.last_detail,
        last_task=known.last_task,
        fired=known.fired,
        skipped=known.skipped,
        failed=known.failed,
        submitted_by=known.submitted_by,
        added_at=instant(known.added_at_ms),
    )
