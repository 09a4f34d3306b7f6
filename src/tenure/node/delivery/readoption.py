"""After a start: what the store says, held against the run folders, so that everything goes on from where it is.

For each row that is not let go yet:

| row | run folder | what is done |
| --- | --- | --- |
| mirrored | a runner holds it | connect, and go on: same fence, the deadline as the runner has it |
| mirrored | it has ended | judge, and report |
| mirrored | started, no runner, no outcome | sweep up, and report `unknown` |
| mirrored | never started | acknowledge again; the hub knows whether an earlier start was accepted |
| ended | | report it |
| closed | | name it in the snapshot |

Whether the receipt of a mirrored Delivery was accepted before is not known here, and need not be: to a receipt that an
earlier start of this node had accepted the hub answers `other_incarnation`, and the Delivery is handed back once its folder
is taken, so that no runner which is still on its way can start it.
"""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import final

from tenure.node.delivery.holding import Holding, Holdings, Phase
from tenure.node.delivery.mirror import Mirror
from tenure.node.delivery.mirrored import Ending, Row
from tenure.node.run.folder import Found, RunnerState
from tenure.node.run.runners import Runners

LOOKS = 16
"""Folders looked at at once: each is a few system calls in the executor."""

log = logging.getLogger(__name__)


@final
class Readoption:
    def __init__(self, mirror: Mirror, runners: Runners, holdings: Holdings, runs: Path) -> None:
        """`runs`: the folder of all run folders."""
        self._mirror = mirror
        self._runners = runners
        self._holdings = holdings
        self._runs = runs
        self._looks = asyncio.Semaphore(LOOKS)

    async def adopt(self) -> tuple[list[tuple[Holding, RunnerState]], list[Holding]]:
        """Takes every row up. Returns those that go on by themselves, each with what its folder says, and those that are
        to be acknowledged.

        Raises:
            UnavailableError: the store cannot be read.
            DataFolderTooNewError: another version wrote a row.
            OSError: a folder cannot be looked at.
        """
        rows = await self._mirror.load()
        looked = await asyncio.gather(*(self._taken_up(row) for row in rows))
        going = [(holding, state) for holding, state in looked if state is not None]
        offered = [holding for holding, _ in looked if holding.phase is Phase.OFFERED]
        if rows:
            log.info(
                "%d Deliveries are taken up again: %d go on, %d are acknowledged anew, %d wait to be reported",
                len(rows),
                len(going),
                len(offered),
                len(self._holdings.in_phase(Phase.REPORTING)),
            )
        return going, offered

    async def _taken_up(self, row: Row) -> tuple[Holding, RunnerState | None]:
        """The holding of a row, and what its folder says if it goes on from there."""
        holding = Holding(row.mirrored, row.receipt_digest, self._runs / row.mirrored.delivery_id)
        state: RunnerState | None = None
        if row.outcome is not None or row.handback is not None:
            holding.end(Ending(holding.delivery_id, row.outcome, row.handback))
        holding.tree_gone = holding.tree_gone or row.tree_gone
        holding.answer = row.answer
        if row.stage == "ended":
            holding.phase = Phase.REPORTING
            holding.may_be_recorded = True  # by an earlier daemon, which did not live to hear it
        elif row.stage == "closed":
            holding.phase = Phase.CLOSED
        else:
            async with self._looks:
                state = await self._runners.probe(holding.run_dir)
            # A runner that an earlier daemon started may still be on its way: only the folder itself can prove that not.
            holding.may_have_spawned = True
            if state.found is Found.NEVER_STARTED:
                state = None
            else:
                holding.phase = Phase.RUNNING if state.found is Found.RUNNING else Phase.ENDING
        self._holdings.add(holding)
        return holding, state
