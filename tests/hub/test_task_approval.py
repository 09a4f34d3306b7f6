"""A Task that needs a person before its first Attempt is given to anybody."""

from __future__ import annotations

import pytest

from tenure import errors as er
from tenure.wire.effects import DecisionRequest
from tests.eventually import eventually_async
from tests.hub.lab import ANN, Lab


async def test_why_names_the_approval_before_anything_was_granted() -> None:
    lab = Lab()
    async with lab.running():
        desk = await lab.node()
        task_id = await lab.submit(approval=True)
        assert await lab.why(task_id) == "approval"
        assert await desk.claim() == []


async def test_an_approval_wakes_a_claim_that_waits() -> None:
    lab = Lab()
    async with lab.running():
        desk = await lab.node()
        task_id = await lab.submit(approval=True)
        waiting = desk.claiming(wait_s=20)
        await eventually_async(lambda: len(lab.hub.room) == 1)
        decision = DecisionRequest(because="go on", item_version=1)
        await lab.effects.decide(ANN, task_id, decision, approve=True)
        (grant,) = await waiting
        assert grant.task_id == task_id


async def test_a_rejected_task_ends_rejected_and_a_second_decision_is_told_so() -> None:
    lab = Lab()
    async with lab.running():
        task_id = await lab.submit(approval=True)
        decision = DecisionRequest(because="not now", item_version=1)
        await lab.effects.decide(ANN, task_id, decision, approve=False)
        assert await lab.state(task_id) == "rejected"
        with pytest.raises(er.NotOfferedError, match="not now"):
            await lab.effects.decide(
                ANN, task_id, DecisionRequest(because="yes", item_version=2), approve=True
            )
