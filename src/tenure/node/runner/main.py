"""The runner: one small process for one execution, which outlives the daemon that started it.

It owns the process tree of an Attempt's steps (harness, then acceptance checks), enforces the lease deadline, keeps
the output within bounds and writes down how it ended. docs/internals/runner.md is its contract with the daemon.

- The lock is held for the whole life and never inherited, so "is it alive" never rests on a pid.
- `started_by` is linked into place once; who finds it there exits and touches nothing. Before it nothing has run;
  from then on an end without `outcome.json` is `unknown`.
- The deadline is armed before the harness is executed; at the deadline the whole tree is paused, with or without a
  daemon; only a renewal (same fence, greater counter) resumes it; a stale fence kills it.

The hard case is a death between two lines. Killed before `started_by`: nothing has run. Killed later: the kernel
kills the harness with its runner (PDEATHSIG), the daemon finds the lock free without an outcome, sweeps up the rest
by cgroup and marker, and says `unknown`.

It is started by path, as `python -S -E -s main.py RUN_DIR`, so that neither site-packages nor the environment can
slow or change it; it finds its neighbours (the modules of this package)
by its own place. All of them need the standard library only, and little of that: no json, socket, signal, ctypes,
subprocess, selectors or typing, whose import would double the start time.
"""

import os
import sys

if __name__ == "__main__":
    # Behind the standard library and without this folder, so that none of our names can stand for one of its.
    sys.path[:1] = []
    sys.path.append(os.path.abspath(__file__ + "/../../../.."))

from tenure.node.runner.loop import Runner
from tenure.node.runner.process_tree import read_file
from tenure.node.runner.record import VERSION, decode, encode, lock_folder, publish, reserve_outcome, stamp

TYPE_CHECKING = False  # what `typing` would say, without the time to import it
if TYPE_CHECKING:
    from typing import Any

EXIT_LOST = 3
"""Another runner has, or had, this folder. Nothing was touched."""
EXIT_BAD_LAUNCH = 4
"""`launch.json` is missing or not understood. Nothing was started, nothing was recorded."""
EXIT_UNUSABLE = 5
"""The folder cannot hold a record, or this process cannot detach. Nothing was started."""
EXIT_UNRECORDED = 6
"""As `EXIT_UNUSABLE`, after this process had taken the folder, and not even that could be recorded: this code is the proof."""
UNSTARTED_BOUND_S = 10.0
"""To record that nothing was started: the daemon still waits for the exit code, which says it too."""
LAUNCH_BYTES = 32 << 20
STARTED_FIELDS = ("version", "delivery_id", "fence", "runner_id", "boot_id")


def main(arguments: list[str]) -> int:
    """`main.py RUN_DIR`; or `main.py --wait`, which takes one run folder from its standard input later."""
    while os.open(os.devnull, os.O_RDWR) < 3:
        pass  # with closed standard streams the lock would be one of them, and be replaced below
    os.closerange(3, 65_536)
    run_dir = arguments[0]
    if run_dir == "--wait":
        run_dir = os.fsdecode(os.read(0, 4096).rstrip(b"\n"))
        if not run_dir:
            return 0
    try:
        umask = os.umask(0o077)
        os.chdir(run_dir)
        runner = take_over(umask)
    except OSError as error:
        os.write(2, f"runner: {error}\n".encode())
        return EXIT_UNUSABLE
    if isinstance(runner, int):
        return runner
    try:
        if detach():
            return 0
    except OSError as error:
        return unstarted(runner, f"could not detach: {error}")
    runner.execute()
    return 0


def detach() -> bool:
    """True in the process that may end now; the other one is nobody's child and has a session of its own.

    The first waits for that session, because whoever started it may end its process group as soon as it ends.
    """
    log = os.open("runner.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    has_session, told = os.pipe()
    if os.fork():
        os.close(told)
        os.read(has_session, 1)
        return True
    os.setsid()
    os.close(has_session)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.close(told)
    return False


def take_over(umask: int) -> "Runner | int":
    """The runner of the current folder, once it is this process's alone and `started_by` is durable.

    Otherwise the exit code that says why not.

    Raises:
        OSError: the folder cannot hold a record.
    """
    if not lock_folder() or os.access("started_by", os.F_OK) or os.access("outcome.json", os.F_OK):
        return EXIT_LOST
    try:
        launch: dict[str, Any] = decode(read_file("launch.json", LAUNCH_BYTES))
        if launch["version"] != VERSION or not launch["steps"] or "/" in launch["marker"]:
            return EXIT_BAD_LAUNCH
        runner = Runner(launch, umask)
    except (ValueError, KeyError, TypeError):
        return EXIT_BAD_LAUNCH
    reserve_outcome()
    started = {name: runner.outcome[name] for name in STARTED_FIELDS} | stamp("started")
    try:
        publish("started_by.tmp", "started_by", encode(started), os.link)
        os.unlink("started_by.tmp")
    except FileExistsError:
        return EXIT_LOST
    except OSError as error:
        if not is_ours():
            raise
        # The folder is taken and nobody else will say what became of it: that nothing was started must be on record.
        return unstarted(runner, f"could not begin: {error}")
    return runner


def is_ours() -> bool:
    """Has this process's `started_by` been linked, whatever failed after that?"""
    try:
        return os.path.samestat(os.stat("started_by"), os.stat("started_by.tmp"))
    except OSError:
        return False


def unstarted(runner: "Runner", why: str) -> int:
    """Records that nothing was started, though the folder is taken; the exit code that says so, recorded or not."""
    os.write(2, f"runner: {why}\n".encode(errors="replace"))
    runner.outcome["never_started"] = why
    return EXIT_UNUSABLE if runner.finish(UNSTARTED_BOUND_S) else EXIT_UNRECORDED


if __name__ == "__main__":
    os._exit(main(sys.argv[1:]))  # without the interpreter's own farewell
