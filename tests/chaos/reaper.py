"""Cleans up after a run whose driver was killed: `python -m tests.chaos.reaper FOLDER`.

It waits for the end of its standard input, which the driver holds open for as long as it lives, however it ends."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

from tests.chaos.leftovers import clean_up


def main() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    sys.stdin.buffer.read()
    folder = Path(sys.argv[1])
    clean_up(str(folder), folder, lambda: unmount_below(folder))


def unmount_below(folder: Path) -> None:
    """Every mount below the run's folder."""
    mounts = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    for one in mounts:
        if Path(one).is_relative_to(folder):
            subprocess.run(["umount", "-l", one], check=False, capture_output=True, timeout=60)


if __name__ == "__main__":
    main()
