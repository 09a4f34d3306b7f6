"""Recurring schedules: one Task for each occurrence, whatever is repeated, late or out of order."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from tenure.core import commands as cm
from tenure.core import schedule_events as ev
from tenure.core.attention import Attention, AttentionKind, item_id
from tenure.core.evolve import evolve
from tenure.core.ids import TaskId
from tenure.core.limits import MISSED_OCCURRENCES
from tenure.core.schedule import (
    SCHEDULE_TRANSITIONS,
    Missed,
    OccurrenceOutcome,
    Overlap,
    Schedule,
    ScheduleSpec,
    ScheduleState,
    occurrence_key,
    schedule_id,
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
from tenure.core.scheduling import occurrences_to_handle
from tenure.core.task import Task, TaskSpec
from tenure.errors import InvariantError
from tests.core.lab import SHA, Lab

HOUR_MS = 3_600_000
ID = schedule_id("nightly")
SPEC = ScheduleSpec(cron="0 * * * *", zone="UTC", task=TaskSpec(objective="tidy up", route="claude"))


class Clockwork:
    """A Lab with one schedule that fires every hour."""

    def __init__(self, lab: Lab | None = None, **spec: Any) -> None:
        self.lab = lab or Lab()
        self.add(**spec)

    @property
    def now_ms(self) -> int:
        return self.lab.now.wall_ms

    @property
    def schedule(self) -> Schedule:
        found = self.lab.world.find(Schedule, ID)
        assert found is not None
        return found

    @property
    def question(self) -> Attention | None:
        return self.lab.world.find(Attention, item_id(AttentionKind.SCHEDULE_FAILED, ID))

    def add(self, by: str = "ann", may_all: bool = False, replace_it: bool = False, **spec: Any) -> Any:
        command = AddSchedule(
            "nightly", replace(SPEC, **spec), self.now_ms + HOUR_MS, by, may_all, replace_it
        )
        return self.lab.run(command)

    def firing(self, **changes: Any) -> FireSchedule:
        """What the loop asks for the next occurrence, on time or late."""
        one = self.schedule
        due = one.next_at_ms or 0
        command = FireSchedule(
            ID, one.revision, due, due, due + HOUR_MS, TaskId(self.lab.fresh("t")), passed_over=0
        )
        return replace(command, **changes)

    def fire(self, **changes: Any) -> Any:
        return self.lab.run(self.firing(**changes))

    def come(self) -> None:
        """The next occurrence's time comes."""
        self.lab.pass_s(((self.schedule.next_at_ms or self.now_ms) - self.now_ms) / 1000)

    def tasks(self) -> list[Task]:
        return list(self.lab.world.every(Task))


def end(lab: Lab, task_id: TaskId) -> None:
    lab.run(cm.Cancel(task_id, "ann", "enough"))


# -- adding


def test_a_schedule_is_added_once_however_often_it_is_asked_for() -> None:
    one = Clockwork()
    assert (one.schedule.revision, one.schedule.submitted_by, one.schedule.name) == (1, "ann", "nightly")
    events = len(one.lab.events)
    assert one.add() == ScheduleAnswer(ID, 1, replayed=True)
    assert one.add(by="bob") == ScheduleAnswer(ID, 1, replayed=True)
    assert len(one.lab.events) == events


def test_other_content_under_the_name_needs_a_word_and_is_told_what_differs() -> None:
    one = Clockwork()
    refused = one.add(cron="5 * * * *", task=replace(SPEC.task, route="codex"))
    assert (refused.code, refused.facts["differs"]) == ("conflict", ["cron", "route"])
    assert one.add(cron="5 * * * *", replace_it=True) == ScheduleAnswer(ID, 2)
    assert one.schedule.spec.cron == "5 * * * *"


def test_what_others_have_added_is_changed_by_an_operator_only() -> None:
    one = Clockwork()
    commands = [
        PauseSchedule(ID, "bob", "why not", may_all=False),
        ResumeSchedule(ID, 1, one.now_ms + 1, "bob", may_all=False),
        RemoveSchedule(ID, "bob", "why not", may_all=False),
    ]
    assert [one.lab.run(command).code for command in commands] == ["forbidden"] * 3
    assert one.add(by="bob", cron="5 * * * *", replace_it=True).code == "forbidden"
    assert one.add(by="bob", cron="5 * * * *", replace_it=True, may_all=True) == ScheduleAnswer(ID, 2)
    assert one.schedule.submitted_by == "bob"


@pytest.mark.parametrize(
    ("name", "changes", "match"),
    [
        ("", {}, "no name"),
        ("a b", {}, "no name"),
        ("-x", {}, "no name"),
        ("n" * 65, {}, "no name"),
        ("ü", {}, "no name"),
        ("ok", {"cron": ""}, "cron"),
        ("ok", {"cron": "*" * 201}, "cron"),
        ("ok", {"zone": ""}, "zone"),
        ("ok", {"task": replace(SPEC.task, not_before_ms=5)}, "not_before_at"),
        ("ok", {"task": replace(SPEC.task, after=(TaskId("t_1"),))}, "after"),
        ("ok", {"task": replace(SPEC.task, continues=TaskId("t_1"))}, "continues"),
        ("ok", {"task": replace(SPEC.task, labels={"schedule": "x"})}, "labels"),
        ("ok", {"task": replace(SPEC.task, labels={f"l{one}": "" for one in range(32)})}, "33"),
        ("ok", {"task": replace(SPEC.task, objective=" ")}, "objective"),
        ("ok", {"task": replace(SPEC.task, repository="https://x.example/r.git")}, "base_sha"),
        ("ok", {"task": replace(SPEC.task, base_sha=SHA)}, "base_sha"),
    ],
)
def test_what_can_never_be_right_is_refused_and_nothing_is_recorded(
    name: str, changes: dict[str, Any], match: str
) -> None:
    lab = Lab()
    events = len(lab.events)
    refused = lab.run(AddSchedule(name, replace(SPEC, **changes), lab.now.wall_ms + 1, "ann", may_all=True))
    assert isinstance(refused, cm.Refusal)
    assert match in refused.message
    assert len(lab.events) == events


@pytest.mark.parametrize("first_ms", [-1, 253_402_300_800_000])
def test_a_first_occurrence_that_cannot_be_written_is_refused(first_ms: int) -> None:
    assert Lab().run(AddSchedule("x", SPEC, first_ms, "ann", may_all=True)).code == "invalid"


# -- firing


def test_an_occurrence_is_one_task_under_its_key_in_the_name_of_who_added_it() -> None:
    one = Clockwork()
    one.come()
    at_ms = one.schedule.next_at_ms or 0
    answer = one.fire()
    (task,) = one.tasks()
    assert answer == FireAnswer(ID, OccurrenceOutcome.FIRED, task.task_id)
    assert task.idempotency_key == occurrence_key("nightly", at_ms) == "schedule:nightly:2001-09-09T02:46:40Z"
    assert (task.submitted_by, task.spec.labels) == ("ann", {"schedule": "nightly"})
    after = one.schedule
    assert (after.fired, after.last_at_ms, after.next_at_ms) == (1, at_ms, at_ms + HOUR_MS)
    assert after.last_task == task.task_id


def test_the_same_firing_twice_or_late_does_nothing() -> None:
    one = Clockwork()
    one.come()
    command = one.firing()
    one.lab.run(command)
    one.lab.pass_s(7200)
    assert one.lab.run(replace(command, task_id=TaskId("t_other"))) == FireAnswer(ID, None)
    assert len(one.tasks()) == 1


def test_a_firing_before_its_time_does_nothing() -> None:
    one = Clockwork()
    assert one.fire() == FireAnswer(ID, None)
    one.come()
    command = one.firing()
    one.lab.pass_s(-10)  # the clock was set back
    assert one.lab.run(command) == FireAnswer(ID, None)
    assert one.tasks() == []


def test_a_firing_computed_from_older_content_does_nothing() -> None:
    one = Clockwork()
    one.come()
    command = one.firing()
    one.add(zone="Europe/Berlin", replace_it=True)
    assert one.lab.run(command) == FireAnswer(ID, None)
    assert one.tasks() == []


@pytest.mark.parametrize(
    "changes",
    [
        {"next_at_ms": 0},
        {"passed_over": 3},
        {"passed_over": -1},
        {"occurrence_ms": 5},
    ],
)
def test_occurrences_only_go_forward(changes: dict[str, Any]) -> None:
    one = Clockwork()
    one.come()
    assert one.fire(**changes).code == "invalid"
    assert one.tasks() == []


def test_an_event_that_would_take_occurrences_back_is_a_bug() -> None:
    one = Clockwork()
    due = one.schedule.next_at_ms or 0
    for event in (
        ev.OccurrenceHandled(
            schedule_id=ID, occurrence_ms=due, next_at_ms=due, outcome=OccurrenceOutcome.MISSED
        ),
        ev.OccurrenceHandled(
            schedule_id=ID, occurrence_ms=due - 1, next_at_ms=due, outcome=OccurrenceOutcome.MISSED
        ),
        ev.OccurrencesPassedOver(schedule_id=ID, first_ms=due, until_ms=due, count=1),
    ):
        with pytest.raises(InvariantError):
            evolve(one.lab.world, event, one.lab.now)


def test_a_firing_of_a_schedule_that_is_not_there_is_refused() -> None:
    command = FireSchedule("s_none", 1, 0, 0, 1, TaskId("t_1"))
    assert Lab().run(command).code == "not_found"


# -- missed and overlapping ones


def late(rule: Missed, by_s: float, **changes: Any) -> tuple[Clockwork, Any]:
    one = Clockwork(missed=rule)
    one.come()
    one.lab.restart_hub(by_s)
    return one, one.fire(**changes)


def test_of_missed_occurrences_the_latest_is_fired_unless_it_is_said_otherwise() -> None:
    one, answer = late(Missed.LATEST, 3 * 3600 + 120)
    assert answer.outcome is OccurrenceOutcome.MISSED  # a later one is due by now
    due = one.schedule.next_at_ms or 0
    answer = one.fire(occurrence_ms=due + 2 * HOUR_MS, next_at_ms=due + 3 * HOUR_MS, passed_over=2)
    assert answer.outcome is OccurrenceOutcome.FIRED
    assert (one.schedule.skipped, one.schedule.fired, len(one.tasks())) == (3, 1, 1)


def test_of_missed_occurrences_none_is_fired_where_that_is_the_rule() -> None:
    one, answer = late(Missed.SKIP, 61)
    assert answer.outcome is OccurrenceOutcome.MISSED
    assert "skip" in (one.schedule.last_detail or "")
    assert one.tasks() == []
    one.come()
    assert one.fire().outcome is OccurrenceOutcome.FIRED


def test_a_little_late_is_not_missed() -> None:
    _, answer = late(Missed.SKIP, 59)
    assert answer.outcome is OccurrenceOutcome.FIRED


def test_all_missed_occurrences_are_fired_where_that_is_the_rule() -> None:
    one, answer = late(Missed.ALL, 2 * 3600)
    assert answer.outcome is OccurrenceOutcome.FIRED
    assert [one.fire().outcome for _ in range(2)] == [OccurrenceOutcome.FIRED] * 2
    assert one.fire() == FireAnswer(ID, None)
    assert len({task.idempotency_key for task in one.tasks()}) == 3


def test_how_many_are_made_up_for_is_bounded() -> None:
    due = tuple(range(1_000))
    assert occurrences_to_handle(Missed.ALL, due) == due[-MISSED_OCCURRENCES:]
    assert occurrences_to_handle(Missed.LATEST, due) == (999,)
    assert occurrences_to_handle(Missed.SKIP, due) == (999,)


def test_an_occurrence_is_skipped_while_the_task_before_runs_where_that_is_the_rule() -> None:
    one = Clockwork(overlap=Overlap.SKIP)
    one.come()
    first = one.fire().task_id
    one.come()
    assert one.fire() == FireAnswer(ID, OccurrenceOutcome.OVERLAPPED, first)
    assert (one.schedule.last_task, one.schedule.skipped) == (first, 1)
    end(one.lab, first)
    one.come()
    assert one.fire().outcome is OccurrenceOutcome.FIRED


def test_occurrences_may_overlap_unless_it_is_said_otherwise() -> None:
    one = Clockwork()
    for _ in range(2):
        one.come()
        assert one.fire().outcome is OccurrenceOutcome.FIRED
    assert len(one.tasks()) == 2


def test_an_occurrence_whose_key_has_a_task_gets_no_second_one() -> None:
    """The name was removed and added again, and the clock set back: the same instant comes a second time."""
    one = Clockwork()
    one.come()
    task_id = one.fire().task_id
    one.lab.run(RemoveSchedule(ID, "ann", "", may_all=False))
    one.lab.pass_s(-HOUR_MS / 1000)
    assert one.add(task=replace(SPEC.task, objective="something else")) == ScheduleAnswer(ID, 2)
    one.come()
    assert one.fire() == FireAnswer(ID, OccurrenceOutcome.REPEATED, task_id)
    assert len(one.tasks()) == 1


# -- failing


def broken() -> Clockwork:
    """A schedule whose Task was right when it was added and is refused now, as after an upgrade that knows a new bound."""
    one = Clockwork()
    spec = replace(one.schedule.spec, task=replace(SPEC.task, route="not a route"))
    one.lab.world.put(replace(one.schedule, spec=spec))
    one.come()
    return one


def test_a_task_that_is_refused_is_recorded_and_asked_about_and_the_schedule_goes_on() -> None:
    one = broken()
    assert one.fire() == FireAnswer(ID, OccurrenceOutcome.FAILED)
    assert one.schedule.failed == 1
    assert "not a route" in (one.schedule.last_detail or "")
    assert one.question is not None
    assert one.question.open
    assert "nightly" in one.question.summary
    version = one.question.version
    one.come()
    one.fire()
    assert one.question.version == version, "the same failure again is no new question"
    one.add(cron="1 * * * *", replace_it=True)
    assert not one.question.open
    one.come()
    assert one.fire().outcome is OccurrenceOutcome.FIRED


def test_a_question_closes_by_itself_once_an_occurrence_is_fired() -> None:
    one = broken()
    one.fire()
    one.lab.world.put(replace(one.schedule, spec=SPEC))
    one.come()
    one.fire()
    assert one.question is not None
    assert not one.question.open


def test_a_person_may_close_the_question_and_the_next_failure_opens_it_again() -> None:
    one = broken()
    one.fire()
    assert one.question is not None
    closing = cm.CloseAttention(one.question.item_id, one.question.version, "ann", "known")
    assert one.lab.run(closing) == cm.Done()
    one.come()
    one.fire()
    assert one.question.open


def test_a_schedule_without_a_further_occurrence_asks_a_person() -> None:
    one = Clockwork()
    one.come()
    assert one.fire(next_at_ms=None).outcome is OccurrenceOutcome.FIRED
    assert one.schedule.next_at_ms is None
    assert one.question is not None
    assert one.question.open
    assert "no further occurrence" in one.question.summary


def test_a_schedule_that_the_hub_itself_must_pause_asks_a_person() -> None:
    one = Clockwork()
    one.lab.run(PauseSchedule(ID, "hub", "there is no time zone 'Mars/Phobos'.", may_all=True, broken=True))
    assert one.schedule.is_paused
    assert one.question is not None
    assert "Mars/Phobos" in one.question.summary
    one.lab.run(ResumeSchedule(ID, 1, one.now_ms + HOUR_MS, "ann", may_all=False))
    assert not one.question.open


# -- pausing, resuming, removing


def test_a_paused_schedule_fires_nothing_and_goes_on_with_the_next_one() -> None:
    one = Clockwork()
    one.come()
    command = one.firing()
    pause = PauseSchedule(ID, "ann", "holidays", may_all=False)
    assert one.lab.run(pause) == ScheduleAnswer(ID, 1)
    assert one.lab.run(pause) == ScheduleAnswer(ID, 1, replayed=True)
    assert (one.schedule.next_at_ms, one.schedule.state_because) == (None, "holidays")
    assert one.lab.run(command) == FireAnswer(ID, None)
    one.lab.pass_s(24 * 3600)
    resume = ResumeSchedule(ID, 1, one.now_ms + HOUR_MS, "ann", may_all=False)
    assert one.lab.run(resume) == ScheduleAnswer(ID, 1)
    assert one.lab.run(resume) == ScheduleAnswer(ID, 1, replayed=True)
    one.come()
    assert one.fire().outcome is OccurrenceOutcome.FIRED
    assert len(one.tasks()) == 1


def test_a_paused_schedule_that_is_changed_stays_paused_and_is_resumed_with_its_new_content() -> None:
    one = Clockwork()
    one.lab.run(PauseSchedule(ID, "ann", "", may_all=False))
    one.add(cron="5 * * * *", replace_it=True)
    assert one.schedule.next_at_ms is None
    stale = ResumeSchedule(ID, 1, one.now_ms + HOUR_MS, "ann", may_all=False)
    assert one.lab.run(stale).code == "conflict"
    assert one.lab.run(replace(stale, revision=2)) == ScheduleAnswer(ID, 2)


def test_a_removed_schedule_is_kept_fires_nothing_and_comes_back_when_it_is_added() -> None:
    one = Clockwork()
    one.come()
    one.fire()
    remove = RemoveSchedule(ID, "ann", "no longer needed", may_all=False)
    assert one.lab.run(remove) == ScheduleAnswer(ID, 1)
    assert one.lab.run(remove) == ScheduleAnswer(ID, 1, replayed=True)
    assert one.schedule.is_removed
    assert one.lab.run(PauseSchedule(ID, "ann", "", may_all=False)).code == "conflict"
    assert one.lab.run(ResumeSchedule(ID, 1, one.now_ms + 1, "ann", may_all=False)).code == "conflict"
    assert one.add(by="bob") == ScheduleAnswer(ID, 2)
    assert (one.schedule.submitted_by, one.schedule.fired, one.schedule.is_active) == ("bob", 1, True)


def test_what_is_not_there_cannot_be_paused_resumed_or_removed() -> None:
    lab = Lab()
    commands = [
        PauseSchedule("s_none", "ann", "", may_all=True),
        ResumeSchedule("s_none", 1, 5, "ann", may_all=True),
        RemoveSchedule("s_none", "ann", "", may_all=True),
    ]
    assert [lab.run(command).code for command in commands] == ["not_found"] * 3


@pytest.mark.parametrize("kind", [PauseSchedule, RemoveSchedule])
def test_a_reason_is_bounded(kind: Any) -> None:
    one = Clockwork()
    assert one.lab.run(kind(ID, "ann", "x" * 4_001, may_all=False)).code == "invalid"


def test_no_event_leads_where_the_life_cycle_does_not() -> None:
    steps = {
        ScheduleState.PAUSED: ev.SchedulePaused(schedule_id=ID, by="ann", because=""),
        ScheduleState.REMOVED: ev.ScheduleRemoved(schedule_id=ID, by="ann", because=""),
        ScheduleState.ACTIVE: ev.ScheduleResumed(schedule_id=ID, by="ann", next_at_ms=5),
    }
    for state in ScheduleState:
        for to, event in steps.items():
            one = Clockwork()
            one.lab.world.put(replace(one.schedule, state=state))
            if to in SCHEDULE_TRANSITIONS[state]:
                evolve(one.lab.world, event, one.lab.now)
                assert one.schedule.state is to
            else:
                with pytest.raises(InvariantError):
                    evolve(one.lab.world, event, one.lab.now)
