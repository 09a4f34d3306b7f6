"""`tenure reconcile`: a person's answer to an Attempt whose outcome is unknown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from tenure.cli.invocation import Invocation, command, family

if TYPE_CHECKING:
    from tenure.cli.asking.lookup import Located

app = family()


class AnswerOptions(NamedTuple):
    """What `reconcile` takes: one answer, and its reason."""

    rerun: Annotated[bool, typer.Option("--rerun", help="Make the next attempt, with your reason.")] = False
    accept: Annotated[
        str | None,
        typer.Option("--accept", metavar="LATE", help="Take this late report as the task's end."),
    ] = None
    retire: Annotated[bool, typer.Option("--retire", help="End the task as failed.")] = False
    investigate: Annotated[
        bool, typer.Option("--investigate", help="Say that you are looking into it; nothing moves.")
    ] = False
    because: Annotated[
        str | None, typer.Option("--because", metavar="REASON", help="Why; it stands in the record for good.")
    ] = None
    tree_gone: Annotated[
        bool,
        typer.Option(
            "--tree-gone",
            help="State that no process of the attempt is left anywhere; its recipient becomes free.",
        ),
    ] = False


@command(app, "reconcile")
async def reconcile(
    cli: Invocation,
    attempt: Annotated[
        str, typer.Argument(metavar="ATTEMPT", help="The attempt (TASK/2), or the task for its newest one.")
    ],
    options: AnswerOptions,
) -> None:
    """Answer for an attempt whose outcome is unknown.

    Without an answer it says which are possible now and what each will do, and changes nothing. An answer is final, and
    is refused if anything came to light since you looked; only `--investigate` may come first.
    """
    from tenure.cli.asking.lookup import attempt_of, connected

    async with connected(cli) as hub:
        located = await attempt_of(hub, attempt)
        answer = answer_of(options)
        if answer is None:
            tell_offered(cli, located)
            return
        from tenure.wire.api import ReconcileBody

        tell_consequence(cli, located, answer)
        body = ReconcileBody(
            answer=answer,
            because=reason_of(options),
            item_version=located.body.item_version or 0,
            late_id=options.accept,
            tree_gone=options.tree_gone,
        )
        reply = await hub.reconcile(located.name, body)
    cli.out.data(reply)
    if not cli.out.json:
        then = f"; attempt {reply.successor} follows" if reply.successor else ""
        cli.out.say(f"{located.name}: {reply.answer}{then}")


def answer_of(options: AnswerOptions) -> str | None:
    """The one answer that was given; None where none was.

    Raises:
        InvalidError: there are two.
    """
    from tenure.errors import InvalidError

    given = {
        "rerun": options.rerun,
        "accept": options.accept is not None,
        "retire": options.retire,
        "investigate": options.investigate,
    }
    chosen = [name for name, was_given in given.items() if was_given]
    if len(chosen) > 1:
        raise InvalidError(f"give one answer, not {' and '.join(f'--{name}' for name in chosen)}")
    if not chosen and (options.because or options.tree_gone):
        raise InvalidError("an answer is missing: --rerun, --accept LATE, --retire or --investigate")
    return chosen[0] if chosen else None


def reason_of(options: AnswerOptions) -> str:
    """The reason.

    Raises:
        InvalidError: there is none.
    """
    from tenure.errors import InvalidError

    if not options.because or not options.because.strip():
        raise InvalidError(
            "an answer needs a reason that stands in the record: --because 'what you found out'"
        )
    return options.because


def tell_offered(cli: Invocation, located: Located) -> None:
    """What may be answered now, and what each answer does."""
    from tenure.cli.command.task_text import late_lines

    body = located.body
    cli.out.data(
        {
            "attempt_id": body.attempt_id,
            "offered_answers": body.offered_answers,
            "item_version": body.item_version,
        }
    )
    if cli.out.json:
        return
    if not body.offered_answers:
        answered = (
            f"it was answered {body.answer} by {body.answer_by}" if body.answer else "it is not unknown"
        )
        cli.out.say(
            f"{located.name} is {body.verdict or body.state}; {answered}, so there is nothing to answer"
        )
        return
    cli.out.say(f"nobody knows how {located.name} ended: {body.summary or 'nothing was reported'}")
    for answer, what in body.offered_answers.items():
        cli.out.say(f"  --{answer}{' LATE' if answer == 'accept' else ''}: {what}")
    for delivery in body.deliveries:
        for line in late_lines(delivery):
            cli.out.say(line)
    cli.out.say("answer with one of them, and --because REASON")


def tell_consequence(cli: Invocation, located: Located, answer: str) -> None:
    """Says what the answer will do, before it is given."""
    what = located.body.offered_answers.get(answer)
    if what:
        cli.out.note(f"{answer}: {what}")
