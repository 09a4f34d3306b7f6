"""A batch costs a handful of statements, however many commands it has and however much is waiting."""

from __future__ import annotations

import json
import re
import sqlite3
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tenure.core import commands as cm
from tenure.core import effect_commands as ec
from tenure.core.attempt import Usage
from tenure.core.canonical import text_digest
from tenure.core.delivery import Delivery, Progress
from tenure.core.effect_commands import CallEnd
from tenure.core.effect_kind import Merge, Params
from tenure.core.ids import Address, ClaimId, DeliveryId, EffectId, TaskId
from tenure.core.recipient import RecipientSpec
from tenure.core.task import Task, TaskSpec, TaskState, queue_key
from tenure.core.world import World
from tenure.errors import InvariantError
from tenure.ledger import sqlite_reads, statement
from tenure.ledger.loaded_world import LoadedWorld
from tenure.ledger.queues import Lines, Queues
from tenure.ledger.shelf import Shelf
from tests.ledger.desk import DAEMON, NODE, SCOPE, SHA, Desk, pull_request, raw

WRITES = re.compile(r"INSERT|UPDATE")


class Watch:
    """Counts what goes over the connection that writes."""

    def __init__(self, desk: Desk) -> None:
        self._engine = desk.engine
        self.said: list[str] = []
        self._engine.open().connection.set_trace_callback(self.said.append)

    def forget_everything(self) -> None:
        self._engine.world.forget()
        self._engine._tail.heads.clear()

    @property
    def unforeseen(self) -> int:
        return self._engine.world.unforeseen

    def reads(self) -> int:
        return sum(one.startswith("SELECT") for one in self.said)

    def rows_written(self) -> Counter[str]:
        return Counter(" ".join(one.split()[:3]) for one in self.said if WRITES.match(one))


async def _submitted(desk: Desk, size: int) -> list[Delivery]:
    await desk.ledger.execute_many([desk.submission() for _ in range(size)])
    return []


async def _claimed(desk: Desk, size: int) -> list[Delivery]:
    return await desk.claim(size)


@pytest.mark.parametrize("cold", [False, True])
@pytest.mark.parametrize("step", ["submit", "claim", "ack", "renew", "report", "due", "cancel"])
async def test_the_statements_of_a_batch_do_not_grow_with_its_commands(
    sqlite_desk: Desk, step: str, cold: bool
) -> None:
    await sqlite_desk.start(capacity=1_000)
    watch = Watch(sqlite_desk)
    counted: list[int] = []
    for size in (5, 5, 60):  # the first makes the others warm
        commands = [sqlite_desk.submission() for _ in range(size)]
        rest: list[cm.Command] = list(commands)
        if step != "submit":
            await sqlite_desk.ledger.execute_many(commands)
            rest = [sqlite_desk.claiming(size)]
        if step not in ("submit", "claim"):
            deliveries = await sqlite_desk.claim(size)
            assert len(deliveries) == size
            acks: list[cm.Command] = [cm.Acknowledge(sqlite_desk.proof(one), "receipt") for one in deliveries]
            if step != "ack":
                await sqlite_desk.ledger.execute_many(acks)
            rest = {
                "ack": acks,
                "renew": [
                    cm.Renew(sqlite_desk.proof(one), 1, Progress(events=1), Usage()) for one in deliveries
                ],
                "report": [sqlite_desk.reporting(one) for one in deliveries],
                "due": [cm.Due(one.delivery_id) for one in deliveries],
                "cancel": [cm.Cancel(one.task_id, "ann", "enough") for one in deliveries],
            }[step]
        if step == "due":
            sqlite_desk.clock.pass_s(31)
        if cold:
            watch.forget_everything()
        watch.said.clear()
        unforeseen = watch.unforeseen
        replies = await sqlite_desk.ledger.execute_many(rest)
        assert not any(isinstance(one, cm.Refusal) for one in replies)
        assert watch.unforeseen == unforeseen
        counted.append(watch.reads())
        assert max(watch.rows_written().values()) <= 6 * size
    assert counted[1] == counted[2]
    assert counted[2] <= (14 if cold else 4)


EFFECT_STEPS = [
    "begin", "begin for approval", "begin again", "adopt", "issue", "settle", "lose", "doubt", "look up", "approve", "report",
    "report of a canceled one", "settle the last",
]  # fmt: skip


async def effect_commands(desk: Desk, step: str, size: int) -> list[cm.Command]:
    """So many commands of one kind, each about a Task of its own; everything before them has happened."""
    await desk.ledger.execute_many([desk.submission(scope=SCOPE) for _ in range(size)])
    held = await desk.claim(size)
    await desk.ledger.execute_many([cm.Acknowledge(desk.proof(one), "receipt") for one in held])
    params: list[Params] = [pull_request(f"tenure/{one.delivery_id}") for one in held]
    if step in ("begin for approval", "approve"):
        params = [Merge(number=100 * size + place, head_sha=SHA) for place, _ in enumerate(held)]
    begins = [desk.beginning(*pair) for pair in zip(held, params, strict=True)]
    if step.startswith("begin") and step != "begin again":
        return list(begins)
    await desk.ledger.execute_many(begins)
    effects = [one.effect_id for one in begins]
    if step == "approve":
        return [ec.Approve(d.task_id, e, True, 1, "ann", "x") for d, e in zip(held, effects, strict=True)]
    if step in ("begin again", "adopt"):
        await desk.ledger.execute_many([ec.IssueEffect(one, "call", 9_000) for one in effects])
        done = [ec.SettleEffect(one, "call", CallEnd.CONFIRMED, "{}") for one in effects]
        await desk.ledger.execute_many(done)
        key = "other" if step == "adopt" else None
        return [desk.beginning(*pair, key=key) for pair in zip(held, params, strict=True)]
    return await call_commands(desk, step, held, effects)


async def call_commands(
    desk: Desk, step: str, held: list[Delivery], effects: list[EffectId]
) -> list[cm.Command]:
    issues: list[cm.Command] = [ec.IssueEffect(one, "call", 9_000) for one in effects]
    if step == "issue":
        return issues
    await desk.ledger.execute_many(issues)
    if step == "doubt":
        desk.clock.pass_s(9)
        return [ec.DoubtEffect(one) for one in effects]
    ends = {"lose": CallEnd.LOST, "look up": CallEnd.LOST}
    settles: list[cm.Command] = [
        ec.SettleEffect(one, "call", ends.get(step, CallEnd.CONFIRMED), "{}") for one in effects
    ]
    reports: list[cm.Command] = [desk.reporting(one) for one in held]
    if step in ("settle", "lose"):
        return settles
    if step == "report of a canceled one":
        await desk.ledger.execute_many([cm.Cancel(one.task_id, "ann", "enough") for one in held])
    if step.startswith("report"):
        return reports
    if step == "settle the last":
        await desk.ledger.execute_many(reports)
        return settles
    await desk.ledger.execute_many(settles)
    return [ec.LookUpEffect(one, desk.now(), result="{}") for one in effects]


@pytest.mark.parametrize("step", EFFECT_STEPS)
async def test_what_commands_about_effects_look_at_is_foreseen(sqlite_desk: Desk, step: str) -> None:
    await sqlite_desk.start(capacity=1_000)
    watch = Watch(sqlite_desk)
    counted: list[int] = []
    for size in (5, 60):
        commands = await effect_commands(sqlite_desk, step, size)
        watch.forget_everything()
        watch.said.clear()
        unforeseen = watch.unforeseen
        replies = await sqlite_desk.ledger.execute_many(commands)
        assert not any(isinstance(one, cm.Refusal) for one in replies)
        assert watch.unforeseen == unforeseen
        counted.append(watch.reads())
    assert counted[0] == counted[1]
    assert counted[1] <= 18


async def test_an_entity_is_written_once_however_often_it_changed(sqlite_desk: Desk) -> None:
    await sqlite_desk.start(capacity=100)
    await sqlite_desk.ledger.execute_many([sqlite_desk.submission() for _ in range(20)])
    watch = Watch(sqlite_desk)
    await sqlite_desk.ledger.execute_many([sqlite_desk.claiming(1) for _ in range(20)])
    assert watch.rows_written()["UPDATE main.recipients SET"] == 1


async def test_claims_of_one_batch_each_get_the_next_in_the_queue(sqlite_desk: Desk) -> None:
    await sqlite_desk.start(capacity=100, pools=("pool",))
    submissions = [sqlite_desk.submission(route=("claude", "pool")[one % 2]) for one in range(12)]
    await sqlite_desk.ledger.execute_many(submissions)
    Watch(sqlite_desk).forget_everything()
    first = sqlite_desk.submission(route="claude@laptop", key="late")
    replies = await sqlite_desk.ledger.execute_many(
        [
            sqlite_desk.claiming(5),
            first,
            cm.Cancel(submissions[6].task_id, "ann", "x"),
            *(sqlite_desk.claiming(3) for _ in range(3)),
        ]
    )
    granted = [one for reply in replies if isinstance(reply, cm.Claimed) for one in reply.deliveries]
    found = await sqlite_desk.ledger.find_many(Delivery, granted)
    wanted = [one.task_id for one in submissions if one is not submissions[6]] + [first.task_id]
    assert [found[one].task_id for one in granted] == wanted


async def test_a_blocked_or_full_recipient_costs_no_look_at_any_queue(sqlite_desk: Desk) -> None:
    await sqlite_desk.start(capacity=1)
    await sqlite_desk.submit()
    await sqlite_desk.submit()
    await sqlite_desk.claim()
    watch = Watch(sqlite_desk)
    assert await sqlite_desk.claim() == []
    assert not any("queue_key = k.value" in one for one in watch.said)


async def test_many_recipients_with_queues_of_their_own_are_a_few_statements(sqlite_desk: Desk) -> None:
    await sqlite_desk.start()
    names = [f"r{one}" for one in range(200)]
    specs = tuple(RecipientSpec(name, "command", capacity=1 + place % 3) for place, name in enumerate(names))
    await sqlite_desk.run(cm.StartNode(NODE, DAEMON, "boot1", 1, "linux", "1", specs))
    restarted = cm.StartNode(NODE, type(DAEMON)("i_daemon2"), "boot1", 1, "linux", "1", specs)
    await sqlite_desk.run(restarted)
    await sqlite_desk.ledger.execute_many(
        [sqlite_desk.submission(route=f"{name}@laptop") for name in names for _ in range(2)]
    )
    watch = Watch(sqlite_desk)
    watch.forget_everything()
    offers = tuple(cm.Offer(DeliveryId(f"d_x{one}"), text_digest("t")) for one in range(300))
    free = {Address(f"{name}@laptop"): 3 for name in names}
    reply = await sqlite_desk.run(cm.Claim(NODE, restarted.incarnation, ClaimId("c_x"), free, offers))
    assert len(reply.deliveries) == 100
    assert watch.reads() <= 40


def test_a_shelf_keeps_within_its_bound_what_is_in_use() -> None:
    class Source:
        def __init__(self) -> None:
            self.asked: list[str] = []

        def load(self, kind: type, keys: list[str]) -> list[tuple[Task, int]]:
            self.asked += keys
            return [(a_task(key), 1_000) for key in keys if key != "t_none"]

    source = Source()
    shelf = Shelf(Task, 20_000)
    with pytest.raises(InvariantError):
        shelf.get("t_1")
    shelf.open(source)  # type: ignore[arg-type]  # a fake of the one method it calls
    assert shelf.get("t_none") is None
    assert shelf.get("t_none") is None
    for one in range(500):
        assert shelf.get(f"t_{one}") == a_task(f"t_{one}")
        shelf.get("t_used")
        shelf.age(0)
    assert source.asked.count("t_used") == 1
    assert len(source.asked) == 502
    assert len(shelf) + len(shelf._old) < 60
    shelf.forget()
    shelf.get("t_used")
    assert source.asked.count("t_used") == 2


def a_task(
    task_id: str, queue: str | None = None, ready_at_ms: int = 0, project: str = "default", priority: int = 0
) -> Task:
    return Task(
        task_id=TaskId(task_id),
        spec=TaskSpec("x", "r"),
        spec_digest="",
        state=TaskState.SUBMITTED,
        fence=0,
        lease=None,
        attempts=1,
        voided_offers=0,
        queue_key=queue,
        ready_at_ms=ready_at_ms,
        waits_for=(),
        failed_dependencies=(),
        lineage=(),
        cancel_step=None,
        cancel_because=None,
        cancel_at_ms=None,
        submitted_by="ann",
        idempotency_key=task_id,
        submitted_at_ms=0,
        ended_at_ms=None,
        end_reason=None,
        project=project,
        order_ms=ready_at_ms - priority,
    )


QUEUES = [queue_key(route, None, None) for route in ("a", "b", "c")]
claims = st.tuples(st.sets(st.sampled_from(QUEUES), min_size=1), st.integers(1, 6))
moves = st.tuples(
    st.integers(0, 25),
    st.sampled_from([None, *QUEUES]),
    st.integers(0, 9),
    st.sampled_from(["default", "docs", "shop"]),
    st.integers(-4, 4),
)


@settings(max_examples=300)
@given(
    there=st.lists(moves, max_size=25, unique_by=lambda one: one[0]),
    steps=st.lists(st.one_of(moves, claims), max_size=25),
    ahead=st.dictionaries(st.sampled_from(QUEUES), st.integers(1, 4)),
)
def test_whoever_comes_and_goes_within_a_batch_a_claim_sees_the_queue_as_it_is(
    there: list[Any], steps: list[Any], ahead: dict[str, int]
) -> None:
    """Compared with a World that holds everything."""
    now_ms = 6
    world, record = World(), World()
    for number, *place in there:
        for one in (world, record):
            one.put(a_task(f"t_{number:02}", *place))

    def read(limits: Mapping[str, int], _now_ms: int) -> dict[str, Lines]:
        found: dict[str, Lines] = {}
        for queue, limit in limits.items():
            there = {one.project for one in record.every(Task) if one.queue_key == queue}
            ready = record.waiting((queue,), limit, now_ms)
            if there:  # a line that nobody of is ready is told too
                found[queue] = {project: ready.get(project, []) for project in there}
        return found

    queues = Queues(read, now_ms)
    if ahead:
        queues.expect(ahead)
    for step in steps:
        if isinstance(step[0], set):
            wanted, limit = tuple(step[0]), step[1]
            assert queues.first(wanted, limit) == world.waiting(wanted, limit, now_ms)
        else:
            before = world.find(Task, f"t_{step[0]:02}")
            task = a_task(f"t_{step[0]:02}", *step[1:])
            if before is not None:
                task = replace(task, project=before.project)  # which never changes
            world.put(task)
            queues.note(task)


@settings(max_examples=200)
@given(there=st.lists(moves, max_size=25, unique_by=lambda one: one[0]), limit=st.integers(1, 6))
def test_the_store_reads_the_lines_of_a_queue_as_a_world_has_them(there: list[Any], limit: int) -> None:
    world = World()
    with sqlite3.connect(":memory:") as connection:
        connection.execute(
            "CREATE TABLE tasks (task_id, queue_key, project, order_ms INTEGER, ready_at_ms INTEGER)"
        )
        for number, *place in there:
            task = a_task(f"t_{number:02}", *place)
            world.put(task)
            row = (task.task_id, task.queue_key, task.project, task.order_ms, task.ready_at_ms)
            connection.execute("INSERT INTO tasks VALUES (?, ?, ?, ?, ?)", row)
        rows = connection.execute(statement.QUEUED, (6, limit, json.dumps(QUEUES))).fetchall()
    found: dict[str, Lines] = {queue: {} for queue in QUEUES}
    for queue, project, places in rows:
        if at := [(order_ms, task_id) for order_ms, task_id in json.loads(places)]:
            found[queue][project] = at
    assert found == {queue: world.waiting((queue,), limit, 6) for queue in QUEUES}


def test_a_loaded_world_never_pretends_to_hold_everything() -> None:
    with pytest.raises(InvariantError):
        LoadedWorld().every(Task)


async def test_a_task_counts_in_lists_whatever_else_was_forgotten(sqlite_desk: Desk, database: Path) -> None:
    await sqlite_desk.submit(labels={"a": "b"}, after=())
    with raw(database) as connection:
        rows = connection.execute("SELECT facet, value FROM facets ORDER BY facet").fetchall()
    assert rows == [("by", "ann"), ("label", "a=b"), ("route", "claude")]


@pytest.mark.parametrize(
    ("name", "index"),
    [
        ("TASKS_BY_KEY", "tasks_by_key"),
        ("CLAIMED", "deliveries_of_claim"),
        ("HELD_BY_NODE", "deliveries_held"),
        ("NODES_NAMED", "nodes_by_name"),
        ("REPORTED_LATE", "late_about"),
        ("EFFECTS_BY_KEY", "effects_by_key"),
        ("EFFECTS_ABOUT", "effects_about"),
        ("EFFECTS_KNOWN_AS", "effects_by_identity"),
        ("EFFECTS_KNOWN_AS", "effects_by_twin"),
        ("QUEUED", "tasks_queued"),
        ("HEADS", "events_1"),
    ],
)
def test_every_look_up_walks_the_index_that_was_made_for_it(database: Path, name: str, index: str) -> None:
    text = getattr(statement, name)
    with raw(database) as connection:
        parameters = (0, 1, "[]") if name == "QUEUED" else ("[]",)
        plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {text}", parameters)]
    assert any(index in step for step in plan)
    # `lines` are the projects of a queue and `q` the places of a line: both were found by an index, and are as many as
    # are wanted.
    scans = {step for step in plan if step.startswith("SCAN") and "VIRTUAL TABLE" not in step}
    assert scans <= ({"SCAN lines", "SCAN q"} if name == "QUEUED" else set())
    if name == "QUEUED":
        assert not any("USE TEMP B-TREE" in step for step in plan)


@pytest.mark.parametrize(
    ("text", "index"),
    [
        (f"SELECT task_id FROM tasks {sqlite_reads.HELD_TASKS}", "tasks_held"),
        (sqlite_reads.HELD_SUBJECTS, "tasks_held"),
        ("SELECT task_id FROM tasks WHERE due_at_ms <= ? ORDER BY due_at_ms, task_id LIMIT ?", "tasks_due"),
        ("SELECT min(due_at_ms) FROM tasks WHERE due_at_ms IS NOT NULL", "tasks_due"),
    ],
)
def test_holds_and_deadlines_are_found_by_their_indexes(database: Path, text: str, index: str) -> None:
    with raw(database) as connection:
        parameters = [1] * text.count("?")
        plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {text}", parameters)]
    assert all(index in step for step in plan if "tasks" in step), plan
