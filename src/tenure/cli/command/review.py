"""`tenure challenge`: doubt what an ended Attempt says of itself, and the answer to such a doubt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from tenure.cli.invocation import Invocation, command, family

if TYPE_CHECKING:
    from tenure.cli.asking.lookup import Located
    from tenure.client.hub import HubClient
    from tenure.core.review import About

app = family()


class ChallengeOptions(NamedTuple):
    """What `challenge` takes."""

    about: Annotated[
        str | None,
        typer.Option(
            "--about",
            metavar="WHAT",
            help="What is doubted: claim (what it did), boundary (what it touched), failure (how it failed), evidence.",
        ),
    ] = None
    because: Annotated[
        str, typer.Option("--because", metavar="REASON", help="Why; it stands in the record for good.")
    ] = ""
    uphold: Annotated[
        bool, typer.Option("--uphold", help="Answer: the doubt is right; it counts as not completed.")
    ] = False
    dismiss: Annotated[
        bool, typer.Option("--dismiss", help="Answer: the doubt is wrong; what waits goes on.")
    ] = False


@command(app, "challenge")
async def challenge(
    cli: Invocation,
    attempt: Annotated[
        str, typer.Argument(metavar="ATTEMPT", help="The attempt (TASK/2), or the task for its newest one.")
    ],
    options: ChallengeOptions,
) -> None:
    """Challenge an attempt that has ended, or answer a challenge.

    Whoever depends on its task waits until it is answered, once and finally: with --uphold the task counts as if it had
    not completed, for all that still wait for it; with --dismiss they go on. Task and attempt stay as they are.
    """
    from tenure.cli.asking.lookup import attempt_of, connected
    from tenure.wire.recovery import ChallengeRequest

    ruling = ruling_in(options)
    async with connected(cli) as hub:
        located = await attempt_of(hub, attempt)
        if ruling is not None:
            await answer(cli, hub, located, ruling, options.because)
            return
        about = doubted(options.about)
        asked = ChallengeRequest(number=located.number, about=about, because=options.because)
        done = await hub.challenge(located.task_id, asked)
    cli.out.data({"attempt_id": located.name, "about": options.about, "replayed": done.replayed})
    if not cli.out.json:
        cli.out.say(f"{located.name}: its {options.about} is challenged; what depends on it waits")


def doubted(about: str | None) -> About:
    """What is doubted.

    Raises:
        InvalidError: it is not said.
    """
    from tenure.core.review import About
    from tenure.errors import InvalidError

    if about not in list(About):
        raise InvalidError(f"say what is doubted: --about {', '.join(About)}", option="--about")
    return About(about)


def ruling_in(options: ChallengeOptions) -> str | None:
    """The answer; None where a challenge is made.

    Raises:
        InvalidError: it is both, or something is doubted in the same breath.
    """
    from tenure.errors import InvalidError

    chosen = [name for name in ("uphold", "dismiss") if getattr(options, name)]
    if len(chosen) > 1:
        raise InvalidError("give one answer, not --uphold and --dismiss")
    if chosen and options.about is not None:
        raise InvalidError("--about makes a challenge, --uphold and --dismiss answer one; do one of them")
    return chosen[0] if chosen else None


async def answer(cli: Invocation, hub: HubClient, located: Located, ruling: str, because: str) -> None:
    """Upholds or dismisses the challenge of an Attempt."""
    from tenure.wire.attention import AnswerRequest

    item = await hub.question(f"challenged:{located.name}")
    does = item.answers.get(ruling)
    if does is not None:
        cli.out.note(f"{ruling}: {does}")
    done = await hub.answer(
        item.item_id, AnswerRequest(answer=ruling, item_version=item.version, because=because)
    )
    cli.out.data(done)
    if not cli.out.json:
        said = {"uphold": "upheld", "dismiss": "dismissed"}[ruling]
        cli.out.say(f"{located.name}: the challenge is {said}{', as it was before' if done.replayed else ''}")
