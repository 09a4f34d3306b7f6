"""Who is woken when what held work back is over: circuits, pauses, accounts, keys, challenges, configurations, deadlines."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from tenure.core import desk_commands as dc
from tenure.core.attempt import Outcome, Usage, Verdict
from tenure.core.budget import Budget, Share
from tenure.core.circuit import Circuit
from tenure.core.commands import Refusal, Retry
from tenure.core.failure import FailureClass
from tenure.core.ids import TaskId
from tenure.core.limits import PASSED_OVER
from tenure.core.recipient import RecipientSpec
from tenure.core.review import About, Ruling
from tenure.core.task import Task
from tenure.errors import InvalidError
from tenure.wire.codec import instant
from tests.eventually import eventually_so
from tests.hub.lab import Desk, Lab

RESET_S = 300


def failed(failure_class: FailureClass, **harness: Any) -> Outcome:
    evidence = json.dumps({"harness": {"claimed_class": str(failure_class), **harness}})
    return Outcome(Verdict.FAILED, failure_class=failure_class, evidence=evidence, tree_gone=True)


async def fail(node: Desk, failure_class: FailureClass, **harness: Any) -> None:
    grant = await node.take()
    assert await node.report(grant, outcome=failed(failure_class, **harness)) == "recorded"


async def somebody_waits(lab: Lab) -> bool:
    return len(lab.hub.room) == 1


async def task(lab: Lab, task_id: str) -> Task:
    found = await lab.hub.ledger.find(Task, task_id)
    assert found is not None
    return found


async def test_a_claim_that_waits_is_woken_when_the_circuit_lets_something_through() -> None:
    async with Lab().running() as lab:
        node = await lab.node("laptop", RecipientSpec("claude", "command", provider="acme"))
        first = await lab.submit()
        await fail(node, FailureClass.CAPACITY, retry_after_s=RESET_S)
        waits = await lab.submit()
        claim = node.claiming()
        await eventually_so(lambda: somebody_waits(lab))
        assert await lab.why(waits) == "circuit_open"
        lab.pass_s(RESET_S - 1)
        await asyncio.sleep(0)
        assert not claim.done(), "it was let through before its time"
        lab.pass_s(2)
        (grant,) = await claim
        assert grant.task_id in {first, waits}


async def test_the_circuit_survives_a_restart_and_lets_one_through() -> None:
    lab = Lab()
    async with lab.running():
        spec = RecipientSpec("claude", "command", provider="acme", capacity=5)
        node = await lab.node("laptop", spec)
        tasks = [await lab.submit() for _ in range(4)]
        await fail(node, FailureClass.CAPACITY, retry_after_s=RESET_S)
    async with lab.running():
        await node.start()
        assert await node.claim(5) == []
        assert await lab.why(tasks[-1]) == "circuit_open"
        lab.pass_s(RESET_S + 1)
        (probe,) = await node.claim(5)
        assert await node.claim(5) == [], "one is out already"
        await node.ack(probe)
        await node.report(probe)
        circuit = await lab.hub.ledger.find(Circuit, "acme")
        assert circuit is not None
        assert circuit.is_closed
        assert len(await node.claim(5)) == 3


async def test_whoever_waits_is_woken_when_a_pause_is_over() -> None:
    async with Lab().running() as lab:
        node = await lab.node()
        for subject in ("hub", "project:default", "claude@laptop"):
            await lab.hub.execute(dc.Pause(subject, "ann", "the tower is painted"))
            task_id = await lab.submit()
            assert await lab.why(task_id) == "paused"
            claim = node.claiming()
            await eventually_so(lambda: somebody_waits(lab))
            await lab.hub.execute(dc.Unpause(subject, "ann", "it is dry"))
            (grant,) = await claim
            assert grant.task_id == task_id
            await node.ack(grant)
            await node.report(grant)


async def test_a_task_held_for_its_configuration_goes_on_when_the_node_starts_with_another() -> None:
    async with Lab().running() as lab:
        node = await lab.node("laptop", RecipientSpec("claude", "command", config_digest="before"))
        task_id = await lab.submit()
        await fail(node, FailureClass.CONFIGURATION)
        assert await lab.why(task_id) == "held_configuration"
        await node.start()
        assert (await task(lab, task_id)).attempts == 1, "the same configuration changes nothing"
        node.recipients = (RecipientSpec("claude", "command", config_digest="after"),)
        await node.start()

        async def goes_on() -> bool:
            return (await task(lab, task_id)).attempts == 2

        await eventually_so(goes_on)
        assert (await node.take()).task_id == task_id


async def test_a_held_configuration_that_changed_while_the_hub_was_away_is_seen_at_its_start() -> None:
    lab = Lab()
    async with lab.running():
        node = await lab.node("laptop", RecipientSpec("claude", "command", config_digest="before"))
        task_id = await lab.submit()
        await fail(node, FailureClass.CONFIGURATION)
        await lab.hub.ledger.close()
    async with lab.running():
        node.recipients = (RecipientSpec("claude", "command", config_digest="after"),)
        await node.start()

        async def goes_on() -> bool:
            return (await task(lab, task_id)).attempts == 2

        await eventually_so(goes_on)


async def test_tasks_of_a_project_without_room_wait_and_go_on_one_after_the_other() -> None:
    async with Lab().running() as lab:
        node = await lab.node("laptop", RecipientSpec("claude", "command", capacity=5))
        limits, share = Share(tokens=100), Share(tokens=60)
        await lab.hub.execute(dc.SetAccount("project:beacon", limits, Budget(), share, 1, "ann", "a trial"))
        tasks = [await lab.submit(project="beacon") for _ in range(3)]
        (grant,) = await node.claim(5)
        assert await lab.why(tasks[1]) == "held_budget"
        await node.ack(grant)
        await node.report(grant)

        async def comes() -> bool:
            return len(await node.claim(5)) == 1

        await eventually_so(comes)


async def test_room_that_a_person_makes_lets_all_that_wait_for_it_go() -> None:
    async with Lab().running() as lab:
        node = await lab.node("laptop", RecipientSpec("claude", "command", capacity=5))
        share = Share(tokens=60)

        async def limit(tokens: int) -> None:
            account = dc.SetAccount(
                "project:beacon", Share(tokens=tokens), Budget(), share, 1, "ann", "a trial"
            )
            await lab.hub.execute(account)

        await limit(50)
        await lab.submit(project="beacon", budget=Budget(tokens=50))
        grant = await node.take()
        used_up = Outcome(Verdict.COMPLETED, usage=Usage(input_tokens=50), tree_gone=True)
        await node.report(grant, outcome=used_up)
        tasks = [await lab.submit(project="beacon") for _ in range(4)]
        assert await node.claim(5) == []
        (item,) = await lab.api.queries.attention(open_only=True, limit=10)
        assert (item.kind, item.subject) == ("exhausted", "project:beacon"), "one question for them all"
        await limit(1_000)
        found: set[str] = set()

        async def come() -> bool:
            found.update(one.task_id for one in await node.claim(5))
            return found == set(tasks)

        await eventually_so(come)
        assert await lab.api.queries.attention(open_only=True, limit=10) == ()


async def test_dependents_of_a_challenged_task_wait_for_the_answer() -> None:
    for ruling, code in ((Ruling.DISMISSED, "ready"), (Ruling.UPHELD, "dependency_failed")):
        async with Lab().running() as lab:
            node = await lab.node()
            build = await lab.submit()
            grant = await node.take()
            waits = await lab.submit(after=(build,))
            await node.report(grant)
            await eventually_so(lambda lab=lab, waits=waits: is_ready(lab, waits))
            challenge = dc.Challenge(TaskId(build), 1, About.EVIDENCE, "bob", "the log is of another run")
            await lab.hub.execute(challenge)
            assert await node.claim() == []
            assert await lab.why(waits) == "held_review"
            (item,) = await lab.api.queries.attention(open_only=True, limit=10)
            answer = dc.AnswerChallenge(TaskId(build), item.version, ruling, "ann", "I looked")
            await lab.hub.execute(answer)

            async def told(lab: Lab = lab, waits: str = waits, code: str = code) -> bool:
                return await lab.why(waits) == code

            await eventually_so(told)
            assert len(await node.claim()) == (ruling is Ruling.DISMISSED)


async def test_who_is_in_a_queue_hears_that_what_let_it_go_was_disproved() -> None:
    async with Lab().running() as lab:
        node = await lab.node()
        build = await lab.submit()
        grant = await node.take()
        waits = await lab.submit(after=(build,), to="elsewhere")
        await node.report(grant)

        async def is_let_go() -> bool:
            return await lab.why(waits) == "no_recipient"

        await eventually_so(is_let_go)
        await lab.hub.execute(dc.Challenge(TaskId(build), 1, About.CLAIM, "bob", "nothing was built"))
        (item,) = await lab.api.queries.attention(open_only=True, limit=10)
        await lab.hub.execute(dc.AnswerChallenge(TaskId(build), item.version, Ruling.UPHELD, "ann", "right"))

        async def is_asked() -> bool:
            items = await lab.api.queries.attention(open_only=True, limit=10)
            return [(one.kind, one.subject) for one in items] == [("dependency_failed", waits)]

        await eventually_so(is_asked)


async def is_ready(lab: Lab, task_id: str) -> bool:
    return await lab.why(task_id) in {"ready", "node_offline"}


async def test_a_deadline_ends_what_runs_and_asks_once() -> None:
    async with Lab().running() as lab:
        node = await lab.node()
        deadline = instant(lab.clock.wall_ms() + 20_000)
        task_id = await lab.submit(deadline_at=deadline)
        never = await lab.submit(deadline_at=deadline, to="nobody")
        grant = await node.take()
        assert grant.timeout_s == 20
        await node.renew(grant)
        lab.pass_s(21)

        async def is_asked_to_stop() -> bool:
            return (await node.renew(grant)).cancel

        await eventually_so(is_asked_to_stop)
        await node.report(grant, Verdict.CANCELED)

        async def both_ask() -> bool:
            items = await lab.api.queries.attention(open_only=True, limit=10)
            return sorted((one.kind, one.subject) for one in items) == sorted(
                [("exhausted", task_id), ("exhausted", never)]
            )

        await eventually_so(both_ask)
        assert await lab.why(task_id) == await lab.why(never) == "exhausted"


async def test_the_deadline_binds_an_attempt_that_a_person_wants_after_a_restart() -> None:
    lab = Lab()
    async with lab.running():
        node = await lab.node()
        deadline = instant(lab.clock.wall_ms() + 60_000)
        task_id = await lab.submit(deadline_at=deadline, budget=Budget(attempts=1))
        await fail(node, FailureClass.EXECUTOR_LOST)
        assert await lab.why(task_id) == "exhausted"
        assert (await task(lab, task_id)).due_at_ms is None
    async with lab.running():
        await node.start()
        again = Retry(TaskId(task_id), "ann", "the disk is larger now")
        assert not isinstance(await lab.hub.execute(again), Refusal)
        assert (await task(lab, task_id)).due_at_ms == lab.clock.wall_ms() + 60_000

        async def the_loop_knows() -> bool:
            return lab.hub._deadline.alarm._until_ms == lab.clock.wall_ms() + 60_000

        await eventually_so(the_loop_knows, 2)
        lab.pass_s(61)

        async def is_stopped() -> bool:
            return await lab.why(task_id) == "exhausted"

        await eventually_so(is_stopped)


async def test_a_claim_looks_behind_all_that_it_had_to_hold() -> None:
    async with Lab().running() as lab:
        node = await lab.node("laptop", RecipientSpec("claude", "command", capacity=5))
        first = await lab.submit(concurrency_key="staging")
        assert [one.task_id for one in await node.claim(1)] == [first]
        for _ in range(PASSED_OVER + 50):
            await lab.submit(concurrency_key="staging")
        free = await lab.submit()
        assert [one.task_id for one in await node.claim(1)] == [free]


async def test_a_fence_that_no_record_can_hold_is_refused_and_no_fault() -> None:
    async with Lab().running() as lab:
        node = await lab.node()
        await lab.submit()
        grant = await node.take()
        for speak in (node.renew, node.report, node.ack):
            with pytest.raises(InvalidError, match="fence is out of range"):
                await speak(grant, fence=2**63)
