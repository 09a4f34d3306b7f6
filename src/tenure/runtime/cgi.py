"""A child process that speaks CGI (RFC 3875): a request streams in, an answer streams out, both within bounds.

- The child leads a session of its own. On the way out, however that comes about, its request ends, and its group has
  `END_GRACE_S` to end too (git then removes what it has half received); it is asked to, and killed after `TERM_GRACE_S`.
  It is reaped only after that, so that the signals cannot hit a stranger.
- Both directions wait for the slower side; nothing is kept beyond a pipe and one buffer.
- The child may end before its request has: what is then still written is dropped, and `send` says so."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import socket
import subprocess
from asyncio.streams import FlowControlMixin
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import IO, final

from msgspec import Struct

from tenure.errors import UnavailableError
from tenure.runtime.process import Capture

END_GRACE_S = 2.0
TERM_GRACE_S = 2.0
REAP_S = 2.0
HEAD_BYTES = 16_384
READ_BYTES = 65_536
ERROR_BYTES = 4_000
_STATUS = re.compile(r"\s*([1-5][0-9]{2})\b")
LINE_BYTES = 262_144
"""The longest line that is read from a child's own line (`Line`)."""


class CgiCommand(Struct, frozen=True, kw_only=True):
    """What to run. `env` is the whole environment, meta-variables included. `keep_descriptors`: what the child and all
    it starts inherit."""

    argv: tuple[str, ...]
    env: dict[str, str]
    cwd: Path
    keep_descriptors: tuple[int, ...] = ()


class CgiHead(Struct, frozen=True):
    """The beginning of the answer. Names of headers are in lower case; `status` is none of them."""

    status: int
    headers: tuple[tuple[str, str], ...]


@final
class Cgi:
    """One running child. Read and written by one task each."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, errors: Capture, pid: int
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._errors = errors
        self.pid = pid

    async def send(self, data: bytes) -> bool:
        """Hand over a piece of the request; False once the child reads no more."""
        try:
            self._writer.write(data)
            await self._writer.drain()
        except (BrokenPipeError, ConnectionResetError):
            return False
        return not self._writer.is_closing()

    def end(self) -> None:
        """The request is complete."""
        self._writer.close()

    async def head(self) -> CgiHead:
        """The beginning of the answer; before any `read`.

        Raises:
            UnavailableError: the child ended without one, or wrote something else.
        """
        try:
            text = await self._reader.readuntil(b"\r\n\r\n")
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
            self._errors.drain()
            said = bytes(self._errors.kept).decode("utf-8", "replace").strip() or "it said nothing"
            raise UnavailableError(f"the program behind this address gave no answer: {said}") from error
        status, headers = 200, list[tuple[str, str]]()
        for line in text.decode("latin-1").split("\r\n"):
            name, colon, value = line.partition(":")
            if not colon:
                continue
            if name.lower() == "status":
                status = _status(value)
            else:
                headers.append((name.lower(), value.strip()))
        return CgiHead(status, tuple(headers))

    async def read(self) -> bytes:
        """The next piece of the answer; empty at its end."""
        return await self._reader.read(READ_BYTES)

    def close(self) -> None:
        if not self._writer.transport.is_closing():
            self._writer.transport.abort()


@asynccontextmanager
async def running_cgi(command: CgiCommand) -> AsyncGenerator[Cgi]:
    """Start the child; nothing of its process group is left when the context ends.

    Raises:
        OSError: the program or its folder is missing; nothing was run.
    """
    loop = asyncio.get_running_loop()
    with contextlib.closing(Capture(ERROR_BYTES, keep_end=True)) as errors:
        child = subprocess.Popen(  # noqa: ASYNC220 - we watch, signal and reap it ourselves, in that order
            command.argv,
            cwd=command.cwd,
            env=command.env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors.writer,
            start_new_session=True,
            pass_fds=command.keep_descriptors,
        )
        cgi: Cgi | None = None
        reading: asyncio.ReadTransport | None = None
        reader = asyncio.StreamReader(limit=HEAD_BYTES)
        try:
            errors.open()
            reading, _ = await loop.connect_read_pipe(
                lambda: asyncio.StreamReaderProtocol(reader), _pipe(child.stdout)
            )
            transport, protocol = await loop.connect_write_pipe(FlowControlMixin, _pipe(child.stdin))
            cgi = Cgi(reader, asyncio.StreamWriter(transport, protocol, None, loop), errors, child.pid)
            yield cgi
        finally:
            if cgi is not None:
                cgi.close()
            try:
                await _ended(child, reader)
            finally:
                if reading is not None:
                    reading.close()


def _status(value: str) -> int:
    """The number of a `Status` line, RFC 3875 6.3.3.

    Raises:
        UnavailableError: it has none.
    """
    found = _STATUS.match(value)
    if found is None:
        raise UnavailableError(f"the program behind this address answered the status {value[:40]!r}")
    return int(found[1])


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None
    return pipe


async def _ended(child: subprocess.Popen[bytes], reader: asyncio.StreamReader) -> None:
    """Let the group end by itself, ask it to, kill it. Canceled meanwhile, it is killed at once.

    Its end is the end of what it writes, not that of its leader: those behind it still have to tidy up."""
    try:
        if not await _silent_within(reader, END_GRACE_S):
            _signal_group(child, signal.SIGTERM)
            await _silent_within(reader, TERM_GRACE_S)
    finally:
        _signal_group(child, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(REAP_S)


async def _silent_within(reader: asyncio.StreamReader, timeout_s: float) -> bool:
    try:
        async with asyncio.timeout(timeout_s):
            while await reader.read(READ_BYTES):
                pass
    except TimeoutError:
        return False
    return True


def _signal_group(child: subprocess.Popen[bytes], number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, number)


@final
class Line:
    """A line between us and the children of one `Cgi`: no address that others could find, it ends with them."""

    def __init__(self) -> None:
        self._ours, self._theirs = socket.socketpair()
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    @property
    def descriptor(self) -> int:
        """What the children inherit."""
        return self._theirs.fileno()

    async def open(self) -> None:
        """After the child has been started: from now on the line ends when the last of them does."""
        self._theirs.close()
        self._reader, self._writer = await asyncio.open_unix_connection(sock=self._ours, limit=LINE_BYTES)

    async def receive(self) -> bytes | None:
        """The next text up to a line end; None at the end, or when it is longer than `LINE_BYTES`."""
        assert self._reader is not None
        try:
            return await self._reader.readuntil(b"\n")
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError):
            return None

    async def send(self, text: bytes) -> None:
        """Answer; without effect when nobody is there any more."""
        assert self._writer is not None
        with contextlib.suppress(ConnectionError):
            self._writer.write(text + b"\n")
            await self._writer.drain()

    def close(self) -> None:
        self._theirs.close()
        if self._writer is not None:
            self._writer.close()
        else:
            self._ours.close()
