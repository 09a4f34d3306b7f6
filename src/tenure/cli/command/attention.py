"""`tenure attention`: what needs a person."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from tenure.cli.invocation import Invocation, command, family

if TYPE_CHECKING:
    from tenure.wire.api import AttentionBody

app = family()


class AttentionOptions(NamedTuple):
    """What `attention` takes."""

    every: Annotated[bool, typer.Option("--all", "-a", help="Closed questions as well.")] = False
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
async def attention(cli: Invocation, options: AttentionOptions) -> None:
    """List what needs you.

    Each line is a question: what it is about, since when, and what may be answered. Those about unknown outcomes are
    answered with `tenure reconcile`, those a program has asked with `tenure retry`, those that ask before something is
    done with `tenure approve` or `reject`.
    """
    from tenure.cli.asking.lookup import connected

    async with connected(cli) as hub:
        if options.close is not None:
            items = await hub.every_question()
            item = item_named(items, options.close)
            done = await hub.close_attention(item.item_id, item.version, reason_for(options))
            cli.out.data({"item_id": item.item_id, "closed": True, "replayed": done.replayed})
            if not cli.out.json:
                cli.out.say(f"{item.item_id} is closed")
            return
        items = await hub.every_question(open_only=not options.every)
    cli.out.data({"items": items})
    if not cli.out.json:
        tell(cli, items)


def item_named(items: tuple[AttentionBody, ...], name: str) -> AttentionBody:
    """The open question of this id, or about this subject.

    Raises:
        NotFoundError: there is none, or several are about it.
    """
    from tenure.errors import NotFoundError

    found = [item for item in items if name in {item.item_id, item.subject}]
    if len(found) != 1:
        says = "no open question is called" if not found else f"{len(found)} open questions are about"
        known = ", ".join(item.item_id for item in found or items) or "none"
        raise NotFoundError(f"{says} {name!r}; open are: {known}", name=name)
    return found[0]


def reason_for(options: AttentionOptions) -> str:
    """The reason that closing needs.

    Raises:
        InvalidError: there is none.
    """
    from tenure.errors import InvalidError

    if not options.because:
        raise InvalidError("closing a question needs a reason: --because")
    return options.because


def tell(cli: Invocation, items: tuple[AttentionBody, ...]) -> None:
    from tenure.cli.text.moment import shown_age
    from tenure.runtime.clock import RealClock

    if not items:
        cli.out.note("nothing needs you")
        return
    now_ms = RealClock().wall_ms()
    for item in items:
        closed = "" if item.open else f"  closed: {item.closed_because}"
        cli.out.say(f"{item.kind}  {item.subject}  {shown_age(item.opened_at, now_ms)}{closed}")
        cli.out.say(f"  {item.summary}")
        for answer, what in item.answers.items():
            cli.out.say(f"  {how_to(item, answer)}: {what}")


def how_to(item: AttentionBody, answer: str) -> str:
    """The command that gives an answer."""
    from tenure.cli.command.effect_answers import subject_of

    match answer:
        case "rerun" | "accept" | "retire" | "investigate":
            flag = f"--{answer} LATE" if answer == "accept" else f"--{answer}"
            return f"tenure reconcile {item.subject} {flag} --because …"
        case "retry":
            return f"tenure retry {item.subject.partition('/')[0]} --because …"
        case "cancel":
            return f"tenure cancel {item.subject.partition('/')[0]}"
        case "approve" | "reject":
            return f"tenure {answer} {subject_of(item)} --because …"
        case "confirmed":
            return f"tenure effect settle {subject_of(item)} --confirmed RESULT --because …"
        case "absent":
            return f"tenure effect settle {subject_of(item)} --absent --because …"
        case "release" | "forget":
            return f"tenure nodes {answer} {item.subject} --because …"
        case _:
            return f"tenure attention --close {item.item_id} --because …"
