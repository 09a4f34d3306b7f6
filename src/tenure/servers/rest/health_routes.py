"""Is it there, and can it work? Neither needs a token."""

from __future__ import annotations

from litestar import get

from tenure.servers.rest.gate import HubRequest, anybody, api_of, hub_of
from tenure.wire import api


@get("/healthz", guards=[anybody], tags=["health"], summary="The process answers")
async def healthz(request: HubRequest) -> api.HealthBody:
    """Version and incarnation of this start."""
    return api_of(request).queries.health()


@get("/readyz", guards=[anybody], tags=["health"], summary="It can work")
async def readyz(request: HubRequest) -> api.HealthBody:
    """As `/healthz`, once the store answers and every loop runs; else 503."""
    await hub_of(request).check()
    return api_of(request).queries.health()


ROUTES = (healthz, readyz)
