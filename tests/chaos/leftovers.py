"""What a run has left on the machine: processes, control groups, shared memory, mounts."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

from msgspec import Struct

from tests.chaos.fleet import Fleet
from tests.chaos.processes import kill_all, seen

SHARED = Path("/dev/shm")
CGROUPS = (Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup/unified"))


class Leftovers(Struct, frozen=True):
    """`attempts`: processes that carry an Attempt's marker while the fleet is at rest. `processes`: any of ours once all was
    stopped. `groups`: control groups of ours."""

    attempts: list[str]
    processes: list[str]
    groups: list[str]

    @property
    def problems(self) -> list[str]:
        return [
            *(f"alive at rest with an attempt's marker: {one}" for one in self.attempts),
            *(f"alive after the end: {one}" for one in self.processes),
            *(f"a control group is left: {one}" for one in self.groups),
        ]

    def and_after(self, after: Leftovers) -> Leftovers:
        return Leftovers(self.attempts + after.attempts, after.processes, after.groups)


def left_over(fleet: Fleet, *, running: bool) -> Leftovers:
    """`running`: the fleet is at rest and still up, so only what belongs to Attempts is too much."""
    found = seen(fleet.run)
    told = [
        f"{one.pid} on {one.machine}: {' '.join(one.words)[:120]}"
        for one in found
        if one.attempt or one.is_runner
    ]
    if running:
        return Leftovers(told, [], [])
    rest = [f"{one.pid} on {one.machine}: {' '.join(one.words)[:120]}" for one in found]
    return Leftovers([], rest, [str(one) for one in groups_of(fleet.folder)])


def groups_of(folder: Path) -> list[Path]:
    """Control groups that are named for runs whose folders are this run's."""
    names = {f"tenure-{one.name}" for one in folder.glob("machines/*/home/**/runs/*")}
    return [one for root in CGROUPS if root.is_dir() for one in root.glob("**/tenure-*") if one.name in names]


def clean_up(run: str, folder: Path, unmount: Any) -> None:
    """Nothing of the run stays on the machine but its folder. May be done again."""
    kill_all(run)
    unmount()
    for group in groups_of(folder):
        with contextlib.suppress(OSError):
            group.rmdir()
    for file in SHARED.glob("*faketime_s*_*"):
        # Their names end with the pid of who made them; those of a live process are somebody's.
        pid = file.name.rpartition("_")[2]
        if pid.isdecimal() and look_gone(int(pid)):
            file.unlink(missing_ok=True)


def look_gone(pid: int) -> bool:
    return not Path(f"/proc/{pid}").exists()
