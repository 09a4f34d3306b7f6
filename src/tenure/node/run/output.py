"""Reading what a runner spooled, while it runs or after: raw bytes, with the gaps where the bounds cut something out.

A stream's segments are `stdout.<step>.<offset>` (`stderr` likewise): the first is kept, the newest few are kept, and
what lay between is gone. The offset is that of the first byte in the whole stream. A segment may vanish between
looking and reading; then it is one more gap.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from msgspec import Struct

READ_BYTES = 65_536
PROTOCOL = "protocol.jsonl"

_OFFSET = re.compile(r"\.[0-9]{1,40}")

Stream = Literal["stdout", "stderr"]


class Piece(Struct, frozen=True):
    """Bytes at an offset of the whole stream; a gap shows as an offset beyond the end of the piece before."""

    offset: int
    data: bytes


def output_pieces(run_dir: Path, step: int, stream: Stream, start: int = 0) -> Iterator[Piece]:
    """What is kept from offset `start` on, in order, in pieces of up to 64 KiB. `step` counts from 0."""
    for offset, path in segments(run_dir, step, stream):
        with contextlib.suppress(FileNotFoundError), path.open("rb") as file:
            at = max(offset, start)
            file.seek(at - offset)
            while data := file.read(READ_BYTES):
                yield Piece(at, data)
                at += len(data)


def output_tail(run_dir: Path, step: int, stream: Stream, limit: int) -> Piece:
    """The last `limit` bytes that are kept without a gap before them; fewer where there are fewer."""
    tail, offset = b"", 0
    for first, path in reversed(segments(run_dir, step, stream)):
        try:
            data = read_end(path, limit - len(tail))
        except FileNotFoundError:
            break
        end = first + path.stat().st_size
        if tail and end != offset:
            break
        tail, offset = data + tail, end - len(data)
        if len(tail) >= limit:
            break
    return Piece(offset, tail)


def protocol_chunks(run_dir: Path) -> Iterator[bytes]:
    """The harness's own lines as they were spooled; nothing where it said nothing."""
    with contextlib.suppress(FileNotFoundError), (run_dir / PROTOCOL).open("rb") as file:
        while data := file.read(READ_BYTES):
            yield data


def segments(run_dir: Path, step: int, stream: Stream) -> list[tuple[int, Path]]:
    paths = run_dir.glob(f"{stream}.{step}.*")
    return sorted((int(path.suffix[1:]), path) for path in paths if _OFFSET.fullmatch(path.suffix))


def read_end(path: Path, limit: int) -> bytes:
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - limit))
        return file.read(limit)
