"""How a token is rotated, so that no lost answer and no crash leaves its owner without one.

The new token is made, kept in a file, sent, and put in place, in this order. The same command goes on from wherever an earlier one
stopped: the file says which token was meant, and the id that the hub gives it (`rotated_id`) whether it has been taken already,
also where the old one was named by a name that is the new one's by now.

The local token of this data folder is kept in `hub/local.token.new` meanwhile. If the hub refuses the local token and takes that
one, only the last step is left to do; the next start of the hub does it as well (`hub_wiring`).
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, NamedTuple

from tenure.cli.asking.address import Address, address_of, is_local
from tenure.cli.process.data_files import (
    HUB_PART,
    NEXT_TOKEN_FILE,
    TOKEN_FILE,
    keep_next_token,
    local_hub_url,
    local_token,
    next_local_token,
    put_in_place,
)
from tenure.cli.process.trusting import trusted_by
from tenure.errors import (
    ConflictError,
    ForbiddenError,
    NotFoundError,
    OutcomeUnknownError,
    UnauthenticatedError,
)
from tenure.hub.api import rotated_id
from tenure.runtime.clock import RealClock
from tenure.runtime.data_folder import write_atomically
from tenure.runtime.ids import RealIds

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from tenure.cli.invocation import Invocation
    from tenure.client.hub import HubClient
    from tenure.wire.api import TokenBody, TokenReply

LOCK = "rotating"


class Rotation(NamedTuple):
    """What is to be sent. `is_own`: it replaces the token of this data folder, and is to be put in its place."""

    replaces: str
    token: str
    is_own: bool


async def rotated(cli: Invocation, named: str, file: Path | None, because: str) -> TokenReply:
    """A new token in the place of the one named, kept in `file` first.

    Raises:
        OutcomeUnknownError: it is not known which of the two counts.
        NotFoundError: there is no such token.
        ConflictError: the name is that of several, or the new token is one that it cannot be.
        DataFolderBusyError: another command rotates a token with this data folder.
    """
    if not is_local(cli):
        return await sent(cli, named, file, because, None)
    with cli.open_folder().lock(LOCK, "tenure token rotate"):
        return await sent(cli, named, file, because, await settled(cli))


async def sent(
    cli: Invocation, named: str, file: Path | None, because: str, put_there: str | None
) -> TokenReply:
    """Goes on from where an earlier command stopped. `put_there`: the token of which it had left the last step.

    Raises:
        OutcomeUnknownError: it is not known which of the two counts.
    """
    in_file = None if file is None else kept_in(file)
    async with asking(cli, in_file) as (hub, tokens):
        found = rotation(cli, named, tokens, (in_file, put_there), await own_id(cli))
        if found.is_own and local_token(cli.home) != found.token:
            keep_next_token(cli.home / HUB_PART, found.token)
        if file is not None and in_file is None:
            write_atomically(file, found.token.encode() + b"\n", 0o600)
        try:
            reply = await hub.rotate_token(found.replaces, because, token=found.token)
        except OutcomeUnknownError:
            tell_unknown(cli, found)
            raise
    if found.is_own:
        put_in_place(cli.home / HUB_PART, found.token)
        path = cli.home / HUB_PART / TOKEN_FILE
        cli.out.note(f"it stands in {path}; commands on this data folder use it from now on")
    return reply


def rotation(
    cli: Invocation,
    named: str,
    tokens: list[TokenBody],
    known: tuple[str | None, str | None],
    own: str | None,
) -> Rotation:
    """What is meant. `known`: the new token if the file has it, and the one that was just put in place; `own`: the id of the
    local token.

    Raises:
        ConflictError: the file's is not the token that an earlier command has kept for the local one.
    """
    ids = {one.credential_id for one in tokens}
    made = {
        rotated_id(one.credential_id, token): (one.credential_id, token)
        for token in known
        if token is not None
        for one in tokens
        if named in (one.credential_id, one.name)
    }
    taken = next((new for new in made if new in ids), None)
    if taken is not None:
        return Rotation(*made[taken], is_own=taken == own)
    replaces = named if named.startswith("c_") else token_named(tokens, named)
    is_own, in_file = replaces == own, known[0]
    kept = next_local_token(cli.home) if is_own else None
    if kept is not None and in_file not in (None, kept):
        raise ConflictError(
            f"an earlier `tenure token rotate` of it has kept another new token in {cli.home / HUB_PART / NEXT_TOKEN_FILE};"
            " give the command without --token-file, or name a file that is not there yet",
        )
    return Rotation(replaces, in_file or kept or RealIds(RealClock()).token(), is_own)


@asynccontextmanager
async def asking(cli: Invocation, in_file: str | None) -> AsyncGenerator[tuple[HubClient, list[TokenBody]]]:
    """A client and all tokens; under the new token where the hub refuses the usual one, which it may have replaced.

    Raises:
        UnauthenticatedError: it refuses both.
    """
    from tenure.cli.asking.lookup import connected

    if in_file is not None and await is_refused(cli, address_of(cli)):
        async with client(cli, Address(address_of(cli).url, in_file)) as hub:
            yield hub, await every_token(hub)
        return
    async with connected(cli) as hub:
        yield hub, await every_token(hub)


async def settled(cli: Invocation) -> str | None:
    """Takes the last step that an earlier command has left: the token that was put in the local one's place, if one was."""
    kept, local, url = next_local_token(cli.home), local_token(cli.home), local_hub_url(cli.home)
    if kept is None or url is None:
        return None
    replaced = kept != local and (local is None or await is_refused(cli, Address(url, local)))
    if replaced and await is_refused(cli, Address(url, kept)):
        return None
    if replaced or kept == local:
        put_in_place(cli.home / HUB_PART, kept)
        return kept
    return None


async def own_id(cli: Invocation) -> str | None:
    """The id of this data folder's token; None where its hub is another's, or takes no such token."""
    url, token = local_hub_url(cli.home), local_token(cli.home)
    if not is_local(cli) or url is None or token is None:
        return None
    async with client(cli, Address(url, token)) as hub:
        try:
            return next((one.credential_id for one in await every_token(hub) if one.yours), None)
        except (UnauthenticatedError, ForbiddenError):
            return None


async def is_refused(cli: Invocation, address: Address) -> bool:
    """Does the hub not let this token in?"""
    async with client(cli, address) as hub:
        try:
            await hub.tokens(limit=1)
        except UnauthenticatedError:
            return True
        except ForbiddenError:
            return False
    return False


def client(cli: Invocation, address: Address) -> HubClient:
    from tenure.client.hub import HubClient

    return HubClient(address.url, address.token, verify=trusted_by(cli, address.url))


def kept_in(file: Path) -> str | None:
    """The new token that stands in a file; None where there is no file.

    Raises:
        ConflictError: there is a file, but no token in it.
    """
    found = file.read_text().strip() if file.exists() else None
    if found == "":
        raise ConflictError(f"{file} is empty; remove it, or name another file", path=str(file))
    return found


def tell_unknown(cli: Invocation, found: Rotation) -> None:
    """The new token all the same, and how to find out which counts."""
    cli.out.data({"replaces": found.replaces, "token": found.token})
    if not cli.out.json:
        cli.out.say(found.token)
    said = f"it is not known whether this token has taken the place of {found.replaces}"
    if found.is_own:
        kept = cli.home / HUB_PART / NEXT_TOKEN_FILE
        cli.out.note(f"{said}; it is kept in {kept}: give the same command again, which puts it in place")
    else:
        cli.out.note(f"{said}: try both")


async def every_token(hub: HubClient) -> list[TokenBody]:
    """All tokens, page by page, in the order of their ids."""
    found: list[TokenBody] = []
    while page := await hub.tokens(after=found[-1].credential_id if found else None):
        found += page
    return found


def token_named(tokens: list[TokenBody], name: str) -> str:
    """The id of the one live token of this name.

    Raises:
        NotFoundError: there is none.
        ConflictError: there are several.
    """
    live = [one.credential_id for one in tokens if one.name == name and one.revoked_at is None]
    if not live:
        raise NotFoundError(f"no live token has the name {name!r}; `tenure token list` shows them", name=name)
    if len(live) > 1:
        raise ConflictError(
            f"{len(live)} live tokens have the name {name!r}: {', '.join(live)}; say which", name=name
        )
    return live[0]
