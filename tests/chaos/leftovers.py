"""What a run has left on the machine: processes, mounts, networks, control groups, shared memory; and how it is removed.

A run cleans up after itself; its reaper does if it is killed; and if both are, the next run does before it begins."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from tests.chaos.fleet import Fleet
from tests.chaos.network import networks_of, remove_networks
from tests.chaos.processes import birth, kill_all, seen

PREFIX = "tenure-chaos-"
DRIVER = "driver"
BOUND_S = 60
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
    # Groups come and go while one looks; `os.walk` passes over those that are gone.
    return [
        Path(above) / name
        for root in CGROUPS
        for above, below, _ in os.walk(root)
        for name in below
        if name in names
    ]


def claim(folder: Path) -> None:
    """Say in the run's folder who drives it, so that a later start can tell whether it still goes on."""
    (folder / DRIVER).write_text(f"{os.getpid()} {birth(os.getpid())}\n")


def release(folder: Path) -> None:
    """The folder is no run's any more: it is kept for somebody to look at, and no later start touches it."""
    (folder / DRIVER).unlink(missing_ok=True)


def clean_up(folder: Path) -> None:
    """Nothing of the run stays on the machine but its folder. May be done again."""
    # Known by folders of which some are on disks that are about to go.
    groups = groups_of(folder)
    kill_all(str(folder))
    for mounted in mounts_below(folder):
        subprocess.run(["umount", "-l", str(mounted)], check=False, timeout=BOUND_S, capture_output=True)
    remove_networks(folder)
    for group in groups:
        with contextlib.suppress(OSError):
            group.rmdir()
    for file in SHARED.glob("*faketime_s*_*"):
        # Their names end with the pid of who made them; those of a live process are somebody's.
        pid = file.name.rpartition("_")[2]
        if pid.isdecimal() and birth(int(pid)) is None:
            file.unlink(missing_ok=True)


def clear_killed_runs(runs: Path) -> Iterator[str]:
    """Clean up after each run below a folder that was killed together with its reaper, and say what was there.

    Raises:
        RuntimeError: something of one of them cannot be removed.
    """
    for mark in sorted(runs.glob(f"{PREFIX}*/{DRIVER}")):
        folder = mark.parent
        pid, _, began = mark.read_text().strip().partition(" ")
        if pid.isdecimal() and str(birth(int(pid))) == began:
            yield f"another run goes on in {folder} (process {pid}); it is left alone"
            continue
        there = what_is_left(folder)
        clean_up(folder)
        if rest := what_is_left(folder):
            raise RuntimeError(f"of a killed run in {folder} this cannot be removed: {', '.join(rest)}")
        shutil.rmtree(folder, ignore_errors=True)
        yield f"cleared a run that was killed, {folder}: its folder, {', '.join(there) or 'nothing else'}"


def what_is_left(folder: Path) -> list[str]:
    """What of a run is on the machine beside its folder, counted."""
    counts = {
        "processes": len(seen(str(folder))),
        "mounts": len(mounts_below(folder)),
        "networks": len(networks_of(folder)),
        "control groups": len(groups_of(folder)),
    }
    return [f"{count} {what}" for what, count in counts.items() if count]


def keep_disks(folder: Path) -> None:
    """Copy what is on the run's own disks to beside where they are mounted, so that it can be looked at later."""
    for mounted in mounts_below(folder):
        copy = mounted.with_name(f"{mounted.name}-kept")
        subprocess.run(["cp", "-a", str(mounted), str(copy)], check=False, timeout=BOUND_S)


def mounts_below(folder: Path) -> list[Path]:
    table = Path("/proc/self/mountinfo").read_text().splitlines()
    places = (Path(line.split()[4]) for line in table)
    return [one for one in places if one.is_relative_to(folder)]
