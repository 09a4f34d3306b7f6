"""The certificate that this process shows, and its key, from their files.

OpenSSL asks the terminal for the passphrase of a key that has one. A service has no terminal and would stand still, so it is
refused with what to do; the same holds where there is a terminal, since a restart at night has none."""

from __future__ import annotations

import ssl

from tenure.errors import ConfigurationError


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
