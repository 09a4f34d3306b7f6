"""Cleans up after a run whose driver was killed: `python -m tests.chaos.reaper FOLDER`.

It waits for the end of its standard input, which the driver holds open for as long as it lives, however it ends."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

from tests.chaos.leftovers import clean_up

if __name__ == "__main__":
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    sys.stdin.buffer.read()
    clean_up(Path(sys.argv[1]))
