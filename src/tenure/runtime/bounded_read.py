"""Reading a file that may be longer than it should be."""

from __future__ import annotations

from typing import BinaryIO

PIECE_BYTES = 65_536


def read_at_most(file: BinaryIO, most_bytes: int) -> bytes:
    """The content; of one that is longer than `most_bytes` a little more than that, and no more is read.

    In pieces: asked for all at once, the library would first make room for the whole bound, however small the file is.
    What would have to be waited for (a pipe that does not block) counts as the end.
    """
    content = bytearray()
    while len(content) <= most_bytes and (
        piece := file.read(min(PIECE_BYTES, most_bytes + 1 - len(content)))
    ):
        content += piece
    return bytes(content)
