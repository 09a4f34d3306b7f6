"""What was acknowledged is there after any end of the process (`durable`)."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from tenure.core import commands as cm
from tenure.core import desk_commands as dc
from tenure.core.ids import DeliveryId, IncarnationId
from tenure.core.task import Task
from tenure.core.world import ENTITY_KINDS
from tenure.ledger import audit
from tenure.ledger.row import TABLES
from tests.eventually import eventually
from tests.ledger.desk import CLAUDE, NODE, Desk, HandClock, lived, raw, sqlite_ledger

WRITER = """
import asyncio, sys
from pathlib import Path
from tests.ledger.desk import Desk, HandClock, sqlite_ledger

async def client(desk, name):
    count = 0
    while True:
        count += 1
        task_id = await desk.submit(f"{name}-{count}", objective="x" * 500)
        sys.stdout.write(f"{name}-{count} {task_id}\\n")
        sys.stdout.flush()

async def main():
    ledger = sqlite_ledger(Path(sys.argv[1]), HandClock())
    await ledger.open()
    desk = Desk(ledger, HandClock())
    await asyncio.gather(*(client(desk, f"c{one}") for one in range(8)))

asyncio.run(main())
"""


def everything(path: Path) -> dict[str, list[tuple[object, ...]]]:
    with raw(path) as connection:
        names = [*(TABLES[kind].name for kind in ENTITY_KINDS), "events", "commits", "facets"]
        return {name: sorted(connection.execute(f"SELECT * FROM {name}"), key=str) for name in names}


async def test_a_ledger_opened_again_goes_on_where_it_ended(
    database: Path, clock: HandClock, reopen: Callable[[], Desk]
) -> None:
    first = reopen()
    await first.open()
    await lived(first)
    await first.ledger.close()
    before = everything(database)
    second = reopen()
    await second.open()
    assert everything(database) == before
    await second.run(cm.StartHub(IncarnationId("i_hub2"), "1"))
    second.count = first.count
    for subject in ("hub", "project:paid", NODE, CLAUDE):
        assert await second.run(dc.Unpause(subject, "ann", "it has moved")) == cm.Done()
    assert await second.claim() == [], "its circuit is still open, and one was let through"
    assert await second.run(dc.CloseCircuit(CLAUDE, "ann", "there is room")) == cm.Done()
    task_id = await second.completed()
    assert await second.run(cm.Due(DeliveryId("d_none"))) == cm.DueAnswer("nothing")
    assert await second.ledger.find(Task, task_id) is not None
    await second.ledger.close()
    with raw(database) as connection:
        report = audit.verify(connection)
    assert report.agrees, "\n".join(map(str, report.findings))


async def test_every_reply_that_left_before_a_kill_is_in_the_record(database: Path) -> None:
    out = database.parent / "replies"
    with out.open("wb") as replies:
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(database)], stdout=replies, cwd=Path.cwd()
        )
        try:
            eventually(lambda: out.stat().st_size > 20_000 or writer.poll() is not None, 60)
        finally:
            os.kill(writer.pid, signal.SIGKILL)
            writer.wait(10)
    told = dict(line.split() for line in out.read_text().splitlines() if line.count(" ") == 1)
    assert len(told) > 500
    ledger = sqlite_ledger(database, HandClock())
    await ledger.open()
    for key, task_id in list(told.items())[-400:]:
        task = await ledger.task_by_key("ann", key)
        assert task is not None
        assert task.task_id == task_id
    await ledger.close()
    with raw(database) as connection:
        report = audit.verify(connection)
    assert report.agrees, "\n".join(map(str, report.findings))
    assert report.head.events >= 2 * len(told)
