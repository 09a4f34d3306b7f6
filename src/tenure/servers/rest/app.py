"""The application: routes, the gate before them, errors as problems, the API's own description.

One is made per hub. It holds no rule and no state but the hub it is a face of."""

from __future__ import annotations

from typing import Any

from litestar import Litestar
from litestar.datastructures import MutableScopeHeaders, State
from litestar.openapi import OpenAPIConfig
from litestar.openapi.plugins import JsonRenderPlugin
from litestar.openapi.spec import Components, SecurityScheme
from litestar.types import Message, Scope

from tenure.hub.api import Api
from tenure.hub.legs import Legs
from tenure.hub.service import Hub
from tenure.servers.rest import event_routes, health_routes, leg_routes, operator_routes, task_routes
from tenure.servers.rest.problem import exception_handlers
from tenure.servers.rest.schema import RawSchemaPlugin

MAX_BODY_BYTES = 8 * 2**20
ROUTES: tuple[Any, ...] = (
    *task_routes.ROUTES,
    *event_routes.ROUTES,
    *operator_routes.ROUTES,
    *health_routes.ROUTES,
    *leg_routes.ROUTES,
)
SECURITY_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
}
"""For answers that say nothing of their own: no answer of an API is ever a page, a frame or a cached copy."""


def create_app(hub: Hub, *, max_body_bytes: int = MAX_BODY_BYTES) -> Litestar:
    """The hub's face over HTTP. No request body is read beyond `max_body_bytes`."""
    return Litestar(
        list(ROUTES),
        state=State({"hub": hub, "api": Api(hub), "legs": Legs(hub)}),
        exception_handlers=exception_handlers(hub.ids),
        before_send=[add_security_headers],
        openapi_config=api_description(hub.identity.version),
        plugins=[RawSchemaPlugin()],
        request_max_body_size=max_body_bytes,
        return_dto=None,
        logging_config=None,
        debug=False,
        pdb_on_exception=False,
    )


async def add_security_headers(message: Message, scope: Scope) -> None:
    """Add what an answer does not say itself."""
    if message["type"] == "http.response.start":
        headers = MutableScopeHeaders.from_message(message)
        for name, value in SECURITY_HEADERS.items():
            headers.setdefault(name, value)


def api_description(version: str) -> OpenAPIConfig:
    """How the API describes itself, at `/v1/openapi.json`."""
    return OpenAPIConfig(
        title="Tenure",
        version=version,
        summary="Runs AI agents' work on machines that fail, and never guesses what happened.",
        path="/v1",
        render_plugins=[JsonRenderPlugin(path="/openapi.json")],
        use_handler_docstrings=True,
        create_examples=False,
        components=Components(
            security_schemes={"token": SecurityScheme(type="http", scheme="bearer")},
        ),
        security=[{"token": []}],
    )
