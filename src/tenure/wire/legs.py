"""The legs: what node and hub say to each other (contract version 1).

`POST /v1/node/…`, JSON, batched, safe to repeat. Every request but `enroll` carries the node's credential as
a bearer token, its incarnation in the body, and the header `Tenure-Contract`. A reply answers item by item in
the order of the request; a whole request is refused only when its sender may not speak: `unauthenticated`,
`superseded`, `contract_version`, `invalid`.

Durations are seconds. `ttl_s` counts from the *sending* of the request that earned it, on the node's
CLOCK_BOOTTIME, less its margin."""

from __future__ import annotations

from msgspec import Struct

from tenure.core.attempt import AttemptSpec, Outcome, Usage
from tenure.core.delivery import Progress
from tenure.core.ids import Address, ClaimId, DeliveryId, IncarnationId, NodeId, TaskId
from tenure.core.recipient import RecipientSpec

CONTRACT_VERSION = 1
"""Raised only when a node and a hub of different versions could misunderstand each other."""
CONTRACT_HEADER = "Tenure-Contract"

PREFIX = "/v1/node"
ENROLL = f"{PREFIX}/enroll"
CLAIM = f"{PREFIX}/delivery-claim"
ACKNOWLEDGE = f"{PREFIX}/delivery-ack"
RENEW = f"{PREFIX}/lease-renew"
REPORT = f"{PREFIX}/delivery-report"
RECONCILE = f"{PREFIX}/reconcile"


class Message(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """A message on a leg. Unknown fields are refused: a peer that sends them speaks another contract."""


class EnrollRequest(Message, frozen=True, kw_only=True):
    """Said at every start of the daemon: first with a join token as bearer, later with the node's own
    credential.

    `credential` is the secret that the node will use from now on, made by the node and stored before it is
    sent, so that a lost reply loses nothing: the same request may be repeated. `generation`: which start of the
    node this is, as its store counts them; 0: it does not say. A lower one than was heard is `superseded`, with the
    `generation` that was heard; who is no late copy of a request says the same with that, and two machines that use
    one credential are known."""

    name: str
    credential: str
    incarnation: IncarnationId
    boot_id: str
    contract: int
    platform: str
    version: str
    recipients: tuple[RecipientSpec, ...]
    generation: int = 0


class EnrollReply(Message, frozen=True, kw_only=True):
    """`lease_ttl_s` and `cancel_grace_s` are the hub's terms, for the node to check its own settings
    against."""

    node_id: NodeId
    superseded: IncarnationId | None = None
    quarantined: bool = False
    lease_ttl_s: float
    cancel_grace_s: float
    hub_incarnation: IncarnationId


class ClaimRequest(Message, frozen=True, kw_only=True):
    """`free`: an upper bound of free units per recipient. `wait_s`: hold the request up to so long (0 to 30)
    until there is work."""

    incarnation: IncarnationId
    claim_id: ClaimId
    free: dict[Address, int]
    wait_s: float = 0.0


class Grant(Message, frozen=True, kw_only=True):
    """One Delivery handed over. It must be mirrored and acknowledged within `offer_ttl_s`; nothing may start
    before the receipt is accepted. `capability` is what the agent may be handed: it opens its own pages of the API, and
    Effects within the spec's scope, as long as this lease is open. `timeout_s`: what the Attempt may take at most, where that
    is less than its spec says."""

    delivery_id: DeliveryId
    task_id: TaskId
    number: int
    recipient: Address
    spec: AttemptSpec
    spec_digest: str
    fence: int
    token: str
    capability: str = ""
    offer_ttl_s: float
    timeout_s: int | None = None


class ClaimReply(Message, frozen=True, kw_only=True):
    grants: tuple[Grant, ...]


class Claimant(Message, frozen=True, kw_only=True):
    """What every fenced write proves."""

    delivery_id: DeliveryId
    fence: int
    token: str


class AckItem(Claimant, frozen=True, kw_only=True):
    """`receipt_digest`: SHA-256 over the mirrored Delivery as the node stored it. `refused`: why the node
    will not take it (nothing was started)."""

    receipt_digest: str
    refused: str | None = None


class AckRequest(Message, frozen=True, kw_only=True):
    """`snapshot`: the number of the last one that was sent. It may be on its way; none up to it counts once a receipt is
    accepted, since it does not know of what was received."""

    incarnation: IncarnationId
    items: tuple[AckItem, ...]
    snapshot: int = 0


class RenewItem(Claimant, frozen=True, kw_only=True):
    """`counter` grows with every renewal sent for this Delivery. `started_at_ms`: when the harness started,
    once it has (UTC, milliseconds)."""

    counter: int
    progress: Progress = Progress()
    usage: Usage = Usage()
    started_at_ms: int | None = None


class RenewRequest(Message, frozen=True, kw_only=True):
    incarnation: IncarnationId
    items: tuple[RenewItem, ...]


class ReportItem(Claimant, frozen=True, kw_only=True):
    """Either the outcome, or `handback`: the stored proof that nothing was started (then `outcome` is
    absent)."""

    outcome: Outcome | None = None
    handback: str | None = None


class ReportRequest(Message, frozen=True, kw_only=True):
    incarnation: IncarnationId
    items: tuple[ReportItem, ...]


class ItemReply(Message, frozen=True, kw_only=True):
    """The hub's word on one item.

    `answer` to an acknowledgement: `delivered` (with `ttl_s`), `refused`, `stale_fence`, `blocked`,
    `canceled`, `lease_expired`, `other_incarnation`. To a renewal: `renewed` (with `ttl_s`), `replayed`,
    `stale_fence`. To a report: `recorded`, `replayed`, `late`, `handed_back`. `cancel` asks the node to
    cancel, with `cancel_grace_s` left to do it in."""

    delivery_id: DeliveryId
    answer: str
    ttl_s: float | None = None
    cancel: bool = False
    cancel_grace_s: float | None = None


class ItemsReply(Message, frozen=True, kw_only=True):
    items: tuple[ItemReply, ...]


class HoldingItem(Message, frozen=True, kw_only=True):
    """`stage`: `mirrored`, `acknowledged`, `started`, `ended` (an outcome waits) or `closed` (reported or
    stopped)."""

    delivery_id: DeliveryId
    fence: int
    stage: str
    tree_gone: bool = False


class ReconcileRequest(Message, frozen=True, kw_only=True):
    """Everything the node's store holds, numbered; older snapshots are ignored."""

    incarnation: IncarnationId
    sequence: int
    holdings: tuple[HoldingItem, ...]


class Advice(Message, frozen=True, kw_only=True):
    """`go_on` (extends nothing), `stop` (kill the tree, keep the evidence), `report` (send the outcome),
    `close` (the hub needs nothing more)."""

    delivery_id: DeliveryId
    advice: str


class ReconcileReply(Message, frozen=True, kw_only=True):
    ignored: bool = False
    advice: tuple[Advice, ...] = ()
