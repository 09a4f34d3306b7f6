"""The address of a channel, from what a person gives: never from the command line; and the channels that one names."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tenure.errors import ConfigurationError, InvalidError, NotFoundError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tenure.cli.process.notify_wiring import ConfiguredChannel


def given_address(path: Path | None, variable: str | None, env: Mapping[str, str]) -> str:
    """The address from a file, from a variable, or from standard input.

    Raises:
        InvalidError: there is none, two are given, or it cannot be one; the message does not repeat it.
        NotFoundError: the file cannot be read, or there is no such variable.
    """
    from tenure.cli.asking.provider_entry import read_secret
    from tenure.runtime.credential_store import secret_problem

    if path is not None and variable is not None:
        raise InvalidError("give the address in a file or in a variable, not in both.")
    if variable is None:
        url = read_secret("address", path, stdin=path is None)
    else:
        url = env.get(variable)
        if url is None:
            raise NotFoundError(f"there is no variable {variable[:80]!r} in the environment.")
        url = url.strip()
    if not url:
        raise InvalidError(
            "a channel needs an address; give it on standard input, with --url-file or --url-env."
        )
    problem = secret_problem(url)
    if problem is not None:
        raise InvalidError(f"this is no address: {problem}.")
    return url


def refuse_one_more(name: str, known: Mapping[str, ConfiguredChannel]) -> None:
    """Refuse a channel beyond the bound.

    Raises:
        ConfigurationError: there are as many as there may be.
    """
    from tenure.runtime.settings_notifications import CHANNELS

    if name not in known and len(known) >= CHANNELS:
        raise ConfigurationError(f"there are {CHANNELS} channels, which is the most; remove one first.")


def channels_named(name: str | None, known: Mapping[str, ConfiguredChannel]) -> list[ConfiguredChannel]:
    """The channel of this name, or all of them.

    Raises:
        NotFoundError: there is none.
    """
    if name is None and known:
        return list(known.values())
    if name is None or name not in known:
        what = "there is no channel" if name is None else f"there is no channel {name[:80]!r}"
        raise NotFoundError(f"{what}; `tenure notify add NAME` adds one, `tenure notify list` shows them.")
    return [known[name]]
