"""Who of those that are held is let go, in which order, and that nobody is forgotten."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tenure.core import commands as cm
from tenure.core import desk_commands as dc
from tenure.core.attempt import Outcome, Usage, Verdict
from tenure.core.budget import Budget, Share
from tenure.core.ids import TaskId
from tenure.core.recipient import RecipientSpec
from tenure.core.task import Task
from tenure.hub.loops import holds
from tenure.wire import legs as ws
from tests.eventually import eventually_so
from tests.hub.lab import Desk, Lab

WIDE = RecipientSpec("claude", "command", capacity=9)


def limit(tokens: int | None, share: int = 60) -> dc.SetAccount:
    return dc.SetAccount("hub", Share(tokens=tokens), Budget(), Share(tokens=share), 1, "ann", "a trial")


async def task(lab: Lab, task_id: str) -> Task:
    found = await lab.hub.ledger.find(Task, task_id)
    assert found is not None
    return found


async def held(lab: Lab, *task_ids: str) -> list[str]:
    return [one for one in task_ids if (await task(lab, one)).hold is not None]


async def with_key_taken(lab: Lab, **more: Any) -> tuple[Desk, ws.Grant]:
    """A node, and its grant that has the key `repo`."""
    node = await lab.node("laptop", WIDE)
    await lab.submit(concurrency_key="repo", **more)
    return node, await node.take()


async def all_are_held(lab: Lab, node: Desk, task_ids: list[str]) -> None:
    assert await node.claim(9) == []
    assert await held(lab, *task_ids) == task_ids


async def with_all_used_up(lab: Lab, node: Desk) -> None:
    """Of the hub's account nothing is left."""
    await lab.hub.execute(limit(60))
    await lab.submit()
    (grant,) = await node.claim(9)
    await node.ack(grant)
    await node.report(grant, outcome=used(60))


def used(tokens: int) -> Outcome:
    return Outcome(Verdict.COMPLETED, usage=Usage(input_tokens=tokens), tree_gone=True)


async def takes(node: Desk, task_id: str) -> None:
    """The node is given this Task and no other one, at once or soon."""

    async def comes() -> bool:
        found = await node.claim(9)
        assert [one.task_id for one in found] in ([], [task_id])
        return bool(found)

    await eventually_so(comes)


async def goes(lab: Lab, task_id: str) -> None:
    async def is_ready() -> bool:
        return await lab.why(task_id) == "ready"

    await eventually_so(is_ready)


async def test_all_that_a_change_lets_go_are_let_go_however_many_pages_they_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(holds, "BATCH", 2)
    async with Lab().running() as lab:
        node = await lab.node("laptop", WIDE)
        await with_all_used_up(lab, node)
        tasks = [await lab.submit() for _ in range(5)]
        await all_are_held(lab, node, tasks)
        await lab.hub.execute(limit(None))

        async def none_is_held() -> bool:
            return await held(lab, *tasks) == []

        await eventually_so(none_is_held)


async def test_everything_that_is_held_is_found_after_a_restart_however_many_pages_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(holds, "BATCH", 2)
    lab = Lab()
    async with lab.running():
        node = await lab.node("laptop", WIDE)
        keys = [f"key{number}" for number in range(5)]
        holders = [await lab.submit(concurrency_key=key) for key in keys]
        grants = await node.claim(9)
        assert {one.task_id for one in grants} == set(holders)
        for grant in grants:
            await node.ack(grant)
        waiting = [await lab.submit(concurrency_key=key) for key in keys]
        await all_are_held(lab, node, waiting)
        for loop in lab.hub._loops:
            loop.cancel()  # the hub dies right after the keys were released
        for grant in grants:
            await node.report(grant)
        assert await held(lab, *waiting) == waiting
    async with lab.running():

        async def none_is_held() -> bool:
            return await held(lab, *waiting) == []

        await eventually_so(none_is_held)


async def test_a_change_that_is_heard_while_the_loop_reads_is_not_lost() -> None:
    async with Lab().running() as lab:
        node, grant = await with_key_taken(lab)
        ledger: Any = lab.hub.ledger
        await with_all_used_up(lab, node)
        tasks = [await lab.submit(), await lab.submit(concurrency_key="repo")]
        await all_are_held(lab, node, tasks)
        reads = {name: getattr(ledger, name) for name in ("held_subjects", "held_on")}
        changes = [dc.SetAccount("hub", Share(), Budget(), Share(), 1, "ann", "no limit")]

        def slow(name: str) -> Any:
            async def read(*args: Any, **more: Any) -> Any:
                found = await reads[name](*args, **more)
                if changes:
                    await lab.hub.execute(changes.pop())
                return found

            return read

        for name in reads:
            setattr(ledger, name, slow(name))
        await node.report(grant)
        await goes(lab, tasks[0])
        assert not changes


async def test_a_hold_that_is_heard_of_while_the_loop_reads_is_not_forgotten() -> None:
    async with Lab().running() as lab:
        node, grant = await with_key_taken(lab)
        first, second = [await lab.submit(concurrency_key="repo") for _ in range(2)]
        assert await node.claim(1) == []
        await lab.hub.execute(cm.Cancel(TaskId(first), "ann", "not needed"))
        await lab.hub.execute(cm.Cancel(TaskId(second), "ann", "not needed"))
        ledger: Any = lab.hub.ledger
        held_on, late = ledger.held_on, list[str]()

        async def slow(*args: Any) -> Any:
            found = await held_on(*args)
            if not late:  # nobody is held as the loop reads; right after that somebody is
                holder = await lab.submit(concurrency_key="repo")
                (taken,) = await node.claim(1)
                late.append(await lab.submit(concurrency_key="repo"))
                assert await node.claim(1) == []
                await node.ack(taken)
                assert taken.task_id == holder
                await node.report(taken)
            return found

        ledger.held_on = slow
        await node.report(grant)

        async def goes_on() -> bool:
            return bool(late) and await held(lab, *late) == []

        await eventually_so(goes_on)


async def test_tasks_of_a_paused_project_keep_no_other_project_from_a_free_key() -> None:
    async with Lab().running() as lab:
        node, grant = await with_key_taken(lab, project="a")
        tasks = [await lab.submit(concurrency_key="repo", project="a") for _ in range(3)]
        other = await lab.submit(concurrency_key="repo", project="b")
        await all_are_held(lab, node, [*tasks, other])
        await lab.hub.execute(dc.Pause("project:a", "ann", "the tower is painted"))
        await node.report(grant)
        await takes(node, other)


@pytest.mark.parametrize("how", ["stop", "cancel"])
async def test_a_free_key_goes_to_the_next_when_those_that_were_let_go_for_it_are_stopped(how: str) -> None:
    async with Lab().running() as lab:
        node, grant = await with_key_taken(lab)
        tasks = [await lab.submit(concurrency_key="repo") for _ in range(5)]
        await all_are_held(lab, node, tasks)
        await lab.hub.execute(dc.Pause("claude@laptop", "ann", "the tower is painted"))
        await node.report(grant)

        async def two_go() -> bool:
            return await held(lab, *tasks) == tasks[2:]

        await eventually_so(two_go)
        for one in tasks[:4]:
            stop = dc.StopAttempt(TaskId(one), 1, "ann", "not now")
            await lab.hub.execute(stop if how == "stop" else cm.Cancel(TaskId(one), "ann", "not now"))
        await lab.hub.execute(dc.Unpause("claude@laptop", "ann", "it is dry"))
        await takes(node, tasks[4])


async def test_those_that_were_stopped_while_they_were_held_take_nobody_s_place() -> None:
    async with Lab().running() as lab:
        node, grant = await with_key_taken(lab)
        tasks = [await lab.submit(concurrency_key="repo") for _ in range(3)]
        await all_are_held(lab, node, tasks)
        for one in tasks[:2]:
            await lab.hub.execute(dc.StopAttempt(TaskId(one), 1, "ann", "not now"))
        await node.report(grant)
        await takes(node, tasks[2])


async def test_a_task_whose_deadline_comes_passes_the_free_key_on() -> None:
    from tenure.wire.codec import instant

    async with Lab().running() as lab:
        node, grant = await with_key_taken(lab)
        soon = instant(lab.clock.wall_ms() + 5_000)
        tasks = [await lab.submit(concurrency_key="repo", deadline_at=soon) for _ in range(2)]
        last = await lab.submit(concurrency_key="repo")
        await all_are_held(lab, node, [*tasks, last])
        await lab.hub.execute(dc.Pause("claude@laptop", "ann", "the tower is painted"))
        await node.report(grant)

        async def only_the_last_is_held() -> bool:
            return await held(lab, *tasks, last) == [last]

        await eventually_so(only_the_last_is_held)
        lab.pass_s(6)
        await lab.hub.execute(dc.Unpause("claude@laptop", "ann", "it is dry"))
        await takes(node, last)


async def test_a_smaller_task_goes_where_those_before_it_do_not_fit() -> None:
    async with Lab().running() as lab:
        node = await lab.node("laptop", WIDE)
        big = [await lab.submit(budget=Budget(tokens=tokens)) for tokens in (90, 60, 60, 60, 60)]
        small = await lab.submit(budget=Budget(tokens=20))
        await lab.hub.execute(limit(100))
        (grant,) = await node.claim(9)
        await node.ack(grant)
        await node.report(grant, outcome=used(55))
        await takes(node, small)
        assert await held(lab, *big) == big[1:]


async def test_room_that_is_left_after_the_first_took_theirs_goes_to_those_behind() -> None:
    async with Lab().running() as lab:
        node = await lab.node("laptop", WIDE)
        await lab.hub.execute(limit(100))
        await lab.submit(budget=Budget(tokens=90))
        grant = await node.take()
        tasks = [await lab.submit(budget=Budget(tokens=20)) for _ in range(5)]
        await all_are_held(lab, node, tasks)
        await node.report(grant, outcome=used(10))
        found: list[str] = []

        async def four_run() -> bool:
            found.extend(one.task_id for one in await node.claim(9))
            return found == tasks[:4]

        await eventually_so(four_run)


async def test_of_a_line_that_nobody_takes_no_more_are_let_go_each_time_the_key_is_free() -> None:
    async with Lab().running() as lab:
        node, grant = await with_key_taken(lab)
        other = await lab.node("other", RecipientSpec("codex", "command", capacity=9))
        waiting = [await lab.submit(concurrency_key="repo", to="codex") for _ in range(6)]
        await all_are_held(lab, other, waiting)
        for _ in range(3):
            following = await lab.submit(concurrency_key="repo")
            await all_are_held(lab, node, [following])
            await node.report(grant)
            await takes_and_acks(node, following, found := [])
            (grant,) = found
        assert await held(lab, *waiting) == waiting[holds.FEW :]


async def takes_and_acks(node: Desk, task_id: str, found: list[ws.Grant]) -> None:
    async def comes() -> bool:
        found.extend(await node.claim(1))
        return bool(found)

    await eventually_so(comes)
    assert [one.task_id for one in found] == [task_id]
    await node.ack(found[0])


async def test_nobody_who_is_over_is_named_as_the_holder_of_a_free_key() -> None:
    async with Lab().running() as lab:
        node, grant = await with_key_taken(lab)
        tasks = [await lab.submit(concurrency_key="repo") for _ in range(3)]
        await all_are_held(lab, node, tasks)
        assert grant.task_id in (await lab.api.queries.why(tasks[2])).sentence
        await node.report(grant)
        await goes(lab, tasks[0])
        said = await lab.api.queries.why(tasks[2])
        assert (said.code, grant.task_id in said.sentence) == ("held_key", False)
        assert "free" in said.sentence
        found: list[ws.Grant] = []
        await takes_and_acks(node, tasks[0], found)
        assert tasks[0] in (await lab.api.queries.why(tasks[2])).sentence


async def test_a_loop_that_failed_looks_at_all_that_is_held_again(monkeypatch: pytest.MonkeyPatch) -> None:
    from tenure.errors import UnavailableError
    from tenure.hub.loops import endurance

    monkeypatch.setattr(endurance, "FIRST_PAUSE_S", 0.001)
    async with Lab().running() as lab:
        node, grant = await with_key_taken(lab)
        tasks = [await lab.submit(concurrency_key="repo") for _ in range(3)]
        await all_are_held(lab, node, tasks)
        ledger: Any = lab.hub.ledger
        patiently, failures = ledger.execute_patiently, list[str]()

        async def away(commands: Any) -> Any:
            if len(failures) < 3:
                failures.append("away")
                raise UnavailableError("the disk is gone for a moment")
            return await patiently(commands)

        ledger.execute_patiently = away
        await node.report(grant)
        await goes(lab, tasks[0])
        await asyncio.sleep(0)
        assert await held(lab, *tasks) == tasks[2:]
