"""Each token can do its own part and nothing else: the whole table of roles and endpoints, asked one by one."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator
from typing import Any

import httpx
import pytest

from tenure.core.attempt import Verdict
from tenure.core.scope import EffectKind, Scope
from tenure.hub.effects.registry import Registry
from tenure.servers.rest.app import ROUTES, create_app
from tenure.wire.legs import CONTRACT_HEADER
from tests.hub.fake_provider import FakeProvider
from tests.hub.lab import Lab
from tests.servers.face import TOKENS, admit
from tools.access import HOLDERS, PAGE, holder_of, may, page

REFUSED = (401, 403)
TRIED = (*HOLDERS, "forged")
"""`forged`: an agent's capability with its signature changed."""


def named(route: Any) -> str:
    return str(route.handler_name)


class Scene:
    def __init__(self, lab: Lab, http: httpx.AsyncClient) -> None:
        self.lab = lab
        self.http = http
        self.tokens: dict[str, str] = {}

    async def ask(self, holder: str, method: str, path: str, **more: Any) -> httpx.Response:
        token = self.tokens.get(holder)
        headers = {CONTRACT_HEADER: "1", **({"Authorization": f"Bearer {token}"} if token else {})}
        return await self.http.request(method, path, headers=headers, **more)


@pytest.fixture
async def scene() -> AsyncGenerator[Scene]:
    lab = Lab()
    lab.registry = Registry({"forge": FakeProvider()})
    async with lab.running():
        await admit(lab)
        app: Any = create_app(lab.hub)
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://hub") as http:
            one = Scene(lab, http)
            desk = await lab.node()
            scope = Scope(kinds=(EffectKind.PULL_REQUEST,), targets=("forge:*",), branches=("*",))
            await lab.submit("one", scope=scope)
            grant = await desk.take()
            one.tokens = {str(role): token for role, token in TOKENS.items()}
            one.tokens |= {"node": desk.credential, "agent": grant.capability or ""}
            one.tokens["forged"] = (grant.capability or "")[:-4] + "AAAA"
            yield one


async def test_every_endpoint_lets_in_who_may_and_nobody_else(scene: Scene) -> None:
    wrong: list[str] = []
    for route in ROUTES:
        if holder_of(route) == "a forge's signature":
            continue  # no token opens it; see tests/servers/test_webhooks.py
        method = next(iter(sorted(route.http_methods - {"OPTIONS", "HEAD"})))
        path = re.sub(r"\{number:\w+\}", "1", min(route.paths, key=len))
        path = re.sub(r"\{\w+:\w+\}", "nothing", path)
        for holder in TRIED:
            answer = await scene.ask(holder, method, path, **({} if method == "GET" else {"json": {}}))
            let_in = answer.status_code not in REFUSED
            if let_in is not may(holder, route):
                wrong.append(f"{holder} at {method} {path}: {answer.status_code} {answer.text[:120]}")
    assert wrong == []


def test_every_route_says_who_may_ask_for_it() -> None:
    """A new route without a stated holder fails here."""
    table = {named(one): holder_of(one) for one in ROUTES}
    assert len(table) == len(ROUTES)
    anybody = {name for name, holder in table.items() if holder == "anybody"}
    assert anybody == {"healthz", "readyz", "openapi"}


def test_the_page_is_the_one_that_the_routes_make() -> None:
    assert PAGE.read_text() == page(), "run `python -m tools.access`"


async def test_a_node_says_nothing_of_another_nodes_deliveries(scene: Scene) -> None:
    lab = scene.lab
    await lab.submit("two")
    mine, other = await lab.node("mine"), await lab.node("other")
    await lab.submit("mine", to="claude@mine")
    grant = await mine.take()
    before = len(lab.engine.rows) if lab.engine else 0
    assert (await other.ack(grant)).answer == "stale_fence"
    assert (await other.renew(grant, 1)).answer == "stale_fence"
    assert await other.report(grant, Verdict.COMPLETED) in ("late", "stale_fence")
    assert await lab.state(grant.task_id) == "working"
    assert await other.claim(claim_id="another's") == []
    task = await lab.api.queries.task(grant.task_id)
    assert task.attempts == 1
    late = [row for row in (lab.engine.rows if lab.engine else [])[before:] if row[5] != "late_heard"]
    assert [row[5] for row in late if row[2] == grant.task_id] == []
    assert await mine.report(grant) == "recorded"


async def test_an_agent_reaches_its_own_attempt_whatever_it_names(scene: Scene) -> None:
    """Its capability names the Delivery; nothing in path, query or body can name another."""
    lab = scene.lab
    other = await lab.submit("other", to="nobody@nowhere", objective="another's secret plan")
    context = await scene.ask("agent", "GET", "/v1/agent/context")
    assert context.status_code == 200
    for path in ("/v1/agent/context", "/v1/agent/effects"):
        answer = await scene.ask("agent", "GET", path, params={"task_id": other})
        assert (answer.status_code, answer.json()["code"]) == (400, "invalid")
    params = {"head": "x", "base": "main", "title": "t"}
    body = {"kind": "pull_request", "target": "elsewhere:shop", "params": params, "task_id": other}
    assert (await scene.ask("agent", "POST", "/v1/agent/effects", json=body)).status_code == 400
    del body["task_id"]
    refused = await scene.ask("agent", "POST", "/v1/agent/effects", json=body)
    assert refused.status_code in (403, 404)
    assert "secret plan" not in context.text + refused.text


@pytest.mark.parametrize("cut", ["tnr_c_", "", "tnr_c_AAAA", "tnr_c_" + "A" * 400])
async def test_a_made_up_capability_opens_nothing(scene: Scene, cut: str) -> None:
    scene.tokens["agent"] = cut
    answer = await scene.ask("agent", "GET", "/v1/agent/context")
    assert answer.status_code == 401


async def test_what_an_agent_of_another_project_did_is_not_told(scene: Scene) -> None:
    """The same change at the same provider is one Effect. To a Task of another project it is only somebody else's."""
    lab = scene.lab
    params = {"head": "release", "base": "main", "title": "RED title", "body": "RED body"}
    body = {"kind": "pull_request", "target": "forge:shop", "params": params, "wait_s": 5}
    done = await scene.ask("agent", "POST", "/v1/agent/effects", json=body)
    assert done.json()["state"] == "confirmed", done.text
    scope = Scope(kinds=(EffectKind.PULL_REQUEST,), targets=("forge:*",), branches=("*",))
    second = await lab.node("second")
    answers = {}
    for project in ("default", "blue"):
        await lab.submit(project, scope=scope, to="claude@second", project=project)
        grant = await second.take()
        scene.tokens["agent"] = grant.capability or ""
        answers[project] = await scene.ask(
            "agent", "POST", "/v1/agent/effects", json={**body, "params": {**params, "title": "mine"}}
        )
        assert await second.report(grant) == "recorded"
    assert answers["default"].json().get("adopted"), answers["default"].text
    refused = answers["blue"]
    assert (refused.status_code, refused.json()["code"]) == (409, "conflict")
    assert "RED" not in refused.text
    assert done.json()["effect_id"] not in refused.text
    assert done.json()["task_id"] not in refused.text
