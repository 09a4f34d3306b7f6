"""The Task: a unit of work that is kept while Attempts are appended to it.

A Task owns the fence and knows which Delivery, if any, holds the one open lease. Its life cycle has A2A's
states. A terminal state is left by nothing (`no_resurrection`): more work is a new Task that names the old
one in `continues`.

`queue_key` is set exactly while the Task's newest Attempt may be granted: the Attempt is pending, every
dependency is completed, no cancellation was requested. It is what a claim looks up, so a Task that must wait
costs a claim nothing; `ready_at_ms` orders the queue and holds back a Task with a `not_before`."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from tenure.core.budget import Budget, Tally
from tenure.core.hold import Hold
from tenure.core.ids import DeliveryId, EffectId, TaskId
from tenure.core.scope import Scope

DEFAULT_PROJECT = "default"
"""The project of a Task that names none."""
AGEING_MS = 600_000
"""What one step of priority is worth: ten minutes of waiting."""
TITLE = 60
"""Characters of an objective that stand in a sentence."""
PRIORITY = 10
"""The highest priority; the lowest is its negative."""


class TaskState(StrEnum):
    SUBMITTED = "submitted"
    WORKING = "working"
    INPUT_REQUIRED = "input_required"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELED = "canceled"
    REJECTED = "rejected"


TASK_TRANSITIONS: dict[TaskState, frozenset[TaskState]] = {
    TaskState.SUBMITTED: frozenset(
        {TaskState.WORKING, TaskState.INPUT_REQUIRED, TaskState.CANCELED, TaskState.REJECTED}
    ),
    TaskState.WORKING: frozenset(
        {TaskState.INPUT_REQUIRED, TaskState.COMPLETED, TaskState.FAILED, TaskState.CANCELED}
    ),
    TaskState.INPUT_REQUIRED: frozenset(
        {TaskState.WORKING, TaskState.COMPLETED, TaskState.FAILED, TaskState.CANCELED}
    ),
    TaskState.COMPLETED: frozenset(),
    TaskState.FAILED: frozenset(),
    TaskState.CANCELED: frozenset(),
    TaskState.REJECTED: frozenset(),
}

TERMINAL_TASK_STATES = frozenset(state for state, after in TASK_TRANSITIONS.items() if not after)


class CancelStep(StrEnum):
    """How far the cancellation protocol has come (DESIGN 3)."""

    REQUESTED = "requested"
    SIGNALED = "signaled"
    ACKNOWLEDGED = "acknowledged"
    UNACKNOWLEDGED = "unacknowledged"
    RECONCILED = "reconciled"
    TERMINATED = "terminated"


CANCEL_TRANSITIONS: dict[CancelStep, frozenset[CancelStep]] = {
    CancelStep.REQUESTED: frozenset(
        {CancelStep.SIGNALED, CancelStep.ACKNOWLEDGED, CancelStep.UNACKNOWLEDGED, CancelStep.RECONCILED}
    ),
    CancelStep.SIGNALED: frozenset(
        {CancelStep.ACKNOWLEDGED, CancelStep.UNACKNOWLEDGED, CancelStep.RECONCILED}
    ),
    CancelStep.ACKNOWLEDGED: frozenset({CancelStep.RECONCILED}),
    CancelStep.UNACKNOWLEDGED: frozenset({CancelStep.RECONCILED}),
    CancelStep.RECONCILED: frozenset({CancelStep.TERMINATED}),
    CancelStep.TERMINATED: frozenset(),
}


class Reference(Struct, frozen=True, forbid_unknown_fields=True):
    """A piece of context by reference: where it stands, and the SHA-256 (hexadecimal) it must have."""

    uri: str
    digest: str


class Check(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """An acceptance check: a command run in the worktree after the harness. It passes by exiting 0."""

    name: str
    argv: tuple[str, ...]
    timeout_s: int | None = None


class TaskSpec(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What was asked for, as it was asked. It never changes.

    `route` is a recipient (`NAME@NODE`), a recipient's bare name, or a pool. `repository` without `base_sha`
    is refused: a base is named, never guessed later. `scope` says what its Attempts may do outside; with `approval`
    a person must allow the first one. `command` replaces the recipient's own command where
    that recipient allows it. `timeout_s` bounds one Attempt.

    It starts when every Task in `after` has completed, every one in `after_failure` has ended otherwise, and every one
    in `after_end` has ended. `priority`: -10 to 10. `concurrency_key`: of all Tasks with the same one only one runs at a
    time. `policy`: the name of a failure policy."""

    objective: str
    route: str
    repository: str | None = None
    base_sha: str | None = None
    command: tuple[str, ...] | None = None
    context: tuple[Reference, ...] = ()
    checks: tuple[Check, ...] = ()
    after: tuple[TaskId, ...] = ()
    not_before_ms: int | None = None
    timeout_s: int | None = None
    harness: str | None = None
    model: str | None = None
    continues: TaskId | None = None
    because: str | None = None
    labels: dict[str, str] = {}
    scope: Scope | None = None
    approval: bool = False
    after_failure: tuple[TaskId, ...] = ()
    after_end: tuple[TaskId, ...] = ()
    deadline_ms: int | None = None
    project: str | None = None
    priority: int = 0
    concurrency_key: str | None = None
    policy: str | None = None
    budget: Budget | None = None

    @property
    def dependencies(self) -> tuple[TaskId, ...]:
        """Every Task that it waits for, in whichever way."""
        return (*self.after, *self.after_failure, *self.after_end)


class Task(Struct, frozen=True):
    """A Task as it stands. `attempts` counts Attempts; the newest one is the only one that can be open.

    `open_effects`: those that are neither confirmed nor absent; while there are any after the lease has ended, the Task
    has no further Attempt and does not end (`reconcile_first`). `last_effect_of`: the Delivery that last began one.

    `order_ms` is its place in its queue: when it became ready, earlier by `AGEING_MS` for each step of priority. So a
    Task overtakes those that came at most so much before it, and none waits for ever. `due_at_ms`: when its deadline
    must be looked at. `budget` is what holds for it, `tally` what it has used. `hold`: what keeps it out of its queue
    beside the rest; `held_on` is the hold's subject. `decided`: the newest
    Attempt whose end was decided about. `stop`: how far the stopping of its newest Attempt has come. `met_through`: which
    Task stands for a dependency that did not complete itself, for each that one does."""

    task_id: TaskId
    spec: TaskSpec
    spec_digest: str
    state: TaskState
    fence: int
    lease: DeliveryId | None
    attempts: int
    voided_offers: int
    queue_key: str | None
    ready_at_ms: int
    waits_for: tuple[TaskId, ...]
    failed_dependencies: tuple[TaskId, ...]
    lineage: tuple[TaskId, ...]
    cancel_step: CancelStep | None
    cancel_because: str | None
    cancel_at_ms: int | None
    submitted_by: str
    idempotency_key: str
    submitted_at_ms: int
    ended_at_ms: int | None
    end_reason: str | None
    effects: int = 0
    open_effects: tuple[EffectId, ...] = ()
    needs_approval: bool = False
    last_effect_of: DeliveryId | None = None
    project: str = DEFAULT_PROJECT
    order_ms: int = 0
    deadline_ms: int | None = None
    cancel_tree: bool = False
    due_at_ms: int | None = None
    budget: Budget = Budget()
    tally: Tally = Tally()
    hold: Hold | None = None
    decided: int = 0
    held_on: str | None = None
    stop: Stop | None = None
    met_through: dict[TaskId, TaskId] = {}

    @property
    def key(self) -> str:
        return self.task_id

    @property
    def is_terminal(self) -> bool:
        return self.state in TERMINAL_TASK_STATES

    @property
    def is_cancel_requested(self) -> bool:
        return self.cancel_step is not None

    @property
    def title(self) -> str:
        """The beginning of its objective: what people know it by."""
        line = self.spec.objective.strip().splitlines()[0]
        return line if len(line) <= TITLE else f"{line[: TITLE - 1]}…"

    @property
    def stopping(self) -> Stop | None:
        """How far the stopping of its newest Attempt has come, if that was asked to end."""
        return self.stop if self.stop is not None and self.stop.number == self.attempts else None

    @property
    def is_stopping(self) -> bool:
        """Was its newest Attempt asked to end?"""
        return self.stopping is not None


class StopCause(StrEnum):
    """Why an Attempt is to end although its Task goes on."""

    PERSON = "person"
    BUDGET = "budget"
    DEADLINE = "deadline"


class Stop(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The stopping of one Attempt: the cancellation protocol for it alone. `dimensions`: of the budget, where that is the
    cause."""

    number: int
    step: CancelStep
    cause: StopCause
    because: str
    by: str
    at_ms: int
    dimensions: tuple[str, ...] = ()


def queue_key(route: str, harness: str | None, model: str | None) -> str:
    """The queue a Task stands in: its route, and what its Attempt has frozen of harness and model (`*` where
    nothing is)."""
    return f"{route}|{harness or '*'}|{model or '*'}"


def avoiding_queue(route: str) -> str:
    """The queue of a route's Tasks that must not go to one or the other of its recipients."""
    return f"{route}|!|!"
