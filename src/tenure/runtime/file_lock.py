"""A lock file that processes on one machine take in turns, with a bounded wait.

`flock` belongs to the open file, not to the process: a child that is handed the descriptor goes on holding
the lock when its parent dies. That is wanted: whoever comes next must wait until the orphaned git has ended,
too. The file is never deleted, since two processes could then each hold a lock on a file of that name. Its
content only serves the message to whoever waits in vain; it proves nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import fcntl
import os
from collections.abc import AsyncGenerator
from pathlib import Path

from tenure.errors import WorkspaceBusyError

FIRST_PAUSE_S = 0.005
LONGEST_PAUSE_S = 0.2
MAX_NOTE_BYTES = 400
_BUSY = frozenset({errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES})


@contextlib.asynccontextmanager
async def file_lock(path: Path, wait_s: float, holder: str) -> AsyncGenerator[int]:
    """Holds the lock file and yields its descriptor, to be handed to children that work under the lock.

    `holder` is what others are shown while they wait.

    Raises:
        WorkspaceBusyError: another one held it for all of `wait_s`.
        OSError: the file cannot be made or locked.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        await _take(descriptor, path, wait_s)
        _write_note(descriptor, f"{holder} (process {os.getpid()})")
        try:
            yield descriptor
        finally:
            _write_note(descriptor, "")
            # Not left to the close alone: a helper that escaped with a copy of the descriptor has no more claim to it
            # once the work that was locked is known to have ended.
            fcntl.flock(descriptor, fcntl.LOCK_UN)
    finally:
        os.close(descriptor)


async def _take(descriptor: int, path: Path, wait_s: float) -> None:
    loop = asyncio.get_running_loop()
    give_up_at = loop.time() + wait_s
    pause = FIRST_PAUSE_S
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except OSError as error:
            if error.errno not in _BUSY:
                raise
        left = give_up_at - loop.time()
        if left <= 0:
            note = os.pread(descriptor, MAX_NOTE_BYTES, 0).decode("utf-8", "replace") or "another process"
            raise WorkspaceBusyError(
                f"{path} was held for {wait_s:g} s by {note}; try again when it has finished",
                path=str(path),
                holder=note,
                waited_s=wait_s,
            )
        # Polled, since the kernel has no wait for flock that can be bounded or canceled.
        await asyncio.sleep(min(pause, left))
        pause = min(pause * 2, LONGEST_PAUSE_S)


def _write_note(descriptor: int, note: str) -> None:
    # A full disk must not refuse the lock: the note is for people only.
    with contextlib.suppress(OSError):
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, note.encode()[:MAX_NOTE_BYTES], 0)
