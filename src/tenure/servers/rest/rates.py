"""How often one token may ask, and how often one address may guess.

Buckets in memory: each is filled with so many a second up to a burst of a few seconds' worth, and each request takes one.
Who finds it empty is told when to come back, and nothing was done. A restart fills them all; what is counted here is no
fact that must survive.

An agent's requests count by its Delivery. A guess is a token that the record does not have, or a webhook that is signed wrongly.
Who has a token is never kept from work by guesses from the same address, not even in the first request after a restart."""

from __future__ import annotations

from typing import final

from tenure.core.clock import Clock
from tenure.errors import RateLimitedError

GUESSES_PER_S = 5.0
"""Each costs a look into the record. Tokens are of 256 bits: this keeps the noise down, not the guesser out."""
BURST_S = 4.0
"""A client that begins asks for several things at once."""
REMEMBERED = 10_000
"""Buckets of one kind; beyond it the oldest are forgotten, which lets their owners begin with a full one."""
AT_ONCE = 500
"""Requests of one token under way, long polls and live streams among them: an eighth of the connections that a hub holds, so that
none takes all of them."""
NS = 1_000_000_000


@final
class Buckets:
    """One for each name, each with `per_s` a second."""

    def __init__(self, clock: Clock, per_s: float) -> None:
        self._clock = clock
        self._per_s = per_s
        self._most = max(1.0, per_s * BURST_S)
        self._left: dict[str, tuple[float, int]] = {}

    def take(self, name: str) -> None:
        """One from this bucket.

        Raises:
            RateLimitedError: it is empty.
        """
        left = self._filled(name)
        if left < 1:
            raise self._refusal(left)
        self._keep(name, left - 1)

    def check(self, name: str) -> None:
        """Is there one in this bucket?

        Raises:
            RateLimitedError: it is empty.
        """
        left = self._filled(name)
        if left < 1:
            raise self._refusal(left)

    def give_back(self, name: str) -> None:
        """One that need not have been taken."""
        self._keep(name, min(self._most, self._filled(name) + 1))

    def _filled(self, name: str) -> float:
        left, at_ns = self._left.get(name, (self._most, 0))
        passed_s = (self._clock.awake_ns() - at_ns) / NS
        return min(self._most, left + passed_s * self._per_s)

    def _keep(self, name: str, left: float) -> None:
        self._left.pop(name, None)
        self._left[name] = (left, self._clock.awake_ns())
        while len(self._left) > REMEMBERED:
            del self._left[next(iter(self._left))]

    def _refusal(self, left: float) -> RateLimitedError:
        wait_s = (1 - left) / self._per_s
        return RateLimitedError(
            f"more than {self._per_s:g} requests a second come from here; nothing was done. Come back in {wait_s:.1f} s.",
            limit_per_s=self._per_s,
            retry_after_s=round(wait_s, 3),
        )


@final
class Shares:
    """How many requests of each name are under way."""

    def __init__(self) -> None:
        self._held: dict[str, int] = {}

    def enter(self, name: str) -> None:
        """One more; whoever enters also leaves.

        Raises:
            RateLimitedError: there are as many as may be; this one does not count.
        """
        held = self._held.get(name, 0)
        if held >= AT_ONCE:
            raise RateLimitedError(
                f"{held} requests with this token are under way, as many as may be; nothing was done. Wait for some of them.",
                limit=AT_ONCE,
                retry_after_s=1,
            )
        self._held[name] = held + 1

    def leave(self, name: str) -> None:
        """One less."""
        self._held[name] -= 1
        if not self._held[name]:
            del self._held[name]


@final
class Rates:
    """The buckets of one hub: requests by token, guesses by address; and what is under way, by token."""

    def __init__(self, clock: Clock, requests_per_s: float, guesses_per_s: float = GUESSES_PER_S) -> None:
        self.requests = Buckets(clock, requests_per_s)
        self.guesses = Buckets(clock, guesses_per_s)
        self.under_way = Shares()
