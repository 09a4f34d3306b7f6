"""What people may ask of accounts, pauses, policies, circuits, questions and reviews; and what the hub asks for by itself
about Tasks that are held."""

from __future__ import annotations

from msgspec import Struct

from tenure.core.attempt import AttemptSpec
from tenure.core.budget import Budget, Share
from tenure.core.ids import TaskId
from tenure.core.policy import Policy
from tenure.core.review import About, Ruling
from tenure.core.scope import Scope
from tenure.core.task import Check


class StorePolicy(Struct, frozen=True):
    policy: Policy
    by: str


class ChoosePolicy(Struct, frozen=True):
    """`policy` None takes the choice back."""

    subject: str
    policy: str | None
    by: str
    because: str


class SetAccount(Struct, frozen=True):
    """What an account may use from now on; all of it at once. `reset`: what was used counts as nothing from here."""

    account_id: str
    limits: Share
    per_task: Budget
    share: Share
    weight: int
    by: str
    because: str
    reset: bool = False


class Pause(Struct, frozen=True):
    """Nothing new starts there. `subject`: `hub`, `project:NAME`, a node's id, or a recipient's address. What runs goes
    on."""

    subject: str
    by: str
    because: str
    drain: bool = False


class Unpause(Struct, frozen=True):
    subject: str
    by: str
    because: str


class CloseCircuit(Struct, frozen=True):
    """A person knows that the provider has room again."""

    quota: str
    by: str
    because: str


class RaiseBudget(Struct, frozen=True):
    """A person lets a Task go on: `more` is added to its limits (where only its project or the hub limits it, to what it has
    used), and `deadline_ms` is its new deadline. An exhausted Task is then decided about again.

    `limits`: the Task's own limits as they were read; where it has others by now nothing is added. So what is sent twice is not
    added twice. None: whatever they are."""

    task_id: TaskId
    more: Budget
    deadline_ms: int | None
    by: str
    because: str
    limits: Budget | None = None


class StopAttempt(Struct, frozen=True):
    """A person wants this Attempt to end, and the Task to wait for what they say next. Idempotent."""

    task_id: TaskId
    number: int
    by: str
    because: str


class GiveUp(Struct, frozen=True):
    """A person ends a Task that waits for them, as failed. `item_version` guards the question that was read."""

    task_id: TaskId
    item_id: str
    item_version: int
    by: str
    because: str


class WaiveDependencies(Struct, frozen=True):
    """A person lets a Task go on without those it waits for that did not complete. `item_version` guards the question."""

    task_id: TaskId
    item_version: int
    by: str
    because: str


class Challenge(Struct, frozen=True):
    task_id: TaskId
    number: int
    about: About
    by: str
    because: str


class AnswerChallenge(Struct, frozen=True):
    task_id: TaskId
    item_version: int
    ruling: Ruling
    by: str
    because: str


class SnoozeAttention(Struct, frozen=True):
    """`until_ms` None: no longer."""

    item_id: str
    item_version: int
    until_ms: int | None
    by: str


class AssignAttention(Struct, frozen=True):
    """`to` None: to nobody."""

    item_id: str
    item_version: int
    to: str | None
    by: str


class NoteNotified(Struct, frozen=True):
    """The message about this version has left. Idempotent; an older version than the recorded one says nothing."""

    item_id: str
    version: int


class Reconsider(Struct, frozen=True):
    """What a held Task hangs on may have changed. Safe to repeat."""

    task_id: TaskId


class DueTask(Struct, frozen=True):
    """A Task's deadline may have come. Safe to repeat; judged by the clock of the commit."""

    task_id: TaskId


class Changes(Struct, frozen=True):
    """What a person's retry changes; None and empty: as before."""

    objective: str | None = None
    base_sha: str | None = None
    route: str | None = None
    harness: str | None = None
    model: str | None = None
    command: tuple[str, ...] | None = None
    timeout_s: int | None = None
    checks: tuple[Check, ...] | None = None
    scope: Scope | None = None
    elsewhere: bool = False

    def of(self, spec: AttemptSpec) -> dict[str, object]:
        """The fields of this spec that they really change, with their new values."""
        named = (
            "objective",
            "base_sha",
            "route",
            "harness",
            "model",
            "command",
            "timeout_s",
            "checks",
            "scope",
        )
        asked = {name: getattr(self, name) for name in named}
        return {name: to for name, to in asked.items() if to is not None and to != getattr(spec, name)}


DeskCommand = (
    StorePolicy
    | ChoosePolicy
    | SetAccount
    | Pause
    | Unpause
    | CloseCircuit
    | RaiseBudget
    | StopAttempt
    | GiveUp
    | WaiveDependencies
    | Challenge
    | AnswerChallenge
    | SnoozeAttention
    | AssignAttention
    | NoteNotified
    | Reconsider
    | DueTask
)
