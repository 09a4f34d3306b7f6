"""`tenure token`: who may talk to the hub."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tenure.cli.invocation import Invocation, command, commands_below, family
from tenure.cli.process.data_files import HUB_PART, TOKEN_FILE

if TYPE_CHECKING:
    from tenure.wire.api import TokenReply

Token = Annotated[
    str,
    typer.Argument(
        metavar="TOKEN",
        help="Its id (c_…), as `token list` shows it; or its name, if only one live token has it.",
    ),
]
Because = Annotated[str, typer.Option("--because", metavar="REASON", help="Why; it is kept in the record.")]

app = family()
token_app = commands_below(app, "token", "Issue, rotate, list and revoke tokens.")


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
    from tenure.cli.asking.rotation import every_token

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
    token and nothing else, also if the answer is lost; with --token-file the same command may then be given again, and tells
    the same token. The token of the data folder itself (`hub/local.token`) is replaced in its file as well, and the same
    command finishes what was cut off.
    """
    from tenure.cli.asking.rotation import rotated

    tell_token(cli, await rotated(cli, token, file, because))


@command(token_app, "list")
async def list_tokens(cli: Invocation) -> None:
    """List tokens, without their secrets."""
    from tenure.cli.asking.lookup import connected
    from tenure.cli.asking.rotation import every_token

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
    from tenure.cli.asking.rotation import every_token, own_id, token_named

    async with connected(cli) as hub:
        token = token if token.startswith("c_") else token_named(await every_token(hub), token)
        own = await own_id(cli)
        done = await hub.revoke_token(token, because)
    cli.out.data({"credential_id": token, "revoked": True, "replayed": done.replayed})
    if not cli.out.json:
        cli.out.say(f"{token} is refused from now on")
    if token == own:
        path = cli.home / HUB_PART / TOKEN_FILE
        cli.out.note(
            f"it was the token of this data folder, in {path}: stop the hub, remove that file and start the hub again, which"
            " makes a new one (`tenure token rotate` would have replaced it)"
        )


def tell_token(cli: Invocation, reply: TokenReply) -> None:
    """A token that was made: on standard output itself, beside it what it is."""
    cli.out.data(reply)
    if not cli.out.json:
        cli.out.say(reply.token)
        bound = f", bound to {', '.join(reply.projects)}" if reply.projects else ""
        cli.out.note(
            f"{reply.credential_id}: {reply.role} token of {reply.name}{bound}; it is not shown again"
        )
