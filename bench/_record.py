"""Ledgers to measure: a record in a folder of its own, commands made beforehand, and what was written."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from tenure.core import commands as cm
from tenure.core.attempt import Outcome, Usage, Verdict
from tenure.core.canonical import digest, text_digest
from tenure.core.ids import Address, ClaimId, DeliveryId, IncarnationId, NodeId, TaskId
from tenure.core.recipient import RecipientSpec
from tenure.core.task import TaskSpec
from tenure.ledger.sqlite import SqliteLedger, SqliteParts
from tenure.runtime.clock import RealClock
from tenure.runtime.ids import RealIds

T = TypeVar("T")
Statement = tuple[str, list[tuple[Any, ...]]]

CLOCK = RealClock()
IDS = RealIds(CLOCK)
HUB = IncarnationId(IDS.new_id("i"))
NODE = NodeId(IDS.new_id("n"))
DAEMON = IncarnationId(IDS.new_id("i"))
WHERE = Address("coder@bench")


class RecordingConnection(sqlite3.Connection):
    """Keeps what is written, in the order in which it is, split by COMMIT."""

    batches: list[list[Statement]]

    def executemany(self, sql: str, parameters: Any, /) -> sqlite3.Cursor:
        rows = list(parameters)
        self._keep(sql, rows)
        return super().executemany(sql, rows)

    def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
        if sql.startswith("INSERT"):
            self._keep(sql, [tuple(parameters)])
        found = super().execute(sql, parameters)
        if sql == "COMMIT":
            self.batches.append([])
        return found

    def _keep(self, sql: str, rows: list[tuple[Any, ...]]) -> None:
        self.batches[-1].append((sql, rows))


def connector(
    path: Path, recorded: list[list[Statement]] | None = None
) -> Callable[[bool], sqlite3.Connection]:
    def connect(read_only: bool) -> sqlite3.Connection:
        kind = sqlite3.Connection if recorded is None or read_only else RecordingConnection
        mode = "ro" if read_only else "rwc"
        connection = sqlite3.connect(
            f"file:{path}?mode={mode}", uri=True, timeout=0, check_same_thread=False, factory=kind
        )
        if isinstance(connection, RecordingConnection):
            connection.batches = recorded if recorded is not None else []
        return connection

    return connect


@contextmanager
def one_thread() -> Iterator[Callable[[Callable[[], T]], Awaitable[T]]]:
    with ThreadPoolExecutor(1) as pool:

        def run(work: Callable[[], T]) -> Awaitable[T]:
            return asyncio.get_running_loop().run_in_executor(pool, work)

        yield run


async def opened(path: Path, run: Any, recorded: list[list[Statement]] | None = None) -> SqliteLedger:
    """A new record with one hub and one node that has room for everything."""
    ledger = SqliteLedger(SqliteParts(connector(path, recorded), run, run, CLOCK, HUB))
    await ledger.open()
    await ledger.execute(cm.StartHub(HUB, "bench"))
    await ledger.execute(cm.Enroll(NODE, "bench", text_digest("node"), "bench"))
    spec = RecipientSpec("coder", "command", capacity=10_000, pools=("pool",))
    await ledger.execute(cm.StartNode(NODE, DAEMON, "boot", 1, "linux", "1", (spec,)))
    return ledger


def submit(number: int, **changes: Any) -> cm.Submit:
    """A Task of an ordinary size."""
    spec: dict[str, Any] = {
        "objective": f"Fix the flaky test number {number} in tests/api/test_sessions.py and say what the cause was.",
        "route": "coder",
        "repository": "https://git.example/team/service.git",
        "base_sha": f"{number:040x}",
        "timeout_s": 1800,
        "labels": {"team": "api"},
    }
    return cm.Submit(TaskId(IDS.new_id("t")), TaskSpec(**(spec | changes)), "bench", f"bench:{number}")


def life_cycles(batches: int, size: int) -> list[tuple[cm.Command, ...]]:
    """The batches of whole life cycles: `size` Tasks are submitted, claimed, acknowledged and reported at a
    time."""
    made: list[tuple[cm.Command, ...]] = []
    for batch in range(batches):
        made.append(tuple(submit(batch * size + one) for one in range(size)))
        offers = tuple(cm.Offer(DeliveryId(IDS.new_id("d")), text_digest(IDS.token())) for _ in range(size))
        made.append((cm.Claim(NODE, DAEMON, ClaimId(IDS.new_id("c")), {WHERE: size}, offers),))
        proofs = [cm.Proof(one.delivery_id, 1, one.token_digest, DAEMON) for one in offers]
        made.append(tuple(cm.Acknowledge(proof, text_digest(proof.delivery_id)) for proof in proofs))
        made.append(tuple(_report(proof) for proof in proofs))
    return made


def _report(proof: cm.Proof) -> cm.Report:
    outcome = Outcome(
        verdict=Verdict.COMPLETED,
        summary="the session cache was shared between tests",
        evidence='{"exit_code":0,"files":3,"insertions":41,"deletions":12}',
        usage=Usage(
            input_tokens=18_000, output_tokens=2_100, cost_usd_micros=91_000, tool_calls=14, wall_s=212.5
        ),
        head_sha=text_digest(proof.delivery_id)[:40],
        tree_gone=True,
    )
    return cm.Report(proof, digest(outcome), outcome)
