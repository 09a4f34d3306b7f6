"""`tenure circuits`: providers that had no room and are left alone for a while."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tenure.cli.invocation import Invocation, command, commands_below, family

if TYPE_CHECKING:
    from tenure.client.hub import HubClient
    from tenure.wire.accounts import CircuitBody

app = family()


async def list_circuits(cli: Invocation) -> None:
    """List providers that are left alone now: until when, and why."""
    from tenure.cli.asking.lookup import connected
    from tenure.cli.text.moment import shown_age
    from tenure.runtime.clock import RealClock

    async with connected(cli) as hub:
        found = await hub.circuits()
    cli.out.data({"circuits": found})
    if cli.out.json:
        return
    if not found:
        cli.out.note("no circuit is open: no provider is left alone")
        return
    now_ms = RealClock().wall_ms()
    rows = (
        (
            one.quota,
            one.until_at,
            shown_age(one.opened_at, now_ms),
            str(one.failures),
            one.probe or "",
            ", ".join(one.recipients),
            one.because,
        )
        for one in found
    )
    cli.out.table(("quota", "until", "opened", "in a row", "tries", "recipients", "because"), rows)


circuits_app = commands_below(
    app,
    "circuits",
    "List providers that are left alone for lack of room, or close one.",
    default=list_circuits,
)
command(circuits_app, "list")(list_circuits)


async def closed(hub: HubClient, quota: str, because: str) -> CircuitBody:
    """The circuit, closed now.

    Raises:
        NotFoundError: there is none of this name; the message has the nearest.
    """
    from tenure.cli.asking.near import quotas_like, suggested
    from tenure.errors import NotFoundError

    try:
        return await hub.close_circuit(quota, because)
    except NotFoundError as error:
        near = await quotas_like(hub, quota)
        hint = suggested(near) or "; `tenure circuits` lists those that are open"
        raise NotFoundError(f"{error.message.rstrip('.')}{hint}", quota=quota[:80], near=near) from error


@command(circuits_app, "close")
async def close(
    cli: Invocation,
    quota: Annotated[str, typer.Argument(metavar="QUOTA", help="As `tenure circuits` lists it.")],
    because: Annotated[str, typer.Option("--because", metavar="REASON", help="Why; it is kept.")],
) -> None:
    """State that a provider has room again.

    Its recipients are given work at once. If it has no room after all, the circuit opens again, for longer.
    """
    from tenure.cli.asking.lookup import connected

    async with connected(cli) as hub:
        body = await closed(hub, quota, because)
    cli.out.data(body)
    if not cli.out.json:
        cli.out.say(
            f"{quota} was closed already" if body.replayed else f"{quota} is closed: work goes there again"
        )
