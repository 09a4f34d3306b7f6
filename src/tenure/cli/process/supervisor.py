"""Keeps hub and node running: starts each as a process of its own, and starts it again when it dies.

Each child has a session of its own, so that Ctrl-C at the terminal reaches the supervisor only, which then stops the node
before the hub. A child that dies is started again after a pause that doubles up to `LONGEST_PAUSE_S` and begins anew
once the child has stayed up for `STEADY_S`. A child that ends by itself with an exit code of `FINAL` (its settings are
wrong, another process has taken its place) stays down: starting it again would only repeat that.

Whether a child is ready is told by itself, through a pipe (`readiness`). The supervisor holds no state that must survive
it: when it is killed, hub and node go on, each under its own lock, and `tenure down` finds them by these.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any, final

from msgspec import Struct

from tenure.cli.process.readiness import MAX_LINE_BYTES, Failed, Ready, Said, parse_said
from tenure.cli.text.moment import pause
from tenure.core.clock import Clock

FIRST_PAUSE_S = 0.1
LONGEST_PAUSE_S = 10.0
STEADY_S = 30.0
READY_WITHIN_S = 60.0
STOP_WITHIN_S = 20.0
FINAL = frozenset({2, 64, 65, 77, 78})
"""Exit codes after which a child is not started again: Python's own usage, bad input, conflict (superseded), permission, configuration."""
LOG_BYTES = 16 << 20
LOG_LOOK_S = 60.0


class ChildSpec(Struct, frozen=True, kw_only=True):
    """A process to keep running: its words (without the readiness option), and the file for its log. `environment`
    None: this process's own."""

    name: str
    argv: tuple[str, ...]
    log: Path
    folder: Path
    environment: dict[str, str] | None = None


class ChildEvent(Struct, frozen=True, kw_only=True):
    """Something that happened to a child: `started`, `ready`, `ended`, `gave_up`, `stopped`."""

    child: str
    what: str
    pid: int | None = None
    detail: str = ""
    said: Said | None = None


Listener = Callable[[ChildEvent], None]


@final
class Supervisor:
    """Runs its children until it is asked to stop. Children start in order, each after the one before is ready."""

    def __init__(self, specs: tuple[ChildSpec, ...], clock: Clock, listener: Listener) -> None:
        self._children = [Child(spec, clock, listener) for spec in specs]
        self._stopping = asyncio.Event()

    def stop(self) -> None:
        """Asks `run` to end. A second time it kills the children instead of waiting for them."""
        if self._stopping.is_set():
            for child in self._children:
                child.kill()
        self._stopping.set()

    async def run(self, on_ready: Callable[[dict[str, dict[str, Any]]], None]) -> Failed | None:
        """Starts everything, says when all is ready, and keeps it running.

        Returns when all children have ended: None after `stop`, else why the first child could not be started, or why
        none is left.
        """
        stopping = asyncio.ensure_future(self._stopping.wait())
        keeping: list[asyncio.Task[Failed]] = []
        try:
            facts: dict[str, dict[str, Any]] = {}
            for child in self._children:
                said = await self._first(child.start(), stopping)
                if said is None or isinstance(said, Failed):
                    return said
                facts[child.spec.name] = said.facts
                keeping.append(asyncio.ensure_future(child.keep()))
            on_ready(facts)
            return await self._first(_last_of(keeping), stopping)
        finally:
            stopping.cancel()
            for task in keeping:
                task.cancel()
            await asyncio.gather(*keeping, return_exceptions=True)
            for child in reversed(self._children):
                await child.stop()

    async def _first(self, work: Any, stopping: asyncio.Future[Any]) -> Any:
        """The result of `work`; None when `stop` came first."""
        task = asyncio.ensure_future(work)
        await asyncio.wait({task, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return None


async def _last_of(keeping: list[asyncio.Task[Failed]]) -> Failed:
    """What the child said that gave up last: nothing is left to keep running."""
    return (await asyncio.gather(*keeping))[-1]


@final
class Child:
    """One process that is kept running."""

    def __init__(self, spec: ChildSpec, clock: Clock, listener: Listener) -> None:
        self.spec = spec
        self._clock = clock
        self._listener = listener
        self._process: asyncio.subprocess.Process | None = None

    async def start(self) -> Ready | Failed:
        """Starts the process and waits until it says that it is ready, that it cannot be, or dies."""
        reader, writer = os.pipe()
        try:
            self._process = await self._spawn(writer)
        finally:
            os.close(writer)
        self._tell("started")
        said = await _said_on(reader, READY_WITHIN_S)
        if isinstance(said, Ready):
            self._tell("ready", said=said)
            return said
        if said is None:
            ended = self._process.returncode is not None or await self._ends_within(STOP_WITHIN_S / 10)
            what = f"it ended ({ending(self._process.returncode)})" if ended else "it is not ready yet"
            said = Failed(
                code="unavailable", message=f"{self.spec.name}: {what}; see {self.spec.log}", exit_code=69
            )
        return said

    async def keep(self) -> Failed:
        """Starts the process again whenever it has ended; returns when it must not be."""
        pause_s = FIRST_PAUSE_S
        while True:
            began_ns = self._clock.awake_ns()
            code = await self._wait()
            self._tell("ended", detail=ending(code))
            if code in FINAL:
                message = f"{self.spec.name} stays down: {ending(code)}; see {self.spec.log}"
                self._tell("gave_up", detail=message)
                return Failed(code="unavailable", message=message, exit_code=code)
            steady = self._clock.awake_ns() - began_ns > STEADY_S * 1e9
            pause_s = FIRST_PAUSE_S if steady else pause_s
            await pause(pause_s)
            pause_s = min(pause_s * 2, LONGEST_PAUSE_S)
            said = await self.start()
            if isinstance(said, Failed):
                self._tell("failed", detail=said.message, said=said)

    async def _wait(self) -> int:
        """Waits for the end of the process, and keeps its log within bounds meanwhile."""
        if self._process is None:
            return 0
        while not await self._ends_within(LOG_LOOK_S):
            trim_log(self.spec.log)
        return self._process.returncode or 0

    async def stop(self) -> None:
        """Asks the process to end, waits for it within a bound, and kills it after that."""
        if self._process is None or self._process.returncode is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGTERM)
        if not await self._ends_within(STOP_WITHIN_S):
            self.kill()
            await self._ends_within(STOP_WITHIN_S)
        self._tell("stopped", detail=ending(self._process.returncode))

    def kill(self) -> None:
        if self._process is not None and self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()

    async def _spawn(self, writer: int) -> asyncio.subprocess.Process:
        trim_log(self.spec.log)
        log = os.open(self.spec.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            return await asyncio.create_subprocess_exec(  # noqa: TID251 - starting processes is what this file is for
                *self.spec.argv,
                "--ready-fd",
                str(writer),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.spec.folder,
                env=self.spec.environment,
                pass_fds=(writer,),
                start_new_session=True,
            )
        finally:
            os.close(log)

    async def _ends_within(self, wait_s: float) -> bool:
        if self._process is None:
            return True
        try:
            async with asyncio.timeout(wait_s):
                await self._process.wait()
        except TimeoutError:
            return False
        return True

    def _tell(self, what: str, detail: str = "", said: Said | None = None) -> None:
        pid = self._process.pid if self._process else None
        self._listener(ChildEvent(child=self.spec.name, what=what, pid=pid, detail=detail, said=said))


async def _said_on(reader: int, wait_s: float) -> Said | None:
    """The line on a pipe; None when it ends without one, or at the bound. Closes the pipe."""
    loop = asyncio.get_running_loop()
    stream = asyncio.StreamReader(limit=MAX_LINE_BYTES, loop=loop)
    with io.FileIO(reader, "rb") as pipe:
        transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(stream), pipe)
        try:
            async with asyncio.timeout(wait_s):
                return parse_said(await stream.readline())
        except (TimeoutError, ValueError):
            return None
        finally:
            transport.close()


def ending(code: int | None) -> str:
    """How a process ended, in words."""
    if code is None:
        return "it does not end"
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"killed by signal {-code}"


def trim_log(path: Path) -> None:
    """Keeps a log within `LOG_BYTES`: what is there moves to `.1`, and the file begins anew under the same writer.

    The writer appends, so it goes on at the new beginning; lines written during the copy may be lost.
    """
    with contextlib.suppress(OSError):
        if path.stat().st_size > LOG_BYTES:
            path.with_name(path.name + ".1").write_bytes(path.read_bytes()[-LOG_BYTES:])
            os.truncate(path, 0)
