"""`tenure up`: hub and node of this machine, each a process of its own, kept running by a small supervisor."""

from __future__ import annotations

import asyncio
import os
import select
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from tenure.cli.invocation import Invocation, command, family

if TYPE_CHECKING:
    from tenure.cli.process.readiness import Failed, Said
    from tenure.cli.process.supervisor import ChildEvent, ChildSpec
    from tenure.runtime.data_folder import DataFolder

DETACHED_WITHIN_S = 150.0
TAIL_BYTES = 2_000

app = family()


class UpOptions(NamedTuple):
    """What `up` takes."""

    detach: Annotated[
        bool,
        typer.Option("--detach", "-d", help="Return when both are ready; they run on in the background."),
    ] = False
    ready_fd: Annotated[int | None, typer.Option("--ready-fd", hidden=True)] = None


@command(app, "up", asks_no_hub=True)
def up(cli: Invocation, options: UpOptions) -> int:
    """Start hub and node on this machine.

    Without a settings file the node is named after the host and has one recipient, `local`, which runs any program that a
    task brings. Ctrl-C stops hub and node; a run that is under way goes on by itself and is taken up again by the next `up`.
    """
    from tenure.cli.process.readiness import said_or_raised

    return said_or_raised(options.ready_fd, lambda: brought_up(cli, options))


def brought_up(cli: Invocation, options: UpOptions) -> int:
    """Starts everything here, or in the background.

    Raises:
        DataFolderBusyError: it runs already, or another start was faster.
    """
    folder = cli.open_folder()
    refuse_second(folder, cli.settings.node.name)
    if options.detach:
        return detached(cli, folder)
    return asyncio.run(supervise(cli, folder, options.ready_fd))


def refuse_second(folder: DataFolder, node: str) -> None:
    """Refuses to start what runs already.

    Raises:
        DataFolderBusyError: hub, node or supervisor of this data folder run.
    """
    from tenure.cli.process.data_files import HUB_PART, UP_PART, node_part

    for part in (UP_PART, HUB_PART, node_part(node)):
        folder.lock(part, "tenure up").release()


async def supervise(cli: Invocation, folder: DataFolder, ready_fd: int | None) -> int:
    """Runs the supervisor in this process until it is asked to stop.

    Raises:
        DataFolderBusyError: another one was faster.
    """
    from tenure.cli.process.data_files import UP_PART, forget_local_hub
    from tenure.cli.process.process_mark import write_mark
    from tenure.cli.process.readiness import say_ready
    from tenure.cli.process.supervisor import Supervisor
    from tenure.runtime.clock import RealClock

    with folder.lock(UP_PART, "tenure up"):
        write_mark(folder.part(UP_PART), "tenure up")
        forget_local_hub(folder)
        supervisor = Supervisor(child_specs(cli, folder), RealClock(), lambda event: tell_event(cli, event))
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, supervisor.stop)

        def on_ready(facts: dict[str, dict[str, Any]]) -> None:
            say_ready(ready_fd, facts)
            if ready_fd is None:
                tell_up(cli, facts, detached=False)

        failed = await supervisor.run(on_ready)
    return told_failure(cli, failed, ready_fd) if failed else told_stop(cli)


def child_specs(cli: Invocation, folder: DataFolder) -> tuple[ChildSpec, ...]:
    """Hub and node as child processes: this very program, in the data folder, with the same settings."""
    from tenure.cli.process.data_files import HUB_PART, node_part
    from tenure.cli.process.supervisor import ChildSpec
    from tenure.runtime.credential_store import KEY_VARIABLE

    # What opens the hub's credentials is none of the node's business, and less of its agents'.
    keyless = {name: value for name, value in cli.env.items() if name != KEY_VARIABLE}

    def spec(name: str, part: str, *more: str) -> ChildSpec:
        home = folder.part(part)
        argv = (*program(), name, *cli.arguments_for_child(), *more)
        environment = None if name == "hub" else keyless
        return ChildSpec(name=name, argv=argv, log=home / f"{name}.log", folder=home, environment=environment)

    return (spec("hub", HUB_PART), spec("node", node_part(cli.settings.node.name), "--local"))


def program() -> tuple[str, ...]:
    """How this program is started again. `-P`: what lies in the working folder is never imported."""
    return (sys.executable, "-P", "-m", "tenure.cli.main")


def detached(cli: Invocation, folder: DataFolder) -> int:
    """Starts the supervisor in a session of its own and returns when hub and node are ready.

    Raises:
        DataFolderBusyError: another start was faster.
        UnavailableError: it did not get ready; the message has the end of its log.
    """
    from tenure.cli.process.data_files import UP_PART
    from tenure.cli.process.readiness import Ready
    from tenure.errors import UnavailableError, all_errors

    log = folder.part(UP_PART) / "up.log"
    process, reader = start_detached(cli, log)
    said = said_within(reader, DETACHED_WITHIN_S)
    if isinstance(said, Ready):
        tell_up(cli, said.facts, detached=True)
        return 0
    if said is None:
        code = process.poll()
        how = "it is not ready yet" if code is None else f"it ended with {code}"
        raise UnavailableError(f"`tenure up` in the background: {how}. {tail(log)}", path=str(log))
    raise all_errors().get(said.code, UnavailableError)(said.message)


def start_detached(cli: Invocation, log: Path) -> tuple[Any, int]:
    """The supervisor's process and the pipe on which it says that it is ready."""
    from tenure.cli.process.supervisor import trim_log

    trim_log(log)
    reader, writer = os.pipe()
    try:
        with log.open("ab") as output:
            process = subprocess.Popen(  # noqa: TID251 - the command line starts the supervisor
                [*program(), "up", *cli.arguments_for_child(), "--ready-fd", str(writer)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=cli.home,
                env=dict(cli.env),
                pass_fds=(writer,),
                start_new_session=True,
            )
    finally:
        os.close(writer)
    return process, reader


def said_within(reader: int, wait_s: float) -> Said | None:
    """The line on a pipe; None when it ends without one, or at the bound. Closes the pipe."""
    from tenure.cli.process.readiness import MAX_LINE_BYTES, parse_said

    data = b""
    try:
        while b"\n" not in data and len(data) < MAX_LINE_BYTES and select.select([reader], [], [], wait_s)[0]:
            piece = os.read(reader, MAX_LINE_BYTES)
            if not piece:
                break
            data += piece
    finally:
        os.close(reader)
    return parse_said(data.partition(b"\n")[0])


def tail(log: Path) -> str:
    """The end of a log, for a message."""
    try:
        text = log.read_bytes()[-TAIL_BYTES:].decode("utf-8", "replace").strip()
    except OSError:
        return f"See {log}."
    return f"The end of {log}:\n{text}" if text else f"See {log}."


def tell_up(cli: Invocation, facts: dict[str, dict[str, Any]], *, detached: bool) -> None:
    """Says what runs now, where, and what to do next."""
    hub, node, out = facts["hub"], facts["node"], cli.out
    out.data({"up": True, "detached": detached, "home": str(cli.home), **facts})
    if out.json:
        return
    out.say(f"Tenure is up on {cli.home}")
    out.say(f"  hub   {hub['url']}")
    offered = ", ".join(f"{one['name']} (takes {one['capacity']} at a time)" for one in node["recipients"])
    out.say(f"  node  {node['name']}, recipients: {offered}")
    run = cli.pasteable("run -- sh -c 'date > now.txt; git add .; git commit -m now'")
    out.say(f"In a git repository:  {run}")
    out.say(f"Stop it with:         {'' if detached else 'Ctrl-C, or '}{cli.pasteable('down')}")


def tell_event(cli: Invocation, event: ChildEvent) -> None:
    """Says what happened to hub or node, where a person would want to know."""
    if cli.out.json:
        cli.out.note(f"{event.child} {event.what} {event.pid or ''} {event.detail}".rstrip())
        return
    match event.what:
        case "ended":
            cli.out.note(f"{event.child}: {event.detail}; it is started again")
        case "gave_up" | "failed":
            cli.out.note(event.detail)
        case "ready":
            cli.out.note(f"{event.child}: ready (process {event.pid})")
        case _:
            pass


def told_failure(cli: Invocation, failed: Failed, ready_fd: int | None) -> int:
    """Tells why it could not start, or goes on no more."""
    from tenure.cli.process.readiness import say

    say(ready_fd, failed)
    cli.out.note(f"tenure: {failed.message} [{failed.code}]")
    return failed.exit_code


def told_stop(cli: Invocation) -> int:
    """Says that hub and node are stopped, and what still runs."""
    cli.out.note(
        f"hub and node are stopped; runs that are under way go on, and `{cli.pasteable('up')}` takes them up again"
    )
    return 0
