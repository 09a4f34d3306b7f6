"""Capabilities: what an agent holds instead of credentials.

A capability names one Delivery and its fence, so it dies with that lease: whether the lease is open is decided in the
commit of each write. It is signed with the hub's secret and kept nowhere; what it covers is the scope of
its Attempt, which is frozen with it. It opens nothing but the agent's own pages of the API."""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from typing import final

from msgspec import Struct

from tenure.core.clock import Clock
from tenure.core.delivery import Delivery
from tenure.core.ids import DeliveryId
from tenure.errors import UnauthenticatedError

PREFIX = "tnr_c_"
LIFE_S = 7 * 24 * 3600
"""Beyond its Attempt's own time limit; a lease that is renewed longer gets no new one."""
_TEXT = re.compile(
    r"tnr_c_(?P<delivery>d_[0-9a-z]{1,40})\.(?P<fence>[0-9]{1,12})\.(?P<until>[0-9]{1,12})"
    r"\.(?P<mac>[A-Za-z0-9_-]{43})"
)


class Capability(Struct, frozen=True):
    """`until_s`: seconds since the epoch after which it is refused whatever the lease says."""

    delivery_id: DeliveryId
    fence: int
    until_s: int


@final
class Capabilities:
    def __init__(self, secret: bytes, clock: Clock) -> None:
        self._secret = hashlib.sha256(b"capability\0" + secret).digest()
        self._clock = clock

    def grant(self, delivery: Delivery, timeout_s: int | None) -> str:
        """The capability of one Delivery; always the same one, so that a repeated claim gets the same grant."""
        until_s = delivery.claimed_at_ms // 1000 + LIFE_S + (timeout_s or 0)
        body = f"{PREFIX}{delivery.delivery_id}.{delivery.fence}.{until_s}"
        return f"{body}.{self._mac(body)}"

    def read(self, text: str) -> Capability:
        """What a capability says.

        Raises:
            UnauthenticatedError: it is none, it was not made here, or its time is over.
        """
        found = _TEXT.fullmatch(text)
        if found is None or not hmac.compare_digest(self._mac(text[: found.start("mac") - 1]), found["mac"]):
            raise UnauthenticatedError(
                "this is no capability of this hub. An agent finds its own in TENURE_CAPABILITY; it dies with the attempt."
            )
        if int(found["until"]) * 1000 < self._clock.wall_ms():
            raise UnauthenticatedError("this capability has expired. Stop; nothing was done.")
        return Capability(DeliveryId(found["delivery"]), int(found["fence"]), int(found["until"]))

    def _mac(self, body: str) -> str:
        digest = hmac.new(self._secret, body.encode(), hashlib.sha256).digest()
        return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
