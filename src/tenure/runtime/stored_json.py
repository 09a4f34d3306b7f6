"""JSON that stands in a file or comes over a socket of this machine: read so that whatever stands there is an answer.

Somebody may have written it in part, another version may have, or a program that runs as the same user. A decoder
recurses, so what is nested deeply is one more way of being damaged."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TypeVar

import msgspec

from tenure.runtime.bounded_read import read_at_most

T = TypeVar("T")


def decode_stored(data: bytes, kind: type[T]) -> T:
    """The bytes as `kind`.

    Raises:
        ValueError: they are damaged, or say something else.
    """
    try:
        return msgspec.json.decode(data, type=kind)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def read_stored(path: Path, kind: type[T], most_bytes: int) -> T:
    """A file as `kind`. Of a file that is longer no more is read; a link, and what is no file, is not followed or waited for.

    Raises:
        FileNotFoundError: there is none.
        OSError: it cannot be read.
        ValueError: it is too long, damaged, or says something else.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        data = read_at_most(file, most_bytes)
    if len(data) > most_bytes:
        raise ValueError(f"it is longer than {most_bytes} bytes")
    return decode_stored(data, kind)
