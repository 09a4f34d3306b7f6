"""Failures of every kind, budgets, holds, stops, keys, pauses and what people say about them, beside the rules of the
core's machine.

Nodes tell the truth about nothing: usage falls, evidence is damaged, the same failure comes again and again. People answer
what they have not read, twice, and change what is allowed while it runs."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import rule
from msgspec.structs import replace

from tenure.core import commands as cm
from tenure.core import desk_commands as dc
from tenure.core.account import Account
from tenure.core.attempt import Attempt, AttemptState, Usage
from tenure.core.attention import Attention, AttentionKind, item_id
from tenure.core.budget import Budget, Share
from tenure.core.circuit import Circuit
from tenure.core.delivery import Delivery, DeliveryState
from tenure.core.failure import FailureClass
from tenure.core.ids import NodeId, TaskId, attempt_id
from tenure.core.policy import DEFAULT, Action, Policy, Response, UnknownRule
from tenure.core.recipient import Recipient
from tenure.core.review import About, Ruling
from tenure.core.task import Task
from tests.core.lab import OTHER_SHA, SHA, QuickLab, evidence
from tests.stateful.effect_rules import SCOPE

_A = Action
EVERY_ACTION = Policy(
    name="every-action",
    version=1,
    rules=DEFAULT.rules,
    responses={
        "authorization": Response(_A.STOP),
        "configuration": Response(_A.HOLD),
        "capacity": Response(_A.BACK_OFF, otherwise="elsewhere", first_s=1, most_s=8, most=3),
        "executor_lost": Response(_A.RESUME, otherwise="again"),
        "validation": Response(_A.REVISE, otherwise="elsewhere"),
        "conflict": Response(_A.REBASE, otherwise="escalate"),
        "contradiction": Response(_A.END),
        "timed_out": Response(_A.RESUME, otherwise="elsewhere"),
        "again": Response(_A.AGAIN),
        "elsewhere": Response(_A.ELSEWHERE, otherwise="escalate"),
        "escalate": Response(_A.ESCALATE),
    },
    unknown=UnknownRule.AUTO,
)
BUDGETS = (
    None,
    None,
    Budget(attempts=2),
    Budget(cost_usd_micros=100, attempts=4),
    Budget(tokens=50, wall_s=20),
    Budget(repeats=1),
    Budget(interruptions=1, rounds=1),
)
LIMITS = (
    Share(),
    Share(cost_usd_micros=60),
    Share(cost_usd_micros=400, tokens=300),
    Share(tokens=20),
    Share(wall_ms=50_000),
)
ACCOUNTS = ("hub", "project:red", "project:blue")
POLICIES = (None, "once", "every-action", "every-action")
BROKEN_EVIDENCE = ("{}", "{", '{"harness": 7}')


class RecoveryRules:
    """Rules beside those of the core's machine."""

    lab: QuickLab
    nodes: list[NodeId]

    def begin_recovery(self) -> None:
        self.lab.run(dc.StorePolicy(EVERY_ACTION, "ann"))

    def held_deliveries(self) -> list[Delivery]:
        every = self.lab.world.every(Delivery)
        return [one for one in every if one.ended_at_ms is None and one.state is DeliveryState.DELIVERED]

    def pick_held(self, data: Any) -> Delivery | None:
        """One that is at work; if none is, the nodes look for work first."""
        if not self.held_deliveries():
            for node in (0, 1):
                self.take_work(node, 2)
        held = self.held_deliveries()
        return data.draw(st.sampled_from(held)) if held else None

    def pick_task(self, data: Any) -> Task | None:
        every = list(self.lab.world.every(Task))
        going_on = [one for one in every if not one.is_terminal]
        return data.draw(st.sampled_from(going_on or every)) if every else None

    def pick_item(self, data: Any, *kinds: AttentionKind) -> Attention | None:
        every = [one for one in self.lab.world.every(Attention) if not kinds or one.kind in kinds]
        is_open = [one for one in every if one.open]
        return data.draw(st.sampled_from(is_open or every)) if every else None

    # -- submitting

    @rule(
        data=st.data(),
        node=st.integers(0, 1),
        policy=st.sampled_from(POLICIES),
        budget=st.sampled_from(BUDGETS),
        key=st.sampled_from([None, None, "deploy"]),
        project=st.sampled_from(["red", "blue"]),
        priority=st.integers(-1, 1),
        deadline_s=st.sampled_from([None, None, 4, 30]),
    )
    def start_recovering(self, data: Any, node: int, **spec: Any) -> None:
        """A Task with all that can be said of one, at work at once where nothing keeps it."""
        deadline_s, key = spec.pop("deadline_s"), spec.pop("key")
        self.lab.submit(
            route=("claude@alpha", "pool")[node],
            scope=SCOPE if data.draw(st.booleans()) else None,
            repository="https://example.org/app.git",
            base_sha=SHA,
            concurrency_key=key,
            deadline_ms=self.lab.now.wall_ms + deadline_s * 1000 if deadline_s else None,
            **spec,
        )
        self.take_work(node, 3)

    @rule(node=st.integers(0, 1), free=st.integers(1, 3))
    def take_work(self, node: int, free: int) -> None:
        for delivery in self.lab.claim(self.nodes[node], free):
            self.lab.ack(delivery)

    @rule(data=st.data(), how=st.sampled_from(["after", "after_failure", "after_end"]))
    def submit_after(self, data: Any, how: str) -> None:
        others = [one.task_id for one in self.lab.world.every(Task)]
        if not others:
            return
        named: dict[str, Any] = {how: (data.draw(st.sampled_from(others)),)}
        spec = cm.TaskSpec(objective="then", route="pool", **named)
        self.lab.run(cm.Submit(TaskId(self.lab.fresh("t")), spec, "ann", self.lab.fresh("key")))

    @rule()
    def release_all(self) -> None:
        """What a hub does after a Task has ended or a challenge was answered."""
        for ended in [one for one in self.lab.world.every(Task) if one.is_terminal]:
            for task in list(self.lab.world.every(Task)):
                if ended.task_id in task.spec.dependencies:
                    self.lab.run(cm.ReleaseDependent(task.task_id, ended.task_id))

    # -- what nodes say

    @rule(
        data=st.data(),
        failure=st.sampled_from(FailureClass),
        check=st.sampled_from([None, None, "expected 1", "expected 2"]),
        session=st.sampled_from([None, "session-1"]),
        retry_after_s=st.sampled_from([None, 0, 3]),
        new_base=st.sampled_from([None, OTHER_SHA]),
        cost=st.sampled_from([0, 30, 90]),
        is_known=st.booleans(),
    )
    def fail(self, data: Any, failure: FailureClass, session: str | None, **said: Any) -> None:
        delivery = self.pick_held(data)
        if delivery is None:
            return
        details = f'{{"base_sha":"{said["new_base"]}"}}' if said["new_base"] else None
        told = evidence(
            failure, said["check"], session_id=session, retry_after_s=said["retry_after_s"], details=details
        )
        usage = Usage(cost_usd_micros=said["cost"], output_tokens=said["cost"] // 3, wall_s=said["cost"] / 10)
        if not said["is_known"]:
            told = data.draw(st.sampled_from(BROKEN_EVIDENCE))
        self.lab.fail(delivery, failure, session_id=session, evidence=told, usage=usage)

    def fail_with(self, data: Any, failure: FailureClass, check: str | None, **outcome: Any) -> None:
        delivery = self.pick_held(data)
        if delivery is not None:
            base = data.draw(st.sampled_from([SHA, OTHER_SHA]))
            known = evidence(failure, check, details=f'{{"base_sha":"{base}"}}')
            self.lab.fail(delivery, failure, evidence=known, **outcome)

    @rule(data=st.data(), cost=st.integers(0, 120), tokens=st.integers(0, 60))
    def use(self, data: Any, cost: int, tokens: int) -> None:
        """A renewal with usage, which may also be less than before."""
        delivery = self.pick_held(data)
        if delivery is not None:
            self.lab.renew(delivery, usage=Usage(cost_usd_micros=cost, input_tokens=tokens))

    @rule(data=st.data(), cost=st.integers(0, 200))
    def report_late_usage(self, data: Any, cost: int) -> None:
        ended = [one for one in self.lab.world.every(Delivery) if one.ended_at_ms is not None]
        if ended:
            usage = Usage(cost_usd_micros=cost)
            self.lab.fail(data.draw(st.sampled_from(ended)), FailureClass.CAPACITY, usage=usage)

    @rule(node=st.integers(0, 1), config=st.sampled_from(["one", "two"]))
    def configure_node(self, node: int, config: str) -> None:
        self.start_node(node, config_digest=config)

    def start_node(self, node: int, boot: str = "boot1", **more: Any) -> NodeId:
        """Alpha has room for two and can resume; beta is isolated. Both serve the pool, from one provider's account."""
        own: dict[str, Any] = (
            {"capacity": 2, "resumes": True} if node == 0 else {"capacity": 1, "isolation": "sandbox"}
        )
        known = self.lab.world.find(Recipient, f"claude@{('alpha', 'beta')[node]}")
        config = {"config_digest": known.config_digest} if known is not None else {}
        spec = {"pools": ("pool",), "provider": "account", **own, **config, **more}
        return self.lab.node(("alpha", "beta")[node], boot, **spec)

    # -- what the hub does by itself

    @rule()
    def look_again(self) -> None:
        for task in list(self.lab.world.every(Task)):
            if task.hold is not None:
                self.lab.run(dc.Reconsider(task.task_id))

    @rule(data=st.data())
    def look_for_no_reason(self, data: Any) -> None:
        task = self.pick_task(data)
        if task is not None:
            self.lab.run(dc.Reconsider(task.task_id))
            self.lab.run(dc.DueTask(task.task_id))

    @rule(seconds=st.integers(0, 30))
    def deadlines_come(self, seconds: int) -> None:
        self.lab.pass_s(seconds)
        for task in list(self.lab.world.every(Task)):
            if task.due_at_ms is not None:
                self.lab.run(dc.DueTask(task.task_id))

    # -- what people say

    @rule(data=st.data(), number=st.sampled_from([0, 0, 0, 1]))
    def stop(self, data: Any, number: int) -> None:
        task = self.pick_task(data)
        if task is not None:
            self.lab.run(dc.StopAttempt(task.task_id, number or task.attempts, "ann", "it does harm"))

    @rule(data=st.data())
    def cancel_tree(self, data: Any) -> None:
        task = self.pick_task(data)
        if task is not None:
            self.lab.run(cm.Cancel(task.task_id, "ann", "all of it", tree=True))

    @rule(
        data=st.data(),
        because=st.sampled_from(["", "it is better now"]),
        changes=st.sampled_from(
            [
                dc.Changes(),
                dc.Changes(objective="do it otherwise"),
                dc.Changes(route="pool"),
                dc.Changes(elsewhere=True),
                dc.Changes(timeout_s=5, base_sha=OTHER_SHA),
            ]
        ),
    )
    def retry_with(self, data: Any, because: str, changes: dc.Changes) -> None:
        task = self.pick_task(data)
        if task is not None:
            self.lab.run(cm.Retry(task.task_id, "ann", because, changes))

    @rule(
        data=st.data(),
        more=st.sampled_from(
            [
                Budget(),
                Budget(attempts=1),
                Budget(attempts=2, cost_usd_micros=100, tokens=100, wall_s=50, repeats=2, rounds=2),
                Budget(interruptions=2),
            ]
        ),
        deadline_s=st.sampled_from([None, 5, 60]),
    )
    def raise_budget(self, data: Any, more: Budget, deadline_s: int | None) -> None:
        task = self.pick_task(data)
        if task is None:
            return
        deadline_ms = self.lab.now.wall_ms + deadline_s * 1000 if deadline_s else None
        before = self.lab.task(task.task_id)
        reply = self.lab.run(dc.RaiseBudget(task.task_id, more, deadline_ms, "ann", "it is worth it"))
        if isinstance(reply, cm.Refusal):
            assert self.lab.task(task.task_id) == before, "a refusal has changed something"

    @rule(data=st.data(), version=st.sampled_from([None, None, 1]))
    def give_up(self, data: Any, version: int | None) -> None:
        item = self.pick_item(data)
        if item is not None:
            task_id = TaskId(item.subject.partition("/")[0])
            self.lab.run(dc.GiveUp(task_id, item.item_id, version or item.version, "ann", "no use"))

    @rule(data=st.data(), by=st.sampled_from(["ann", "bob"]), about=st.sampled_from(About))
    def challenge(self, data: Any, by: str, about: About) -> None:
        attempts = list(self.lab.world.every(Attempt))
        ended = [one for one in attempts if one.state is AttemptState.ENDED]
        if attempts:
            attempt = data.draw(st.sampled_from(ended or attempts))
            self.lab.run(dc.Challenge(attempt.task_id, attempt.number, about, by, "it is not so"))

    @rule(data=st.data(), ruling=st.sampled_from(Ruling), by=st.sampled_from(["ann", "bob"]))
    def answer_challenge(self, data: Any, ruling: Ruling, by: str) -> None:
        item = self.pick_item(data, AttentionKind.CHALLENGED)
        if item is not None:
            task_id = TaskId(item.subject.partition("/")[0])
            self.lab.run(dc.AnswerChallenge(task_id, item.version, ruling, by, "I looked"))

    @rule(
        subject=st.sampled_from([*ACCOUNTS, "claude@alpha", "claude@beta", "node", "nobody"]),
        drain=st.booleans(),
    )
    def pause(self, subject: str, drain: bool) -> None:
        self.lab.run(dc.Pause(self._subject(subject), "ann", "we look into something", drain))

    def _subject(self, subject: str) -> str:
        return self.nodes[0] if subject == "node" else subject

    @rule()
    def unpause_all(self) -> None:
        for subject in (*ACCOUNTS, "claude@alpha", "claude@beta", "node"):
            self.lab.run(dc.Unpause(self._subject(subject), "ann", "we have looked"))

    @rule(
        account=st.sampled_from(ACCOUNTS),
        limits=st.sampled_from(LIMITS),
        per_task=st.sampled_from([Budget(), Budget(attempts=3), Budget(cost_usd_micros=200)]),
        share=st.sampled_from([Share(), Share(cost_usd_micros=20, tokens=10)]),
        weight=st.sampled_from([1, 5]),
        reset=st.booleans(),
    )
    def set_account(self, account: str, reset: bool, **said: Any) -> None:
        self.lab.run(dc.SetAccount(account_id=account, by="ann", because="so be it", reset=reset, **said))

    @rule(subject=st.sampled_from(["hub", "project:red", "route:pool"]), policy=st.sampled_from(POLICIES))
    def choose_policy(self, subject: str, policy: str | None) -> None:
        self.lab.run(dc.ChoosePolicy(subject, policy, "ann", "so be it"))

    @rule(version=st.integers(1, 3))
    def store_policy(self, version: int) -> None:
        self.lab.run(dc.StorePolicy(replace(EVERY_ACTION, version=version), "bob"))

    @rule(quota=st.sampled_from(["account", "claude@alpha", "claude@beta"]))
    def close_circuit(self, quota: str) -> None:
        self.lab.run(dc.CloseCircuit(quota, "ann", "they have room again"))

    @rule(
        data=st.data(),
        what=st.sampled_from(["snooze", "wake", "assign", "notify"]),
        version=st.integers(0, 2),
    )
    def handle_item(self, data: Any, what: str, version: int) -> None:
        item = self.pick_item(data)
        if item is None:
            return
        read, until_ms = item.version - version, self.lab.now.wall_ms + 5_000
        if what in ("snooze", "wake"):
            until = until_ms if what == "snooze" else None
            self.lab.run(dc.SnoozeAttention(item.item_id, read, until, "ann"))
        elif what == "assign":
            self.lab.run(dc.AssignAttention(item.item_id, read, "bob", "ann"))
        else:
            self.lab.run(dc.NoteNotified(item.item_id, read))

    @rule(data=st.data(), version=st.integers(0, 1))
    def close_item(self, data: Any, version: int) -> None:
        item = self.pick_item(data)
        if item is not None:
            self.lab.run(cm.CloseAttention(item.item_id, item.version - version, "ann", "I have read it"))

    def circuits(self) -> dict[str, Circuit]:
        return {one.quota: one for one in self.lab.world.every(Circuit) if not one.is_closed}

    def accounts(self) -> dict[str, Account]:
        return {one.account_id: one for one in self.lab.world.every(Account)}

    def exhausted(self, task: Task) -> bool:
        item = self.lab.world.find(Attention, item_id(AttentionKind.EXHAUSTED, task.task_id))
        return item is not None and item.open

    def newest(self, task: Task) -> Attempt:
        return self.lab.get(Attempt, attempt_id(task.task_id, task.attempts))
