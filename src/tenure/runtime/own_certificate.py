"""The certificate that this process shows, and its key, from their files.

OpenSSL asks the terminal for the passphrase of a key that has one. A service has no terminal and would stand still, so it is
refused with what to do; the same holds where there is a terminal, since a restart at night has none."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime
from pathlib import Path

from tenure.errors import ConfigurationError

END = "-----END CERTIFICATE-----"
VERSION, UTC_TIME = 0xA0, 0x17
"""Of ASN.1's tags: the field that a certificate of version 1 leaves out, and a time whose year has two digits."""
LONG = 0x80


def show_certificate(context: ssl.SSLContext, cert: str, key: str | None) -> None:
    """Lets `context` show the certificate of this file. `key` None: its key stands in the same file.

    Raises:
        ConfigurationError: a file cannot be read, the key is not that of the certificate, or it has a passphrase.
    """
    asked: list[bool] = []

    def nobody_answers() -> str:
        asked.append(True)
        return ""

    try:
        context.load_cert_chain(cert, key, password=nobody_answers)
    except OSError as error:
        if asked:
            raise ConfigurationError(
                f"the key {key or cert} has a passphrase, and nobody is there to type it; write it without one, for this"
                f" user alone: `(umask 077; openssl pkey -in {key or cert} -out NEW.key)`",
                path=key or cert,
            ) from error
        files = cert if key is None else f"{cert} and {key}"
        raise ConfigurationError(
            f"{files} cannot be shown as a certificate and its key: {error}", path=cert
        ) from error


def ends_at(cert: str) -> datetime | None:
    """When the first certificate of this file ends; None where none can be read. Python's library tells it only of a peer's.

    Source: RFC 5280, 4.1 (Certificate, Validity)."""
    try:
        text = Path(cert).read_text(encoding="ascii", errors="replace")
        begin = text.index("-----BEGIN CERTIFICATE-----")
        der = ssl.PEM_cert_to_DER_cert(text[begin : text.index(END, begin) + len(END)])
        _, whole, _ = _piece(der)
        _, body, _ = _piece(whole)
        fields = _pieces(body, 6)
        validity = fields[4 if fields[0][0] == VERSION else 3][1]
        tag, value = _pieces(validity, 2)[1]
        # A year of two digits below 50 is of this century, as RFC 5280 has it; %y would turn at 69.
        century = ("20" if value[:2] < b"50" else "19") if tag == UTC_TIME else ""
        return datetime.strptime(century + value.decode("ascii"), "%Y%m%d%H%M%SZ").replace(tzinfo=UTC)
    except (OSError, ValueError, IndexError):
        return None


def _pieces(data: bytes, count: int) -> list[tuple[int, bytes]]:
    found: list[tuple[int, bytes]] = []
    while data and len(found) < count:
        tag, value, data = _piece(data)
        found.append((tag, value))
    return found


def _piece(data: bytes) -> tuple[int, bytes, bytes]:
    """Tag and content of the first value in DER, and what follows it."""
    size, begin = data[1], 2
    if size & LONG:
        begin += size - LONG
        size = int.from_bytes(data[2:begin])
    return data[0], data[begin : begin + size], data[begin + size :]
