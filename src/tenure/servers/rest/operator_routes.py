"""What operators do and see: answers to unknown Attempts, recipients, nodes, tokens, the audit."""

from __future__ import annotations

from typing import Annotated

from litestar import get, post
from litestar.params import Body, FromPath, QueryParameter
from litestar.response import Stream

from tenure.core.access import Role
from tenure.core.commands import Done
from tenure.hub.api import NEW_TOKEN
from tenure.hub.queries import check_page
from tenure.hub.record import Head
from tenure.servers.rest import example
from tenure.servers.rest.gate import HubRequest, api_of, hub_of, needs
from tenure.servers.rest.json_body import JsonBody
from tenure.servers.rest.task_routes import Limit
from tenure.wire import api

JSON_LINES = "application/jsonl"

After = Annotated[str | None, QueryParameter(name="after", description="Those after this key, in order.")]
TokenRotation = Annotated[api.TokenRotateRequest | None, Body(examples=[example.REASON])]
TokenChange = Annotated[api.TokenChangeRequest | None, Body(examples=[example.REASON])]
Because = Annotated[api.ReasonRequest, Body(examples=[example.REASON])]


@post(
    "/v1/attempts/{task_id:str}/{number:int}/reconcile",
    dto=JsonBody,
    guards=[needs(Role.OPERATOR)],
    status_code=200,
    tags=["attention"],
    summary="Answer an unknown Attempt",
)
async def reconcile_attempt(
    request: HubRequest,
    task_id: FromPath[str],
    number: FromPath[int],
    data: Annotated[api.ReconcileBody, Body(examples=[example.RECONCILE])],
) -> api.ReconcileReplyBody:
    """`rerun`, `accept`, `retire` or `investigate`; what is offered now, and the version to name, stand with the
    Attempt. The path is the Attempt's id (`t_…/3`), its slash plain or percent-encoded."""
    return await api_of(request).reconcile(request.user, f"{task_id}/{number}", data)


@get("/v1/recipients", guards=[needs(Role.VIEWER)], tags=["nodes"], summary="Recipients")
async def list_recipients(
    request: HubRequest, after: After = None, limit: Limit = 100
) -> tuple[api.RecipientBody, ...]:
    """Whom work can be sent to, by address, and whether each takes work now."""
    return await api_of(request).queries.recipients(after, check_page(limit))


@get("/v1/nodes", guards=[needs(Role.VIEWER)], tags=["nodes"], summary="Nodes")
async def list_nodes(
    request: HubRequest, after: After = None, limit: Limit = 100
) -> tuple[api.NodeBody, ...]:
    """The machines that were enrolled, by id."""
    return await api_of(request).queries.nodes(after, check_page(limit))


@post(
    "/v1/nodes/{name:str}/forget",
    dto=JsonBody,
    guards=[needs(Role.OPERATOR, whole=True)],
    status_code=200,
    tags=["nodes"],
    summary="State that a machine is gone",
)
async def forget_node(request: HubRequest, name: FromPath[str], data: Because) -> Done:
    """Its credential is refused from now on and its slots are freed. What it ran stays unknown until answered."""
    return await api_of(request).forget_node(request.user, name, data.because)


@post(
    "/v1/nodes/{name:str}/release",
    dto=JsonBody,
    guards=[needs(Role.OPERATOR, whole=True)],
    status_code=200,
    tags=["nodes"],
    summary="Lift a quarantine",
)
async def release_node(request: HubRequest, name: FromPath[str], data: Because) -> Done:
    """Give a node work again after it is known why two machines used its credential."""
    return await api_of(request).release_node(request.user, name, data.because)


@get("/v1/tokens", guards=[needs(Role.OPERATOR)], tags=["tokens"], summary="Tokens")
async def list_tokens(
    request: HubRequest, after: After = None, limit: Limit = 100
) -> tuple[api.TokenBody, ...]:
    """Every token that was issued, without its secret."""
    return await api_of(request).queries.tokens(after, check_page(limit), request.user.credential_id)


@post(
    "/v1/tokens",
    dto=JsonBody,
    guards=[needs(Role.OPERATOR)],
    status_code=201,
    tags=["tokens"],
    summary="Issue a token",
)
async def issue_token(
    request: HubRequest, data: Annotated[api.TokenRequest, Body(examples=[example.TOKEN_REQUEST])]
) -> api.TokenReply:
    """The secret is in this answer and nowhere else. Roles: viewer, submitter, operator, join."""
    return await api_of(request).issue_token(request.user, data)


@post(
    "/v1/tokens/{credential_id:str}/rotate",
    dto=JsonBody,
    guards=[needs(Role.OPERATOR)],
    status_code=201,
    tags=["tokens"],
    summary="Put a new token in the place of one",
)
async def rotate_token(
    request: HubRequest, credential_id: FromPath[str], data: TokenRotation = None
) -> api.TokenReply:
    """With the same name, role and projects. The old one is refused from the next request on, its live streams end. Whoever
    makes the new one themselves (`token`) may ask again after a lost answer, under the new one if the old one was theirs;
    who rotates the token that they use must."""
    return await api_of(request).rotate_token(request.user, credential_id, data or NEW_TOKEN)


@post(
    "/v1/tokens/{credential_id:str}/revoke",
    dto=JsonBody,
    guards=[needs(Role.OPERATOR)],
    status_code=200,
    tags=["tokens"],
    summary="Revoke a token",
)
async def revoke_token(request: HubRequest, credential_id: FromPath[str], data: TokenChange = None) -> Done:
    """It is refused from the next request on, its live streams end."""
    return await api_of(request).revoke_token(request.user, credential_id, data.because if data else "")


@get(
    "/v1/audit/head",
    guards=[needs(Role.VIEWER, whole=True)],
    tags=["audit"],
    summary="The anchor to keep elsewhere",
)
async def audit_head(request: HubRequest) -> Head:
    """The last commit. Kept somewhere else, it pins everything up to it."""
    return hub_of(request).record.head()


@get(
    "/v1/audit/export",
    guards=[needs(Role.OPERATOR, whole=True)],
    media_type=JSON_LINES,
    tags=["audit"],
    summary="The whole record",
)
async def audit_export(request: HubRequest) -> Stream:
    """Every event up to now as JSON Lines, for others to check."""
    record = hub_of(request).record
    record.head()
    return Stream(record.export(), media_type=JSON_LINES)


ROUTES = (
    reconcile_attempt,
    list_recipients,
    list_nodes,
    forget_node,
    release_node,
    list_tokens,
    issue_token,
    rotate_token,
    revoke_token,
    audit_head,
    audit_export,
)
