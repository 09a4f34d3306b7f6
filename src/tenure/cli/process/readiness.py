"""How a started process says that it is ready, or why it never will be: one JSON line on a pipe.

No sleeping and no polling: whoever started it waits for the line, for the end of the pipe (the process died) or for its own
bound. A process that is told no descriptor says nothing.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from typing import Any, cast

import msgspec
from msgspec import Struct

from tenure.errors import TenureError, exit_code
from tenure.runtime.stored_json import decode_stored

MAX_LINE_BYTES = 65_536


class Ready(Struct, frozen=True, kw_only=True, tag_field="says", tag="ready"):
    """It does its work now. `facts` are what whoever started it shows to people."""

    facts: dict[str, Any]


class Failed(Struct, frozen=True, kw_only=True, tag_field="says", tag="failed"):
    """It could not start. `exit_code` is the one it ends with."""

    code: str
    message: str
    exit_code: int


Said = Ready | Failed


def say_ready(descriptor: int | None, facts: dict[str, Any]) -> None:
    """Says that this process is ready. Doing it twice says nothing new."""
    say(descriptor, Ready(facts=facts))


def say_failed(descriptor: int | None, error: TenureError) -> None:
    """Says why this process will never be ready."""
    say(descriptor, Failed(code=error.code, message=error.message, exit_code=exit_code(error)))


def say(descriptor: int | None, what: Said) -> None:
    """Says one thing and closes the pipe; a process that was told no descriptor says nothing."""
    if descriptor is None:
        return
    # Whoever waited may be gone, and a descriptor that was closed before has said its word.
    with contextlib.suppress(OSError):
        os.write(descriptor, msgspec.json.encode(what) + b"\n")
        os.close(descriptor)


def said_or_raised(ready_fd: int | None, run: Callable[[], int]) -> int:
    """Runs; an error before it is ready goes to whoever started this process, too.

    Raises:
        TenureError: it could not start or go on.
    """
    try:
        return run()
    except TenureError as error:
        say_failed(ready_fd, error)
        raise


def parse_said(line: bytes) -> Said | None:
    """What a line says; None for an empty one (the process ended without a word) and for what is no such line."""
    try:
        return decode_stored(line, cast("Any", Said))
    except ValueError:
        return None
