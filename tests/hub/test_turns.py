"""Whose turn it is: dependencies of three kinds, priority with ageing, fair shares, concurrency keys."""

from __future__ import annotations

from tenure.core.attempt import Verdict
from tenure.core.recipient import RecipientSpec
from tenure.hub.account_desk import AccountDesk
from tenure.wire.accounts import AccountRequest
from tests.eventually import eventually_so
from tests.hub.lab import ANN, Desk, Lab

STEP_S = 600


async def wide(lab: Lab, capacity: int = 6) -> Desk:
    return await lab.node("laptop", RecipientSpec("claude", "command", capacity=capacity))


async def order(lab: Lab, node: Desk, units: int) -> list[str]:
    """The Tasks that a claim is granted, in the order in which they were."""
    grants = await node.claim(units)
    return [one.task_id for one in sorted(grants, key=lambda one: one.delivery_id)]


async def ends(lab: Lab, node: Desk, verdict: Verdict) -> None:
    await node.report(await node.take(), verdict)


async def test_a_step_of_priority_overtakes_what_came_up_to_ten_minutes_before() -> None:
    async with Lab().running() as lab:
        node = await wide(lab)
        old = await lab.submit()
        lab.pass_s(STEP_S - 1)
        urgent = await lab.submit(priority=1)
        late = await lab.submit(priority=-1)
        assert await order(lab, node, 3) == [urgent, old, late]


async def test_what_has_waited_longer_than_its_steps_are_worth_is_not_overtaken_any_more() -> None:
    async with Lab().running() as lab:
        node = await wide(lab)
        old = await lab.submit(priority=-1)
        lab.pass_s(2 * STEP_S + 1)
        urgent = await lab.submit(priority=1)
        assert await order(lab, node, 2) == [old, urgent]


async def test_a_project_with_a_long_queue_takes_nothing_from_one_with_a_short_one() -> None:
    async with Lab().running() as lab:
        node = await wide(lab)
        many = [await lab.submit(project="many") for _ in range(10)]
        lab.pass_s(1)
        few = [await lab.submit(project="few") for _ in range(2)]
        granted = await order(lab, node, 4)
        assert set(granted) == {*many[:2], *few}


async def test_a_project_gets_its_share_by_its_weight_and_what_runs_counts() -> None:
    async with Lab().running() as lab:
        node = await wide(lab)
        await AccountDesk(lab.hub).set(
            ANN, "project:heavy", AccountRequest(weight=2, because="it earns more")
        )
        heavy = {await lab.submit(project="heavy") for _ in range(9)}
        light = {await lab.submit(project="light") for _ in range(9)}
        for _ in range(2):
            granted = set(await order(lab, node, 3))
            assert (len(granted & heavy), len(granted & light)) == (2, 1)


async def test_of_the_tasks_with_one_concurrency_key_only_one_runs_at_a_time() -> None:
    async with Lab().running() as lab:
        node = await wide(lab)
        first = await lab.submit(concurrency_key="staging")
        second = await lab.submit(concurrency_key="staging")
        other = await lab.submit(concurrency_key="production")
        grants = await node.claim(6)
        assert {one.task_id for one in grants} == {first, other}
        assert "staging" in (await lab.api.queries.why(second)).sentence
        (mine,) = [one for one in grants if one.task_id == first]
        await node.ack(mine)
        await node.report(mine)

        async def comes() -> bool:
            return [one.task_id for one in await node.claim(1)] == [second]

        await eventually_so(comes)


async def test_a_task_runs_after_a_failure_only_if_there_was_one() -> None:
    for verdict, states in (
        (Verdict.COMPLETED, ("canceled", "working")),
        (Verdict.FAILED, ("working", "working")),
    ):
        async with Lab().running() as lab:
            node = await wide(lab)
            build = await lab.submit(policy="once")
            mourn = await lab.submit(after_failure=(build,))
            clean = await lab.submit(after_end=(build,))
            assert await lab.why(mourn) == "dependency"
            await ends(lab, node, verdict)

            async def told(names: tuple[str, ...] = (mourn, clean), lab: Lab = lab) -> bool:
                return all([await lab.why(one) != "dependency" for one in names])

            await eventually_so(told)
            await node.claim(6)
            assert (await lab.state(mourn), await lab.state(clean)) == states
