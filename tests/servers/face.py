"""The REST application over a hub, asked in process; and the same one on a real socket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import httpx

from tenure.client.hub import HubClient
from tenure.core.access import Role
from tenure.servers.rest.app import create_app
from tenure.servers.rest.peer import ALONE, Facing
from tenure.servers.rest.serve import Bind, Listening, serve
from tenure.wire.legs import CONTRACT_HEADER
from tests.hub.lab import Lab

TOKENS = {role: f"tnr_{role}" for role in (Role.VIEWER, Role.SUBMITTER, Role.OPERATOR, Role.JOIN)}


class Face:
    """Requests as the holder of a role, without any client of ours between."""

    def __init__(self, lab: Lab, http: httpx.AsyncClient) -> None:
        self.lab = lab
        self.http = http

    async def ask(
        self, method: str, path: str, role: Role | None = Role.OPERATOR, **more: Any
    ) -> httpx.Response:
        headers = dict(more.pop("headers", {}))
        if role is not None:
            headers["Authorization"] = f"Bearer {TOKENS[role]}"
        return await self.http.request(method, path, headers=headers, **more)

    async def submit(self, key: str = "k", **spec: Any) -> httpx.Response:
        body = {"objective": "do it", "to": "claude", **spec}
        return await self.ask("POST", "/v1/tasks", json=body, headers={"Idempotency-Key": key})

    async def leg(self, path: str, credential: str, contract: str = "1", **more: Any) -> httpx.Response:
        headers = {"Authorization": f"Bearer {credential}", CONTRACT_HEADER: contract}
        if "content" in more:
            headers["Content-Type"] = "application/json"
        return await self.http.post(path, headers=headers, **more)


@asynccontextmanager
async def face(**changes: Any) -> AsyncGenerator[Face]:
    lab = Lab()
    async with lab.running():
        await admit(lab)
        app: Any = create_app(lab.hub, **changes)
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://hub") as http:
            yield Face(lab, http)


async def admit(lab: Lab) -> None:
    for role, token in TOKENS.items():
        await lab.hub.admit(str(role), role, token)


@asynccontextmanager
async def served(
    lab: Lab | None = None, facing: Facing = ALONE, **bind: Any
) -> AsyncGenerator[tuple[Lab, Listening]]:
    """The application on a real socket; the end is bounded."""
    lab = lab or Lab()
    async with lab.running():
        await admit(lab)
        stop, ready = asyncio.Event(), asyncio.get_running_loop().create_future()
        serving = asyncio.ensure_future(
            serve(
                create_app(lab.hub, face=facing),
                Bind(**bind),
                stop,
                on_ready=ready.set_result,
                on_stopping=lab.hub.let_go,
                grace_s=2,
            )
        )
        try:
            yield lab, await asyncio.wait_for(ready, 10)
        finally:
            stop.set()
            await asyncio.wait_for(serving, 10)


def client_of(listening: Listening, role: Role = Role.OPERATOR, **more: Any) -> HubClient:
    return HubClient(listening.url, TOKENS[role], **more)


def client_in(one: Face, role: Role = Role.OPERATOR) -> HubClient:
    """The SDK over the application, in process."""
    return HubClient("http://hub", TOKENS[role], transport=one.http._transport)
