"""Claims that wait: woken by exactly what could change their answer, and as few of them as can use it."""

from __future__ import annotations

import asyncio

from tenure.core.ids import Address
from tenure.core.recipient import RecipientSpec
from tenure.hub.alarm import Alarm
from tenure.hub.waiting import WaitingRoom
from tenure.ledger.port import Committed
from tenure.wire.codec import instant
from tests.eventually import eventually_async
from tests.hub.lab import ANN, Desk, HandClock, Lab

BOUND_S = 10


async def waiting(lab: Lab, *desks: Desk, wait_s: float = 20.0) -> list[asyncio.Task[list]]:
    """Let each of the nodes wait for work, in this order."""
    claims = []
    for desk in desks:
        before = len(lab.hub.room)
        claims.append(desk.claiming(wait_s=wait_s))
        await eventually_async(lambda before=before: len(lab.hub.room) == before + 1)
        await settled(lab)
    return claims


async def settled(lab: Lab) -> None:
    """Let everything that is under way come to rest."""
    for _ in range(50):
        await asyncio.sleep(0)


async def of(claim: asyncio.Task[list]) -> list[str]:
    return [grant.task_id for grant in await asyncio.wait_for(claim, BOUND_S)]


async def test_a_submit_wakes_a_waiting_node() -> None:
    async with Lab().running() as lab:
        (claim,) = await waiting(lab, await lab.node())
        task_id = await lab.submit()
        assert await of(claim) == [task_id]


async def test_a_claim_without_work_ends_empty_when_its_time_is_over() -> None:
    async with Lab().running() as lab:
        desk = await lab.node()
        assert await asyncio.wait_for(desk.claim(wait_s=0.01), BOUND_S) == []
        assert len(lab.hub.room) == 0


async def test_a_task_for_others_wakes_nobody() -> None:
    async with Lab().running() as lab:
        (claim,) = await waiting(lab, await lab.node())
        commits = lab.hub.record.head().commit_no
        await lab.submit(to="gemini")
        await settled(lab)
        assert not claim.done()
        assert lab.hub.record.head().commit_no == commits + 1
        claim.cancel()


async def test_one_task_wakes_one_of_many_in_order_of_arrival() -> None:
    async with Lab().running() as lab:
        desks = [await lab.node(f"n{number}") for number in range(20)]
        claims = await waiting(lab, *desks)
        looks = count_looks(lab)
        task_id = await lab.submit()
        assert await of(claims[0]) == [task_id]
        await settled(lab)
        assert looks == ["n0"]
        assert len(lab.hub.room) == 19
        await end(claims)


async def test_as_many_are_woken_as_there_are_tasks() -> None:
    async with Lab().running() as lab:
        desks = [await lab.node(f"n{number}") for number in range(6)]
        claims = await waiting(lab, *desks)
        tasks = {await lab.submit() for _ in range(3)}
        got = [(await of(claim))[0] for claim in claims[:3]]
        assert set(got) == tasks
        await settled(lab)
        assert [claim.done() for claim in claims[3:]] == [False] * 3
        await end(claims)


async def test_whoever_was_woken_and_goes_away_passes_on() -> None:
    async with Lab().running() as lab:
        first, second = await lab.node("n1"), await lab.node("n2")
        claims = await waiting(lab, first, second)
        gone = asyncio.ensure_future(lab.submit())
        while not any(visit.woken.is_set() for visit in lab.hub.room._visits):
            await asyncio.sleep(0)
        claims[0].cancel()
        task_id = await gone
        assert await of(claims[1]) == [task_id]


async def test_a_node_that_closes_its_connection_leaves_the_room() -> None:
    async with Lab().running() as lab:
        desk = await lab.node()
        left = asyncio.get_running_loop().create_future()
        claim = asyncio.ensure_future(lab.legs.claim(await desk.who(), desk.asks(wait_s=20), lambda: left))
        await eventually_async(lambda: len(lab.hub.room) == 1)
        left.set_result(None)
        assert (await asyncio.wait_for(claim, BOUND_S)).grants == ()
        assert len(lab.hub.room) == 0
        task_id = await lab.submit()
        assert [one.task_id for one in await desk.claim()] == [task_id]


async def test_what_one_node_cannot_take_wakes_the_next() -> None:
    """Two Tasks become ready in one commit for a queue that wakes one node, which has room for one."""
    async with Lab().running() as lab:
        desks = [await lab.node(f"n{number}") for number in range(3)]
        held = await lab.submit()
        tasks = [await lab.submit(after=(held,)) for _ in range(2)]
        holder = await lab.node("holder", RecipientSpec("claude", "command"))
        grant = await holder.take()
        claims = await waiting(lab, *desks)
        await holder.report(grant)
        got = [*await of(claims[0]), *await of(claims[1])]
        assert sorted(got) == sorted(tasks)
        await end(claims)


async def test_a_freed_slot_wakes_the_node_that_waits_with_it() -> None:
    async with Lab().running() as lab:
        desk = await lab.node()
        first, second = await lab.submit(), await lab.submit()
        grant = await desk.take()
        assert grant.task_id == first
        (claim,) = await waiting(lab, desk)
        await desk.report(grant)
        assert await of(claim) == [second]


async def test_a_lifted_block_wakes_the_node_that_waits_with_it() -> None:
    async with Lab().running() as lab:
        desk = await lab.node()
        blocked, later = await lab.submit(), await lab.submit()
        grant = await desk.take()
        await desk.report(grant, outcome=_unknown())
        (claim,) = await waiting(lab, desk)
        assert await lab.why(later) == "recipient_blocked"
        attempt = await lab.attempt(blocked)
        await lab.api.reconcile(ANN, attempt.attempt_id, _retired(attempt.item_version))
        assert await of(claim) == [later]


def _unknown():
    from tenure.core.attempt import Outcome, Verdict

    return Outcome(Verdict.UNKNOWN, tree_gone=True)


def _retired(version: int | None):
    from tenure.wire.api import ReconcileBody

    return ReconcileBody(answer="retire", because="seen", item_version=version or 0)


async def test_a_task_that_comes_of_age_wakes_a_waiting_node() -> None:
    async with Lab().running() as lab:
        desks = [await lab.node(f"n{number}") for number in range(3)]
        before = await lab.submit(not_before_at=instant(lab.clock.wall_ms() + 60_000))
        claims = await waiting(lab, *desks)
        later = await lab.submit(not_before_at=instant(lab.clock.wall_ms() + 120_000))
        await settled(lab)
        assert not any(claim.done() for claim in claims)
        assert await lab.why(before) == "not_before"
        lab.pass_s(60)
        assert await of(claims[0]) == [before]
        await desks[0].ack((await claims[0])[0])
        lab.pass_s(60)
        done, _ = await asyncio.wait(claims[1:], timeout=BOUND_S, return_when=asyncio.FIRST_COMPLETED)
        assert [await of(one) for one in done] == [[later]]
        await end(claims)


async def test_a_new_claim_does_not_forget_an_instant_that_is_known() -> None:
    """The Task is submitted while the claim reads what is ahead of it."""
    async with Lab().running() as lab:
        desk = await lab.node()
        claims = await waiting(lab, desk)
        for seconds in (30, 20, 40):
            await lab.submit(not_before_at=instant(lab.clock.wall_ms() + seconds * 1000))
        assert lab.hub.room.next_of_age_ms() == lab.clock.wall_ms() + 20_000
        await end(claims)


async def test_the_end_of_the_hub_ends_every_waiting_claim() -> None:
    lab = Lab()
    async with lab.running():
        claims = await waiting(lab, await lab.node("n1"), await lab.node("n2"))
        lab.hub.let_go()
        assert [await of(one) for one in claims] == [[], []]
        assert await (await lab.node("n3")).claim(wait_s=20) == []


async def test_a_waiting_node_counts_as_connected_and_a_silent_one_does_not() -> None:
    async with Lab().running() as lab:
        desk = await lab.node()
        claims = await waiting(lab, desk)
        lab.clock.pass_s(3600)
        (recipient,) = await lab.api.queries.recipients(None, 10)
        assert (recipient.available, recipient.why) == (True, "it takes work")
        await end(claims)
        lab.clock.pass_s(46)
        (recipient,) = await lab.api.queries.recipients(None, 10)
        assert (recipient.available, recipient.why) == (
            False,
            "claude@laptop is not connected; start its node",
        )
        task_id = await lab.submit()
        assert await lab.why(task_id) == "node_offline"


async def test_ten_thousand_visits_leave_nothing_behind() -> None:
    room = WaitingRoom(Alarm(HandClock()))
    for number in range(10_000):
        with room.visit([Address(f"a{number}@n"), Address("b@n")]) as one:
            room.listen(one, [f"q{number}", "shared"])
    assert (len(room), room._by_queue, room._by_recipient) == (0, {}, {})


async def test_a_commit_wakes_visits_of_its_queues_only() -> None:
    room = WaitingRoom(Alarm(HandClock()))
    with room.visit([Address("a@n")]) as one, room.visit([Address("b@n")]) as other:
        room.listen(one, ["q1"])
        room.listen(other, ["q2"])
        room.heard(Committed(1, "", 1000, (), (), {"q2": 1000}, ()))
        assert not one.woken.is_set()
        room.heard(Committed(1, "", 1000, (), (), {}, (Address("a@n"),)))
        assert one.woken.is_set()


def count_looks(lab: Lab) -> list[str]:
    """The nodes whose claims are decided from now on, in order."""
    looks: list[str] = []
    decide = lab.hub.execute

    async def counted(command):
        if type(command).__name__ == "Claim":
            looks.append(next(iter(command.free)).partition("@")[2])
        return await decide(command)

    lab.hub.execute = counted
    return looks


async def end(claims: list[asyncio.Task[list]]) -> None:
    for claim in claims:
        claim.cancel()
    await asyncio.gather(*claims, return_exceptions=True)
