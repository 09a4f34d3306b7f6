"""TLS on the side of whoever asks: whom to trust, what to show, and what a refused handshake means.

A handshake that fails on this side is a request that was never sent: nothing happened. The library tells such an end only by
an exception deep below; here each becomes a sentence that says what to do. With TLS 1.3 the other side judges our
certificate when the request is on its way already, and hangs up: that cannot be told from a hub that died, so it is
said as what it may be."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct

from tenure.errors import ConfigurationError
from tenure.runtime.own_certificate import show_certificate

NO_TLS = ("WRONG_VERSION_NUMBER", "HTTP_REQUEST")
"""What OpenSSL calls the end of a handshake with somebody who speaks something else."""
TRUST_IT = "name the file of its CA in `node.ca_file` or TENURE_CA_FILE"
NOT_YET, EXPIRED = 9, 10
OTHER_NAME = frozenset({62, 64})
"""Of OpenSSL's X509_V_ERR_ codes: a time, and a name or an address that is not in the certificate."""
NAMES_WITHIN_S = 5.0
"""The names are only for the message, which is told without them after that."""
NAMES_SHOWN = 10
"""A certificate may have thousands; whoever reads the message looks for one of a few."""
HUNG_UP = "Server disconnected without sending a response"


def tls_context(ca_file: str | None, cert: str | None = None, key: str | None = None) -> ssl.SSLContext:
    """Trust this file of certificates (None: the usual ones), and show this certificate to whoever asks for one.

    Raises:
        ConfigurationError: a file cannot be read, holds no certificate, or the key is not that of the certificate.
    """
    try:
        context = ssl.create_default_context(cafile=ca_file)
    except OSError as error:
        raise ConfigurationError(
            f"{ca_file} holds no certificates to trust: {error}", path=ca_file
        ) from error
    if cert is not None:
        show_certificate(context, cert, key)
    return context


def pinned_context(certificate: str, cert: str | None = None, key: str | None = None) -> ssl.SSLContext:
    """Trust whoever has the key of exactly this one certificate (a file), whatever names stand in it, and nobody else.
    `cert` and `key`: as in `tls_context`.

    Raises:
        ConfigurationError: a file cannot be used.
    """
    context = tls_context(certificate, cert, key)
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.check_hostname = False
    return context


class Refused(Struct, frozen=True):
    """A handshake that failed. `other_name`: because the certificate does not name the host that was asked."""

    says: str
    other_name: bool = False


def refused_handshake(problem: BaseException) -> Refused | None:
    """What a failed handshake means, and what to do; None if it was something else that failed."""
    for one in _below(problem):
        if isinstance(one, ssl.SSLCertVerificationError):
            return _distrusted(one)
        if isinstance(one, ssl.SSLError):
            said = f"{one.reason or ''} {one}".upper().replace(" ", "_")
            if any(name in said for name in NO_TLS):
                return Refused("it speaks no TLS; does the hub's address begin with http://?")
            return None
    return None


def _distrusted(problem: ssl.SSLCertVerificationError) -> Refused:
    if problem.verify_code in OTHER_NAME:
        return Refused("its certificate names another host", other_name=True)
    if problem.verify_code == EXPIRED:
        return Refused(
            "its certificate has expired; renew it on the hub's machine, or set this machine's clock"
        )
    if problem.verify_code == NOT_YET:
        return Refused("its certificate is not valid yet; is this machine's clock right?")
    return Refused(f"its certificate is not trusted here ({problem.verify_message.rstrip('.')}); {TRUST_IT}")


async def told_names(base_url: str, trusted: ssl.SSLContext) -> str:
    """Which names stand in the certificate of this hub, and what to do with them. It is asked once more for its certificate,
    which must be from those whom `trusted` trusts, but may name any host; nothing else is sent."""
    host = urlsplit(base_url).hostname or ""
    names = await _names(base_url, trusted)
    instead = f"have one made that names {host}, too (as its subjectAltName)"
    if not names:
        return f"its certificate does not name {host}; {instead}"
    return (
        f"its certificate names {', '.join(names[:NAMES_SHOWN])}, and not {host}; use a name that stands in it in the hub's"
        f" address (--hub, TENURE_HUB, `node.hub_url`), or {instead}"
    )


async def _names(base_url: str, trusted: ssl.SSLContext) -> list[str]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    for one in trusted.get_ca_certs(binary_form=True):
        context.load_verify_locations(cadata=one)
    at = urlsplit(base_url)
    try:
        async with asyncio.timeout(NAMES_WITHIN_S):
            _, writer = await asyncio.open_connection(at.hostname, at.port or 443, ssl=context)
    except (OSError, TimeoutError):
        return []
    shown: dict[str, Any] = writer.get_extra_info("ssl_object").getpeercert() or {}
    # Not `close`: that waits for the other side's farewell, and a command that ends meanwhile would leave the socket open.
    writer.transport.abort()
    with contextlib.suppress(OSError):
        await writer.wait_closed()
    return [value for kind, value in shown.get("subjectAltName", ()) if kind in {"DNS", "IP Address"}]


def maybe_tls(base_url: str, problem: BaseException) -> str:
    """A hint for whoever was hung up on without a word."""
    if base_url.lower().startswith("http:"):
        return "; if it speaks TLS, its address begins with https://" if HUNG_UP in str(problem) else ""
    if any(isinstance(one, ConnectionError) for one in _below(problem)) or HUNG_UP in str(problem):
        return "; a hub hangs up so on a certificate that is not of its `tls_client_ca`, or has expired: see `node.tls_cert`"
    return ""


def _below(problem: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    one: BaseException | None = problem
    while one is not None and id(one) not in seen:
        seen.add(id(one))
        yield one
        one = one.__cause__ or one.__context__
