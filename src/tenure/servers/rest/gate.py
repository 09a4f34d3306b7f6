"""What every request passes before its handler: who asks, whether they may, and whether every parameter is known.

It runs before a byte of the body is read, so that nobody without a token can make the hub read one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, cast

from litestar.connection import ASGIConnection, Request
from litestar.datastructures import State
from litestar.handlers import BaseRouteHandler
from litestar.params import QueryParameter

from tenure.core.access import Role
from tenure.errors import InvalidError
from tenure.hub.access import Principal, require
from tenure.hub.api import Api
from tenure.hub.legs import Legs, check_contract
from tenure.hub.service import Hub
from tenure.wire.legs import CONTRACT_HEADER

HubRequest = Request[Principal, Any, State]
Connection = ASGIConnection[Any, Principal, Any, State]
ROLE = "tenure_role"
Guard = Callable[[Connection, BaseRouteHandler], Awaitable[None]]


def hub_of(connection: Connection) -> Hub:
    """The hub that this application is a face of."""
    return cast("Hub", connection.app.state["hub"])


def api_of(connection: Connection) -> Api:
    return cast("Api", connection.app.state["api"])


def legs_of(connection: Connection) -> Legs:
    return cast("Legs", connection.app.state["legs"])


def needs(role: Role) -> Guard:
    """Let through who may do what asks for `role`."""

    async def guard(connection: Connection, handler: BaseRouteHandler) -> None:
        refuse_unknown_parameters(connection, handler)
        principal = await hub_of(connection).access.authenticate(connection.headers.get("authorization"))
        require(principal, role)
        connection.scope["user"] = principal

    setattr(guard, ROLE, role)
    return guard


def role_of(handler: BaseRouteHandler) -> Role | None:
    """The role that a handler needs; None where any token or none will do."""
    guards: list[Any] = list(cast("Any", handler).guards or ())
    return next((getattr(guard, ROLE) for guard in guards if hasattr(guard, ROLE)), None)


async def speaks(connection: Connection, handler: BaseRouteHandler) -> None:
    """Let through whoever has a token and speaks our version of the contract; the leg itself says who may."""
    refuse_unknown_parameters(connection, handler)
    connection.scope["user"] = await hub_of(connection).access.authenticate(
        connection.headers.get("authorization")
    )
    check_contract(connection.headers.get(CONTRACT_HEADER))


async def enrolls(connection: Connection, handler: BaseRouteHandler) -> None:
    """As `speaks`; which contract is spoken stands in the body, so that a wrong one can be recorded."""
    refuse_unknown_parameters(connection, handler)
    connection.scope["user"] = await hub_of(connection).access.authenticate(
        connection.headers.get("authorization")
    )


async def anybody(connection: Connection, handler: BaseRouteHandler) -> None:
    """Let everybody through, with known parameters."""
    refuse_unknown_parameters(connection, handler)


def refuse_unknown_parameters(connection: Connection, handler: BaseRouteHandler) -> None:
    """A parameter that nobody reads is a mistake of the caller, and a filter left out is a wrong answer.

    Raises:
        InvalidError: there is one.
    """
    if not connection.scope["query_string"]:
        return
    known = query_names(handler)
    unknown = sorted({str(name) for name in connection.query_params} - known)
    if unknown:
        says = ", ".join(sorted(known)) or "none"
        raise InvalidError(
            f"{unknown[0][:80]!r} is no parameter here; known: {says}.",
            unknown=[one[:80] for one in unknown[:10]],
        )


def query_names(handler: BaseRouteHandler) -> frozenset[str]:
    """The names of a handler's query parameters."""
    fields = handler.parsed_fn_signature.parameters
    kinds = {name: field.kwarg_definition for name, field in fields.items()}
    return frozenset(kind.name or name for name, kind in kinds.items() if isinstance(kind, QueryParameter))
