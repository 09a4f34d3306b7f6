"""What is stored of a provider, from what a person gives: secrets from files or standard input, never from arguments."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from tenure.errors import ConfigurationError, InvalidError, NotFoundError
from tenure.runtime.credential_store import SECRET_BYTES, Entry, secret_problem

if TYPE_CHECKING:
    from tenure.cli.process.provider_wiring import Configured
    from tenure.providers.settings import ProviderSettings
    from tenure.runtime.settings_schema import ProviderTable

LONGEST = SECRET_BYTES + 2


class Given(NamedTuple):
    """What was given now; None: nothing, so what is stored stays."""

    kind: str | None
    url: str | None
    find_url: str | None
    user: str | None
    credential: str | None
    webhook_secret: str | None

    def __repr__(self) -> str:
        """Without what is secret."""
        return f"Given(kind={self.kind!r})"


def read_secret(what: str, path: Path | None, *, stdin: bool = False) -> str | None:
    """A secret from a file, or (`stdin`) from standard input, where it is asked for without showing it. None where there
    is none.

    Raises:
        InvalidError: it cannot be one; the message does not repeat it.
        NotFoundError: the file cannot be read.
    """
    if path is not None:
        text = _file(path)
    elif not stdin:
        return None
    elif sys.stdin.isatty():
        import typer

        text = typer.prompt(
            f"{what} (empty to leave it as it is)", default="", show_default=False, hide_input=True, err=True
        )
    else:
        text = sys.stdin.read(LONGEST)
    text = text.strip()
    if not text:
        return None
    problem = secret_problem(text)
    if problem is not None:
        raise InvalidError(f"this is no {what}: {problem}.")
    return text


def read_url(url: str | None, path: Path | None) -> str | None:
    """The address, given or in a file.

    Raises:
        InvalidError: both are given.
        NotFoundError: the file cannot be read.
    """
    if url is not None and path is not None:
        raise InvalidError("give the address or a file with it, not both.")
    return url if path is None else _file(path).strip()


def _file(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(LONGEST).decode("utf-8", "replace")
    except OSError as error:
        raise NotFoundError(f"{path} cannot be read: {error.strerror}") from error


def changed(name: str, table: ProviderTable | None, before: Entry | None, given: Given) -> Entry:
    """What is to be stored, and whether a provider can be made of it.

    Raises:
        ConfigurationError: it cannot; or the settings say already what this provider is.
        InvalidError: the name is none.
    """
    from tenure.cli.process.provider_wiring import settings_of
    from tenure.providers.catalog import KINDS
    from tenure.providers.probe import check_settings

    refuse_name(name)
    said = {"kind": given.kind, "url": given.url, "find_url": given.find_url, "user": given.user}
    said = {key: value for key, value in said.items() if value is not None}
    if table is not None:
        wrong = [key for key in said if key != "kind" or given.kind != table.kind]
        if wrong:
            raise ConfigurationError(
                f"the settings have [providers.{name}]; change its {', '.join(wrong)} there. Only secrets are stored beside it."
            )
        entry = (
            Entry(kind=table.kind)
            if before is None
            else Entry(kind=table.kind, credential=before.credential, webhook_secret=before.webhook_secret)
        )
        return _with_secrets(entry, given)
    kind = given.kind or (before.kind if before is not None else None)
    if kind is None or kind not in KINDS:
        known = ", ".join(sorted(KINDS))
        raise ConfigurationError(
            f"say with --kind what {name} is: {known}." if kind is None else f"{kind!r} is no kind: {known}."
        )
    if before is not None and before.kind != kind:
        raise ConfigurationError(
            f"{name} is a {before.kind} provider; remove it first, or take another name."
        )
    entry = _with_secrets(replace(before or Entry(kind=kind), **said), given)
    _refuse_wrong_keys(name, entry)
    check_settings(settings_of(entry))
    return entry


def _refuse_wrong_keys(name: str, entry: Entry) -> None:
    """What a table in the settings must not say, an entry must not either.

    Raises:
        ConfigurationError: it says so, in the words that the settings are refused with.
    """
    from tenure.runtime.settings import read_table
    from tenure.runtime.settings_rules import Problem, provider_problems
    from tenure.runtime.settings_schema import ProviderTable, Settings

    said = {"kind": entry.kind, "url": entry.url, "find_url": entry.find_url, "user": entry.user}
    problems: list[Problem] = []
    said = {key: value for key, value in said.items() if value is not None}
    table = read_table(ProviderTable, said, f"providers.{name}", problems)
    if table is not None and not problems:
        problems += provider_problems(Settings(providers={name: table}))
    if problems:
        told = [f"{problem.key} {problem.says}" for problem in problems]
        raise ConfigurationError("\n".join(told), problems=told)


def _with_secrets(entry: Entry, given: Given) -> Entry:
    entry = replace(
        entry,
        credential=given.credential or entry.credential,
        webhook_secret=given.webhook_secret or entry.webhook_secret,
    )
    if (
        entry.credential is None
        and entry.webhook_secret is None
        and entry.kind in ("github", "gitlab", "gitea")
    ):
        raise ConfigurationError(
            f"a {entry.kind} provider does nothing without a credential; give it on standard input or with --credential-file."
        )
    return entry


def refuse_name(name: str, what: str = "provider") -> None:
    """Refuse what cannot begin a target, or name a table of the settings.

    Raises:
        InvalidError: it is no name.
    """
    import msgspec

    from tenure.runtime.settings_reference import expected_text
    from tenure.runtime.settings_schema import Name

    try:
        msgspec.convert(name, type=Name)
    except msgspec.ValidationError as error:
        raise InvalidError(f"{name[:80]!r} is no {what}'s name: expected {expected_text(Name)}.") from error


def usable(name: str, known: list[Configured]) -> tuple[Configured, ProviderSettings]:
    """The provider of this name, with what it is configured with.

    Raises:
        NotFoundError: there is none.
        ConfigurationError: it cannot be used as it is configured.
    """
    one = next((one for one in known if one.name == name), None)
    if one is None:
        raise NotFoundError(f"there is no provider {name[:80]!r}; `tenure provider list` shows them.")
    if one.settings is None:
        raise ConfigurationError(f"{name}: {one.problem}")
    return one, one.settings
