"""What forges send. No token: each message is signed with a secret that the forge and this hub share."""

from __future__ import annotations

from typing import cast

from litestar import Response, post
from litestar.handlers import BaseRouteHandler
from litestar.params import FromPath

from tenure.core.limits import WEBHOOK_BYTES
from tenure.errors import IdempotencyMismatchError, TooLargeError, UnauthenticatedError
from tenure.hub.problem import problem_of
from tenure.hub.webhook_desk import WebhookDesk
from tenure.providers.inbound import Message
from tenure.servers.rest.gate import HubRequest, refuse_unknown_parameters
from tenure.servers.rest.peer import Connection, address_of, facing_of
from tenure.servers.rest.problem import problem_response
from tenure.wire.codec import encode
from tenure.wire.webhooks import WebhookBody

CONFLICT = 409


def desk_of(connection: Connection) -> WebhookDesk:
    return cast("WebhookDesk", connection.app.state["webhooks"])


async def may_be_signed(connection: Connection, handler: BaseRouteHandler) -> None:
    """Let through what has a signature of the right form, before a byte of its body is read."""
    refuse_unknown_parameters(connection, handler)
    rates = facing_of(connection).rates
    if rates is not None:
        rates.guesses.check(address_of(connection))
    places = connection.path_params
    desk_of(connection).admit(str(places["forge"]), str(places["name"]), headers_of(connection))


@post(
    "/v1/webhooks/{forge:str}/{name:str}",
    guards=[may_be_signed],
    status_code=200,
    tags=["webhooks"],
    summary="A forge's message",
)
async def receive_webhook(
    request: HubRequest, forge: FromPath[str], name: FromPath[str]
) -> Response[WebhookBody] | Response[bytes]:
    """`forge` is `github`, `gitlab` or `gitea`, `name` that of the provider whose webhook secret signs it. The delivery id
    is claimed before anything follows: a repeat is answered with what is recorded, the same id with another body with
    409. See docs/guides/webhooks.md."""
    message = Message(headers_of(request), await bounded_body(request))
    try:
        body = await _received(request, forge, name, message)
    except IdempotencyMismatchError as error:
        # A forge's id is not a key that the sender chose badly: the two messages contradict each other.
        return problem_response(problem_of(error, CONFLICT))
    return Response(encode(body), media_type="application/json")


async def _received(request: HubRequest, forge: str, name: str, message: Message) -> WebhookBody:
    """What came of it. One that is signed wrongly counts as a guess of its sender's.

    Raises:
        UnauthenticatedError: it is signed wrongly.
        RateLimitedError: too many from there were.
    """
    try:
        return await desk_of(request).receive(forge, name, message)
    except UnauthenticatedError:
        rates = facing_of(request).rates
        if rates is not None:
            rates.guesses.take(address_of(request))
        raise


def headers_of(connection: Connection) -> dict[str, str]:
    """By their names in lower case; of one that is there twice the first, so that none can be added behind it."""
    found: dict[str, str] = {}
    for name, value in connection.headers.multi_items():
        found.setdefault(name.lower(), value)
    return found


async def bounded_body(request: HubRequest) -> bytes:
    """The raw body: what was signed.

    Raises:
        TooLargeError: it has more than a webhook may have; the rest was not read.
    """
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > WEBHOOK_BYTES:
            raise TooLargeError(f"the body has more than {WEBHOOK_BYTES} bytes.", limit_bytes=WEBHOOK_BYTES)
    return bytes(body)


ROUTES = (receive_webhook,)
