"""`tenure resolve`: a person's answer to a question, or one answer to many."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from tenure.cli.asking.more_budget import MoreOptions
from tenure.cli.asking.retry_changes import ChangeOptions
from tenure.cli.command.answer_options import (
    Extra,
    ResolveOptions,
    refuse_beside_all,
    refuse_misplaced,
    refuse_without_all,
)
from tenure.cli.invocation import Invocation, command, family

if TYPE_CHECKING:
    from tenure.client.hub import HubClient
    from tenure.wire.attention import AnswerRequest, AttentionBody, BulkReply, BulkRequest
    from tenure.wire.recovery import ChangesRequest

SOME_REFUSED = 65

app = family()


@command(app, "resolve", context_settings={"allow_interspersed_args": True})
async def resolve(
    cli: Invocation,
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[ITEM] [ANSWER] [PROGRAM]",
            help="The question or what it is about; the answer; after `--`, with retry, a program to run instead.",
            show_default=False,
        ),
    ] = None,
    *,
    options: ResolveOptions,
    changes: ChangeOptions,
    more: MoreOptions,
) -> int:
    """Answer a question of `tenure attention`.

    Without an answer it shows the question and what each answer will do, and changes nothing. What your answer will do
    is said before it is given, and on a terminal you are asked. It is refused if the question has changed since you
    looked, or was answered. With --all one answer is given to many, one row each.
    """
    from tenure.cli.asking.lookup import connected

    item, answer, *program = [*(words or []), None, None][: max(2, len(words or []))]
    check_words(item, options)
    extra = Extra(options, changes, more, program)
    if options.every:
        refuse_beside_all(extra)
    else:
        refuse_without_all(options)
        if answer is not None:
            refuse_misplaced(answer, extra)
    async with connected(cli) as hub:
        if options.every:
            return await resolve_all(cli, hub, options)
        return await resolve_one(cli, hub, str(item), Given(answer, options, changes, more, program))


def check_words(item: str | None, options: ResolveOptions) -> None:
    """Refuses what names no question, or one beside all.

    Raises:
        InvalidError: it does.
    """
    from tenure.errors import InvalidError

    if options.every and item is not None:
        raise InvalidError("with --all no single question is named; --kind and others say which are meant")
    if not options.every and item is None:
        raise InvalidError("name a question: tenure resolve ITEM ANSWER; `tenure attention` lists them")


class Given(NamedTuple):
    """An answer as it was typed."""

    answer: str | None
    options: ResolveOptions
    changes: ChangeOptions
    more: MoreOptions
    program: list[Any]


async def resolve_one(cli: Invocation, hub: HubClient, name: str, given: Given) -> int:
    """Shows a question, or answers it."""
    from tenure.cli.asking.near import tell_unserved
    from tenure.cli.asking.question import question_named
    from tenure.cli.command.question_text import meaning, tell_in_full
    from tenure.runtime.clock import RealClock

    item = await question_named(hub, name)
    if given.answer is None:
        cli.out.data(item)
        if not cli.out.json:
            tell_in_full(cli, item, RealClock().wall_ms())
            cli.out.note("nothing was answered; say which: tenure resolve ITEM ANSWER --because …")
        return 0
    does = item.answers.get(given.answer)
    if does is not None:
        cli.out.note(f"{given.answer}: {meaning(item, given.answer, does)}")
    asked = await answer_in(cli, hub, item, given)
    if does is not None and not given.options.yes and not is_meant(cli, "give this answer?"):
        cli.out.note("nothing was answered")
        return 1
    done = await hub.answer(item.item_id, asked)
    if asked.changes.to is not None:
        await tell_unserved(cli, hub, asked.changes.to)
    cli.out.data(done)
    if not cli.out.json:
        follows = f"; attempt {done.number} follows" if done.number else ""
        before = ", as it was before" if done.replayed else ""
        cli.out.say(f"{item.item_id}: {done.answer}{follows}{before}")
    return 0


async def answer_in(cli: Invocation, hub: HubClient, item: AttentionBody, given: Given) -> AnswerRequest:
    """The answer as a request.

    Raises:
        InvalidError: an option cannot be read.
        BaseNotFoundError: a revision cannot be looked up.
    """
    from tenure.cli.asking.more_budget import more_in
    from tenure.wire.attention import AnswerRequest

    options = given.options
    more, deadline_at = more_in(given.more)
    return AnswerRequest(
        answer=given.answer or "",
        item_version=item.version if options.item_version is None else options.item_version,
        because=options.because,
        late_id=options.late,
        tree_gone=options.tree_gone,
        result=options.result,
        more=more,
        deadline_at=deadline_at,
        changes=await changes_of(cli, hub, item, given),
    )


async def changes_of(cli: Invocation, hub: HubClient, item: AttentionBody, given: Given) -> ChangesRequest:
    from tenure.cli.asking.retry_changes import changes_in
    from tenure.wire.recovery import ChangesRequest

    if given.changes == ChangeOptions() and not given.program:
        return ChangesRequest()
    task = await hub.task(item.subject.partition("/")[0])
    return await changes_in(cli, given.changes, given.program, task)


async def resolve_all(cli: Invocation, hub: HubClient, options: ResolveOptions) -> int:
    """Gives one answer to all that fit, one row each.

    Raises:
        InvalidError: no answer is given.
    """
    from msgspec.structs import replace

    from tenure.errors import InvalidError

    if options.answer is None:
        raise InvalidError("say what is answered to each: --answer, as --answer close")
    asked = bulk_in(options)
    if not options.dry_run and not options.yes and is_terminal(cli):
        told = await hub.answer_many(replace(asked, dry_run=True))
        tell_rows(cli, told)
        if not is_meant(cli, f"answer {options.answer} to these?"):
            cli.out.note("nothing was answered")
            return 1
    reply = await hub.answer_many(asked)
    cli.out.data(reply)
    if not cli.out.json:
        tell_rows(cli, reply)
        if reply.more:
            cli.out.note("more questions fit than are answered at once; call it again for the rest")
    return SOME_REFUSED if any(one.error for one in reply.results) else 0


def bulk_in(options: ResolveOptions) -> BulkRequest:
    """The request.

    Raises:
        InvalidError: the kind or the severity is none.
    """
    import msgspec

    from tenure.errors import InvalidError
    from tenure.wire.attention import BulkRequest, ItemFilter

    said = {
        "kind": options.kind,
        "severity": options.severity,
        "project": options.project,
        "assigned": "me" if options.mine else None,
    }
    try:
        where = msgspec.convert(said, ItemFilter)
    except msgspec.ValidationError as error:
        raise InvalidError(f"which questions are meant: {error}") from error
    return BulkRequest(
        answer=options.answer or "", because=options.because, filter=where, dry_run=options.dry_run
    )


def tell_rows(cli: Invocation, reply: BulkReply) -> None:
    if not reply.results:
        cli.out.note("no open question fits")
        return
    rows = [
        (
            one.item_id,
            "refused" if one.error else reply.answer if one.done else f"would {reply.answer}",
            str(one.error.get("detail", "")) if one.error else one.does or "",
        )
        for one in reply.results
    ]
    cli.out.table(("question", "answer", "what it does"), rows)


def is_terminal(cli: Invocation) -> bool:
    return not cli.out.json and sys.stdin.isatty()


def is_meant(cli: Invocation, question: str) -> bool:
    """Asks on a terminal; where nobody can be asked, what was typed is meant."""
    return not is_terminal(cli) or typer.confirm(question, err=True)
