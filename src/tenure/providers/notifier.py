"""The port: what can tell people something."""

from __future__ import annotations

from typing import Protocol


class Notifier(Protocol):
    """One place where people are told. Safe to use from several threads, one after the other."""

    def send(self, title: str, body: str) -> None:
        """Send one message, in plain text; it may block for some seconds. When it returns, the service has taken it.

        Raises:
            UnavailableError: it was not sent, and a repeat may help; or some of its receivers got it.
            OutcomeUnknownError: there was no answer in time, so it may have been sent.
            ConfigurationError: it cannot be sent as this is configured.
        """
        ...
