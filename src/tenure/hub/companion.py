"""What runs along with a hub without being part of it."""

from __future__ import annotations

from typing import Protocol

from tenure.hub.alarm import Alarm
from tenure.ledger.port import Committed


class Companion(Protocol):
    """A loop of its own that hears of every commit."""

    @property
    def alarm(self) -> Alarm:
        """Rung when the clocks have jumped."""
        ...

    def heard(self, committed: Committed) -> None: ...

    def missed(self) -> None:
        """A commit may have gone by unheard: what was heard is read anew."""
        ...

    async def run(self) -> None:
        """Until canceled; it must survive whatever goes wrong in it."""
        ...
