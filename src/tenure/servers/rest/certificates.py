"""The hub's certificate files, which others renew under it.

Whoever renews a certificate replaces files; the hub looks every few seconds whether they have changed, and shows the new
certificate from the next handshake on. Connections that stand are not touched. Files that do not belong together (the
certificate is written, its key not yet) or cannot be read are left alone, and the old certificate is shown until they do.

A CA that is added to `tls_client_ca` counts at once; one that is taken out counts until the next start, since OpenSSL forgets
none. To shut out one machine at once, forget its node: that is judged at each request."""

from __future__ import annotations

import re
import ssl
from pathlib import Path
from typing import final

import structlog

LOOK_S = 5.0
"""A certificate is renewed days before it ends; five seconds are for the person who watches it."""
ONE_CERTIFICATE = re.compile(r"-----BEGIN ((?:X509 |TRUSTED )?CERTIFICATE)-----[^-]*-----END \1-----")
"""By each of the names that OpenSSL knows: were the server's own not seen, that of a CA behind it would be taken for it."""

log = structlog.get_logger(__name__)

Seen = tuple[tuple[int, int, int] | None, ...]


@final
class Certificates:
    """Of one server that has begun with these files. `client_ca`: whom those who show a certificate must have it from.
    `shown`: the server's own certificate (PEM), without those of its CAs and without the key; None where it cannot be read."""

    def __init__(self, context: ssl.SSLContext, cert: str, key: str | None, client_ca: str | None) -> None:
        self._context = context
        self._cert, self._key, self._client_ca = cert, key, client_ca
        self._seen = self._told = self._look()
        self.shown = _first_of(cert)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        if client_ca is not None:
            # Who resumes a session is not asked for a certificate again, also when it has run out since. In TLS 1.2 the server
            # cannot be kept from it.
            context.minimum_version = ssl.TLSVersion.TLSv1_3
            context.num_tickets = 0

    def renew(self) -> bool:
        """Show what stands in the files now, if that is something else and can be shown. Has it been taken? What cannot be
        shown is tried again each time, and told once for each change."""
        seen = self._look()
        if seen == self._seen:
            return False
        try:
            self._load(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER))
            self._load(self._context)
        except OSError as error:
            if seen != self._told:
                log.warning("the certificate's files have changed and cannot be used yet", problem=str(error))
            self._told = seen
            return False
        self._seen = self._told = seen
        self.shown = _first_of(self._cert)
        log.info("the certificate's files have changed; from now on the new ones count", tls_cert=self._cert)
        return True

    def _load(self, context: ssl.SSLContext) -> None:
        """Into another one first: one that fails half-way would show a certificate without its key. A key that has a password
        is none that can be used: OpenSSL would ask the terminal for it, and the hub would stand still meanwhile."""
        context.load_cert_chain(self._cert, self._key, password="")
        if self._client_ca is not None:
            context.load_verify_locations(self._client_ca)

    def _look(self) -> Seen:
        files = (self._cert, self._key, self._client_ca)
        return tuple(_identity(one) if one is not None else None for one in files)


def _first_of(path: str) -> str | None:
    """The first certificate of a file, which is the one that is shown; the others are those of CAs."""
    try:
        found = ONE_CERTIFICATE.search(Path(path).read_text(encoding="ascii", errors="replace"))
    except OSError:
        return None
    return None if found is None else f"{found.group()}\n"


def _identity(path: str) -> tuple[int, int, int] | None:
    """What tells a file from the one that was there before; None if there is none. Links are followed: that is how it is done."""
    try:
        found = Path(path).stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
