"""The options of a Task, for every command that submits one."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import typer


class TaskOptions(NamedTuple):
    """What both `run` and `submit` take."""

    to: Annotated[
        str | None,
        typer.Option(
            "--to", metavar="NAME[@NODE]", help="Where it goes: a recipient, its bare name, or a pool."
        ),
    ] = None
    repo: Annotated[
        str | None,
        typer.Option(
            "--repo", metavar="REPOSITORY", help="A path or URL. Else the git repository you are in."
        ),
    ] = None
    no_repo: Annotated[
        bool, typer.Option("--no-repo", help="Without a repository: it runs in an empty folder.")
    ] = False
    base: Annotated[
        str | None, typer.Option("--base", metavar="REVISION", help="The revision to begin from, else HEAD.")
    ] = None
    ignore_dirty: Annotated[
        bool, typer.Option("--ignore-dirty", help="Begin although uncommitted files will be missing.")
    ] = False
    check: Annotated[
        list[str] | None,
        typer.Option(
            "--check",
            metavar="COMMAND",
            help="A shell line that must exit with 0 in the worktree afterwards. May be given again.",
        ),
    ] = None
    after: Annotated[
        list[str] | None,
        typer.Option(
            "--after",
            metavar="TASK",
            help="Wait until this task has completed; its files are not carried over. May be given again.",
        ),
    ] = None
    after_failure: Annotated[
        list[str] | None,
        typer.Option(
            "--after-failure",
            metavar="TASK",
            help="Run only if this task ends without having completed. May be given again.",
        ),
    ] = None
    after_end: Annotated[
        list[str] | None,
        typer.Option(
            "--after-end", metavar="TASK", help="Wait until this task has ended, however. May be given again."
        ),
    ] = None
    not_before: Annotated[
        str | None,
        typer.Option("--not-before", metavar="TIME", help="Do not start earlier: an RFC 3339 time, or +2h."),
    ] = None
    deadline: Annotated[
        str | None,
        typer.Option(
            "--deadline",
            metavar="TIME",
            help="When it must be done: an RFC 3339 time, or +2h. What runs then is stopped, and you are asked.",
        ),
    ] = None
    timeout: Annotated[
        str | None, typer.Option("--timeout", metavar="DURATION", help="The longest an attempt may take.")
    ] = None
    model: Annotated[
        str | None, typer.Option("--model", metavar="NAME", help="Only a recipient with this model.")
    ] = None
    label: Annotated[
        list[str] | None,
        typer.Option("--label", metavar="KEY=VALUE", help="A label to find it by. May be given again."),
    ] = None
    key: Annotated[
        str | None,
        typer.Option(
            "--key",
            metavar="KEY",
            help="The name of this very request: given again, it finds the task it made before.",
        ),
    ] = None
    may: Annotated[
        list[str] | None,
        typer.Option(
            "--may",
            metavar="KIND",
            help="A kind of effect that it may have done outside: push, pr, comment, label, status, merge, http. May be given "
            "again.",
        ),
    ] = None
    target: Annotated[
        list[str] | None,
        typer.Option(
            "--target",
            metavar="PATTERN",
            help="Where, as github:owner/repo; * stands for anything. May be given again.",
        ),
    ] = None
    branch: Annotated[
        list[str] | None,
        typer.Option(
            "--branch",
            metavar="PATTERN",
            help="A branch that it may push or propose; * stands for anything. May be given again.",
        ),
    ] = None
    path: Annotated[
        list[str] | None,
        typer.Option(
            "--path", metavar="PATTERN", help="What a push may change; else everything. May be given again."
        ),
    ] = None
    approve: Annotated[
        list[str] | None,
        typer.Option(
            "--approve",
            metavar="KIND",
            help="A kind of which each effect needs a person first. May be given again.",
        ),
    ] = None
    most: Annotated[
        int | None, typer.Option("--most", metavar="N", help="At most so many effects, else 100.")
    ] = None
    approval: Annotated[
        bool, typer.Option("--approval", help="A person must allow the task before it starts.")
    ] = False
    project: Annotated[
        str | None,
        typer.Option(
            "--project",
            metavar="NAME",
            help="The project it belongs to, with its budget, its share of recipients and its readers; else the token's own project,"
            " or `default`.",
        ),
    ] = None
    priority: Annotated[
        int | None,
        typer.Option(
            "--priority",
            metavar="N",
            help="-10 to 10; each step is worth ten minutes of waiting.",
            min=-10,
            max=10,
        ),
    ] = None
    concurrency_key: Annotated[
        str | None,
        typer.Option(
            "--concurrency-key", metavar="KEY", help="Of all tasks with this key only one runs at a time."
        ),
    ] = None
    policy: Annotated[
        str | None,
        typer.Option("--policy", metavar="NAME", help="The failure policy; `once` never tries again."),
    ] = None
    max_attempts: Annotated[
        int | None, typer.Option("--max-attempts", metavar="N", help="At most so many attempts that count.")
    ] = None
    max_wall: Annotated[
        str | None,
        typer.Option("--max-wall", metavar="DURATION", help="All attempts together run at most so long."),
    ] = None
    max_cost: Annotated[
        str | None,
        typer.Option("--max-cost", metavar="USD", help="All attempts together cost at most so much."),
    ] = None
    max_tokens: Annotated[
        int | None, typer.Option("--max-tokens", metavar="N", help="At most so many tokens, in and out.")
    ] = None
    max_tool_calls: Annotated[
        int | None, typer.Option("--max-tool-calls", metavar="N", help="At most so many tool calls.")
    ] = None
    max_repeats: Annotated[
        int | None,
        typer.Option("--max-repeats", metavar="N", help="The same failure may come at most so often."),
    ] = None
    max_interruptions: Annotated[
        int | None,
        typer.Option("--max-interruptions", metavar="N", help="People may be asked at most so often."),
    ] = None
    max_rounds: Annotated[
        int | None,
        typer.Option(
            "--max-rounds", metavar="N", help="At most so many attempts in a row without being any better."
        ),
    ] = None
