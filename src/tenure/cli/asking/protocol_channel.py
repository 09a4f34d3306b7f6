"""The ways of the harness protocol that are open to this process: the descriptor and the file that the runner named.

A client may have started us without its descriptors, and the number may stand for something else by now. So the
descriptor is only used if it is a pipe that is open for writing; else only the file is left.
"""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Callable, Mapping

Write = Callable[[bytes], None]


def descriptor_of(env: Mapping[str, str]) -> Write | None:
    """Writes to the protocol's descriptor; None where there is none that is surely it. To be called early, before this
    process opens anything of its own."""
    text = env.get("TENURE_PROTOCOL_FD", "")
    if not text.isascii() or not text.isdigit() or int(text) <= 2:
        return None
    descriptor = int(text)
    try:
        is_pipe = stat.S_ISFIFO(os.fstat(descriptor).st_mode)
        writes = fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE == os.O_WRONLY
    except (OSError, OverflowError):
        return None
    return (lambda line: _write(descriptor, line)) if is_pipe and writes else None


def file_of(env: Mapping[str, str]) -> Write | None:
    """Appends to the protocol's file; None where none is named."""
    path = env.get("TENURE_PROTOCOL_FILE")
    if not path:
        return None

    def append(line: bytes) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(path, flags, 0o600)
        try:
            _write(descriptor, line)
        finally:
            os.close(descriptor)

    return append


def _write(descriptor: int, line: bytes) -> None:
    while line:
        line = line[os.write(descriptor, line) :]
