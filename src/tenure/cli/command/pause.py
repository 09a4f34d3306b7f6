"""`tenure pause` and `tenure resume`: where nothing new is to start.

A pause is in the record: it holds until somebody resumes, whatever happens to the process that asked for it. (`tenure down`
drains the node of one data folder, and only for as long as it waits.)
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from tenure.cli.invocation import Invocation, command, family

if TYPE_CHECKING:
    from tenure.client.hub import HubClient
    from tenure.wire.accounts import PauseBody

LOOK_S = 1.0
PROJECT = "project:"
SHOWN = 10
LONGEST = "1h"
"""How long a drain is waited for unless somebody says otherwise."""

app = family()
SubjectArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[SUBJECT]",
        help="hub, project:NAME, node NAME (or node:NAME), or a recipient, NAME@NODE.",
        show_default=False,
    ),
]


class PauseOptions(NamedTuple):
    """What `pause` takes."""

    because: Annotated[
        str | None, typer.Option("--because", metavar="REASON", help="Why; `tenure why` says it.")
    ] = None
    drain: Annotated[
        bool, typer.Option("--drain", help="It is to come to rest: say so wherever it shows.")
    ] = False
    wait: Annotated[
        bool, typer.Option("--wait", help="With --drain: wait until nothing runs there any more.")
    ] = False
    wait_s: Annotated[
        str | None,
        typer.Option("--wait-s", metavar="DURATION", help="Wait, but at most so long; else an hour."),
    ] = None


@command(app, "pause")
async def pause(cli: Invocation, subject: SubjectArgument = None, *, options: PauseOptions) -> int:
    """Start nothing new at the hub, a project, a node or a recipient.

    What runs goes on. Without a subject it lists what is paused. With --drain --wait it waits until nothing runs there any
    more (and exits with 124 if that takes too long); Ctrl-C ends the waiting and leaves the pause.
    """
    from tenure.cli.asking.lookup import connected
    from tenure.cli.asking.near import tell_unused

    if not subject:
        refuse_options(options)
        await list_pauses(cli)
        return 0
    because, bound_s = reason_of(options), bound_of(options)
    async with connected(cli) as hub:
        named = await named_there(hub, subject)
        if named.startswith(PROJECT):
            await tell_unused(cli, hub, named.removeprefix(PROJECT), "the pause")
        body = await hub.pause(named, because, drain=options.drain)
        if not wants_to_wait(options):
            cli.out.data(body)
            tell(cli, body)
            return 0
        tell(cli, body)
        return await drained(cli, hub, named, bound_s)


@command(app, "resume")
async def resume(
    cli: Invocation,
    subject: SubjectArgument = None,
    *,
    because: Annotated[str, typer.Option("--because", metavar="REASON", help="Why; it is kept.")] = "",
) -> None:
    """Let new work start again where it was paused."""
    from tenure.cli.asking.lookup import connected

    async with connected(cli) as hub:
        if not subject:
            await refuse_nothing(hub)
        named = await named_there(hub, subject or [])
        body = await hub.resume(named, because)
    cli.out.data(body)
    if not cli.out.json:
        cli.out.say(f"{named} was not paused" if body.replayed else f"{named} goes on")


async def list_pauses(cli: Invocation) -> None:
    from tenure.cli.asking.lookup import connected
    from tenure.cli.text.moment import shown_age
    from tenure.runtime.clock import RealClock

    async with connected(cli) as hub:
        found = await hub.pauses()
    cli.out.data({"pauses": found})
    if cli.out.json:
        return
    if not found:
        cli.out.note("nothing is paused")
        return
    now_ms = RealClock().wall_ms()
    rows = (
        (
            one.subject,
            "drains" if one.paused.drain else "paused",
            str(one.running_count),
            one.paused.by,
            shown_age(one.paused.at, now_ms),
            one.paused.because,
        )
        for one in found
        if one.paused is not None
    )
    cli.out.table(("subject", "state", "running", "by", "since", "because"), rows)


async def refuse_nothing(hub: HubClient) -> None:
    """Says what can be resumed.

    Raises:
        InvalidError: always.
    """
    from tenure.errors import InvalidError

    paused = [one.subject for one in await hub.pauses()]
    named = ", ".join(f"`tenure resume {one}`" for one in paused[:SHOWN])
    told = f"paused are: {named}" if named else "nothing is paused"
    raise InvalidError(f"say what shall go on: tenure resume SUBJECT; {told}", paused=paused)


async def named_there(hub: HubClient, words: list[str]) -> str:
    """The subject, as the API calls it; where the words name none, what they may have meant is told.

    Raises:
        InvalidError: they name none.
    """
    from tenure.cli.asking.near import addresses_like, nodes_like, suggested
    from tenure.errors import InvalidError

    try:
        return subject_of(words)
    except InvalidError as error:
        name = words[-1] if words else ""
        near = [*await addresses_like(hub, name), *(f"node:{one}" for one in await nodes_like(hub, name))]
        raise InvalidError(f"{error.message}{suggested(near)}", **error.facts, near=near) from error


def subject_of(words: list[str]) -> str:
    """The subject, as the API calls it.

    Raises:
        InvalidError: the words name none.
    """
    from tenure.errors import InvalidError

    match words:
        case ["node", name]:
            return f"node:{name}"
        case ["project", name]:
            return f"project:{name}"
        case ["recipient", name] if "@" in name:
            return name
        case [name] if name == "hub" or "@" in name or name.startswith(("project:", "node:")):
            return name
        case _:
            said = " ".join(words)
            raise InvalidError(
                f"{said[:80]!r} names nothing that can be paused: give hub, project:NAME, node NAME, or a recipient (NAME@NODE)",
                subject=said[:80],
            )


def refuse_options(options: PauseOptions) -> None:
    """Refuses options that mean nothing without a subject.

    Raises:
        InvalidError: there are some.
    """
    from tenure.errors import InvalidError

    if options != PauseOptions():
        raise InvalidError(
            "say what is to be paused: hub, project:NAME, node NAME, or a recipient (NAME@NODE)"
        )


def reason_of(options: PauseOptions) -> str:
    """The reason of a pause.

    Raises:
        InvalidError: there is none, or waiting is asked for without a drain.
    """
    from tenure.errors import InvalidError

    if wants_to_wait(options) and not options.drain:
        raise InvalidError("--wait waits until it is drained; say --drain as well")
    if not options.because or not options.because.strip():
        raise InvalidError(
            "a pause needs a reason: --because; `tenure why` tells it to whoever waits behind it"
        )
    return options.because


def wants_to_wait(options: PauseOptions) -> bool:
    return options.wait or options.wait_s is not None


def bound_of(options: PauseOptions) -> float:
    """How long to wait, in seconds."""
    from tenure.cli.text.moment import parse_duration_s

    return parse_duration_s(options.wait_s or LONGEST)


async def drained(cli: Invocation, hub: HubClient, named: str, bound_s: float) -> int:
    """Waits until nothing runs there, or for the bound; the exit code."""
    from tenure.cli.exit_code import TIMED_OUT
    from tenure.cli.text.moment import pause

    body, told = await hub.pause_of(named), None
    try:
        async with asyncio.timeout(bound_s):
            while body.running_count and body.paused is not None:
                if told != body.running:
                    cli.out.note(
                        f"waiting for {running_text(body)}; Ctrl-C stops waiting and leaves the pause"
                    )
                    told = body.running
                await pause(LOOK_S)
                body = await hub.pause_of(named)
    except TimeoutError:
        cli.out.data(body)
        cli.out.note(f"{running_text(body)} still there; {named} stays paused")
        return TIMED_OUT
    cli.out.data(body)
    if not cli.out.json:
        cli.out.say(
            f"nothing runs at {named} any more"
            if body.paused is not None
            else f"{named} was resumed meanwhile"
        )
    return 0


def tell(cli: Invocation, body: PauseBody) -> None:
    """What is paused now, by whom: the first who did."""
    if cli.out.json or body.paused is None:
        return
    already = f" already, by {body.paused.by}: {body.paused.because}" if body.replayed else ""
    running = f"; {running_text(body)} there and goes on" if body.running_count else "; nothing runs there"
    cli.out.say(f"{body.subject} is paused{already}{running}")
    cli.out.note(f"`{cli.pasteable(f'resume {body.subject}')}` lets it go on")


def running_text(body: PauseBody) -> str:
    """What runs there, by its Attempts."""
    named = ", ".join(body.running[:SHOWN])
    more = f" and {body.running_count - SHOWN} more" if body.running_count > SHOWN else ""
    return f"{named}{more} running" if body.running_count else "nothing"
