"""Circuits: a provider's account that said it has no room is left alone until it may have some again.

There is one for each quota: the `provider` that recipients name, and each recipient by itself (for a shortage of its own
machine, or where it names no provider). While it is open no recipient of that quota is given anything. Once its time is
over it lets a single Attempt through; that one's end closes it, or opens it for longer: its pauses grow with how often in a
row it opened, whichever Tasks that were. It is in the record, so a restart forgets nothing.

Attempts that were under way when it opened say nothing new when they fail too, however many they are: only one that was
granted after the opening counts."""

from __future__ import annotations

from msgspec import Struct

from tenure.core.canonical import text_digest
from tenure.core.delivery import Delivery
from tenure.core.ids import DeliveryId
from tenure.core.policy import Response

LONGEST_MS = 8 * 86_400_000
"""The furthest reset time that is believed: a weekly quota, and a day for zones and clocks."""


class Circuit(Struct, frozen=True):
    """`failures`: how often in a row it opened; 0: closed. `probe`: the Delivery that was let through."""

    quota: str
    failures: int
    opened_at_ms: int
    until_ms: int
    because: str
    probe: DeliveryId | None

    @property
    def key(self) -> str:
        return self.quota

    @property
    def is_closed(self) -> bool:
        return self.failures == 0


def units_through(circuit: Circuit | None, probe: Delivery | None, now_ms: int, units: int) -> int:
    """How many of these units may be granted now. `probe`: the Delivery that was let through last."""
    if circuit is None or circuit.is_closed:
        return units
    if now_ms < circuit.until_ms:
        return 0
    is_out = probe is not None and probe.ended_at_ms is None
    return 0 if is_out else min(units, 1)


def is_news(circuit: Circuit | None, delivery: Delivery) -> bool:
    """Does the end of this Delivery say anything about the quota that its circuit does not know?"""
    if circuit is None or circuit.is_closed or delivery.delivery_id == circuit.probe:
        return True
    return delivery.claimed_at_ms > circuit.opened_at_ms


def pause_ms(seed: str, times: int, response: Response) -> int:
    """How long to back off after `times` failures before this one: a part of the whole pause that is drawn evenly (full
    jitter), so that those who failed together do not come back together.

    It is drawn from the digest of `seed`, which is another one for every Attempt: decisions make no random numbers, and
    the same record always gives the same answer."""
    whole = min(response.most_s, response.first_s << min(times, 20)) * 1000
    return int(text_digest(seed)[:12], 16) * whole >> 48


def open_until_ms(now_ms: int, wait_ms: int, retry_after_s: float | None, reset_at_ms: int | None) -> int:
    """Until when to leave the provider alone: as long as it says, else as long as we would back off."""
    told: list[int] = []
    if retry_after_s is not None:
        told.append(now_ms + round(min(max(retry_after_s, 0.0), LONGEST_MS / 1000) * 1000))
    if reset_at_ms is not None:
        told.append(reset_at_ms)
    until_ms = max(told, default=now_ms + wait_ms)
    return min(max(until_ms, now_ms), now_ms + LONGEST_MS)
