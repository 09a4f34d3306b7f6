"""The MCP server over the tools, and its two ways out: standard input and output, or HTTP behind a bearer token.

Every expected no is a tool's result with `is_error`, whose text says what was wrong and what to do, with the code in
brackets: a model reads that, and not a protocol's error."""

from __future__ import annotations

import hmac
import json
import os
import sys
from collections.abc import Awaitable, Callable, MutableMapping
from functools import partial
from typing import Any

import msgspec
import structlog
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server
from mcp.types import (
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
    ToolAnnotations,
)

from tenure.client.agent import AgentClient, told_to
from tenure.errors import InvalidError, NotFoundError, TenureError
from tenure.servers.mcp import tools as ours
from tenure.servers.mcp.argument import schema_of
from tenure.servers.mcp.framing import MESSAGE_BYTES, Bounded, Lines
from tenure.servers.mcp.voice import Voice

PATH = "/mcp"
SESSIONS = 64
"""Of one Attempt over HTTP; a program needs one."""
INSTRUCTIONS = """\
You work on a task that Tenure runs. Call task_context first: it says what you are to do and what you may do outside.
Whatever is to happen outside your worktree (pull requests, comments, labels, statuses, merges, webhooks) goes through
these tools: each is done once, however often you call it. Never do it another way because a call failed or was slow;
read what the error says and do that. If an error says "stop", end your turn."""

Scope = MutableMapping[str, Any]
App = Callable[[Scope, Any, Any], Awaitable[None]]

log = structlog.get_logger(__name__)


def tool_server(agent: AgentClient, voice: Voice, version: str) -> Server[Any]:
    """The server with all tools, for one Attempt."""
    known = {one.name: one for one in ours.Tools(agent, voice).all()}

    async def list_tools(_: Any, _page: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=[described(one) for one in known.values()])

    async def call_tool(_: Any, params: CallToolRequestParams) -> CallToolResult:
        try:
            answer = await called(known, params.name, params.arguments or {})
        except TenureError as error:
            return refused(f"{told_to(error)} [{error.code}]")
        except Exception:
            log.exception("a tool failed in a way nobody expected", tool=params.name)
            return refused(
                "this tool ran into a bug; whether anything was done is not known. Look with list_effects. [bug]"
            )
        return CallToolResult(
            content=[TextContent(text=json.dumps(answer, ensure_ascii=False))], structured_content=answer
        )

    return Server(
        "tenure",
        version=version,
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


async def called(known: dict[str, ours.Tool], name: str, given: dict[str, Any]) -> ours.Answer:
    """Read the arguments, and run the tool.

    Raises:
        NotFoundError: there is no such tool.
        InvalidError: the arguments are not what it takes.
        TenureError: what became of it.
    """
    tool = known.get(name)
    if tool is None:
        raise NotFoundError(f"there is no tool {name[:80]!r}; there are: {', '.join(known)}")
    try:
        arguments = msgspec.convert(given, tool.takes)
    except msgspec.ValidationError as error:
        raise InvalidError(
            f"{name}: {error}. Nothing was done; read the tool's schema and call it again"
        ) from error
    return await tool.run(arguments)


def described(tool: ours.Tool) -> Tool:
    """A tool as the protocol lists it."""
    return Tool(
        name=tool.name,
        description=tool.words,
        input_schema=schema_of(tool.takes),
        annotations=ToolAnnotations(
            read_only_hint=tool.reads,
            idempotent_hint=True,
            destructive_hint=False,
            open_world_hint=not tool.reads,
        ),
    )


def refused(text: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(text=text)], is_error=True)


async def serve_stdio(server: Server[Any]) -> None:
    """Serve one client over standard input and output, until it closes them."""
    # The library asks for a file; what it does with one is to go through its lines.
    lines: Any = Lines(partial(os.read, sys.stdin.fileno()))
    async with stdio_server(stdin=lines) as (incoming, outgoing):
        bounded = Bounded(incoming, outgoing)
        await server.run(bounded, bounded.answers(), server.create_initialization_options())


def http_app(server: Server[Any], token: str) -> App:
    """The streamable HTTP application at `/mcp`, for whoever shows the token. Hosts and origins other than this machine
    are refused (a page in a browser must not reach it)."""
    inner: Any = server.streamable_http_app(
        streamable_http_path=PATH, max_request_body_size=MESSAGE_BYTES, max_sessions=SESSIONS
    )

    async def app(scope: Scope, receive: Any, send: Any) -> None:
        if scope["type"] != "http" or shows(scope, token):
            await inner(scope, receive, send)
            return
        body = b'{"error": "show the attempt\'s capability as a bearer token"}'
        headers = [(b"content-type", b"application/json"), (b"www-authenticate", b"Bearer")]
        await send({"type": "http.response.start", "status": 401, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    return app


def shows(scope: Scope, token: str) -> bool:
    """Does the request carry the token? Compared in constant time."""
    shown = next((value for name, value in scope["headers"] if name == b"authorization"), b"")
    scheme, _, text = shown.partition(b" ")
    return scheme.lower() == b"bearer" and hmac.compare_digest(text.strip(), token.encode())
