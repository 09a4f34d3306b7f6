"""What the daemon knows of each Delivery that it holds, in memory: nothing here survives it, and nothing need.

A holding goes forward only:

    offered → starting → running → ending → reporting → closed

`offered` is mirrored, and its receipt is not accepted yet; `starting` is accepted, and nothing is started yet;
`running` has a runner that holds its lock, as far as we know; `ending` has none (any more), and what to report is being
found out; `reporting` waits for the hub's answer; `closed` has it, and is kept until the hub needs nothing more. Beside the
way, `stuck` is one that an error nobody expected has stopped: its lease is left to run out.

Two facts stand beside the phase, because they may come in any phase: `is_lost` (the hub has told us that the fence is
stale) and `cancel_grace_s` (the hub asks us to cancel). Whoever works on the holding looks at both after each wait.

`may_be_recorded`: its report was sent, and the answer never came. Until it does only the report is sent again: if it was
recorded, a renewal would be kept as that of a stale owner.

`deadline_ns` is on the clock that runs through a suspend; nothing is started past it. It moves with an answered
acknowledgement or renewal only, counted from the sending.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import final

from tenure.core.attempt import Usage
from tenure.core.delivery import Progress
from tenure.core.ids import Address, DeliveryId
from tenure.core.limits import GRANTS, SNAPSHOT
from tenure.node.delivery.mirrored import Ending, MirroredDelivery
from tenure.node.pacing import Signal
from tenure.runtime.settings_schema import RecipientSettings


class Phase(StrEnum):
    OFFERED = "offered"
    STARTING = "starting"
    RUNNING = "running"
    ENDING = "ending"
    REPORTING = "reporting"
    CLOSED = "closed"
    STUCK = "stuck"


RENEWED = frozenset({Phase.STARTING, Phase.RUNNING, Phase.ENDING, Phase.REPORTING})
"""Its start is pending, its runner's lock is held, or its report waits (DESIGN 6)."""


@final
class Holding:
    """One Delivery. Changed on the event loop only; `changed` is given with every change that somebody may wait for."""

    def __init__(self, mirrored: MirroredDelivery, receipt_digest: str, run_dir: Path) -> None:
        self.mirrored = mirrored
        self.receipt_digest = receipt_digest
        self.grant = mirrored.grant
        self.run_dir = run_dir
        self.phase = Phase.OFFERED
        self.changed = Signal()
        self.is_lost = False
        self.cancel_grace_s: float | None = None
        self.deadline_ns = 0
        self.counter = 0
        self.first_ack_ns: int | None = None
        self.is_renewing = False
        self.is_reporting = False
        self.may_be_recorded = False
        self.is_urgent = False
        self.reporting_since_ns: int | None = None
        self.may_have_spawned = False
        self.is_unsaved = False
        self.progress = Progress()
        self.usage = Usage()
        self.started_at_ms: int | None = None
        self.ending: Ending | None = None
        self.tree_gone = False
        self.answer: str | None = None

    @property
    def delivery_id(self) -> DeliveryId:
        return self.grant.delivery_id

    @property
    def is_interrupted(self) -> bool:
        """Should nothing be started any more?"""
        return self.is_lost or self.cancel_grace_s is not None

    def enter(self, phase: Phase) -> None:
        self.phase = phase
        self.changed.give()

    def extend(self, counter: int, deadline_ns: int) -> None:
        """A renewal was answered; an answer that an earlier one has overtaken changes nothing."""
        if counter >= self.counter:
            self.counter, self.deadline_ns = counter, deadline_ns
            self.changed.give()

    def end(self, ending: Ending) -> None:
        """What is to be reported is known."""
        self.ending, self.tree_gone = ending, ending.tree_gone

    def forget_ending(self) -> None:
        """It may be large, and once it was answered the store's copy will do."""
        if self.phase is Phase.CLOSED and not self.is_unsaved:
            self.ending = None

    def lose(self) -> None:
        """The hub says that ownership has moved on."""
        self.is_lost = True
        self.is_urgent = False  # nobody renews it any more, and a report waits while it wants to be renewed
        self.changed.give()

    def ask_cancel(self, grace_s: float) -> None:
        if self.cancel_grace_s is None:
            self.cancel_grace_s = grace_s
            self.changed.give()


@final
class Holdings:
    """All of them. `eased` is given when a unit became free, `reports` when a report may be sent, `grown` when there is one
    more lease to keep, `compared` when hub and node have been compared."""

    def __init__(self, recipients: Mapping[Address, RecipientSettings]) -> None:
        self.recipients = dict(recipients)
        self.eased = Signal()
        self.reports = Signal()
        self.grown = Signal()
        self.compared = Signal()
        self._held: dict[DeliveryId, Holding] = {}

    def __iter__(self) -> Iterator[Holding]:
        return iter(tuple(self._held.values()))

    def __len__(self) -> int:
        return len(self._held)

    def get(self, delivery_id: DeliveryId) -> Holding | None:
        return self._held.get(delivery_id)

    def add(self, holding: Holding) -> None:
        self._held[holding.delivery_id] = holding

    def forget(self, holdings: Iterable[Holding]) -> None:
        for holding in holdings:
            self._held.pop(holding.delivery_id, None)
        self.eased.give()

    def enter(self, holding: Holding, phase: Phase) -> None:
        """Moves a holding on, and tells those who wait for what that means."""
        holding.enter(phase)
        if phase is Phase.STARTING:
            self.grown.give()
        elif phase is Phase.REPORTING:
            self.reports.give()
        elif phase is Phase.CLOSED:
            self.eased.give()

    def want_renewal(self, holding: Holding) -> None:
        """Renews this one now, and not with the next round."""
        if holding.is_lost or holding.may_be_recorded:
            return
        holding.is_urgent = True
        self.grown.give()

    def in_phase(self, *phases: Phase) -> list[Holding]:
        return [one for one in self if one.phase in phases]

    def free(self) -> dict[Address, int]:
        """Units that are free here, for each recipient that has any: its capacity less what is not closed."""
        used: dict[Address, int] = {}
        for one in self:
            if one.phase is not Phase.CLOSED:
                used[one.grant.recipient] = used.get(one.grant.recipient, 0) + 1
        # A snapshot must be able to name all of them.
        room = max(0, SNAPSHOT - GRANTS - len(self))
        free = {
            where: min(settings.capacity - used.get(where, 0), room)
            for where, settings in self.recipients.items()
        }
        return {where: units for where, units in free.items() if units > 0}
