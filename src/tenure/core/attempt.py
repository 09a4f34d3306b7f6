"""The Attempt: number N of a Task, a frozen spec, and a verdict once it has ended.

`pending → leased → delivered → ended`; `leased → pending` when the grant is voided un-acknowledged;
`delivered` or `suspect → pending` when the node hands the Delivery back with proof that nothing was started;
`delivered → suspect` at expiry, `suspect → delivered` by a renewal.

An ended Attempt never changes. The four columns that begin with `answer` stand beside it: what a person
decided about an unknown verdict. Harness and model are frozen when the spec names them, else by the first
grant; after that no grant may differ."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from tenure.core.budget import Share
from tenure.core.failure import FailureClass
from tenure.core.ids import Address, AttemptId, DeliveryId, TaskId
from tenure.core.scope import Scope
from tenure.core.task import Check, Reference
from tenure.core.usage import Usage


class AttemptState(StrEnum):
    PENDING = "pending"
    LEASED = "leased"
    DELIVERED = "delivered"
    SUSPECT = "suspect"
    ENDED = "ended"


ATTEMPT_TRANSITIONS: dict[AttemptState, frozenset[AttemptState]] = {
    AttemptState.PENDING: frozenset({AttemptState.LEASED, AttemptState.ENDED}),
    AttemptState.LEASED: frozenset({AttemptState.PENDING, AttemptState.DELIVERED}),
    AttemptState.DELIVERED: frozenset({AttemptState.PENDING, AttemptState.SUSPECT, AttemptState.ENDED}),
    AttemptState.SUSPECT: frozenset({AttemptState.PENDING, AttemptState.DELIVERED, AttemptState.ENDED}),
    AttemptState.ENDED: frozenset(),
}


class Verdict(StrEnum):
    COMPLETED = "completed"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    CANCELED = "canceled"
    ASKED = "asked"
    UNKNOWN = "unknown"


class Answer(StrEnum):
    """What a person may say of an unknown Attempt. All but `investigate` are final."""

    RERUN = "rerun"
    ACCEPT = "accept"
    RETIRE = "retire"
    INVESTIGATE = "investigate"


ANSWER_TRANSITIONS: dict[Answer | None, frozenset[Answer]] = {
    None: frozenset(Answer),
    Answer.INVESTIGATE: frozenset({Answer.INVESTIGATE, Answer.RERUN, Answer.ACCEPT, Answer.RETIRE}),
    Answer.RERUN: frozenset(),
    Answer.ACCEPT: frozenset(),
    Answer.RETIRE: frozenset(),
}

FINAL_ANSWERS = frozenset(answer for answer in Answer if not ANSWER_TRANSITIONS[answer])


class Relation(StrEnum):
    """How an Attempt relates to the one it follows."""

    RETRY = "retry"
    RESUME = "resume"
    REBASE = "rebase"
    REPLAN = "replan"
    TAKEOVER = "takeover"


class ChangeKind(StrEnum):
    """What an Attempt can change against the one it follows."""

    INPUT = "input"
    ENVIRONMENT = "environment"
    PLAN = "plan"
    IMPLEMENTATION = "implementation"
    CONFIGURATION = "configuration"
    AUTHORITY = "authority"
    BASE = "base"


class Change(Struct, frozen=True, forbid_unknown_fields=True):
    """One thing that changes, with the digests of it before and after (of a base: the commits themselves)."""

    what: ChangeKind
    before: str
    after: str


class Hypothesis(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What this Attempt changes and why that should help: the reason, who gave it (a person, or `policy:NAME/VERSION`),
    and the spec digests before and after.

    `transient`: the cause passes by itself, so the same spec is tried again. `override`: a person wants the same spec
    tried again after the same failure, on their word."""

    because: str
    by: str
    before_digest: str
    after_digest: str
    changes: tuple[Change, ...] = ()
    transient: bool = False
    override: bool = False


class AttemptSpec(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The frozen spec of one Attempt. `spec_digest` is the SHA-256 of its canonical JSON.

    `policy` is the key (`default/2`) of the failure policy that its end is judged by. `route` stands where it differs
    from the Task's; `pin` is the recipient that has its session; `avoid` are recipients that it must not go to. `feedback` is
    what the harness is told after the objective: the output of the checks that the Attempt before did not pass.
    `session_id`: the harness's session to be resumed. `share`: what it may use."""

    objective: str
    policy: str
    repository: str | None = None
    base_sha: str | None = None
    worktree: str = "fresh"
    command: tuple[str, ...] | None = None
    context: tuple[Reference, ...] = ()
    checks: tuple[Check, ...] = ()
    timeout_s: int | None = None
    harness: str | None = None
    model: str | None = None
    follows: int | None = None
    relation: Relation | None = None
    failure_class: FailureClass | None = None
    hypothesis: Hypothesis | None = None
    scope: Scope | None = None
    route: str | None = None
    pin: Address | None = None
    avoid: tuple[Address, ...] = ()
    feedback: str | None = None
    session_id: str | None = None
    share: Share | None = None

    def goes_to(self, asked: str) -> str:
        """Where it goes; `asked` is its Task's own route."""
        return self.pin or self.route or asked


class Outcome(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a node reports of an ended Attempt. `evidence` is JSON text as the node wrote it, within
    `limits.EVIDENCE_BYTES`.

    `tree_gone` is the node's word that no process of the Attempt is left; it frees the recipient's slot.
    """

    verdict: Verdict
    summary: str = ""
    failure_class: FailureClass | None = None
    failure_rule: str | None = None
    evidence: str = "{}"
    usage: Usage = Usage()
    session_id: str | None = None
    head_sha: str | None = None
    tree_gone: bool = False


class Attempt(Struct, frozen=True):
    """An Attempt as it stands."""

    attempt_id: AttemptId
    task_id: TaskId
    number: int
    spec: AttemptSpec
    spec_digest: str
    state: AttemptState
    harness: str | None
    model: str | None
    last_delivery: DeliveryId | None
    created_at_ms: int
    started_at_ms: int | None
    ended_at_ms: int | None
    verdict: Verdict | None
    outcome: Outcome | None
    answer: Answer | None
    answer_because: str | None
    answer_by: str | None
    answer_at_ms: int | None

    @property
    def key(self) -> str:
        return self.attempt_id

    @property
    def is_open_unknown(self) -> bool:
        """Is the outcome unknown and not finally answered?"""
        return self.verdict is Verdict.UNKNOWN and self.answer not in FINAL_ANSWERS

    @property
    def is_settled_unknown(self) -> bool:
        """Is the outcome unknown, and has it its final answer?"""
        return self.verdict is Verdict.UNKNOWN and self.answer in FINAL_ANSWERS
