"""`/v1/policies`, `/v1/policy-choices`, and why an Attempt's end was met as it was."""

from __future__ import annotations

from typing import Annotated

from litestar import Response, get, post, put
from litestar.openapi import ResponseSpec
from litestar.params import Body, FromPath, QueryParameter

from tenure.core.access import Role
from tenure.hub.explanation_desk import ExplanationDesk
from tenure.hub.policy_desk import PolicyDesk
from tenure.servers.rest import example
from tenure.servers.rest.gate import HubRequest, desks_of, needs
from tenure.servers.rest.json_body import JsonBody
from tenure.servers.rest.peer import Connection
from tenure.wire.policies import ChoiceBody, ChoiceRequest, ExplanationBody, PolicyBody, PolicyRequest

REPLAYED = {
    200: ResponseSpec(PolicyBody, generate_examples=False, description="It was stored before, just so")
}


def desk_of(connection: Connection) -> PolicyDesk:
    return desks_of(connection).policies


def explaining(connection: Connection) -> ExplanationDesk:
    return desks_of(connection).explanations


@get("/v1/policies", guards=[needs(Role.VIEWER)], tags=["policies"], summary="Failure policies")
async def list_policies(request: HubRequest) -> tuple[PolicyBody, ...]:
    """The newest version of each, the built-in ones first."""
    return await desk_of(request).list()


@get(
    ["/v1/policies/{name:str}", "/v1/policies/{name:str}/{version:int}"],
    guards=[needs(Role.VIEWER)],
    tags=["policies"],
    summary="One failure policy",
)
async def get_policy(
    request: HubRequest, name: FromPath[str], version: FromPath[int | None] = None
) -> PolicyBody:
    """Its newest version, or the one that is named."""
    return await desk_of(request).show(name if version is None else f"{name}/{version}")


@post(
    "/v1/policies",
    dto=JsonBody,
    guards=[needs(Role.OPERATOR, whole=True)],
    status_code=201,
    responses=REPLAYED,
    tags=["policies"],
    summary="Store a failure policy",
)
async def store_policy(
    request: HubRequest, data: Annotated[PolicyRequest, Body(examples=[example.POLICY])]
) -> Response[PolicyBody]:
    """A version never changes; the same content again is answered with 200. What it `extends` is filled in now, so that the
    stored policy is whole. A policy that can never work is refused, with every problem in the facts."""
    body = await desk_of(request).store(request.user, data)
    return Response(body, status_code=200 if body.replayed else 201)


@get("/v1/policy-choices", guards=[needs(Role.VIEWER)], tags=["policies"], summary="Which policy holds where")
async def list_choices(request: HubRequest) -> tuple[ChoiceBody, ...]:
    """Where nothing is chosen the policy `default` holds."""
    return await desk_of(request).choices()


@put(
    "/v1/policy-choices",
    dto=JsonBody,
    guards=[needs(Role.OPERATOR)],
    status_code=200,
    tags=["policies"],
    summary="Choose a policy",
)
async def choose_policy(
    request: HubRequest, data: Annotated[ChoiceRequest, Body(examples=[example.CHOICE])]
) -> ChoiceBody:
    """For the hub, a project or a route; for Attempts that are made from now on. A null policy takes the choice back."""
    return await desk_of(request).choose(request.user, data)


@get(
    "/v1/attempts/{task_id:str}/{number:int}/explanation",
    guards=[needs(Role.VIEWER)],
    tags=["policies"],
    summary="Why an Attempt's end was met as it was",
)
async def explain_attempt(
    request: HubRequest,
    task_id: FromPath[str],
    number: FromPath[int],
    policy: Annotated[
        str | None, QueryParameter(description="What this policy would say instead (NAME or NAME/VERSION).")
    ] = None,
) -> ExplanationBody:
    """The rule that fired on the recorded evidence, the response, what was passed over, and what it came to. It changes
    nothing. The path is the Attempt's id (`t_…/3`)."""
    return await explaining(request).explain(task_id, number, policy)


@post(
    "/v1/attempts/{task_id:str}/{number:int}/explanation",
    dto=JsonBody,
    guards=[needs(Role.VIEWER)],
    status_code=200,
    tags=["policies"],
    summary="What a policy would say of an Attempt's end",
)
async def explain_attempt_by(
    request: HubRequest,
    task_id: FromPath[str],
    number: FromPath[int],
    data: Annotated[PolicyRequest, Body(examples=[example.POLICY])],
) -> ExplanationBody:
    """As above, by a policy that need not be stored. It changes nothing."""
    return await explaining(request).explain(task_id, number, document=data)


ROUTES = (
    list_policies,
    get_policy,
    store_policy,
    list_choices,
    choose_policy,
    explain_attempt,
    explain_attempt_by,
)
