"""`tenure down`: stops exactly the processes of this data folder.

They are found by the locks that they hold in it, and signaled by process id and start time; nothing is found by name. The
supervisor comes first (it would start the others again), and stops node and hub itself; what is left after it, or was
started without it, is stopped in the same order: nodes before the hub, so that a node's last words arrive.

Runs are nobody's children: they go on unless they are waited for or canceled first. While they are waited for, the nodes
take no new work: that is a lock which this process holds (`process.draining`), so it ends with it, also on Ctrl-C.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from tenure.cli.invocation import Invocation, command, family
from tenure.cli.text.moment import pause

if TYPE_CHECKING:
    from tenure.cli.local.run import LocalRun
    from tenure.cli.process.process_mark import ProcessMark
    from tenure.runtime.data_folder import DataFolder

STOP_WITHIN_S = 60.0
KILL_WITHIN_S = 10.0
REPORT_WITHIN_S = 20.0
LOOK_S = 0.2

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
    from tenure.cli.process.data_files import forget_local_hub
    from tenure.cli.process.process_mark import is_running

    refuse_both(options)
    folder = cli.open_folder()
    holders = holders_of(folder)
    stopped: list[ProcessMark] = []
    left: list[ProcessMark] = []
    with contextlib.ExitStack() as drains:
        if any(mark.program.endswith("node") for mark in holders):
            await settle_runs(cli, folder, options, drains)
        for mark in holders:
            ended = not is_running(mark) or await stop(mark)
            (stopped if ended else left).append(mark)
    if not left:
        forget_local_hub(folder)
    tell(cli, stopped, left)
    return 1 if left else 0


def refuse_both(options: DownOptions) -> None:
    """Refuses to both leave and cancel.

    Raises:
        InvalidError: both were asked for.
    """
    from tenure.errors import InvalidError

    if options.leave and options.cancel:
        raise InvalidError("--leave and --cancel contradict each other")


def holders_of(folder: DataFolder) -> list[ProcessMark]:
    """The processes that hold a part of this folder, in the order in which they are to be stopped."""
    from tenure.cli.process.data_files import HUB_PART, UP_PART, node_names, node_part
    from tenure.cli.process.process_mark import holder_of

    parts = [UP_PART, *(node_part(name) for name in node_names(folder.root)), HUB_PART]
    return [mark for part in parts if (mark := holder_of(folder, part)) is not None]


async def stop(mark: ProcessMark) -> bool:
    """Asks this very process to end, waits, and kills it after a bound. False when it is still there."""
    from tenure.cli.process.process_mark import ended_within, send_signal

    loop = asyncio.get_running_loop()
    for number, within_s in ((signal.SIGTERM, STOP_WITHIN_S), (signal.SIGKILL, KILL_WITHIN_S)):
        if not send_signal(mark, number):
            return True
        if await loop.run_in_executor(None, ended_within, mark, within_s):
            return True
    return False


async def settle_runs(
    cli: Invocation, folder: DataFolder, options: DownOptions, drains: contextlib.ExitStack
) -> None:
    """Waits for the runs on this machine, cancels them, or leaves them alone, as was said or is answered now. Where it
    waits, the nodes drain until `drains` is closed."""
    from tenure.cli.command.submission import seconds
    from tenure.cli.local.run import running_here

    runs = running_here(folder.root)
    if not runs or options.leave:
        return
    choice = "cancel" if options.cancel else "wait" if options.wait_s else ask(cli, runs)
    if choice == "leave":
        return
    drain(folder, drains)
    if choice == "cancel":
        await cancel_all(cli, runs)
    else:
        cli.out.note(
            f"waiting for {named(runs)}; Ctrl-C stops waiting, and nothing else "
            "(--cancel ends them, --leave lets them go on)"
        )
    await wait_for_runs(cli, folder, seconds(options.wait_s))


def ask(cli: Invocation, runs: list[LocalRun]) -> str:
    """Asks what is to become of the runs; `wait` where nobody can be asked."""
    if cli.out.json or not sys.stdin.isatty():
        return "wait"
    cli.out.note(f"{named(runs)} under way here")
    words = {"w": "wait", "l": "leave", "c": "cancel"}
    while True:
        answer = typer.prompt(
            "wait for them, leave them running, or cancel them? [w/l/c]", default="w", err=True
        )
        if answer[:1].lower() in words:
            return words[answer[:1].lower()]


def drain(folder: DataFolder, drains: contextlib.ExitStack) -> None:
    """Lets the nodes of this folder take no new work, until `drains` is closed or this process ends."""
    from tenure.cli.process.data_files import node_names, node_part
    from tenure.cli.process.draining import draining

    for name in node_names(folder.root):
        drains.enter_context(draining(folder.part(node_part(name))))


async def cancel_all(cli: Invocation, runs: list[LocalRun]) -> None:
    """Asks for the cancellation of every Task that runs here."""
    from tenure.cli.asking.lookup import connected
    from tenure.errors import TerminalError

    async with connected(cli) as hub:
        for task_id in sorted({run.task_id for run in runs}):
            with contextlib.suppress(TerminalError):
                await hub.cancel(task_id, "tenure down --cancel")
                cli.out.note(f"{task_id}: cancel requested")


async def wait_for_runs(cli: Invocation, folder: DataFolder, wait_s: float | None) -> None:
    """Waits until nothing runs here and the nodes have reported it, or for the bound."""
    from tenure.cli.local.run import running_here

    runs = running_here(folder.root)
    try:
        async with asyncio.timeout(wait_s):
            while running_here(folder.root):
                await pause(LOOK_S)
        async with asyncio.timeout(REPORT_WITHIN_S):
            await reported(cli, {run.task_id for run in runs})
    except TimeoutError:
        left = running_here(folder.root)
        what = (
            f"{named(left)} {goes_on(left)}"
            if left
            else "the last reports are not sent yet; the next `up` sends them"
        )
        cli.out.note(what)


async def reported(cli: Invocation, task_ids: set[str]) -> None:
    """Waits until the hub has recorded how these Tasks' Attempts ended. A hub that is not there is not waited for."""
    from tenure.cli.asking.lookup import connected
    from tenure.cli.command.following import newest
    from tenure.cli.exit_code import exit_code_of_task
    from tenure.errors import TenureError

    with contextlib.suppress(TenureError):
        async with connected(cli) as hub:
            for task_id in sorted(task_ids):
                while True:
                    task, attempt = await newest(hub, task_id)
                    verdict = attempt.verdict if attempt else None
                    if verdict is not None or exit_code_of_task(task.state, verdict) is not None:
                        break
                    await pause(LOOK_S)


def named(runs: list[LocalRun]) -> str:
    """The runs, by their Attempts."""
    names = ", ".join(sorted(run.attempt for run in runs))
    return f"{len(runs)} run{'' if len(runs) == 1 else 's'} ({names})"


def goes_on(runs: list[LocalRun]) -> str:
    return "goes on" if len(runs) == 1 else "go on"


def tell(cli: Invocation, stopped: list[ProcessMark], left: list[ProcessMark]) -> None:
    """Says what was stopped, what was not, and what runs on."""
    from tenure.cli.local.run import running_here

    runs = running_here(cli.home)
    cli.out.data({"stopped": stopped, "still_running": left, "runs": [run.attempt for run in runs]})
    if cli.out.json:
        return
    for mark in stopped:
        cli.out.say(f"{mark.program}: stopped (process {mark.pid})")
    for mark in left:
        cli.out.say(f"{mark.program}: process {mark.pid} does not end, even when killed")
    if not stopped and not left:
        cli.out.say(f"nothing runs on {cli.home}")
    if runs:
        cli.out.note(f"{named(runs)} {goes_on(runs)}; the next `{cli.pasteable('up')}` goes on from there")
