"""The port of a harness: what an adapter must be able to say of the program that it drives.

An adapter is made for one recipient's settings (`registry.harness_for`) and keeps no state, so a node that
restarts makes it again and goes on. It touches nothing: the caller writes the files of a `Launch`, the runner
executes it, and `judge` only reads what others saw. The same `judge` of the same facts gives the same
Judgement, so it may be asked twice.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from msgspec import Struct

from tenure.core.attempt import AttemptSpec, Usage
from tenure.core.failure import CheckEnded, Evidence, StepEnded
from tenure.core.ids import DeliveryId, TaskId
from tenure.core.judgement import Judgement
from tenure.harness.message import ProtocolLine

__all__ = [
    "CheckEnded",
    "Evidence",
    "Harness",
    "Input",
    "Judgement",
    "Launch",
    "LaunchFile",
    "LaunchRequest",
    "ProtocolLine",
    "StepEnded",
    "Usage",
]


class Input(Struct, frozen=True, kw_only=True):
    """A context reference that was fetched and checked: where it stands (`uri`), and the local file of it."""

    uri: str
    path: str


class LaunchRequest(Struct, frozen=True, kw_only=True):
    """What an adapter must know to start one Attempt.

    `run_dir` is the Delivery's run folder, an absolute path that belongs to this run alone. `worktree` is
    absolute, or None for a Task without a repository. `environment` is the node's own, as the process has it;
    the adapter strips it. `capability` is added last and unstripped: what the Attempt is given to act with.
    """

    task_id: TaskId
    attempt_no: int
    delivery_id: DeliveryId
    fence: int
    spec: AttemptSpec
    run_dir: str
    worktree: str | None
    environment: dict[str, str]
    inputs: tuple[Input, ...] = ()
    capability: dict[str, str] = {}


class LaunchFile(Struct, frozen=True, kw_only=True):
    """A file that must be there before the start. Its path lies in the run folder."""

    path: str
    content: bytes
    mode: int = 0o600


class Launch(Struct, frozen=True, kw_only=True):
    """What is to be executed.

    `cancel_line`: what the program is told on `TENURE_CONTROL_FD`, before any signal, when it is to end; None: it has no
    cancel of its own. `env` is complete and holds secrets (the model's login): it is neither logged nor reported. `stdin_path`:
    the file on standard input; None for an empty one. Nothing is read from a terminal.
    """

    argv: tuple[str, ...]
    env: dict[str, str]
    cwd: str
    stdin_path: str | None
    files: tuple[LaunchFile, ...]
    cancel_line: str | None = None


class Harness(Protocol):
    """An adapter for one recipient."""

    def launch(self, request: LaunchRequest) -> Launch:
        """What to execute for this Attempt. Pure.

        Raises:
            ConfigurationError: recipient and Attempt do not fit together; nothing can be started until one of
            them changes.
        """
        ...

    def judge(self, ended: StepEnded, lines: Iterable[ProtocolLine]) -> Judgement:
        """The verdict that the end of the harness's own turn proposes; the acceptance checks come after it.

        Pure. `lines`: what the program said, in order; they are read once, so a generator over the stored
        stream will do.
        """
        ...
