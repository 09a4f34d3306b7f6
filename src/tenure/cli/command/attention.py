"""`tenure attention`: what needs a person."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from tenure.cli.invocation import Invocation, command, family

if TYPE_CHECKING:
    from tenure.client.hub import HubClient
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
        looking = {} if cli.out.json else await who_looks(hub, items)
    cli.out.data({"items": items})
    if not cli.out.json:
        tell(cli, items, looking)


async def who_looks(hub: HubClient, items: tuple[AttentionBody, ...]) -> dict[str, str]:
    """Who looks into an unknown outcome now, by the Attempt."""
    found: dict[str, str] = {}
    for item in items:
        task_id, _, number = item.subject.partition("/")
        if item.open and "rerun" in item.answers and number.isdigit():
            for one in await hub.attempts(task_id):
                if one.number == int(number) and one.answer == "investigate" and one.answer_by:
                    found[item.subject] = one.answer_by
    return found


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


def tell(cli: Invocation, items: tuple[AttentionBody, ...], looking: dict[str, str]) -> None:
    from tenure.cli.text.moment import shown_age
    from tenure.runtime.clock import RealClock

    if not items:
        cli.out.note("nothing needs you")
        return
    now_ms = RealClock().wall_ms()
    for item in items:
        closed = "" if item.open else f"  closed: {item.closed_because}"
        looks = f"  ({looking[item.subject]} is looking into it)" if item.subject in looking else ""
        cli.out.say(f"{item.kind}  {item.subject}  {shown_age(item.opened_at, now_ms)}{closed}{looks}")
        cli.out.say(f"  {item.summary}")
        for answer, what in item.answers.items():
            cli.out.say(f"  {how_to(item, answer)}: {meaning(item, answer, what)}")


def meaning(item: AttentionBody, answer: str, what: str) -> str:
    """What an answer does. Before the first grant there is no lease: a Task's approval is not an Effect's."""
    if item.kind != "approval" or item.subject.rpartition("/")[2].startswith("e_"):
        return what
    return {"approve": "lets it start", "reject": "it is not started, and the task ends"}.get(answer, what)


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
