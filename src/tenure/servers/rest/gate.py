"""What every request passes before its handler: who asks, whether they may, and whether every parameter is known.

It runs before a byte of the body is read, so that nobody without a token can make the hub read one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, cast

from litestar.connection import Request
from litestar.datastructures import State
from litestar.handlers import BaseRouteHandler
from litestar.params import QueryParameter
from msgspec.structs import replace

from tenure.core.access import Role
from tenure.errors import FaultError, ForbiddenError, InvalidError
from tenure.hub.access import Principal, refuse_no_node, require
from tenure.hub.api import Api
from tenure.hub.legs import Legs, check_contract
from tenure.hub.service import Hub
from tenure.servers.rest.desks import Desks
from tenure.servers.rest.peer import Connection, address_of, check_node, facing_of, origin_of
from tenure.wire.legs import CONTRACT_HEADER

HubRequest = Request[Principal, Any, State]
ROLE = "tenure_role"
WHOLE = "tenure_whole"
DESKS = "tenure.desks"
UNDER_WAY = "tenure.under_way"
Guard = Callable[[Connection, BaseRouteHandler], Awaitable[None]]


def hub_of(connection: Connection) -> Hub:
    """The hub that this application is a face of, as this request may see it."""
    return desks_of(connection).hub


def desks_of(connection: Connection) -> Desks:
    """The one way from a request to what answers it. For a person they see what that person may, and say from where each
    word came; for all others they are those of the whole hub.

    Raises:
        FaultError: no guard has said yet whose request it is.
    """
    scope: dict[str, Any] = cast("Any", connection.scope)
    found: Desks | None = scope.get(DESKS)
    if found is None:
        raise FaultError(f"{connection.url.path} is answered before it is known who asks")
    return found


def open_desks(connection: Connection, hub: Hub) -> None:
    """Only guards do: what answers this request is this hub, from here on."""
    scope: dict[str, Any] = cast("Any", connection.scope)
    scope[DESKS] = Desks(hub)


def whole_hub(connection: Connection) -> Hub:
    """Only for guards."""
    return cast("Hub", connection.app.state["hub"])


def api_of(connection: Connection) -> Api:
    return desks_of(connection).api


def legs_of(connection: Connection) -> Legs:
    return cast("Legs", connection.app.state["legs"])


def needs(role: Role, *, whole: bool = False) -> Guard:
    """Let through who may do what asks for `role`. `whole`: this is about the hub as a whole, so a token that is bound to
    projects will not do."""

    async def guard(connection: Connection, handler: BaseRouteHandler) -> None:
        refuse_unknown_parameters(connection, handler)
        principal = await authenticated(connection)
        require(principal, role)
        if whole and principal.projects:
            raise ForbiddenError(
                "this is about the hub as a whole, and the token is bound to projects.",
                projects=list(principal.projects),
            )
        who = connection.scope["user"] = replace(principal, origin=origin_of(connection, principal))
        open_desks(connection, whole_hub(connection).for_request(who))

    setattr(guard, ROLE, role)
    setattr(guard, WHOLE, whole)
    return guard


async def authenticated(connection: Connection) -> Principal:
    """Who asks, if they do not ask too often.

    Raises:
        UnauthenticatedError: the token is missing, malformed, unknown or revoked.
        RateLimitedError: it is used too often, or this address guesses.
    """
    access, header = whole_hub(connection).access, connection.headers.get("authorization")
    rates = facing_of(connection).rates
    if rates is None:
        return await access.authenticate(header)
    address = address_of(connection)
    is_guess = access.is_guess(header)
    if is_guess:
        # Before it is looked up: of many that come at once each must count.
        rates.guesses.take(address)
    principal = await access.authenticate(header)
    if is_guess:
        rates.guesses.give_back(address)
    count(connection, principal.credential_id or principal.node_id or principal.name)
    return principal


def count(connection: Connection, name: str) -> None:
    """One request of this name, under way until its answer is over (`counted`).

    Raises:
        RateLimitedError: it is one too many.
    """
    rates = facing_of(connection).rates
    if rates is None:
        return
    rates.requests.take(name)
    rates.under_way.enter(name)
    scope: dict[str, Any] = cast("Any", connection.scope)
    scope[UNDER_WAY] = name


def counted(app: Any) -> Any:
    """The application below, whose requests end with it, however they end."""

    async def counting(scope: Any, receive: Any, send: Any) -> None:
        try:
            await app(scope, receive, send)
        finally:
            name = scope.pop(UNDER_WAY, None)
            if name is not None:
                scope["litestar_app"].state["facing"].rates.under_way.leave(name)

    return counting


def role_of(handler: BaseRouteHandler) -> Role | None:
    """The role that a handler needs; None where any token or none will do."""
    guards: list[Any] = list(cast("Any", handler).guards or ())
    return next((getattr(guard, ROLE) for guard in guards if hasattr(guard, ROLE)), None)


def is_whole(handler: BaseRouteHandler) -> bool:
    """Is it about the hub as a whole?"""
    guards: list[Any] = list(cast("Any", handler).guards or ())
    return any(getattr(guard, WHOLE, False) for guard in guards)


async def speaks(connection: Connection, handler: BaseRouteHandler) -> None:
    """Let through nodes that speak our version of the contract, before a byte of what they say is read."""
    refuse_unknown_parameters(connection, handler)
    who = connection.scope["user"] = await authenticated(connection)
    refuse_no_node(who)
    check_node(connection, who.name)
    check_contract(connection.headers.get(CONTRACT_HEADER))


async def enrolls(connection: Connection, handler: BaseRouteHandler) -> None:
    """Let through join tokens and nodes; which contract is spoken stands in the body, so that a wrong one can be recorded."""
    refuse_unknown_parameters(connection, handler)
    who = connection.scope["user"] = await authenticated(connection)
    if who.role is not Role.JOIN:
        refuse_no_node(who, "enroll: that needs a join token")


async def anybody(connection: Connection, handler: BaseRouteHandler) -> None:
    """Let everybody through, with known parameters, to what says nothing of the record."""
    refuse_unknown_parameters(connection, handler)
    open_desks(connection, whole_hub(connection))


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
