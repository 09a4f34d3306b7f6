"""Schedules over each ledger: what is due, batches, and a restart."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from tenure.core.ids import TaskId
from tenure.core.schedule import Missed, OccurrenceOutcome, Overlap, Schedule, ScheduleSpec, schedule_id
from tenure.core.schedule_commands import AddSchedule, FireAnswer, FireSchedule, PauseSchedule, RemoveSchedule
from tenure.core.task import TaskSpec
from tests.ledger.desk import START_MS, Desk

HOUR_MS = 3_600_000
SPEC = ScheduleSpec(cron="0 * * * *", zone="UTC", task=TaskSpec(objective="tidy", route="claude"))


def adding(name: str, first_ms: int = START_MS + HOUR_MS, spec: ScheduleSpec = SPEC) -> AddSchedule:
    return AddSchedule(name, spec, first_ms, "ann", may_all=False)


def firing(name: str, at_ms: int, task: str) -> FireSchedule:
    return FireSchedule(schedule_id(name), 1, at_ms, at_ms, at_ms + HOUR_MS, TaskId(task))


async def test_those_are_due_whose_time_has_come_the_longest_due_first(desk: Desk) -> None:
    assert await desk.ledger.next_schedule_due_ms() is None
    for name, first_ms in (("c", 30), ("a", 20), ("b", 10)):
        await desk.run(adding(name, START_MS + first_ms))
    await desk.run(PauseSchedule(schedule_id("a"), "ann", "", may_all=False))
    await desk.run(adding("gone"))
    await desk.run(RemoveSchedule(schedule_id("gone"), "ann", "", may_all=False))
    assert await desk.ledger.next_schedule_due_ms() == START_MS + 10
    due = await desk.ledger.schedules_due(START_MS + 30, 10)
    assert [one.name for one in due] == ["b", "c"]
    assert [one.name for one in await desk.ledger.schedules_due(START_MS + 30, 1)] == ["b"]
    assert await desk.ledger.schedules_due(START_MS + 9, 10) == []
    assert [one.name for one in await desk.ledger.schedules()] == ["a", "b", "c"]
    assert [one.name for one in await desk.ledger.schedules(True)] == ["a", "b", "c", "gone"]


async def test_occurrences_of_one_batch_see_one_another(desk: Desk) -> None:
    await desk.run(adding("one", START_MS, replace(SPEC, overlap=Overlap.SKIP, missed=Missed.ALL)))
    desk.clock.pass_s(3 * 3600)
    first, again, second = await desk.ledger.execute_many(
        [
            firing("one", START_MS, "t_1"),
            firing("one", START_MS, "t_2"),
            firing("one", START_MS + HOUR_MS, "t_3"),
        ]
    )
    assert first == FireAnswer("s_one", OccurrenceOutcome.FIRED, TaskId("t_1"))
    assert again == FireAnswer("s_one", None)
    assert second == FireAnswer("s_one", OccurrenceOutcome.OVERLAPPED, TaskId("t_1"))
    kinds = [one.kind for one in await desk.ledger.stream("s_one")]
    assert kinds == ["schedule_added", "occurrence_handled", "occurrence_handled"]


async def test_an_occurrence_and_its_task_are_one_commit(desk: Desk) -> None:
    await desk.run(adding("one", START_MS))
    heard: list[tuple[str, ...]] = []
    desk.ledger.subscribe(lambda committed: heard.append(tuple(one.kind for one in committed.events)))
    await desk.run(firing("one", START_MS, "t_1"))
    assert heard == [("task_submitted", "attempt_created", "occurrence_handled")]


async def test_after_a_restart_the_same_firing_finds_that_it_was_done(
    sqlite_desk: Desk, reopen: Callable[[], Desk]
) -> None:
    await sqlite_desk.run(adding("one", START_MS))
    await sqlite_desk.run(firing("one", START_MS, "t_1"))
    await sqlite_desk.ledger.close()
    second = reopen()
    await second.open()
    assert await second.run(firing("one", START_MS, "t_2")) == FireAnswer("s_one", None)
    found = await second.ledger.find(Schedule, "s_one")
    assert found is not None
    assert (found.fired, found.last_task, found.spec) == (1, "t_1", SPEC)
    await second.ledger.close()


async def test_nothing_of_a_schedule_has_to_be_loaded_unforeseen(sqlite_desk: Desk) -> None:
    await sqlite_desk.run(adding("one", START_MS))
    world = sqlite_desk.engine.world
    for number in range(3):
        world.forget()
        before = world.unforeseen
        sqlite_desk.clock.pass_s(3600)
        answer = await sqlite_desk.run(firing("one", START_MS + number * HOUR_MS, f"t_{number}"))
        assert isinstance(answer, FireAnswer)
        assert world.unforeseen == before
