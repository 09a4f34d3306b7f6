"""Which hub a command talks to, and with which token.

The hub: `--hub`, else `TENURE_HUB`, else the one of this data folder, else the one that this machine's node works for
(`[node] hub_url`, or where it was enrolled). The token: `--token`, else `TENURE_TOKEN`, else the
local token, which is only ever shown to the hub of the same data folder.
"""

from __future__ import annotations

from typing import NamedTuple

from tenure.cli.invocation import Invocation
from tenure.cli.process.data_files import HUB_PART, URL_FILE, local_hub_url, local_token
from tenure.cli.process.joining import hub_elsewhere
from tenure.errors import ConfigurationError, UnauthenticatedError


class Address(NamedTuple):
    """A hub and the token for it."""

    url: str
    token: str


def address_of(cli: Invocation) -> Address:
    """The hub and the token for this invocation.

    Raises:
        ConfigurationError: no hub is named and none of this data folder runs.
        UnauthenticatedError: there is no token for it.
    """
    local = local_hub_url(cli.home)
    url = cli.given.hub_url or cli.env.get("TENURE_HUB") or local or hub_elsewhere(cli)
    if not url:
        raise ConfigurationError(
            f"no hub runs on {cli.home}; start one with `{cli.pasteable('up')}`, name the folder of one with --home or TENURE_HOME, or"
            " one elsewhere with --hub, TENURE_HUB or `hub_url` under [node] in the settings",
            path=str(cli.home / HUB_PART / URL_FILE),
        )
    token = cli.given.hub_token or cli.env.get("TENURE_TOKEN")
    if not token and url.rstrip("/") == (local or "").rstrip("/"):
        token = local_token(cli.home)
    if not token:
        raise UnauthenticatedError(
            f"there is no token for the hub at {url}; give one with TENURE_TOKEN or --token (`tenure token issue` on the"
            " hub's machine makes one)",
            url=url,
        )
    return Address(url.rstrip("/"), token)


def is_local(cli: Invocation) -> bool:
    """Is the hub of this invocation the one of this data folder, on this very machine?"""
    local = (local_hub_url(cli.home) or "").rstrip("/")
    named = cli.given.hub_url or cli.env.get("TENURE_HUB") or local
    return bool(local) and named.rstrip("/") == local
