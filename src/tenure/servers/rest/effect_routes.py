"""Effects: what an agent asks for with its capability (`/v1/agent`), and what people see and decide."""

from __future__ import annotations

from typing import Annotated, cast

from litestar import get, post
from litestar.handlers import BaseRouteHandler
from litestar.params import Body, FromPath

from tenure.core.access import Role
from tenure.core.commands import Done
from tenure.hub.effect_desk import EffectDesk
from tenure.hub.effects.capability import Capability
from tenure.servers.rest import example
from tenure.servers.rest.gate import (
    HubRequest,
    count,
    desks_of,
    needs,
    open_desks,
    refuse_unknown_parameters,
    whole_hub,
)
from tenure.servers.rest.json_body import JsonBody
from tenure.servers.rest.peer import Connection
from tenure.wire import effects as wire

Decision = Annotated[wire.DecisionRequest, Body(examples=[example.DECISION])]


async def carries_capability(connection: Connection, handler: BaseRouteHandler) -> None:
    """Let through whoever holds a capability of this hub; whether its lease is open is decided in each commit."""
    refuse_unknown_parameters(connection, handler)
    whole = whole_hub(connection)
    capability = whole.capability(connection.headers.get("authorization"))
    count(connection, capability.delivery_id)
    connection.scope["user"] = capability
    open_desks(connection, whole)


def desk_of(request: HubRequest) -> EffectDesk:
    return desks_of(request).effects


def holder(request: HubRequest) -> Capability:
    return cast("Capability", request.scope["user"])


@post(
    "/v1/agent/effects",
    dto=JsonBody,
    guards=[carries_capability],
    status_code=200,
    tags=["agents"],
    summary="Have an Effect done",
)
async def perform_effect(
    request: HubRequest, data: Annotated[wire.EffectRequest, Body(examples=[example.EFFECT])]
) -> wire.EffectBody:
    """With the Attempt's capability as bearer. The key names the operation: a repeat is answered with what is recorded,
    and nothing is ever done twice for it. `state` says how far it is; `problem` and `advice` what to do if not done."""
    return await desk_of(request).perform(holder(request), data)


@get("/v1/agent/effects", guards=[carries_capability], tags=["agents"], summary="The agent's own Effects")
async def agent_effects(request: HubRequest) -> list[wire.EffectBody]:
    """Every Effect of the capability's Task, oldest first."""
    return await desk_of(request).of_agent(holder(request))


@get("/v1/agent/context", guards=[carries_capability], tags=["agents"], summary="The agent's own Task")
async def agent_context(request: HubRequest) -> wire.AgentContext:
    """What was asked for, which Attempt this is, what became of those before, and what it may do outside."""
    return await desk_of(request).context(holder(request))


@get(
    "/v1/tasks/{task_id:str}/effects",
    guards=[needs(Role.VIEWER)],
    tags=["effects"],
    summary="A Task's Effects",
)
async def task_effects(request: HubRequest, task_id: FromPath[str]) -> list[wire.EffectBody]:
    """Every Effect of a Task, oldest first."""
    return await desk_of(request).of_task(task_id)


@get("/v1/effects/{effect_id:str}", guards=[needs(Role.VIEWER)], tags=["effects"], summary="One Effect")
async def get_effect(request: HubRequest, effect_id: FromPath[str]) -> wire.EffectBody:
    """An Effect as it stands."""
    return await desk_of(request).one(effect_id)


@post(
    "/v1/approvals/{subject:str}/approve",
    dto=JsonBody,
    guards=[needs(Role.OPERATOR)],
    status_code=200,
    tags=["effects"],
    summary="Allow an Effect or an Attempt",
)
async def approve(request: HubRequest, subject: FromPath[str], data: Decision) -> Done:
    """`subject` is an Effect, or a Task whose Attempt needs a person. The version names what was read: a decision on what
    has changed meanwhile is refused. It allows; it does not revive a lease."""
    return await desk_of(request).decide(request.user, subject, data, approve=True)


@post(
    "/v1/approvals/{subject:str}/reject",
    dto=JsonBody,
    guards=[needs(Role.OPERATOR)],
    status_code=200,
    tags=["effects"],
    summary="Reject an Effect or an Attempt",
)
async def reject(request: HubRequest, subject: FromPath[str], data: Decision) -> Done:
    """The Effect is not done, and its agent is told so; a rejected Task ends."""
    return await desk_of(request).decide(request.user, subject, data, approve=False)


@post(
    "/v1/effects/{effect_id:str}/resolve",
    dto=JsonBody,
    guards=[needs(Role.OPERATOR)],
    status_code=200,
    tags=["effects"],
    summary="Say what became of an Effect in doubt",
)
async def resolve_effect(
    request: HubRequest,
    effect_id: FromPath[str],
    data: Annotated[wire.ResolveRequest, Body(examples=[example.RESOLVE])],
) -> Done:
    """For an Effect whose provider cannot tell, or whose facts contradict each other: a person looks and says so."""
    return await desk_of(request).resolve(request.user, effect_id, data)


ROUTES = (
    perform_effect,
    agent_effects,
    agent_context,
    task_effects,
    get_effect,
    approve,
    reject,
    resolve_effect,
)
