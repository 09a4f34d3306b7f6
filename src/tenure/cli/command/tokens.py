"""`tenure token`: who may talk to the hub."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tenure.cli.invocation import Invocation, command, commands_below, family

if TYPE_CHECKING:
    from tenure.client.hub import HubClient
    from tenure.wire.api import TokenBody, TokenReply

Token = Annotated[
    str,
    typer.Argument(
        metavar="TOKEN",
        help="Its id (c_…), as `token list` shows it; or its name, if only one live token has it.",
    ),
]
Because = Annotated[str, typer.Option("--because", metavar="REASON", help="Why; it is kept in the record.")]

app = family()
token_app = commands_below(app, "token", "Issue, list and revoke tokens.")


@command(token_app, "issue")
async def issue(
    cli: Invocation,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Whose it is; the name stands in the record.")],
    role: Annotated[
        str,
        typer.Option("--role", metavar="ROLE", help="viewer, submitter, operator, or join (for a new node)."),
    ],
    projects: Annotated[
        list[str] | None,
        typer.Option(
            "--project",
            metavar="PROJECT",
            help="Bind it to this project; several may be given. Without one it reaches everything.",
        ),
    ] = None,
    because: Because = "",
) -> None:
    """Make a token.

    It is shown this once; the hub keeps only its digest. Standard output is the token and nothing else.
    """
    from tenure.cli.asking.lookup import connected

    async with connected(cli) as hub:
        others = [one for one in await every_token(hub) if one.name == name and one.revoked_at is None]
        reply = await hub.issue_token(name, role, projects or (), because)
    tell_token(cli, reply)
    if others:
        known = ", ".join(f"{one.credential_id} ({one.role})" for one in others)
        cli.out.note(
            f"{name} also has {known}: all of them are the same {name} in the record. Revoke what is not needed any more "
            "(`tenure token revoke`)"
        )


@command(token_app, "rotate")
async def rotate(
    cli: Invocation,
    token: Token,
    file: Annotated[
        Path | None,
        typer.Option(
            "--token-file",
            metavar="FILE",
            help="Keep the new token here before the hub is asked; what is there already is the new token.",
        ),
    ] = None,
    because: Because = "",
) -> None:
    """Put a new token in the place of one.

    It has the same name, role and projects. The old one is refused from the next request on. Standard output is the new
    token and nothing else, also if the answer is lost; with --token-file the same command may then be given again, under
    the new token if you use the old one.
    """
    from tenure.cli.asking.lookup import connected

    async with connected(cli) as hub:
        token = token if token.startswith("c_") else token_named(await every_token(hub), token)
        reply = await rotated(cli, hub, token, new_token(file), because)
    tell_token(cli, reply)


async def rotated(cli: Invocation, hub: HubClient, token: str, new: str, because: str) -> TokenReply:
    """What the hub made of it; where that is not known the new token is told all the same.

    Raises:
        OutcomeUnknownError: it is not known.
    """
    from tenure.errors import OutcomeUnknownError

    try:
        return await hub.rotate_token(token, because, token=new)
    except OutcomeUnknownError:
        cli.out.data({"replaces": token, "token": new})
        if not cli.out.json:
            cli.out.say(new)
        cli.out.note(f"it is not known whether this token has taken the place of {token}: try both")
        raise


def new_token(file: Path | None) -> str:
    """A new token; with a file the one that stands in it, or that stands in it from now on."""
    from tenure.runtime.clock import RealClock
    from tenure.runtime.data_folder import write_atomically
    from tenure.runtime.ids import RealIds

    if file is not None and file.exists():
        return file.read_text().strip()
    made = RealIds(RealClock()).token()
    if file is not None:
        write_atomically(file, made.encode() + b"\n", 0o600)
    return made


@command(token_app, "list")
async def list_tokens(cli: Invocation) -> None:
    """List tokens, without their secrets."""
    from tenure.cli.asking.lookup import connected

    async with connected(cli) as hub:
        found = await every_token(hub)
    cli.out.data({"tokens": found})
    if not cli.out.json:
        rows = (
            (
                one.credential_id,
                one.name,
                one.role,
                ", ".join(one.projects) or "all",
                "revoked" if one.revoked_at else "live",
                one.issued_at,
                one.issued_by,
                one.revoked_at or "",
            )
            for one in found
        )
        cli.out.table(("token", "name", "role", "projects", "state", "issued", "by", "revoked"), rows)


@command(token_app, "revoke")
async def revoke(cli: Invocation, token: Token, because: Because = "") -> None:
    """Refuse a token from the next request on."""
    from tenure.cli.asking.lookup import connected

    async with connected(cli) as hub:
        token = token if token.startswith("c_") else token_named(await every_token(hub), token)
        done = await hub.revoke_token(token, because)
    cli.out.data({"credential_id": token, "revoked": True, "replayed": done.replayed})
    if not cli.out.json:
        cli.out.say(f"{token} is refused from now on")


def tell_token(cli: Invocation, reply: TokenReply) -> None:
    """A token that was made: on standard output itself, beside it what it is."""
    cli.out.data(reply)
    if not cli.out.json:
        cli.out.say(reply.token)
        bound = f", bound to {', '.join(reply.projects)}" if reply.projects else ""
        cli.out.note(
            f"{reply.credential_id}: {reply.role} token of {reply.name}{bound}; it is not shown again"
        )


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
    from tenure.errors import ConflictError, NotFoundError

    live = [one.credential_id for one in tokens if one.name == name and one.revoked_at is None]
    if not live:
        raise NotFoundError(f"no live token has the name {name!r}; `tenure token list` shows them", name=name)
    if len(live) > 1:
        raise ConflictError(
            f"{len(live)} live tokens have the name {name!r}: {', '.join(live)}; say which", name=name
        )
    return live[0]
