"""`tenure log`: what an Attempt wrote, from the run folder on this machine, else the end of it from the evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from tenure.cli.invocation import Invocation, command, family
from tenure.cli.text.moment import pause

if TYPE_CHECKING:
    from tenure.cli.local.output import Chunk
    from tenure.cli.local.run import LocalRun
    from tenure.node.run.output import Stream
    from tenure.wire.api import AttemptBody

LOOK_S = 0.2

app = family()


class LogOptions(NamedTuple):
    """What `log` takes."""

    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on showing what is written until the run ends.")
    ] = False
    stdout: Annotated[bool, typer.Option("--stdout", help="Only standard output.")] = False
    stderr: Annotated[bool, typer.Option("--stderr", help="Only standard error.")] = False


@command(app, "log")
async def log(
    cli: Invocation,
    task: Annotated[str, typer.Argument(help="The task, or one attempt of it (TASK/2).", metavar="TASK")],
    options: LogOptions,
) -> int:
    """Show what an attempt wrote.

    Standard output and standard error of the program and of its checks. Only the machine that ran it has all of it; from
    elsewhere the end of the output is shown, as it was reported.
    """
    from tenure.cli.asking.lookup import attempt_of, connected
    from tenure.cli.local.run import runs_of

    async with connected(cli) as hub:
        attempt = await attempt_of(hub, task)
    runs = runs_of(cli.home, attempt.task_id, attempt.number)
    if not runs:
        tell_tail(cli, attempt.body)
        return 0
    await show(cli, runs[-1], options)
    return 0


async def show(cli: Invocation, run: LocalRun, options: LogOptions) -> None:
    """Shows what is there of a run and, if asked, what comes until it ends."""
    from tenure.cli.local.output import STREAMS, RunReader
    from tenure.cli.local.run import read_run
    from tenure.cli.process.process_mark import boot_id

    streams = wanted_streams(options)
    reader, written = RunReader(run, streams), set[str]()
    while True:
        # Asked before reading, so that what was written before the end is not missed.
        ended = not run.is_running
        for chunk in reader.news():
            tell(cli, chunk)
            written.add(chunk.step)
        if ended and len(streams) == len(STREAMS):
            tell_silent(cli, run, written)
        if ended or not options.follow:
            return
        await pause(LOOK_S)
        run = read_run(run.node, run.folder, boot_id()) or run


def tell_silent(cli: Invocation, run: LocalRun, written: set[str]) -> None:
    """Says which steps were run and wrote nothing, so that no output is not taken for lost output."""
    from tenure.node.run.output import segments

    for index, step in enumerate(run.steps):
        begun = segments(run.folder, index, "stdout") or segments(run.folder, index, "stderr")
        if begun and step not in written:
            cli.out.note(f"{step}: wrote nothing")


def wanted_streams(options: LogOptions) -> tuple[Stream, ...]:
    both = options.stdout == options.stderr
    out: tuple[Stream, ...] = ("stdout",) if options.stdout or both else ()
    err: tuple[Stream, ...] = ("stderr",) if options.stderr or both else ()
    return (*out, *err)


def tell(cli: Invocation, chunk: Chunk) -> None:
    """Writes a piece of output; with `--json` as an object on a line of its own."""
    from tenure.cli.local.output import write_chunk

    if not cli.out.json:
        write_chunk(cli, chunk)
        return
    text = chunk.data.decode("utf-8", "replace")
    cli.out.data({"step": chunk.step, "stream": chunk.stream, "skipped_bytes": chunk.gap, "text": text})


def tell_tail(cli: Invocation, attempt: AttemptBody) -> None:
    """The end of the output as the node reported it."""
    from tenure.cli.text.evidence import output_tails

    tails = output_tails(attempt)
    where = "nothing of its output is on this machine"
    cli.out.note(
        f"{where}; this is the end of it, as reported" if tails else f"{where}, and none was reported"
    )
    for step, text in tails:
        cli.out.data({"step": step, "stream": None, "skipped_bytes": None, "text": text})
        if not cli.out.json:
            cli.out.say(text.rstrip("\n"))
