"""The node daemon's side of a runner: prepare its folder, start it, ask what became of it, speak to it, sweep up.

What is on disk is the truth (`folder.probe`). A connection only tells sooner: when it ends, for whatever
reason, the folder is asked. So a lost reply is never guessed about: it is `OutcomeUnknownError`, and each request
may be repeated (a renewal with a greater counter).

All of a runner's daemon side can be imported from here.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import Any, Self, cast, final

import msgspec
from msgspec import Struct

from tenure.errors import OutcomeUnknownError, UnavailableError
from tenure.node.run.folder import (
    CONTROL,
    Found,
    RunnerState,
    forbid_start,
    probe,
    read_launch,
    write_launch,
)
from tenure.node.run.messages import (
    AskStatus,
    Cancel,
    Kill,
    Push,
    Renew,
    Reply,
    Request,
    Stale,
    Subscribe,
)
from tenure.node.run.sweep import SweepResult, sweep, tree_gone
from tenure.node.runner import main as runner
from tenure.runtime.process import ChildCommand, RunChild
from tenure.runtime.stored_json import decode_stored

__all__ = [
    "Found",
    "RunnerControl",
    "RunnerState",
    "SpawnResult",
    "Spawned",
    "SweepResult",
    "connect",
    "forbid_start",
    "probe",
    "read_launch",
    "runner_command",
    "spawn",
    "sweep",
    "tree_gone",
    "write_launch",
]

SPAWN_BOUND_S = 30.0
"""A loaded machine takes long to start a process; past this the folder is asked."""
REPLY_BOUND_S = 20.0
"""A runner that is killing a tree answers when that is over or has been given up (10 s)."""
LINE_BYTES = 1 << 20
PUSHES = 256
"""Kept for a reader that is slow; beyond it the oldest go, as each tells the state anew."""
NO_ANSWER = "the runner's answer did not come; ask its run folder"


class Spawned(StrEnum):
    """What the attempt to start a runner said at once. Only `STARTED` and `LOST` are facts about the folder."""

    STARTED = "started"
    LOST = "lost"
    """Another runner has or had this folder."""
    REFUSED = "refused"
    """The launch is of another version or damaged; nothing was started."""
    UNUSABLE = "unusable"
    """The disk is full, or no process can be made; nothing was started."""
    UNRECORDED = "unrecorded"
    """As `UNUSABLE`, though the folder was taken, and the disk did not take the record either. This answer is the only
    proof that nothing was started."""
    FAILED = "failed"
    """The interpreter did not get so far; `probe` says what is."""


class SpawnResult(Struct, frozen=True, kw_only=True):
    """`message`: what the process said about a failure, for people."""

    spawned: Spawned
    message: str = ""


_SPAWNED = {
    0: Spawned.STARTED,
    runner.EXIT_LOST: Spawned.LOST,
    runner.EXIT_BAD_LAUNCH: Spawned.REFUSED,
    runner.EXIT_UNUSABLE: Spawned.UNUSABLE,
    runner.EXIT_UNRECORDED: Spawned.UNRECORDED,
}


async def spawn(run_dir: Path, run_child: RunChild) -> SpawnResult:
    """Starts a runner. `STARTED`: it holds the folder, and its socket can be connected to.

    What is started here ends at once and is reaped; the runner itself is nobody's child and outlives this process.
    It may be called twice, and by two daemons: one folder never has two runners. Canceled, it still lets the start come to
    its end: cut off, it would take along a runner that has begun and not yet left its group, and nobody could say how that
    ended.

    Raises:
        CancelledError: it was canceled.
    """
    command = ChildCommand(argv=runner_command(str(run_dir)), env={}, cwd=run_dir, timeout_s=SPAWN_BOUND_S)
    starting = asyncio.ensure_future(run_child(command))
    try:
        result = await asyncio.shield(starting)
    except asyncio.CancelledError:
        await asyncio.wait({starting})
        raise
    except OSError as error:
        return SpawnResult(spawned=Spawned.FAILED, message=str(error))
    spawned = Spawned.FAILED if result.exit_code is None else _SPAWNED.get(result.exit_code, Spawned.FAILED)
    return SpawnResult(spawned=spawned, message=result.stderr.decode("utf-8", "replace").strip())


def runner_command(argument: str) -> tuple[str, ...]:
    """What starts a runner, for a run folder or for `--wait`."""
    # The interpreter itself: a virtual environment's adds nothing (-S) and takes longer to find its way.
    return (os.path.realpath(sys.executable), "-S", "-E", "-s", runner.__file__, argument)


async def connect(run_dir: Path, timeout_s: float = REPLY_BOUND_S) -> RunnerControl:
    """A connection to the runner of this folder, already subscribed.

    Raises:
        UnavailableError: nobody listens there (any more). `probe` says why.
    """
    with contextlib.ExitStack() as stack:
        try:
            address = socket_address(run_dir, stack)
            async with asyncio.timeout(timeout_s):
                reader, writer = await asyncio.open_unix_connection(address, limit=LINE_BYTES)
        except OSError as error:  # a timeout is one, too
            raise UnavailableError(
                f"no runner listens in {run_dir}; its folder says what became of it", path=str(run_dir)
            ) from error
    control = RunnerControl(reader, writer, timeout_s)
    try:
        await control.ask(Subscribe(id=control.next_id()))
    except OutcomeUnknownError as error:
        await control.close()
        raise UnavailableError(f"the runner in {run_dir} ended just now", path=str(run_dir)) from error
    return control


def socket_address(run_dir: Path, stack: contextlib.ExitStack) -> str:
    """A name of the socket that fits into an address (108 bytes), however long the folder's path is."""
    if sys.platform != "linux":
        return str(run_dir / CONTROL)
    folder = os.open(run_dir, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    stack.callback(os.close, folder)
    return f"/proc/self/fd/{folder}/{CONTROL}"


@final
class RunnerControl:
    """One connection. Requests may overlap; each waits for its own reply.

    `error` of a reply says why the runner did not do it (`wrong_fence`, `old_counter`); that is an answer, not an
    exception. Each method raises OutcomeUnknownError when the connection ended or the bound passed before the reply.
    """

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, timeout_s: float) -> None:
        self._reader, self._writer, self._timeout_s = reader, writer, timeout_s
        self._waiting: dict[int, asyncio.Future[Reply | None]] = {}
        self._pushes: asyncio.Queue[Push | None] = asyncio.Queue()
        self._last_id = 0
        self._ended = False
        self._task = asyncio.create_task(self._read())

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def renew(self, fence: int, counter: int, deadline_boottime_ns: int) -> Reply:
        """Moves the lease deadline; a paused tree goes on if it lies ahead."""
        return await self.ask(
            Renew(id=self.next_id(), fence=fence, counter=counter, deadline_boottime_ns=deadline_boottime_ns)
        )

    async def cancel(self, grace_s: float) -> Reply:
        """Starts the ladder of a stop; a second one can only shorten it."""
        return await self.ask(Cancel(id=self.next_id(), grace_s=grace_s))

    async def stale(self, fence: int) -> Reply:
        """Ownership has moved on: kills the tree; the reply comes when it is gone."""
        return await self.ask(Stale(id=self.next_id(), fence=fence))

    async def kill(self) -> Reply:
        """A cancel without grace; the reply comes when the tree is gone."""
        return await self.ask(Kill(id=self.next_id()))

    async def status(self) -> Reply:
        return await self.ask(AskStatus(id=self.next_id()))

    async def pushes(self) -> AsyncIterator[Push]:
        """What the runner tells unasked. It ends with the connection: then `probe` the folder."""
        while (push := await self._pushes.get()) is not None:
            yield push
        self._pushes.put_nowait(None)  # for whoever asks again

    def next_id(self) -> int:
        self._last_id += 1
        return self._last_id

    async def ask(self, request: Request) -> Reply:
        """Sends one request and waits for its reply.

        Raises:
            OutcomeUnknownError: whether it was done cannot be told; `probe` the folder, or connect and repeat it.
        """
        # None: there will be none. Not an exception, which nobody would take up where sending has failed, too.
        reply: asyncio.Future[Reply | None] = asyncio.get_running_loop().create_future()
        self._waiting[request.id] = reply
        try:
            if self._ended:
                reply.set_result(None)
            async with asyncio.timeout(self._timeout_s):
                self._writer.write(msgspec.json.encode(request) + b"\n")
                await self._writer.drain()
                said = await reply
        except OSError as error:  # a timeout is one, too
            raise OutcomeUnknownError(NO_ANSWER) from error
        finally:
            del self._waiting[request.id]
        if said is None:
            raise OutcomeUnknownError(NO_ANSWER)
        return said

    async def close(self) -> None:
        """Ends the connection; the runner goes on. Repeatable."""
        self._task.cancel()
        self._writer.close()
        await asyncio.gather(self._task, return_exceptions=True)
        with contextlib.suppress(OSError):
            await self._writer.wait_closed()

    async def _read(self) -> None:
        try:
            while line := await self._reader.readline():
                self._take(decode_stored(line, cast("Any", Reply | Push)))
        except (OSError, ValueError):  # cut off, or not our runner's words: either way the folder is asked
            return
        finally:
            self._ended = True
            self._writer.close()
            for reply in self._waiting.values():
                if not reply.done():
                    reply.set_result(None)
            self._pushes.put_nowait(None)

    def _take(self, message: Reply | Push) -> None:
        if isinstance(message, Push):
            if self._pushes.qsize() >= PUSHES:
                self._pushes.get_nowait()
            self._pushes.put_nowait(message)
        elif (reply := self._waiting.get(message.re)) and not reply.done():
            reply.set_result(message)
