"""`tenure down`: stops exactly the processes of this data folder.

They are found by the locks that they hold in it, and signaled by process id and start time; nothing is found by name. The
supervisor comes first (it would start the others again), and stops node and hub itself; what is left after it, or was
started without it, is stopped in the same order: nodes before the hub, so that a node's last words arrive.

Runs are nobody's children: they go on unless they are waited for or canceled first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from tenure.cli.invocation import Invocation, command, family

if TYPE_CHECKING:
    from tenure.cli.process_mark import ProcessMark
    from tenure.runtime.data_folder import DataFolder

STOP_WITHIN_S = 60.0
KILL_WITHIN_S = 10.0
LOOK_S = 0.5

app = family()


class DownOptions(NamedTuple):
    """What `down` takes."""

    leave: Annotated[
        bool,
        typer.Option("--leave", help="Leave runs alone: they go on, and the next `up` takes them up again."),
    ] = False
    cancel: Annotated[
        bool,
        typer.Option(
            "--cancel", help="Cancel the tasks that run here first, and wait until they have ended."
        ),
    ] = False
    wait_s: Annotated[
        str | None,
        typer.Option(
            "--wait-s", metavar="DURATION", help="Wait at most so long for runs, then leave them alone."
        ),
    ] = None


@command(app, "down")
async def down(cli: Invocation, options: DownOptions) -> int:
    """Stop what runs on this data folder.

    Stops hub and node. While runs are under way it asks what to do with them, and where nobody can be asked it waits
    for them; meanwhile the node takes no new work.
    """
    folder = cli.open_folder()
    holders = holders_of(folder)
    runs = await settle_runs(cli, options) if holders else []
    stopped = [await stop(mark) for mark in holders if await still_runs(mark)]
    left = [mark for mark, ended in stopped if not ended]
    from tenure.cli.data_files import forget_local_hub

    if not left:
        forget_local_hub(folder)
    tell(cli, holders, left, runs)
    return 1 if left else 0


def holders_of(folder: DataFolder) -> list[ProcessMark]:
    """The processes that hold a part of this folder, in the order in which they are to be stopped."""
    from tenure.cli.data_files import HUB_PART, UP_PART, node_names, node_part
    from tenure.cli.process_mark import holder_of

    parts = [UP_PART, *(node_part(name) for name in node_names(folder.root)), HUB_PART]
    return [mark for part in parts if (mark := holder_of(folder, part)) is not None]
