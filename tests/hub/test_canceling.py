"""Cancellation of a Task, of a Task with all that waits for it, and of one Attempt alone; and another try, changed."""

from __future__ import annotations

from typing import Any

import pytest

from tenure import errors as er
from tenure.core.attempt import Outcome, Verdict
from tenure.core.budget import Budget
from tenure.core.failure import FailureClass
from tenure.core.recipient import RecipientSpec
from tenure.wire.codec import instant
from tenure.wire.recovery import ChangesRequest, RetryRequest
from tests.eventually import eventually_so
from tests.hub.lab import ANN, SHA, Desk, Lab

OTHER = "b" * 40


async def states(lab: Lab, *tasks: str) -> list[str]:
    return [await lab.state(one) for one in tasks]


async def broken(lab: Lab, node: Desk, **spec: Any) -> str:
    """A Task whose Attempt has failed."""
    task_id = await lab.submit(**spec)
    outcome = Outcome(Verdict.FAILED, failure_class=FailureClass.CONTRADICTION, tree_gone=True)
    await node.report(await node.take(), outcome=outcome)
    return task_id


# -- a tree


async def test_a_task_is_canceled_with_all_that_waits_for_it_in_whichever_way() -> None:
    async with Lab().running() as lab:
        root = await lab.submit()
        after = await lab.submit(after=(root,))
        fails = await lab.submit(after_failure=(root,))
        ends = await lab.submit(after_end=(after,))
        apart = await lab.submit()
        reply = await lab.api.cancel(ANN, root, "called off", tree=True)
        assert [one.task_id for one in reply.tree] == [root, after, fails, ends]
        assert {one.step for one in reply.tree} == {"terminated"}
        assert await states(lab, root, after, fails, ends) == ["canceled"] * 4
        assert await lab.state(apart) == "submitted"
        body = await lab.api.queries.task(ends)
        assert body.cancel_because == f"canceled with {root}: called off"
        again = await lab.api.cancel(ANN, root, "called off", tree=True)
        assert (again.step, again.replayed) == ("terminated", True)


async def test_a_tree_is_canceled_although_its_root_has_ended() -> None:
    async with Lab().running() as lab:
        node = await lab.node()
        root = await lab.submit(policy="once")
        waits = await lab.submit(after=(root,))
        await node.report(await node.take(), Verdict.FAILED)
        await eventually_so(lambda: lab_waits_for_a_person(lab, waits))
        reply = await lab.api.cancel(ANN, root, "", tree=True)
        assert reply.step is None
        assert (reply.tree[0].error or {})["code"] == "terminal"
        assert await states(lab, root, waits) == ["failed", "canceled"]


async def lab_waits_for_a_person(lab: Lab, task_id: str) -> bool:
    return await lab.why(task_id) == "dependency_failed"


async def test_a_root_that_has_ended_and_has_no_tree_is_told_so() -> None:
    async with Lab().running() as lab:
        node = await lab.node()
        root = await lab.submit()
        await node.report(await node.take())
        with pytest.raises(er.TerminalError):
            await lab.api.cancel(ANN, root, "", tree=True)
        with pytest.raises(er.TerminalError):
            await lab.api.cancel(ANN, root, "")
        with pytest.raises(er.NotFoundError):
            await lab.api.cancel(ANN, "t_none", "", tree=True)


async def test_whoever_comes_to_wait_for_a_canceled_tree_while_it_stops_is_canceled_too() -> None:
    async with Lab().running() as lab:
        node = await lab.node()
        root = await lab.submit()
        grant = await node.take()
        assert (await lab.api.cancel(ANN, root, "off", tree=True)).step == "requested"
        late = await lab.submit(after=(root,))
        await node.report(grant, Verdict.CANCELED)
        await eventually_so(lambda: is_canceled(lab, late))


async def is_canceled(lab: Lab, task_id: str) -> bool:
    return await lab.state(task_id) == "canceled"


# -- one Attempt


async def test_an_attempt_alone_is_stopped_and_its_task_waits_for_what_comes_next() -> None:
    async with Lab().running() as lab:
        node = await lab.node()
        task_id = await lab.submit()
        grant = await node.take()
        first = await lab.api.cancel(ANN, task_id, "wrong branch", number=1)
        again = await lab.api.cancel(ANN, task_id, "wrong branch", number=1)
        assert (first.step, first.number, first.replayed, again.replayed) == ("requested", 1, False, True)
        stop = (await lab.api.queries.task(task_id)).stop
        assert stop is not None
        assert (stop.number, stop.cause, stop.by, stop.because) == (1, "person", "ann", "wrong branch")
        await node.report(grant, Verdict.CANCELED)
        body = await lab.api.queries.task(task_id)
        assert (body.state, body.cancel_step) == ("input_required", None)
        assert body.stop is not None
        assert body.stop.step == "terminated"
        (item,) = await lab.api.queries.attention(open_only=True, limit=10)
        assert item.kind == "stopped"
        assert (await lab.api.retry(ANN, task_id, RetryRequest(because="on the right branch"))).number == 2


@pytest.mark.parametrize("number", [0, -1, 2, 2**60])
async def test_an_attempt_that_is_not_there_is_not_stopped(number: int) -> None:
    async with Lab().running() as lab:
        task_id = await lab.submit()
        with pytest.raises((er.NotFoundError, er.InvalidError)):
            await lab.api.cancel(ANN, task_id, "", number=number)


async def test_a_tree_and_one_attempt_are_not_canceled_at_once() -> None:
    async with Lab().running() as lab:
        with pytest.raises(er.InvalidError, match="not both"):
            await lab.api.cancel(ANN, await lab.submit(), "", tree=True, number=1)


# -- another try


async def test_another_try_says_what_it_changes_with_digests_before_and_after() -> None:
    async with Lab().running() as lab:
        node = await lab.node("laptop", RecipientSpec("claude", "command"), RecipientSpec("codex", "command"))
        task_id = await broken(lab, node, repository="/srv/shop.git", base_sha=SHA)
        changes = ChangesRequest(base_sha=OTHER, to="codex", command=("make",), timeout_s=60)
        assert (await lab.api.retry(ANN, task_id, RetryRequest(changes=changes))).number == 2
        attempt = await lab.attempt(task_id, 2)
        why = attempt.hypothesis
        assert why is not None
        assert (attempt.relation, attempt.follows, attempt.to) == ("rebase", 1, "codex")
        found = {one.what: (one.before, one.after) for one in why.changes}
        assert set(found) == {"base", "environment", "implementation", "configuration"}
        assert found["base"] == (SHA, OTHER)
        assert why.before_digest != why.after_digest
        assert (why.override, why.transient, why.by) == (False, False, "ann")


@pytest.mark.parametrize(
    "changes",
    [
        ChangesRequest(),
        ChangesRequest(objective="do it"),
        ChangesRequest(base_sha=SHA),
        ChangesRequest(to="claude"),
    ],
)
async def test_a_try_that_changes_nothing_is_refused_but_for_a_persons_word(changes: ChangesRequest) -> None:
    async with Lab().running() as lab:
        node = await lab.node()
        task_id = await broken(lab, node, repository="/srv/shop.git", base_sha=SHA)
        with pytest.raises(er.SameSpecError, match="nothing would be different"):
            await lab.api.retry(ANN, task_id, RetryRequest(changes=changes))
        await lab.api.retry(ANN, task_id, RetryRequest(because="the disk is larger", changes=changes))
        why = (await lab.attempt(task_id, 2)).hypothesis
        assert why is not None
        assert (why.override, why.changes) == (True, ())


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        (ChangesRequest(objective="a", add="b"), "not both"),
        (ChangesRequest(base_sha="main"), "base_sha"),
        (ChangesRequest(to="not a name"), "no recipient"),
        (ChangesRequest(timeout_s=0), "timeout_s"),
        (ChangesRequest(timeout_s=2**60), "timeout_s"),
        (ChangesRequest(command=()), "command"),
        (ChangesRequest(objective=" "), "empty"),
        (ChangesRequest(model="a|b"), "harness/model"),
    ],
)
@pytest.mark.parametrize("policy", ["default", "once"])
async def test_a_change_that_breaks_a_bound_is_refused_before_and_after_the_end(
    changes: ChangesRequest, match: str, policy: str
) -> None:
    async with Lab().running() as lab:
        node = await lab.node()
        task_id = await broken(lab, node, repository="/srv/shop.git", base_sha=SHA, policy=policy)
        head = lab.hub.record.head()
        with pytest.raises(er.InvalidError, match=match):
            await lab.api.retry(ANN, task_id, RetryRequest(because="x", changes=changes))
        assert lab.hub.record.head() == head


async def test_a_task_that_has_ended_is_continued_with_the_changes() -> None:
    async with Lab().running() as lab:
        node = await lab.node()
        until = instant(lab.clock.wall_ms() + 60_000)
        task_id = await broken(
            lab, node, policy="once", deadline_at=until, project="shop", budget=Budget(attempts=2)
        )
        lab.pass_s(120)
        reply = await lab.api.retry(ANN, task_id, RetryRequest(changes=ChangesRequest(add="Mind the tests.")))
        body = await lab.api.queries.task(reply.task_id)
        assert (body.continues, body.objective) == (task_id, "do it\n\nMind the tests.")
        assert (body.project, body.budget.attempts, body.deadline_at) == ("shop", 2, None)
        assert (await lab.attempt(reply.task_id)).because == "changes the objective"
        with pytest.raises(er.InvalidError, match="say where"):
            await lab.api.retry(
                ANN, task_id, RetryRequest(because="x", changes=ChangesRequest(elsewhere=True))
            )
        with pytest.raises(er.InvalidError, match="ask for the same"):
            await lab.api.retry(ANN, task_id, RetryRequest(changes=ChangesRequest(objective="do it")))


# -- what can never be submitted


@pytest.mark.parametrize(
    ("spec", "error", "match"),
    [
        ({"budget": Budget(attempts=0)}, er.InvalidError, "attempts is 0"),
        ({"budget": Budget(tokens=-1)}, er.InvalidError, "tokens is -1"),
        ({"budget": Budget(cost_usd_micros=2**53)}, er.InvalidError, "cost_usd_micros is"),
        ({"deadline_at": "2001-01-01T00:00:00Z"}, er.InvalidError, "in the past"),
        ({"deadline_at": "soon"}, er.InvalidError, "RFC 3339"),
        ({"priority": 11}, er.InvalidError, "priority"),
        ({"project": "two words"}, er.InvalidError, "project"),
        ({"concurrency_key": ""}, er.InvalidError, "concurrency_key"),
        ({"policy": "nowhere"}, er.NotFoundError, "nowhere"),
        ({"after_failure": ("t_nobody",)}, er.DependencyError, "does not exist"),
        ({"after_end": ("key:nobody",)}, er.DependencyError, "none that you have submitted"),
        ({"after_failure": ("key:k",)}, er.DependencyError, "waits for itself"),
    ],
)
async def test_what_can_never_be_right_is_refused_and_told(
    spec: dict[str, Any], error: type[er.TenureError], match: str
) -> None:
    async with Lab().running() as lab:
        head = lab.hub.record.head()
        with pytest.raises(error, match=match):
            await lab.submit("k", **spec)
        assert lab.hub.record.head() == head


async def test_one_task_is_not_waited_for_in_two_ways() -> None:
    async with Lab().running() as lab:
        first = await lab.submit("first")
        with pytest.raises(er.DependencyError, match="two ways"):
            await lab.submit(after=(first,), after_failure=("key:first",))


async def test_a_task_that_waits_for_a_canceled_one_says_so_and_one_that_waits_for_its_failure_starts() -> (
    None
):
    async with Lab().running() as lab:
        first = await lab.submit()
        await lab.api.cancel(ANN, first, "")
        assert await lab.why(await lab.submit(after=(first,))) == "dependency_failed"
        assert await lab.why(await lab.submit(after_failure=(first,))) == "no_recipient"
        assert await lab.why(await lab.submit(after_end=(first,))) == "no_recipient"
