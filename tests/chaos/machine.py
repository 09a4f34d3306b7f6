"""What this machine lets a run do beyond signals and proxies: own disks, own boot ids, own clocks, own networks. What it does
not let is said in the summary, and the faults that need it are left out."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.chaos.network import can_lose

LIBRARY = "*/faketime/libfaketime.so.1"
BOOT_ID = "/proc/sys/kernel/random/boot_id"
BOUND_S = 120
CLOCK = Path(__file__).with_name("clock")


class Abilities:
    """What can be done here, found by trying."""

    def __init__(self, folder: Path, without: Sequence[str] = ()) -> None:
        self._without = without
        self.faketime = None if "clock" in without else found_faketime()
        root = sys.platform == "linux" and os.geteuid() == 0
        trial = folder / "trial"
        trial.mkdir()
        (trial / "boot_id").write_text("trial\n")
        self.can_mount = root and tried(["unshare", "-m", "mount", "-t", "tmpfs", "none", str(trial)])
        self.can_reboot = root and tried(
            ["unshare", "-m", "mount", "--bind", str(trial / "boot_id"), BOOT_ID]
        )
        self.can_lose = root and "lost" not in without and can_lose(folder)

    @property
    def missing(self) -> list[str]:
        """What is left out, in words."""
        told = {
            "disk (full disks): no right to mount a tmpfs here": self.can_mount,
            "new boot ids (a machine's restart keeps the old one): no right to bind over /proc here": self.can_reboot,
            "lost (lost packets; links are cut by proxies all the same): no right to make network namespaces here": (
                self.can_lose or "lost" in self._without
            ),
            "clock (clock steps): libfaketime is not installed (Debian's package `faketime`)": (
                self.faketime is not None or "clock" in self._without
            ),
        }
        asked = [f"{kind}: as was asked for (--without {kind})" for kind in self._without]
        return [*asked, *(what for what, there in told.items() if not there)]

    def can(self, kind: str) -> bool:
        return {
            "disk": self.can_mount,
            "clock": self.faketime is not None,
            "lost": self.can_lose,
        }.get(kind, True)

    def clock_env(self, file: Path) -> dict[str, str]:
        """The variables that give a process a wall clock whose distance from the real one stands in a file."""
        if self.faketime is None:
            return {}
        return {
            "LD_PRELOAD": self.faketime,
            "PYTHONPATH": os.pathsep.join((str(CLOCK), *filter(None, [os.environ.get("PYTHONPATH")]))),
            "FAKETIME_TIMESTAMP_FILE": str(file),
            # The file is looked at once a second. Looking each time costs more than all else that the hub does.
            "FAKETIME_CACHE_DURATION": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            # Else a timed wait on a condition, by which Python threads take turns, takes hundreds of times as long.
            "FAKETIME_FORCE_MONOTONIC_FIX": "0",
            "FAKETIME_DONT_RESET": "1",
            "NO_FAKE_STAT": "1",
        }

    def on_machine(self, boot_id: Path, words: list[str]) -> list[str]:
        """The command, run where the system's boot id is what the file says."""
        if not self.can_reboot:
            return words
        script = f'mount --bind "$0" {BOOT_ID} && exec "$@"'
        return ["unshare", "-m", "sh", "-c", script, str(boot_id), *words]

    def mount(self, folder: Path, size: str) -> None:
        if self.can_mount:
            ran(["mount", "-t", "tmpfs", "-o", f"size={size},mode=700", "tenure-chaos", str(folder)])

    def fill(self, folder: Path) -> None:
        """No byte more fits: the file system is made as small as what is on it."""
        there = os.statvfs(folder)
        used = (there.f_blocks - there.f_bfree) * there.f_frsize
        ran(["mount", "-o", f"remount,size={max(used, there.f_frsize)}", str(folder)])

    def free(self, folder: Path, size: str) -> None:
        ran(["mount", "-o", f"remount,size={size}", str(folder)])


def found_faketime() -> str | None:
    """The library's path."""
    return next((str(one) for one in sorted(Path("/usr/lib").glob(LIBRARY))), None)


def ran(words: list[str]) -> None:
    subprocess.run(words, check=True, timeout=BOUND_S, capture_output=True)


def tried(words: list[str]) -> bool:
    try:
        return subprocess.run(words, check=False, timeout=BOUND_S, capture_output=True).returncode == 0
    except OSError:
        return False


def install_faketime() -> str:
    """Debian's package, where that can be done; what became of it, in a sentence."""
    if found_faketime():
        return "libfaketime is here"
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        return "libfaketime is not here and cannot be installed (it needs root and apt-get): no clock steps"
    done = tried(["apt-get", "install", "--yes", "--no-install-recommends", "faketime"])
    return "libfaketime was installed" if done else "libfaketime could not be installed: no clock steps"
