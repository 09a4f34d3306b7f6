"""`tenure budget`: what projects, the hub and single tasks may use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from tenure.cli.command.budget_raise import raise_budget
from tenure.cli.invocation import Invocation, command, commands_below, family

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tenure.wire.accounts import AccountBody, AccountRequest, AmountsBody, TaskBudgetBody

NONE = "none"
"""Takes a limit away."""
DEFAULT_TASK_LIMIT = "no limit"

app = family()
budget_app = commands_below(app, "budget", "Show, set and raise what projects, the hub and tasks may use.")
command(budget_app, "raise")(raise_budget)
BecauseOption = Annotated[str, typer.Option("--because", metavar="REASON", help="Why; it is kept.")]


def _limit(flag: str, metavar: str, text: str) -> Any:
    return typer.Option(flag, metavar=metavar, help=text)


class SetOptions(NamedTuple):
    """What `budget set` changes; what is not given stays as it is."""

    cost: Annotated[
        str | None, _limit("--cost", "USD", "What all its tasks together may spend, in dollars.")
    ] = None
    tokens: Annotated[str | None, _limit("--tokens", "N", "Tokens, in and out.")] = None
    tool_calls: Annotated[str | None, _limit("--tool-calls", "N", "Tool calls.")] = None
    wall: Annotated[str | None, _limit("--wall", "DURATION", "Time of running, all added up.")] = None
    share_cost: Annotated[
        str | None,
        _limit(
            "--share-cost",
            "USD",
            "What one attempt reserves of it where its task has no limit; else a tenth.",
        ),
    ] = None
    share_tokens: Annotated[str | None, _limit("--share-tokens", "N", "The same of tokens.")] = None
    share_tool_calls: Annotated[str | None, _limit("--share-tool-calls", "N", "The same of tool calls.")] = (
        None
    )
    share_wall: Annotated[str | None, _limit("--share-wall", "DURATION", "The same of time.")] = None
    per_task_attempts: Annotated[
        str | None, _limit("--per-task-attempts", "N", "Attempts that a task of it may have.")
    ] = None
    per_task_wall: Annotated[
        str | None, _limit("--per-task-wall", "DURATION", "Time that a task of it may run.")
    ] = None
    per_task_cost: Annotated[str | None, _limit("--per-task-cost", "USD", "What a task of it may spend.")] = (
        None
    )
    per_task_tokens: Annotated[
        str | None, _limit("--per-task-tokens", "N", "Tokens that a task of it may use.")
    ] = None
    per_task_tool_calls: Annotated[
        str | None, _limit("--per-task-tool-calls", "N", "Tool calls that a task of it may make.")
    ] = None
    per_task_repeats: Annotated[
        str | None, _limit("--per-task-repeats", "N", "How often one failure may come.")
    ] = None
    per_task_interruptions: Annotated[
        str | None, _limit("--per-task-interruptions", "N", "How often people may be asked.")
    ] = None
    per_task_deadline: Annotated[
        str | None,
        _limit(
            "--per-task-deadline",
            "DURATION",
            "The deadline of a task of it, from its submission, if it names none.",
        ),
    ] = None
    per_task_rounds: Annotated[
        str | None, _limit("--per-task-rounds", "N", "Attempts in a row that are no better than before.")
    ] = None
    weight: Annotated[
        int | None,
        typer.Option(
            "--weight", metavar="N", help="How much of the recipients it gets beside others, 1 to 1000."
        ),
    ] = None
    reset: Annotated[bool, typer.Option("--reset", help="What was used counts as nothing from here.")] = False


@command(budget_app, "show")
async def show(
    cli: Invocation,
    subject: Annotated[
        str, typer.Argument(metavar="[SUBJECT]", help="hub, project:NAME, or a task.", show_default=False)
    ] = "hub",
) -> None:
    """Show what may be used, what was, and what is left."""
    from tenure.cli.asking.lookup import connected, task_id_of

    async with connected(cli) as hub:
        if is_account(subject):
            refuse_other_subjects(subject)
            account = await hub.account(subject)
            cli.out.data(account)
            tell_account(cli, account)
            return
        body = await hub.task_budget(await task_id_of(hub, subject))
    cli.out.data(body)
    tell_task(cli, body)


@command(budget_app, "set")
async def set_budget(
    cli: Invocation,
    subject: Annotated[str, typer.Argument(metavar="SUBJECT", help="hub or project:NAME.")],
    because: BecauseOption,
    options: SetOptions,
) -> None:
    """Set what a project, or the hub, may use.

    What is not given stays as it is; the value `none` takes a limit away. Limits of tasks hold for tasks that are submitted
    from now on; a single task gets more with `tenure budget raise`.
    """
    from tenure.cli.asking.lookup import connected

    refuse_other_subjects(subject)
    changes = changes_in(options)
    async with connected(cli) as hub:
        known = await hub.account(subject)
        body = await hub.set_account(subject, changed(known, changes, options, because))
    cli.out.data(body)
    if not cli.out.json:
        cli.out.say(f"{subject} is set" if not body.replayed else f"{subject} was so already")
        tell_account(cli, body)


def is_account(subject: str) -> bool:
    return subject == "hub" or subject.startswith("project:")


def refuse_other_subjects(subject: str) -> None:
    """Refuses what has no account of its own.

    Raises:
        InvalidError: it has none.
    """
    from tenure.errors import InvalidError

    if not is_account(subject) or "/" in subject:
        raise InvalidError(
            f"{subject[:80]!r} is no account: hub or project:NAME, without a slash; `tenure budget raise` gives a task more",
            subject=subject[:80],
        )


def changes_in(options: SetOptions) -> dict[str, dict[str, int | None]]:
    """What is to change in `limits`, `share` and `per_task`; None takes a limit away.

    Raises:
        InvalidError: a value is none, or nothing is to change.
    """
    from tenure.errors import InvalidError

    found: dict[str, dict[str, int | None]] = {"limits": {}, "share": {}, "per_task": {}}
    for name, text in options._asdict().items():
        if isinstance(text, str):
            prefix = next((one for one in ("share_", "per_task_") if name.startswith(one)), "")
            part = prefix.rstrip("_") or "limits"
            dimension, value = amount(name.removeprefix(prefix), text)
            found[part][dimension] = value
    if not any(found.values()) and options.weight is None and not options.reset:
        raise InvalidError("nothing is to change; `tenure budget set --help` says what can be set")
    return found


def amount(name: str, text: str) -> tuple[str, int | None]:
    """A limit's name in the API, and its value.

    Raises:
        InvalidError: it is none.
    """
    from tenure.cli.text.moment import parse_duration_s
    from tenure.cli.text.money import parse_usd_micros
    from tenure.errors import InvalidError

    dimension = {"cost": "cost_usd_micros", "wall": "wall_s", "deadline": "deadline_s"}.get(name, name)
    if text == NONE:
        return dimension, None
    if name == "cost":
        return dimension, parse_usd_micros(text)
    if name in {"wall", "deadline"}:
        return dimension, round(parse_duration_s(text))
    if not text.isascii() or not text.isdigit():
        raise InvalidError(
            f"{text[:40]!r} is no number of {name.replace('_', ' ')}; give 1 or more, or `none`",
            value=text[:40],
        )
    return dimension, int(text[:20])


def changed(
    known: AccountBody, changes: dict[str, dict[str, int | None]], options: SetOptions, because: str
) -> AccountRequest:
    """The whole account as it is to be."""
    import msgspec

    from tenure.wire.accounts import AccountRequest

    said = msgspec.to_builtins(known)
    parts = {
        part: {name: value for name, value in {**said[part], **own}.items() if value is not None}
        for part, own in changes.items()
    }
    weight = known.weight if options.weight is None else options.weight
    return msgspec.convert(
        {**parts, "weight": weight, "reset": options.reset, "because": because}, AccountRequest
    )


def tell_account(cli: Invocation, body: AccountBody) -> None:
    """An account for people: its limits with what was used of each, then what its tasks get."""
    if cli.out.json:
        return
    paused = f"; paused by {body.paused.by}: {body.paused.because}" if body.paused is not None else ""
    cli.out.say(
        f"{body.account}  weight {body.weight}, {body.running} running, counted since {body.since_at}{paused}"
    )
    cli.out.table(
        ("of all its tasks", "limit", "used", "reserved", "left", "one attempt"), account_rows(body)
    )
    cli.out.say()
    rows = (
        (
            name.removesuffix("_usd_micros").removesuffix("_s").replace("_", " "),
            shown(name, one.limit) if one.limit is not None else DEFAULT_TASK_LIMIT,
            one.source or "",
        )
        for name, one in body.inherits.items()
    )
    cli.out.table(("of each new task", "limit", "from"), rows)


def is_counted(body: AccountBody) -> bool:
    """What was used is counted from when there is a limit to hold it against."""
    return any(getattr(body.limits, name) is not None for name in amounts(body.used))


def account_rows(body: AccountBody) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for name, used in amounts(body.used).items():
        limit = getattr(body.limits, name)
        left, share = getattr(body.left, name), getattr(body.share, name)
        rows.append(
            (
                label(name),
                DEFAULT_TASK_LIMIT if limit is None else shown(name, limit),
                shown(name, used) if is_counted(body) else "not counted",
                shown(name, amounts(body.reserved)[name]) if is_counted(body) else "",
                "" if left is None else shown(name, left),
                "a tenth"
                if share is None and limit is not None
                else ""
                if share is None
                else shown(name, share),
            )
        )
    return rows


def tell_task(cli: Invocation, body: TaskBudgetBody) -> None:
    if cli.out.json:
        return
    until = f", to be done by {body.deadline_at}" if body.deadline_at is not None else ""
    cli.out.say(f"{body.task_id}  of project {body.project}{until}")
    refunded = f" ({body.refunded} do not count)" if body.refunded else ""
    used: dict[str, str] = {
        "attempts": f"{body.attempts}{refunded}",
        **{name: shown(name, value) for name, value in amounts(body.used).items()},
        "repeats": str(body.repeats),
        "interruptions": str(body.interruptions),
        "rounds": str(body.rounds),
    }
    rows: list[tuple[str, ...]] = []
    for name, spent in used.items():
        limit = getattr(body.budget, name)
        left = shown(name, body.left[name]) if name in body.left else ""
        rows.append((label(name), DEFAULT_TASK_LIMIT if limit is None else shown(name, limit), spent, left))
    cli.out.table(("", "limit", "used", "left"), rows)
    if body.exhausted:
        names = ", ".join(map(label, body.exhausted))
        cli.out.note(
            f"nothing is left of {names}: the machine makes no more attempts of its own; `tenure budget raise` gives more"
        )


def amounts(body: AmountsBody) -> Mapping[str, float]:
    return {
        "cost_usd_micros": body.cost_usd_micros,
        "tokens": body.tokens,
        "tool_calls": body.tool_calls,
        "wall_s": body.wall_s,
    }


def label(name: str) -> str:
    """A dimension as people call it."""
    return {"cost_usd_micros": "cost", "wall_s": "wall time"}.get(name, name.replace("_", " "))


def shown(name: str, value: float) -> str:
    """An amount for people."""
    from tenure.cli.text.moment import shown_duration
    from tenure.cli.text.money import shown_usd

    if name == "cost_usd_micros":
        return shown_usd(int(value))
    return shown_duration(float(value)) if name in {"wall_s", "deadline_s"} else f"{int(value):,}"
