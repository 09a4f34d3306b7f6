"""The run folder of one execution: what the node daemon writes into it, and what it can tell from it.

The truth is on disk and is read by `probe`: never in this process's memory, never in a pid. So whatever a call
raises, and whenever the daemon died, `probe` afterwards says what is.

| found | lock | `started_by` | `outcome.json` |
| --- | --- | --- | --- |
| `never_started` | free | no | no, or it says so |
| `running` | held | | no |
| `ended` | | | yes |
| `unknown` | free | yes | no |

To take a Delivery back, `forbid_start` first makes sure that no runner that is still on its way can start it.

Reading the folder is a few system calls; `write_launch` and `forbid_start` sync to disk. All of these block and may
be called from an executor.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Generator
from enum import StrEnum
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from tenure.core.clock import Clock
from tenure.node.run.messages import Launch, Outcome, Started, StepOutcome
from tenure.runtime.data_folder import sync_folder, write_atomically
from tenure.runtime.stored_json import read_stored

LAUNCH, STARTED, OUTCOME, LOCK, CONTROL = "launch.json", "started_by", "outcome.json", "lock", "control"
RECORD_BYTES = 32 << 20
"""As much as a runner reads of its launch; an outcome, with the longest last word, stays far below."""
_FOLDER_MODE = 0o700
_MAY_PASS = 0o011


class Found(StrEnum):
    """What a run folder says of its runner."""

    NEVER_STARTED = "never_started"
    RUNNING = "running"
    ENDED = "ended"
    UNKNOWN = "unknown"


class RunnerState(Struct, frozen=True, kw_only=True):
    """`outcome` is set when it has ended, `reason` when nobody can say. `other_boot`: the machine was started anew
    since, so no process of it is left."""

    found: Found
    started: Started | None = None
    outcome: Outcome | None = None
    reason: str | None = None
    other_boot: bool = False


def write_launch(run_dir: Path, launch: Launch) -> None:
    """Makes the folder, for this user only, and the launch in it; durable when it returns.

    Raises:
        StorageFullError: no room; there is no launch.
        OSError: it cannot be written for another reason.
    """
    run_dir.mkdir(mode=_FOLDER_MODE, parents=True, exist_ok=True)
    # Who may pass through to a part of it (another user's, under the isolation `user`) still may.
    run_dir.chmod(_FOLDER_MODE | run_dir.stat().st_mode & _MAY_PASS)
    # Else a power cut could take the whole folder, and its absence would read as proof that nothing was started.
    sync_folder(run_dir.parent)
    write_atomically(run_dir / LAUNCH, msgspec.json.encode(launch))


def probe(run_dir: Path, boot_id: str) -> RunnerState:
    """What became of this folder's runner. `boot_id`: this boot's.

    Never a guess: `unknown` is an answer. An outcome that cannot be read makes it `unknown`, too.
    """
    with locked(run_dir, fcntl.LOCK_SH) as is_free:
        outcome = read_outcome(run_dir)
        started = read_started(run_dir)
        other_boot = bool(started and boot_id and started.boot_id and started.boot_id != boot_id)
        if isinstance(outcome, Outcome):
            return RunnerState(found=Found.ENDED, started=started, outcome=outcome, other_boot=other_boot)
        if not is_free:
            return RunnerState(found=Found.RUNNING, started=started)
        if outcome is not None:
            return RunnerState(found=Found.UNKNOWN, started=started, reason=outcome, other_boot=other_boot)
        if (run_dir / STARTED).exists():
            reason = (
                "the machine was restarted" if other_boot else "the runner is gone and recorded no outcome"
            )
            return RunnerState(found=Found.UNKNOWN, started=started, reason=reason, other_boot=other_boot)
        return RunnerState(found=Found.NEVER_STARTED)


def forbid_start(run_dir: Path, launch: Launch, incarnation_id: str, clock: Clock) -> bool:
    """Makes it certain that nothing is ever started from this folder; True is the proof.

    False: a runner holds it or had it, so `probe` it again. A runner that comes later finds the outcome
    `never_started` (`forbidden`) that this leaves, and exits. `incarnation_id` is the daemon's own. Repeatable.

    Raises:
        StorageFullError: no room to record it; nothing is certain.
        OSError: the folder cannot be used.
    """
    run_dir.mkdir(mode=_FOLDER_MODE, parents=True, exist_ok=True)
    with locked(run_dir, fcntl.LOCK_EX) as is_free:
        if not is_free or (run_dir / STARTED).exists():
            return False
        outcome = read_outcome(run_dir)
        if outcome is not None:
            return isinstance(outcome, Outcome) and outcome.never_started is not None
        record = forbidden_outcome(launch, incarnation_id, clock)
        write_atomically(run_dir / OUTCOME, msgspec.json.encode(record))
    return True


def forbidden_outcome(launch: Launch, incarnation_id: str, clock: Clock) -> Outcome:
    steps = tuple(unreached(step.name, step.kind == "check") for step in launch.steps)
    return Outcome(
        version=launch.version,
        delivery_id=launch.delivery_id,
        fence=launch.fence,
        runner_id=incarnation_id,
        boot_id=launch.boot_id,
        steps=steps,
        never_started="forbidden",
        unknown=None,
        canceled=False,
        timed_out=False,
        killed_stale=False,
        runner_signal=None,
        ended_by=None,
        tree_gone=True,
        leftovers=0,
        survivors=0,
        ended_at_ms=clock.wall_ms(),
        ended_boottime_ns=clock.boot_ns(),
        paused_s=0.0,
        suspended_s=0.0,
        cpu_ms=0,
        counter=0,
        held_by="nobody",
        spool_lost_bytes=0,
        protocol_lines=0,
        protocol_dropped_lines=0,
        result_line=None,
        result_lost=False,
    )


def unreached(name: str, is_check: bool) -> StepOutcome:
    return StepOutcome(
        name=name,
        kind="check" if is_check else "harness",
        ran=False,
        exit_code=None,
        signal=None,
        start_error=None,
        start_error_text=None,
        oom_killed=None,
        timed_out=False,
        stdout_bytes=0,
        stderr_bytes=0,
        started_at_ms=None,
        started_boottime_ns=None,
        ended_at_ms=None,
        ended_boottime_ns=None,
    )


@contextlib.contextmanager
def locked(run_dir: Path, kind: int) -> Generator[bool]:
    """Whether no runner holds the folder; if so, none can take it meanwhile.

    `kind`: LOCK_SH for a look (several may look at once; a runner that starts waits it out), LOCK_EX for more.
    """
    create = os.O_CREAT if kind == fcntl.LOCK_EX else 0
    try:
        descriptor = os.open(run_dir / LOCK, os.O_RDWR | create | os.O_CLOEXEC, 0o600)
    except FileNotFoundError:  # no runner has been here yet
        yield True
        return
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        yield False
        return
    try:
        yield True
    finally:
        # Not left to the close: a child that is just being forked has a copy of the descriptor for a moment.
        fcntl.flock(descriptor, fcntl.LOCK_UN)
        os.close(descriptor)


def read_launch(run_dir: Path) -> Launch | None:
    """The launch, or None when there is none of this version."""
    try:
        return read_stored(run_dir / LAUNCH, Launch, RECORD_BYTES)
    except (FileNotFoundError, ValueError):
        return None


def forget_environment(run_dir: Path) -> None:
    """Takes out of the launch what its programs had in their environment: once the run has ended nobody needs it, and it may
    hold logins. Repeatable.

    Raises:
        StorageFullError: no room; it stands as it was.
        OSError: it cannot be written for another reason.
    """
    launch = read_launch(run_dir)
    if launch is None or not any(step.env for step in launch.steps):
        return
    steps = tuple(replace(step, env={}) for step in launch.steps)
    write_atomically(run_dir / LAUNCH, msgspec.json.encode(replace(launch, steps=steps)))


def read_started(run_dir: Path) -> Started | None:
    try:
        return read_stored(run_dir / STARTED, Started, RECORD_BYTES)
    except (FileNotFoundError, ValueError):
        return None


def read_outcome(run_dir: Path) -> Outcome | str | None:
    """The outcome; None when there is none; a text that says why when it cannot be understood."""
    try:
        return read_stored(run_dir / OUTCOME, Outcome, RECORD_BYTES)
    except FileNotFoundError:
        return None
    except ValueError as error:
        return f"the outcome cannot be understood: {error}"
