"""What the node's store holds, as values: each Delivery as it was granted, what is to be reported of it, and the node's identity."""

from __future__ import annotations

from msgspec import Struct

from tenure.core.attempt import Outcome
from tenure.core.ids import AttemptId, DeliveryId, IncarnationId, NodeId, attempt_id
from tenure.runtime.settings_schema import RecipientSettings
from tenure.wire.legs import Grant


class MirroredDelivery(Struct, frozen=True, forbid_unknown_fields=True):
    """A Delivery as it was granted, and the recipient's settings as they were when it was mirrored, by whom and when."""

    grant: Grant
    recipient: RecipientSettings
    incarnation: IncarnationId
    mirrored_at_ms: int

    @property
    def delivery_id(self) -> DeliveryId:
        return self.grant.delivery_id

    @property
    def attempt_id(self) -> AttemptId:
        return attempt_id(self.grant.task_id, self.grant.number)


class Ending(Struct, frozen=True):
    """What is to be reported of a Delivery: an outcome, or the proof that nothing was started."""

    delivery_id: DeliveryId
    outcome: Outcome | None = None
    handback: str | None = None

    @property
    def tree_gone(self) -> bool:
        return self.handback is not None or (self.outcome is not None and self.outcome.tree_gone)


class Identity(Struct, frozen=True):
    """Who this node is. `was_sent`: the credential may be known to a hub. `generation` counts the starts of its daemon,
    `incarnation` names the latest."""

    credential: str
    was_sent: bool
    node_id: NodeId | None
    generation: int
    incarnation: IncarnationId


class Row(Struct, frozen=True):
    """A row as it stands. `stage`: `mirrored`, `ended` (then one of `outcome` and `handback` is set) or `closed` (then the
    outcome, which may be large, is left where it is: `Mirror.ending`)."""

    mirrored: MirroredDelivery
    receipt_digest: str
    stage: str
    outcome: Outcome | None
    handback: str | None
    tree_gone: bool
    answer: str | None


class Released(Struct, frozen=True):
    """A Delivery that the hub needs no more. `answer`: what it said to the report; None where it never heard one.
    `tree_gone`: it is proven that nothing of its run is left."""

    delivery_id: DeliveryId
    attempt_id: AttemptId
    answer: str | None
    tree_gone: bool
