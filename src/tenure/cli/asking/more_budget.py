"""What is added to a Task's limits, out of options."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from tenure.errors import InvalidError

if TYPE_CHECKING:
    from tenure.core.budget import Budget

_WHOLE = re.compile(r"\+?(\d{1,16})")


class MoreOptions(NamedTuple):
    """What may be added; each is added to the limit that there is."""

    attempts: Annotated[
        str | None, typer.Option("--attempts", metavar="+N", help="So many attempts more.")
    ] = None
    wall: Annotated[
        str | None, typer.Option("--wall", metavar="+DURATION", help="So much longer of running.")
    ] = None
    cost: Annotated[str | None, typer.Option("--cost", metavar="+USD", help="So many US dollars more.")] = (
        None
    )
    tokens: Annotated[str | None, typer.Option("--tokens", metavar="+N", help="So many tokens more.")] = None
    tool_calls: Annotated[
        str | None, typer.Option("--tool-calls", metavar="+N", help="So many tool calls more.")
    ] = None
    repeats: Annotated[
        str | None, typer.Option("--repeats", metavar="+N", help="The same failure so many times more.")
    ] = None
    interruptions: Annotated[
        str | None, typer.Option("--interruptions", metavar="+N", help="So many questions to people more.")
    ] = None
    rounds: Annotated[
        str | None,
        typer.Option("--rounds", metavar="+N", help="So many attempts more without being any better."),
    ] = None
    deadline: Annotated[
        str | None,
        typer.Option(
            "--deadline", metavar="TIME", help="The new deadline: an RFC 3339 time, or +2h from now."
        ),
    ] = None


def more_in(options: MoreOptions) -> tuple[Budget, str | None]:
    """What is added, and the new deadline in RFC 3339.

    Raises:
        InvalidError: an amount or the time is none.
    """
    from tenure.cli.asking.task_budget import easier_limits
    from tenure.cli.text.moment import parse_not_before
    from tenure.core.budget import Budget
    from tenure.runtime.clock import RealClock

    plain = ("attempts", "tokens", "tool_calls", "repeats", "interruptions", "rounds")
    said = {name: text for name in plain if (text := getattr(options, name)) is not None}
    counts = {name: whole(name, text) for name, text in said.items()}
    wall, cost = (None if one is None else one.removeprefix("+") for one in (options.wall, options.cost))
    deadline = options.deadline
    at = parse_not_before(deadline, RealClock().wall_ms()) if deadline is not None else None
    return Budget(**counts, **easier_limits(wall, cost)), at


def whole(name: str, text: str) -> int:
    """A count from `2` or `+2`.

    Raises:
        InvalidError: it is none.
    """
    found = _WHOLE.fullmatch(text.strip())
    if found is None:
        option = f"--{name.replace('_', '-')}"
        raise InvalidError(f"{option} {text[:40]!r} is no count; expected +2", option=option)
    return int(found[1])
