"""From a submit to the start of the program, on an idle machine of one hub and one node; and the runner by itself.

`submit_to_start`: from the instant at which the submit has returned to the instant at which the program's own first act was to read the
clock (command harness, no worktree). The start of processes alone is measured in the same run: a bare runner on a folder made
beforehand, until its program has read the clock.

`runner`: resident memory of a runner that waits for its program, and its start, beside `python3 -S -c pass`.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from tenure.cli.process.data_files import local_hub_url, local_token
from tenure.client.hub import HubClient
from tenure.node.run.folder import read_outcome, write_launch
from tenure.node.run.link import runner_command
from tenure.node.run.messages import Launch, LaunchStep, Outcome
from tenure.runtime.clock import RealClock
from tenure.runtime.platform import read_boot_id, usable_cgroup
from tenure.wire import api

TASKS, RUNS = 200, 50
CLOCK = ("/bin/date", "+%s%N")
ENV = {"PATH": "/usr/bin:/bin"}
BOUND_S = 60.0


def lines() -> Iterator[dict[str, Any]]:
    with tempfile.TemporaryDirectory(prefix="tenure-bench-") as folder:
        bare = bare_starts(Path(folder))
        python = python_starts()
        yield from submit_to_start(Path(folder), statistics.median(bare))
        yield {
            "name": "runner_start",
            "unit": "ms",
            "runner_to_program_median": round(statistics.median(bare) * 1e3, 2),
            "bare_python_median": round(statistics.median(python) * 1e3, 2),
            "ratio": round(statistics.median(bare) / statistics.median(python), 2),
        }
        yield runner_memory(Path(folder))


def launch(name: str, argv: tuple[str, ...]) -> Launch:
    return Launch(
        delivery_id=name,
        fence=1,
        marker=f"bench-{os.getpid()}-{name}",
        boot_id=read_boot_id(),
        deadline_boottime_ns=RealClock().boot_ns() + int(BOUND_S * 1e9),
        cgroup_parent=usable_cgroup(),
        steps=(LaunchStep(name="harness", kind="harness", argv=argv, env=ENV, cwd="/"),),
    )


def eventually(condition: Any) -> Any:
    """What `condition` gives once it is true; bounded."""
    until = time.monotonic() + BOUND_S
    while not (value := condition()):
        if time.monotonic() > until:
            raise TimeoutError("the bench waited too long")
        time.sleep(0.001)
    return value


def printed_ns(run_dir: Path) -> int:
    return int(next(run_dir.glob("stdout.0.*")).read_bytes())


def bare_starts(folder: Path) -> list[float]:
    """Seconds from starting a runner to its program's first act."""
    found: list[float] = []
    for number in range(RUNS):
        run_dir = folder / f"bare-{number}"
        write_launch(run_dir, launch(f"d_{number}", CLOCK))
        began = time.time_ns()
        subprocess.run(runner_command(str(run_dir)), check=True, env={}, timeout=BOUND_S)
        eventually(lambda run_dir=run_dir: isinstance(read_outcome(run_dir), Outcome))
        found.append((printed_ns(run_dir) - began) / 1e9)
    return found


def python_starts() -> list[float]:
    found: list[float] = []
    for _ in range(RUNS):
        began = time.perf_counter()
        subprocess.run((sys.executable, "-S", "-c", "pass"), check=True, timeout=BOUND_S)
        found.append(time.perf_counter() - began)
    return found


def runner_memory(folder: Path) -> dict[str, Any]:
    """Resident kilobytes of a runner at rest, beside a Python that does nothing."""
    run_dir = folder / "waiting"
    write_launch(run_dir, launch("d_waiting", ("/bin/sleep", str(BOUND_S))))
    subprocess.run(runner_command(str(run_dir)), check=True, env={}, timeout=BOUND_S)
    marker = f"bench-{os.getpid()}-d_waiting".encode()
    child = eventually(lambda: next(iter(processes_with(marker)), None))
    runner = int(status_of(child, "PPid"))
    bare = subprocess.Popen(
        (sys.executable, "-S", "-c", "input()"), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
    )
    try:
        eventually(lambda: int(status_of(bare.pid, "VmRSS")) > 4_000)
        ours, theirs = int(status_of(runner, "VmRSS")), int(status_of(bare.pid, "VmRSS"))
    finally:
        bare.communicate(b"\n", timeout=BOUND_S)
        os.kill(child, 9)
        eventually(lambda: isinstance(read_outcome(run_dir), Outcome))
    return {
        "name": "runner_memory",
        "unit": "KiB",
        "runner": ours,
        "bare_python": theirs,
        "ratio": round(ours / theirs, 2),
    }


def processes_with(marker: bytes) -> Iterator[int]:
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if marker in path.read_bytes():
                yield int(path.parent.name)
        except OSError:
            continue


def status_of(pid: int, field: str) -> str:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return line.split()[1]
    return "0"


def submit_to_start(folder: Path, process_s: float) -> Iterator[dict[str, Any]]:
    home = folder / "home"
    tenure = (sys.executable, "-m", "tenure.cli.main", "--home", str(home))
    config = folder / "tenure.toml"
    config.write_text(
        '[hub]\nport = 0\n[node]\nname = "bench"\n[[recipients]]\nname = "local"\nallow_command = true\ncapacity = 4\n'
    )
    subprocess.run(
        (*tenure, "--config", str(config), "up", "--detach"),
        check=True,
        timeout=BOUND_S,
        stdout=subprocess.DEVNULL,
    )
    try:
        waits = sorted(asyncio.run(measured(home)))
    finally:
        subprocess.run(
            (*tenure, "--config", str(config), "down"),
            check=False,
            timeout=BOUND_S,
            stdout=subprocess.DEVNULL,
        )
    median = statistics.median(waits)
    yield {
        "name": "submit_to_start",
        "unit": "ms",
        "tasks": len(waits),
        "median": round(median * 1e3, 2),
        "p99": round(waits[int(len(waits) * 0.99)] * 1e3, 2),
        "process_start": round(process_s * 1e3, 2),
        "process_share": round(process_s / median, 2),
    }


async def measured(home: Path) -> list[float]:
    waits: list[float] = []
    async with HubClient(local_hub_url(home) or "", local_token(home)) as hub:
        for number in range(TASKS):
            task = await hub.submit(
                api.TaskRequest(objective="read the clock", to="local", command=CLOCK), f"bench-{number}"
            )
            returned = time.time_ns()
            async for event in hub.follow(task.task_id):
                if event.kind == "task_ended":
                    break
            (attempt,) = await hub.attempts(task.task_id)
            run_dir = home / "node" / "bench" / "runs" / attempt.deliveries[-1].delivery_id
            waits.append((printed_ns(run_dir) - returned) / 1e9)
    return waits


if __name__ == "__main__":
    for line in lines():
        print(msgspec.json.encode(line).decode(), flush=True)
