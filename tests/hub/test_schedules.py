"""Schedules fire by themselves: on time, once, late after an outage, and with a clock that steps."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tenure.core.access import Role
from tenure.core.attempt import Verdict
from tenure.core.limits import MISSED_OCCURRENCES
from tenure.core.schedule import Missed, Overlap, Schedule, schedule_id
from tenure.errors import (
    ConflictError,
    ForbiddenError,
    InvalidError,
    NotFoundError,
    TenureError,
    TooLargeError,
)
from tenure.hub import schedule_desk
from tenure.hub.access import Principal
from tenure.hub.schedule_desk import ScheduleDesk
from tenure.ledger.port import TaskFilter
from tenure.wire import api
from tenure.wire.codec import parse_instant
from tenure.wire.schedules import ScheduleBody, ScheduleRequest
from tests.hub.lab import ANN, START_MS, Lab
from tests.hub.test_on_sqlite import Disk

BOB = Principal("bob", Role.SUBMITTER)
CAT = Principal("cat", Role.SUBMITTER)
HOUR_S = 3600
FIRST_MS = START_MS - START_MS % (HOUR_S * 1000) + HOUR_S * 1000
"""The first full hour after the lab's clocks begin."""


def asked(name: str = "hourly", **changes: Any) -> ScheduleRequest:
    task = api.TaskRequest(objective="tidy up", to="claude", **changes.pop("task", {}))
    return ScheduleRequest(**{"name": name, "cron": "0 * * * *", "zone": "UTC", "task": task, **changes})


async def add(lab: Lab, name: str = "hourly", who: Principal = ANN, **changes: Any) -> ScheduleBody:
    return await ScheduleDesk(lab.hub).add(who, asked(name, **changes))


async def show(lab: Lab, name: str = "hourly") -> ScheduleBody:
    return await ScheduleDesk(lab.hub).show(name)


async def tasks(lab: Lab) -> list[str]:
    """The keys of all Tasks, oldest first."""
    found = await lab.hub.ledger.tasks(TaskFilter())
    return [one.idempotency_key for one in reversed(found.tasks)]


async def settled(lab: Lab, name: str = "hourly") -> Schedule:
    """The schedule, once its loop has nothing more to do."""

    async def come() -> Schedule:
        while True:
            found = await lab.hub.ledger.find(Schedule, schedule_id(name))
            assert found is not None
            if found.next_at_ms is None or found.next_at_ms > lab.clock.wall_ms():
                return found
            await asyncio.sleep(0)

    return await asyncio.wait_for(come(), 20)


def until_first_s(lab: Lab) -> float:
    return (FIRST_MS - lab.clock.wall_ms()) / 1000


async def test_an_occurrence_submits_its_task_when_its_time_comes_and_not_before() -> None:
    async with Lab().running() as lab:
        body = await add(lab)
        assert [parse_instant(one.at) for one in body.occurrences[:2]] == [FIRST_MS, FIRST_MS + HOUR_S * 1000]
        lab.pass_s(until_first_s(lab) - 1)
        await settled(lab)
        assert await tasks(lab) == []
        lab.pass_s(1)
        after = await settled(lab)
        assert await tasks(lab) == ["schedule:hourly:2027-01-15T09:00:00Z"]
        assert (after.fired, after.next_at_ms) == (1, FIRST_MS + HOUR_S * 1000)
        (task,) = (await lab.hub.ledger.tasks(TaskFilter(labels={"schedule": "hourly"}))).tasks
        assert (task.submitted_by, task.task_id) == ("ann", after.last_task)


async def test_the_loop_sleeps_until_the_instant_and_asks_for_nothing_in_between() -> None:
    async with Lab().running() as lab:
        await add(lab)
        await settled(lab)
        loop = lab.hub._schedule
        await asyncio.sleep(0)
        assert loop.alarm._until_ms == FIRST_MS
        await add(lab, "sooner", cron="* * * * *")
        await settled(lab, "sooner")
        assert loop.alarm._until_ms < FIRST_MS


async def test_a_node_that_waits_gets_the_task_of_an_occurrence_at_once() -> None:
    async with Lab().running() as lab:
        await add(lab)
        desk = await lab.node()
        claim = asyncio.ensure_future(desk.claiming())
        lab.pass_s(until_first_s(lab))
        (grant,) = await asyncio.wait_for(claim, 10)
        assert grant.task_id == (await settled(lab)).last_task


@pytest.mark.parametrize(
    ("rule", "fired", "skipped"), [(Missed.LATEST, 1, 4), (Missed.SKIP, 0, 5), (Missed.ALL, 5, 0)]
)
async def test_after_an_outage_the_rule_says_what_becomes_of_what_was_missed(
    rule: Missed, fired: int, skipped: int
) -> None:
    lab = Lab()
    async with lab.running():
        await add(lab, missed=rule)
    lab.clock.pass_s(until_first_s(lab) + 4 * HOUR_S + 600)
    async with lab.running():
        after = await settled(lab)
        assert (after.fired, after.skipped, len(await tasks(lab))) == (fired, skipped, fired)
        assert after.next_at_ms == FIRST_MS + 5 * HOUR_S * 1000


async def test_after_a_year_away_a_schedule_of_every_minute_makes_up_for_a_hundred() -> None:
    lab = Lab()
    async with lab.running():
        await add(lab, cron="* * * * *", missed=Missed.ALL)
    lab.clock.pass_s(365 * 24 * HOUR_S)
    async with lab.running():
        after = await settled(lab)
        assert after.fired == len(await tasks(lab)) == MISSED_OCCURRENCES


async def test_an_occurrence_is_skipped_while_the_task_before_has_not_ended() -> None:
    async with Lab().running() as lab:
        await add(lab, overlap=Overlap.SKIP)
        lab.pass_s(until_first_s(lab))
        first = (await settled(lab)).last_task
        lab.pass_s(HOUR_S)
        after = await settled(lab)
        assert (after.fired, after.skipped, str(after.last_outcome)) == (1, 1, "overlapped")
        assert first is not None
        desk = await lab.node()
        assert await desk.report(await desk.take(), Verdict.COMPLETED) == "recorded"
        lab.pass_s(HOUR_S)
        assert (await settled(lab)).fired == 2


# -- crashes and clocks


async def test_a_hub_that_dies_before_it_fires_fires_once_after_its_start(tmp_path: Path) -> None:
    disk = Disk(tmp_path)
    lab = Lab(ledger=disk.ledger)
    async with lab.running():
        await add(lab)
    lab.clock.pass_s(until_first_s(lab))  # it is down when the time comes
    for _ in range(3):
        async with lab.running():
            after = await settled(lab)
            assert (after.fired, len(await tasks(lab))) == (1, 1)
    disk.close()


async def test_a_commit_whose_outcome_is_lost_gives_no_second_task(monkeypatch: pytest.MonkeyPatch) -> None:
    async with Lab().running() as lab:
        await add(lab)
        ledger, lost = lab.hub.ledger, []
        execute_many = ledger.execute_many

        async def losing(commands: Any) -> Any:
            replies = await execute_many(commands)
            if not lost:
                lost.append(replies)
                raise ConnectionError("the answer was lost")
            return replies

        monkeypatch.setattr(lab.hub._schedule._ledger, "execute_many", losing)
        monkeypatch.setattr("tenure.hub.loops.endurance.FIRST_PAUSE_S", 0.001)
        lab.pass_s(until_first_s(lab))
        after = await settled(lab)
        assert lost
        assert (after.fired, len(await tasks(lab))) == (1, 1)


async def test_a_clock_that_steps_back_fires_nothing_twice() -> None:
    async with Lab().running() as lab:
        await add(lab)
        lab.pass_s(until_first_s(lab))
        await settled(lab)
        lab.clock.wall -= 2 * HOUR_S * 1000
        lab.hub._clock_jumped()
        lab.pass_s(2 * HOUR_S + 60)
        await settled(lab)
        assert len(await tasks(lab)) == 1
        lab.pass_s(HOUR_S)
        await settled(lab)
        assert len(set(await tasks(lab))) == len(await tasks(lab)) == 2


async def test_a_schedule_resumed_after_the_clock_went_back_gives_no_second_task() -> None:
    async with Lab().running() as lab:
        desk = ScheduleDesk(lab.hub)
        await add(lab)
        lab.pass_s(until_first_s(lab))
        await settled(lab)
        lab.clock.wall -= HOUR_S * 1000
        await desk.pause(ANN, "hourly", "the clock was wrong")
        body = await desk.resume(ANN, "hourly")
        assert parse_instant(body.next_at or "") == FIRST_MS
        lab.pass_s(HOUR_S)
        after = await settled(lab)
        assert (str(after.last_outcome), len(await tasks(lab))) == ("repeated", 1)


async def test_a_schedule_whose_zone_this_machine_does_not_know_is_paused_and_asked_about() -> None:
    lab = Lab()
    async with lab.running():
        await add(lab)
        await add(lab, "other")
    assert lab.engine is not None
    known = lab.engine.world.find(Schedule, "s_hourly")
    assert known is not None
    lab.engine.world.put(replace(known, spec=replace(known.spec, zone="Mars/Phobos")))
    lab.clock.pass_s(until_first_s(lab))
    async with lab.running():
        assert (await settled(lab)).is_paused
        assert (await settled(lab, "other")).fired == 1
        (item,) = await lab.api.queries.attention(open_only=True, limit=10)
        assert (item.kind, item.subject, list(item.answers)) == ("schedule_failed", "s_hourly", ["close"])
        assert "Mars/Phobos" in item.summary
        with pytest.raises(InvalidError, match="Mars/Phobos"):
            await ScheduleDesk(lab.hub).resume(ANN, "hourly")
        assert (await show(lab)).occurrences == ()


async def test_a_bug_in_one_schedule_does_not_stop_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    lab = Lab()
    async with lab.running():
        await add(lab, "bad")
        await add(lab, "good")
        assert lab.engine is not None
        known = lab.engine.world.find(Schedule, "s_bad")
        assert known is not None
        lab.engine.world.put(
            replace(known, last_task="t_gone", spec=replace(known.spec, task=None))
        )  # what no command can make
        lab.pass_s(until_first_s(lab))
        assert (await settled(lab, "good")).fired == 1


# -- people


async def test_adding_again_changes_nothing_and_other_content_needs_a_word() -> None:
    async with Lab().running() as lab:
        assert not (await add(lab)).replayed
        assert (await add(lab, cron=" 0 * * *  *")).replayed
        with pytest.raises(ConflictError, match="--replace"):
            await add(lab, cron="5 * * * *")
        assert (await add(lab, cron="5 * * * *", replace=True)).revision == 2
        lab.pass_s(until_first_s(lab))
        await settled(lab)
        assert await tasks(lab) == ["schedule:hourly:2027-01-15T08:05:00Z"]


async def test_a_submitter_changes_their_own_schedules_and_an_operator_all() -> None:
    async with Lab().running() as lab:
        desk = ScheduleDesk(lab.hub)
        await add(lab, who=BOB)
        for refused in (
            desk.pause(CAT, "hourly", ""),
            desk.resume(CAT, "hourly"),
            desk.remove(CAT, "hourly", ""),
            add(lab, who=CAT, cron="5 * * * *", replace=True),
        ):
            with pytest.raises(ForbiddenError, match="bob"):
                await refused
        assert (await desk.pause(BOB, "hourly", "")).state == "paused"
        assert (await desk.resume(ANN, "hourly")).state == "active"
        assert (await desk.remove(ANN, "hourly", "done")).state == "removed"


async def test_what_is_added_is_listed_and_what_is_removed_only_when_asked_for() -> None:
    async with Lab().running() as lab:
        desk = ScheduleDesk(lab.hub)
        for name in ("b", "a", "c"):
            await add(lab, name, cron=f"{ord(name) - 90} * * * *")
        await desk.remove(ANN, "c", "")
        await desk.pause(ANN, "b", "")
        assert [(one.name, one.state) for one in await desk.list(with_removed=False)] == [
            ("a", "active"),
            ("b", "paused"),
        ]
        assert len(await desk.list(with_removed=True)) == 3
        assert {one.schedule for one in await desk.upcoming(3)} == {"a"}


async def test_what_fires_next_is_told_in_order_over_all_schedules() -> None:
    async with Lab().running() as lab:
        await add(lab, "hourly")
        await add(lab, "often", cron="*/20 * * * *", zone="Asia/Kathmandu")
        found = await ScheduleDesk(lab.hub).upcoming(5)
        assert [one.at for one in found] == sorted(one.at for one in found)
        assert {one.schedule for one in found} == {"hourly", "often"}
        assert next(one for one in found if one.schedule == "often").local_at.endswith("+05:45")


@pytest.mark.parametrize(
    ("changes", "error", "match"),
    [
        ({"zone": "Europe/Berln"}, InvalidError, "Europe/Berlin"),
        ({"cron": "0 0 30 2 *"}, InvalidError, "never fires"),
        ({"cron": "* * * * * *"}, InvalidError, "once a minute"),
        ({"cron": "often"}, InvalidError, "fields"),
        ({"name": "a/b"}, InvalidError, "no name"),
        ({"task": {"after": ("t_1",)}}, InvalidError, "after"),
        ({"task": {"after": ("key:k",)}}, InvalidError, "after"),
        ({"task": {"not_before_at": "2030-01-01T00:00:00Z"}}, InvalidError, "not_before_at"),
        ({"task": {"continues": "t_1", "because": "x"}}, InvalidError, "continues"),
        ({"task": {"labels": {"schedule": "x"}}}, InvalidError, "labels"),
        ({"task": {"timeout_s": 0}}, InvalidError, "timeout_s"),
    ],
)
async def test_what_can_never_be_right_is_refused_helpfully_and_nothing_is_recorded(
    changes: dict[str, Any], error: type[TenureError], match: str
) -> None:
    async with Lab().running() as lab:
        head = lab.hub.record.head()
        with pytest.raises(error, match=match):
            await add(lab, **changes)
        assert lab.hub.record.head() == head


@pytest.mark.parametrize("name", ["none", "", "a/b", "x" * 999, "\ud800"])
async def test_a_schedule_that_is_not_there_is_not_found(name: str) -> None:
    async with Lab().running() as lab:
        desk = ScheduleDesk(lab.hub)
        for asked_for in (
            desk.show(name),
            desk.pause(ANN, name, ""),
            desk.resume(ANN, name),
            desk.remove(ANN, name, ""),
        ):
            with pytest.raises(NotFoundError, match="there is no schedule"):
                await asked_for


@pytest.mark.parametrize("number", [0, -1, 101])
async def test_too_many_occurrences_are_not_told(number: int) -> None:
    async with Lab().running() as lab:
        await add(lab)
        with pytest.raises(InvalidError, match="1 to 100"):
            await ScheduleDesk(lab.hub).show("hourly", number)
        with pytest.raises(InvalidError, match="1 to 100"):
            await ScheduleDesk(lab.hub).upcoming(number)


async def test_there_are_so_many_schedules_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedule_desk, "SCHEDULES", 2)
    async with Lab().running() as lab:
        for name in ("a", "b"):
            await add(lab, name)
        with pytest.raises(TooLargeError, match="remove one first"):
            await add(lab, "c")
        assert (await add(lab, "a")).replayed
        await ScheduleDesk(lab.hub).remove(ANN, "a", "")
        assert (await add(lab, "c")).state == "active"
        with pytest.raises(TooLargeError):
            await add(lab, "a")
