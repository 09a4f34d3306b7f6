"""The application: routes, the gate before them, errors as problems.

One is made per hub. It holds no rule and no state but the hub it is a face of."""

from __future__ import annotations

from typing import Any, cast

from litestar import Litestar
from litestar.datastructures import State
from litestar.types import Message, Scope

from tenure.hub.legs import Legs
from tenure.hub.push.gate import GitGate
from tenure.hub.service import Hub
from tenure.hub.webhook_desk import WebhookDesk
from tenure.runtime.settings_schema import BODY_BYTES
from tenure.servers.rest import (
    account_routes,
    attention_routes,
    effect_routes,
    event_routes,
    health_routes,
    leg_routes,
    operator_routes,
    policy_routes,
    schedule_routes,
    task_routes,
    webhook_routes,
)
from tenure.servers.rest.gate import counted
from tenure.servers.rest.git_routes import git_route
from tenure.servers.rest.held_bodies import HeldBodies
from tenure.servers.rest.peer import ALONE, Facing
from tenure.servers.rest.problem import exception_handlers

ROUTES: tuple[Any, ...] = (
    *task_routes.ROUTES,
    *event_routes.ROUTES,
    *effect_routes.ROUTES,
    *webhook_routes.ROUTES,
    *schedule_routes.ROUTES,
    *policy_routes.ROUTES,
    *account_routes.ROUTES,
    *attention_routes.ROUTES,
    *operator_routes.ROUTES,
    *health_routes.ROUTES,
    *leg_routes.ROUTES,
)
SECURITY_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"cache-control", b"no-store"),
)
"""For answers that say nothing of their own: no answer of an API is ever a page, a frame or a cached copy."""


def create_app(
    hub: Hub,
    *,
    max_body_bytes: int = BODY_BYTES,
    git: GitGate | None = None,
    face: Facing = ALONE,
) -> Litestar:
    """The hub's face over HTTP. No request body is read beyond `max_body_bytes`, but for git's, which `git` bounds.
    All that are read at a time have a bound together (`held_bodies`). `face`: what it knows of its surroundings."""
    return Litestar(
        [*ROUTES, *([git_route(git)] if git is not None else [])],
        state=State(
            {
                "hub": hub,
                "legs": Legs(hub),
                "webhooks": WebhookDesk(hub, hub.broker),
                "routes": ROUTES,
                "facing": face,
            }
        ),
        exception_handlers=exception_handlers(hub.ids),
        before_send=[add_security_headers],
        middleware=[counted, HeldBodies(max_body_bytes).middleware],
        openapi_config=None,
        request_max_body_size=max_body_bytes,
        return_dto=None,
        logging_config=None,
        debug=False,
        pdb_on_exception=False,
    )


async def add_security_headers(message: Message, _scope: Scope) -> None:
    """Add what an answer does not say itself."""
    if message["type"] == "http.response.start":
        headers: list[tuple[bytes, bytes]] = cast("Any", message)["headers"]
        said = {name.lower() for name, _ in headers}
        headers.extend(header for header in SECURITY_HEADERS if header[0] not in said)
