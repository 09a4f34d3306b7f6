"""`tenure retry`: another try, with what you change."""

from __future__ import annotations

from typing import Annotated

import typer

from tenure.cli.asking.retry_changes import ChangeOptions
from tenure.cli.invocation import Invocation, command, family

app = family()


@command(app, "retry", context_settings={"allow_interspersed_args": True})
async def retry(
    cli: Invocation,
    task: Annotated[str, typer.Argument(metavar="TASK", help="The task: its id, or the beginning of it.")],
    program: Annotated[
        list[str] | None,
        typer.Argument(metavar="[PROGRAM]", help="After `--`: run this instead.", show_default=False),
    ] = None,
    *,
    because: Annotated[
        str,
        typer.Option(
            "--because",
            metavar="REASON",
            help="Why it should go better this time, or your answer to its question.",
        ),
    ] = "",
    changes: ChangeOptions,
) -> None:
    """Let a task be tried again, with what you change.

    A task that waits for you gets its next attempt. One that has ended stays ended: a new task continues it. Say what
    shall be different; the same again after the same failure needs a reason, which is recorded as your word. To a
    question the reason is the answer. One whose outcome is unknown is answered with `tenure reconcile`.
    """
    from tenure.cli.asking.lookup import connected, task_id_of
    from tenure.cli.asking.near import tell_unserved
    from tenure.cli.asking.retry_changes import changes_in
    from tenure.runtime.clock import RealClock
    from tenure.runtime.ids import RealIds

    async with connected(cli) as hub:
        task_id = await task_id_of(hub, task)
        # Its Attempts first: if it goes on between the two, the older word does not fit, and nothing is done.
        newest = (await hub.attempts(task_id))[-1]
        read = await hub.task(task_id)
        asked = await changes_in(cli, changes, program or [], read)
        # Under a key of its own it may be sent again after a lost answer.
        key = RealIds(RealClock()).new_id("k")
        reply = await hub.retry(task_id, because, key, asked, read=(read, newest))
        if asked.to is not None:
            await tell_unserved(cli, hub, asked.to)
    cli.out.data(reply)
    if not cli.out.json:
        what = f"continues {reply.continues}" if reply.continues else f"attempt {reply.number}"
        cli.out.say(f"{reply.task_id}: {what}")
