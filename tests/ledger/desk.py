"""Ledgers to try things on: a clock set by hand, an executor that runs in place, and short words for commands."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from tenure.core import commands as cm
from tenure.core import desk_commands as dc
from tenure.core import effect_commands as ec
from tenure.core.access import Role
from tenure.core.attempt import Answer, Outcome, Usage, Verdict
from tenure.core.attention import Attention, AttentionKind, item_id
from tenure.core.budget import Budget, Share
from tenure.core.canonical import digest, text_digest
from tenure.core.circuit import Circuit
from tenure.core.decide import decide
from tenure.core.delivery import Delivery, Now, Progress, Terms
from tenure.core.effect import Effect
from tenure.core.effect_commands import CallEnd
from tenure.core.effect_kind import Comment, Merge, Params, PullRequest, Push
from tenure.core.failure import FailureClass
from tenure.core.ids import Address, ClaimId, DeliveryId, EffectId, IncarnationId, NodeId, TaskId, attempt_id
from tenure.core.policy import DEFAULT, UnknownRule
from tenure.core.recipient import RecipientSpec
from tenure.core.review import About, Ruling
from tenure.core.schedule import Missed, Overlap, ScheduleSpec
from tenure.core.schedule_commands import AddSchedule, FireSchedule, PauseSchedule, RemoveSchedule
from tenure.core.scope import EffectKind, Scope
from tenure.core.task import TaskSpec
from tenure.core.webhook import ReceiveWebhook
from tenure.ledger.memory import MemoryEngine, MemoryLedger, MemoryParts
from tenure.ledger.port import Ledger
from tenure.ledger.sqlite import SqliteLedger, SqliteParts
from tenure.ledger.sqlite_engine import SqliteEngine
from tenure.ledger.sqlite_reads import SqliteReads

START_MS = 1_000_000_000_000
HUB = IncarnationId("i_hub1")
NODE = NodeId("n_laptop")
DAEMON = IncarnationId("i_daemon1")
CLAUDE = Address("claude@laptop")
SHA, OTHER_SHA, TREE = "a" * 40, "b" * 40, "c" * 40
FORGE = "forge:acme/app"
SCOPE = Scope(
    kinds=tuple(EffectKind),
    targets=("forge:*",),
    branches=("tenure/*",),
    approval=(EffectKind.MERGE,),
    most=1_000,
)


def pull_request(head: str = "tenure/one", **changes: Any) -> PullRequest:
    return PullRequest(**{"head": head, "base": "main", "title": "A change", **changes})


class HandClock:
    """Three clocks that stand still until they are moved."""

    def __init__(self) -> None:
        self.ms = START_MS

    def wall_ms(self) -> int:
        return self.ms

    def awake_ns(self) -> int:
        return self.ms * 1_000_000

    def boot_ns(self) -> int:
        return self.ms * 1_000_000

    def pass_s(self, seconds: float) -> None:
        self.ms += round(seconds * 1000)


async def in_place(work: Callable[[], Any]) -> Any:
    return work()


def connector(
    path: Path, factory: type[sqlite3.Connection] = sqlite3.Connection
) -> Callable[[bool], sqlite3.Connection]:
    def connect(read_only: bool) -> sqlite3.Connection:
        mode = "ro" if read_only else "rwc"
        return sqlite3.connect(
            f"file:{path}?mode={mode}", uri=True, timeout=0, check_same_thread=False, factory=factory
        )

    return connect


@contextmanager
def raw(path: Path) -> Iterator[sqlite3.Connection]:
    """The database as somebody with a SQL prompt has it."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA synchronous = OFF")
    try:
        yield connection
    finally:
        connection.close()


@contextmanager
def without_triggers(path: Path) -> Iterator[sqlite3.Connection]:
    """The same, for somebody who drops the triggers first and puts them back afterwards."""
    with raw(path) as connection:
        triggers = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute("PRAGMA ignore_check_constraints = ON")
        yield connection
        for _, text in triggers:
            connection.execute(text)


def sqlite_ledger(path: Path, clock: HandClock, **changes: Any) -> SqliteLedger:
    parts: dict[str, Any] = {
        "connect": connector(path),
        "run": in_place,
        "run_reads": in_place,
        "clock": clock,
        "hub": HUB,
    }
    return SqliteLedger(SqliteParts(**(parts | changes)))


def memory_ledger(clock: HandClock, engine: MemoryEngine | None = None, **changes: Any) -> MemoryLedger:
    parts: dict[str, Any] = {"run": in_place, "clock": clock, "hub": HUB}
    return MemoryLedger(MemoryParts(**(parts | changes)), engine)


class Desk:
    """One ledger and its clock. Every method is one command or question."""

    def __init__(self, ledger: Ledger, clock: HandClock) -> None:
        self.ledger = ledger
        self.clock = clock
        self.count = 0
        self.terms = Terms()
        self.node = NODE
        self.daemon = DAEMON
        self.where = CLAUDE

    async def open(self) -> None:
        assert isinstance(self.ledger, (SqliteLedger, MemoryLedger))
        await self.ledger.open()

    @property
    def engine(self) -> SqliteEngine:
        """What keeps the record on disk."""
        assert isinstance(self.ledger, SqliteLedger)
        return self.ledger._engine

    @property
    def reads(self) -> SqliteReads:
        assert isinstance(self.ledger, SqliteLedger)
        return self.ledger._reads

    def fresh(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}_{self.count:04d}"

    def now(self) -> Now:
        return Now(self.clock.wall_ms(), self.clock.wall_ms() - START_MS, HUB)

    async def run(self, command: cm.Command) -> Any:
        return await self.ledger.execute(command)

    async def do(self, command: cm.Command) -> Any:
        """Run what must not be refused."""
        reply = await self.run(command)
        assert not isinstance(reply, cm.Refusal), reply
        return reply

    def submission(self, key: str | None = None, by: str = "ann", **spec: Any) -> cm.Submit:
        task_id = TaskId(self.fresh("t"))
        return cm.Submit(
            task_id, TaskSpec(**{"objective": "do it", "route": "claude", **spec}), by, key or task_id
        )

    async def submit(self, key: str | None = None, by: str = "ann", **spec: Any) -> TaskId:
        reply = await self.run(self.submission(key, by, **spec))
        assert isinstance(reply, cm.Submitted), reply
        return reply.task_id

    async def start(self, capacity: int = 1, pools: tuple[str, ...] = ()) -> None:
        """A hub and a node with one recipient, `claude@laptop`."""
        await self.run(cm.StartHub(HUB, "1"))
        await self.run(cm.Enroll(NODE, "laptop", text_digest("laptop"), "ann"))
        spec = RecipientSpec("claude", "command", pools=pools, capacity=capacity)
        await self.run(cm.StartNode(self.node, self.daemon, "boot1", 1, "linux", "1", (spec,)))

    def claiming(self, free: int = 1, claim_id: str | None = None, where: Address | None = None) -> cm.Claim:
        offers = tuple(
            cm.Offer(DeliveryId(one), text_digest(one)) for one in (self.fresh("d") for _ in range(free))
        )
        wanted = {where or self.where: free}
        return cm.Claim(self.node, self.daemon, ClaimId(claim_id or self.fresh("c")), wanted, offers)

    async def claim(self, free: int = 1, claim_id: str | None = None) -> list[Delivery]:
        reply = await self.run(self.claiming(free, claim_id))
        found = await self.ledger.find_many(Delivery, reply.deliveries)
        return [found[one] for one in reply.deliveries]

    def proof(self, delivery: Delivery) -> cm.Proof:
        return cm.Proof(delivery.delivery_id, delivery.fence, delivery.token_digest, self.daemon)

    async def ack(self, delivery: Delivery) -> str:
        return (await self.run(cm.Acknowledge(self.proof(delivery), "receipt"))).answer

    async def renew(self, delivery: Delivery, counter: int = 1) -> str:
        command = cm.Renew(
            self.proof(delivery),
            counter,
            Progress(output_bytes=counter, message="on it"),
            Usage(input_tokens=counter),
        )
        return (await self.run(command)).answer

    def reporting(
        self, delivery: Delivery, verdict: Verdict = Verdict.COMPLETED, tree_gone: bool = True
    ) -> cm.Report:
        outcome = Outcome(verdict=verdict, summary="done", tree_gone=tree_gone)
        return cm.Report(self.proof(delivery), digest(outcome), outcome)

    async def report(
        self, delivery: Delivery, verdict: Verdict = Verdict.COMPLETED, tree_gone: bool = True
    ) -> str:
        return (await self.run(self.reporting(delivery, verdict, tree_gone))).answer

    async def completed(self, verdict: Verdict = Verdict.COMPLETED, **spec: Any) -> TaskId:
        """A Task that has been through its whole life."""
        task_id = await self.submit(**spec)
        (delivery,) = await self.claim()
        assert delivery.task_id == task_id
        await self.ack(delivery)
        assert await self.report(delivery, verdict) == "recorded"
        return task_id

    async def failed_with(self, failure_class: FailureClass, **spec: Any) -> TaskId:
        """A Task whose first Attempt failed like this."""
        task_id = await self.submit(**spec)
        deliveries = await self.claim(9)
        (delivery,) = [one for one in deliveries if one.task_id == task_id]
        await self.ack(delivery)
        assert (await self.run(self.failing(delivery, failure_class))).answer == "recorded"
        return task_id

    def failing(self, delivery: Delivery, failure_class: FailureClass, **outcome: Any) -> cm.Report:
        said = {"summary": "so it said", "tree_gone": True, **outcome}
        failed = Outcome(Verdict.FAILED, failure_class=failure_class, **said)
        return cm.Report(self.proof(delivery), digest(failed), failed)

    async def acting(self, **spec: Any) -> Delivery:
        """A Delivery whose Attempt may do everything at the forge."""
        task_id = await self.submit(scope=SCOPE, **spec)
        (delivery,) = await self.claim()
        assert delivery.task_id == task_id
        assert await self.ack(delivery) == "delivered"
        return delivery

    def beginning(self, delivery: Delivery, params: Params, **more: Any) -> ec.BeginEffect:
        asked: dict[str, Any] = {"target": FORGE, "finds": True, "settling_ms": 2_000}
        return ec.BeginEffect(
            effect_id=EffectId(self.fresh("e")),
            delivery_id=delivery.delivery_id,
            fence=delivery.fence,
            params=params,
            **(asked | more),
        )

    async def begin(self, delivery: Delivery, params: Params, **more: Any) -> EffectId:
        return (await self.run(self.beginning(delivery, params, **more))).effect_id

    async def called(
        self, delivery: Delivery, params: Params, end: CallEnd = CallEnd.CONFIRMED, **more: Any
    ) -> EffectId:
        effect_id = await self.begin(delivery, params, **more)
        answer = await self.run(ec.IssueEffect(effect_id, f"call of {effect_id}", 10_000))
        assert answer.state == "issued"
        result = '{"number":7}' if end is CallEnd.CONFIRMED else None
        await self.run(ec.SettleEffect(effect_id, f"call of {effect_id}", end, result, "so it said"))
        return effect_id

    async def effect(self, effect_id: EffectId) -> Effect:
        effect = await self.ledger.find(Effect, effect_id)
        assert effect is not None
        return effect

    async def sweep(self) -> list[str]:
        due = await self.ledger.due(self.clock.wall_ms(), 100)
        return [(await self.run(cm.Due(one))).what for one in due]

    async def lose(self, delivery: Delivery) -> None:
        """Let the lease run out, and then its grace."""
        self.clock.pass_s(self.terms.lease_ttl_ms / 1000)
        assert await self.sweep() == ["suspect"]
        self.clock.pass_s(self.terms.suspect_grace_ms / 1000)
        assert await self.sweep() == ["revoked"]

    async def answer(self, task_id: TaskId, number: int, answer: Answer, **more: Any) -> Any:
        item = await self.ledger.find(Attention, item_id(AttentionKind.UNKNOWN, attempt_id(task_id, number)))
        assert item is not None
        return await self.run(cm.Reconcile(task_id, number, answer, item.version, "ann", "I looked", **more))


def refuse(name: str) -> Any:
    """A `decide` with a bug: it raises for one kind of command."""

    def buggy(world: Any, command: Any, now: Any, terms: Any) -> Any:
        if type(command).__name__ == name:
            raise KeyError("a bug")
        return decide(world, command, now, terms)

    return buggy


async def lived(desk: Desk) -> None:
    """A record with rows in every table, and a value in nearly every column."""
    await worked(desk)
    await acted(desk)
    await scheduled(desk)
    await decided(desk)
    await desk.run(cm.NoteClockStep(90_000))


async def scheduled(desk: Desk) -> None:
    """Schedules in every state; one has fired, has passed over some occurrences, and has found the Task before running."""
    task = TaskSpec(objective="tidy", route="nobody")
    spec = ScheduleSpec(cron="* * * * *", zone="UTC", task=task, overlap=Overlap.SKIP, missed=Missed.ALL)
    due = desk.clock.wall_ms()
    for name in ("often", "holiday", "gone"):
        await desk.run(AddSchedule(name, spec, due, "ann", may_all=False))
    desk.clock.pass_s(3_600)
    await desk.run(FireSchedule("s_often", 1, due, due, due + 60_000, TaskId("t_s1")))
    await desk.run(FireSchedule("s_often", 1, due + 60_000, due + 180_000, due + 240_000, TaskId("t_s2"), 2))
    await desk.run(PauseSchedule("s_holiday", "ann", "until Monday", may_all=False, broken=True))
    await desk.run(RemoveSchedule("s_gone", "ann", "no longer needed", may_all=False))


async def worked(desk: Desk) -> None:
    """People, a node, and Tasks that ended in several ways or wait."""
    await desk.start(capacity=9, pools=("pool",))
    await desk.run(cm.IssueCredential("k_1", "ann", Role.OPERATOR, text_digest("secret"), "hub"))
    await desk.run(cm.RevokeCredential("k_1", "ann"))
    await desk.run(cm.IssueCredential("k_2", "bob", Role.VIEWER, text_digest("other"), "hub"))
    done = await desk.completed(labels={"team": "api"})
    unknown = await desk.submit(harness="command", model="small", route="nobody")
    await desk.run(cm.Cancel(unknown, "ann", "not needed"))
    lost = await desk.submit()
    (delivery,) = await desk.claim()
    await desk.ack(delivery)
    await desk.renew(delivery)
    await desk.lose(delivery)
    await desk.report(delivery)
    await desk.answer(lost, 1, Answer.INVESTIGATE)
    await desk.answer(lost, 1, Answer.RERUN, tree_gone=True)
    (again,) = await desk.claim()
    await desk.ack(again)
    await desk.renew(again)
    await desk.run(cm.Cancel(lost, "ann", "enough"))
    await desk.submit(after=(lost, done))
    failed = await desk.completed(Verdict.FAILED, policy="once")
    await desk.submit(after=(failed,))
    await desk.submit(continues=failed, because="with another base", route="elsewhere")


async def acted(desk: Desk) -> None:
    """Effects in every state, a Task that waits for a person's word, a webhook."""
    delivery = await desk.acting()
    task_id = delivery.task_id
    lost = await desk.called(delivery, Push(ref="tenure/x", old=OTHER_SHA, new=SHA), CallEnd.LOST)
    desk.clock.pass_s(20)
    await desk.run(ec.LookUpEffect(lost, desk.now()))
    await desk.called(delivery, pull_request(tree=TREE, head_sha=SHA))
    await desk.called(delivery, pull_request("tenure/two"), CallEnd.ABSENT)
    odd = await desk.called(delivery, pull_request("tenure/three"), CallEnd.LOST)
    await desk.run(ec.LookUpEffect(odd, desk.now(), contradiction="two of them"))
    await desk.called(delivery, Comment(number=7, body="Done."), CallEnd.LOST, finds=False)
    issued = await desk.begin(delivery, pull_request("tenure/four"))
    await desk.run(ec.IssueEffect(issued, "a call", 10_000))
    allowed = await desk.begin(delivery, Merge(number=7, head_sha=SHA))
    await desk.run(ec.Approve(task_id, allowed, True, 1, "ann", "it is fine"))
    await desk.begin(delivery, Merge(number=8, head_sha=SHA))
    await desk.begin(delivery, pull_request(tree=TREE, head_sha=SHA), again="closed by mistake")
    await desk.submit(approval=True)
    await desk.run(ReceiveWebhook("forge", "delivery-1", "push", text_digest("body")))
    await desk.run(ReceiveWebhook("forge", "delivery-1", "push", text_digest("another body")))


async def decided(desk: Desk) -> None:
    """Accounts, policies, holds, a key, a review, a circuit and a stop; questions that people have dealt with."""
    await set_up(desk)
    holder = await desk.submit(project="paid", concurrency_key="deploy", priority=1)
    await desk.submit(project="paid", concurrency_key="deploy")
    await desk.submit(deadline_ms=desk.clock.wall_ms() + 60_000, budget=Budget(cost_usd_micros=500))
    ran = {one.task_id: one for one in await desk.claim(9)}
    await desk.ack(ran[holder])
    await desk.do(dc.StopAttempt(holder, 1, "ann", "look first"))
    unwanted = await desk.submit(route="nobody")
    await desk.do(cm.Cancel(unwanted, "ann", "and all that waits for it", tree=True))
    await questioned(desk)
    await desk.failed_with(FailureClass.CAPACITY)
    circuit = await desk.ledger.find(Circuit, desk.where)
    assert circuit is not None
    desk.clock.ms = circuit.until_ms
    assert len(await desk.claim(9)) == 1, "one is let through"
    for subject in ("hub", "project:paid", desk.node, desk.where):
        await desk.do(dc.Pause(subject, "ann", "the office moves", drain=True))


async def questioned(desk: Desk) -> None:
    """A challenge and its answer; a question that is put off, handed over and told of."""
    done = await desk.completed(labels={"team": "web"})
    await desk.do(dc.Challenge(done, 1, About.CLAIM, "bob", "no test runs"))
    await desk.do(dc.AnswerChallenge(done, 1, Ruling.UPHELD, "ann", "none indeed"))
    refused = await desk.failed_with(FailureClass.AUTHORIZATION)
    item = item_id(AttentionKind.AUTHORIZATION, attempt_id(refused, 1))
    await desk.do(dc.SnoozeAttention(item, 1, desk.clock.wall_ms() + 9_000, "ann"))
    await desk.do(dc.AssignAttention(item, 1, "bob", "ann"))
    await desk.do(dc.NoteNotified(item, 1))
    await desk.do(dc.GiveUp(refused, item, 1, "ann", "the key is gone"))


async def set_up(desk: Desk) -> None:
    policy = replace(DEFAULT, name="careful", version=2, unknown=UnknownRule.AUTO)
    await desk.do(dc.StorePolicy(policy, "ann"))
    await desk.do(dc.ChoosePolicy("route:nobody", "careful", "ann", "it is watched"))
    share = Share(wall_ms=60_000, cost_usd_micros=1_000)
    limits = Share(wall_ms=600_000, cost_usd_micros=9_000, tokens=5_000, tool_calls=100)
    account = dc.SetAccount("project:paid", limits, Budget(attempts=2), share, 3, "ann", "this month")
    await desk.do(account)
