"""The public API's bodies (`/v1`), as JSON. Times are RFC 3339 in UTC (`…_at`), durations seconds (`…_s`),
money micro-dollars (`…_usd_micros`)."""

from __future__ import annotations

from typing import Any

from msgspec import Raw

from tenure.core.budget import Budget
from tenure.core.scope import Scope
from tenure.core.task import Check, Reference
from tenure.wire.accounts import PausedBody
from tenure.wire.body import Answered, Asked
from tenure.wire.recovery import (
    BudgetBody,
    HoldBody,
    HypothesisBody,
    ReviewBody,
    ShareBody,
    StopBody,
    UsedBody,
)


class TaskRequest(Asked, omit_defaults=True, frozen=True, kw_only=True):
    """A Task to submit. `to` is a recipient, its bare name, or a pool. `after` names Tasks, or `key:KEY` for
    one of the caller's own keys (also of the same batch): it starts when each of them has completed. Of those in
    `after_failure` each must have ended otherwise, of those in `after_end` in whichever way. `not_before_at` and
    `deadline_at` are RFC 3339. `scope`: what its Attempts may do outside. `approval`: a person must allow the first of them.
    `priority`: -10 to 10. `concurrency_key`: of all Tasks with the same one only one runs at a time. `policy`: the failure
    policy's name. `budget`: what it may use; a limit that is left out is its project's, else the hub's."""

    objective: str
    to: str
    repository: str | None = None
    base_sha: str | None = None
    command: tuple[str, ...] | None = None
    context: tuple[Reference, ...] = ()
    checks: tuple[Check, ...] = ()
    after: tuple[str, ...] = ()
    not_before_at: str | None = None
    timeout_s: int | None = None
    harness: str | None = None
    model: str | None = None
    continues: str | None = None
    because: str | None = None
    labels: dict[str, str] = {}  # noqa: RUF012 - msgspec makes a new one each time
    scope: Scope | None = None
    approval: bool = False
    after_failure: tuple[str, ...] = ()
    after_end: tuple[str, ...] = ()
    deadline_at: str | None = None
    project: str | None = None
    priority: int = 0
    concurrency_key: str | None = None
    policy: str | None = None
    budget: Budget | None = None


class BatchItem(Asked, omit_defaults=True, frozen=True, kw_only=True):
    key: str
    task: TaskRequest


class BatchRequest(Asked, frozen=True, kw_only=True):
    """Up to 500 Tasks, each with its own key and its own result."""

    items: tuple[BatchItem, ...]


class Reason(Answered, frozen=True, kw_only=True):
    """Why a Task is where it is. `code` is stable, `sentence` is for people, `until_at` says when time alone
    will end it."""

    code: str
    sentence: str
    rule: str | None = None
    until_at: str | None = None
    blocker: str | None = None


class CheckBody(Answered, frozen=True, kw_only=True):
    name: str
    argv: tuple[str, ...]
    timeout_s: int | None = None


class ScopeBody(Answered, frozen=True, kw_only=True):
    """What a Task's Attempts may do outside."""

    kinds: tuple[str, ...]
    targets: tuple[str, ...]
    branches: tuple[str, ...]
    paths: tuple[str, ...]
    approval: tuple[str, ...]
    most: int


class TaskBody(Answered, frozen=True, kw_only=True):
    """A Task as it stands. `policy`: the failure policy (`NAME/VERSION`) that the end of its newest Attempt is judged by.
    `budget`: what holds for it, `used` and `left` what of it is used and left, for each limit that there is. `hold`: what keeps
    it out of its queue. `stop`: how far the stopping of an Attempt has come. `review`: its last challenge."""

    task_id: str
    state: str
    objective: str
    to: str
    repository: str | None
    base_sha: str | None
    command: tuple[str, ...] | None
    checks: tuple[CheckBody, ...]
    after: tuple[str, ...]
    not_before_at: str | None
    timeout_s: int | None
    continues: str | None
    labels: dict[str, str]
    attempts: int
    fence: int
    submitted_by: str
    submitted_at: str
    ended_at: str | None
    end_reason: str | None
    cancel_step: str | None
    cancel_because: str | None
    spec_digest: str
    why: Reason
    replayed: bool = False
    scope: ScopeBody | None = None
    open_effects: tuple[str, ...] = ()
    after_failure: tuple[str, ...] = ()
    after_end: tuple[str, ...] = ()
    deadline_at: str | None = None
    project: str = "default"
    priority: int = 0
    concurrency_key: str | None = None
    policy: str | None = None
    budget: BudgetBody = BudgetBody()
    used: UsedBody | None = None
    left: dict[str, int] = {}  # noqa: RUF012 - msgspec makes a new one each time
    hold: HoldBody | None = None
    stop: StopBody | None = None
    review: ReviewBody | None = None


class BatchResult(Answered, frozen=True, kw_only=True):
    """`task_id` if it was taken (or had been before), else `error` as a problem body."""

    key: str
    task_id: str | None = None
    replayed: bool = False
    error: dict[str, Any] | None = None


class BatchReply(Answered, frozen=True, kw_only=True):
    results: tuple[BatchResult, ...]


class TaskPage(Answered, frozen=True, kw_only=True):
    tasks: tuple[TaskBody, ...]
    next_cursor: str | None


class LateBody(Answered, frozen=True, kw_only=True):
    late_id: str
    kind: str
    fence: int
    verdict: str | None
    summary: str
    heard_at: str


class DeliveryBody(Answered, frozen=True, kw_only=True):
    delivery_id: str
    recipient: str
    node: str
    state: str
    fence: int
    claimed_at: str
    acknowledged_at: str | None
    renewed_at: str | None
    suspect_at: str | None
    ended_at: str | None
    revoked_at: str | None
    end_reason: str | None
    slot: bool
    progress: dict[str, Any]
    late: tuple[LateBody, ...]
    isolation: str | None = None
    timeout_s: int | None = None


class AttemptBody(Answered, frozen=True, kw_only=True):
    """An Attempt. `follows`: the number of the one before it, `relation` how it relates to that one (`retry`, `resume`,
    `rebase`, `replan`, `takeover`), `hypothesis` what it changes and why. `feedback`: what its harness is told of the one
    before. `policy`: what its end is judged by. `share`: what it may use."""

    attempt_id: str
    number: int
    state: str
    verdict: str | None
    failure_class: str | None
    failure_rule: str | None
    summary: str
    recipient: str | None
    harness: str | None
    model: str | None
    base_sha: str | None
    head_sha: str | None
    spec_digest: str
    because: str | None
    created_at: str
    started_at: str | None
    ended_at: str | None
    usage: dict[str, Any]
    evidence: Raw
    answer: str | None
    answer_because: str | None
    answer_by: str | None
    offered_answers: dict[str, str]
    item_version: int | None
    deliveries: tuple[DeliveryBody, ...]
    relation: str | None = None
    follows: int | None = None
    hypothesis: HypothesisBody | None = None
    feedback: str | None = None
    policy: str | None = None
    share: ShareBody | None = None
    to: str | None = None
    avoid: tuple[str, ...] = ()
    timeout_s: int | None = None


class AttemptPage(Answered, frozen=True, kw_only=True):
    attempts: tuple[AttemptBody, ...]


class EventBody(Answered, frozen=True, kw_only=True):
    """An event of the record. `seq` is its place among all, `version` its place in its stream (a Task's, a
    node's, the hub's)."""

    seq: int
    stream: str
    version: int
    at: str
    kind: str
    body: Raw
    hash: str


class EventPage(Answered, frozen=True, kw_only=True):
    events: tuple[EventBody, ...]
    next_after: int


class ReconcileBody(Asked, omit_defaults=True, frozen=True, kw_only=True):
    """An answer to an unknown Attempt; `item_version` as shown with the Attempt. `late_id` with `accept`."""

    answer: str
    because: str
    item_version: int
    late_id: str | None = None
    tree_gone: bool = False


class ReconcileReplyBody(Answered, frozen=True, kw_only=True):
    task_id: str
    number: int
    answer: str
    successor: int | None


class RecipientBody(Answered, frozen=True, kw_only=True):
    """`provider`: whose quota it draws on. `resumes`: its harness can go on with a session. `circuit_until_at`: until when it
    is left alone, because its provider has no room. `paused`: nothing new starts there; its node's pause stands with the
    node."""

    address: str
    node: str
    harness: str
    model: str | None
    pools: tuple[str, ...]
    capacity: int
    slots_used: int
    isolation: str
    blocked_by: tuple[str, ...]
    available: bool
    why: str
    provider: str | None = None
    resumes: bool = False
    paused: PausedBody | None = None
    circuit_until_at: str | None = None


class NodeBody(Answered, frozen=True, kw_only=True):
    node_id: str
    name: str
    incarnation: str
    contract: int
    compatible: bool
    quarantined: bool
    revoked: bool
    platform: str
    version: str
    enrolled_at: str
    started_at: str
    last_seen_at: str | None
    recipients: tuple[str, ...]
    paused: PausedBody | None = None


class ReasonRequest(Asked, frozen=True, kw_only=True):
    because: str


class TokenRequest(Asked, frozen=True, kw_only=True):
    """`projects`: what the token is bound to; none for all."""

    name: str
    role: str
    projects: tuple[str, ...] = ()
    because: str = ""


class TokenChangeRequest(Asked, frozen=True, kw_only=True):
    because: str = ""


class TokenRotateRequest(Asked, frozen=True, kw_only=True):
    """`token`: the new one, made by whoever asks, so that they have it before the hub does and may ask again: `tnr_` and
    43 to 128 letters, digits, `-` and `_`, of 32 random bytes or more. Without it the hub makes one."""

    because: str = ""
    token: str | None = None


class TokenReply(Answered, frozen=True, kw_only=True):
    """The token is shown this once; only its digest is kept. `replayed`: it had been made before."""

    credential_id: str
    name: str
    role: str
    token: str
    projects: tuple[str, ...] = ()
    replayed: bool = False


class TokenBody(Answered, frozen=True, kw_only=True):
    """`yours`: it is the one that this was asked with."""

    credential_id: str
    name: str
    role: str
    issued_at: str
    issued_by: str
    revoked_at: str | None
    projects: tuple[str, ...] = ()
    yours: bool = False


class HealthBody(Answered, frozen=True, kw_only=True):
    """`incarnation` is this start of the hub."""

    ok: bool
    version: str
    incarnation: str
    contract: int
    started_at: str


class Problem(Answered, frozen=True, kw_only=True):
    """RFC 9457. `code` is stable and names what `tenure.errors` calls it; `facts` are what the sentence says,
    for programs."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    retryable: bool
    facts: dict[str, Any]
