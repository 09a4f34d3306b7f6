"""The six legs over HTTP (`tenure.wire.legs`)."""

from __future__ import annotations

from collections.abc import Awaitable

from litestar import post
from litestar.params import JSONBody

from tenure.servers.rest.connection import has_ended
from tenure.servers.rest.gate import HubRequest, enrolls, legs_of, speaks
from tenure.servers.rest.json_body import LegBody
from tenure.servers.rest.peer import check_node
from tenure.wire import legs as ws

TAGS = ["legs"]


@post(ws.ENROLL, dto=LegBody, guards=[enrolls], status_code=200, tags=TAGS, summary="A start of a node")
async def enroll(request: HubRequest, data: JSONBody[ws.EnrollRequest]) -> ws.EnrollReply:
    """First with a join token as bearer, later with the node's own credential."""
    check_node(request, data.name)
    return await legs_of(request).enroll(request.user, data)


@post(ws.CLAIM, dto=LegBody, guards=[speaks], status_code=200, tags=TAGS, summary="Ask for work")
async def claim(request: HubRequest, data: JSONBody[ws.ClaimRequest]) -> ws.ClaimReply:
    """Held up to `wait_s` until there is some. The same claim id gives the same un-acknowledged grants."""
    return await legs_of(request).claim(request.user, data, lambda: _gone(request))


@post(ws.ACKNOWLEDGE, dto=LegBody, guards=[speaks], status_code=200, tags=TAGS, summary="Receipts")
async def acknowledge(request: HubRequest, data: JSONBody[ws.AckRequest]) -> ws.ItemsReply:
    """A Delivery may start only once its receipt is answered `delivered`."""
    return await legs_of(request).acknowledge(request.user, data)


@post(ws.RENEW, dto=LegBody, guards=[speaks], status_code=200, tags=TAGS, summary="Renewals")
async def renew(request: HubRequest, data: JSONBody[ws.RenewRequest]) -> ws.ItemsReply:
    """Every lease that the node holds, with progress and usage."""
    return await legs_of(request).renew(request.user, data)


@post(ws.REPORT, dto=LegBody, guards=[speaks], status_code=200, tags=TAGS, summary="Outcomes")
async def report(request: HubRequest, data: JSONBody[ws.ReportRequest]) -> ws.ItemsReply:
    """The outcome of an Attempt, or a Delivery handed back unstarted."""
    return await legs_of(request).report(request.user, data)


@post(ws.RECONCILE, dto=LegBody, guards=[speaks], status_code=200, tags=TAGS, summary="What the node holds")
async def reconcile(request: HubRequest, data: JSONBody[ws.ReconcileRequest]) -> ws.ReconcileReply:
    """After a restart or a lost link: everything the node's store says, and what to do with each Delivery."""
    return await legs_of(request).reconcile(request.user, data)


async def _gone(request: HubRequest) -> None:
    """Returns when the node has closed its connection, or its side of it: then it waits for an answer to read, and
    gets what there is. The body is read, so nothing else can come."""
    receive: Awaitable[dict[str, object]] = request.receive()  # type: ignore[assignment] - untyped in the library
    while (await receive)["type"] != "http.disconnect" and not has_ended(request.scope):
        receive = request.receive()  # type: ignore[assignment] - untyped in the library


ROUTES = (enroll, claim, acknowledge, renew, report, reconcile)
