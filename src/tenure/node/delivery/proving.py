"""Proving trees gone whose end could not be proven when their runs ended, so that the hub may free their places.

A process that would not die, or one that hides its environment, may be gone a minute later. So the folders of answered
reports (and of stuck executions that lost their lease) are swept again: now and then, and whenever hub and node have been
compared. What is proven is stored first, and then told with the next snapshot. A crash in between tells it after the start.

A run folder is the only thing that such a proof can come from; `retention` keeps it until then.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import final

from tenure.errors import TenureError
from tenure.node.delivery.holding import Holding, Holdings, Phase
from tenure.node.delivery.mirror import Mirror
from tenure.node.run.runners import Runners

EVERY_S = 300.0
"""Between two looks at what would not die: each walks over all processes of the machine."""

log = logging.getLogger(__name__)


@final
class Proving:
    def __init__(
        self, runners: Runners, mirror: Mirror, holdings: Holdings, want_snapshot: Callable[[], None]
    ) -> None:
        self._runners = runners
        self._mirror = mirror
        self._holdings = holdings
        self._want_snapshot = want_snapshot

    async def run(self) -> None:
        """Looks until it is canceled. What fails is tried again with the next look."""
        while True:
            compared = self._holdings.compared
            await self.look()
            await compared.wait(EVERY_S)

    async def look(self) -> None:
        """Sweeps once what is not proven gone, and tells the hub of what is now."""
        proven = [one for one in self._doubtful() if await self._is_gone(one)]
        if not proven:
            return
        try:
            await self._mirror.note_gone([one.delivery_id for one in proven])
        except TenureError as error:
            log.warning("that %d trees are gone could not be stored yet: %s", len(proven), error)
            return
        for one in proven:
            log.info("%s: its processes are gone now", one.delivery_id)
            one.tree_gone = True
        self._want_snapshot()

    def _doubtful(self) -> list[Holding]:
        stuck = [one for one in self._holdings.in_phase(Phase.STUCK) if one.is_lost]
        return [one for one in (*self._holdings.in_phase(Phase.CLOSED), *stuck) if not one.tree_gone]

    async def _is_gone(self, holding: Holding) -> bool:
        try:
            return (await self._runners.sweep(holding.run_dir)).gone
        except (TenureError, OSError) as error:
            log.warning("%s: what is left of it cannot be looked for: %s", holding.delivery_id, error)
            return False
