"""What a run on this machine wrote: read on from where one was, step by step, and written on."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TextIO, final

from tenure.cli.local.run import RUNS, LocalRun, read_run
from tenure.cli.process.data_files import NODES, node_names
from tenure.cli.process.process_mark import boot_id
from tenure.node.run.output import Stream, output_pieces

if TYPE_CHECKING:
    from tenure.cli.invocation import Invocation

STREAMS: tuple[Stream, ...] = ("stdout", "stderr")


class Chunk(NamedTuple):
    """Bytes of one stream of one step; `gap` bytes before them were cut out by the bounds on disk."""

    step: str
    stream: Stream
    data: bytes
    gap: int


@final
class RunReader:
    """Reads on in the streams of one run. Each call gives what is new, in the order of the steps."""

    def __init__(self, run: LocalRun, streams: tuple[Stream, ...] = STREAMS) -> None:
        self._run = run
        self._streams = streams
        self._seen: dict[tuple[int, Stream], int] = {}

    def news(self) -> Iterator[Chunk]:
        for index, step in enumerate(self._run.steps):
            for stream in self._streams:
                seen = self._seen.get((index, stream), 0)
                for piece in output_pieces(self._run.folder, index, stream, seen):
                    yield Chunk(step, stream, piece.data, max(0, piece.offset - seen))
                    seen = piece.offset + len(piece.data)
                self._seen[index, stream] = seen


@final
class TaskOutput:
    """Reads on in every run of a Task on this machine, those included that begin later. Each folder is looked into once."""

    def __init__(self, home: Path, task_id: str) -> None:
        self._home = home
        self._task_id = task_id
        self._looked_into: set[Path] = set()
        self._readers: list[RunReader] = []

    def news(self) -> Iterator[Chunk]:
        for node in node_names(self._home):
            self._look(node)
        for reader in self._readers:
            yield from reader.news()

    def _look(self, node: str) -> None:
        folder = self._home / NODES / node / RUNS
        for run_folder in sorted(folder.iterdir()) if folder.is_dir() else ():
            if run_folder in self._looked_into or not (run_folder / "launch.json").exists():
                continue
            self._looked_into.add(run_folder)
            run = read_run(node, run_folder, boot_id())
            if run is not None and run.task_id == self._task_id:
                self._readers.append(RunReader(run))


def write_chunk(cli: Invocation, chunk: Chunk) -> None:
    """Writes output as it is to a pipe, and cleaned to a terminal. With `--json` standard output belongs to the result."""
    if chunk.gap:
        cli.out.note(f"[{chunk.gap} bytes of {chunk.stream} were not kept]")
    own = sys.stdout if chunk.stream == "stdout" and not cli.out.json else sys.stderr
    write_bytes(own, chunk.data)


def write_bytes(stream: TextIO, data: bytes) -> None:
    """Writes bytes: unchanged to a pipe or file, without control characters to a terminal."""
    if stream.isatty():
        from tenure.cli.text.output import clean

        stream.write(clean(data.decode("utf-8", "replace")))
    else:
        stream.flush()
        stream.buffer.write(data)
    stream.flush()
