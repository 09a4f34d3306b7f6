"""The agent's side of a command: the hub and the capability that its Attempt was given.

The hub: `--hub`, else `TENURE_HUB`, else the one of this data folder. The capability: `TENURE_CAPABILITY`, else the file
that `TENURE_CAPABILITY_FILE` names. It is never taken from the command line, where other users could read it.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tenure.cli.asking.address import Address
from tenure.cli.process.data_files import local_hub_url, read_line
from tenure.cli.process.trusting import trusted_by
from tenure.errors import ConfigurationError, UnauthenticatedError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from tenure.cli.invocation import Invocation
    from tenure.client.agent import AgentClient

VARIABLE = "TENURE_CAPABILITY"
FILE_VARIABLE = "TENURE_CAPABILITY_FILE"


def capability_of(cli: Invocation) -> str | None:
    """The capability of this Attempt; None where nobody has one."""
    text = cli.env.get(VARIABLE, "").strip()
    file = cli.env.get(FILE_VARIABLE)
    return text or (read_line(Path(file)) if file else None)


def acts_as_agent(cli: Invocation) -> bool:
    """Is this a call inside an Attempt, and nobody has given a person's token?"""
    token = cli.given.hub_token or cli.env.get("TENURE_TOKEN")
    return not token and capability_of(cli) is not None


def agent_address(cli: Invocation) -> Address:
    """The hub and the capability for it.

    Raises:
        UnauthenticatedError: there is no capability here.
        ConfigurationError: no hub is named.
    """
    capability = capability_of(cli)
    if capability is None:
        raise UnauthenticatedError(
            f"{_lack(cli.env.get(FILE_VARIABLE))}. "
            "Effects are asked for inside an attempt that Tenure runs, where its capability stands in that variable; "
            "give a task what it may do outside with `tenure submit --may`"
        )
    url = cli.given.hub_url or cli.env.get("TENURE_HUB") or local_hub_url(cli.home)
    if not url:
        raise ConfigurationError("no hub is named: TENURE_HUB is not set, and --hub was not given")
    return Address(url.rstrip("/"), capability)


def _lack(file: str | None) -> str:
    """Why there is no capability here."""
    if not file:
        return f"{VARIABLE} is not set"
    return f"{FILE_VARIABLE} names {file}, which {'is a folder' if Path(file).is_dir() else 'holds no capability'}"


def agent_client(cli: Invocation) -> AgentClient:
    """A client for the agent's pages of the hub, to be used as a context.

    Raises:
        UnauthenticatedError: there is no capability here.
        ConfigurationError: no hub is named.
    """
    from tenure.client.agent import AgentClient

    address = agent_address(cli)
    return AgentClient(address.url, address.token, verify=trusted_by(cli, address.url))


@asynccontextmanager
async def connected_agent(cli: Invocation) -> AsyncGenerator[AgentClient]:
    """A client for the agent's pages of the hub. An error of what is done with it says what an agent is to do, too.

    Raises:
        UnauthenticatedError: there is no capability here, or the hub refuses it.
        ConfigurationError: no hub is named.
        TenureError: what the hub answered.
    """
    from tenure.client.agent import told_to
    from tenure.errors import TenureError

    client = agent_client(cli)
    try:
        async with client as agent:
            yield agent
    except TenureError as error:
        raise type(error)(told_to(error), **error.facts) from error
