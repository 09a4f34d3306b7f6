"""A record to measure: a ledger on a file, commands made beforehand, and what was written."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
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

IDS = RealIds(RealClock())
HUB = IncarnationId(IDS.new_id("i"))
NODE = NodeId(IDS.new_id("n"))
DAEMON = IncarnationId(IDS.new_id("i"))
WHERE = Address("coder@bench")


class MovableClock:
    """The real clocks, which can be moved on by hand."""

    def __init__(self) -> None:
        self._real = RealClock()
        self.moved_ms = 0

    def wall_ms(self) -> int:
        return self._real.wall_ms() + self.moved_ms

    def awake_ns(self) -> int:
        return self._real.awake_ns() + self.moved_ms * 1_000_000

    def boot_ns(self) -> int:
        return self._real.boot_ns() + self.moved_ms * 1_000_000

    def pass_s(self, seconds: float) -> None:
        self.moved_ms += round(seconds * 1000)


class RecordingConnection(sqlite3.Connection):
    """Keeps what is written, in the order in which it is, split by COMMIT."""

    batches: list[list[Statement]]

    def executemany(self, sql: str, parameters: Any, /) -> sqlite3.Cursor:
        rows = list(parameters)
        self.batches[-1].append((sql, rows))
        return super().executemany(sql, rows)

    def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
        if sql.startswith("INSERT"):
            self.batches[-1].append((sql, [tuple(parameters)]))
        found = super().execute(sql, parameters)
        if sql == "COMMIT":
            self.batches.append([])
        return found


def connector(
    path: Path, written: list[list[Statement]] | None = None
) -> Callable[[bool], sqlite3.Connection]:
    def connect(read_only: bool) -> sqlite3.Connection:
        kind = sqlite3.Connection if written is None or read_only else RecordingConnection
        mode = "ro" if read_only else "rwc"
        connection = sqlite3.connect(
            f"file:{path}?mode={mode}", uri=True, timeout=0, check_same_thread=False, factory=kind
        )
        if isinstance(connection, RecordingConnection) and written is not None:
            connection.batches = written
        return connection

    return connect


class Record:
    """A ledger with threads of its own, as a hub has it, and one node. Use it as a context."""

    count = 0
    clock = MovableClock()

    def __init__(self, path: Path, written: list[list[Statement]] | None = None) -> None:
        self._writer, self._reader = ThreadPoolExecutor(1), ThreadPoolExecutor(1)
        self.ledger = SqliteLedger(
            SqliteParts(connector(path, written), _run(self._writer), _run(self._reader), self.clock, HUB)
        )

    async def __aenter__(self) -> Record:
        await self.ledger.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.ledger.close()
        self._writer.shutdown()
        self._reader.shutdown()

    @staticmethod
    def one_recipient() -> tuple[RecipientSpec, ...]:
        return (RecipientSpec("coder", "command", capacity=10_000, pools=("pool",)),)

    @staticmethod
    def crowd(size: int) -> tuple[RecipientSpec, ...]:
        return tuple(
            RecipientSpec(f"coder{one}", "command", capacity=10, pools=("pool",)) for one in range(size)
        )

    async def start(self, recipients: tuple[RecipientSpec, ...]) -> None:
        await self.ledger.execute(cm.StartHub(HUB, "bench"))
        await self.ledger.execute(cm.Enroll(NODE, "bench", text_digest("node"), "bench"))
        await self.ledger.execute(cm.StartNode(NODE, DAEMON, "boot", 1, "linux", "1", recipients))

    async def free(self) -> dict[Address, int]:
        """What the node would claim for: every recipient, with the room that it has."""
        return {one.address: min(one.free, 100) for one in await self.ledger.recipients()}

    def submission(self, **changes: Any) -> cm.Submit:
        Record.count += 1
        return submit(Record.count, **changes)

    def claim(self, free: dict[Address, int], offers: int) -> cm.Claim:
        return cm.Claim(NODE, DAEMON, ClaimId(IDS.new_id("c")), free, _offers(offers))

    async def acknowledge(self, claim: cm.Claim, reply: cm.Claimed) -> None:
        acks = [cm.Acknowledge(proof, text_digest(proof.delivery_id)) for proof in _proofs(claim, reply)]
        answers = await self.ledger.execute_many(acks)
        assert all(isinstance(one, cm.LegAnswer) and one.answer == "delivered" for one in answers), answers

    async def finish(self, claim: cm.Claim, reply: cm.Claimed, verdict: Verdict) -> None:
        await self.acknowledge(claim, reply)
        answers = await self.ledger.execute_many([_report(proof, verdict) for proof in _proofs(claim, reply)])
        assert all(isinstance(one, cm.LegAnswer) and one.answer == "recorded" for one in answers), answers


def _run(pool: ThreadPoolExecutor) -> Any:
    def run(work: Callable[[], T]) -> Awaitable[T]:
        return asyncio.get_running_loop().run_in_executor(pool, work)

    return run


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
        offers = _offers(size)
        made.append((cm.Claim(NODE, DAEMON, ClaimId(IDS.new_id("c")), {WHERE: size}, offers),))
        proofs = [cm.Proof(one.delivery_id, 1, one.token_digest, DAEMON) for one in offers]
        made.append(tuple(cm.Acknowledge(proof, text_digest(proof.delivery_id)) for proof in proofs))
        made.append(tuple(_report(proof, Verdict.COMPLETED) for proof in proofs))
    return made


def _offers(size: int) -> tuple[cm.Offer, ...]:
    return tuple(cm.Offer(DeliveryId(IDS.new_id("d")), text_digest(IDS.token())) for _ in range(size))


def _proofs(claim: cm.Claim, reply: cm.Claimed) -> list[cm.Proof]:
    """Every Task is granted once only here, so its first fence is its fence."""
    digests = {offer.delivery_id: offer.token_digest for offer in claim.offers}
    return [cm.Proof(one, 1, digests[one], DAEMON) for one in reply.deliveries]


def _report(proof: cm.Proof, verdict: Verdict) -> cm.Report:
    outcome = Outcome(
        verdict=verdict,
        summary="the session cache was shared between tests",
        evidence='{"exit_code":0,"files":3,"insertions":41,"deletions":12}',
        usage=Usage(
            input_tokens=18_000, output_tokens=2_100, cost_usd_micros=91_000, tool_calls=14, wall_s=212.5
        ),
        head_sha=text_digest(proof.delivery_id)[:40],
        tree_gone=True,
    )
    return cm.Report(proof, digest(outcome), outcome)
