"""The invariants of schedules: each clause is broken on purpose, and nothing else is said."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from tenure.core import commands as cm
from tenure.core.attention import Attention, AttentionKind, item_id
from tenure.core.schedule import OccurrenceOutcome, Schedule
from tenure.core.schedule_commands import PauseSchedule
from tenure.core.task import Task
from tests.core.broken_world import Names, Wrong, but, in_state, table, without
from tests.core.lab import Lab
from tests.core.test_schedules import ID, Clockwork

QUESTION = item_id(AttentionKind.SCHEDULE_FAILED, ID)


def fired(lab: Lab) -> Iterator[Names]:
    work = Clockwork(lab)
    lab.pass_s(3600)
    lab.run(work.firing())
    assert work.schedule.last_outcome is OccurrenceOutcome.FIRED
    yield {"task": work.schedule.last_task or ""}


def paused(lab: Lab) -> Iterator[Names]:
    Clockwork(lab)
    lab.run(PauseSchedule(ID, "ann", "not now", True))
    yield {}


def over(lab: Lab) -> Iterator[Names]:
    """It has no further occurrence, a person was asked about that, and has read it."""
    work = Clockwork(lab)
    lab.pass_s(3600)
    lab.run(work.firing(next_at_ms=None))
    assert work.question is not None
    lab.run(cm.CloseAttention(QUESTION, work.question.version, "ann", "read"))
    yield {"task": work.schedule.last_task or ""}


@table(
    {
        "what is paused has a next time": Wrong(
            paused,
            (but(Schedule, ID, next_at_ms=5),),
            ("never_silent: s_nightly is paused and has a next occurrence",),
        ),
        "what is active has no next time": Wrong(
            fired, (but(Schedule, ID, next_at_ms=None),), ("never_silent: s_nightly is active, has no next",)
        ),
        "what is active has no next time, and somebody was told": Wrong(over),
        "what is over has told nobody": Wrong(
            over, (without(Attention, QUESTION),), ("never_silent: s_nightly is active, has no next",)
        ),
        "what has fired has no Task": Wrong(
            fired, (but(Schedule, ID, last_task=None),), ("once: s_nightly has fired without a Task",)
        ),
        "what was missed needs none": Wrong(
            fired, (but(Schedule, ID, last_task=None, last_outcome=OccurrenceOutcome.MISSED),)
        ),
        "its Task is not there": Wrong(
            fired, (without(Task, "{task}"),), ("once: {task} is not a Task of s_nightly",)
        ),
        "its Task is of another schedule": Wrong(
            fired,
            (but(Task, "{task}", spec=lambda was: replace(was, labels={"schedule": "hourly"})),),
            ("once: {task} is not a Task of s_nightly",),
        ),
    }
)
def test_a_schedule_that_breaks_a_rule_is_told_and_nothing_else(wrong: Wrong) -> None:
    in_state(wrong)
