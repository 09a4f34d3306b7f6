"""Processes that belong to a run, found by the mark in their environment and touched by pid only.

Every process of a run inherits `CHAOS_RUN`, and those of a node's machine `CHAOS_MACHINE`. So a runner, a harness or a
stray grandchild is found whoever started it, and nothing of anybody else's is."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

RUN, MACHINE, ATTEMPT = "CHAOS_RUN", "CHAOS_MACHINE", "TENURE_ATTEMPT_MARKER"
END_S = 10.0


class Seen(Struct, frozen=True):
    """A live process. `began`: when, in ticks since the boot, so that a pid that was given away again is not it."""

    pid: int
    began: int
    words: tuple[str, ...]
    machine: str
    attempt: str

    @property
    def is_runner(self) -> bool:
        return any("node/runner" in one for one in self.words[:6])

    @property
    def is_harness(self) -> bool:
        return any(one.endswith("chaos/agent.py") for one in self.words[:6])


def seen(run: str) -> list[Seen]:
    """Every live process that carries this run's mark, zombies left out."""
    pids = [int(one.name) for one in Path("/proc").iterdir() if one.name.isdecimal()]
    return [found[0] for found in map(look, pids) if found is not None and found[1] == run]


def look(pid: int) -> tuple[Seen, str] | None:
    folder = Path("/proc") / str(pid)
    try:
        told = (folder / "environ").read_bytes()
        if RUN.encode() not in told:
            return None
        variables = dict(one.partition("=")[::2] for one in told.decode("utf-8", "replace").split("\0"))
        stat = (folder / "stat").read_text().rpartition(")")[2].split()
        words = tuple((folder / "cmdline").read_bytes().decode("utf-8", "replace").split("\0"))
    except OSError:
        return None
    if stat[0] in ("Z", "X") or RUN not in variables:
        return None
    one = Seen(pid, int(stat[19]), words, variables.get(MACHINE, ""), variables.get(ATTEMPT, ""))
    return one, variables[RUN]


def send(one: Seen, number: signal.Signals) -> bool:
    """Whether it was still that process."""
    found = look(one.pid)
    if found is None or found[0].began != one.began:
        return False
    with contextlib.suppress(ProcessLookupError):
        os.kill(one.pid, number)
        return True
    return False


def kill_all(run: str, machine: str | None = None) -> int:
    """Kill all of a run, or of one of its machines, until nothing new turns up; how many there were."""
    killed: set[tuple[int, int]] = set()
    until = time.monotonic() + END_S
    while time.monotonic() < until:
        found = [one for one in seen(run) if machine is None or one.machine == machine]
        if not found:
            break
        for one in found:
            if send(one, signal.SIGKILL):
                killed.add((one.pid, one.began))
    return len(killed)


class Program:
    """A process of the run that is started again whenever it dies, unless it is to stay down."""

    def __init__(self, name: str, words: list[str], env: dict[str, str], log: Path) -> None:
        self.name, self.words, self.env, self.log = name, words, env, log
        self.process: subprocess.Popen[bytes] | None = None
        self.starts = 0
        self.down_until = 0.0
        self.killed_by_us = False
        self.deaths: list[int] = []

    def start(self) -> None:
        self.killed_by_us = False
        self.starts += 1
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.words,
                env=self.env,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def kill(self, down_s: float) -> None:
        self.down_until = time.monotonic() + down_s
        self.killed_by_us = True
        if self.process is not None and self.process.poll() is None:
            self.process.kill()

    def signal(self, number: signal.Signals) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(number)

    def tend(self) -> None:
        """Start it if it is down and may be up. A death that no fault caused is noted."""
        if self.process is not None:
            code = self.process.poll()
            if code is None:
                return
            if not self.killed_by_us:
                self.deaths.append(code)
                self.down_until = time.monotonic() + 1.0
            self.process = None
        if time.monotonic() >= self.down_until:
            self.start()

    def end(self) -> int | None:
        """A polite end; killed if it does not come in time."""
        if self.process is None:
            return None
        self.process.terminate()
        try:
            return self.process.wait(END_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(END_S)
            return None


def cgroups(markers: Iterator[str]) -> list[Path]:
    """cgroup folders of these attempts that are still there."""
    wanted = {f"tenure-{one}" for one in markers if one}
    roots = (Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup/unified"))
    return [path for root in roots if root.is_dir() for path in root.glob("tenure-*") if path.name in wanted]
