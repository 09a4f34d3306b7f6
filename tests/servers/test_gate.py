"""What answers a request is made by its guard, once it is known who asks; nothing answers before."""

from __future__ import annotations

from typing import Any

import pytest
from litestar import Litestar, get
from litestar.connection import ASGIConnection
from litestar.handlers import BaseRouteHandler
from litestar.testing import AsyncTestClient

from tenure.core.access import Role
from tenure.errors import FaultError
from tenure.servers.rest.gate import HubRequest, api_of, desks_of, hub_of, needs
from tenure.servers.rest.peer import ALONE
from tenure.wire import api
from tests.hub.lab import ANN, Lab
from tests.servers.face import TOKENS, admit

seen: dict[str, Any] = {}


async def looks_too_early(connection: ASGIConnection[Any, Any, Any, Any], _: BaseRouteHandler) -> None:
    """A guard that asks for the hub before the one that says who asks."""
    for looks in (desks_of, hub_of, api_of):
        with pytest.raises(FaultError, match="before it is known who asks"):
            looks(connection)
    seen["early"] = True


@get("/early", guards=[looks_too_early, needs(Role.VIEWER)])
async def early(request: HubRequest) -> str:
    sight = hub_of(request).sight
    return "all" if sight is None else ",".join(sight.projects)


@get("/unguarded")
async def unguarded(request: HubRequest) -> str:
    return hub_of(request).identity.version


async def test_a_request_that_is_looked_at_before_its_guard_is_not_answered_with_the_whole_hub() -> None:
    lab = Lab()
    async with lab.running():
        await admit(lab)
        asked = api.TokenRequest(name="blue", role="viewer", projects=("blue",))
        bound = (await lab.api.issue_token(ANN, asked)).token
        app = Litestar([early, unguarded], debug=False)
        app.state["hub"], app.state["facing"] = lab.hub, ALONE
        async with AsyncTestClient(app, raise_server_exceptions=False) as http:
            for token, reach in ((TOKENS[Role.VIEWER], "all"), (bound, "blue")):
                seen.clear()
                answer = await http.get("/early", headers={"Authorization": f"Bearer {token}"})
                assert (answer.text, seen) == (reach, {"early": True})
            assert (await http.get("/unguarded")).status_code == 500
