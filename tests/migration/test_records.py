"""Records that earlier versions wrote themselves go on: nothing is lost, they prove themselves, work comes in its order.

`records/0001.sql` and `records/0002.sql` are dumps of databases that the versions with these schemas made by their own
code. They are never made anew."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from tenure.core import commands as cm
from tenure.core.attempt import Answer, Attempt, Outcome, Verdict
from tenure.core.attention import AttentionKind
from tenure.core.canonical import digest, text_digest
from tenure.core.delivery import Delivery
from tenure.core.failure import FailureClass
from tenure.core.ids import Address, ClaimId, DeliveryId, IncarnationId, NodeId, TaskId
from tenure.core.recipient import RecipientSpec
from tenure.core.task import Task, TaskState
from tenure.ledger import audit
from tenure.ledger.migrating import REVISIONS, bring_up_to_date
from tenure.ledger.port import TaskFilter
from tenure.ledger.row import FACETS
from tests.ledger.desk import Desk, HandClock, acted, connector, decided, raw, scheduled, sqlite_ledger

RECORDS = Path(__file__).parent / "records"
BOX = NodeId("n_box")
BOX_DAEMON = IncarnationId("i_daemon2")
TABLES = ("tasks", "attempts", "deliveries", "recipients", "nodes", "attention", "late", "credentials", "hub")
NEWEST_MS = {"0001": 1_000_000_185_000, "0002": 1_000_000_205_000}
"""When the last commit of each record was made."""
WAITING = {"0001": (30, 31, 32, 33), "0002": (43, 44, 45, 46)}
"""Tasks for `codex@box` that wait: the first has a `not_before`, then come pool, bare name and address."""
RUNNING = {"0001": (25, 26), "0002": (38, 39)}
"""Of the same recipient: one whose receipt was accepted, and one that was only offered."""


def as_written(revision: str, path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path)
    connection.executescript((RECORDS / f"{revision}.sql").read_text("utf-8"))
    assert connection.execute("SELECT version_num FROM alembic_version").fetchone() == (revision,)
    return connection


def migrated(revision: str, path: Path) -> None:
    as_written(revision, path).close()
    connect = connector(path)
    bring_up_to_date(lambda: connect(False))


def verified(path: Path) -> audit.AuditReport:
    with raw(path) as connection:
        report = audit.verify(connection)
    assert report.agrees, "\n".join(map(str, report.findings))
    return report


@pytest.fixture(params=["0001", "0002"])
def revision(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def named(numbers: tuple[int, ...]) -> list[TaskId]:
    return [TaskId(f"t_{one:04}") for one in numbers]


def test_every_row_is_kept_and_the_record_proves_itself(revision: str, tmp_path: Path) -> None:
    path = tmp_path / "hub.db"
    old = as_written(revision, path)
    kept: dict[str, list[tuple[object, ...]]] = {}
    columns: dict[str, str] = {}
    names = [*TABLES, FACETS, "events", "commits", *(("effects", "webhooks") if revision == "0002" else ())]
    for name in names:
        columns[name] = ", ".join(row[1] for row in old.execute(f"PRAGMA table_info({name})"))
        kept[name] = old.execute(f"SELECT {columns[name]} FROM {name} ORDER BY 1, 2, 3").fetchall()
        assert kept[name], name
    old.close()
    head = str(max(kept["commits"])[-1])
    connect = connector(path)
    bring_up_to_date(lambda: connect(False))
    with raw(path) as new:
        assert new.execute("SELECT version_num FROM alembic_version").fetchone() == (REVISIONS[-1],)
        for name in names:
            assert (
                new.execute(f"SELECT {columns[name]} FROM {name} ORDER BY 1, 2, 3").fetchall() == kept[name]
            )
            with pytest.raises(sqlite3.IntegrityError, match="frozen"):
                new.execute(f"DELETE FROM {name}")
        assert new.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert new.execute("PRAGMA foreign_key_check").fetchall() == []
    report = verified(path)
    assert report.head.hash == head


def test_both_ways_to_the_newest_schema_lead_to_the_same(revision: str, tmp_path: Path) -> None:
    migrated(revision, tmp_path / "old.db")
    new = connector(tmp_path / "new.db")
    bring_up_to_date(lambda: new(False))
    described: list[dict[str, str]] = []
    for name in ("old.db", "new.db"):
        with raw(tmp_path / name) as connection:
            rows = connection.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
        described.append({name: "".join(text.split()).replace('"', "") for name, text in rows})
    assert described[0] == described[1]


def test_the_isolation_of_grants_is_taken_from_what_was_recorded(tmp_path: Path) -> None:
    migrated("0002", tmp_path / "hub.db")
    with raw(tmp_path / "hub.db") as connection:
        rows = connection.execute(
            "SELECT DISTINCT recipient, isolation FROM deliveries ORDER BY 1, 2"
        ).fetchall()
    assert rows == [("claude@laptop", None), ("codex@box", "user"), ("shy@box", "user")]


class Old:
    """The second node of a record of before, and the ledger over it."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        desk.count = 1_000

    async def claim(self, free: int, where: str = "codex@box") -> list[Delivery]:
        fresh = [DeliveryId(self.desk.fresh("d")) for _ in range(free)]
        offers = tuple(cm.Offer(one, text_digest(one)) for one in fresh)
        claim_id = ClaimId(self.desk.fresh("c"))
        reply = await self.desk.run(cm.Claim(BOX, BOX_DAEMON, claim_id, {Address(where): free}, offers))
        found = await self.desk.ledger.find_many(Delivery, reply.deliveries)
        return [found[one] for one in reply.deliveries]

    def proof(self, delivery: Delivery) -> cm.Proof:
        return cm.Proof(delivery.delivery_id, delivery.fence, delivery.token_digest, BOX_DAEMON)

    async def ack(self, delivery: Delivery) -> str:
        return (await self.desk.run(cm.Acknowledge(self.proof(delivery), "receipt"))).answer

    async def report(self, delivery: Delivery, verdict: Verdict, failure: FailureClass | None = None) -> str:
        outcome = Outcome(verdict=verdict, summary="so it ended", failure_class=failure, tree_gone=True)
        return (await self.desk.run(cm.Report(self.proof(delivery), digest(outcome), outcome))).answer

    async def task(self, task_id: TaskId) -> Task:
        task = await self.desk.ledger.find(Task, task_id)
        assert task is not None
        return task

    async def held(self, task_id: TaskId) -> Delivery:
        task = await self.task(task_id)
        delivery = await self.desk.ledger.find(Delivery, task.lease or "")
        assert delivery is not None
        return delivery


async def opened(revision: str, path: Path) -> tuple[Old, HandClock]:
    clock = HandClock()
    clock.ms = NEWEST_MS[revision]
    ledger = sqlite_ledger(path, clock)
    await ledger.open()
    return Old(Desk(ledger, clock)), clock


async def test_what_waited_is_granted_in_its_order(revision: str, tmp_path: Path) -> None:
    migrated(revision, tmp_path / "hub.db")
    old, clock = await opened(revision, tmp_path / "hub.db")
    later, *waiting = named(WAITING[revision])
    running, offered = named(RUNNING[revision])
    assert await old.ack(await old.held(offered)) == "delivered"
    new = await old.desk.submit(route="codex@box")
    urgent = await old.desk.submit(route="codex@box", priority=1, project="other")
    granted: list[TaskId] = []
    for one in (running, offered, *range(5)):
        holder = TaskId(str(one)) if isinstance(one, str) else granted[-1]
        assert await old.report(await old.held(holder), Verdict.COMPLETED) == "recorded"
        (delivery,) = [*await old.claim(1), None][:1]
        if delivery is None:
            break
        assert await old.ack(delivery) == "delivered"
        granted.append(delivery.task_id)
    # The new project takes turns with the old one; within each the order stands.
    assert [one for one in granted if one != urgent] == [*waiting, new]
    assert urgent in granted
    clock.ms = (await old.task(later)).ready_at_ms
    assert [one.task_id for one in await old.claim(1)] == [later]
    await old.desk.ledger.close()
    verified(tmp_path / "hub.db")


async def test_open_questions_and_leases_of_before_are_answered_as_ever(
    revision: str, tmp_path: Path
) -> None:
    migrated(revision, tmp_path / "hub.db")
    old, _ = await opened(revision, tmp_path / "hub.db")
    desk = old.desk
    items = {one.kind: one for one in await desk.ledger.attention()}
    unknown, asked = items[AttentionKind.UNKNOWN], items[AttentionKind.ASKED]
    lost, question = TaskId(unknown.subject[:-2]), TaskId(asked.subject[:-2])
    assert await old.claim(1, "shy@box") == [], "it is blocked"
    reply = await desk.run(
        cm.Reconcile(lost, 1, Answer.RERUN, unknown.version, "ann", "looked", tree_gone=True)
    )
    assert reply.successor == 2
    assert [one.task_id for one in await old.claim(1, "shy@box")] == [lost]
    assert (await desk.run(cm.Retry(question, "ann", "the blue one"))).successor == 2
    attempt = await desk.ledger.find(Attempt, f"{question}/2")
    assert attempt is not None
    assert "the blue one" in attempt.spec.objective
    running, offered = [await old.held(one) for one in named(RUNNING[revision])]
    assert await old.ack(offered) == "delivered"
    # The policy that their specs were frozen with has a new name by now.
    await old.report(running, Verdict.FAILED, FailureClass.EXECUTOR_LOST)
    await old.report(offered, Verdict.FAILED, FailureClass.AUTHORIZATION)
    assert ((await old.task(running.task_id)).attempts, (await old.task(offered.task_id)).state) == (
        2,
        TaskState.INPUT_REQUIRED,
    )
    await desk.ledger.close()
    verified(tmp_path / "hub.db")


async def test_ended_tasks_of_before_stay_as_they_ended(revision: str, tmp_path: Path) -> None:
    migrated(revision, tmp_path / "hub.db")
    old, _ = await opened(revision, tmp_path / "hub.db")
    failed = [
        one
        for one in (await old.desk.ledger.tasks(TaskFilter(states=(TaskState.FAILED,)))).tasks
        if one.attempts == 1
    ]
    assert len(failed) == 2
    for task in failed:
        reply = await old.desk.run(cm.Retry(task.task_id, "ann", "again"))
        assert reply.code == "terminal"
        assert await old.task(task.task_id) == task
        next_one = await old.desk.submit(continues=task.task_id, because="with more room")
        assert (await old.task(next_one)).lineage[-1] == task.task_id
    await old.desk.ledger.close()
    verified(tmp_path / "hub.db")


async def test_everything_new_happens_in_a_record_of_before(revision: str, tmp_path: Path) -> None:
    migrated(revision, tmp_path / "hub.db")
    old, _ = await opened(revision, tmp_path / "hub.db")
    desk = old.desk
    desk.node, desk.daemon, desk.where = BOX, IncarnationId("i_daemon3"), Address("claude@box")
    spec = RecipientSpec("claude", "command", capacity=20, pools=("pool",))
    assert isinstance(
        await desk.run(cm.StartNode(BOX, desk.daemon, "boot1", 1, "linux", "1", (spec,))), cm.Started
    )
    for delivery in await desk.claim(20):
        await desk.run(cm.Cancel(delivery.task_id, "ann", "make room"))
    if revision == "0001":  # the other one has these very Effects
        await acted(desk)
    await scheduled(desk)
    await decided(desk)
    await desk.ledger.close()
    verified(tmp_path / "hub.db")
