"""`tenure budget raise`: a person lets a Task use more."""

from __future__ import annotations

from typing import Annotated

import typer

from tenure.cli.asking.more_budget import MoreOptions
from tenure.cli.invocation import Invocation


async def raise_budget(
    cli: Invocation,
    task: Annotated[str, typer.Argument(metavar="TASK", help="The task: its id, or the beginning of it.")],
    because: Annotated[
        str, typer.Option("--because", metavar="REASON", help="Why it may go on; it is kept.")
    ],
    options: MoreOptions,
) -> None:
    """Let a task use more, or take longer.

    What you give is added to the limits that the task has. One that waits because a limit was used up goes on: as its
    policy says, or with the same spec on your word. Asked twice it is added twice.
    """
    from msgspec.structs import asdict

    from tenure.cli.asking.lookup import connected, task_id_of
    from tenure.cli.asking.more_budget import more_in
    from tenure.cli.text.recovery import budget_text
    from tenure.core.budget import Budget
    from tenure.wire.recovery import RaiseRequest

    more, deadline_at = more_in(options)
    async with connected(cli) as hub:
        task_id = await task_id_of(hub, task)
        limits = Budget(**asdict((await hub.task(task_id)).budget))
        asked = RaiseRequest(because=because, more=more, deadline_at=deadline_at, limits=limits)
        body = await hub.raise_budget(task_id, asked)
    cli.out.data(body)
    if cli.out.json:
        return
    left = budget_text(body, every=True)
    deadline = f"; its deadline is {body.deadline_at}" if body.deadline_at else ""
    said = "has no such limit, so nothing was changed" if body.replayed else "may use more"
    cli.out.say(f"{task_id} {said}; left: {left or 'without a limit'}{deadline}")
