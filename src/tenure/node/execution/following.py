"""Staying with a run: hearing its runner, and telling it what the hub says.

The runner tells unasked (pushes), so nothing is polled. What the hub says reaches it through the holding: each change wakes
`_tell`, which sends the newest deadline, a cancel once, or that the fence is stale. A connection that ends says nothing by
itself: the run folder is asked, and the loop connects again where the runner still holds its lock.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable
from concurrent.futures import Executor
from functools import partial
from pathlib import Path
from typing import TypeVar, final

from msgspec import Struct
from msgspec.structs import replace

from tenure.core.budget import highest
from tenure.core.clock import Clock, IdSource
from tenure.core.delivery import Progress
from tenure.errors import OutcomeUnknownError, TenureError, UnavailableError
from tenure.harness.protocol import ProtocolReader
from tenure.harness.summary import ProtocolSummary, advance, turn_said
from tenure.node.delivery.holding import Holding, Holdings
from tenure.node.execution.capability import without
from tenure.node.pacing import Backoff, pause
from tenure.node.run.folder import Found, RunnerState
from tenure.node.run.messages import Push, Status
from tenure.node.run.output import PROTOCOL
from tenure.node.run.runners import RunnerLine, Runners
from tenure.node.worktree.workspace import Workspace
from tenure.node.worktree.worktree import Worktree

RECONNECT_S = (0.02, 2.0)
"""A runner that is about to end has closed its socket and still holds its lock for a moment; one that is stopped may hold
it for hours."""
READ_BYTES = 1 << 20
"""Of the protocol, at one time: what a look may cost in memory."""
LOOK_COST = 20
"""Looking at the worktree takes at most one part in so many of the time."""
LOOK_BOUND_S = 30.0
STAMPS = 2_000
"""Files whose times are looked at in one look; who changes more of them changes git's list of them as well."""
HEAD = b"# branch.oid"
FIELDS = {b"1": 8, b"2": 9, b"u": 10, b"?": 1}
"""How many fields stand before the path in an entry of git's, by its first letter."""
MOVES_S = 1.0
"""The runner tells its state right after it has looked; what it saw move then is at most so long ago."""
NS = 1_000_000_000

T = TypeVar("T")

log = logging.getLogger(__name__)


class FollowerTools(Struct, frozen=True, kw_only=True):
    """`stop_grace_s`: the node's own grace for a cancel. `look_every_s`: how often the worktree is looked at."""

    runners: Runners
    holdings: Holdings
    workspace: Workspace
    clock: Clock
    ids: IdSource
    executor: Executor
    stop_grace_s: float
    look_every_s: float


@final
class Follower:
    def __init__(self, tools: FollowerTools) -> None:
        self._tools = tools

    async def follow(self, holding: Holding) -> RunnerState:
        """Stays with the run until its folder says that it is over.

        Raises:
            OSError: the folder cannot be looked at.
        """
        backoff = Backoff(self._tools.ids, *RECONNECT_S)
        while True:
            try:
                line = await self._tools.runners.connect(holding.run_dir)
            except UnavailableError:
                state = await self._tools.runners.probe(holding.run_dir)
                if state.found is not Found.RUNNING:
                    return state
                await backoff.pause()
                continue
            await self._talk(holding, line)
            state = await self._tools.runners.probe(holding.run_dir)
            if state.found is not Found.RUNNING:
                return state
            # It runs and does not talk to us (a version that is not understood, say): never in a hot loop.
            await backoff.pause()

    async def stop(self, holding: Holding) -> bool:
        """Tells the runner, once and without following it, that the fence is stale or that it is to cancel. False where
        nobody listens.

        Raises:
            OutcomeUnknownError: whether it heard that cannot be told.
        """
        try:
            line = await self._tools.runners.connect(holding.run_dir)
        except UnavailableError:
            return False
        try:
            if holding.is_lost:
                await line.stale(holding.grant.fence)
            else:
                await line.cancel(cancel_grace(holding, self._tools.stop_grace_s))
        finally:
            await line.close()
        return True

    async def _talk(self, holding: Holding, line: RunnerLine) -> None:
        """Until the connection ends or the runner says that it has recorded the outcome."""
        talk = Talk(holding, line, self._tools)
        try:
            async with asyncio.TaskGroup() as group:
                others = (group.create_task(talk.tell()), group.create_task(talk.look()))
                await talk.hear()
                for task in others:
                    task.cancel()
        finally:
            await line.close()


@final
class Talk:
    """One connection to one runner."""

    def __init__(self, holding: Holding, line: RunnerLine, tools: FollowerTools) -> None:
        self._holding = holding
        self._line = line
        self._tools = tools
        self._said = Said(holding.run_dir / PROTOCOL)
        self._changes = Changes()

    async def hear(self) -> None:
        """Notes what the runner tells, until it ends or the connection does."""
        try:
            await self._note((await self._line.status()).status)
        except OutcomeUnknownError:
            return
        async for push in self._line.pushes():
            await self._note(push.status)
            if is_over(push):
                return

    async def tell(self) -> None:
        """Tells the runner each new deadline, a cancel and a stale fence, until canceled."""
        told_counter, told_cancel = 0, False
        holding = self._holding
        while True:
            try:
                if holding.is_lost:
                    await self._line.stale(holding.grant.fence)
                    return
                if holding.cancel_grace_s is not None and not told_cancel:
                    told_cancel = True
                    await self._line.cancel(cancel_grace(holding, self._tools.stop_grace_s))
                    continue
                if holding.counter > told_counter:
                    told_counter = holding.counter
                    await self._line.renew(holding.grant.fence, told_counter, holding.deadline_ns)
                    continue
            except OutcomeUnknownError:
                # It is cut off, or stopped: with the next connection all of this is told again.
                await self._line.close()
                return
            await holding.changed.wait()

    async def look(self) -> None:
        """Looks for changes in the worktree, now and then, until canceled. A sign of progress, no more."""
        find = partial(self._tools.workspace.find, self._holding.mirrored.attempt_id)
        try:
            worktree = await self._in_executor(find)
        except (TenureError, OSError):
            return
        if worktree is None:
            return
        while True:
            began_ns = self._tools.clock.awake_ns()
            seen = await self._seen(worktree)
            if seen is not None:
                count = self._changes.count(seen, self._holding.progress.files_changed)
                self._holding.progress = replace(self._holding.progress, files_changed=count)
            took_s = (self._tools.clock.awake_ns() - began_ns) / NS
            await pause(max(self._tools.look_every_s, LOOK_COST * took_s))

    async def _seen(self, worktree: Worktree) -> dict[bytes, bytes] | None:
        """The state of each file that differs from the base of the moment, and of HEAD; None when it cannot be told: the
        agent may have turned the place upside down.

        Git is told which repository it is, and looks into no other: in that of an isolated agent, or in a submodule, a
        filter of the agent's would run as the node."""
        words = (
            "status",
            "--porcelain=v2",
            "--branch",
            "-z",
            "--no-renames",
            "--untracked-files=normal",
            "--ignore-submodules=all",
        )
        env = {"GIT_DIR": str(worktree.admin), "GIT_WORK_TREE": str(worktree.path)}
        try:
            said = await self._tools.workspace.git.ask(
                "count changed files", worktree.path, *words, timeout_s=LOOK_BOUND_S, env=env
            )
        except (TenureError, OSError):
            return None
        return await self._in_executor(partial(states, worktree.path, said.output)) if said.ok else None

    async def _note(self, status: Status) -> None:
        holding = self._holding
        if holding.started_at_ms is None and status.pid is not None:
            started = (await self._tools.runners.probe(holding.run_dir)).started
            holding.started_at_ms = started.started_at_ms if started else self._tools.clock.wall_ms()
            self._tools.holdings.want_renewal(holding)
        if status.protocol_lines > self._said.lines:
            await self._in_executor(partial(self._said.read_on, status.protocol_lines))
        progress = progress_of(status, self._said.summary, holding.progress)
        holding.progress = without(holding.grant.capability, progress)
        holding.usage = highest(holding.usage, turn_said(self._said.summary).usage)

    async def _in_executor(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._tools.executor, work)


@final
class Said:
    """What the harness has said so far, read on from where the last look ended."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0
        self._reader = ProtocolReader()
        self.summary = ProtocolSummary()
        self.lines = 0
        """Lines that the runner had counted at the last look."""

    def read_on(self, lines: int) -> None:
        """Reads what is new. A file that cannot be read says nothing new; the outcome is read anew at the end."""
        try:
            with self._path.open("rb") as file:
                file.seek(self._offset)
                while data := file.read(READ_BYTES):
                    self._offset += len(data)
                    for line in self._reader.feed(data):
                        self.summary = advance(self.summary, line)
        except OSError:
            return
        self.lines = lines


@final
class Changes:
    """How many changes of files were seen. The number grows also when one file is changed again and again, and when changes
    go into a commit: each of that is progress."""

    def __init__(self) -> None:
        self._before: dict[bytes, bytes] | None = None

    def count(self, seen: dict[bytes, bytes], before: int) -> int:
        """The number after one more look. At the first one nothing is known to have changed since the start but what differs
        from the base."""
        first, last = self._before is None, self._before or {HEAD: seen.get(HEAD, b"")}
        changed = sum(seen.get(name) != last.get(name) for name in seen.keys() | last.keys())
        self._before = seen
        return max(before, changed) if first else before + changed


def states(top: Path, output: bytes) -> dict[bytes, bytes]:
    """What `git status --porcelain=v2 --branch -z` says of each path, with its size and time of change, under its name; of
    HEAD under `HEAD`. Beyond a bound files are told by git's word alone."""
    found: dict[bytes, bytes] = {}
    for entry in output.split(b"\0"):
        kind = entry[:1]
        if entry.startswith(HEAD):
            found[HEAD] = entry
        elif kind in FIELDS:
            path = entry.split(b" ", FIELDS[kind])[-1]
            stamp = file_stamp(top / os.fsdecode(path)) if len(found) < STAMPS else b""
            found[path] = entry + stamp
    return found


def file_stamp(path: Path) -> bytes:
    try:
        status = path.lstat()
    except OSError:
        return b""
    return b" %d %d" % (status.st_mtime_ns, status.st_size)


def cancel_grace(holding: Holding, stop_grace_s: float) -> float:
    """How long the program has to end: our own grace, within half of what the hub gives, since it waits for the report."""
    return min(stop_grace_s, (holding.cancel_grace_s or 0.0) / 2)


def is_over(push: Push) -> bool:
    return push.push == "ended"


def progress_of(status: Status, summary: ProtocolSummary, before: Progress) -> Progress:
    """What a renewal says of progress. Numbers only grow, also over a restart of the daemon.

    CPU time counts when the runner has just seen something move: an idle event loop, too, spends a little of it for ever,
    and is no progress."""
    said = summary.progress
    cpu_s = status.cpu_ms / 1000 if status.quiet_s <= MOVES_S else 0.0
    return Progress(
        output_bytes=max(status.output_bytes, before.output_bytes),
        events=max(status.protocol_lines, before.events),
        cpu_s=max(cpu_s, before.cpu_s),
        processes=status.processes,
        files_changed=before.files_changed,
        fraction=said.fraction if said else None,
        message=said.message if said else "",
    )
