"""The hub over the ledger that people run: a file on disk, and a restart in between."""

from __future__ import annotations

import asyncio
from pathlib import Path

from tenure.core.attempt import Verdict
from tenure.ledger.port import Ledger
from tenure.ledger.sqlite import SqliteLedger, SqliteParts
from tenure.runtime.database import connect_database
from tenure.runtime.worker import OneAtATime
from tests.eventually import eventually_async
from tests.hub.lab import Lab


class Disk:
    """Makes ledgers over one file, each with a thread for writes and one for reads."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "hub.db"
        self.workers = [OneAtATime("writes"), OneAtATime("reads")]

    def ledger(self, lab: Lab) -> Ledger:
        parts = SqliteParts(
            connect=lambda read_only: connect_database(self.path, read_only=read_only),
            run=self.workers[0],
            run_reads=self.workers[1],
            clock=lab.clock,
            hub=lab.incarnation,
            terms=lab.terms,
        )
        return SqliteLedger(parts)

    def close(self) -> None:
        for worker in self.workers:
            worker.close()


async def test_a_chain_of_tasks_survives_a_restart_in_the_middle(tmp_path: Path) -> None:
    disk = Disk(tmp_path)
    lab = Lab(ledger=disk.ledger)
    async with lab.running():
        first = await lab.submit("first")
        second = await lab.submit("second", after=("key:first",))
        desk = await lab.node()
        grant = await desk.take()
        assert await lab.why(second) == "dependency"
    async with lab.running():
        assert await desk.report(grant) == "recorded"
        claim = desk.claiming()
        (later,) = await asyncio.wait_for(claim, 10)
        assert later.task_id == second
        assert (await desk.ack(later)).answer == "delivered"
        assert await desk.report(later, Verdict.COMPLETED) == "recorded"
        assert [await lab.state(one) for one in (first, second)] == ["completed", "completed"]
    disk.close()


async def test_submits_at_the_same_moment_share_commits_and_each_gets_its_own_task(tmp_path: Path) -> None:
    disk = Disk(tmp_path)
    lab = Lab(ledger=disk.ledger)
    async with lab.running():
        before = lab.hub.record.head().commit_no
        ids = await asyncio.gather(*(lab.submit(f"k{number}") for number in range(64)))
        assert len(set(ids)) == 64
        assert lab.hub.record.head().commit_no - before <= 4
        again = await asyncio.gather(*(lab.submit(f"k{number}") for number in range(64)))
        assert again == ids
    disk.close()


async def test_a_waiting_node_is_woken_over_threads_too(tmp_path: Path) -> None:
    disk = Disk(tmp_path)
    lab = Lab(ledger=disk.ledger)
    async with lab.running():
        desk = await lab.node()
        claim = desk.claiming()
        await eventually_async(lambda: len(lab.hub.room) == 1)
        task_id = await lab.submit()
        assert [one.task_id for one in await asyncio.wait_for(claim, 10)] == [task_id]
    disk.close()
