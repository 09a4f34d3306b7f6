"""A harness that hides its grandchildren as well as it can, and a look at every process of the machine for a mark."""

from pathlib import Path

from tests.process.runner_lab import is_alive

GRANDCHILDREN = 10
# Each grandchild is forked twice, in a session of its own, so that nobody is left between it and the harness. Two of them
# ignore whatever can be ignored, and one of these has children of its own.
HARNESS = f"""
import os, signal, time
folder = os.environ["DIR"]
for number in range({GRANDCHILDREN}):
    if os.fork() == 0:
        os.setsid()
        if os.fork():
            os._exit(0)
        if number % 2:
            os.setsid()
        if number < 2:
            for ignored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
                signal.signal(ignored, signal.SIG_IGN)
        if number == 0:
            os.fork()
        with open(folder + f"/grandchild.{{os.getpid()}}", "w") as note:
            note.write("born")
        while True:
            time.sleep(0.05)
    os.wait()
open(folder + "/ready", "w").write("ready")
while True:
    time.sleep(0.05)
"""


def carriers(marker: str) -> list[int]:
    """Every living process of this machine that has the marker in its environment."""
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            environment = (entry / "environ").read_bytes()
        except OSError:
            continue
        if marker.encode() in environment and is_alive(int(entry.name)):
            found.append(int(entry.name))
    return found


def all_are_born(folder: Path) -> bool:
    """`folder`: `$DIR` of the harness."""
    return len(list(folder.glob("grandchild.*"))) == GRANDCHILDREN + 1
