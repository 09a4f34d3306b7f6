"""`/v1/policies`, `/v1/accounts`, `/v1/pauses`, `/v1/circuits`: who may, what is refused, and what the SDK says."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenure.client.hub import HubClient
from tenure.core.access import Role
from tenure.core.attempt import Outcome, Verdict
from tenure.core.failure import Evidence, FailureClass
from tenure.errors import NotFoundError
from tenure.servers.rest import example
from tenure.wire.accounts import AccountRequest, LimitsRequest
from tenure.wire.policies import ChoiceRequest, PolicyRequest
from tests.servers.face import Face, client_in, face
from tests.servers.test_rest_with_anything import VALUES, changed, like

WRITES: list[tuple[str, str, Any]] = [
    ("POST", "/v1/policies", example.POLICY.value),
    ("PUT", "/v1/policy-choices", like(example.CHOICE.value, policy="once")),
    ("PUT", "/v1/accounts/project:shop", example.ACCOUNT.value),
    ("POST", "/v1/pauses", example.PAUSE.value),
    ("POST", "/v1/pauses/resume", example.RESUME.value),
    ("POST", "/v1/circuits/close", example.CLOSE_CIRCUIT.value),
]
READS = (
    "/v1/policies",
    "/v1/policies/default",
    "/v1/policies/default/1",
    "/v1/policy-choices",
    "/v1/accounts",
    "/v1/accounts/hub",
    "/v1/pauses",
    "/v1/pauses/hub",
    "/v1/circuits?closed=true",
)


async def busy(one: Face) -> str:
    """A Task of a provider without room; the Task's id."""
    evidence = msgspec.json.encode({"harness": Evidence(http_status=429)}).decode()
    node = await one.lab.node()
    task_id = await one.lab.submit()
    outcome = Outcome(
        Verdict.FAILED, failure_class=FailureClass.CAPACITY, failure_rule="http-busy", evidence=evidence
    )
    await node.report(await node.take(), outcome=outcome)
    return task_id


async def about_operating(client: HubClient, task_id: str) -> None:
    """Every method of the SDK about how the hub works."""
    assert [one.name for one in await client.policies()] == ["default", "once"]
    own = PolicyRequest(name="own", version=1, extends="default")
    assert (await client.store_policy(own)).policy == "own/1"
    assert (await client.store_policy(own)).replayed
    assert (await client.policy("own/1")).stored_by is not None
    choice = ChoiceRequest(subject="project:p", policy="own", because="a trial")
    assert (await client.choose_policy(choice)).means == "own/1"
    assert [one.subject for one in await client.policy_choices()] == ["project:p"]
    assert (await client.explain(f"{task_id}/1")).policy == "default/1"
    assert (await client.explain(f"{task_id}/1", document=own)).attempt == f"{task_id}/1"
    assert (await client.accounts())[0].account == "hub"
    limits = AccountRequest(limits=LimitsRequest(tokens=9), because="x")
    assert (await client.set_account("project:p", limits)).left.tokens == 9
    assert (await client.account("project:p")).limits.tokens == 9
    assert (await client.task_budget(task_id)).task_id == task_id
    assert (await client.pause("project:p", "x", drain=True)).paused is not None
    assert (await client.pause_of("project:p")).running_count == 0
    assert len(await client.pauses()) == 1
    assert (await client.resume("project:p")).paused is None
    assert [one.quota for one in await client.circuits() if not one.open] == []
    with pytest.raises(NotFoundError, match="'nobody'"):
        await client.close_circuit("nobody", "x")


async def test_the_sdk_reaches_every_endpoint() -> None:
    async with face() as one:
        task_id = await busy(one)
        client = client_in(one)
        await about_operating(client, task_id)
        assert [circuit.open for circuit in await client.circuits()] == [True]
        assert not (await client.close_circuit("claude@laptop", "it is back")).open
        assert await client.circuits() == ()
        assert len(await client.circuits(closed=True)) == 1


async def test_the_examples_of_operating_are_taken_as_they_stand() -> None:
    async with face() as one:
        await one.lab.node()
        for method, path, body in WRITES:
            answer = await one.ask(method, path, json=body)
            expected = {"/v1/policies": 201, "/v1/circuits/close": 404}.get(path, 200)
            assert answer.status_code == expected, (path, answer.text)
        again = await one.ask("POST", "/v1/policies", json=example.POLICY.value)
        assert (again.status_code, again.json()["replayed"]) == (200, True)


@pytest.mark.parametrize("role", [Role.VIEWER, Role.SUBMITTER])
async def test_whoever_is_no_operator_sees_everything_and_sets_nothing(role: Role) -> None:
    async with face() as one:
        task_id = await busy(one)
        for path in (*READS, f"/v1/tasks/{task_id}/budget", f"/v1/attempts/{task_id}/1/explanation"):
            assert (await one.ask("GET", path, role)).status_code == 200, path
        asked = await one.ask(
            "POST", f"/v1/attempts/{task_id}/1/explanation", role, json=example.POLICY.value
        )
        assert asked.status_code == 200, asked.text
        before = await one.lab.hub.ledger.events()
        for method, path, body in WRITES:
            assert (await one.ask(method, path, role, json=body)).json()["code"] == "forbidden", path
        assert await one.lab.hub.ledger.events() == before


async def test_nobody_without_a_token_is_told_anything() -> None:
    async with face() as one:
        for path in READS:
            assert (await one.ask("GET", path, None)).status_code == 401, path


async def test_what_is_not_there_is_404_and_what_cannot_be_is_400() -> None:
    async with face() as one:
        task_id = await one.lab.submit()
        for path in (
            "/v1/policies/none",
            "/v1/policies/default/2",
            "/v1/policies/default/x",
            "/v1/pauses/node:none",
            "/v1/pauses/a@b",
            "/v1/tasks/t_none/budget",
            f"/v1/attempts/{task_id}/2/explanation",
            f"/v1/attempts/{task_id}/1/explanation?policy=none",
        ):
            assert (await one.ask("GET", path)).status_code == 404, path
        for path in ("/v1/accounts/moon", "/v1/accounts/project:", "/v1/pauses/moon", "/v1/circuits?open=1"):
            assert (await one.ask("GET", path)).status_code == 400, path


async def test_every_problem_of_a_policy_is_in_the_facts_of_the_problem() -> None:
    async with face() as one:
        bad = {
            "name": "bad",
            "version": 0,
            "extends": "default",
            "responses": {"validation": {"action": "again"}},
        }
        answer = (await one.ask("POST", "/v1/policies", json=bad)).json()
        assert answer["code"] == "invalid"
        assert len(answer["facts"]["problems"]) == 2


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/v1/policies", {"name": "x", "version": 1, "motto": "y"}),
        ("POST", "/v1/policies", {"name": "x", "version": 1, "rules": [{"name": "a", "rank": 1}]}),
        ("PUT", "/v1/policy-choices", {"subject": "hub", "because": "x"}),
        ("PUT", "/v1/accounts/hub", {"limits": {"tokens": 1.5}, "because": "x"}),
        ("PUT", "/v1/accounts/hub", {"limits": {"dollars": 1}, "because": "x"}),
        ("PUT", "/v1/accounts/hub", {"limits": {"tokens": 2**70}, "because": "x"}),
        ("PUT", "/v1/accounts/hub", {}),
        ("POST", "/v1/pauses", {"subject": "hub"}),
        ("POST", "/v1/pauses/resume", {}),
        ("POST", "/v1/circuits/close", {"quota": "x"}),
    ],
)
async def test_a_body_that_is_not_what_is_expected_is_refused(method: str, path: str, body: Any) -> None:
    async with face() as one:
        before = await one.lab.hub.ledger.events()
        answer = await one.ask(method, path, json=body)
        assert (answer.status_code, answer.json()["code"]) == (400, "invalid"), answer.text
        assert await one.lab.hub.ledger.events() == before


@settings(max_examples=30)
@given(data=st.data())
def test_anything_in_one_place_of_these_bodies_is_never_a_fault(data: st.DataObject) -> None:
    changes = [(data.draw(st.integers(0, 1000)), data.draw(VALUES)) for _ in WRITES]

    async def send() -> None:
        async with face() as one:
            task_id = await busy(one)
            headers = {"Content-Type": "application/json"}
            for (method, path, body), (place, value) in zip(WRITES, changes, strict=True):
                content = changed(body, {}, place, value)
                answer = await one.ask(method, path, content=content, headers=headers)
                assert answer.status_code < 500, (path, answer.text)
                shown = f"/v1/attempts/{task_id}/1/explanation"
                answer = await one.ask("POST", shown, content=content, headers=headers)
                assert answer.status_code < 500, answer.text
            for path in READS:
                assert (await one.ask("GET", path)).status_code == 200, path

    asyncio.run(send())
