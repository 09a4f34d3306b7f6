"""What projects and the hub may use, what is paused, and which providers are left alone: bodies of the API."""

from __future__ import annotations

from tenure.wire.body import Answered, Asked


class LimitsRequest(Asked, frozen=True, kw_only=True, omit_defaults=True):
    """What may be used at most; what is left out is not limited. `wall_s`: seconds of running, all added up."""

    cost_usd_micros: int | None = None
    tokens: int | None = None
    tool_calls: int | None = None
    wall_s: int | None = None


class TaskLimitsRequest(Asked, frozen=True, kw_only=True, omit_defaults=True):
    """Limits of one Task; what is left out is inherited. `repeats`: how often one failure may come. `interruptions`: how
    often people may be asked. `rounds`: Attempts in a row without measurable improvement. `deadline_s`: the
    deadline of a Task that names none, counted from its submission."""

    attempts: int | None = None
    wall_s: int | None = None
    cost_usd_micros: int | None = None
    tokens: int | None = None
    tool_calls: int | None = None
    repeats: int | None = None
    interruptions: int | None = None
    rounds: int | None = None
    deadline_s: int | None = None


class LimitsBody(Answered, frozen=True, kw_only=True):
    """Null: not limited."""

    cost_usd_micros: int | None = None
    tokens: int | None = None
    tool_calls: int | None = None
    wall_s: int | None = None


class TaskLimitsBody(Answered, frozen=True, kw_only=True):
    """Null: not limited here."""

    attempts: int | None = None
    wall_s: int | None = None
    cost_usd_micros: int | None = None
    tokens: int | None = None
    tool_calls: int | None = None
    repeats: int | None = None
    interruptions: int | None = None
    rounds: int | None = None
    deadline_s: int | None = None


class AmountsBody(Answered, frozen=True, kw_only=True):
    cost_usd_micros: int = 0
    tokens: int = 0
    tool_calls: int = 0
    wall_s: float = 0.0


class AccountRequest(Asked, frozen=True, kw_only=True, omit_defaults=True):
    """What an account may use from now on, all of it at once. `per_task`: what a Task of it inherits. `share`: what one
    Attempt reserves where its Task has no limit of its own (else a tenth). `reset`: what was used counts as nothing."""

    limits: LimitsRequest = LimitsRequest()
    per_task: TaskLimitsRequest = TaskLimitsRequest()
    share: LimitsRequest = LimitsRequest()
    weight: int = 1
    reset: bool = False
    because: str


class PausedBody(Answered, frozen=True, kw_only=True):
    """`drain`: it is to come to rest, and somebody waits for that."""

    by: str
    because: str
    at: str
    drain: bool


class InheritedBody(Answered, frozen=True, kw_only=True):
    """A limit that a new Task gets, and from where: `hub`, `project:NAME` or `default`. Null: no limit."""

    limit: int | None
    source: str | None


class AccountBody(Answered, frozen=True, kw_only=True):
    """An account as it stands. `reserved`: what running Attempts may still use. `left`: of each limit, what is neither used
    nor reserved. `running`: its open leases. `since_at`: from when it is counted. `inherits`: what a new Task of it gets."""

    account: str
    limits: LimitsBody
    per_task: TaskLimitsBody
    share: LimitsBody
    used: AmountsBody
    reserved: AmountsBody
    left: LimitsBody
    running: int
    weight: int
    paused: PausedBody | None
    since_at: str
    inherits: dict[str, InheritedBody]
    replayed: bool = False


class TaskBudgetBody(Answered, frozen=True, kw_only=True):
    """What a Task may use and has used. `budget`: what holds for it. `left`: of each limit. `attempts` count but for the
    `refunded` ones. `exhausted`: dimensions in which nothing is left for one more Attempt of the machine's own choosing.
    `share`: what its newest Attempt may use. `accounts`: those that it counts into."""

    task_id: str
    project: str
    budget: TaskLimitsBody
    left: dict[str, int]
    used: AmountsBody
    attempts: int
    refunded: int
    repeats: int
    interruptions: int
    rounds: int
    exhausted: tuple[str, ...]
    deadline_at: str | None
    share: LimitsBody
    accounts: tuple[str, ...]


class PauseRequest(Asked, frozen=True, kw_only=True, omit_defaults=True):
    """`subject`: `hub`, `project:NAME`, `node:NAME`, or a recipient (NAME@NODE)."""

    subject: str
    because: str
    drain: bool = False


class ResumeRequest(Asked, frozen=True, kw_only=True, omit_defaults=True):
    subject: str
    because: str = ""


class PauseBody(Answered, frozen=True, kw_only=True):
    """What is paused, or was. `paused` null: it is not. `running`: Attempts that run there now, the first hundred;
    `running_count`: how many there are. `replayed`: nothing has changed."""

    subject: str
    paused: PausedBody | None
    running: tuple[str, ...]
    running_count: int
    replayed: bool = False


class CloseCircuitRequest(Asked, frozen=True, kw_only=True):
    quota: str
    because: str


class CircuitBody(Answered, frozen=True, kw_only=True):
    """A provider's account that had no room, or a recipient's own machine. `failures`: how often in a row; 0: closed.
    `probe`: the Attempt that was let through to see. `recipients`: who is left alone for it."""

    quota: str
    open: bool
    failures: int
    opened_at: str
    until_at: str
    because: str
    probe: str | None
    recipients: tuple[str, ...]
    replayed: bool = False
