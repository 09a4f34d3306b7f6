"""Two tenants on one hub: `red` with one of everything, named so that any trace of it can be searched for; and `blue`, whose
tokens are bound to their own project and who looks for it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx

from tenure.core.access import Role
from tenure.core.attempt import Verdict
from tenure.core.delivery import Terms
from tenure.core.ids import TaskId
from tenure.core.recipient import RecipientSpec
from tenure.core.scope import EffectKind, Scope
from tenure.hub.effects.registry import Registry
from tenure.servers.rest.app import create_app
from tenure.wire.effects import EffectRequest
from tests.eventually import eventually_so
from tests.hub.fake_provider import FakeProvider
from tests.hub.lab import Desk, Lab
from tests.hub.test_on_sqlite import Disk

CANARY = "RED-"
SCOPE = Scope(
    kinds=(EffectKind.PULL_REQUEST,),
    targets=("forge:*",),
    branches=("*",),
    approval=(EffectKind.PULL_REQUEST,),
)
PERSONS = (Role.VIEWER, Role.SUBMITTER, Role.OPERATOR)


class Tenants:
    """`ids`: what red has, by the name of the path parameter that takes it."""

    def __init__(self, lab: Lab, http: httpx.AsyncClient) -> None:
        self.lab = lab
        self.http = http
        self.tokens: dict[str, str] = {}
        self.ids: dict[str, str] = {}
        self.tasks: dict[str, str] = {}
        self.desk: Desk

    async def ask(self, who: str, method: str, path: str, **more: Any) -> httpx.Response:
        headers = {"Authorization": f"Bearer {self.tokens[who]}", **more.pop("headers", {})}
        return await self.http.request(method, path, headers=headers, **more)

    async def submit(self, who: str, key: str = "k", **spec: Any) -> httpx.Response:
        body = {"objective": "do it", "to": "claude", **spec}
        return await self.ask(who, "POST", "/v1/tasks", json=body, headers={"Idempotency-Key": key})

    async def token(self, by: str, name: str, role: str, *projects: str) -> httpx.Response:
        body = {"name": name, "role": role, "projects": projects}
        return await self.ask(by, "POST", "/v1/tokens", json=body)

    async def people(self) -> None:
        """`root`, who is bound to nothing, and three tokens of each tenant."""
        self.tokens["root"] = "tnr_root"
        await self.lab.hub.admit("root", Role.OPERATOR, "tnr_root")
        for project in ("red", "blue"):
            for role in PERSONS:
                name = f"{CANARY if project == 'red' else ''}{role}"
                made = await self.token("root", name, str(role), project)
                assert made.status_code == 201, made.text
                self.tokens[f"{project}-{role}"] = made.json()["token"]
                if project == "red":
                    self.ids["credential_id"] = made.json()["credential_id"]

    async def red_life(self) -> None:
        """Red has a Task that ended, one whose outcome is unknown, one that waits for approval of an Effect, one in the
        queue, a schedule, a policy of its own, used money, and a recipient that its unknown outcome blocks."""
        self.desk = await self.lab.node(
            "box", RecipientSpec("claude", "command"), RecipientSpec("codex", "command")
        )
        ended = await self._red("ended", to="claude@box", labels={"of": f"{CANARY}label"})
        assert await self.desk.report(await self.desk.take()) == "recorded"
        effect = await self._red("effect", to="claude@box", scope=_body(SCOPE))
        grant = await self.desk.take()
        who = self.lab.hub.capability(f"Bearer {grant.capability}")
        params = {"head": f"tenure/{CANARY}head", "base": "main", "title": f"{CANARY}title"}
        asked = EffectRequest(kind=EffectKind.PULL_REQUEST, target="forge:shop", params=params, wait_s=0)
        self.ids["effect_id"] = (await self.lab.effects.perform(who, asked)).effect_id
        assert await self.desk.report(grant, Verdict.FAILED) == "recorded"
        unknown = await self._red("unknown", to="codex@box")
        await self.desk.take()
        await eventually_so(lambda: self.is_lost(unknown))
        queued = await self._red("queued", to="codex@box", concurrency_key="deploy")
        schedule = {
            "name": f"red.{CANARY}nightly",
            "cron": "0 3 * * *",
            "zone": "UTC",
            "task": {"objective": f"{CANARY}schedule", "to": "claude@box"},
        }
        added = await self.ask("red-operator", "POST", "/v1/schedules", json=schedule)
        assert added.status_code == 201, added.text
        choice = {"subject": "project:red", "policy": "default", "because": f"{CANARY}choice"}
        chosen = await self.ask("red-operator", "PUT", "/v1/policy-choices", json=choice)
        assert chosen.status_code == 200, chosen.text
        pause = {"subject": "project:red", "because": f"{CANARY}pause"}
        assert (await self.ask("red-operator", "POST", "/v1/pauses", json=pause)).status_code == 200
        found = (await self.ask("red-operator", "GET", "/v1/attention")).json()
        self.tasks = {"ended": ended, "effect": effect, "unknown": unknown, "queued": queued}
        self.ids |= {
            "task_id": unknown,
            "item_id": next(one["item_id"] for one in found if one["kind"] == "unknown"),
            "account": "project:red",
            "schedule": f"red.{CANARY}nightly",
        }

    async def _red(self, name: str, **spec: Any) -> str:
        made = await self.submit("red-submitter", f"{CANARY}{name}", objective=f"{CANARY}{name}", **spec)
        assert made.status_code == 201, made.text
        return made.json()["task_id"]

    async def is_lost(self, task_id: str) -> bool:
        """Has its outcome become unknown? Lets time pass until then."""
        self.lab.pass_s(60)
        attempts = await self.lab.hub.ledger.attempts(TaskId(task_id))
        return attempts[-1].verdict is Verdict.UNKNOWN

    def traces(self, text: str) -> list[str]:
        """What of red stands in an answer."""
        names = (CANARY, "project:red", '"red"', *self.tasks.values(), self.ids.get("effect_id", CANARY))
        return [one for one in names if one in text]


def _body(scope: Scope) -> dict[str, Any]:
    return {
        "kinds": [str(one) for one in scope.kinds],
        "targets": list(scope.targets),
        "branches": list(scope.branches),
        "approval": [str(one) for one in scope.approval],
    }


@asynccontextmanager
async def tenants(folder: Path | None = None, terms: Terms | None = None) -> AsyncGenerator[Tenants]:
    """`folder`: keep the record on disk there; else in memory."""
    disk = Disk(folder) if folder is not None else None
    lab = Lab(terms, disk.ledger) if disk is not None else Lab(terms)
    lab.registry = Registry({"forge": FakeProvider()})
    try:
        async with lab.running():
            app: Any = create_app(lab.hub)
            transport = httpx.ASGITransport(app, raise_app_exceptions=False)
            async with httpx.AsyncClient(transport=transport, base_url="http://hub") as http:
                one = Tenants(lab, http)
                await one.people()
                await one.red_life()
                yield one
    finally:
        if disk is not None:
            disk.close()
