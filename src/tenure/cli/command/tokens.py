"""`tenure token`: who may talk to the hub."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tenure.cli.invocation import Invocation, command, commands_below, family

if TYPE_CHECKING:
    from tenure.wire.api import TokenBody

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
) -> None:
    """Make a token.

    It is shown this once; the hub keeps only its digest. Standard output is the token and nothing else.
    """
    from tenure.cli.asking.lookup import connected

    async with connected(cli) as hub:
        reply = await hub.issue_token(name, role)
    cli.out.data(reply)
    if not cli.out.json:
        cli.out.say(reply.token)
        cli.out.note(f"{reply.credential_id}: {reply.role} token of {reply.name}; it is not shown again")


@command(token_app, "list")
async def list_tokens(cli: Invocation) -> None:
    """List tokens, without their secrets."""
    from tenure.cli.asking.lookup import connected

    found: list[TokenBody] = []
    async with connected(cli) as hub:
        while page := await hub.tokens(after=found[-1].credential_id if found else None):
            found += page
    cli.out.data({"tokens": found})
    if not cli.out.json:
        rows = (
            (one.credential_id, one.name, one.role, one.issued_at, one.issued_by, one.revoked_at or "")
            for one in found
        )
        cli.out.table(("token", "name", "role", "issued", "by", "revoked"), rows)


@command(token_app, "revoke")
async def revoke(
    cli: Invocation,
    token: Annotated[str, typer.Argument(metavar="TOKEN", help="Its id (c_…), as `token list` shows it.")],
) -> None:
    """Refuse a token from the next request on."""
    from tenure.cli.asking.lookup import connected

    async with connected(cli) as hub:
        done = await hub.revoke_token(token)
    cli.out.data({"credential_id": token, "revoked": True, "replayed": done.replayed})
    if not cli.out.json:
        cli.out.say(f"{token} is refused from now on")
