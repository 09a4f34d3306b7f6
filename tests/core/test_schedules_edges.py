"""Schedules at the edge of each bound and condition: how late is late, which occurrence may follow, who is asked and no longer."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tenure.core import limits
from tenure.core.commands import Refusal
from tenure.core.schedule import ON_TIME_MS, Missed, OccurrenceOutcome
from tenure.core.schedule_commands import (
    AddSchedule,
    PauseSchedule,
    RemoveSchedule,
    ResumeSchedule,
    ScheduleAnswer,
)
from tenure.core.task import TaskSpec
from tests.core.test_schedules import HOUR_MS, ID, SPEC, Clockwork


@pytest.mark.parametrize(
    ("fields", "taken"),
    [
        ({"name": "x" * limits.NAME_LENGTH}, True),
        ({"name": "x" * (limits.NAME_LENGTH + 1)}, False),
        ({"spec": replace(SPEC, cron="*" * limits.CRON_LENGTH)}, True),
        ({"spec": replace(SPEC, cron="*" * (limits.CRON_LENGTH + 1))}, False),
        ({"spec": replace(SPEC, cron="")}, False),
        ({"spec": replace(SPEC, zone="*" * limits.CRON_LENGTH)}, True),
        ({"spec": replace(SPEC, zone="")}, False),
        ({"next_at_ms": limits.FIRST_INSTANT_MS}, True),
        ({"next_at_ms": limits.FIRST_INSTANT_MS - 1}, False),
        ({"next_at_ms": limits.LAST_INSTANT_MS}, True),
        ({"next_at_ms": limits.LAST_INSTANT_MS + 1}, False),
    ],
)
def test_what_is_added_has_its_bounds(fields: dict[str, Any], taken: bool) -> None:
    one = Clockwork()
    asked = {"name": "other", "spec": SPEC, "next_at_ms": one.now_ms + 1, "by": "ann", "may_all": False}
    assert isinstance(one.lab.run(AddSchedule(**(asked | fields))), Refusal) is not taken


@pytest.mark.parametrize("kind", [PauseSchedule, RemoveSchedule])
def test_a_reason_may_have_its_whole_length(kind: Any) -> None:
    one = Clockwork()
    said = one.lab.run(kind(ID, "ann", "x" * limits.REASON_LENGTH, may_all=False))
    assert isinstance(said, ScheduleAnswer)


def test_a_pause_by_a_person_asks_nobody_and_a_resumption_needs_an_instant() -> None:
    one = Clockwork()
    one.lab.run(PauseSchedule(ID, "ann", "a holiday", may_all=False))
    assert one.question is None
    assert one.fire(next_at_ms=None).outcome is None
    beyond = limits.LAST_INSTANT_MS + 1
    assert isinstance(one.lab.run(ResumeSchedule(ID, 1, beyond, "ann", may_all=False)), Refusal)
    assert one.schedule.is_paused


def test_whoever_was_asked_about_a_schedule_that_is_removed_is_asked_no_more() -> None:
    one = Clockwork()
    one.lab.run(PauseSchedule(ID, "hub", "no such zone", may_all=True, broken=True))
    one.lab.run(RemoveSchedule(ID, "ann", "x", may_all=False))
    assert one.question is not None
    assert not one.question.open


@pytest.mark.parametrize(("late_ms", "fired"), [(ON_TIME_MS, True), (ON_TIME_MS + 1, False)])
def test_so_late_is_still_in_time(late_ms: int, fired: bool) -> None:
    one = Clockwork(missed=Missed.SKIP)
    one.come()
    one.lab.pass_s(late_ms / 1000)
    assert (one.fire().outcome is OccurrenceOutcome.FIRED) is fired


@pytest.mark.parametrize(("before_ms", "fired"), [(1, True), (0, False)])
def test_an_occurrence_is_missed_once_the_next_one_is_due(before_ms: int, fired: bool) -> None:
    one = Clockwork(missed=Missed.LATEST)
    one.come()
    one.lab.pass_s((HOUR_MS - before_ms) / 1000)
    assert (one.fire().outcome is OccurrenceOutcome.FIRED) is fired


def test_a_firing_of_another_content_or_of_a_later_occurrence_does_nothing() -> None:
    one = Clockwork()
    one.come()
    assert one.fire(revision=7).outcome is None
    one.lab.pass_s(HOUR_MS / 1000)
    later = one.firing().due_at_ms + HOUR_MS
    assert one.fire(due_at_ms=later, occurrence_ms=later, next_at_ms=later + HOUR_MS).outcome is None


@pytest.mark.parametrize(("passed_over", "ahead_ms"), [(-1, HOUR_MS), (0, HOUR_MS), (1, 0)])
def test_what_is_passed_over_is_counted(passed_over: int, ahead_ms: int) -> None:
    one = Clockwork()
    one.come()
    one.lab.pass_s(HOUR_MS / 1000)
    due = one.firing().due_at_ms
    this = due + ahead_ms
    said = one.fire(passed_over=passed_over, occurrence_ms=this, next_at_ms=this + HOUR_MS)
    assert getattr(said, "code", None) == "invalid"


def test_nothing_follows_at_the_same_instant() -> None:
    one = Clockwork()
    one.come()
    assert one.fire(next_at_ms=one.firing().occurrence_ms).code == "invalid"


def test_another_refusal_is_news_while_a_person_is_asked() -> None:
    one = Clockwork(task=TaskSpec(objective="x", route="claude", policy="nobody"))
    for policy, version in (("nobody", 1), ("nobody", 1), ("nobody else", 2)):
        spec = TaskSpec(objective="x", route="claude", policy=policy)
        one.lab.world.put(replace(one.schedule, spec=replace(one.schedule.spec, task=spec)))
        one.come()
        assert one.fire().outcome is not OccurrenceOutcome.FIRED
        assert one.question is not None
        assert one.question.version == version
