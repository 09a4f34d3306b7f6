"""What may be used, what is paused, and which providers are left alone."""

from __future__ import annotations

from typing import Annotated

from litestar import get, post, put
from litestar.params import Body, FromPath, QueryParameter

from tenure.core.access import Role
from tenure.hub.account_desk import AccountDesk
from tenure.hub.operating_desk import OperatingDesk
from tenure.servers.rest import example
from tenure.servers.rest.gate import HubRequest, desks_of, needs
from tenure.servers.rest.json_body import JsonBody
from tenure.servers.rest.peer import Connection
from tenure.wire.accounts import (
    AccountBody,
    AccountRequest,
    CircuitBody,
    CloseCircuitRequest,
    PauseBody,
    PauseRequest,
    ResumeRequest,
    TaskBudgetBody,
)


def accounts_of(connection: Connection) -> AccountDesk:
    return desks_of(connection).accounts


def operating(connection: Connection) -> OperatingDesk:
    return desks_of(connection).operating


@get("/v1/accounts", guards=[needs(Role.VIEWER)], tags=["accounts"], summary="Accounts")
async def list_accounts(request: HubRequest) -> tuple[AccountBody, ...]:
    """The hub's, then those of the projects, by name."""
    return await accounts_of(request).list()


@get("/v1/accounts/{account:str}", guards=[needs(Role.VIEWER)], tags=["accounts"], summary="One account")
async def get_account(request: HubRequest, account: FromPath[str]) -> AccountBody:
    """`hub` or `project:NAME`. A project that nobody has used yet has an account with nothing in it."""
    return await accounts_of(request).show(account)


@put(
    "/v1/accounts/{account:str}",
    dto=JsonBody,
    guards=[needs(Role.OPERATOR, whole=True)],
    status_code=200,
    tags=["accounts"],
    summary="Set what an account may use",
)
async def set_account(
    request: HubRequest,
    account: FromPath[str],
    data: Annotated[AccountRequest, Body(examples=[example.ACCOUNT])],
) -> AccountBody:
    """All of it at once: what is left out is not limited. The same again changes nothing, but with `reset`."""
    return await accounts_of(request).set(request.user, account, data)


@get(
    "/v1/tasks/{task_id:str}/budget",
    guards=[needs(Role.VIEWER)],
    tags=["accounts"],
    summary="What a Task may use",
)
async def get_task_budget(request: HubRequest, task_id: FromPath[str]) -> TaskBudgetBody:
    """Its limits, what it has used, and what is left."""
    return await accounts_of(request).of_task(task_id)


@get("/v1/pauses", guards=[needs(Role.VIEWER)], tags=["pauses"], summary="What is paused")
async def list_pauses(request: HubRequest) -> tuple[PauseBody, ...]:
    """The hub, projects, nodes, recipients, in this order, each with what still runs there."""
    return await operating(request).pauses()


@get("/v1/pauses/{subject:str}", guards=[needs(Role.VIEWER)], tags=["pauses"], summary="Is it paused?")
async def get_pause(request: HubRequest, subject: FromPath[str]) -> PauseBody:
    """`hub`, `project:NAME`, `node:NAME` or a recipient; and what runs there."""
    return await operating(request).paused(subject)


@post(
    "/v1/pauses",
    dto=JsonBody,
    guards=[needs(Role.OPERATOR)],
    status_code=200,
    tags=["pauses"],
    summary="Pause the hub, a project, a node or a recipient",
)
async def pause(
    request: HubRequest, data: Annotated[PauseRequest, Body(examples=[example.PAUSE])]
) -> PauseBody:
    """Nothing new starts there; what runs goes on. Paused twice it is paused once."""
    return await operating(request).pause(request.user, data)


@post(
    "/v1/pauses/resume",
    dto=JsonBody,
    guards=[needs(Role.OPERATOR)],
    status_code=200,
    tags=["pauses"],
    summary="Let new work start again",
)
async def resume(
    request: HubRequest, data: Annotated[ResumeRequest, Body(examples=[example.RESUME])]
) -> PauseBody:
    """Resumed twice it is resumed once."""
    return await operating(request).resume(request.user, data)


@get("/v1/circuits", guards=[needs(Role.VIEWER)], tags=["circuits"], summary="Providers that are left alone")
async def list_circuits(
    request: HubRequest,
    closed: Annotated[bool, QueryParameter(description="true shows closed ones as well.")] = False,
) -> tuple[CircuitBody, ...]:
    """Each with the instant until which it holds its recipients back, and why."""
    return await operating(request).circuits(with_closed=closed)


@post(
    "/v1/circuits/close",
    dto=JsonBody,
    guards=[needs(Role.OPERATOR, whole=True)],
    status_code=200,
    tags=["circuits"],
    summary="State that a provider has room again",
)
async def close_circuit(
    request: HubRequest, data: Annotated[CloseCircuitRequest, Body(examples=[example.CLOSE_CIRCUIT])]
) -> CircuitBody:
    """Its recipients are given work again at once. If it has no room after all, the circuit opens again."""
    return await operating(request).close_circuit(request.user, data)


ROUTES = (
    list_accounts,
    get_account,
    set_account,
    get_task_budget,
    list_pauses,
    get_pause,
    pause,
    resume,
    list_circuits,
    close_circuit,
)
