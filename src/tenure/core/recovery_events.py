"""Events of decisions about Tasks: recovery, holds, stops, budgets, keys and reviews."""

from __future__ import annotations

from tenure.core.attempt import Verdict
from tenure.core.budget import Amounts, Budget
from tenure.core.failure import FailureClass
from tenure.core.hold import Hold
from tenure.core.ids import DeliveryId, TaskId
from tenure.core.policy import Action
from tenure.core.review import About, Ruling
from tenure.core.stream import TaskEvent
from tenure.core.task import CancelStep, StopCause
from tenure.core.usage import Usage


class RecoveryDecided(TaskEvent, frozen=True, kw_only=True, tag="recovery_decided"):
    """What follows from the end of Attempt `number`, and why.

    `rule`, `policy` and `evidence_digest` say what it was decided by; `response` names the policy's response, `action`
    what it comes to. `passed_over`: responses that could not be carried out, each with the reason. `refunded`: the
    Attempt does not count. `improved`: it was measurably better than all before. `asks`: a person is asked."""

    number: int
    verdict: Verdict
    failure_class: FailureClass | None = None
    rule: str
    policy: str
    evidence_digest: str
    signature: str
    response: str
    action: Action
    because: str
    passed_over: tuple[str, ...] = ()
    score: float | None = None
    improved: bool = False
    refunded: bool = False
    asks: bool = False


class RepeatAllowed(TaskEvent, frozen=True, kw_only=True, tag="repeat_allowed"):
    """A person wants the same spec tried again after the same failure, on their word."""

    number: int
    by: str
    because: str


class BudgetRaised(TaskEvent, frozen=True, kw_only=True, tag="budget_raised"):
    """What holds for the Task from now on."""

    budget: Budget
    deadline_ms: int | None = None
    by: str
    because: str


class BudgetReserved(TaskEvent, frozen=True, kw_only=True, tag="budget_reserved"):
    """What an Attempt may use is set aside in each of these accounts, before it starts."""

    delivery_id: DeliveryId
    accounts: tuple[str, ...]
    amounts: Amounts


class BudgetSettled(TaskEvent, frozen=True, kw_only=True, tag="budget_settled"):
    """What was set aside is given back, and what was used is counted. Nothing is set aside in accounts that got their limits
    after the grant, nor for a late word of more that was used (`told`), which counts for an open Task as well."""

    delivery_id: DeliveryId
    accounts: tuple[str, ...]
    reserved: Amounts = Amounts()
    used: Amounts = Amounts()
    told: Usage | None = None


class BudgetExhausted(TaskEvent, frozen=True, kw_only=True, tag="budget_exhausted"):
    """No automatic Attempt follows `number`: nothing is left in these dimensions."""

    number: int
    dimensions: tuple[str, ...]


class TaskHeld(TaskEvent, frozen=True, kw_only=True, tag="task_held"):
    hold: Hold


class TaskReleased(TaskEvent, frozen=True, kw_only=True, tag="task_released"):
    because: str


class StopAdvanced(TaskEvent, frozen=True, kw_only=True, tag="stop_advanced"):
    """Attempt `number` is asked to end, and how far that has come; its Task goes on."""

    number: int
    step: CancelStep
    cause: StopCause
    by: str = ""
    because: str = ""
    dimensions: tuple[str, ...] = ()
    grace_ms: int = 0


class KeyTaken(TaskEvent, frozen=True, kw_only=True, tag="key_taken"):
    key: str


class KeyReleased(TaskEvent, frozen=True, kw_only=True, tag="key_released"):
    key: str


class Challenged(TaskEvent, frozen=True, kw_only=True, tag="challenged"):
    number: int
    about: About
    by: str
    because: str


class ChallengeAnswered(TaskEvent, frozen=True, kw_only=True, tag="challenge_answered"):
    number: int
    ruling: Ruling
    by: str
    because: str


class DependencyMoot(TaskEvent, frozen=True, kw_only=True, tag="dependency_moot"):
    """A Task that was to run only if `dependency` fails is not needed: that one completed."""

    dependency: TaskId


class DependencyWaived(TaskEvent, frozen=True, kw_only=True, tag="dependency_waived"):
    """A person lets the Task go on without `dependency`."""

    dependency: TaskId
    by: str
    because: str


class DeadlinePassed(TaskEvent, frozen=True, kw_only=True, tag="deadline_passed"):
    """The Task's deadline has come and it had not ended."""


RecoveryEvent = (
    RecoveryDecided
    | RepeatAllowed
    | BudgetRaised
    | BudgetReserved
    | BudgetSettled
    | BudgetExhausted
    | TaskHeld
    | TaskReleased
    | StopAdvanced
    | KeyTaken
    | KeyReleased
    | Challenged
    | ChallengeAnswered
    | DependencyMoot
    | DependencyWaived
    | DeadlinePassed
)
