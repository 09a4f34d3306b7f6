"""The ledger in memory: the whole record as one World, for tests and the simulator.

It is the same port over the same group commit and the same decisions; only what keeps the record differs. It
forgets everything with its process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct

from tenure.core.access import Credential
from tenure.core.attempt import Attempt
from tenure.core.attention import Attention
from tenure.core.clock import Clock
from tenure.core.commands import Command, ReleaseDependent, Reply
from tenure.core.decide import decide
from tenure.core.delivery import Delivery, Now, Terms
from tenure.core.dependency import is_disproved
from tenure.core.effect import Effect
from tenure.core.ids import AttemptId, DeliveryId, IncarnationId, NodeId, TaskId
from tenure.core.late import Late
from tenure.core.recipient import Node, Recipient
from tenure.core.review import Review
from tenure.core.schedule import Schedule
from tenure.core.task import Task
from tenure.core.tenancy import may_know
from tenure.core.world import Changes, E, Entity, World
from tenure.ledger.batch import Decide, Judge, Tail, committed, decide_all, link, recorded
from tenure.ledger.chain import GENESIS, Commit
from tenure.ledger.group_commit import Bounds, GroupCommit, Ran
from tenure.ledger.listing import check_limit, next_place, page
from tenure.ledger.port import (
    PAGE,
    STRETCH,
    Committed,
    Listener,
    Missed,
    Opened,
    Recorded,
    Run,
    TaskFilter,
    TaskHistory,
    TaskPage,
)
from tenure.ledger.row import Row, check_fixed, facets, label


class TouchedWorld(World):
    """A World that remembers what a batch has changed."""

    def __init__(self) -> None:
        super().__init__()
        self.touched: dict[str, Entity] = {}

    def accept(self, changes: Changes) -> None:
        for kind, changed in changes.items():
            for key, entity in changed.items():
                before = self.entities[kind].get(key)
                if before is not None:
                    check_fixed(kind, before, entity)
        super().accept(changes)
        for changed in changes.values():
            self.touched.update(changed)


class MemoryEngine:
    """An `Engine` that cannot fail: what is decided is kept."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self._tail = Tail(None)
        self.world = TouchedWorld()
        self.rows: list[Row] = []
        self.commits: list[Commit] = []

    def run(self, commands: Sequence[Command], now: Now) -> Ran:
        self.world.touched = {}
        decided = decide_all(self.world, self._judge, commands, now)
        if not decided.events:
            return Ran(decided.outcomes, list)
        for event in decided.events:
            self._tail.heads.setdefault(event.stream, (0, GENESIS))
        rows, commit = link(decided, self._tail, now)
        self._tail.commit = commit
        self.rows += rows
        self.commits.append(commit)
        touched = list(self.world.touched.values())

        def told() -> list[Committed]:
            return [committed(decided, rows, commit, touched)]

        return Ran(decided.outcomes, told)

    def probe(self) -> None:
        """Memory takes every commit."""


class MemoryParts(Struct, frozen=True):
    """As `sqlite.SqliteParts`, without a database."""

    run: Run
    clock: Clock
    hub: IncarnationId
    terms: Terms = Terms()
    decide: Decide = decide
    bounds: Bounds = Bounds()


class MemoryLedger:
    """A `Ledger`. A second one over the same `engine` has its record, as after a restart."""

    def __init__(self, parts: MemoryParts, engine: MemoryEngine | None = None) -> None:
        self._judge = Judge(parts.decide, parts.terms)
        self.engine = engine or MemoryEngine(self._judge)
        self._world: World = self.engine.world
        self._group = GroupCommit(self.engine, parts.run, parts.clock, parts.hub, parts.bounds)

    async def open(self) -> None:
        """Nothing is to be done; the other ledgers have this too."""

    async def close(self) -> None:
        await self._group.drain()

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
        return self._world.find(kind, key)

    async def find_many(self, kind: type[E], keys: Iterable[str]) -> dict[str, E]:
        return self._found(kind, keys)

    def _found(self, kind: type[E], keys: Iterable[str]) -> dict[str, E]:
        found = {key: self._world.find(kind, key) for key in keys}
        return {key: one for key, one in found.items() if one is not None}

    async def task_by_key(self, by: str, idempotency_key: str) -> Task | None:
        return self._world.task_by_key(by, idempotency_key)

    async def tasks(self, where: TaskFilter, cursor: str | None = None, limit: int = PAGE) -> TaskPage:
        check_limit(limit)
        older = (one for one in self._world.every(Task) if cursor is None or one.task_id < cursor)
        found = sorted((one for one in older if _fits(one, where)), key=lambda one: one.task_id, reverse=True)
        return page(found, limit)

    async def history(self, task_id: TaskId) -> TaskHistory | None:
        task = self._world.find(Task, task_id)
        if task is None:
            return None
        late = (one for one in self._world.every(Late) if one.task_id == task_id)
        others = self._found(Task, task.spec.dependencies)
        return TaskHistory(
            task=task,
            attempts=tuple(await self.attempts(task_id)),
            deliveries=tuple(await self.deliveries(task_id)),
            late=tuple(sorted(late, key=_heard)),
            attention=tuple(self._about((task_id,), open_only=False)),
            dependencies=tuple(others[one] for one in dict.fromkeys(task.spec.dependencies) if one in others),
            effects=tuple(await self.effects(task_id)),
        )

    async def attempts(self, task_id: TaskId) -> list[Attempt]:
        found = (one for one in self._world.every(Attempt) if one.task_id == task_id)
        return sorted(found, key=lambda one: one.number)

    async def deliveries(self, task_id: TaskId) -> list[Delivery]:
        return sorted((one for one in self._world.every(Delivery) if one.task_id == task_id), key=_claimed)

    async def late(self, attempt_id: AttemptId) -> list[Late]:
        return sorted((one for one in self._world.every(Late) if one.attempt_id == attempt_id), key=_heard)

    async def attention(
        self, open_only: bool = True, limit: int = PAGE, after: Opened | None = None
    ) -> list[Attention]:
        sign = 1 if open_only else -1
        places = (
            ((sign * one.opened_at_ms, one.item_id), one)
            for one in self._world.every(Attention)
            if one.open or not open_only
        )
        start = None if after is None else (sign * after.at_ms, after.item_id)
        found = sorted(
            (pair for pair in places if start is None or pair[0] > start), key=lambda pair: pair[0]
        )
        return [one for _, one in found[:limit]]

    async def attention_about(self, task_ids: Iterable[TaskId]) -> list[Attention]:
        return self._about(task_ids, open_only=True)

    def _about(self, task_ids: Iterable[TaskId], *, open_only: bool) -> list[Attention]:
        wanted = set(task_ids)
        items = (one for one in self._world.every(Attention) if one.open or not open_only)
        found = (one for one in items if one.subject.partition("/")[0] in wanted)
        return sorted(found, key=lambda one: (one.opened_at_ms, one.item_id))

    async def recipients(self) -> list[Recipient]:
        return sorted(self._world.every(Recipient), key=lambda one: one.address)

    async def nodes(self) -> list[Node]:
        return sorted(self._world.every(Node), key=lambda one: (one.name, one.node_id))

    async def node_named(self, name: str) -> Node | None:
        return next((one for one in self._world.nodes_named(name) if not one.revoked), None)

    async def node_by_credential(self, digest: str) -> Node | None:
        return next((one for one in self._world.every(Node) if one.credential_digest == digest), None)

    async def credentials(self) -> list[Credential]:
        return sorted(self._world.every(Credential), key=lambda one: (one.issued_at_ms, one.credential_id))

    async def credential_by_digest(self, digest: str) -> Credential | None:
        return next((one for one in self._world.every(Credential) if one.token_digest == digest), None)

    async def deliveries_of_node(self, node_id: NodeId) -> list[Delivery]:
        return sorted(self._world.deliveries_of_node(node_id), key=_claimed)

    async def stream(self, stream: str, after_version: int = 0, limit: int = PAGE) -> list[Recorded]:
        found = (recorded(row) for row in self.engine.rows if row[2] == stream)
        return [one for one in found if one.version > after_version][:limit]

    async def events(self, after_seq: int = 0, limit: int = PAGE) -> list[Recorded]:
        return [recorded(row) for row in self.engine.rows[after_seq : after_seq + limit]]

    async def events_of(
        self, projects: Sequence[str], after_seq: int = 0, limit: int = PAGE
    ) -> tuple[list[Recorded], int]:
        looked_at = self.engine.rows[after_seq : after_seq + STRETCH]
        found = [recorded(row) for row in looked_at if self._is_of(row[2], tuple(projects))][:limit]
        return found, next_place(found, limit, after_seq + len(looked_at))

    def _is_of(self, stream: str, projects: tuple[str, ...]) -> bool:
        one = self._world.find(Task, stream) or self._world.find(Schedule, stream)
        return one is not None and may_know(self._world, one, projects)

    async def due(self, now_ms: int, limit: int) -> list[DeliveryId]:
        waiting = ((one.due_at_ms, one.delivery_id) for one in self._world.every(Delivery))
        due = sorted((at_ms, name) for at_ms, name in waiting if at_ms is not None and at_ms <= now_ms)
        return [name for _, name in due[:limit]]

    async def next_due_ms(self) -> int | None:
        waiting = (one.due_at_ms for one in self._world.every(Delivery))
        return min((at_ms for at_ms in waiting if at_ms is not None), default=None)

    async def next_ready_ms(self, queues: Iterable[str], after_ms: int) -> int | None:
        wanted = set(queues)
        later = (one.ready_at_ms for one in self._world.every(Task) if one.queue_key in wanted)
        return min((at_ms for at_ms in later if at_ms > after_ms), default=None)

    async def effects(self, task_id: TaskId) -> list[Effect]:
        return sorted((one for one in self._world.every(Effect) if one.task_id == task_id), key=_begun)

    async def effects_due(self, now_ms: int, limit: int, after: Effect | None = None) -> list[Effect]:
        behind = (-1, "") if after is None else (after.due_at_ms or 0, str(after.effect_id))
        waiting = ((one.due_at_ms, one.effect_id, one) for one in self._world.every(Effect))
        due = sorted(
            (at_ms, name, one)
            for at_ms, name, one in waiting
            if at_ms is not None and at_ms <= now_ms and (at_ms, str(name)) > behind
        )
        return [one for _, _, one in due[:limit]]

    async def next_effect_due_ms(self) -> int | None:
        waiting = (one.due_at_ms for one in self._world.every(Effect))
        return min((at_ms for at_ms in waiting if at_ms is not None), default=None)

    async def schedules(self, with_removed: bool = False) -> list[Schedule]:
        found = (one for one in self._world.every(Schedule) if with_removed or not one.is_removed)
        return sorted(found, key=lambda one: one.schedule_id)

    async def schedules_due(self, now_ms: int, limit: int) -> list[Schedule]:
        waiting = ((one.next_at_ms, one.schedule_id, one) for one in self._world.every(Schedule))
        due = sorted(
            (at_ms, name, one) for at_ms, name, one in waiting if at_ms is not None and at_ms <= now_ms
        )
        return [one for _, _, one in due[:limit]]

    async def next_schedule_due_ms(self) -> int | None:
        waiting = (one.next_at_ms for one in self._world.every(Schedule))
        return min((at_ms for at_ms in waiting if at_ms is not None), default=None)

    async def all_of(self, kind: type[E]) -> list[E]:
        return sorted(self._world.every(kind), key=lambda one: one.key)[:PAGE]

    async def held_on(self, subject: str, limit: int, after: Task | None = None) -> list[Task]:
        held = (one for one in self._world.every(Task) if one.held_on == subject)
        behind = [one for one in held if after is None or _place(one) > _place(after)]
        return sorted(behind, key=_place)[:limit]

    async def held_subjects(self, limit: int, after: str = "") -> list[str]:
        subjects = {one.held_on for one in self._world.every(Task) if one.held_on is not None}
        return sorted(one for one in subjects if one > after)[:limit]

    async def tasks_due(self, now_ms: int, limit: int) -> list[TaskId]:
        waiting = ((one.due_at_ms, one.task_id) for one in self._world.every(Task))
        due = sorted((at_ms, name) for at_ms, name in waiting if at_ms is not None and at_ms <= now_ms)
        return [name for _, name in due[:limit]]

    async def next_task_due_ms(self) -> int | None:
        waiting = (one.due_at_ms for one in self._world.every(Task))
        return min((at_ms for at_ms in waiting if at_ms is not None), default=None)

    async def dependents_of(self, task_id: TaskId, *, let_go: bool = False) -> list[TaskId]:
        ended = self._world.find(Task, task_id)
        names = {task_id, *ended.lineage} if ended else set[TaskId]()
        return sorted(
            one.task_id
            for one in self._world.every(Task)
            if not one.is_terminal
            and (let_go or one.waits_for or one.failed_dependencies)
            and not names.isdisjoint(one.spec.dependencies)
        )

    async def unreleased(self, limit: int) -> list[tuple[TaskId, TaskId]]:
        everybody = list(self._world.every(Task))
        ended = [one for one in everybody if one.is_terminal]
        waiting = [one for one in everybody if not one.is_terminal]
        pairs = ((one, other) for one in waiting for other in ended if self._hangs_on(one, other))
        told = ((one.task_id, other.task_id) for one, other in pairs if self._would_change(one, other))
        return sorted(told)[:limit]

    def _hangs_on(self, waiting: Task, ended: Task) -> bool:
        """Does it wait for the other, or for one that this continues; or did that one let it go by mistake?"""
        ends = {ended.task_id, *ended.lineage}
        review = self._world.find(Review, ended.task_id)
        is_wrong = review is not None and is_disproved(review, ended)
        known = waiting.spec.after if is_wrong else (*waiting.waits_for, *waiting.failed_dependencies)
        return not ends.isdisjoint(known)

    def _would_change(self, waiting: Task, ended: Task) -> bool:
        """Would it matter to tell the one how the other has ended? The core knows."""
        command = ReleaseDependent(waiting.task_id, ended.task_id)
        return bool(self._judge.decide(self._world, command, self._group.now(), self._judge.terms).events)


def _fits(task: Task, where: TaskFilter) -> bool:
    asked = {("label", label(name, value)) for name, value in where.labels.items()}
    asked |= {("by", where.submitted_by)} if where.submitted_by is not None else set()
    asked |= {("route", where.route)} if where.route is not None else set()
    has = {(facet, value) for facet, value, _ in facets(task)}
    return (
        task.task_id.startswith(where.id_prefix)
        and asked <= has
        and (not where.projects or task.project in where.projects)
        and (not where.states or not {task.state}.isdisjoint(where.states))
    )


def _claimed(one: Delivery) -> tuple[int, str]:
    return one.claimed_at_ms, one.delivery_id


def _place(one: Task) -> tuple[int, str]:
    return one.order_ms, one.task_id


def _begun(one: Effect) -> str:
    return one.effect_id


def _heard(one: Late) -> tuple[int, str]:
    return one.heard_at_ms, one.late_id
