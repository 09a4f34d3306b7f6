"""The reference pages of the API and of its errors, made from the routes, their types and `tenure.errors`."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tenure import errors as er
from tenure.servers.rest.app import ROUTES
from tenure.servers.rest.connection import BODY_S, HEAD_S
from tenure.servers.rest.description import METHODS, TAGS, description

VERSION = "0"
API_INTRODUCTION = """\
# The API

<!-- Made by `tenure.servers.rest.reference` from the routes and their types; a test compares. -->

The hub answers JSON over HTTP. `GET /v1/openapi.json` is the same description for programs (OpenAPI 3.1). In Python use
`tenure.client.hub.HubClient`, which has a method for each endpoint.

**Who asks.** `Authorization: Bearer TOKEN`. A token has a role, and each role may do what those before it may: `viewer`
looks, `submitter` gives work and cancels it, `operator` answers for it. `join` tokens only enroll nodes. A revoked
token is refused from the next request on.

**What is sent.** JSON in UTF-8, `Content-Type: application/json`, within `hub.max_body_bytes` and 64 levels of nesting.
Unknown fields and unknown query parameters are refused, so that a misspelt one is no silent difference; so is a field
named twice in one object. Times are RFC 3339 with a zone (`…_at`), durations seconds (`…_s`), money micro-dollars
(`…_usd_micros`). Head and body of a request must arrive within {head_s:g} and {body_s:g} seconds; what is complete may wait
for its answer as long as that takes. All bodies that are under way have a bound together, with shares of their own for nodes
and forges; beyond it the answer is 429 (`overloaded`), and nothing was done.

**What is answered.** Answers gain fields over time: pass over those that you do not know.

**Sending it again.** A submit carries an `Idempotency-Key` that names the operation (`nightly:2026-01-31`). The same key
with the same request gives the recorded Task, with status 200 instead of 201 and `replayed`. With another request it is
refused. Keys belong to the name of the token. The same answer to the same question (`retry`, `reconcile`), by the same
name for the same reason, is recorded once and told again. In `after`, `key:KEY` names the Task of a key, also within
one batch.

**What goes wrong.** Every error is `application/problem+json` (RFC 9457) with a stable `code`; see
[errors](errors.md). `unavailable` and its kinds mean that nothing happened. `outcome_unknown`, a lost answer and an
answer without a `code` mean that it cannot be told: look, or repeat under the same key.

**Lists.** `limit` is 1 to 500. Tasks have a `cursor`; other lists go on `after` the last key of the page before (questions:
after its `opened_at`, a comma, and its `item_id`).

**Live events.** With `Accept: text/event-stream` the two `events` endpoints send first the history after `after` (or
`Last-Event-ID`) and then every event as it is committed, without a gap or a repeat. The id of a sent event is its
`version` on the stream of one Task and its `seq` on the stream of all. A comment comes at least every 15 seconds.
"""
ERRORS_INTRODUCTION = """\
# Errors

<!-- Made by `tenure.servers.rest.reference` from `tenure.errors`; a test compares. -->

Each error has a code that does not change. The API sends it in a problem (`code`, with the facts of its sentence in
`facts`), the command line exits with its exit code, and Python raises the class. "Again" says whether the very same
request can succeed later without anybody changing anything.

Two families never blur. `unavailable` and its kinds: nothing happened, so the request may be sent again.
`outcome_unknown`: it cannot be told whether it happened, so repeat it only under its own idempotency key, or look first.

| code | HTTP | exit | again | meaning |
| --- | --- | --- | --- | --- |
"""


HOLDS = {"agent": "An attempt's capability. ", "node": "A node's credential. "}
"""Where it is no role of a person."""
MEANING = {
    "error": "A fault of the hub itself. Its log has more under the `incident` in the facts.",
    "forbidden": "The token is known, and its role may not do this.",
    "not_found": "What was named does not exist.",
    "repository_not_found": "There is no git repository at that place.",
    "too_large": "A body, a text or a list is beyond its bound; the message says which and how large it may be.",
    "unauthenticated": "No token, or one that is not known here or was revoked.",
}
"""For errors whose class has no sentence of its own."""


def api_reference() -> str:
    """The page of all endpoints and bodies."""
    said = description(ROUTES, VERSION)
    parts = [API_INTRODUCTION.format(head_s=HEAD_S, body_s=BODY_S)]
    for tag, text in TAGS.items():
        parts.append(f"## {tag.capitalize()}\n\n{text}\n")
        parts += _operations(said, tag)
    parts.append("## Bodies\n")
    parts += [_body(name, schema) for name, schema in sorted(said["components"]["schemas"].items())]
    return "\n".join(parts)


def errors_reference() -> str:
    """The page of all errors."""
    public = [kind for kind in er.all_errors().values() if kind.__module__ == er.__name__]
    return ERRORS_INTRODUCTION + "".join(map(_error_row, sorted(public, key=lambda kind: kind.code)))


def _operations(said: dict[str, Any], tag: str) -> Iterator[str]:
    for path, item in said["paths"].items():
        for method in sorted(METHODS & item.keys()):
            if tag in item[method]["tags"]:
                yield _operation(path, method, item[method])


def _operation(path: str, method: str, operation: dict[str, Any]) -> str:
    role = operation.get("x-role")
    needs = HOLDS.get(str(role)) or (f"Role `{role}`. " if role else "No token. ")
    lines = [
        f"### `{method.upper()} {path}`\n",
        f"{operation['summary']}. {needs}{_flat(operation['description'])}\n",
    ]
    named = [one for one in operation.get("parameters", ()) if one["in"] != "path"]
    lines += [_parameter(one) for one in named]
    if named:
        lines.append("")
    body = operation.get("requestBody")
    if body is not None:
        schema = body["content"]["application/json"]["schema"]
        lines.append(f"Body: {_kind(schema)}\n")
        for example in schema.get("examples", ()):
            lines.append(f"```json\n{json.dumps(example, indent=2, ensure_ascii=False)}\n```\n")
    lines.append(f"Answers: {', '.join(_answers(operation))}\n")
    return "\n".join(lines)


def _parameter(parameter: dict[str, Any]) -> str:
    default = parameter["schema"].get("default")
    says = "" if default is None else f" Default: `{json.dumps(default)}`."
    place = " (header)" if parameter["in"] == "header" else ""
    return f"- `{parameter['name']}`{place}: {parameter.get('description', '')}{says}"


def _answers(operation: dict[str, Any]) -> Iterator[str]:
    for status, response in operation["responses"].items():
        for media, content in response.get("content", {}).items():
            if status != "default":
                kind = _kind(content["schema"]) if media == "application/json" else f"`{media}`"
                yield f"{status} {kind}"


def _body(name: str, schema: dict[str, Any]) -> str:
    text = _flat(schema.get("description", ""))
    lines = [f"### {name}\n"] + ([f"{text}\n"] if text else [])
    if "enum" in schema:
        return "\n".join([*lines, "One of " + ", ".join(f"`{value}`" for value in schema["enum"]) + ".\n"])
    lines += ["| field | type | |", "| --- | --- | --- |"]
    required = schema.get("required", ())
    for field, kind in schema.get("properties", {}).items():
        default = "" if kind.get("default") is None else f"default `{json.dumps(kind['default'])}`"
        lines.append(f"| `{field}` | {_kind(kind)} | {'always' if field in required else default} |")
    return "\n".join([*lines, ""])


def _kind(schema: dict[str, Any]) -> str:
    """A type in words, with links to the bodies of this page."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    for choice in ("oneOf", "anyOf", "allOf"):
        if choice in schema:
            return " or ".join(dict.fromkeys(_kind(one) for one in schema[choice]))
    match schema.get("type"):
        case "array":
            return f"list of {_kind(schema.get('items', {}))}"
        case "object":
            values: Any = schema.get("additionalProperties")
            return f"object of {_kind(values)}" if values and values is not True else "object"
        case str(name):
            return name
        case _:
            return "any JSON"


def _error_row(kind: type[er.TenureError]) -> str:
    error = kind("")
    meaning = MEANING.get(kind.code) or inspect.cleandoc(kind.__dict__["__doc__"])
    again = "yes" if kind.retryable else "no"
    return (
        f'| <a id="{kind.code}"></a>`{kind.code}` | {er.http_status(error)} | {er.exit_code(error)} | {again} '
        f"| {_flat(meaning)} |\n"
    )


def _flat(text: str) -> str:
    """One line, safe in a table."""
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    Path("docs/reference/api.md").write_text(api_reference(), encoding="utf-8")
    Path("docs/reference/errors.md").write_text(errors_reference(), encoding="utf-8")
