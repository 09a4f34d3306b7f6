"""What a provider is configured with, checked once, before any adapter sees it."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from msgspec import Struct

from tenure.errors import ConfigurationError, ProviderRefusedError
from tenure.runtime.settings import is_loopback

_PART = re.compile(r"[A-Za-z0-9_.-]{1,100}")
HIDDEN = "…"


class ProviderSettings(Struct, frozen=True, kw_only=True):
    """One configured provider.

    `credential`: what the other side knows us by (a token); None: none is sent. `secret`: signs webhooks. `user`: the
    name beside a git credential. `settling_s`: instead of the adapter's own. `find_url`: where a webhook can be asked
    for a delivery, with `{delivery}` in it. `api_version`: GitHub's, for a server that is older than the client.
    `ca_file`: certificates to trust instead of the usual ones. `proxy`: an address to go through; the environment's
    proxies are not used, since what passes there carries a credential."""

    kind: str
    url: str = ""
    credential: str | None = None
    settling_s: float | None = None
    find_url: str | None = None
    secret: str | None = None
    user: str = "x-access-token"
    api_version: str | None = None
    ca_file: str | None = None
    proxy: str | None = None

    def __repr__(self) -> str:
        """Without what is secret; a webhook's address often is, too, so only its host is shown."""
        return f"ProviderSettings(kind={self.kind!r}, host={host_of(self.url)!r})"

    @property
    def secrets(self) -> tuple[str, ...]:
        return tuple(one for one in (self.credential, self.secret) if one)


def http_address(settings: ProviderSettings, otherwise: str | None = None) -> str:
    """The provider's address, without a slash at its end.

    Raises:
        ConfigurationError: it is no http address, has a password in it, or would carry a secret over a network in
            the clear.
    """
    return checked_address(settings, settings.url or otherwise or "")


def checked_address(settings: ProviderSettings, url: str) -> str:
    """`url` without a slash at its end.

    Raises:
        ConfigurationError: as for `http_address`.
    """
    try:
        parts = urlsplit(url)
        host = parts.hostname
        _ = parts.port
    except ValueError as error:
        raise ConfigurationError(
            f"the address of a {settings.kind} provider cannot be read: {error}"
        ) from error
    if parts.scheme not in {"http", "https"} or not host or any(ord(sign) < 33 for sign in url):
        raise ConfigurationError(f"a {settings.kind} provider needs an address that begins with https://")
    if parts.username is not None or parts.fragment:
        raise ConfigurationError(
            f"the address of the {settings.kind} provider at {host} has a user name, a password or a `#` in it; "
            "credentials are stored by `tenure provider add`",
            host=host,
        )
    if parts.scheme == "http" and settings.secrets and not is_loopback(host):
        raise ConfigurationError(
            f"the {settings.kind} provider at {host} would carry a credential in the clear; use https://",
            host=host,
        )
    return url.rstrip("/")


def host_of(url: str) -> str:
    """The host and port of an address, for people; the rest of it may be secret."""
    return urlsplit(url).netloc.rpartition("@")[2] or "nowhere"


def repository_parts(target: str, most: int = 2) -> tuple[str, ...]:
    """The parts of `owner/repo`, at least two of them, safe to stand in a path.

    Raises:
        ProviderRefusedError: it is no repository's name; nothing was sent.
    """
    parts = tuple(target.split("/"))
    if not 2 <= len(parts) <= most or not all(_PART.fullmatch(one) and one.strip(".") for one in parts):
        raise ProviderRefusedError(f"{target!r} names no repository; expected owner/name", target=target)
    return parts
