"""`tenure events`: what was recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from tenure.cli.invocation import Invocation, command, family
from tenure.cli.text.moment import pause

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tenure.client.hub import HubClient
    from tenure.wire.api import EventBody

PAGE = 500
AGAIN_AFTER_S = 1.0

app = family()


class EventOptions(NamedTuple):
    """What `events` takes."""

    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on showing what is recorded.")] = False
    after: Annotated[
        int,
        typer.Option("--after", metavar="N", help="Only what came after number N (the first column).", min=0),
    ] = 0
    every: Annotated[
        bool, typer.Option("--all", "-a", help="Also what the handing over consists of: offers, renewals.")
    ] = False


@command(app, "events")
async def events(
    cli: Invocation,
    task: Annotated[
        str | None, typer.Argument(metavar="TASK", help="Only of this task; else of the whole record.")
    ] = None,
    *,
    options: EventOptions,
) -> None:
    """Show what was recorded.

    One line each, oldest first; with `--json` the event itself, with its hash in the chain.
    """
    from tenure.cli.asking.lookup import connected, task_id_of

    async with connected(cli) as hub:
        task_id = await task_id_of(hub, task) if task else None
        found = (
            live(cli, hub, task_id, options.after) if options.follow else paged(hub, task_id, options.after)
        )
        async for event in found:
            tell(cli, event, whole_record=task_id is None, details=options.every)


async def paged(hub: HubClient, task_id: str | None, after: int) -> AsyncIterator[EventBody]:
    """What is recorded by now."""
    while (page := await hub.events(task_id, after=after, limit=PAGE)).events:
        for event in page.events:
            yield event
        after = page.next_after


async def live(cli: Invocation, hub: HubClient, task_id: str | None, after: int) -> AsyncIterator[EventBody]:
    """What is recorded by now, and what comes, through any absence of the hub."""
    from tenure.errors import UnavailableError

    away = False
    while True:
        try:
            async for event in hub.follow(task_id, after=after):
                after = event.version if task_id else event.seq
                away = False
                yield event
        except UnavailableError as error:
            if not away:
                cli.out.note(f"the hub is away; this goes on when it is back ({error.message})")
            away = True
        await pause(AGAIN_AFTER_S)


def tell(cli: Invocation, event: EventBody, *, whole_record: bool, details: bool) -> None:
    """One event. JSON shows every one, since a program that reads them must not miss any."""
    import msgspec

    from tenure.cli.text.event import DETAILS, event_text, origin_text
    from tenure.cli.text.output import one_line

    cli.out.data(event)
    if cli.out.json or (event.kind in DETAILS and not details):
        return
    body: dict[str, Any] = msgspec.json.decode(event.body)
    number = event.seq if whole_record else event.version
    where = f"{event.stream}  " if whole_record else ""
    told = (one_line(event_text(event.kind, body), 300), one_line(origin_text(body), 200))
    cli.out.say(f"{number:>5}  {event.at}  {where}{'  '.join(filter(None, told))}")
