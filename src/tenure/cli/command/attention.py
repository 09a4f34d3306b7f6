"""`tenure attention`: what needs a person."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from tenure.cli.invocation import Invocation, command, family

if TYPE_CHECKING:
    from tenure.client.hub import HubClient
    from tenure.wire.attention import AttentionBody

SNOOZE, ASSIGN = "snooze", "assign"
ME = "me"

app = family()


class AttentionOptions(NamedTuple):
    """What `attention` takes."""

    kind: Annotated[
        str | None, typer.Option("--kind", metavar="KIND", help="Only questions of this kind.")
    ] = None
    severity: Annotated[
        str | None, typer.Option("--severity", metavar="SEVERITY", help="Only urgent, warning or info ones.")
    ] = None
    project: Annotated[
        str | None, typer.Option("--project", metavar="NAME", help="Only those about this project.")
    ] = None
    mine: Annotated[bool, typer.Option("--mine", help="Only those assigned to you.")] = False
    snoozed: Annotated[bool, typer.Option("--snoozed", help="Only those that were put off.")] = False
    every: Annotated[bool, typer.Option("--all", "-a", help="Closed ones and put off ones as well.")] = False
    counts: Annotated[
        bool, typer.Option("--counts", help="How many there are, and how often people were interrupted.")
    ] = False
    until: Annotated[
        str | None,
        typer.Option(
            "--until",
            metavar="TIME",
            help="With snooze: until when, an RFC 3339 time or +2h; else no longer.",
        ),
    ] = None
    to: Annotated[
        str | None,
        typer.Option(
            "--to", metavar="NAME", help="With assign: who looks after it, else you; `nobody` takes it back."
        ),
    ] = None
    close: Annotated[
        str | None,
        typer.Option(
            "--close",
            metavar="ITEM",
            help="Close a question that is done once somebody has read it; needs --because.",
        ),
    ] = None
    because: Annotated[
        str | None, typer.Option("--because", metavar="REASON", help="Why it is closed; it is kept.")
    ] = None


@command(app, "attention")
async def attention(
    cli: Invocation,
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[snooze|assign] [ITEM]",
            help="A question, or what it is about, to see in full; to put off; to give to somebody.",
            show_default=False,
        ),
    ] = None,
    *,
    options: AttentionOptions,
) -> None:
    """List what needs you.

    The most urgent first, of those the longest open first, each with what may be answered and what that does. With ITEM
    one in full: its facts, what was tried, every answer. `attention snooze ITEM --until +2h` puts one off: nobody is
    reminded, unless its facts change. `attention assign ITEM` gives one to somebody. Answer with `tenure resolve`.
    """
    from tenure.cli.asking.lookup import connected

    action, item = action_in(words or [])
    async with connected(cli) as hub:
        if options.close is not None:
            await close_item(cli, hub, options.close, reason_for(options))
        elif action == SNOOZE:
            await snooze(cli, hub, item or "", options.until)
        elif action == ASSIGN:
            await assign(cli, hub, item or "", options.to)
        elif options.counts:
            await count(cli, hub)
        elif item is not None:
            await show(cli, hub, item)
        else:
            await listed(cli, hub, options)


def action_in(words: list[str]) -> tuple[str | None, str | None]:
    """What is to be done, and with which question.

    Raises:
        InvalidError: there are too many words, or the question is missing.
    """
    from tenure.errors import InvalidError

    if words and words[0] in {SNOOZE, ASSIGN}:
        if len(words) != 2:
            raise InvalidError(f"name one question: tenure attention {words[0]} ITEM")
        return words[0], words[1]
    if len(words) > 1:
        raise InvalidError(
            f"{' '.join(words)[:80]!r}: name one question, or say what to do with one: snooze ITEM, assign ITEM"
        )
    return None, words[0] if words else None


async def listed(cli: Invocation, hub: HubClient, options: AttentionOptions) -> None:
    """The list."""
    from tenure.cli.command.question_text import in_order, list_lines
    from tenure.runtime.clock import RealClock

    filters: dict[str, Any] = {
        "kind": options.kind,
        "severity": options.severity,
        "project": options.project,
        "assigned": ME if options.mine else None,
        "snoozed": "true" if options.snoozed else None,
    }
    items = in_order(await hub.every_question(open_only=not options.every, **filters))
    now_ms = RealClock().wall_ms()
    hidden = 0
    if not (options.every or options.snoozed):
        shown = [one for one in items if not is_put_off(one, now_ms)]
        hidden, items = len(items) - len(shown), shown
    cli.out.data({"items": items})
    if not cli.out.json:
        looking = await who_looks(hub, items)
        for item in items:
            for line in list_lines(item, now_ms, looking.get(item.subject)):
                cli.out.say(line)
        if not items:
            cli.out.note("nothing needs you" + (" like that" if any(filters.values()) else ""))
    if hidden:
        cli.out.note(f"{hidden} more put off for now; --snoozed shows them")


def is_put_off(item: AttentionBody, now_ms: int) -> bool:
    from tenure.wire.codec import parse_instant

    return item.snoozed_until_at is not None and parse_instant(item.snoozed_until_at) > now_ms


async def who_looks(hub: HubClient, items: list[AttentionBody]) -> dict[str, str]:
    """Who looks into an unknown outcome now, by the Attempt."""
    found: dict[str, str] = {}
    for item in items:
        task_id, _, number = item.subject.partition("/")
        if item.open and "rerun" in item.answers and number.isdigit():
            for one in await hub.attempts(task_id):
                if one.number == int(number) and one.answer == "investigate" and one.answer_by:
                    found[item.subject] = one.answer_by
    return found


async def show(cli: Invocation, hub: HubClient, name: str) -> None:
    """One question in full; of a Task all that are open."""
    from tenure.cli.asking.question import questions_about
    from tenure.cli.command.question_text import in_order, tell_in_full
    from tenure.runtime.clock import RealClock

    items = in_order(await questions_about(hub, name))
    cli.out.data({"items": items})
    if cli.out.json:
        return
    if not items:
        cli.out.note(f"nothing is asked about {name}")
    for place, item in enumerate(items):
        if place:
            cli.out.say()
        tell_in_full(cli, item, RealClock().wall_ms())


async def count(cli: Invocation, hub: HubClient) -> None:
    from tenure.cli.command.question_text import tell_counts

    counts = await hub.attention_counts()
    cli.out.data(counts)
    if not cli.out.json:
        tell_counts(cli, counts)


async def snooze(cli: Invocation, hub: HubClient, name: str, until: str | None) -> None:
    """Puts a question off; without a time no longer."""
    from tenure.cli.asking.question import question_named
    from tenure.cli.text.moment import parse_not_before
    from tenure.runtime.clock import RealClock

    item = await question_named(hub, name)
    at = parse_not_before(until, RealClock().wall_ms()) if until is not None else None
    done = await hub.snooze(item.item_id, item.version, at)
    cli.out.data({"item_id": item.item_id, "until_at": at, "replayed": done.replayed})
    if not cli.out.json:
        cli.out.say(f"{item.item_id} is put off {'no longer' if at is None else f'until {at}'}")


async def assign(cli: Invocation, hub: HubClient, name: str, to: str | None) -> None:
    """Gives a question to somebody."""
    from tenure.cli.asking.question import question_named

    item = await question_named(hub, name)
    whom = None if to == "nobody" else to or ME
    done = await hub.assign(item.item_id, item.version, whom)
    after = await hub.question(item.item_id)
    cli.out.data({"item_id": item.item_id, "assigned_to": after.assigned_to, "replayed": done.replayed})
    if not cli.out.json:
        cli.out.say(f"{item.item_id} is assigned to {after.assigned_to or 'nobody'}")


async def close_item(cli: Invocation, hub: HubClient, name: str, because: str) -> None:
    from tenure.cli.asking.question import question_named

    item = await question_named(hub, name)
    done = await hub.close_attention(item.item_id, item.version, because)
    cli.out.data({"item_id": item.item_id, "closed": True, "replayed": done.replayed})
    if not cli.out.json:
        cli.out.say(f"{item.item_id} is closed")


def reason_for(options: AttentionOptions) -> str:
    """The reason that closing needs.

    Raises:
        InvalidError: there is none.
    """
    from tenure.errors import InvalidError

    if not options.because:
        raise InvalidError("closing a question needs a reason: --because")
    return options.because
