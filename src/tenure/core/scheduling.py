"""Decisions about recurring schedules; `schedule` says how they work."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tenure.core import limits
from tenure.core import schedule_events as ev
from tenure.core.asking import ask, settle
from tenure.core.attention import Attention, AttentionKind, item_id
from tenure.core.canonical import digest
from tenure.core.commands import Refusal, Submit
from tenure.core.draft import Draft
from tenure.core.ids import TaskId
from tenure.core.schedule import (
    LABEL,
    ON_TIME_MS,
    Missed,
    OccurrenceOutcome,
    Overlap,
    Schedule,
    ScheduleSpec,
    occurrence_key,
    occurrence_task,
)
from tenure.core.schedule_commands import (
    AddSchedule,
    FireAnswer,
    FireSchedule,
    PauseSchedule,
    RemoveSchedule,
    ResumeSchedule,
    ScheduleAnswer,
)
from tenure.core.submission import decide_submit, spec_refusal
from tenure.core.task import Task

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def decide_add_schedule(draft: Draft, command: AddSchedule) -> ScheduleAnswer | Refusal:
    refusal = _add_refusal(command)
    if refusal is not None:
        return refusal
    key = command.schedule_id
    known = draft.find(Schedule, key)
    if known is None or known.is_removed:
        draft.emit(
            ev.ScheduleAdded(schedule_id=key, spec=command.spec, by=command.by, next_at_ms=command.next_at_ms)
        )
        return _answer(draft, key)
    if known.spec_digest == digest(command.spec):
        return ScheduleAnswer(key, known.revision, replayed=True)
    if not command.replace:
        differs = _differences(known.spec, command.spec)
        return Refusal(
            "conflict",
            f"there is a schedule {command.name} with other content ({', '.join(differs)}). Say --replace to give it "
            "this one, or choose another name.",
            {"name": command.name, "differs": differs},
        )
    refusal = _others_refusal(known, command.by, may_all=command.may_all)
    if refusal is not None:
        return refusal
    draft.emit(
        ev.ScheduleChanged(schedule_id=key, spec=command.spec, by=command.by, next_at_ms=command.next_at_ms)
    )
    settle(draft, AttentionKind.SCHEDULE_FAILED, key, f"changed by {command.by}")
    return _answer(draft, key)


def decide_pause_schedule(draft: Draft, command: PauseSchedule) -> ScheduleAnswer | Refusal:
    known = _standing(draft, command.schedule_id)
    if isinstance(known, Refusal):
        return known
    refusal = _others_refusal(known, command.by, may_all=command.may_all) or _reason_refusal(command.because)
    if refusal is not None:
        return refusal
    if known.is_paused:
        return ScheduleAnswer(known.schedule_id, known.revision, replayed=True)
    draft.emit(ev.SchedulePaused(schedule_id=known.schedule_id, by=command.by, because=command.because))
    if command.broken:
        ask(
            draft,
            AttentionKind.SCHEDULE_FAILED,
            known.schedule_id,
            f"the schedule {known.name} was paused, because nobody can tell when its next occurrence is: "
            f"{command.because} Change it with `tenure schedule add {known.name} --replace`, or resume it once that is mended.",
            {
                "schedule": known.name,
                "code": "no_calendar",
                "detail": command.because,
                "occurrence_ms": known.next_at_ms,
            },
        )
    return _answer(draft, known.schedule_id)


def decide_resume_schedule(draft: Draft, command: ResumeSchedule) -> ScheduleAnswer | Refusal:
    known = _standing(draft, command.schedule_id)
    if isinstance(known, Refusal):
        return known
    refusal = _others_refusal(known, command.by, may_all=command.may_all)
    if refusal is not None:
        return refusal
    if known.is_active:
        return ScheduleAnswer(known.schedule_id, known.revision, replayed=True)
    if known.revision != command.revision:
        return Refusal("conflict", f"the schedule {known.name} was changed in this moment. Try again.", {})
    refusal = _next_refusal(command.next_at_ms)
    if refusal is not None:
        return refusal
    draft.emit(
        ev.ScheduleResumed(schedule_id=known.schedule_id, by=command.by, next_at_ms=command.next_at_ms)
    )
    settle(draft, AttentionKind.SCHEDULE_FAILED, known.schedule_id, f"resumed by {command.by}")
    return _answer(draft, known.schedule_id)


def decide_remove_schedule(draft: Draft, command: RemoveSchedule) -> ScheduleAnswer | Refusal:
    known = draft.find(Schedule, command.schedule_id)
    if known is None:
        return _no_schedule(command.schedule_id)
    refusal = _others_refusal(known, command.by, may_all=command.may_all) or _reason_refusal(command.because)
    if refusal is not None:
        return refusal
    if known.is_removed:
        return ScheduleAnswer(known.schedule_id, known.revision, replayed=True)
    draft.emit(ev.ScheduleRemoved(schedule_id=known.schedule_id, by=command.by, because=command.because))
    settle(draft, AttentionKind.SCHEDULE_FAILED, known.schedule_id, f"removed by {command.by}")
    return _answer(draft, known.schedule_id)


# -- occurrences
# -----------------------------------------------------------------------------------------------------


def occurrences_to_handle(missed: Missed, due: Sequence[int]) -> Sequence[int]:
    """Which of the due occurrences (in order) are handled one by one; those before them are passed over as missed."""
    return due[-limits.MISSED_OCCURRENCES :] if missed is Missed.ALL else due[-1:]


def decide_fire_schedule(draft: Draft, command: FireSchedule) -> FireAnswer | Refusal:
    known = draft.find(Schedule, command.schedule_id)
    if known is None:
        return _no_schedule(command.schedule_id)
    if known.revision != command.revision or known.next_at_ms != command.due_at_ms:
        return FireAnswer(known.schedule_id, None)
    if command.occurrence_ms > draft.now.wall_ms:
        return FireAnswer(
            known.schedule_id, None
        )  # the clock was set back since the occurrence was found due
    refusal = _order_refusal(command)
    if refusal is not None:
        return refusal
    if command.passed_over:
        draft.emit(
            ev.OccurrencesPassedOver(
                schedule_id=known.schedule_id,
                first_ms=command.due_at_ms,
                until_ms=command.occurrence_ms,
                count=command.passed_over,
            )
        )
    skipped = _skipped(draft, known, command)
    if skipped is not None:
        return _handled(draft, command, *skipped)
    return _submitted(draft, known, command)


def _order_refusal(command: FireSchedule) -> Refusal | None:
    """Occurrences only go forward."""
    first, this, following = command.due_at_ms, command.occurrence_ms, command.next_at_ms
    is_next = this == first if command.passed_over == 0 else this > first and command.passed_over > 0
    if is_next and (following is None or following > this):
        return None
    return Refusal(
        "invalid",
        f"occurrences of {command.schedule_id} would go back or leave one out: {first}, {command.passed_over} passed over, "
        f"{this}, {following}.",
    )


def _skipped(
    draft: Draft, known: Schedule, command: FireSchedule
) -> tuple[OccurrenceOutcome, TaskId | None, str] | None:
    """Why this occurrence gets no Task, or None if it gets one."""
    spec, now_ms = known.spec, draft.now.wall_ms
    is_late = now_ms - command.occurrence_ms > ON_TIME_MS
    is_followed = command.next_at_ms is not None and command.next_at_ms <= now_ms
    if (spec.missed is Missed.SKIP and is_late) or (spec.missed is Missed.LATEST and is_followed):
        return (
            OccurrenceOutcome.MISSED,
            None,
            f"no hub was there in time, and its rule is missed = {spec.missed}",
        )
    key = occurrence_key(known.name, command.occurrence_ms)
    before = draft.world.task_by_key(known.submitted_by, key)
    if before is not None:
        return OccurrenceOutcome.REPEATED, before.task_id, f"the key {key} has a Task already"
    last = draft.find(Task, known.last_task or "")
    if spec.overlap is Overlap.SKIP and last is not None and not last.is_terminal:
        return OccurrenceOutcome.OVERLAPPED, last.task_id, f"{last.task_id} has not ended ({last.state})"
    return None


def _submitted(draft: Draft, known: Schedule, command: FireSchedule) -> FireAnswer:
    key = occurrence_key(known.name, command.occurrence_ms)
    spec = occurrence_task(known.name, known.spec)
    reply = decide_submit(draft, Submit(command.task_id, spec, known.submitted_by, key))
    if isinstance(reply, Refusal):
        _tell_refused(draft, known, command.occurrence_ms, reply)
        return _handled(draft, command, OccurrenceOutcome.FAILED, None, f"{reply.code}: {reply.message}")
    settle(draft, AttentionKind.SCHEDULE_FAILED, known.schedule_id, f"it has submitted {reply.task_id}")
    return _handled(draft, command, OccurrenceOutcome.FIRED, reply.task_id, None)


def _tell_refused(draft: Draft, known: Schedule, occurrence_ms: int, reply: Refusal) -> None:
    """Ask a person. While they are asked, the same refusal at the next occurrence is no news; once somebody has closed the
    question, it is."""
    summary = (
        f"the schedule {known.name} could not submit its Task: {reply.message} The next occurrence is tried all the "
        f"same; change it with `tenure schedule add {known.name} --replace`, or remove it."
    )
    kind = AttentionKind.SCHEDULE_FAILED
    before = draft.find(Attention, item_id(kind, known.schedule_id))
    if before is not None and before.open and before.summary == summary:
        return
    facts = {
        "schedule": known.name, "code": reply.code, "detail": reply.message, "occurrence_ms": occurrence_ms,
    }  # fmt: skip
    ask(draft, kind, known.schedule_id, summary, facts)


def _handled(
    draft: Draft,
    command: FireSchedule,
    outcome: OccurrenceOutcome,
    task_id: TaskId | None,
    detail: str | None,
) -> FireAnswer:
    draft.emit(
        ev.OccurrenceHandled(
            schedule_id=command.schedule_id,
            occurrence_ms=command.occurrence_ms,
            next_at_ms=command.next_at_ms,
            outcome=outcome,
            task_id=task_id,
            detail=detail,
        )
    )
    if command.next_at_ms is None:
        known = draft.get(Schedule, command.schedule_id)
        ask(
            draft,
            AttentionKind.SCHEDULE_FAILED,
            known.schedule_id,
            f"the schedule {known.name} has no further occurrence: {known.spec.cron} names no time within fifty years.",
            {"schedule": known.name, "code": "no_occurrence", "occurrence_ms": command.occurrence_ms},
        )
    return FireAnswer(command.schedule_id, outcome, task_id)


# -- what is refused
# -------------------------------------------------------------------------------------------------


def is_schedule_name(name: str) -> bool:
    return bool(_NAME.fullmatch(name)) and len(name) <= limits.NAME_LENGTH


def _add_refusal(command: AddSchedule) -> Refusal | None:
    if not is_schedule_name(command.name):
        return _invalid(
            "name",
            f"{command.name[:80]!r} is no name of 1 to {limits.NAME_LENGTH} letters, digits, dots and dashes.",
        )
    for field, text in (("cron", command.spec.cron), ("zone", command.spec.zone)):
        if not 0 < len(text) <= limits.CRON_LENGTH:
            return _invalid(field, f"has {len(text)} characters; 1 to {limits.CRON_LENGTH}.")
    return (
        _fixed_refusal(command.spec)
        or spec_refusal(occurrence_task(command.name, command.spec))
        or _next_refusal(command.next_at_ms)
    )


def _fixed_refusal(spec: ScheduleSpec) -> Refusal | None:
    """What can be said of one Task but not of one after the other."""
    task = spec.task
    for field, value in (("not_before_at", task.not_before_ms), ("deadline_at", task.deadline_ms)):
        if value is not None:
            return _invalid(
                field, "is an instant, and a schedule submits a Task at each occurrence. Leave it out."
            )
    if task.dependencies:
        return _invalid(
            "after", "a schedule's Tasks wait for no others: those would be the same ones each time."
        )
    if task.continues is not None:
        return _invalid("continues", "only one Task can continue another; a schedule submits many.")
    if LABEL in task.labels:
        return _invalid("labels", f"`{LABEL}` is set by the schedule itself. Choose another name.")
    return None


def _next_refusal(next_at_ms: int) -> Refusal | None:
    if limits.FIRST_INSTANT_MS <= next_at_ms <= limits.LAST_INSTANT_MS:
        return None
    return Refusal("invalid", f"its first occurrence, {next_at_ms}, is out of range.", {"at_ms": next_at_ms})


def _reason_refusal(because: str) -> Refusal | None:
    if len(because) <= limits.REASON_LENGTH:
        return None
    return _invalid("because", f"has {len(because)} characters; at most {limits.REASON_LENGTH}.")


def _others_refusal(known: Schedule, by: str, *, may_all: bool) -> Refusal | None:
    if may_all or known.submitted_by == by:
        return None
    return Refusal(
        "forbidden",
        f"the schedule {known.name} is {known.submitted_by}'s; only an operator may change what others have added.",
        {"name": known.name, "submitted_by": known.submitted_by},
    )


def _standing(draft: Draft, key: str) -> Schedule | Refusal:
    """The schedule, if it is there and not removed."""
    known = draft.find(Schedule, key)
    if known is None:
        return _no_schedule(key)
    if known.is_removed:
        return Refusal(
            "conflict", f"the schedule {known.name} is removed. Add it again first.", {"name": known.name}
        )
    return known


def _no_schedule(key: str) -> Refusal:
    name = key.removeprefix("s_")[: limits.NAME_LENGTH]
    return Refusal("not_found", f"there is no schedule {name!r}.", {"name": name})


def _differences(known: ScheduleSpec, asked: ScheduleSpec) -> list[str]:
    fields = [
        name for name in ("cron", "zone", "missed", "overlap") if getattr(known, name) != getattr(asked, name)
    ]
    task = type(known.task).__struct_fields__
    return fields + [name for name in task if getattr(known.task, name) != getattr(asked.task, name)]


def _invalid(field: str, problem: str) -> Refusal:
    return Refusal("invalid", f"{field}: {problem}", {"field": field})


def _answer(draft: Draft, key: str) -> ScheduleAnswer:
    return ScheduleAnswer(key, draft.get(Schedule, key).revision)
