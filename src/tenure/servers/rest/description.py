"""The API's description of itself (OpenAPI 3.1), made from the routes and their types.

It is made once, when it is first asked for, from an application that serves nobody: the library's own pages for
descriptions would answer some unknown paths in HTML, and here every error is a problem."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Any

import msgspec
from litestar import Litestar
from litestar.handlers import HTTPRouteHandler
from litestar.openapi import OpenAPIConfig
from litestar.openapi.spec import Components, Schema, SecurityScheme
from litestar.plugins import OpenAPISchemaPlugin
from litestar.types.internal_types import PathParameterDefinition
from litestar.typing import FieldDefinition
from msgspec import Raw

from tenure.servers.rest.gate import role_of
from tenure.servers.rest.problem import PROBLEM_TYPE
from tenure.servers.rest.stated_bounds import state_bounds, without_null
from tenure.wire.api import Problem
from tenure.wire.codec import encode

TAGS = {
    "tasks": "Work: what was asked for, and what became of it.",
    "events": "What has happened, as pages or live.",
    "agents": "What an agent asks for, with its capability as bearer.",
    "effects": "What was done outside, once.",
    "webhooks": "What forges say by themselves; see docs/guides/webhooks.md.",
    "schedules": "Tasks that are submitted again and again; see docs/guides/schedules.md.",
    "attention": "What needs a person.",
    "policies": "What follows from a failure; see docs/guides/failure-policy.md.",
    "accounts": "What projects and the hub may use; see docs/guides/budgets.md.",
    "pauses": "Where nothing new starts; see docs/guides/pause-and-drain.md.",
    "circuits": "Providers that have no room now.",
    "nodes": "Machines, and the recipients they offer.",
    "tokens": "Who may ask.",
    "audit": "The record as a whole.",
    "health": "Is it there?",
    "legs": "What nodes say; see the contract in docs/internals.",
}
PUBLIC_TAGS = frozenset({"health", "webhooks"})
"""What needs no token; a webhook is signed instead."""
HOLDERS = {"agents": "agent", "legs": "node"}
"""Who else than people asks: an agent shows its capability, a node its credential (at its first start a join token)."""
EVENT_STREAM = "text/event-stream"
DESCRIPTION_TYPE = "application/vnd.oai.openapi+json"
VARIANT = "_by_"
_TYPE = re.compile(r":\w+\}")
METHODS = frozenset({"get", "post", "put", "patch", "delete"})


class RawSchemaPlugin(OpenAPISchemaPlugin):
    """JSON that is passed on as it is: anything."""

    @staticmethod
    def is_plugin_supported_type(value: Any) -> bool:
        return value is Raw

    def to_openapi_schema(self, field_definition: FieldDefinition, schema_creator: Any) -> Schema:
        return Schema(description="Any JSON value.")


@cache
def description_json(routes: tuple[Any, ...], version: str) -> bytes:
    """The description of an API that has these routes, as JSON."""
    return encode(description(routes, version))


def description(routes: tuple[Any, ...], version: str) -> dict[str, Any]:
    """The description of an API that has these routes."""
    app = Litestar(
        list(routes),
        openapi_config=_config(version),
        plugins=[RawSchemaPlugin()],
        return_dto=None,
        logging_config=None,
    )
    said: dict[str, Any] = app.openapi_schema.to_schema()
    # The library keeps the paths of one handler in a set.
    order = [_TYPE.sub("}", path) for handler in routes for path in sorted(handler.paths)]
    said["paths"] = dict(sorted(said["paths"].items(), key=lambda item: order.index(item[0])))
    said["tags"] = [{"name": name, "description": text} for name, text in TAGS.items()]
    schemas: dict[str, Any] = said["components"]["schemas"]
    _, problem = msgspec.json.schema_components([Problem], ref_template="#/components/schemas/{name}")
    schemas.update(problem)
    state_bounds(schemas)
    roles = {one.handler_name: role_of(one) or HOLDERS.get(next(iter(one.tags or ()), "")) for one in routes}
    for item in said["paths"].values():
        for method in METHODS & item.keys():
            _complete(item[method], roles.get(item[method]["operationId"].partition(VARIANT)[0]))
    return said


def _complete(operation: dict[str, Any], role: str | None) -> None:
    """Every error is a problem; what is public needs no token; the others say which role."""
    for parameter in operation.get("parameters", ()):
        parameter["schema"] = without_null(parameter["schema"])
    if role is not None:
        operation["x-role"] = str(role)
    operation["responses"] = {
        code: response for code, response in operation["responses"].items() if code.startswith("2")
    }
    operation["responses"]["default"] = {
        "description": "A problem (RFC 9457); its `code` is one of docs/reference/errors.md",
        "content": {PROBLEM_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
    if not PUBLIC_TAGS.isdisjoint(operation["tags"]):
        operation["security"] = []
    _complete_media(operation)


def _complete_media(operation: dict[str, Any]) -> None:
    """What the library cannot tell from a handler: that it answers live as well, or reads the body itself."""
    answers: dict[str, Any] = operation["responses"].get("200", {}).get("content", {})
    if "events" in operation["tags"]:
        answers[EVENT_STREAM] = {"schema": {"type": "string"}}
    if DESCRIPTION_TYPE in answers:
        answers[DESCRIPTION_TYPE] = {"schema": {"type": "object"}}
    if "webhooks" in operation["tags"]:
        example = {"action": "opened", "repository": {"full_name": "owner/repo"}}
        sent = {"description": "As the forge sends it.", "type": "object", "examples": [example]}
        operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": sent}}}


def _config(version: str) -> OpenAPIConfig:
    return OpenAPIConfig(
        title="Tenure",
        version=version,
        summary="Runs AI agents' work on machines that fail, and never guesses what happened.",
        description="Times are RFC 3339 in UTC (`…_at`), durations seconds (`…_s`), money micro-dollars "
        "(`…_usd_micros`). Unknown fields and parameters are refused.",
        use_handler_docstrings=True,
        create_examples=False,
        operation_id_creator=_operation_id,
        components=Components(security_schemes={"token": SecurityScheme(type="http", scheme="bearer")}),
        security=[{"token": []}],
    )


def _operation_id(
    handler: HTTPRouteHandler, _method: Any, path: Sequence[str | PathParameterDefinition]
) -> str:
    """The handler's name; where one handler has several paths, the longer ones say what they have more."""
    places = [part.name for part in path if not isinstance(part, str)]
    more = places[1:] if len(handler.paths) > 1 else []
    return VARIANT.join([handler.handler_name, *more])
