"""`tenure mcp`: the agent's tools, served to the agent."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tenure.cli.invocation import Invocation, command, family

if TYPE_CHECKING:
    from tenure.servers.mcp.voice import Voice
    from tenure.servers.rest.serve import Listening

app = family()


@command(app, "mcp")
async def mcp(
    cli: Invocation,
    http: Annotated[
        int | None,
        typer.Option(
            "--http",
            metavar="PORT",
            help="Over streamable HTTP on this port of this machine (0 takes a free one), instead of standard input and "
            "output. The capability is the bearer token.",
        ),
    ] = None,
) -> None:
    """Serve a task's own tools to its agent, over the Model Context Protocol.

    For the configuration of an agent that runs inside an attempt: `tenure mcp` is the command of a stdio server, which
    needs TENURE_HUB and TENURE_CAPABILITY (or TENURE_CAPABILITY_FILE) in its environment. Its tools tell the agent its
    task, report progress, ask a person, and have effects done. It needs the extra `mcp`.
    """
    from tenure import __version__
    from tenure.cli.asking.capability import agent_address, agent_client
    from tenure.cli.command.daemons import start_logging

    voice = voice_of(cli)
    servers = mcp_servers()
    # To standard error: standard output belongs to the protocol.
    start_logging(cli, None)
    logging.getLogger("mcp").setLevel(logging.WARNING)
    async with agent_client(cli) as agent:
        server = servers.tool_server(agent, voice, __version__)
        if http is None:
            await servers.serve_stdio(server)
        else:
            token = agent_address(cli).token
            await serve_http(cli, servers.http_app(server, token), http)


def voice_of(cli: Invocation) -> Voice:
    """The ways to the node that are open to this process."""
    from tenure.cli.asking.protocol_channel import descriptor_of, file_of
    from tenure.servers.mcp.voice import Voice

    return Voice(at_once=descriptor_of(cli.env), at_end=file_of(cli.env))


def mcp_servers() -> Any:
    """The module that serves, which needs a library that not everybody installs.

    Raises:
        ConfigurationError: the library is not installed.
        ModuleNotFoundError: another one is missing, which is a bug.
    """
    from tenure.errors import ConfigurationError

    try:
        from tenure.servers.mcp import server
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != "mcp":
            raise
        raise ConfigurationError(
            "this needs the library `mcp`, which the base install leaves out: install `tenure[mcp]` (in a clone `make setup` "
            "brings it)"
        ) from error
    return server


async def serve_http(cli: Invocation, served: Any, port: int) -> None:
    """Serves over HTTP, on this machine only, until it is asked to stop."""
    from tenure.cli.command.daemons import stop_on_signals
    from tenure.servers.rest.serve import Bind, serve

    def on_ready(listening: Listening) -> None:
        url = f"{listening.url}/mcp"
        cli.out.data({"url": url})
        cli.out.note(f"serving MCP at {url}; the bearer token is the capability")

    await serve(served, Bind(port=port), stop_on_signals(), on_ready=on_ready)
