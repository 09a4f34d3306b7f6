"""Telling people through apprise, which speaks to most chat, mail and push services (docs/adr/0013).

An address says which service and carries its secrets, so no message repeats one: of what apprise logs about a failure every
part of the address is cut out. apprise comes with the extra `notifications`."""

from __future__ import annotations

import logging
import re
from types import ModuleType
from typing import Any, final

from tenure.errors import ConfigurationError, OutcomeUnknownError, UnavailableError

SEND_S = 20.0
"""Within which apprise gives up waiting for a service."""
SECRET_LETTERS = 4
"""Shorter parts of an address are words of its form; they tell nobody anything."""
SAID_LENGTH = 200
HIDDEN = "…"

_PART = re.compile(r"[^\w.~%-]+")
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*(?=://)", re.IGNORECASE)


@final
class AppriseNotifier:
    """One address of apprise's.

    Raises (when it is made):
        ConfigurationError: apprise is missing, or knows no such address.
    """

    def __init__(self, url: str) -> None:
        apprise = _library()
        self._url = url
        asset: Any = apprise.AppriseAsset(
            app_id="Tenure",
            app_desc="Tenure",
            app_url="",
            storage_mode="memory",
            async_mode=False,
            http_redirects=False,
        )
        service: Any = apprise.Apprise.instantiate(url, asset=asset)
        if service is None:
            raise ConfigurationError(
                f"this is no address of a service that apprise knows{_named(url)}; it has one form for"
                " each service, such as mailto://, slack://, ntfy://, json://, which apprise's own pages list"
            )
        self.service = str(service.service_name)
        """What people call it: `Slack`."""
        self._all: Any = apprise.Apprise(asset=asset)
        self._all.add(service)

    def __repr__(self) -> str:
        """Without the address."""
        return f"AppriseNotifier({self.service!r})"

    def send(self, title: str, body: str) -> None:
        """See the port.

        Raises:
            UnavailableError: the service refused it or could not be reached.
            OutcomeUnknownError: it gave no answer in time.
        """
        try:
            result: Any = self._all.notify(title=title, body=body, body_format="text", timeout=SEND_S)
        except Exception as error:  # noqa: BLE001 - a hundred plugins of others; what they raise must not repeat the address
            raise UnavailableError(f"{self.service}: {self.without_address(str(error))}") from None
        if result:
            return
        said = self._said(result)
        if result.timeout_count:
            raise OutcomeUnknownError(f"{self.service} gave no answer within {SEND_S:g} s{said}")
        raise UnavailableError(f"{self.service} did not take it{said}")

    def _said(self, result: Any) -> str:
        lines = [str(entry.message) for entry in result.logs()]
        text = self.without_address("; ".join(lines))[:SAID_LENGTH]
        return f": {text}" if text else ": it refused, or could not be reached"

    def without_address(self, text: str) -> str:
        """A text with every part of the address cut out of it."""
        for part in sorted(secret_parts(self._url), key=len, reverse=True):
            text = text.replace(part, HIDDEN)
        return text


def secret_parts(url: str) -> set[str]:
    """What of an address could be a secret: everything behind its scheme, piece by piece and as it is."""
    rest = url.partition("://")[2]
    pieces = {rest, *rest.split("/"), *_PART.split(rest)}
    return {piece for piece in pieces if len(piece) >= SECRET_LETTERS}


def scheme_of(url: str) -> str:
    """The service's short name in an address, which is no secret; empty where there is none."""
    found = _SCHEME.match(url)
    return found[0].lower()[:40] if found else ""


def _named(url: str) -> str:
    scheme = scheme_of(url)
    return f" (it begins with {scheme}://)" if scheme else " (it does not begin with NAME://)"


def _library() -> ModuleType:
    """apprise, with its own log lines, which would repeat addresses, shut off; what it logs of a message stays readable
    in the message's result.

    Raises:
        ConfigurationError: it is not installed.
    """
    try:
        import apprise
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            "people are told through the package apprise; it comes with the extra: pip install 'tenure[notifications]'"
            " (in a clone `make setup` brings it)",
            extra="notifications",
        ) from error
    logging.getLogger("apprise").propagate = False
    return apprise
