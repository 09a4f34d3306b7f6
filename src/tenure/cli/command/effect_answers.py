"""What people do about Effects: look, say what became of one in doubt, allow or refuse what needs them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from tenure.cli.invocation import Invocation, command, family

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tenure.client.hub import HubClient
    from tenure.wire.attention import AttentionBody

APPROVAL = "approval"
DOUBTS = ("effect_quarantined", "effect_in_doubt")

app = family()

EffectArgument = Annotated[str, typer.Argument(metavar="EFFECT", help="The effect's id (e_…).")]
BecauseOption = Annotated[
    str, typer.Option("--because", metavar="REASON", help="Why; it stands in the record for good.")
]
SubjectArgument = Annotated[
    str,
    typer.Argument(
        metavar="SUBJECT",
        help="An effect's id, a task whose attempt waits for you, or an item of `tenure attention`.",
    ),
]
ReadOption = Annotated[
    int | None,
    typer.Option(
        "--item-version",
        metavar="N",
        help="The version of the question that you read (`attention --json`), if it must be that one.",
    ),
]


async def list_effects(
    cli: Invocation,
    task: Annotated[
        str | None,
        typer.Argument(metavar="TASK", help="The task; inside an attempt its own.", show_default=False),
    ] = None,
) -> None:
    """List a task's effects, the oldest first."""
    from tenure.cli.asking.capability import acts_as_agent, connected_agent
    from tenure.cli.asking.lookup import connected, task_id_of
    from tenure.cli.text.effect import effect_line

    if acts_as_agent(cli) and task in {None, cli.env.get("TENURE_TASK")}:
        async with connected_agent(cli) as agent:
            effects = await agent.effects()
    else:
        async with connected(cli) as hub:
            effects = await hub.effects(await task_id_of(hub, named(task)))
    cli.out.data({"effects": effects})
    if cli.out.json:
        return
    for one in effects:
        cli.out.say(effect_line(one))
    if not effects:
        cli.out.note("it has no effects")


def named(task: str | None) -> str:
    """The task that was named.

    Raises:
        InvalidError: none was.
    """
    from tenure.errors import InvalidError

    if task is None:
        raise InvalidError(
            "say of which task: tenure effect list TASK (only inside an attempt it is that one's)"
        )
    return task


async def show_effect(cli: Invocation, effect: EffectArgument) -> None:
    """Show an effect: what was asked for, how it stands, and what the provider said."""
    from tenure.cli.asking.capability import acts_as_agent, connected_agent
    from tenure.cli.asking.lookup import connected
    from tenure.cli.text.effect import effect_lines

    if acts_as_agent(cli):
        async with connected_agent(cli) as agent:
            body = await agent.effect(effect)
    else:
        async with connected(cli) as hub:
            body = await hub.effect(effect)
    cli.out.data(body)
    if not cli.out.json:
        for line in effect_lines(body):
            cli.out.say(line)


class WordOptions(NamedTuple):
    """What `effect settle` takes."""

    because: BecauseOption
    confirmed: Annotated[
        str | None,
        typer.Option(
            "--confirmed",
            metavar="RESULT",
            help="It is there: you looked; RESULT is what the provider calls it (a number, an address).",
        ),
    ] = None
    absent: Annotated[
        bool, typer.Option("--absent", help="It is not there: you looked; it may be asked for again.")
    ] = False
    item_version: ReadOption = None


async def settle(cli: Invocation, effect: EffectArgument, options: WordOptions) -> None:
    """Say what became of an effect that is in doubt or in quarantine.

    For one whose provider cannot tell, or whose facts contradict each other: look there, then say so. What the record
    knows then is your word, under your name. It is refused if the facts have changed since you looked.
    """
    from tenure.cli.asking.lookup import connected
    from tenure.wire.effects import ResolveRequest

    result = word_of(options)
    async with connected(cli) as hub:
        items = [one for one in await hub.every_question() if one.kind in DOUBTS]
        item = item_about(items, effect)
        if item is not None:
            cli.out.note(item.summary)
        word = ResolveRequest(
            confirmed=result is not None,
            because=options.because,
            item_version=read_version(options.item_version, item),
            result=result,
        )
        effect_id = effect if item is None else item.subject.rpartition("/")[2]
        done = await hub.resolve(effect_id, word)
    cli.out.data({"effect_id": effect_id, "confirmed": word.confirmed, "replayed": done.replayed})
    if not cli.out.json:
        said = "is there" if word.confirmed else "is not there"
        cli.out.say(f"{effect_id} {said}{', as was said before' if done.replayed else ''}")


def word_of(options: WordOptions) -> str | None:
    """What the provider calls it; None where it is not there.

    Raises:
        InvalidError: it was said of neither, or of both.
    """
    from tenure.errors import InvalidError

    if (options.confirmed is not None) == options.absent:
        raise InvalidError("say which it is: --confirmed RESULT, or --absent")
    return options.confirmed


@command(app, "approve")
async def approve(
    cli: Invocation, subject: SubjectArgument, because: BecauseOption, item_version: ReadOption = None
) -> None:
    """Allow an effect, or a task's attempt, that waits for a person.

    It shows what is asked, and is refused if that has changed since it was read. It allows; it does not revive a lease: an
    effect whose attempt ended while it waited is not done.
    """
    await decide(cli, subject, Decided(approve=True, because=because, item_version=item_version))


@command(app, "reject")
async def reject(
    cli: Invocation, subject: SubjectArgument, because: BecauseOption, item_version: ReadOption = None
) -> None:
    """Refuse an effect, or a task's attempt, that waits for a person.

    A rejected effect is not done, and its agent is told so with your reason. A task whose attempt is rejected ends.
    """
    await decide(cli, subject, Decided(approve=False, because=because, item_version=item_version))


class Decided(NamedTuple):
    """A decision, and the version of the question that was read where somebody named it."""

    approve: bool
    because: str
    item_version: int | None


async def decide(cli: Invocation, subject: str, decided: Decided) -> None:
    """Reads the question, shows it, and records the decision about exactly that."""
    from tenure.cli.asking.lookup import connected
    from tenure.wire.effects import DecisionRequest

    async with connected(cli) as hub:
        item = item_about([one for one in await hub.every_question() if one.kind == APPROVAL], subject)
        # Nobody is asked (any more): the hub knows whether this very decision was the answer.
        name = await subject_named(hub, subject) if item is None else subject_of(item)
        if item is not None:
            await tell_question(cli, hub, item, name)
        request = DecisionRequest(
            because=decided.because, item_version=read_version(decided.item_version, item)
        )
        done = await hub.decide(name, request, approve=decided.approve)
    word = "approved" if decided.approve else "rejected"
    cli.out.data({"subject": name, word: True, "replayed": done.replayed})
    if not cli.out.json:
        cli.out.say(f"{name} is {word}{', as it was before' if done.replayed else ''}")


def item_about(items: Iterable[AttentionBody], name: str) -> AttentionBody | None:
    """The open question of this id, or about this subject: an Effect's id, an Attempt or its Task, or the beginning of
    a Task's id.

    Raises:
        ConflictError: several are.
    """
    from tenure.errors import ConflictError

    found = [one for one in items if name in names_of(one) or is_task_of(name, one)]
    if len(found) > 1:
        raise ConflictError(
            f"several questions are about {name!r}: {', '.join(one.subject for one in found)}; name one",
            found=[one.item_id for one in found],
        )
    return found[0] if found else None


def names_of(item: AttentionBody) -> set[str]:
    return {item.item_id, item.subject, subject_of(item)}


def is_task_of(name: str, item: AttentionBody) -> bool:
    """Does the question ask about this Task's Attempt? One about an Effect is named by the Effect."""
    whole = name if name.startswith("t_") else f"t_{name}"
    task, _, rest = item.subject.partition("/")
    return rest.isdigit() and len(whole) > len("t_") and task.startswith(whole.lower())


def subject_of(item: AttentionBody) -> str:
    """What the API calls it: the Effect, or the Task whose newest Attempt it is."""
    task, _, rest = item.subject.partition("/")
    return rest if rest.startswith("e_") else task


async def subject_named(hub: HubClient, name: str) -> str:
    """What was named where no question is open about it."""
    from tenure.cli.asking.lookup import task_id_of

    plain = name.partition(":")[2] if name.startswith(f"{APPROVAL}:") else name
    if plain.rpartition("/")[2].startswith("e_"):
        return plain.rpartition("/")[2]
    return await task_id_of(hub, plain)


def read_version(named: int | None, item: AttentionBody | None) -> int:
    """The version of the question that was read: the one that somebody names, else the one that was just shown."""
    if named is not None:
        return named
    return item.version if item is not None else 0


async def tell_question(cli: Invocation, hub: HubClient, item: AttentionBody, name: str) -> None:
    """Shows what is asked, beside the result."""
    from tenure.cli.text.effect import parameter_lines

    cli.out.note(item.summary)
    if name.startswith("e_"):
        for line in parameter_lines(await hub.effect(name)):
            cli.out.note(line)
