"""Loaded by every Python of a machine whose wall clock is faked (it stands on their `PYTHONPATH`).

libfaketime (0.9.10) refuses a `clock_nanosleep` up to an instant, by which CPython sleeps, with EINVAL, whatever it is told to
fake. No real clock step does that, so sleeping is done by other means here. What this process starts has the real clock: git,
and Pythons that load nothing (`-I -S`) and so would not get this."""

import os
import select
import time


def pause(seconds: float) -> None:
    if seconds < 0:
        raise ValueError("sleep length must be non-negative")
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        select.select([], [], [], left)


time.sleep = pause
# The library is loaded, and reads its other variables again and again: they have to stay.
os.environ.pop("LD_PRELOAD", None)
