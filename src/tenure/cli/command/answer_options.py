"""The options of `tenure resolve`, and which of them go with which answer.

What does not belong is refused, with the answer and what it takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from tenure.cli.asking.more_budget import MoreOptions
from tenure.cli.asking.retry_changes import ChangeOptions
from tenure.errors import InvalidError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


PROGRAM = "a program after `--`"
SPELT = {"objective": "-m"}
"""Options that people know by their short names."""
WITH_ALL = ("answer", "kind", "severity", "project", "mine", "dry_run")


class ResolveOptions(NamedTuple):
    """What `resolve` takes."""

    because: Annotated[
        str, typer.Option("--because", metavar="REASON", help="Why; it stands in the record for good.")
    ] = ""
    late: Annotated[
        str | None,
        typer.Option("--late", metavar="LATE", help="With accept: the late report that you have read."),
    ] = None
    tree_gone: Annotated[
        bool,
        typer.Option(
            "--tree-gone", help="With rerun, accept or retire: no process of the attempt is left anywhere."
        ),
    ] = False
    result: Annotated[
        str | None,
        typer.Option("--result", metavar="RESULT", help="With confirmed: what the provider calls it."),
    ] = None
    item_version: Annotated[
        int | None,
        typer.Option(
            "--item-version", metavar="N", help="The version that you read, if it must be that one."
        ),
    ] = None
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask whether it is meant.")] = False
    every: Annotated[
        bool, typer.Option("--all", help="Answer all open questions that fit; needs --answer.")
    ] = False
    answer: Annotated[
        str | None, typer.Option("--answer", metavar="ANSWER", help="With --all: what is answered to each.")
    ] = None
    kind: Annotated[
        str | None, typer.Option("--kind", metavar="KIND", help="With --all: only questions of this kind.")
    ] = None
    severity: Annotated[
        str | None,
        typer.Option("--severity", metavar="SEVERITY", help="With --all: only urgent, warning or info ones."),
    ] = None
    project: Annotated[
        str | None,
        typer.Option("--project", metavar="NAME", help="With --all: only those about this project."),
    ] = None
    mine: Annotated[bool, typer.Option("--mine", help="With --all: only those assigned to you.")] = False
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="With --all: only say what it would do, one row for each.")
    ] = False


class Extra(NamedTuple):
    """What was typed beside an answer and its reason."""

    options: ResolveOptions
    changes: ChangeOptions
    more: MoreOptions
    program: Sequence[str | None]


def refuse_misplaced(answer: str, extra: Extra) -> None:
    """Refuses options that the answer does not take. An answer that there is not is left to the hub.

    Raises:
        InvalidError: there are some.
    """
    from tenure.wire.answer_fields import FIELDS_OF

    takes = takes_of(FIELDS_OF.get(answer, ()))
    wrong = [one for one in given(extra) if one not in takes]
    if wrong:
        told = ", ".join(takes) if takes else "no option but --because"
        raise InvalidError(
            f"{', '.join(wrong)}: does not go with the answer `{answer}`, which takes {told}; nothing was answered",
            answer=answer,
            options=wrong,
        )


def refuse_beside_all(extra: Extra) -> None:
    """Refuses what cannot be said to many questions at once.

    Raises:
        InvalidError: there is something.
    """
    wrong = given(extra)
    if wrong:
        raise InvalidError(
            f"{', '.join(wrong)}: with --all an answer takes --because and nothing else; answer such a question by itself",
            options=wrong,
        )


def refuse_without_all(options: ResolveOptions) -> None:
    """Refuses what says which questions are meant where one is named.

    Raises:
        InvalidError: there is something.
    """
    wrong = [flag(name) for name in WITH_ALL if getattr(options, name)]
    if wrong:
        raise InvalidError(
            f"{', '.join(wrong)}: goes with --all only; here one question is named, and its answer stands behind it: "
            "tenure resolve ITEM ANSWER",
            options=wrong,
        )


def given(extra: Extra) -> list[str]:
    """The options that belong to some answers only, as they are typed."""
    own = {
        "--late": extra.options.late,
        "--tree-gone": extra.options.tree_gone,
        "--result": extra.options.result,
    }
    found = [name for name, value in own.items() if value]
    for options in (extra.changes, extra.more):
        usual = type(options)()
        found += [
            flag(name)
            for name, value, without in zip(options._fields, options, usual, strict=True)
            if value != without
        ]
    return [*found, *([PROGRAM] if extra.program else [])]


def takes_of(fields: Iterable[str]) -> list[str]:
    """The options behind fields of the API."""
    options = {
        "late_id": ["--late"],
        "tree_gone": ["--tree-gone"],
        "result": ["--result"],
        "changes": [*map(flag, ChangeOptions._fields), PROGRAM],
        "more": [flag(name) for name in MoreOptions._fields if name != "deadline"],
        "deadline_at": ["--deadline"],
    }
    return [one for field in fields for one in options[field]]


def flag(name: str) -> str:
    return SPELT.get(name) or f"--{name.replace('_', '-')}"
