"""`tenure project`: the projects that tasks belong to."""

from __future__ import annotations

from typing import Annotated

import typer

from tenure.cli.invocation import Invocation, command, commands_below, family

PREFIX = "project:"

app = family()
project_app = commands_below(app, "project", "Show projects: what runs, what they may use, what each weighs.")


@command(project_app, "list")
async def list_projects(cli: Invocation) -> None:
    """List projects.

    A project is there from its first task on, or from when somebody sets what it may use.
    """
    from tenure.cli.asking.lookup import connected
    from tenure.cli.command.budget import amounts, is_counted, shown

    async with connected(cli) as hub:
        found = [one for one in await hub.accounts() if one.account.startswith(PREFIX)]
    cli.out.data({"projects": found})
    if cli.out.json:
        return
    if not found:
        cli.out.note("there are no projects yet; the first task makes `default`, or the one that it names")
        return
    rows = (
        (
            one.account.removeprefix(PREFIX),
            str(one.running),
            str(one.weight),
            shown("cost_usd_micros", amounts(one.used)["cost_usd_micros"])
            if is_counted(one)
            else "not counted",
            "" if one.left.cost_usd_micros is None else shown("cost_usd_micros", one.left.cost_usd_micros),
            f"paused by {one.paused.by}: {one.paused.because}" if one.paused is not None else "",
        )
        for one in found
    )
    cli.out.table(("project", "running", "weight", "spent", "left", "now"), rows)


@command(project_app, "show")
async def show(
    cli: Invocation, name: Annotated[str, typer.Argument(metavar="NAME", help="The project's name.")]
) -> None:
    """Show a project: what it may use, what it has used, and what its tasks get."""
    from tenure.cli.asking.lookup import connected
    from tenure.cli.command.budget import refuse_other_subjects, tell_account

    account = f"{PREFIX}{name.removeprefix(PREFIX)}"
    refuse_other_subjects(account)
    async with connected(cli) as hub:
        body = await hub.account(account)
    cli.out.data(body)
    tell_account(cli, body)
