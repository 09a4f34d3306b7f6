"""Nodes and recipients: who can be given work.

A recipient's address `NAME@NODE` outlives its node's enrolment: blocks stand on the address and survive
re-enrolment (`no_guess`). `blocks` lists the Attempts whose outcome is unknown; while it is not empty the
recipient is given nothing new, neither by a grant nor by a receipt. `slots_used` counts Deliveries whose unit
is taken. Block and slot are two facts (DESIGN 6).

A node credential has one live incarnation. The start of a new one supersedes the old; when two machines
alternate (the boot ids read A, B, A: a boot id never returns on one machine) the node is quarantined until a
person releases it."""

from __future__ import annotations

from msgspec import Struct

from tenure.core.account import Paused
from tenure.core.ids import Address, AttemptId, IncarnationId, NodeId
from tenure.core.task import avoiding_queue, queue_key

BOOTS_KEPT = 4
"""Boot ids remembered for a node: enough to see A, B, A."""
SUPERSEDED_KEPT = 8
"""Incarnations remembered as superseded, so that a late request of one cannot take over again."""
CONTRACTS = frozenset({1})
"""Versions of the node contract that this hub speaks."""


OPEN = "open"
"""The isolation of a recipient that names none: the node's own user."""
ISOLATED = frozenset({"user", "sandbox"})
"""The others: what runs under one is kept away from what is the node's own."""


class RecipientSpec(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A recipient as its node declares it. `config_digest` is the SHA-256 of its configuration, without
    secrets. `provider`: the account whose quota it draws on; recipients that share one wait together when it is used up.
    `resumes`: its harness can go on with an earlier session."""

    name: str
    harness: str
    model: str | None = None
    pools: tuple[str, ...] = ()
    capacity: int = 1
    isolation: str = OPEN
    config_digest: str = ""
    provider: str | None = None
    resumes: bool = False


class Recipient(Struct, frozen=True):
    address: Address
    node_id: NodeId
    name: str
    harness: str
    model: str | None
    pools: tuple[str, ...]
    capacity: int
    isolation: str
    config_digest: str
    slots_used: int
    blocks: tuple[AttemptId, ...]
    declared: bool
    declared_at_ms: int
    provider: str | None = None
    resumes: bool = False
    paused: Paused | None = None

    @property
    def key(self) -> str:
        return self.address

    @property
    def may_work(self) -> bool:
        return not self.blocks and self.paused is None

    @property
    def quotas(self) -> tuple[str, ...]:
        """Whose capacity it draws on: its own machine's and, if it names one, its provider's."""
        return (self.address, self.provider) if self.provider else (self.address,)

    @property
    def is_blocked(self) -> bool:
        return bool(self.blocks)

    @property
    def free(self) -> int:
        """Units that the hub itself believes free."""
        return max(0, self.capacity - self.slots_used) if self.declared else 0


class Node(Struct, frozen=True):
    """`generation`: the highest that a start of it has told since it was last released from quarantine; 0: none has."""

    node_id: NodeId
    name: str
    credential_digest: str
    incarnation: IncarnationId
    superseded: tuple[IncarnationId, ...]
    boots: tuple[str, ...]
    contract: int
    compatible: bool
    quarantined: bool
    revoked: bool
    snapshot_sequence: int
    platform: str
    version: str
    recipients: tuple[Address, ...]
    enrolled_at_ms: int
    started_at_ms: int
    paused: Paused | None = None
    generation: int = 0

    @property
    def key(self) -> str:
        return self.node_id

    @property
    def may_work(self) -> bool:
        return self.compatible and not self.quarantined and not self.revoked

    def is_another_boot(self, boot_id: str | None) -> bool:
        """Was it started under another boot since? Most often the machine was restarted; but a copy of its disk that boots
        somewhere else looks the same. Where either is not known nobody says so."""
        return boot_id is not None and bool(self.boots) and self.boots[-1] != boot_id


def recipient_routes(recipient: Recipient) -> tuple[str, ...]:
    """The routes a recipient serves: its address, its bare name, its pools."""
    return (recipient.address, recipient.name, *recipient.pools)


def recipient_queues(recipient: Recipient) -> tuple[str, ...]:
    """The queues a recipient may be granted from: each of its routes, with harness and model as frozen or not
    yet frozen; and of each route the Tasks that must not go to some recipient."""
    harnesses = (None, recipient.harness)
    models = (None, recipient.model) if recipient.model else (None,)
    routes = tuple(dict.fromkeys(recipient_routes(recipient)))
    plain = (
        queue_key(route, harness, model) for route in routes for harness in harnesses for model in models
    )
    return (*plain, *map(avoiding_queue, routes))


def fits(recipient: Recipient, harness: str | None, model: str | None) -> bool:
    """Is it what was frozen, as far as anything was?"""
    return harness in (None, recipient.harness) and model in (None, recipient.model)
