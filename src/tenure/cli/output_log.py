"""`tenure log`: what an Attempt wrote, from the run folder on this machine, else the end of it from the evidence."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO, NamedTuple

import typer

from tenure.cli.invocation import Invocation, command, family

if TYPE_CHECKING:
    from tenure.cli.local_run import LocalRun
    from tenure.node.runner_output import Piece, Stream

LOOK_S = 0.2
STREAMS: tuple[Stream, ...] = ("stdout", "stderr")

app = family()


class LogOptions(NamedTuple):
    """What `log` takes."""

    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on showing what is written until the run ends.")
    ] = False
    stderr_only: Annotated[
        bool, typer.Option("--stderr", help="Only what was written to standard error.")
    ] = False
    stdout_only: Annotated[
        bool, typer.Option("--stdout", help="Only what was written to standard output.")
    ] = False


class Line(NamedTuple):
    """Bytes of one stream of one step; `gap` bytes before them were cut out by the bounds on disk."""

    step: str
    stream: str
    data: bytes
    gap: int


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
    from tenure.cli.local_run import runs_of
    from tenure.cli.lookup import attempt_of, connected

    async with connected(cli) as hub:
        attempt = await attempt_of(hub, task)
        runs = runs_of(cli.home, attempt.task_id, attempt.number)
        if not runs:
            return tell_tail(cli, attempt.body)
    await show(cli, runs[-1], options)
    return 0


async def show(cli: Invocation, run: LocalRun, options: LogOptions) -> None:
    """Shows what is there of a run and, if asked, what comes until it ends."""
    from tenure.cli.local_run import read_run
    from tenure.cli.process_mark import boot_id

    wanted = tuple(
        stream
        for stream in STREAMS
        if not (options.stderr_only and stream == "stdout")
        and not (options.stdout_only and stream == "stderr")
    )
    reader = RunReader(run, wanted)
    while True:
        ended = not run.is_running
        for line in reader.news():
            write(cli, line)
        if ended or not options.follow:
            return
        await asyncio.wait([asyncio.ensure_future(asyncio.Event().wait())], timeout=LOOK_S)
        run = read_run(run.node, run.folder, boot_id()) or run


class RunReader:
    """Reads on in the streams of a run. Each call gives what is new, step by step."""

    def __init__(self, run: LocalRun, streams: tuple[Stream, ...]) -> None:
        self._run = run
        self._streams = streams
        self._seen: dict[tuple[int, Stream], int] = {}

    def news(self) -> Iterator[Line]:
        from tenure.node.runner_output import output_pieces

        for index, step in enumerate(self._run.steps):
            for stream in self._streams:
                seen = self._seen.get((index, stream), 0)
                for piece in output_pieces(self._run.folder, index, stream, seen):
                    yield Line(step, stream, piece.data, max(0, piece.offset - seen))
                    seen = end_of(piece)
                self._seen[index, stream] = seen


def end_of(piece: Piece) -> int:
    return piece.offset + len(piece.data)


def write(cli: Invocation, line: Line) -> None:
    """Writes output as it is to a pipe, cleaned to a terminal, and as JSON lines with `--json`."""
    text = line.data.decode("utf-8", "replace")
    if cli.out.json:
        cli.out.data({"step": line.step, "stream": line.stream, "skipped_bytes": line.gap, "text": text})
        return
    if line.gap:
        cli.out.note(f"[{line.gap} bytes of {line.stream} were not kept]")
    stream = sys.stdout if line.stream == "stdout" else sys.stderr
    if stream.isatty():
        from tenure.cli.output import clean

        stream.write(clean(text))
        stream.flush()
    else:
        stream.flush()
        raw: BinaryIO = stream.buffer
        raw.write(line.data)
        raw.flush()


def tell_tail(cli: Invocation, attempt: Any) -> int:
    """The end of the output as the node reported it."""
    from tenure.cli.evidence_text import output_tails

    tails = output_tails(attempt)
    cli.out.note("its output is on another machine, or was removed here; this is the end of it, as reported")
    for step, text in tails:
        cli.out.data({"step": step, "stream": "both", "skipped_bytes": None, "text": text})
        if not cli.out.json:
            cli.out.say(text.rstrip("\n"))
    return 0
