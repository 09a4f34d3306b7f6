"""What may be asked of the record, and what it answers.

A command carries everything a decision may not make up: ids, secrets' digests, who asks. `decide` answers with a reply of this
module, or with a `Refusal` that names an error code of `tenure.errors`. Replies to a node's leg are never refusals of the
whole batch: each item gets its own.

`Proof` is what a fenced write proves: the Delivery, its fence, its token (as a digest), and the incarnation that speaks."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from tenure.core.access import Role
from tenure.core.attempt import Answer, Outcome, Usage, Verdict
from tenure.core.delivery import Progress
from tenure.core.desk_commands import Changes, DeskCommand
from tenure.core.effect_commands import EffectAnswer, EffectCommand
from tenure.core.ids import Address, ClaimId, DeliveryId, IncarnationId, NodeId, TaskId
from tenure.core.origin import Origin
from tenure.core.recipient import RecipientSpec
from tenure.core.schedule_commands import ScheduleCommand, ScheduleReply
from tenure.core.task import TaskSpec
from tenure.core.webhook import ReceiveWebhook, WebhookAnswer


class Refusal(Struct, frozen=True):
    """An expected no. `code` is a code of `tenure.errors`; nothing was recorded unless the decision says
    so."""

    code: str
    message: str
    facts: dict[str, Any] = {}


class Proof(Struct, frozen=True):
    delivery_id: DeliveryId
    fence: int
    token_digest: str
    incarnation: IncarnationId


# -- people and programs


class Submit(Struct, frozen=True):
    """Idempotent by (`by`, `idempotency_key`): the same key and spec return the recorded Task, another spec is refused."""

    task_id: TaskId
    spec: TaskSpec
    by: str
    idempotency_key: str


class Submitted(Struct, frozen=True):
    task_id: TaskId
    replayed: bool


class Cancel(Struct, frozen=True):
    """Idempotent: a second request changes nothing and is answered as the first. `tree`: whatever waits for this Task is
    to be canceled with it."""

    task_id: TaskId
    by: str
    because: str
    tree: bool = False


class CancelAnswer(Struct, frozen=True):
    task_id: TaskId
    step: str
    replayed: bool


class Retry(Struct, frozen=True):
    """A person's Attempt N+1 of a Task that waits for a person. Unknown Attempts are reconciled instead.

    `changes`: what it shall do otherwise. Without any, the same spec after the same failure is refused, unless `because`
    says why it should go better now: the person's word, which is recorded as such. To a question `because` is the answer.
    `number`, `verdict`, `ended`: the newest Attempt as it was read, how it had ended (None: it had not), whether its Task had.
    If that has gone on since, nothing is made; what this very word has made is told again. None: it is about what there is."""

    task_id: TaskId
    by: str
    because: str
    changes: Changes = Changes()
    number: int | None = None
    verdict: Verdict | None = None
    ended: bool | None = None


class Reconcile(Struct, frozen=True):
    """A person's answer to an unknown Attempt; `item_version` is the version of the attention item that was read.

    `tree_gone` is the person's own word that no process of the Attempt is left; it frees the slot."""

    task_id: TaskId
    number: int
    answer: Answer
    item_version: int
    by: str
    because: str
    late_id: str | None = None
    tree_gone: bool = False


class Reconciled(Struct, frozen=True):
    task_id: TaskId
    number: int
    answer: Answer
    successor: int | None = None


class CloseAttention(Struct, frozen=True):
    """A person has read an item that has no other answer; unknown Attempts and questions are answered by `Reconcile` and `Retry`."""

    item_id: str
    item_version: int
    by: str
    because: str


class IssueCredential(Struct, frozen=True):
    credential_id: str
    name: str
    role: Role
    token_digest: str
    by: str
    projects: tuple[str, ...] = ()
    because: str = ""


class RevokeCredential(Struct, frozen=True):
    credential_id: str
    by: str
    because: str = ""


class RotateCredential(Struct, frozen=True):
    """A new token takes the place of a live one, with its name, role and projects; the old one is refused from this commit
    on. Idempotent by `credential_id`, the id of the new one."""

    replaces: str
    credential_id: str
    token_digest: str
    by: str
    because: str = ""


class ForgetNode(Struct, frozen=True):
    """A person states that the machine is gone: its slots are freed and its credential is refused from now
    on."""

    node_id: NodeId
    by: str
    because: str


class ReleaseNode(Struct, frozen=True):
    """A person lifts a quarantine."""

    node_id: NodeId
    by: str
    because: str


class Done(Struct, frozen=True):
    """It is so now; `replayed` if it was so before."""

    replayed: bool = False


# -- nodes


class Enroll(Struct, frozen=True):
    """A new node under a name that no live node has."""

    node_id: NodeId
    name: str
    credential_digest: str
    by: str


class Enrolled(Struct, frozen=True):
    node_id: NodeId


class StartNode(Struct, frozen=True):
    """A start of a node's daemon. Idempotent by incarnation. `credential_digest`: of the secret that it is known by from now
    on; None leaves the one that it has. `generation`: which start it is, as the node's store counts them; 0: it does not say."""

    node_id: NodeId
    incarnation: IncarnationId
    boot_id: str
    contract: int
    platform: str
    version: str
    recipients: tuple[RecipientSpec, ...]
    credential_digest: str | None = None
    generation: int = 0


class Started(Struct, frozen=True):
    node_id: NodeId
    superseded: IncarnationId | None
    compatible: bool
    quarantined: bool


class Offer(Struct, frozen=True):
    """Ids and the token's digest for one grant that a claim may make; unused ones are thrown away."""

    delivery_id: DeliveryId
    token_digest: str


class Claim(Struct, frozen=True):
    """Ask for work. `free` is an upper bound per recipient; the hub subtracts its own open slots. Idempotent by `claim_id`."""

    node_id: NodeId
    incarnation: IncarnationId
    claim_id: ClaimId
    free: dict[Address, int]
    offers: tuple[Offer, ...]


class Claimed(Struct, frozen=True):
    """`look_again`: nothing was granted, but some were taken out of the queue that stood before others."""

    deliveries: tuple[DeliveryId, ...]
    replayed: bool = False
    look_again: bool = False


class Acknowledge(Struct, frozen=True):
    """The node's durable receipt, or (`refused`) its reason for not taking the Delivery. Idempotent by receipt and incarnation.
    `snapshot`: the number of the last one that its sender made; none up to it knows of what is received now."""

    proof: Proof
    receipt_digest: str
    refused: str | None = None
    snapshot: int = 0


class Renew(Struct, frozen=True):
    """Extend a lease. A counter that was heard before extends nothing."""

    proof: Proof
    counter: int
    progress: Progress
    usage: Usage
    started_at_ms: int | None = None


class Report(Struct, frozen=True):
    """The outcome. Idempotent by `digest`, the SHA-256 of the outcome's canonical JSON."""

    proof: Proof
    digest: str
    outcome: Outcome


class HandBack(Struct, frozen=True):
    """The node's stored proof that nothing of this Delivery was started."""

    proof: Proof
    detail: str


class LegAnswer(Struct, frozen=True):
    """The hub's word on one item of a leg.

    `answer`: `delivered`, `renewed`, `recorded`, `replayed`, `late`, `handed_back`, `refused`, or why not:
    `stale_fence`, `lease_expired`, `blocked`, `canceled`, `other_incarnation`. `term_ms` is set when a term
    was granted, counted from the sending of the request that earned it."""

    delivery_id: DeliveryId
    answer: str
    term_ms: int | None = None
    cancel: bool = False
    cancel_grace_ms: int | None = None


class Holding(Struct, frozen=True):
    """One Delivery as a node's own store has it. `stage` is one of `mirrored`, `acknowledged`, `started`,
    `ended`, `closed`."""

    delivery_id: DeliveryId
    fence: int
    stage: str
    tree_gone: bool


class Snapshot(Struct, frozen=True):
    """Everything a node's store says, numbered within its incarnation; one that is not newer than the last
    heard is ignored."""

    node_id: NodeId
    incarnation: IncarnationId
    sequence: int
    holdings: tuple[Holding, ...]


class SnapshotAnswer(Struct, frozen=True):
    """For each Delivery named: `go_on`, `stop`, `report` or `close`. `ignored` if the snapshot was old.
    Nothing here extends a lease."""

    ignored: bool
    advice: dict[DeliveryId, str]


# -- time and the hub itself


class Due(Struct, frozen=True):
    """Time may have changed something for this Delivery. Safe to repeat; judged by the clock of the
    commit."""

    delivery_id: DeliveryId


class DueAnswer(Struct, frozen=True):
    what: str


class ReleaseDependent(Struct, frozen=True):
    """A Task that `task_id` may wait for has ended. Safe to repeat."""

    task_id: TaskId
    dependency: TaskId


class StartHub(Struct, frozen=True):
    incarnation: IncarnationId
    version: str


class NoteClockStep(Struct, frozen=True):
    """The wall clock moved against the running clock by `step_ms` within one tick."""

    step_ms: int


class Said(Struct, frozen=True):
    """A person's command and where it came from. `within`: the projects that the token is bound to, if to any."""

    command: Command
    origin: Origin
    within: tuple[str, ...] = ()


Command = (
    Said
    | Submit
    | Cancel
    | Retry
    | Reconcile
    | CloseAttention
    | IssueCredential
    | RevokeCredential
    | RotateCredential
    | ForgetNode
    | ReleaseNode
    | Enroll
    | StartNode
    | Claim
    | Acknowledge
    | Renew
    | Report
    | HandBack
    | Snapshot
    | Due
    | ReleaseDependent
    | StartHub
    | NoteClockStep
    | EffectCommand
    | DeskCommand
    | ReceiveWebhook
    | ScheduleCommand
)

Reply = (
    Submitted
    | CancelAnswer
    | Reconciled
    | Done
    | Enrolled
    | Started
    | Claimed
    | LegAnswer
    | SnapshotAnswer
    | DueAnswer
    | EffectAnswer
    | WebhookAnswer
    | ScheduleReply
    | Refusal
)
