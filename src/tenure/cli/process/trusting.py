"""Whom this machine trusts to be its hub, and what it shows of itself.

The hub of this data folder leaves there the certificate that it shows. Whoever listens at that hub's address must have the key of
exactly this certificate: that is more than any CA can say, so no CA need be named, and the address need not stand in it. Any
other hub is checked as usual: a CA that is trusted, and the name by which it was asked."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING

from tenure.cli.process.data_files import local_certificate

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
    # Reading all trusted certificates takes longer than the rest of a command, and plain HTTP asks for none. Not False: that
    # would be to trust whoever answers, if this were taken for plain HTTP and whoever connects thought otherwise.
    if not url.lower().startswith("https:"):
        return True
    from tenure.client.trust import pinned_context, tls_context

    node = cli.settings.node
    files = (node.tls_cert, node.tls_key) if shows else (None, None)
    own = local_certificate(cli.home, url)
    return pinned_context(str(own), *files) if own else tls_context(ca_file_of(cli), *files)
