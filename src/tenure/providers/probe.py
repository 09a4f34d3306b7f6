"""A harmless question to a provider: is it there, and does it take our credential?

One request that reads. What is asked differs by kind: whose token it is (GitHub, Gitea, GitLab), a delivery that was
never sent (a webhook with a `find_url`), the branches of the address itself (git)."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

from msgspec import Struct

from tenure.core.effect_kind import Http
from tenure.errors import ConfigurationError, ProviderRefusedError
from tenure.providers.catalog import Parts, make_provider
from tenure.providers.exchange import Answer, Ask, Exchange
from tenure.providers.git import isolated, remote_address
from tenure.providers.port import Call
from tenure.providers.settings import ProviderSettings, host_of, http_address

DEADLINE_S = 15.0
NEVER_SENT = "e_00000000000000000000000000"
NOT_ALLOWED = 403
"""A token that may do its work need not be allowed to see whose it is."""
PUBLIC = {"github": "https://api.github.com", "gitlab": "https://gitlab.com"}
ASKED = {"github": "/user", "gitea": "/api/v1/user", "gitlab": "/api/v4/user"}
SUFFIX = {"github": "", "gitea": "/api/v1", "gitlab": "/api/v4"}


class _Account(Struct, frozen=True):
    login: str | None = None
    username: str | None = None


def check_settings(settings: ProviderSettings) -> None:
    """See that addresses are ones that a provider of this kind can have, without its client library.

    Raises:
        ConfigurationError: one is none, or would carry a secret in the clear.
    """
    if settings.kind == "git":
        remote_address(settings)
    else:
        http_address(settings, PUBLIC.get(settings.kind))


async def probe(settings: ProviderSettings, parts: Parts, repository: str | None = None) -> str:
    """What it answered, in one sentence. `repository`: of git, which one to ask.

    Raises:
        UnavailableError: it cannot be reached now.
        ProviderRefusedError: it does not take the credential, or does not know the address.
        ConfigurationError: it cannot be asked anything harmless, or its settings are wrong.
    """
    if settings.kind == "git":
        return await _git(settings, parts, repository)
    if settings.kind == "webhook":
        return await _webhook(settings, parts)
    return await _forge(settings, parts)


async def _forge(settings: ProviderSettings, parts: Parts) -> str:
    url = http_address(settings, PUBLIC.get(settings.kind)).removesuffix(SUFFIX[settings.kind])
    headers = {"Accept": "application/json"}
    if settings.credential and settings.kind == "gitlab":
        headers["PRIVATE-TOKEN"] = settings.credential
    elif settings.credential:
        scheme = "token" if settings.kind == "gitea" else "Bearer"
        headers["Authorization"] = f"{scheme} {settings.credential}"
    exchange = Exchange(settings, parts.transport)
    try:
        answer = await exchange.send(
            Ask(
                method="GET",
                url=url + ASKED[settings.kind],
                headers=headers,
                deadline_s=DEADLINE_S,
                answers=frozenset({NOT_ALLOWED}),
            )
        )
    finally:
        await exchange.close()
    return f"{host_of(url)} answers and {_whose(answer)}"


def _whose(answer: Answer) -> str:
    if answer.code == NOT_ALLOWED:
        return "knows the credential, which may not see whose it is"
    account = answer.read(_Account)
    name = account.login or account.username or ""
    return f"takes the credential of {name[:100] if name.isprintable() and name else 'an account without a name'}"


async def _webhook(settings: ProviderSettings, parts: Parts) -> str:
    provider = make_provider(settings, parts)
    try:
        if not settings.find_url:
            raise ConfigurationError(
                "a webhook without `find_url` can be asked nothing that is no delivery; its settings are right as far as"
                " can be seen from here"
            )
        call = Call(effect_id=NEVER_SENT, params=Http(), target="", marker="", deadline_s=DEADLINE_S)
        found = await provider.find(call)
    finally:
        await provider.close()
    host = host_of(settings.url)
    if found.result is not None or found.contradiction is not None:
        raise ProviderRefusedError(
            f"{host} says of a delivery that was never sent that it was received; its `find_url` cannot be relied on"
        )
    return f"{host} answers, and does not know a delivery that was never sent"


async def _git(settings: ProviderSettings, parts: Parts, repository: str | None) -> str:
    """Asks for the branches of a repository, or of the address itself where none is named.

    Raises:
        ProviderRefusedError: it does not answer as a repository.
    """
    base = remote_address(settings)
    address = f"{base}/{quote(repository)}" if repository else base
    said = await parts.git.ask(
        "ask a remote",
        Path("/"),
        "ls-remote",
        "--heads",
        "--",
        address,
        env=isolated(settings, base),
        timeout_s=DEADLINE_S,
    )
    host = host_of(address) if "://" in address else "the folder"
    if said.ok:
        return f"{host} answers with {len(said.output.splitlines())} branches"
    hint = (
        ""
        if repository
        else ". Name a repository with --repository: the address is what its name is appended to"
    )
    raise ProviderRefusedError(f"{host} does not answer as a repository, or not with this credential{hint}")
