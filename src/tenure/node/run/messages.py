"""What the node daemon and a runner say to each other, as the daemon reads and writes it.

The runner imports nothing of this (it has the standard library only) and writes the same JSON by hand; a contract
test decodes all that a real runner writes with these types, strictly. docs/internals/runner.md explains the files.

Units: `_ns` on `_boottime_ns` are nanoseconds on the clock that runs through a suspend, and mean something within
one boot (`boot_id`) only; `_at_ms` are milliseconds since the epoch; durations are seconds.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

VERSION = 1
"""Of the files. A runner refuses a launch of another version; it ends under the version it was started with."""
MARKER_VARIABLE = "TENURE_ATTEMPT_MARKER"

StepKind = Literal["harness", "check"]


class Limits(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one run may write. Each step has two streams; each keeps its head and its newest segments."""

    head_bytes: int = 1 << 20
    segment_bytes: int = 1 << 20
    segments: int = 8
    protocol_bytes: int = 16 << 20
    protocol_line_bytes: int = 1 << 20


class RunAs(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The user that a step becomes, in numbers: the runner looks nothing up."""

    uid: int
    gid: int
    groups: tuple[int, ...] = ()


class LaunchStep(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One program. `env` is its whole environment; the runner adds the marker, and for a harness where to speak.

    `timeout_s` counts while the tree is not paused and the machine not suspended. None: only the Attempt's own.
    `cancel_line`: what the program is told of a cancel, on `TENURE_CONTROL_FD`, before any signal; None: nothing.
    `run_as`: the user to become, which the runner must have the right to. `is_held`: the program of `argv` only holds
    the real one, in a PID namespace of its own (bubblewrap): signals that ask to end go past it.
    """

    name: str
    kind: StepKind
    argv: tuple[str, ...]
    env: dict[str, str]
    cwd: str
    stdin_path: str | None = None
    timeout_s: float | None = None
    run_as: RunAs | None = None
    is_held: bool = False
    cancel_line: str | None = None


class Launch(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`launch.json`: written before the runner is started. Only the environments are taken out of it, once all is over.

    `task_id`, `number`: the Attempt. `marker` is unique to this run, without a slash. `deadline_boottime_ns` is the
    lease's first deadline, less the margin. `cgroup_parent` is a cgroup v2 folder in which the runner may make one, or
    None. Steps run one after another, each only if the one before exited with 0. `drain_s`: how long output is read after a step's end.
    `agent_part`: the folder, below the run folder, in which the program may write its protocol file.
    """

    version: int = VERSION
    delivery_id: str
    task_id: str = ""
    number: int = 0
    fence: int
    marker: str
    boot_id: str
    deadline_boottime_ns: int
    timeout_s: float | None = None
    cancel_grace_s: float = 20.0
    drain_s: float = 0.5
    sample_s: float = 5.0
    cgroup_parent: str | None = None
    limits: Limits = Limits()
    agent_part: str = "."
    steps: tuple[LaunchStep, ...]

    @property
    def cgroup(self) -> str | None:
        """The folder of this run's own cgroup, if it has one."""
        return f"{self.cgroup_parent}/tenure-{self.marker}" if self.cgroup_parent else None


class Started(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`started_by`: which runner took the folder. It is there before anything is executed."""

    version: int
    delivery_id: str
    fence: int
    runner_id: str
    boot_id: str
    started_at_ms: int
    started_boottime_ns: int


class StepOutcome(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How one step ended. `ran` is False for one that was never reached.

    One of `exit_code`, `signal` and `start_error` (an errno's name, such as ENOENT: the program was not executed)
    is set, unless the run's `unknown` says why nobody can tell. `timed_out`: ended by us at its own or the
    Attempt's time limit. `oom_killed` is None where that cannot be known. Bytes count all that was written, kept or
    not.
    """

    name: str
    kind: StepKind
    ran: bool
    exit_code: int | None
    signal: int | None
    start_error: str | None
    start_error_text: str | None
    oom_killed: bool | None
    timed_out: bool
    stdout_bytes: int
    stderr_bytes: int
    started_at_ms: int | None
    started_boottime_ns: int | None
    ended_at_ms: int | None
    ended_boottime_ns: int | None


class StopStep(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One step of a stop that was taken: `cancel` (the harness's own way), `SIGINT`, `SIGTERM` or `SIGKILL`, the signals to
    the whole tree. `processes`: how many there were then. `failed`: why it reached nobody."""

    step: str
    at_ms: int
    processes: int
    failed: str | None = None


class Outcome(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`outcome.json`: how the run ended, durable before the runner lets its lock go.

    `never_started`: why nothing was executed (`deadline`, `other boot`, `exec failed`, `forbidden`, …), or None.
    `unknown`: why the runner cannot say how a step ended, or None.
    `canceled`, `timed_out`, `killed_stale`, `runner_signal`: why it was ended by us, each as it was asked for,
    whether or not the program would have ended anyway. `stops`: the steps that we took to end it, in order.
    `ended_by`: the last of them that was taken while the program ran.
    `tree_gone`: no process of the run is left; None where that cannot be proven. `leftovers`: how many the steps
    had left behind and we killed; `survivors`: how many did not die.
    `paused_s` counts awake time; `suspended_s` the time the machine slept.
    `result_line`: the harness's last `result` or `ask`, as it was written; `result_lost`: there was one, and the
    full disk did not take it.
    """

    version: int
    delivery_id: str
    fence: int
    runner_id: str
    boot_id: str
    steps: tuple[StepOutcome, ...]
    never_started: str | None
    unknown: str | None
    canceled: bool
    timed_out: bool
    killed_stale: bool
    runner_signal: int | None
    ended_by: str | None
    tree_gone: bool | None
    leftovers: int
    survivors: int
    ended_at_ms: int
    ended_boottime_ns: int
    paused_s: float
    suspended_s: float
    cpu_ms: int
    counter: int
    held_by: str
    spool_lost_bytes: int
    protocol_lines: int
    protocol_dropped_lines: int
    result_line: str | None
    result_lost: bool
    stops: tuple[StopStep, ...] = ()


class Status(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a runner says of itself with each message.

    `quiet_s`: for how long there has been no output, no protocol line, no new or ended process and next to no CPU
    time; it stands still while the tree is paused or the machine sleeps. `cpu_ms` and `processes` are as of the
    last sample.
    """

    state: Literal["running", "paused", "stopping"]
    step: str
    pid: int | None
    deadline_boottime_ns: int
    counter: int
    output_bytes: int
    protocol_lines: int
    cpu_ms: int
    processes: int
    quiet_s: float
    paused_s: float


class Reply(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="reply"):
    """The answer to request number `re`. `error`: why not, or None: `wrong_fence`, `old_counter`, `bad_request`,
    `unknown_op`."""

    re: int
    error: str | None
    status: Status


class Push(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag="push"):
    """What a subscriber is told unasked. `ended`: `outcome.json` is durable."""

    push: Literal["step", "paused", "resumed", "lines", "status", "ended"]
    status: Status


class Renew(Struct, frozen=True, kw_only=True, tag_field="op", tag="renew"):
    """A new deadline. It counts only with the launch's fence and a counter greater than any before."""

    id: int
    fence: int
    counter: int
    deadline_boottime_ns: int


class Cancel(Struct, frozen=True, kw_only=True, tag_field="op", tag="cancel"):
    """Begins the ladder: the harness's own cancel where it has one, then SIGINT, SIGTERM and SIGKILL to the tree."""

    id: int
    grace_s: float


class Stale(Struct, frozen=True, kw_only=True, tag_field="op", tag="stale"):
    """The hub said that this fence is stale: the tree is killed at once."""

    id: int
    fence: int


class Kill(Struct, frozen=True, kw_only=True, tag_field="op", tag="kill"):
    """A cancel without grace."""

    id: int


class AskStatus(Struct, frozen=True, kw_only=True, tag_field="op", tag="status"):
    id: int


class Subscribe(Struct, frozen=True, kw_only=True, tag_field="op", tag="subscribe"):
    id: int


Request = Renew | Cancel | Stale | Kill | AskStatus | Subscribe
