"""Processes that belong to a run, found by the mark in their environment and touched by pid only.

Every process of a run inherits `CHAOS_RUN`, the run's folder, and those of a node's machine `CHAOS_MACHINE`; a runner, which is
started without an environment, works in a folder below the run's. So a runner, a harness or a stray grandchild is found
whoever started it, and nothing of anybody else's is."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path

from msgspec import Struct

RUNNER = "/node/runner/"
RUN, MACHINE, ATTEMPT = "CHAOS_RUN", "CHAOS_MACHINE", "TENURE_ATTEMPT_MARKER"
DEAD = ("Z", "X")
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
        return any(RUNNER in one for one in self.words[:6])

    @property
    def is_harness(self) -> bool:
        return any(one.endswith("chaos/agent.py") for one in self.words[:6])


def seen(run: str) -> list[Seen]:
    """Every live process of this run, zombies left out."""
    pids = [int(one.name) for one in Path("/proc").iterdir() if one.name.isdecimal()]
    return [one for one in (look(pid, run) for pid in pids) if one is not None]


def look(pid: int, run: str) -> Seen | None:
    """The process, if it is this run's and alive."""
    folder = Path("/proc") / str(pid)
    try:
        told = (folder / "environ").read_bytes().decode("utf-8", "replace")
        words = tuple((folder / "cmdline").read_bytes().decode("utf-8", "replace").split("\0"))
        pairs = (one.partition("=") for one in told.split("\0"))
        variables = {name: value for name, _, value in pairs}
        machine = variables.get(MACHINE, "") if variables.get(RUN) == run else machine_of(folder, words, run)
    except OSError:
        return None
    began = birth(pid)
    if machine is None or began is None:
        return None
    return Seen(pid, began, words, machine, variables.get(ATTEMPT, ""))


def machine_of(folder: Path, words: tuple[str, ...], run: str) -> str | None:
    """A runner has no environment; it is known by its run folder, as an argument, as its working folder, or open."""
    if not any(RUNNER in one for one in words[:6]):
        return None
    paths = [*words, str((folder / "cwd").readlink())]
    for one in (folder / "fd").iterdir():
        with contextlib.suppress(OSError):
            paths.append(str(one.readlink()))
    below = f"{run}/machines/"
    return next((one.removeprefix(below).split("/")[0] for one in paths if one.startswith(below)), None)


def birth(pid: int) -> int | None:
    """When a process that is alive began, in ticks since the boot."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if stat[0] in DEAD else int(stat[19])


def send(one: Seen, number: signal.Signals) -> bool:
    """Whether it was still that process."""
    if birth(one.pid) != one.began:
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
        self.deaths: list[str] = []

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
                self.deaths.append(f"exit {code}: {last_line(self.log)[:400]}")
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


def last_line(log: Path) -> str:
    lines = log.read_text("utf-8", "replace").splitlines()
    return lines[-1] if lines else ""
