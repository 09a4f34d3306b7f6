"""What people and programs do: submits, batches, retries, answers, tokens."""

from __future__ import annotations

from typing import Any

import pytest

from tenure import errors as er
from tenure.core.access import Role
from tenure.core.attempt import Outcome, Verdict
from tenure.hub.access import Principal
from tenure.ledger.port import TaskFilter
from tenure.wire import api
from tenure.wire.attention import CloseRequest
from tenure.wire.recovery import RetryRequest
from tests.hub.lab import ANN, SHA, Lab

BOB = Principal("bob", Role.SUBMITTER)


def task(**spec: Any) -> api.TaskRequest:
    return api.TaskRequest(**{"objective": "do it", "to": "claude", **spec})


def batch(**after: tuple[str, ...]) -> api.BatchRequest:
    return api.BatchRequest(
        items=tuple(api.BatchItem(key=key, task=task(after=names)) for key, names in after.items())
    )


# -- submit


async def test_the_same_key_and_request_give_the_recorded_task() -> None:
    async with Lab().running() as lab:
        first = await lab.api.submit(ANN, "k", task())
        again = await lab.api.submit(ANN, "k", task())
        assert (first.replayed, again.replayed) == (False, True)
        assert again.task_id == first.task_id


async def test_a_key_used_for_another_request_is_refused_and_says_for_which_task_it_stands() -> None:
    async with Lab().running() as lab:
        first = await lab.api.submit(ANN, "k", task())
        with pytest.raises(er.IdempotencyMismatchError) as refused:
            await lab.api.submit(ANN, "k", task(objective="something else"))
        assert refused.value.facts["task_id"] == first.task_id


async def test_keys_belong_to_whoever_uses_them() -> None:
    async with Lab().running() as lab:
        mine = await lab.api.submit(ANN, "k", task())
        theirs = await lab.api.submit(BOB, "k", task(objective="another"))
        assert mine.task_id != theirs.task_id


async def test_an_unknown_recipient_is_accepted_and_the_task_says_what_it_waits_for() -> None:
    async with Lab().running() as lab:
        body = await lab.api.submit(ANN, "k", task(to="nobody@nowhere"))
        assert (body.state, body.why.code, body.why.blocker) == (
            "submitted",
            "no_recipient",
            "nobody@nowhere",
        )


@pytest.mark.parametrize(
    ("spec", "error", "match"),
    [
        ({"objective": "x" * 65_537}, er.TooLargeError, "65537 bytes"),
        ({"objective": " "}, er.InvalidError, "objective: is empty"),
        ({"to": "not a name"}, er.InvalidError, "no recipient"),
        ({"repository": "/srv/shop.git"}, er.InvalidError, "no full commit id"),
        ({"base_sha": SHA}, er.InvalidError, "without a repository"),
        ({"timeout_s": 0}, er.InvalidError, "timeout_s is 0|timeout_s: is 0"),
        ({"after": ("t_nobody",)}, er.DependencyError, "does not exist"),
        ({"after": ("key:nobody",)}, er.DependencyError, "none that you have submitted"),
        ({"after": ("key:k",)}, er.DependencyError, "waits for itself"),
        ({"not_before_at": "tomorrow"}, er.InvalidError, "RFC 3339"),
        ({"not_before_at": "2031-01-01T00:00:00"}, er.InvalidError, "time zone"),
        ({"continues": "t_nobody"}, er.NotFoundError, "no Task t_nobody"),
        ({"command": ("a\0b",)}, er.InvalidError, "NUL"),
    ],
)
async def test_what_can_never_be_right_is_refused_and_nothing_is_recorded(
    spec: dict[str, Any], error: type[er.TenureError], match: str
) -> None:
    async with Lab().running() as lab:
        head = lab.hub.record.head()
        with pytest.raises(error, match=match):
            await lab.api.submit(ANN, "k", task(**spec))
        assert lab.hub.record.head() == head


@pytest.mark.parametrize("key", ["", "x" * 201])
async def test_a_key_has_1_to_200_characters(key: str) -> None:
    async with Lab().running() as lab:
        with pytest.raises(er.InvalidError, match="1 to 200"):
            await lab.api.submit(ANN, key, task())


async def test_a_task_may_wait_for_one_named_by_its_key() -> None:
    async with Lab().running() as lab:
        first = await lab.api.submit(ANN, "build", task())
        second = await lab.api.submit(ANN, "test", task(after=("key:build",)))
        assert (second.after, second.why.code) == ((first.task_id,), "dependency")
        with pytest.raises(er.DependencyError):
            await lab.api.submit(BOB, "test", task(after=("key:build",)))


# -- batches


async def test_a_batch_resolves_names_of_its_own_in_any_order() -> None:
    async with Lab().running() as lab:
        reply = await lab.api.submit_batch(ANN, batch(c=("key:b",), b=("key:a",), a=()))
        ids = {one.key: one.task_id for one in reply.results}
        assert all(ids.values())
        assert [one.key for one in reply.results] == ["c", "b", "a"]
        body = await lab.api.queries.task(ids["c"] or "")
        assert body.after == (ids["b"],)


async def test_a_repeated_batch_records_nothing_new() -> None:
    async with Lab().running() as lab:
        first = await lab.api.submit_batch(ANN, batch(b=("key:a",), a=()))
        head = lab.hub.record.head()
        again = await lab.api.submit_batch(ANN, batch(b=("key:a",), a=()))
        assert [one.task_id for one in again.results] == [one.task_id for one in first.results]
        assert all(one.replayed for one in again.results)
        assert lab.hub.record.head() == head


async def test_items_in_a_cycle_are_refused_with_the_cycle_and_the_others_go_on() -> None:
    async with Lab().running() as lab:
        reply = await lab.api.submit_batch(
            ANN, batch(a=("key:b",), b=("key:a",), alone=(), me=("key:me",), late=("key:a",))
        )
        results = {one.key: one for one in reply.results}
        assert results["alone"].task_id
        for key in ("a", "b", "me", "late"):
            error = results[key].error
            assert error is not None
            assert (error["code"], error["status"]) == ("dependency", 422)
        assert "a → b → a" in (results["a"].error or {})["detail"]


async def test_what_waits_for_a_refused_item_is_refused_too() -> None:
    async with Lab().running() as lab:
        items = (
            api.BatchItem(key="bad", task=task(objective=" ")),
            api.BatchItem(key="next", task=task(after=("key:bad",))),
            api.BatchItem(key="good", task=task()),
        )
        reply = await lab.api.submit_batch(ANN, api.BatchRequest(items=items))
        codes = [one.error["code"] if one.error else None for one in reply.results]
        assert codes == ["invalid", "dependency", None]


async def test_a_key_that_comes_twice_is_a_replay_or_a_mismatch() -> None:
    async with Lab().running() as lab:
        items = (
            api.BatchItem(key="k", task=task()),
            api.BatchItem(key="k", task=task()),
            api.BatchItem(key="k", task=task(objective="other")),
        )
        reply = await lab.api.submit_batch(ANN, api.BatchRequest(items=items))
        assert reply.results[0].task_id == reply.results[1].task_id
        assert reply.results[1].replayed
        assert (reply.results[2].error or {})["code"] == "idempotency_mismatch"


async def test_a_batch_has_a_bound_and_an_empty_one_is_no_error() -> None:
    async with Lab().running() as lab:
        with pytest.raises(er.TooLargeError):
            await lab.api.submit_batch(ANN, batch(**{f"k{number}": () for number in range(501)}))
        assert (await lab.api.submit_batch(ANN, batch())).results == ()


async def test_a_store_that_goes_away_between_two_levels_loses_nothing_that_was_told() -> None:
    async with Lab().running() as lab:
        execute_many, calls = lab.hub.ledger.execute_many, []

        async def once(commands: Any) -> Any:
            calls.append(len(commands))
            if len(calls) > 1:
                raise er.UnavailableError("away")
            return await execute_many(commands)

        lab.hub.ledger.execute_many = once
        reply = await lab.api.submit_batch(ANN, batch(a=(), b=("key:a",), c=("key:b",)))
        lab.hub.ledger.execute_many = execute_many
        codes = [one.error["code"] if one.error else "taken" for one in reply.results]
        assert codes == ["taken", "unavailable", "dependency"] or codes == [
            "taken",
            "unavailable",
            "unavailable",
        ]
        again = await lab.api.submit_batch(ANN, batch(a=(), b=("key:a",), c=("key:b",)))
        assert [one.replayed for one in again.results] == [True, False, False]


async def test_a_batch_of_which_nothing_was_recorded_is_an_error_as_a_whole() -> None:
    async with Lab().running() as lab:

        async def away(commands: Any) -> Any:
            raise er.UnavailableError("away")

        lab.hub.ledger.execute_many = away
        with pytest.raises(er.UnavailableError):
            await lab.api.submit_batch(ANN, batch(a=()))


# -- cancel and retry


async def test_a_cancellation_asked_twice_is_answered_as_the_first() -> None:
    async with Lab().running() as lab:
        task_id = await lab.submit()
        first = await lab.api.cancel(BOB, task_id, "not needed")
        again = await lab.api.cancel(BOB, task_id, "really")
        assert (first.step, again.step, again.replayed) == ("terminated", "terminated", True)
        body = await lab.api.queries.task(task_id)
        assert (body.state, body.cancel_because) == ("canceled", "not needed")


async def test_a_question_is_answered_by_a_retry_and_its_reason() -> None:
    async with Lab().running() as lab:
        task_id = await lab.submit()
        desk = await lab.node()
        await desk.report(await desk.take(), Verdict.ASKED)
        (item,) = await lab.api.queries.attention(open_only=True, limit=10)
        assert set(item.answers) == {"retry", "give_up", "cancel"}
        reply = await lab.api.retry(BOB, task_id, RetryRequest(because="the blue one"))
        assert (reply.number, reply.continues) == (2, None)
        assert await lab.api.retry(BOB, task_id, RetryRequest(because="the blue one")) == reply
        for who, because in ((BOB, "the red one"), (ANN, "the blue one")):
            with pytest.raises(er.NotOfferedError, match="under way"):
                await lab.api.retry(who, task_id, RetryRequest(because=because))
        (grant,) = await desk.claim()
        assert grant.spec.objective.endswith("Answer from bob: the blue one")
        assert (await lab.attempt(task_id, 2)).because == "the blue one"


async def test_a_task_that_has_ended_is_retried_as_a_new_one_that_continues_it() -> None:
    async with Lab().running() as lab:
        task_id = await lab.submit(labels={"team": "shop"}, policy="once")
        desk = await lab.node()
        await desk.report(await desk.take(), Verdict.FAILED)
        reply = await lab.api.retry(BOB, task_id, RetryRequest(because="the disk is larger now"), "retry-1")
        again = await lab.api.retry(BOB, task_id, RetryRequest(because="the disk is larger now"), "retry-1")
        assert reply == again
        body = await lab.api.queries.task(reply.task_id)
        assert (body.continues, body.labels) == (task_id, {"team": "shop"})
        assert (await lab.attempt(reply.task_id)).because == "the disk is larger now"


async def test_a_task_that_waits_after_a_failure_goes_on_with_its_next_attempt() -> None:
    async with Lab().running() as lab:
        task_id = await lab.submit()
        desk = await lab.node()
        await desk.report(await desk.take(), Verdict.FAILED)
        assert await lab.state(task_id) == "input_required"
        (item,) = await lab.api.queries.attention(open_only=True, limit=10)
        assert (item.kind, item.subject) == ("contradiction", f"{task_id}/1")
        reply = await lab.api.retry(BOB, task_id, RetryRequest(because="the disk is larger now"))
        assert (reply.task_id, reply.number, reply.continues) == (task_id, 2, None)
        assert await lab.state(task_id) == "working"
        assert not await lab.api.queries.attention(open_only=True, limit=10)
        await desk.report(await desk.take())
        assert await lab.state(task_id) == "completed"


async def test_a_retry_says_what_was_read_and_makes_nothing_once_the_task_has_gone_on() -> None:
    async with Lab().running() as lab:
        task_id = await lab.submit()
        desk = await lab.node()
        grant = await desk.take()
        asked = RetryRequest(because="once more", number=1)
        with pytest.raises(er.NotOfferedError, match="under way"):
            await lab.api.retry(BOB, task_id, asked)
        await desk.report(grant, Verdict.FAILED)
        with pytest.raises(er.ConflictError, match=f"you read {task_id}/1 .not ended., and by now"):
            await lab.api.retry(BOB, task_id, asked)
        asked = RetryRequest(because="once more", number=1, verdict=Verdict.FAILED)
        made = await lab.api.retry(BOB, task_id, asked)
        await desk.report(await desk.take())
        assert await lab.state(task_id) == "completed"
        assert await lab.api.retry(BOB, task_id, asked) == made
        with pytest.raises(er.TerminalError):
            await lab.api.retry(ANN, task_id, asked)


async def test_a_retry_that_names_an_attempt_that_cannot_be_makes_nothing() -> None:
    async with Lab().running() as lab:
        task_id = await lab.submit()
        desk = await lab.node()
        await desk.report(await desk.take(), Verdict.FAILED)
        with pytest.raises(er.ConflictError, match=f"you read {task_id}/0"):
            await lab.api.retry(BOB, task_id, RetryRequest(because="once more", number=0))
        with pytest.raises(er.InvalidError, match="number is out of range"):
            await lab.api.retry(BOB, task_id, RetryRequest(because="once more", number=-1))
        with pytest.raises(er.InvalidError, match="say `number`, too"):
            await lab.api.retry(BOB, task_id, RetryRequest(because="once more", verdict=Verdict.FAILED))


async def test_an_unknown_attempt_is_not_retried_but_reconciled() -> None:
    async with Lab().running() as lab:
        task_id = await lab.submit()
        desk = await lab.node()
        await desk.report(await desk.take(), outcome=Outcome(Verdict.UNKNOWN))
        with pytest.raises(er.NotOfferedError, match="tenure reconcile"):
            await lab.api.retry(BOB, task_id, RetryRequest(because="again"))
        await lab.api.cancel(BOB, task_id, "")
        with pytest.raises(er.NotOfferedError, match="tenure reconcile"):
            await lab.api.retry(BOB, task_id, RetryRequest(because="again"))


@pytest.mark.parametrize("because", ["", "  "])
@pytest.mark.parametrize(("policy", "refusal"), [("default", er.SameSpecError), ("once", er.InvalidError)])
async def test_a_retry_needs_a_reason_or_a_change(
    because: str, policy: str, refusal: type[er.TenureError]
) -> None:
    async with Lab().running() as lab:
        task_id = await lab.submit(policy=policy)
        desk = await lab.node()
        await desk.report(await desk.take(), Verdict.FAILED)
        with pytest.raises(refusal, match=r"[Cc]hange something"):
            await lab.api.retry(ANN, task_id, RetryRequest(because=because))


@pytest.mark.parametrize("policy", ["default", "once"])
async def test_a_reason_for_a_retry_has_a_bound(policy: str) -> None:
    async with Lab().running() as lab:
        task_id = await lab.submit(policy=policy)
        desk = await lab.node()
        await desk.report(await desk.take(), Verdict.FAILED)
        with pytest.raises(er.InvalidError, match="4000"):
            await lab.api.retry(ANN, task_id, RetryRequest(because="x" * 4001))


@pytest.mark.parametrize("because", ["", "  "])
async def test_a_question_is_not_answered_by_silence(because: str) -> None:
    async with Lab().running() as lab:
        task_id = await lab.submit()
        desk = await lab.node()
        await desk.report(await desk.take(), Verdict.ASKED)
        with pytest.raises(er.InvalidError, match="say the answer"):
            await lab.api.retry(ANN, task_id, RetryRequest(because=because))


async def test_a_task_that_is_under_way_is_not_retried() -> None:
    async with Lab().running() as lab:
        with pytest.raises(er.NotOfferedError, match="under way"):
            await lab.api.retry(ANN, await lab.submit(), RetryRequest(because="impatient"))


# -- reconcile, attention


async def unknown(lab: Lab) -> str:
    task_id = await lab.submit()
    desk = await lab.node()
    await desk.report(await desk.take(), outcome=Outcome(Verdict.UNKNOWN, tree_gone=True))
    return f"{task_id}/1"


def answered(answer: str, version: int = 1, **more: Any) -> api.ReconcileBody:
    return api.ReconcileBody(answer=answer, because="I looked", item_version=version, **more)


async def test_an_unknown_attempt_is_run_again_with_the_persons_reason() -> None:
    async with Lab().running() as lab:
        attempt = await unknown(lab)
        assert (await lab.attempt(attempt[:-2])).item_version == 1
        reply = await lab.api.reconcile(ANN, attempt, answered("rerun"))
        assert (reply.answer, reply.successor) == ("rerun", 2)
        recorded = lab.hub.record.head()
        assert await lab.api.reconcile(ANN, attempt, answered("rerun")) == reply
        assert lab.hub.record.head() == recorded
        with pytest.raises(er.ConflictError, match="answers are final"):
            await lab.api.reconcile(BOB, attempt, answered("rerun"))
        with pytest.raises(er.ConflictError, match="answers are final"):
            await lab.api.reconcile(ANN, attempt, answered("retire"))
        first = await lab.attempt(attempt[:-2])
        assert (first.verdict, first.answer, first.answer_by) == ("unknown", "rerun", "ann")


@pytest.mark.parametrize(
    ("attempt", "answer", "error"),
    [
        ("t_nobody/1", answered("rerun"), er.NotFoundError),
        ("t_nobody", answered("rerun"), er.InvalidError),
        ("t_nobody/x", answered("rerun"), er.InvalidError),
        ("t_nobody/1", answered("guess"), er.InvalidError),
        ("t_nobody/1", answered("rerun", 2**60), er.InvalidError),
        ("", answered("rerun", 7), er.ConflictError),
        ("", answered("accept"), er.NotOfferedError),
    ],
)
async def test_an_answer_that_does_not_fit_is_refused(
    attempt: str, answer: api.ReconcileBody, error: type[er.TenureError]
) -> None:
    async with Lab().running() as lab:
        with pytest.raises(error):
            await lab.api.reconcile(ANN, attempt or await unknown(lab), answer)


async def test_a_question_with_an_answer_of_its_own_is_not_closed_by_reading_it() -> None:
    async with Lab().running() as lab:
        attempt = await unknown(lab)
        request = CloseRequest(item_version=1, because="read")
        with pytest.raises(er.NotOfferedError):
            await lab.api.close_attention(ANN, f"unknown:{attempt}", request)
        with pytest.raises(er.NotFoundError):
            await lab.api.close_attention(ANN, "stalled:t_nobody/1", request)


# -- nodes, tokens, lists


async def test_a_node_is_forgotten_by_its_name_and_again() -> None:
    async with Lab().running() as lab:
        await lab.node()
        assert not (await lab.api.forget_node(ANN, "laptop", "sold")).replayed
        assert (await lab.api.forget_node(ANN, "laptop", "sold")).replayed
        with pytest.raises(er.NotFoundError):
            await lab.api.forget_node(ANN, "nobody", "sold")
        (node,) = await lab.api.queries.nodes(None, 10)
        assert (node.revoked, node.recipients) == (True, ("claude@laptop",))
        (recipient,) = await lab.api.queries.recipients(None, 10)
        assert recipient.why == "its node does not offer claude@laptop any more"


async def test_a_token_for_a_node_or_for_an_unknown_role_is_not_issued() -> None:
    async with Lab().running() as lab:
        for role in ("node", "king", ""):
            with pytest.raises(er.InvalidError, match="no role"):
                await lab.api.issue_token(ANN, api.TokenRequest(name="x", role=role))


async def test_lists_are_read_page_by_page() -> None:
    async with Lab().running() as lab:
        ids = [await lab.submit(labels={"n": str(number)}) for number in range(5)]
        first = await lab.api.queries.tasks(TaskFilter(), None, 2)
        rest = await lab.api.queries.tasks(TaskFilter(), first.next_cursor, 10)
        assert [one.task_id for one in (*first.tasks, *rest.tasks)] == ids[::-1]
        assert rest.next_cursor is None
        labelled = await lab.api.queries.tasks(TaskFilter(labels={"n": "3"}), None, 10)
        assert [one.task_id for one in labelled.tasks] == [ids[3]]
        for name in ("n1", "n2", "n3"):
            await lab.node(name)
        page = await lab.api.queries.recipients("claude@n1", 1)
        assert [one.address for one in page] == ["claude@n2"]


async def test_what_does_not_exist_is_not_found() -> None:
    async with Lab().running() as lab:
        queries = lab.api.queries
        for question in (
            queries.task("t_nobody"),
            queries.why("t_nobody"),
            queries.attempts("t_nobody"),
            queries.events("t_nobody", 0, 10),
            lab.api.cancel(ANN, "t_nobody", ""),
            lab.api.retry(ANN, "t_nobody", RetryRequest(because="x")),
            lab.api.revoke_token(ANN, "c_nobody"),
        ):
            with pytest.raises(er.NotFoundError):
                await question
