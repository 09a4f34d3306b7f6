"""What can have happened. Events are the record; every table is what `evolve` makes of them.

An event says what its decision fixed and nothing that `evolve` can derive. It belongs to one stream: a
Task's, a node's, or the hub's. The instant, the sequence and the hashes stand around it in the ledger, not in
it. Fields are only ever added, with a default."""

from __future__ import annotations

from tenure.core.access import Role
from tenure.core.attempt import Answer, AttemptSpec, Outcome, Usage
from tenure.core.attention import AttentionKind
from tenure.core.budget import Budget
from tenure.core.delivery import Progress
from tenure.core.desk_events import DeskEvent
from tenure.core.effect_events import EffectEvent
from tenure.core.ids import Address, ClaimId, DeliveryId, IncarnationId, NodeId, TaskId
from tenure.core.late import LateKind
from tenure.core.recipient import RecipientSpec
from tenure.core.recovery_events import RecoveryEvent
from tenure.core.schedule_events import ScheduleEvent
from tenure.core.stream import HubEvent, NodeEvent, TaskEvent
from tenure.core.task import CancelStep, TaskSpec, TaskState
from tenure.core.webhook_events import WebhookEvent

BEFORE_BUDGETS = Budget(attempts=5, repeats=3, interruptions=20, rounds=4)
"""What holds for Tasks of records that do not name a budget. It never changes, whatever becomes of `DEFAULT_BUDGET`."""


class TaskSubmitted(TaskEvent, frozen=True, kw_only=True, tag="task_submitted"):
    """`project`: the account that counts it; None in records of before there were any."""

    spec: TaskSpec
    by: str
    idempotency_key: str
    waits_for: tuple[TaskId, ...] = ()
    failed_dependencies: tuple[TaskId, ...] = ()
    lineage: tuple[TaskId, ...] = ()
    budget: Budget = BEFORE_BUDGETS
    project: str | None = None


class AttemptCreated(TaskEvent, frozen=True, kw_only=True, tag="attempt_created"):
    number: int
    spec: AttemptSpec
    spec_digest: str
    ready_at_ms: int | None = None


class DependencyCompleted(TaskEvent, frozen=True, kw_only=True, tag="dependency_completed"):
    """`dependency` is satisfied, by itself or by `through`, a Task that continues it."""

    dependency: TaskId
    through: TaskId


class DependencyFailed(TaskEvent, frozen=True, kw_only=True, tag="dependency_failed"):
    dependency: TaskId
    state: TaskState


class DeliveryGranted(TaskEvent, frozen=True, kw_only=True, tag="delivery_granted"):
    number: int
    delivery_id: DeliveryId
    recipient: Address
    node_id: NodeId
    claim_id: ClaimId
    incarnation: IncarnationId
    fence: int
    token_digest: str
    harness: str
    model: str | None = None
    isolation: str | None = None
    timeout_s: int | None = None
    config_digest: str | None = None
    turns: float | None = None
    term_ms: int


class GrantVoided(TaskEvent, frozen=True, kw_only=True, tag="grant_voided"):
    """An un-acknowledged grant is taken back: nothing was started, the same Attempt may be offered again."""

    delivery_id: DeliveryId
    fence: int
    reason: str
    detail: str = ""


class DeliveryAcknowledged(TaskEvent, frozen=True, kw_only=True, tag="delivery_acknowledged"):
    """`snapshot`: no snapshot up to this number counts any more; 0: nothing is known of any."""

    delivery_id: DeliveryId
    incarnation: IncarnationId
    receipt_digest: str
    term_ms: int
    boot_id: str | None = None
    snapshot: int = 0


class AttemptStarted(TaskEvent, frozen=True, kw_only=True, tag="attempt_started"):
    """The node started the harness at `started_at_ms` of its own clock."""

    number: int
    delivery_id: DeliveryId
    started_at_ms: int


class LeaseRenewed(TaskEvent, frozen=True, kw_only=True, tag="lease_renewed"):
    """`advanced` says whether any signal of progress grew since the renewal before."""

    delivery_id: DeliveryId
    counter: int
    term_ms: int
    advanced: bool
    progress: Progress = Progress()
    usage: Usage = Usage()


class LeaseExpired(TaskEvent, frozen=True, kw_only=True, tag="lease_expired"):
    delivery_id: DeliveryId
    grace_ms: int


class DeliveryDenied(TaskEvent, frozen=True, kw_only=True, tag="delivery_denied"):
    """The node does not know a Delivery whose receipt was accepted. It proves nothing; it explains a later
    `unknown`."""

    delivery_id: DeliveryId


class HandedBack(TaskEvent, frozen=True, kw_only=True, tag="handed_back"):
    """The node proved from its store that nothing was started."""

    delivery_id: DeliveryId
    fence: int
    detail: str = ""


class ReportRecorded(TaskEvent, frozen=True, kw_only=True, tag="report_recorded"):
    """`counted`: what it used is added to what its Task has used; in records of before budgets it was not."""

    number: int
    delivery_id: DeliveryId
    fence: int
    digest: str
    outcome: Outcome
    counted: bool = False


class LeaseRevoked(TaskEvent, frozen=True, kw_only=True, tag="lease_revoked"):
    """Fence, verdict `unknown`, block and end of the lease in one: no answer came within the grace."""

    number: int
    delivery_id: DeliveryId
    fence: int
    reason: str
    counted: bool = False


class AttemptApproved(TaskEvent, frozen=True, kw_only=True, tag="attempt_approved"):
    """A person allows an Attempt that had to be asked for."""

    number: int
    by: str
    because: str


class AttemptWithdrawn(TaskEvent, frozen=True, kw_only=True, tag="attempt_withdrawn"):
    """A pending Attempt of a canceled Task ends `canceled`; it was never handed to anybody."""

    number: int


class LateHeard(TaskEvent, frozen=True, kw_only=True, tag="late_heard"):
    delivery_id: DeliveryId
    number: int
    kind: LateKind
    digest: str
    claimed_fence: int
    incarnation: IncarnationId
    outcome: Outcome | None = None


class SlotFreed(TaskEvent, frozen=True, kw_only=True, tag="slot_freed"):
    delivery_id: DeliveryId
    reason: str
    by: str = ""


class CancelAdvanced(TaskEvent, frozen=True, kw_only=True, tag="cancel_advanced"):
    """`tree`: what waits for the Task is canceled with it."""

    step: CancelStep
    by: str = ""
    because: str = ""
    grace_ms: int = 0
    tree: bool = False


class AttemptReconciled(TaskEvent, frozen=True, kw_only=True, tag="attempt_reconciled"):
    number: int
    answer: Answer
    by: str
    because: str
    late_id: str | None = None


class TaskEnded(TaskEvent, frozen=True, kw_only=True, tag="task_ended"):
    state: TaskState
    reason: str


class TaskAttentionOpened(TaskEvent, frozen=True, kw_only=True, tag="attention_opened"):
    kind: AttentionKind
    subject: str
    summary: str
    facts: str = "{}"
    counted: bool = False


class TaskAttentionClosed(TaskEvent, frozen=True, kw_only=True, tag="attention_closed"):
    kind: AttentionKind
    subject: str
    because: str
    by: str | None = None


class NodeEnrolled(NodeEvent, frozen=True, kw_only=True, tag="node_enrolled"):
    name: str
    credential_digest: str
    by: str


class NodeStarted(NodeEvent, frozen=True, kw_only=True, tag="node_started"):
    """A new incarnation; it supersedes the one before. `generation`: as in `StartNode`."""

    incarnation: IncarnationId
    boot_id: str
    contract: int
    compatible: bool
    platform: str
    version: str
    recipients: tuple[RecipientSpec, ...]
    generation: int = 0


class NodeCredentialRenewed(NodeEvent, frozen=True, kw_only=True, tag="node_credential_renewed"):
    """The node itself has put a new secret in the place of its old one, which is refused from the next request on."""

    credential_digest: str


class NodeQuarantined(NodeEvent, frozen=True, kw_only=True, tag="node_quarantined"):
    because: str


class NodeReleased(NodeEvent, frozen=True, kw_only=True, tag="node_released"):
    by: str
    because: str


class NodeRevoked(NodeEvent, frozen=True, kw_only=True, tag="node_revoked"):
    """The credential is refused from the next request on, and the machine counts as gone."""

    by: str
    because: str


class SnapshotHeard(NodeEvent, frozen=True, kw_only=True, tag="snapshot_heard"):
    incarnation: IncarnationId
    sequence: int


class NodeAttentionOpened(NodeEvent, frozen=True, kw_only=True, tag="node_attention_opened"):
    kind: AttentionKind
    subject: str
    summary: str
    facts: str = "{}"


class NodeAttentionClosed(NodeEvent, frozen=True, kw_only=True, tag="node_attention_closed"):
    kind: AttentionKind
    subject: str
    because: str
    by: str | None = None


class HubStarted(HubEvent, frozen=True, kw_only=True, tag="hub_started"):
    incarnation: IncarnationId
    version: str


class CredentialIssued(HubEvent, frozen=True, kw_only=True, tag="credential_issued"):
    credential_id: str
    name: str
    role: Role
    token_digest: str
    by: str
    projects: tuple[str, ...] = ()
    because: str = ""
    replaces: str | None = None


class CredentialRevoked(HubEvent, frozen=True, kw_only=True, tag="credential_revoked"):
    credential_id: str
    by: str
    because: str = ""


class HubAttentionOpened(HubEvent, frozen=True, kw_only=True, tag="hub_attention_opened"):
    kind: AttentionKind
    subject: str
    summary: str
    facts: str = "{}"


class HubAttentionClosed(HubEvent, frozen=True, kw_only=True, tag="hub_attention_closed"):
    kind: AttentionKind
    subject: str
    because: str
    by: str | None = None


AttentionOpened = TaskAttentionOpened | NodeAttentionOpened | HubAttentionOpened
AttentionClosed = TaskAttentionClosed | NodeAttentionClosed | HubAttentionClosed

Event = (
    TaskSubmitted
    | AttemptCreated
    | DependencyCompleted
    | DependencyFailed
    | DeliveryGranted
    | GrantVoided
    | DeliveryAcknowledged
    | AttemptStarted
    | LeaseRenewed
    | LeaseExpired
    | DeliveryDenied
    | HandedBack
    | ReportRecorded
    | LeaseRevoked
    | AttemptApproved
    | AttemptWithdrawn
    | LateHeard
    | SlotFreed
    | CancelAdvanced
    | AttemptReconciled
    | TaskEnded
    | TaskAttentionOpened
    | TaskAttentionClosed
    | NodeEnrolled
    | NodeStarted
    | NodeCredentialRenewed
    | NodeQuarantined
    | NodeReleased
    | NodeRevoked
    | SnapshotHeard
    | NodeAttentionOpened
    | NodeAttentionClosed
    | HubStarted
    | CredentialIssued
    | CredentialRevoked
    | HubAttentionOpened
    | HubAttentionClosed
    | RecoveryEvent
    | DeskEvent
    | EffectEvent
    | WebhookEvent
    | ScheduleEvent
)
