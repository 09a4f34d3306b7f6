"""Every Task comes to its end, or somebody is asked, however its Attempts fail and whatever people change meanwhile.

The core's machine plays everything; here two nodes are at work all the time and nearly every step is about a failure, a
budget or a question, so that short runs reach a used-up budget, a circuit that opens again and a stop that nobody answers.
Whatever answer a question offers is accepted when it is given."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tenure.core import commands as cm
from tenure.core import desk_commands as dc
from tenure.core import review
from tenure.core.answers import Subject, answers_to
from tenure.core.attempt import Answer, Attempt, Usage, Verdict
from tenure.core.attention import Attention, AttentionKind
from tenure.core.budget import Budget, Share
from tenure.core.delivery import Terms
from tenure.core.failure import FailureClass
from tenure.core.ids import TaskId, attempt_id
from tenure.core.recipient import Node
from tenure.core.resolving import Word, resolution
from tenure.core.task import Task
from tests.core.lab import SHA, QuickLab
from tests.stateful.recovery_rules import BUDGETS, LIMITS, POLICIES, RecoveryRules

TERMS = Terms(
    offer_ttl_ms=5_000, lease_ttl_ms=20_000, suspect_grace_ms=5_000, cancel_grace_ms=5_000, max_offers=2
)
ROOM = Budget(
    attempts=9,
    wall_s=900,
    cost_usd_micros=9_000,
    tokens=9_000,
    tool_calls=9,
    repeats=9,
    interruptions=9,
    rounds=9,
)


class RecoveryMachine(RecoveryRules, RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.lab = QuickLab(TERMS)
        self.nodes = [self.start_node(0), self.start_node(1)]
        self.begin_recovery()
        self.spec: dict[str, Any] = {"route": "pool", "repository": "https://example.org/a", "base_sha": SHA}

    @initialize(
        policy=st.sampled_from(POLICIES),
        budget=st.sampled_from(BUDGETS),
        key=st.sampled_from([None, None, "deploy"]),
        approval=st.sampled_from([False, False, False, True]),
        limits=st.sampled_from(LIMITS),
    )
    def choose(
        self, policy: str | None, budget: Budget | None, key: str | None, approval: bool, limits: Share
    ) -> None:
        """What most Tasks of this run are like, and what they share."""
        self.set_account("project:red", False, limits=limits, per_task=Budget(), share=Share(), weight=2)
        self.spec |= {"policy": policy, "budget": budget, "concurrency_key": key, "approval": approval}

    @rule(project=st.sampled_from(["red", "blue"]), deadline_s=st.sampled_from([None, None, None, 20]))
    def go_on(self, project: str, deadline_s: int | None) -> None:
        """Renew what is held, look again at what is held back, take new work."""
        lab = self.lab
        for delivery in self.held_deliveries():
            lab.renew(delivery)
        self.look_again()
        waiting = [one for one in lab.world.every(Task) if one.queue_key is not None]
        if not waiting and len(self.held_deliveries()) < 3:
            deadline_ms = lab.now.wall_ms + deadline_s * 1000 if deadline_s else None
            lab.submit(**self.spec, project=project, deadline_ms=deadline_ms)
        for node in (0, 1):
            self.take_work(node, 2)

    @rule(
        data=st.data(),
        verdict=st.sampled_from([*Verdict, Verdict.ASKED, Verdict.UNKNOWN]),
        tree_gone=st.booleans(),
    )
    def end(self, data: Any, verdict: Verdict, tree_gone: bool) -> None:
        delivery = self.pick_held(data)
        if delivery is not None:
            self.lab.report(delivery, verdict, tree_gone)

    @rule(
        data=st.data(),
        failures=st.lists(st.sampled_from(FailureClass), min_size=2, max_size=5),
        wait_s=st.sampled_from([0, 1, 8]),
        cost=st.sampled_from([0, 5, 40]),
        check=st.sampled_from([None, "expected 1"]),
    )
    def fail_again_and_again(
        self, data: Any, failures: list[FailureClass], wait_s: int, cost: int, check: str | None
    ) -> None:
        for failure in failures:
            self.fail_with(data, failure, check, usage=Usage(cost_usd_micros=cost))
            self.lab.pass_s(wait_s)

    @rule(data=st.data(), cost=st.integers(0, 60))
    def overrun(self, data: Any, cost: int) -> None:
        delivery = self.pick_held(data)
        for step in (1, 2):
            if delivery is not None:
                self.lab.renew(delivery, usage=Usage(cost_usd_micros=step * cost, tool_calls=step))

    @rule(data=st.data())
    def answer_as_offered(self, data: Any) -> None:
        """Any open question, any answer on its list: it is taken."""
        item = self.pick_item(data)
        if item is None or not item.open:
            return
        offered = answers_to(item, self.about(item))
        if offered:
            name = data.draw(st.sampled_from(sorted(offered)))
            reply = self.lab.run(self.command_for(item, name))
            assert not isinstance(reply, cm.Refusal), (item.item_id, name, reply)

    def about(self, item: Attention) -> Subject:
        task_id, _, number = item.subject.partition("/")
        attempt = self.lab.world.find(Attempt, item.subject) if number else None
        reports = self.lab.world.reports_of(attempt.attempt_id) if attempt is not None else ()
        return Subject(task=self.lab.world.find(Task, task_id), attempt=attempt, reports=reports)

    def command_for(self, item: Attention, name: str) -> cm.Command:
        late = (
            next((one.late_id for one in self.acceptable(item.subject)), None) if name in (*Answer,) else None
        )
        word = Word(
            answer=name,
            item_version=item.version,
            by="ann",
            because="I have looked into it",
            late_id=late,
            more=ROOM,
            deadline_ms=self.lab.now.wall_ms + 10**9,
        )
        command = resolution(item, self.about(item), None, word)
        assert not isinstance(command, cm.Refusal | cm.Done), (item.item_id, name, command)
        return command

    def acceptable(self, subject: str) -> list[Any]:
        ends = (Verdict.COMPLETED, Verdict.FAILED, Verdict.TIMED_OUT, Verdict.CANCELED)
        reports = self.lab.world.reports_of(attempt_id(*_split(subject)))
        return [one for one in reports if one.outcome is not None and one.outcome.verdict in ends]

    def room_for(self, account_id: str) -> dc.SetAccount:
        known = self.accounts()[account_id]
        return dc.SetAccount(
            account_id,
            Share(),
            known.per_task,
            known.share,
            known.weight,
            "ann",
            "no limit any more",
            reset=True,
        )

    @rule(
        how=st.sampled_from(["lose", "lose", "sweep", "sleep", "restart", "time"]), seconds=st.integers(1, 30)
    )
    def disturb(self, how: str, seconds: int) -> None:
        if how == "lose":
            for wait in (20, 5):
                self.lab.pass_s(wait)
                self.lab.sweep()
        elif how == "sleep":
            self.lab.sleep_s(seconds)
        elif how == "restart":
            self.lab.restart_hub(seconds)
        elif how == "time":
            self.lab.pass_s(seconds)
        self.lab.sweep()

    @rule(how=st.sampled_from(["refuse", "expire", "expire"]))
    def offer_in_vain(self, how: str) -> None:
        for node_id in self.nodes:
            for delivery in self.lab.claim(node_id, 2):
                if how == "refuse":
                    self.lab.ack(delivery, "no disk")
        self.lab.pass_s(5 if how == "expire" else 0)
        self.lab.sweep()

    @rule(data=st.data(), way=st.sampled_from(["after", "after_failure", "after_end"]), late=st.booleans())
    def depend_on_what_is_challenged(self, data: Any, way: str, late: bool) -> None:
        """Somebody depends on what has ended, and it is challenged before the dependent is granted, or before it is made."""
        ended = [one for one in self.lab.world.every(Task) if one.is_terminal]
        if not ended:
            return
        task = data.draw(st.sampled_from(ended))
        named: dict[str, Any] = {way: (task.task_id,)}
        spec = cm.TaskSpec(objective="then", route="pool", **named)
        commands: list[cm.Command] = [
            cm.Submit(TaskId(self.lab.fresh("t")), spec, "ann", self.lab.fresh("key")),
            dc.Challenge(task.task_id, task.attempts, review.About.CLAIM, "bob", "it is not so"),
        ]
        for command in reversed(commands) if late else commands:
            self.lab.run(command)
        for node in (0, 1):
            self.take_work(node, 2)

    @rule(data=st.data())
    def hand_back(self, data: Any) -> None:
        delivery = self.pick_held(data)
        if delivery is not None:
            self.lab.run(cm.HandBack(self.lab.proof(delivery), "nothing was started"))

    @invariant()
    def why_always_answers(self) -> None:
        for task in self.lab.world.every(Task):
            reason = self.lab.reason(task.task_id)
            assert reason.code
            assert len(reason.sentence) > 10

    @invariant()
    def every_open_question_can_be_answered(self) -> None:
        for item in self.lab.world.every(Attention):
            # Of an account it is not answered: more room is made for it.
            if item.open and item.subject not in self.accounts():
                assert answers_to(item, self.about(item)), item

    def teardown(self) -> None:
        self.come_to_rest()
        assert self.lab.refolded().entities == self.lab.world.entities

    def come_to_rest(self) -> None:
        """Left alone with busy nodes and a patient person, every Task ends: nothing is forgotten, and nothing loops."""
        self.unpause_all()
        for account in self.accounts():
            self.lab.run(self.room_for(account))
        for _ in range(60):
            if all(one.is_terminal for one in self.lab.world.every(Task)):
                return
            self.lab.pass_s(3_600)
            self.lab.sweep()
            self.release_all()
            self.look_again()
            self.deadlines_come(0)
            self._answer_everything()
            self._say_what_is_gone()
            for node in (0, 1):
                self.take_work(node, 2)
            for delivery in self.held_deliveries():
                self.lab.report(delivery)
        left = [one for one in self.lab.world.every(Task) if not one.is_terminal]
        assert not left, (left, [one.item_id for one in self.lab.world.every(Attention) if one.open])

    def _say_what_is_gone(self) -> None:
        """The nodes look, and nothing runs there that they do not hold."""
        for node_id in self.nodes:
            mine = self.lab.world.deliveries_of_node(node_id)
            holdings = tuple(cm.Holding(one.delivery_id, one.fence, "started", True) for one in mine)
            sequence = self.lab.get(Node, node_id).snapshot_sequence + 1
            self.lab.run(cm.Snapshot(node_id, self.lab.live(node_id), sequence, holdings))

    def _answer_everything(self) -> None:
        wanted = ("approve", "raise", "retire", "retry", "dismiss", "cancel", "close")
        for item_id in [one.item_id for one in self.lab.world.every(Attention)]:
            item = self.lab.get(Attention, item_id)
            offered = answers_to(item, self.about(item)) if item.open else {}
            name = next((one for one in wanted if one in offered), None)
            if item.kind is AttentionKind.UNKNOWN and offered:
                name = str(Answer.RETIRE)
                task_id, number = _split(item.subject)
                self.lab.answer(task_id, number, Answer.RETIRE, tree_gone=True)
            elif name is not None:
                self.lab.run(self.command_for(item, name))
            elif item.open and item.kind is AttentionKind.EXHAUSTED and not item.subject.startswith("t_"):
                self.lab.run(self.room_for(item.subject))
        for task in list(self.lab.world.every(Task)):
            is_unwanted = {"claude@alpha", "claude@beta"} <= set(self.newest(task).spec.avoid)
            if task.failed_dependencies or is_unwanted:
                self.lab.cancel(task.task_id)


def _split(subject: str) -> tuple[TaskId, int]:
    task_id, _, number = subject.partition("/")
    return TaskId(task_id), int(number)


RecoveryMachine.TestCase.settings = settings(
    max_examples=500, stateful_step_count=50, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
TestEveryTaskComesToItsEndOrSomebodyIsAsked = RecoveryMachine.TestCase
