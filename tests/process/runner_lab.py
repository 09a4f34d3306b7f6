"""Real runners with real process trees, in a folder of their own, of which nothing is left afterwards."""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, final

from tenure.node.run.folder import Found, RunnerState, probe, write_launch
from tenure.node.run.link import RunnerControl, connect, runner_command
from tenure.node.run.messages import Launch, LaunchStep, Outcome, Status
from tenure.node.run.sweep import sweep_now
from tenure.node.runner.process_tree import Process, read_file, read_processes
from tenure.runtime.clock import RealClock
from tenure.runtime.platform import inspect_platform
from tests.eventually import eventually, eventually_async

NS = 1_000_000_000
BOUND_S = 60.0
PLATFORM = inspect_platform()
HOLDS = ("cgroup", "subreaper")
CLOCK = RealClock()
ENV = {"PATH": os.environ["PATH"]}


@final
class Run:
    """One run folder and what happens in it."""

    def __init__(self, folder: Path, held_by: str) -> None:
        self.folder = folder
        self.held_by = held_by
        self.files = folder.parent / f"{folder.name}.files"
        self.files.mkdir()

    # -- before

    def shell(self, script: str, **options: Any) -> LaunchStep:
        """A step of shell. `$DIR` is a folder for the test's own files."""
        return self.step(("/bin/sh", "-c", textwrap.dedent(script)), **options)

    def python(self, code: str, **options: Any) -> LaunchStep:
        return self.step((sys.executable, "-S", "-E", "-c", textwrap.dedent(code)), **options)

    def step(self, argv: tuple[str, ...], **options: Any) -> LaunchStep:
        fields: dict[str, Any] = {"name": "turn", "kind": "harness", "cwd": str(self.files)} | options
        fields["env"] = {**ENV, "DIR": str(self.files), **options.get("env", {})}
        return LaunchStep(argv=argv, **fields)

    def prepare(self, *steps: LaunchStep, lease_s: float = 60.0, **options: Any) -> Launch:
        launch = Launch(
            **{
                "delivery_id": f"d_{self.folder.name}",
                "fence": 7,
                "marker": f"{self.folder.name}.{os.urandom(6).hex()}",
                "boot_id": PLATFORM.boot_id,
                "deadline_boottime_ns": CLOCK.boot_ns() + int(lease_s * NS),
                "cancel_grace_s": 10.0,
                "sample_s": 0.2,
                "cgroup_parent": PLATFORM.cgroup_parent if self.held_by == "cgroup" else None,
                "steps": steps,
                **options,
            }
        )
        write_launch(self.folder, launch)
        return launch

    def start(self, *steps: LaunchStep, **options: Any) -> Launch:
        """Prepares and starts; the runner holds the folder when this returns."""
        launch = self.prepare(*steps, **options)
        assert self.start_runner() == 0
        return launch

    def start_runner(self) -> int:
        return subprocess.run(
            runner_command(str(self.folder)), timeout=BOUND_S, stdin=subprocess.DEVNULL, env={}
        ).returncode

    # -- meanwhile

    @asynccontextmanager
    async def control(self) -> AsyncIterator[RunnerControl]:
        async with await connect(self.folder) as control:
            yield control

    def note(self, name: str) -> str:
        """What a program of the test wrote into `$DIR`; empty while it has not."""
        with contextlib.suppress(FileNotFoundError):
            return (self.files / name).read_text().strip()
        return ""

    def wait_note(self, name: str) -> str:
        return eventually(lambda: self.note(name), BOUND_S, f"a note named {name}")

    async def wait_note_async(self, name: str) -> str:
        return await eventually_async(lambda: self.note(name), BOUND_S, f"a note named {name}")

    def runner_pid(self) -> int | None:
        """The runner itself, by its command line."""
        wanted = b"\0" + os.fsencode(self.folder) + b"\0"
        for pid in read_processes():
            words = read_file(f"/proc/{pid}/cmdline")
            if wanted in words and b"runner/main.py\0" in words and is_alive(pid):
                return pid
        return None

    def kill_runner(self) -> None:
        """As the OOM killer would."""
        pid = self.runner_pid()
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        eventually(lambda: self.state().found is not Found.RUNNING, BOUND_S, "the lock is free")

    # -- afterwards

    def state(self) -> RunnerState:
        return probe(self.folder, PLATFORM.boot_id)

    def outcome(self, within_s: float = BOUND_S) -> Outcome:
        outcome = eventually(lambda: self.state().outcome, within_s, "an outcome")
        assert outcome is not None
        return outcome

    async def outcome_async(self, within_s: float = BOUND_S) -> Outcome:
        outcome = await eventually_async(lambda: self.state().outcome, within_s, "an outcome")
        assert outcome is not None
        return outcome

    def output(self, step: int = 0, stream: str = "stdout") -> bytes:
        paths = sorted(self.folder.glob(f"{stream}.{step}.*"))
        return b"".join(path.read_bytes() for path in paths)

    def clean_up(self) -> None:
        if not self.folder.exists():
            return
        if (pid := self.runner_pid()) is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            eventually(lambda: self.state().found is not Found.RUNNING, BOUND_S, "the lock is free")
        sweep_now(self.folder, PLATFORM.boot_id, CLOCK)


@contextmanager
def runs_in(folder: Path) -> Iterator["Runs"]:
    runs = Runs(folder)
    try:
        yield runs
    finally:
        for run in runs.made:
            run.clean_up()


@final
class Runs:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.made: list[Run] = []

    def new(self, held_by: str = "subreaper") -> Run:
        run = Run(self.folder / f"run{len(self.made)}", held_by)
        self.made.append(run)
        return run


def process_of(pid: int) -> Process | None:
    stat = read_file(f"/proc/{pid}/stat")
    return Process(pid, stat) if stat else None


def is_alive(pid: int) -> bool:
    process = process_of(pid)
    return process is not None and process.state not in "ZX"


def is_stopped(pid: int) -> bool:
    """Stopped by a signal, or frozen with its cgroup: in either case its clock of CPU time stands still.

    A shell that was stopped while its child (vfork) had not executed its program yet waits for it in the kernel."""
    process = process_of(pid)
    if process is None:
        return False
    line = next(
        line for line in read_file(f"/proc/{pid}/cgroup").decode().splitlines() if line.startswith("0::")
    )
    events = read_file(f"{PLATFORM.cgroup_parent}{line[3:]}/cgroup.events") if PLATFORM.cgroup_parent else b""
    children = [one for one in read_processes().values() if one.parent == pid]
    waits = process.state == "D" and any(one.state == "T" for one in children)
    return process.state == "T" or waits or b"frozen 1" in events


def gone(*pids: int) -> bool:
    return not any(is_alive(pid) for pid in pids)


async def status_where(control: RunnerControl, condition: Callable[[Status], bool]) -> Status:
    """The first state that the runner tells unasked for which the condition holds."""
    async with asyncio.timeout(BOUND_S):
        async for push in control.pushes():
            if condition(push.status):
                return push.status
    raise AssertionError("the connection ended before")


async def next_push(control: RunnerControl, what: str) -> None:
    """Waits until the runner tells `what`."""
    async with asyncio.timeout(BOUND_S):
        async for push in control.pushes():
            if push.push == what:
                return
    raise AssertionError(f"the connection ended before {what!r}")
