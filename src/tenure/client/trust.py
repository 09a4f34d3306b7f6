"""TLS on the side of whoever asks: whom to trust, what to show, and what a refused handshake means.

A handshake that fails on this side is a request that was never sent: nothing happened. The library tells such an end only by
an exception deep below; here each becomes a sentence that says what to do. With TLS 1.3 the other side judges our
certificate when the request is on its way already, and hangs up: that cannot be told from a hub that died, so it is
said as what it may be."""

from __future__ import annotations

import ssl
from collections.abc import Iterator

from tenure.errors import ConfigurationError

REFUSED = {
    "CERTIFICATE_VERIFY_FAILED": "its certificate is not trusted here",
    "WRONG_VERSION_NUMBER": "it speaks no TLS; does the hub's address begin with http://?",
    "HTTP_REQUEST": "it speaks no TLS; does the hub's address begin with http://?",
}
"""What ends a handshake, by the name that OpenSSL gives it, in the order in which they are looked for."""
TRUST_IT = "name the file of its CA in `node.ca_file` or TENURE_CA_FILE"
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
        try:
            context.load_cert_chain(cert, key)
        except OSError as error:
            raise ConfigurationError(
                f"{cert} and {key} cannot be shown as a certificate and its key: {error}", path=cert
            ) from error
    return context


def refused_handshake(problem: BaseException) -> str | None:
    """What a failed handshake means, and what to do; None if it was something else that failed."""
    for one in _below(problem):
        if isinstance(one, ssl.SSLCertVerificationError):
            return f"{REFUSED['CERTIFICATE_VERIFY_FAILED']} ({one.verify_message.rstrip('.')}); {TRUST_IT}"
        if isinstance(one, ssl.SSLError):
            said = f"{one.reason or ''} {one}".upper().replace(" ", "_")
            return next((told for name, told in REFUSED.items() if name in said), None)
    return None


def maybe_tls(base_url: str, problem: BaseException) -> str:
    """A hint for whoever was hung up on without a word."""
    if base_url.startswith("http:"):
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
