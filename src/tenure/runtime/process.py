"""Runs one short child process within bounds on time and output, and leaves nothing of it behind.

For git, `doctor` and other programs that answer and end. Agents are the runner's affair, not this module's.

- The child leads a session of its own, so that one signal to its group reaches the helpers it started.
- The end of the *process* ends the call, not the end of its pipes: a grandchild that holds them open delays
  nothing. asyncio's own `Process.wait()` waits for the pipes too (Python 3.11), so the child is watched
  through a pidfd.
- Whatever is left of the group is killed before the child is reaped. Until then the kernel cannot give the
  group's number to anybody else, so the signal cannot hit a stranger. A process that moved to a session of
  its own escapes; a caller that must know about it hands in a lock's descriptor (`keep_descriptors`), which
  the escaped process then still holds.
- Output beyond its bound is read and counted, not kept: neither memory nor a full pipe can stop the child.
- On a timeout or a cancellation the group gets SIGTERM first, so that git removes its lock files, and SIGKILL
  after `TERM_GRACE_S`.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import tempfile
from collections.abc import Awaitable, Callable, Generator
from pathlib import Path
from typing import IO, final

from msgspec import Struct

TERM_GRACE_S = 2.0
"""Long enough for git to unlink its lock files on a loaded machine."""
KILL_GRACE_S = 5.0
"""After SIGKILL only a process stuck inside the kernel (a dead network file system) is still there."""
REAP_S = 0.5
"""How long the loop may stand still, after a second cancellation, for a killed child to be reaped."""
READ_BYTES = 65_536
DRAIN_READS = 32
"""Reads after the end: more than any pipe can hold (1 MiB), so that an escaped writer cannot keep us here."""


class ChildCommand(Struct, frozen=True, kw_only=True):
    """What to run and within which bounds. `env` is the whole environment of the child.

    Of standard output the first `stdout_bytes` are kept, of standard error the last `stderr_bytes` (the cause
    of a failure stands at its end).
    """

    argv: tuple[str, ...]
    env: dict[str, str]
    cwd: Path | None = None
    stdin: bytes = b""
    timeout_s: float = 60.0
    stdout_bytes: int = 1_048_576
    stderr_bytes: int = 65_536
    keep_descriptors: tuple[int, ...] = ()


class ChildResult(Struct, frozen=True, kw_only=True):
    """How the child ended and what it wrote.

    `exit_code` is negative for a signal, and None when not even SIGKILL was seen to end it. `stdout_seen` and
    `stderr_seen` count all bytes written, kept or not.
    """

    exit_code: int | None
    stdout: bytes
    stderr: bytes
    stdout_seen: int
    stderr_seen: int
    timed_out: bool
    took_s: float

    @property
    def stdout_truncated(self) -> bool:
        return self.stdout_seen > len(self.stdout)


RunChild = Callable[[ChildCommand], Awaitable[ChildResult]]


async def run_child(command: ChildCommand) -> ChildResult:
    """Runs the command to its end or to its time limit.

    Canceling the caller ends the child too. Nothing of its process group is left when this returns or raises.

    Raises:
        OSError: the program or its working directory is missing or cannot be used; nothing was run.
    """
    loop = asyncio.get_running_loop()
    began = loop.time()
    with contextlib.ExitStack() as stack:
        stdout = stack.enter_context(contextlib.closing(Capture(command.stdout_bytes, keep_end=False)))
        stderr = stack.enter_context(contextlib.closing(Capture(command.stderr_bytes, keep_end=True)))
        child = stack.enter_context(_started(command, stdout, stderr))
        ended = stack.enter_context(_watched(child))
        timed_out = not await _ends_within(ended, command.timeout_s, child)
        if timed_out:
            await _stop(child, ended)
        _signal_group(child, signal.SIGKILL)
        exit_code = child.poll()
        stdout.drain()
        stderr.drain()
    return ChildResult(
        exit_code=exit_code,
        stdout=bytes(stdout.kept),
        stderr=bytes(stderr.kept),
        stdout_seen=stdout.seen,
        stderr_seen=stderr.seen,
        timed_out=timed_out,
        took_s=loop.time() - began,
    )


@final
class Capture:
    """The reading end of one pipe: keeps its beginning or its end within a bound and counts the rest."""

    def __init__(self, limit: int, *, keep_end: bool) -> None:
        self.kept = bytearray()
        self.seen = 0
        self._limit = limit
        self._keep_end = keep_end
        self._reader, self.writer = os.pipe()
        os.set_blocking(self._reader, False)

    def feed(self, data: bytes) -> None:
        self.seen += len(data)
        if self._keep_end:
            self.kept += data
            del self.kept[: max(0, len(self.kept) - self._limit)]
        else:
            self.kept += data[: self._limit - len(self.kept)]

    def read_once(self) -> bool:
        """Takes what is there. False when there is nothing more, now or for ever."""
        try:
            data = os.read(self._reader, READ_BYTES)
        except BlockingIOError:
            return False
        if not data:
            asyncio.get_running_loop().remove_reader(self._reader)
            return False
        self.feed(data)
        return True

    def drain(self) -> None:
        """Takes what the ended child left in the pipe."""
        for _ in range(DRAIN_READS):
            if not self.read_once():
                return

    def open(self) -> None:
        """The child has its own copy of the writing end now: gives up ours and reads as data comes."""
        self.close_writer()
        asyncio.get_running_loop().add_reader(self._reader, self.read_once)

    def close_writer(self) -> None:
        writer, self.writer = self.writer, -1
        if writer >= 0:
            os.close(writer)

    def close(self) -> None:
        self.close_writer()
        asyncio.get_running_loop().remove_reader(self._reader)
        os.close(self._reader)


@contextlib.contextmanager
def _started(command: ChildCommand, stdout: Capture, stderr: Capture) -> Generator[subprocess.Popen[bytes]]:
    """The running child; on the way out, however that comes about, its group is killed."""
    with _stdin(command.stdin) as stdin:
        child = subprocess.Popen(
            command.argv,
            cwd=command.cwd,
            env=command.env,
            stdin=stdin,
            stdout=stdout.writer,
            stderr=stderr.writer,
            start_new_session=True,
            pass_fds=command.keep_descriptors,
        )
    try:
        stdout.open()
        stderr.open()
        yield child
    finally:
        if child.returncode is None:
            _signal_group(child, signal.SIGKILL)
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(REAP_S)


@contextlib.contextmanager
def _stdin(data: bytes) -> Generator[int | IO[bytes]]:
    """A file, not a pipe: there is nobody to feed a pipe while the child does not read it."""
    if not data:
        yield subprocess.DEVNULL
        return
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.seek(0)
        yield file


@contextlib.contextmanager
def _watched(child: subprocess.Popen[bytes]) -> Generator[asyncio.Future[None]]:
    """A future that is done when the child has ended; where there is a pidfd, before it is reaped."""
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[None] = loop.create_future()
    try:
        pidfd = os.pidfd_open(child.pid)
    except (AttributeError, OSError):  # not Linux, an old kernel, or a sandbox that forbids it
        waiting = loop.run_in_executor(None, child.wait)
        waiting.add_done_callback(lambda _: _finish(ended))
        yield ended
        return
    loop.add_reader(pidfd, _finish, ended)
    try:
        yield ended
    finally:
        loop.remove_reader(pidfd)
        os.close(pidfd)


def _finish(ended: asyncio.Future[None]) -> None:
    if not ended.done():
        ended.set_result(None)


async def _ends_within(ended: asyncio.Future[None], timeout_s: float, child: subprocess.Popen[bytes]) -> bool:
    try:
        done, _ = await asyncio.wait({ended}, timeout=timeout_s)
    except asyncio.CancelledError:
        await _stop(child, ended)
        raise
    return bool(done)


async def _stop(child: subprocess.Popen[bytes], ended: asyncio.Future[None]) -> None:
    """Ends the group: asks, waits, kills. A second cancellation meanwhile goes straight to the kill in `_started`."""
    _signal_group(child, signal.SIGTERM)
    done, _ = await asyncio.wait({ended}, timeout=TERM_GRACE_S)
    if not done:
        _signal_group(child, signal.SIGKILL)
        await asyncio.wait({ended}, timeout=KILL_GRACE_S)


def _signal_group(child: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """Signals the child's group, unless the child is reaped: then its number may belong to somebody else."""
    if child.returncode is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, number)
