"""Is it there, can it work, and what can be asked? None of these needs a token."""

from __future__ import annotations

from litestar import Response, get

from tenure.servers.rest.description import DESCRIPTION_TYPE, description_json
from tenure.servers.rest.gate import HubRequest, anybody, api_of, hub_of
from tenure.wire import api


@get("/healthz", guards=[anybody], tags=["health"], summary="The process answers")
async def healthz(request: HubRequest) -> api.HealthBody:
    """Version and incarnation of this start."""
    return api_of(request).queries.health()


@get("/readyz", guards=[anybody], tags=["health"], summary="It can work")
async def readyz(request: HubRequest) -> api.HealthBody:
    """As `/healthz`, once the store answers, takes commits, and every loop runs; else 503, or 507 while the disk is
    full."""
    await hub_of(request).check()
    return api_of(request).queries.health()


@get(
    "/v1/openapi.json",
    guards=[anybody],
    media_type=DESCRIPTION_TYPE,
    tags=["health"],
    summary="This description",
)
async def openapi(request: HubRequest) -> Response[bytes]:
    """The API's description of itself, OpenAPI 3.1."""
    said = description_json(request.app.state["routes"], hub_of(request).identity.version)
    return Response(said, media_type=DESCRIPTION_TYPE)


ROUTES = (healthz, readyz, openapi)
