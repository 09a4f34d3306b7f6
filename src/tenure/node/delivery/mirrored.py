"""What the node's store holds of a Delivery, as values: the Delivery as it was granted, and what is to be reported of it."""

from __future__ import annotations

from msgspec import Struct

from tenure.core.attempt import Outcome
from tenure.core.ids import AttemptId, DeliveryId, IncarnationId, attempt_id
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
