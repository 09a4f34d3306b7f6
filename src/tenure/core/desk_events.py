"""Events of the hub's own stream: accounts, pauses, policies, circuits, and what people do with questions."""

from __future__ import annotations

from tenure.core.budget import Budget, Share
from tenure.core.policy import Policy
from tenure.core.stream import HubEvent


class AccountSet(HubEvent, frozen=True, kw_only=True, tag="account_set"):
    """What a project, or the hub, may use from now on. `reset`: what was used counts as nothing from here."""

    account_id: str
    limits: Share
    per_task: Budget
    share: Share
    weight: int
    reset: bool = False
    by: str
    because: str


class Paused(HubEvent, frozen=True, kw_only=True, tag="paused"):
    """`subject`: `hub`, `project:NAME`, a node's id, or a recipient's address."""

    subject: str
    by: str
    because: str
    drain: bool = False


class Resumed(HubEvent, frozen=True, kw_only=True, tag="resumed"):
    subject: str
    by: str
    because: str


class PolicyStored(HubEvent, frozen=True, kw_only=True, tag="policy_stored"):
    policy: Policy
    by: str


class PolicyChosen(HubEvent, frozen=True, kw_only=True, tag="policy_chosen"):
    """`policy` None: the choice is taken back."""

    subject: str
    policy: str | None = None
    by: str
    because: str


class CircuitOpened(HubEvent, frozen=True, kw_only=True, tag="circuit_opened"):
    quota: str
    until_ms: int
    because: str
    attempt: str


class CircuitExtended(HubEvent, frozen=True, kw_only=True, tag="circuit_extended"):
    """One that was under way when it opened names a later time."""

    quota: str
    until_ms: int


class CircuitClosed(HubEvent, frozen=True, kw_only=True, tag="circuit_closed"):
    """`by`: the person who says that there is room again; None if an Attempt found room. Records of before it was kept name the
    person in `because`."""

    quota: str
    because: str
    by: str | None = None


class AttentionSnoozed(HubEvent, frozen=True, kw_only=True, tag="attention_snoozed"):
    item_id: str
    until_ms: int | None = None
    by: str


class AttentionAssigned(HubEvent, frozen=True, kw_only=True, tag="attention_assigned"):
    item_id: str
    to: str | None = None
    by: str


class AttentionNotified(HubEvent, frozen=True, kw_only=True, tag="attention_notified"):
    """The message about this version of a question has left."""

    item_id: str
    version: int


DeskEvent = (
    AccountSet
    | Paused
    | Resumed
    | PolicyStored
    | PolicyChosen
    | CircuitOpened
    | CircuitExtended
    | CircuitClosed
    | AttentionSnoozed
    | AttentionAssigned
    | AttentionNotified
)
