"""What people decide, over HTTP: cancellation, another try, budgets, challenges, questions and their answers."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenure import errors as er
from tenure.client.hub import HubClient
from tenure.core.access import Role
from tenure.core.attempt import Outcome, Verdict
from tenure.core.budget import Budget
from tenure.core.failure import FailureClass
from tenure.core.recipient import RecipientSpec
from tenure.core.review import About
from tenure.servers.rest import example
from tenure.wire.attention import AnswerRequest, BulkRequest, ItemFilter
from tenure.wire.recovery import ChallengeRequest, RaiseRequest
from tests.servers.face import Face, client_in, face
from tests.servers.test_rest_with_anything import VALUES, changed


def said(shown: Any) -> dict[str, Any]:
    """The body of an example."""
    return dict(shown.value)


WRITES: list[tuple[str, Any]] = [
    ("/v1/tasks/TASK/cancel", {**said(example.CANCEL), "number": 1}),
    ("/v1/tasks/TASK/retry", {**said(example.RETRY), "because": "x"}),
    ("/v1/tasks/TASK/budget", {**said(example.RAISE), "deadline_at": "2031-01-01T00:00:00Z"}),
    ("/v1/tasks/TASK/challenge", example.CHALLENGE.value),
    ("/v1/attention/contradiction:TASK/1/snooze", example.SNOOZE.value),
    ("/v1/attention/contradiction:TASK/1/assign", example.ASSIGN.value),
    (
        "/v1/attention/contradiction:TASK/1/resolve",
        {
            **said(example.ANSWER),
            "late_id": "x",
            "tree_gone": False,
            "result": "7",
            "more": {"attempts": 1},
            "deadline_at": "2031-01-01T00:00:00Z",
            "changes": {"to": "claude", "command": ["make"]},
        },
    ),
    ("/v1/attention/resolve", {**said(example.BULK), "dry_run": False}),
    ("/v1/attention/resolve", {"answer": "close", "because": "x", "items": ["x"]}),
]


async def broken(one: Face, **spec: Any) -> str:
    """A Task that waits for a person because its Attempt has failed."""
    node = await one.lab.node("bench", RecipientSpec("joiner", "command"))
    task_id = await one.lab.submit(to="joiner", **spec)
    outcome = Outcome(Verdict.FAILED, failure_class=FailureClass.CONTRADICTION, tree_gone=True)
    await node.report(await node.take(), outcome=outcome)
    return task_id


async def about_deciding(client: HubClient, task_id: str) -> None:
    """Every method of the SDK by which people decide, on a Task whose Attempt has failed."""
    item = await client.question(f"contradiction:{task_id}/1")
    assert (await client.attention_counts()).open >= 1
    assert not (await client.snooze(item.item_id, item.version, "2027-01-15T09:00:00Z")).replayed
    assert not (await client.assign(item.item_id, item.version, "me")).replayed
    (mine,) = await client.every_question(assigned="me")
    assert mine.assigned_to == "operator"
    dry = BulkRequest(answer="cancel", filter=ItemFilter(subject=task_id), dry_run=True)
    assert len((await client.answer_many(dry)).results) == 1
    more = RaiseRequest(more=Budget(attempts=2), because="it is nearly there")
    assert (await client.raise_budget(task_id, more)).budget.attempts == 7
    challenge = ChallengeRequest(number=1, about=About.FAILURE, because="it did not fail")
    assert not (await client.challenge(task_id, challenge)).replayed
    assert (await client.challenge(task_id, challenge)).replayed
    word = AnswerRequest(answer="retry", item_version=item.version, because="once more")
    assert (await client.answer(item.item_id, word)).number == 2
    assert (await client.answer(item.item_id, word)).replayed
    assert (await client.cancel(task_id, "off", number=2)).number == 2
    with pytest.raises(er.NotFoundError):
        await client.question("failed:t_none/1")


async def test_the_sdk_decides_over_http() -> None:
    async with face() as one:
        await about_deciding(client_in(one), await broken(one))


async def test_another_try_by_the_sdk_is_about_the_attempt_that_was_read() -> None:
    async with face() as one:
        client, task_id = client_in(one), await broken(one)
        (newest,) = await client.attempts(task_id)
        read = (await client.task(task_id), newest)
        assert (await client.retry(task_id, "the disk is larger", "k-1", read=read)).number == 2
        with pytest.raises(er.ConflictError, match=f"you read {task_id}/1 .failed., and by now"):
            await client.retry(task_id, "the network is back", "k-2", read=read)


@pytest.mark.parametrize("slash", ["/", "%2F"])
async def test_an_item_with_a_slash_is_found_plain_and_encoded(slash: str) -> None:
    async with face() as one:
        task_id = await broken(one)
        item = f"/v1/attention/contradiction:{task_id}{slash}1"
        told = (await one.ask("GET", item, Role.VIEWER)).json()
        assert told["subject"] == f"{task_id}/1"
        assert set(told["answers"]) == {"retry", "give_up", "cancel"}
        answer = {"answer": "give_up", "item_version": told["version"], "because": "no use"}
        assert (await one.ask("POST", f"{item}/resolve", Role.SUBMITTER, json=answer)).status_code == 403
        done = await one.ask("POST", f"{item}/resolve", json=answer)
        assert (done.status_code, done.json()["does"]) == (200, told["answers"]["give_up"])
        assert (await one.ask("GET", item)).json()["closed_by"] == "operator"
        refused = await one.ask("POST", f"{item}/resolve", json={**answer, "answer": "cancel"})
        assert (refused.status_code, refused.json()["code"]) == (409, "not_offered")


@pytest.mark.parametrize(
    "query", ["kind=moon", "severity=loud", "snoozed=perhaps", "open=1&moon=1", "after=x", "limit=0"]
)
async def test_a_filter_that_is_none_is_refused(query: str) -> None:
    async with face() as one:
        answer = await one.ask("GET", f"/v1/attention?{query}")
        assert (answer.status_code, answer.json()["code"]) == (400, "invalid"), answer.text


async def test_filters_of_questions_are_read_from_the_query() -> None:
    async with face() as one:
        task_id = await broken(one, project="shop")
        for query, found in (
            ("kind=contradiction", 1),
            ("kind=unknown", 0),
            ("severity=warning", 1),
            ("assigned=me", 0),
            ("snoozed=false", 1),
            ("snoozed=true", 0),
            (f"subject={task_id}", 1),
            ("project=shop", 1),
            ("project=mill", 0),
        ):
            assert len((await one.ask("GET", f"/v1/attention?{query}")).json()) == found, query
        counts = (await one.ask("GET", "/v1/attention/counts", Role.VIEWER)).json()
        assert (counts["open"], counts["by_kind"]) == (1, {"contradiction": 1})


async def test_a_task_tells_what_it_may_use_and_what_became_of_it() -> None:
    async with face() as one:
        task_id = await broken(one, budget=Budget(attempts=3, cost_usd_micros=5_000_000), priority=2)
        body = (await one.ask("GET", f"/v1/tasks/{task_id}")).json()
        assert (body["project"], body["priority"], body["policy"]) == ("default", 2, "default/1")
        assert (body["budget"]["attempts"], body["left"]["attempts"], body["used"]["attempts"]) == (3, 2, 1)
        assert (body["hold"], body["stop"], body["review"]) == (None, None, None)
        retry = {"changes": {"add": "again"}}
        assert (await one.ask("POST", f"/v1/tasks/{task_id}/retry", json=retry)).json()["number"] == 2
        (_, second) = (await one.ask("GET", f"/v1/tasks/{task_id}/attempts")).json()["attempts"]
        assert (second["relation"], second["follows"], second["policy"]) == ("replan", 1, "default/1")
        assert [change["what"] for change in second["hypothesis"]["changes"]] == ["input"]


@settings(max_examples=30)
@given(data=st.data())
def test_anything_in_one_place_of_a_decision_is_never_a_fault(data: st.DataObject) -> None:
    changes = [(data.draw(st.integers(0, 1000)), data.draw(VALUES)) for _ in WRITES]

    async def send() -> None:
        async with face() as one:
            task_id = await broken(one)
            headers = {"Content-Type": "application/json"}
            for (path, body), (place, value) in zip(WRITES, changes, strict=True):
                content = changed(body, {"TASK": task_id}, place, value)
                answer = await one.ask(
                    "POST", path.replace("TASK", task_id), content=content, headers=headers
                )
                assert answer.status_code < 500, (path, content, answer.text)
            for path in (f"/v1/tasks/{task_id}", f"/v1/tasks/{task_id}/attempts", "/v1/attention?open=false"):
                assert (await one.ask("GET", path)).status_code == 200, path

    asyncio.run(send())
