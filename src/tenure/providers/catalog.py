"""Which adapter serves a configured provider. Client libraries are imported when a provider needs them, and only then."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import httpx
from msgspec import Struct

from tenure.core.clock import Clock
from tenure.errors import ConfigurationError
from tenure.providers.exchange import Exchange
from tenure.providers.git import GitProvider
from tenure.providers.gitea import GiteaProvider
from tenure.providers.port import Provider
from tenure.providers.settings import ProviderSettings
from tenure.providers.webhook import ANSWER_BYTES, WebhookProvider
from tenure.runtime.git import Git

EXTRA = "forges"


class Parts(Struct, frozen=True, kw_only=True):
    """What adapters are handed. `store`: the hub's own repository that has a target's commits. `transport`: the
    network, where it is not the real one."""

    clock: Clock
    git: Git
    store: Callable[[str], Path]
    transport: httpx.AsyncBaseTransport | None = None


def make_provider(settings: ProviderSettings, parts: Parts) -> Provider:
    """The provider of a kind, ready to be called. Nothing is connected yet.

    Raises:
        ConfigurationError: there is no such kind, its client library is not installed, or its settings are wrong.
    """
    make = KINDS.get(settings.kind)
    if make is None:
        raise ConfigurationError(
            f"there is no provider kind {settings.kind!r}; there are {', '.join(sorted(KINDS))}",
            kind=settings.kind,
        )
    return make(settings, parts)


def _github(settings: ProviderSettings, parts: Parts) -> Provider:
    try:
        from tenure.providers.github import GitHubProvider
    except ModuleNotFoundError as error:
        raise _not_installed(settings, error) from error
    return GitHubProvider(settings, Exchange(settings, parts.transport))


def _gitlab(settings: ProviderSettings, parts: Parts) -> Provider:
    try:
        from tenure.providers.gitlab import GitLabProvider
    except ModuleNotFoundError as error:
        raise _not_installed(settings, error) from error
    return GitLabProvider(settings, Exchange(settings, parts.transport))


def _gitea(settings: ProviderSettings, parts: Parts) -> Provider:
    return GiteaProvider(settings, Exchange(settings, parts.transport))


def _webhook(settings: ProviderSettings, parts: Parts) -> Provider:
    exchange = Exchange(settings, parts.transport, answer_bytes=ANSWER_BYTES)
    return WebhookProvider(settings, exchange, parts.clock)


def _git(settings: ProviderSettings, parts: Parts) -> Provider:
    return GitProvider(settings, parts.git, parts.store)


KINDS: dict[str, Callable[[ProviderSettings, Parts], Provider]] = {
    "git": _git,
    "gitea": _gitea,
    "github": _github,
    "gitlab": _gitlab,
    "webhook": _webhook,
}


def _not_installed(settings: ProviderSettings, error: ModuleNotFoundError) -> ConfigurationError:
    return ConfigurationError(
        f"a {settings.kind} provider needs {error.name}, which comes with the extra: pip install 'tenure[{EXTRA}]' "
        "(in a clone `make setup` brings it)",
        kind=settings.kind,
        extra=EXTRA,
    )
