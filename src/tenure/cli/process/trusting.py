"""Whom this machine trusts to be its hub, and what it shows of itself."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tenure.cli.invocation import Invocation


def ca_file_of(cli: Invocation) -> str | None:
    """The file of certificates to trust for the hub; None for the usual ones."""
    return cli.env.get("TENURE_CA_FILE") or cli.settings.node.ca_file


def trusted_by(cli: Invocation, url: str, *, shows: bool = False) -> bool | ssl.SSLContext:
    """What a client of the hub at this address checks its certificate against. `shows`: it is the node, which shows its own
    certificate if it has one.

    Raises:
        ConfigurationError: a file cannot be used.
    """
    # Reading all trusted certificates takes longer than the rest of a command, and plain HTTP asks for none.
    if not url.startswith("https:"):
        return False
    from tenure.client.trust import tls_context

    node = cli.settings.node
    return tls_context(ca_file_of(cli), node.tls_cert if shows else None, node.tls_key if shows else None)
