"""The ledger on SQLite: one file, one writer, readers beside it.

Nothing here opens a file or makes a thread. `connect` opens the database (`sqlite_engine.Connect`), `run`
executes what writes, `run_reads` what reads; both must run one function at a time, and in the simulator they
run it in place. That no other process writes is the caller's care: it holds the lock of the data folder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct

from tenure.core.access import Credential
from tenure.core.attempt import Attempt
from tenure.core.attention import Attention
from tenure.core.clock import Clock
from tenure.core.commands import Command, Reply
from tenure.core.decide import decide
from tenure.core.delivery import Delivery, Now, Terms
from tenure.core.effect import Effect
from tenure.core.ids import AttemptId, DeliveryId, IncarnationId, NodeId, TaskId
from tenure.core.late import Late
from tenure.core.limits import INTEGER
from tenure.core.recipient import Node, Recipient
from tenure.core.schedule import Schedule
from tenure.core.task import Task
from tenure.core.world import E
from tenure.ledger.batch import Decide, Judge
from tenure.ledger.group_commit import Bounds, GroupCommit
from tenure.ledger.migrating import bring_up_to_date
from tenure.ledger.port import (
    PAGE,
    Listener,
    Missed,
    Opened,
    Recorded,
    Run,
    TaskFilter,
    TaskHistory,
    TaskPage,
)
from tenure.ledger.row import KEYS
from tenure.ledger.sqlite_engine import Connect, SqliteEngine
from tenure.ledger.sqlite_failure import STORAGE_ERRORS, storage_error
from tenure.ledger.sqlite_reads import (
    ALL_SCHEDULES,
    DUE_SCHEDULES,
    EFFECTS_OF_TASK,
    FIRST_MS,
    HELD_TASKS,
    OF_TASK,
    STANDING_SCHEDULES,
    SqliteReads,
)


class SqliteParts(Struct, frozen=True):
    """What a ledger on SQLite is made of. `hub` is this incarnation; instants of commits are read from `clock`
    in its name."""

    connect: Connect
    run: Run
    run_reads: Run
    clock: Clock
    hub: IncarnationId
    terms: Terms = Terms()
    decide: Decide = decide
    bounds: Bounds = Bounds()


class SqliteLedger:
    """A `Ledger`. Call `open` once before anything else."""

    def __init__(self, parts: SqliteParts) -> None:
        self._parts = parts
        self._engine = SqliteEngine(parts.connect, Judge(parts.decide, parts.terms))
        self._reads = SqliteReads(parts.connect)
        self._group = GroupCommit(self._engine, parts.run, parts.clock, parts.hub, parts.bounds)
        self._run_reads = parts.run_reads

    async def open(self) -> None:
        """Bring the schema up to date and open the database.

        Raises:
            DataFolderTooNewError: a later version wrote it. Nothing was touched.
            UnavailableError: it cannot be opened.
        """
        await self._parts.run(self._prepare)

    def _prepare(self) -> None:
        try:
            bring_up_to_date(lambda: self._parts.connect(False))
        except STORAGE_ERRORS as error:
            raise storage_error(error) from error
        self._engine.open()

    async def close(self) -> None:
        await self._group.drain()
        await self._run_reads(self._reads.close)
        await self._parts.run(self._engine.close)

    async def execute(self, command: Command) -> Reply:
        return await self._group.execute(command)

    async def execute_many(self, commands: Sequence[Command]) -> list[Reply]:
        return await self._group.execute_many(commands)

    async def execute_patiently(self, commands: Sequence[Command]) -> list[Reply]:
        return await self._group.execute_patiently(commands)

    async def check(self) -> None:
        await self._group.check()

    def now(self) -> Now:
        return self._group.now()

    def subscribe(self, listener: Listener, missed: Missed | None = None) -> Callable[[], None]:
        return self._group.subscribe(listener, missed)

    # -- reads

    async def find(self, kind: type[E], key: str) -> E | None:
        return (await self.find_many(kind, (key,))).get(key)

    async def find_many(self, kind: type[E], keys: Iterable[str]) -> dict[str, E]:
        return await self._run_reads(lambda: self._reads.find_many(kind, keys))

    async def task_by_key(self, by: str, idempotency_key: str) -> Task | None:
        where = "submitted_by = ? AND idempotency_key = ?"
        return await self._run_reads(lambda: self._reads.one(Task, where, by, idempotency_key))

    async def tasks(self, where: TaskFilter, cursor: str | None = None, limit: int = PAGE) -> TaskPage:
        return await self._run_reads(lambda: self._reads.tasks(where, cursor, limit))

    async def history(self, task_id: TaskId) -> TaskHistory | None:
        return await self._run_reads(lambda: self._reads.history(task_id))

    async def attempts(self, task_id: TaskId) -> list[Attempt]:
        return await self._run_reads(lambda: self._reads.attempts(task_id))

    async def deliveries(self, task_id: TaskId) -> list[Delivery]:
        return await self._run_reads(lambda: self._reads.several(Delivery, OF_TASK, task_id))

    async def late(self, attempt_id: AttemptId) -> list[Late]:
        rest = "WHERE attempt_id = ? ORDER BY heard_at_ms, late_id"
        return await self._run_reads(lambda: self._reads.several(Late, rest, attempt_id))

    async def attention(
        self, open_only: bool = True, limit: int = PAGE, after: Opened | None = None
    ) -> list[Attention]:
        if open_only:
            start = after or Opened(-1, "")
            rest = (
                "WHERE open = 1 AND (opened_at_ms, item_id) > (?, ?) ORDER BY opened_at_ms, item_id LIMIT ?"
            )
        else:
            start = after or Opened(INTEGER, "")
            rest = "WHERE (-opened_at_ms, item_id) > (-?, ?) ORDER BY opened_at_ms DESC, item_id LIMIT ?"
        return await self._run_reads(
            lambda: self._reads.several(Attention, rest, start.at_ms, start.item_id, limit)
        )

    async def attention_about(self, task_ids: Iterable[TaskId]) -> list[Attention]:
        return await self._run_reads(lambda: self._reads.attention_about(task_ids))

    async def recipients(self) -> list[Recipient]:
        return await self._run_reads(lambda: self._reads.several(Recipient, "ORDER BY address"))

    async def nodes(self) -> list[Node]:
        return await self._run_reads(lambda: self._reads.several(Node, "ORDER BY name, node_id"))

    async def node_named(self, name: str) -> Node | None:
        return await self._run_reads(lambda: self._reads.one(Node, "name = ? AND revoked = 0", name))

    async def node_by_credential(self, digest: str) -> Node | None:
        return await self._run_reads(lambda: self._reads.one(Node, "credential_digest = ?", digest))

    async def credentials(self) -> list[Credential]:
        rest = "ORDER BY issued_at_ms, credential_id"
        return await self._run_reads(lambda: self._reads.several(Credential, rest))

    async def credential_by_digest(self, digest: str) -> Credential | None:
        return await self._run_reads(lambda: self._reads.one(Credential, "token_digest = ?", digest))

    async def deliveries_of_node(self, node_id: NodeId) -> list[Delivery]:
        rest = (
            "INDEXED BY deliveries_held WHERE node_id = ? AND (ended_at_ms IS NULL OR slot = 1) "
            "ORDER BY claimed_at_ms, delivery_id"
        )
        return await self._run_reads(lambda: self._reads.several(Delivery, rest, node_id))

    async def stream(self, stream: str, after_version: int = 0, limit: int = PAGE) -> list[Recorded]:
        rest = "WHERE stream = ? AND version > ? ORDER BY version LIMIT ?"
        return await self._run_reads(lambda: self._reads.events(rest, stream, after_version, limit))

    async def events(self, after_seq: int = 0, limit: int = PAGE) -> list[Recorded]:
        rest = "WHERE seq > ? ORDER BY seq LIMIT ?"
        return await self._run_reads(lambda: self._reads.events(rest, after_seq, limit))

    async def events_of(
        self, projects: Sequence[str], after_seq: int = 0, limit: int = PAGE
    ) -> tuple[list[Recorded], int]:
        return await self._run_reads(lambda: self._reads.events_of(projects, after_seq, limit))

    async def due(self, now_ms: int, limit: int) -> list[DeliveryId]:
        return await self._run_reads(lambda: self._reads.due(now_ms, limit))

    async def next_due_ms(self) -> int | None:
        return await self._run_reads(self._reads.next_due_ms)

    async def next_ready_ms(self, queues: Iterable[str], after_ms: int) -> int | None:
        return await self._run_reads(lambda: self._reads.next_ready_ms(queues, after_ms))

    async def effects(self, task_id: TaskId) -> list[Effect]:
        return await self._run_reads(lambda: self._reads.several(Effect, EFFECTS_OF_TASK, task_id))

    async def effects_due(self, now_ms: int, limit: int, after: Effect | None = None) -> list[Effect]:
        at_ms, name = (after.due_at_ms or 0, after.effect_id) if after is not None else (-1, "")
        rest = (
            "WHERE due_at_ms <= ? AND (due_at_ms, effect_id) > (?, ?) ORDER BY due_at_ms, effect_id LIMIT ?"
        )
        return await self._run_reads(lambda: self._reads.several(Effect, rest, now_ms, at_ms, name, limit))

    async def next_effect_due_ms(self) -> int | None:
        return await self._run_reads(self._reads.next_effect_due_ms)

    async def schedules(self, with_removed: bool = False) -> list[Schedule]:
        rest = ALL_SCHEDULES if with_removed else STANDING_SCHEDULES
        return await self._run_reads(lambda: self._reads.several(Schedule, rest))

    async def schedules_due(self, now_ms: int, limit: int) -> list[Schedule]:
        return await self._run_reads(lambda: self._reads.several(Schedule, DUE_SCHEDULES, now_ms, limit))

    async def next_schedule_due_ms(self) -> int | None:
        return await self._run_reads(self._reads.next_schedule_due_ms)

    async def all_of(self, kind: type[E]) -> list[E]:
        rest = f"ORDER BY {KEYS[kind]} LIMIT ?"
        return await self._run_reads(lambda: self._reads.several(kind, rest, PAGE))

    async def held_on(self, subject: str, limit: int, after: Task | None = None) -> list[Task]:
        place = (FIRST_MS, "") if after is None else (after.order_ms, after.task_id)
        return await self._run_reads(lambda: self._reads.several(Task, HELD_TASKS, subject, *place, limit))

    async def held_subjects(self, limit: int, after: str = "") -> list[str]:
        return await self._run_reads(lambda: self._reads.held_subjects(limit, after))

    async def tasks_due(self, now_ms: int, limit: int) -> list[TaskId]:
        return await self._run_reads(lambda: self._reads.tasks_due(now_ms, limit))

    async def next_task_due_ms(self) -> int | None:
        return await self._run_reads(self._reads.next_task_due_ms)

    async def dependents_of(self, task_id: TaskId, *, let_go: bool = False) -> list[TaskId]:
        return await self._run_reads(lambda: self._reads.dependents_of(task_id, let_go=let_go))

    async def unreleased(self, limit: int) -> list[tuple[TaskId, TaskId]]:
        return await self._run_reads(lambda: self._reads.unreleased(limit))
