"""The Delivery and its lease: the handing of one Attempt to one recipient under one fence.

One row per grant, all kept. `claimed → delivered → reported`, or `void` when it was never acknowledged. A
Delivery whose lease was revoked stays `delivered` with `revoked_at_ms`: the receipt was real, the outcome is
what is unknown.

The lease lives here too. It is *open* while the Task's `lease` names this Delivery; `due_at_ms` is the next
instant at which time alone changes something (offer over, lease expired, grace over, cancellation grace
over), or None when nothing waits on time. `slot` says whether the recipient's unit is still taken: freed by a
report, a void, the node's word that the tree is gone, or a person.
`isolation`: None for the node's own user. `timeout_s`: what the Attempt could take when it was granted. `config_digest`: the
configuration that the recipient declared then. `accounts`, `reserved`: what was set aside for it, and where.
`boot_id`: the boot of the machine that sent the receipt; None in records of before it was kept.

Time (DESIGN 6): a `Term` is over only when the wall clock says so *and* this hub incarnation has been awake
for the whole of it. So a restart, a sleep or a stepped clock never costs a lease. `term` is the current one:
the offer, the lease, or the grace of a suspect."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from tenure.core.budget import NOTHING, Amounts
from tenure.core.ids import Address, AttemptId, ClaimId, DeliveryId, IncarnationId, NodeId, TaskId
from tenure.core.usage import Usage


class DeliveryState(StrEnum):
    CLAIMED = "claimed"
    DELIVERED = "delivered"
    REPORTED = "reported"
    VOID = "void"


DELIVERY_TRANSITIONS: dict[DeliveryState, frozenset[DeliveryState]] = {
    DeliveryState.CLAIMED: frozenset({DeliveryState.DELIVERED, DeliveryState.VOID}),
    DeliveryState.DELIVERED: frozenset({DeliveryState.REPORTED}),
    DeliveryState.REPORTED: frozenset(),
    DeliveryState.VOID: frozenset(),
}


class Now(Struct, frozen=True):
    """The instant of a commit, read after its last command arrived.

    `wall_ms`: UTC, milliseconds since the epoch. `awake_ms`: milliseconds this hub incarnation has been
    awake, on a clock that stops in suspend."""

    wall_ms: int
    awake_ms: int
    hub: IncarnationId


class Terms(Struct, frozen=True):
    """The durations that govern leases, in milliseconds, from the hub's settings."""

    offer_ttl_ms: int = 10_000
    lease_ttl_ms: int = 30_000
    suspect_grace_ms: int = 60_000
    cancel_grace_ms: int = 60_000
    stall_after_ms: int = 600_000
    max_offers: int = 5


class Progress(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a node saw move: each number only grows; `message` is the harness's own last word."""

    output_bytes: int = 0
    events: int = 0
    cpu_s: float = 0.0
    processes: int = 0
    files_changed: int = 0
    fraction: float | None = None
    message: str = ""


class Term(Struct, frozen=True, forbid_unknown_fields=True):
    """A stretch of time that must pass in full: `length_ms` from the commit that began it, to `ends_at_ms` by
    the wall clock.

    `hub` and `awake_ms` say when, on which hub's awake clock, it began; another hub incarnation counts from
    its own start."""

    ends_at_ms: int
    length_ms: int
    hub: IncarnationId
    awake_ms: int


class Delivery(Struct, frozen=True):
    """A Delivery as it stands, with the lease it was made under."""

    delivery_id: DeliveryId
    attempt_id: AttemptId
    task_id: TaskId
    number: int
    recipient: Address
    node_id: NodeId
    claim_id: ClaimId
    granted_to: IncarnationId
    acknowledged_by: IncarnationId | None
    state: DeliveryState
    fence: int
    token_digest: str
    receipt_digest: str | None
    report_digest: str | None
    slot: bool
    due_at_ms: int | None
    term: Term
    cancel_term: Term | None
    counter: int
    progress: Progress
    progress_at_ms: int
    usage: Usage
    claimed_at_ms: int
    acknowledged_at_ms: int | None
    renewed_at_ms: int | None
    suspect_at_ms: int | None
    ended_at_ms: int | None
    revoked_at_ms: int | None
    end_reason: str | None
    denied: bool
    late_count: int
    isolation: str | None = None
    timeout_s: int | None = None
    config_digest: str | None = None
    accounts: tuple[str, ...] = ()
    reserved: Amounts = NOTHING
    boot_id: str | None = None

    @property
    def key(self) -> str:
        return self.delivery_id


def term_from(now: Now, length_ms: int) -> Term:
    """A term that begins with the commit of `now`."""
    return Term(ends_at_ms=now.wall_ms + length_ms, length_ms=length_ms, hub=now.hub, awake_ms=now.awake_ms)


def is_over(term: Term, now: Now) -> bool:
    """Has the term passed in full, by the wall clock and by this hub incarnation's own waking time?

    Source: DESIGN 6, Time; protocol review, hole 18.
    """
    since = term.awake_ms if term.hub == now.hub else 0
    return now.wall_ms >= term.ends_at_ms and now.awake_ms - since >= term.length_ms
