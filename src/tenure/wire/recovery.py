"""Bodies of the API about what becomes of a Task that did not go well: holds, stops, challenges, hypotheses, budgets,
cancellation and another try."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from tenure.core.attempt import Verdict
from tenure.core.budget import Budget
from tenure.core.review import About
from tenure.core.scope import Scope
from tenure.core.task import TERMINAL_TASK_STATES, Check, TaskState
from tenure.wire.body import Answered, Asked


class HoldBody(Answered, frozen=True, kw_only=True):
    """What keeps a Task out of its queue. `kind`: `configuration`, `budget`, `key` or `review`; `subject`: what it hangs
    on."""

    kind: str
    subject: str
    because: str


class StopBody(Answered, frozen=True, kw_only=True):
    """How far the stopping of one Attempt has come. `cause`: `person`, `budget` or `deadline`."""

    number: int
    step: str
    cause: str
    because: str
    by: str
    requested_at: str
    dimensions: tuple[str, ...]


class ReviewBody(Answered, frozen=True, kw_only=True):
    """The last challenge of a Task. `ruling`: null while it is open, then `upheld` or `dismissed`."""

    number: int
    about: str
    by: str
    because: str
    challenged_at: str
    ruling: str | None
    answered_by: str | None
    answer_because: str | None
    answered_at: str | None


class UsedBody(Answered, frozen=True, kw_only=True):
    """What a Task has used so far, as it was settled. `attempts`: those that count; `refunded`: those that do not.
    `repeats`: how often the most frequent failure came. `rounds`: automatic Attempts in a row that were no better."""

    attempts: int
    refunded: int
    wall_s: float
    cost_usd_micros: int
    tokens: int
    tool_calls: int
    repeats: int
    interruptions: int
    rounds: int


class BudgetBody(Answered, frozen=True, kw_only=True):
    """What a Task may use; null: not limited. `repeats`: how often one failure may come. `interruptions`: how often people
    may be asked. `rounds`: automatic Attempts in a row without measurable improvement. `deadline_s`: its deadline, from its
    submission."""

    attempts: int | None = None
    wall_s: int | None = None
    cost_usd_micros: int | None = None
    tokens: int | None = None
    tool_calls: int | None = None
    repeats: int | None = None
    interruptions: int | None = None
    rounds: int | None = None
    deadline_s: int | None = None


class ChangeBody(Answered, frozen=True, kw_only=True):
    """`what`: `input`, `environment`, `plan`, `implementation`, `configuration`, `authority` or `base`. Of a base the
    commits themselves, of anything else the digests of it."""

    what: str
    before: str
    after: str


class HypothesisBody(Answered, frozen=True, kw_only=True):
    """Why an Attempt should go better than the one that it follows. `by`: a person, or `policy:NAME/VERSION`.
    `transient`: the cause passes by itself. `override`: the same again, on a person's word."""

    because: str
    by: str
    changes: tuple[ChangeBody, ...]
    before_digest: str
    after_digest: str
    transient: bool
    override: bool


class ShareBody(Answered, frozen=True, kw_only=True):
    """What one Attempt may use at most; null: no limit."""

    wall_s: float | None
    cost_usd_micros: int | None
    tokens: int | None
    tool_calls: int | None


class CancelRequest(Asked, omit_defaults=True, frozen=True, kw_only=True):
    """`tree`: with it all Tasks that wait for it, and those that wait for them. `number`: this Attempt alone; its Task then
    waits for what a person says next."""

    because: str = ""
    tree: bool = False
    number: int | None = None


class CancelResult(Answered, frozen=True, kw_only=True):
    """One Task of a tree. `step`: how far its cancellation has come; else `error` says why there is none."""

    task_id: str
    step: str | None = None
    replayed: bool = False
    error: dict[str, Any] | None = None


class CancelReply(Answered, frozen=True, kw_only=True):
    """`step`: how far it has come; null for a Task that had ended before (of a tree the others are canceled even so).
    `tree`: one result for each Task, the named one first. `more`: there are more than were looked at; what waits for a
    canceled one is canceled when that one ends."""

    task_id: str
    step: str | None
    replayed: bool
    number: int | None = None
    tree: tuple[CancelResult, ...] = ()
    more: bool = False


class ChangesRequest(Asked, omit_defaults=True, frozen=True, kw_only=True):
    """What another try shall do otherwise; what is left out stays. `add` is appended to the objective. `elsewhere`: on
    another recipient of the same route."""

    objective: str | None = None
    add: str | None = None
    base_sha: str | None = None
    to: str | None = None
    harness: str | None = None
    model: str | None = None
    command: tuple[str, ...] | None = None
    timeout_s: int | None = None
    checks: tuple[Check, ...] | None = None
    scope: Scope | None = None
    elsewhere: bool = False


class RetryRequest(Asked, omit_defaults=True, frozen=True, kw_only=True):
    """Another try: with changes, or for a person's reason, which is then recorded as their word. To a question `because`
    is the answer. `number` and `verdict`: the newest Attempt as you read it, `ended`: whether its Task had; if that has gone on
    since, nothing is done."""

    because: str = ""
    changes: ChangesRequest = ChangesRequest()
    number: int | None = None
    verdict: Verdict | None = None
    ended: bool | None = None

    def about(self, number: int, verdict: str | None, state: str) -> RetryRequest:
        """The same, about the newest Attempt as it was read. `verdict`: as the API tells it; None while it had not ended. `state`:
        of its Task."""
        how = None if verdict is None else Verdict(verdict)
        return replace(self, number=number, verdict=how, ended=TaskState(state) in TERMINAL_TASK_STATES)


class RetryReply(Answered, frozen=True, kw_only=True):
    task_id: str
    number: int
    continues: str | None = None


class RaiseRequest(Asked, omit_defaults=True, frozen=True, kw_only=True):
    """What is added to a Task's limits, and its new deadline. `limits`: the Task's own limits as you read them; if it has others
    by now, nothing is added."""

    because: str
    more: Budget = Budget()
    deadline_at: str | None = None
    limits: Budget | None = None


class ChallengeRequest(Asked, frozen=True, kw_only=True):
    """A person doubts what an ended Attempt says of itself."""

    number: int
    about: About
    because: str
