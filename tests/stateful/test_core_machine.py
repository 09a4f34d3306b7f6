"""Anything may be asked of the core, in any order: no rule breaks.

The machine plays people, nodes, a network that loses, repeats and reorders, hub restarts, sleep and time. Every step is checked by
`core.invariants` (in the Lab); beyond that, `why` must have an answer for every Task in every state that is reached, and
a provider counts that nothing is done twice.
"""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule

from tenure.core import commands as cm
from tenure.core.attempt import Answer, Attempt, Outcome, Verdict
from tenure.core.attention import Attention
from tenure.core.canonical import digest
from tenure.core.delivery import Delivery, Terms
from tenure.core.ids import DeliveryId, attempt_id
from tenure.core.recipient import Node, Recipient
from tenure.core.review import Review
from tenure.core.task import Task
from tenure.core.why import WhyFacts, why
from tests.core.lab import QuickLab
from tests.stateful.effect_rules import SCOPE, EffectRules
from tests.stateful.recovery_rules import RecoveryRules

TERMS = Terms(
    offer_ttl_ms=2_000,
    lease_ttl_ms=6_000,
    suspect_grace_ms=4_000,
    cancel_grace_ms=3_000,
    stall_after_ms=9_000,
    max_offers=2,
)


class CoreMachine(EffectRules, RecoveryRules, RuleBasedStateMachine):
    tasks = Bundle("tasks")

    def __init__(self) -> None:
        super().__init__()
        self.begin_effects()
        self.lab = QuickLab(TERMS)
        self.nodes = [self.start_node(0), self.start_node(1)]
        self.begin_recovery()

    def deliveries(self) -> list[Delivery]:
        return list(self.lab.world.every(Delivery))

    def pick(self, data: Any) -> Delivery | None:
        known = self.deliveries()
        return data.draw(st.sampled_from(known)) if known else None

    @rule(
        target=tasks,
        route=st.sampled_from(["claude", "pool", "claude@alpha", "nobody"]),
        later=st.integers(0, 5),
        approval=st.booleans(),
    )
    def submit(self, route: str, later: int, approval: bool) -> Any:
        not_before_ms = self.lab.now.wall_ms + later * 1000
        return self.lab.submit(route=route, not_before_ms=not_before_ms, approval=approval, scope=SCOPE)

    @rule(target=tasks, before=tasks)
    def submit_dependent(self, before: Any) -> Any:
        return self.lab.submit(after=(before,))

    @rule(node=st.integers(0, 1))
    def start_work(self, node: int) -> None:
        """The usual path in one step, so that short runs reach the states in which things go wrong."""
        self.lab.submit(route=("claude@alpha", "pool")[node], scope=SCOPE)
        for delivery in self.lab.claim(self.nodes[node], 3):
            self.lab.ack(delivery)

    @rule(node=st.integers(0, 1))
    def lose_work(self, node: int) -> None:
        """Everything that this node holds and does not renew runs out."""
        for _ in range(2):
            self.lab.pass_s(7)
            self.lab.sweep()

    @rule(node=st.integers(0, 1), free=st.integers(0, 3))
    def claim(self, node: int, free: int) -> None:
        self.lab.claim(self.nodes[node], free)

    @rule(data=st.data())
    def claim_again(self, data: Any) -> None:
        delivery = self.pick(data)
        if delivery is not None:
            self.lab.claim(delivery.node_id, 2, delivery.claim_id)

    @rule(data=st.data(), refused=st.sampled_from([None, None, "no disk"]))
    def acknowledge(self, data: Any, refused: str | None) -> None:
        delivery = self.pick(data)
        if delivery is not None:
            self.lab.ack(delivery, refused)

    @rule(data=st.data(), counter=st.integers(0, 8))
    def renew(self, data: Any, counter: int) -> None:
        delivery = self.pick(data)
        if delivery is not None:
            self.lab.renew(delivery, counter)

    @rule(data=st.data(), verdict=st.sampled_from(Verdict), tree_gone=st.booleans())
    def report(self, data: Any, verdict: Verdict, tree_gone: bool) -> None:
        delivery = self.pick(data)
        if delivery is not None:
            self.lab.report(delivery, verdict, tree_gone)

    @rule(data=st.data(), fence=st.integers(0, 6), token=st.sampled_from(["right", "wrong"]))
    def forge(self, data: Any, fence: int, token: str) -> None:
        delivery = self.pick(data)
        if delivery is None:
            return
        changes: dict[str, Any] = {"fence": fence}
        if token == "wrong":
            changes["token_digest"] = "0" * 64
        outcome = Outcome(verdict=Verdict.COMPLETED)
        before = self.lab.task(delivery.task_id)
        answer = self.lab.run(cm.Report(self.lab.proof(delivery, **changes), digest(outcome), outcome)).answer
        if fence != before.fence or token == "wrong":
            assert answer in ("stale_fence", "late", "replayed", "superseded")
            assert self.lab.task(delivery.task_id) == before

    @rule(data=st.data())
    def hand_back(self, data: Any) -> None:
        delivery = self.pick(data)
        if delivery is not None:
            self.lab.run(cm.HandBack(self.lab.proof(delivery), "nothing was started"))

    @rule(data=st.data(), node=st.integers(0, 1), sequence=st.integers(1, 9))
    def snapshot(self, data: Any, node: int, sequence: int) -> None:
        node_id = self.nodes[node]
        mine = [one for one in self.deliveries() if one.node_id == node_id]
        named = (
            data.draw(st.lists(st.sampled_from(mine), max_size=4, unique_by=lambda one: one.delivery_id))
            if mine
            else []
        )
        stages = st.sampled_from(["mirrored", "acknowledged", "started", "ended", "closed"])
        holdings = [
            cm.Holding(one.delivery_id, one.fence, data.draw(stages), data.draw(st.booleans()))
            for one in named
        ]
        if data.draw(st.booleans()):
            holdings.append(cm.Holding(DeliveryId("d_unheard_of"), 1, "started", False))
        self.lab.run(cm.Snapshot(node_id, self.lab.live(node_id), sequence, tuple(holdings)))

    @rule(node=st.integers(0, 1), boot=st.sampled_from(["boot1", "boot2"]))
    def restart_node(self, node: int, boot: str) -> None:
        if not self.lab.get(Node, self.nodes[node]).revoked:
            self.start_node(node, boot)

    @rule(node=st.integers(0, 1))
    def release_node(self, node: int) -> None:
        self.lab.run(cm.ReleaseNode(self.nodes[node], "ann", "one of them is off"))

    @rule(node=st.integers(0, 1))
    def forget_node_and_enroll_again(self, node: int) -> None:
        self.lab.run(cm.ForgetNode(self.nodes[node], "ann", "it burned"))
        self.nodes[node] = self.start_node(node)

    @rule(seconds=st.integers(1, 7))
    def time_passes(self, seconds: int) -> None:
        self.lab.pass_s(seconds)

    @rule(seconds=st.integers(1, 100))
    def hub_sleeps(self, seconds: int) -> None:
        self.lab.sleep_s(seconds)

    @rule(away=st.integers(0, 100))
    def restart_hub(self, away: int) -> None:
        self.lab.restart_hub(away)

    @rule()
    def sweep(self) -> None:
        self.lab.sweep()

    @rule(task=tasks)
    def cancel(self, task: Any) -> None:
        self.lab.cancel(task)

    @rule(task=tasks)
    def retry(self, task: Any) -> None:
        self.lab.run(cm.Retry(task, "ann", "because"))

    @rule(task=tasks, other=tasks)
    def release_dependent(self, task: Any, other: Any) -> None:
        self.lab.run(cm.ReleaseDependent(task, other))

    @rule(data=st.data(), answer=st.sampled_from(Answer), stale=st.booleans(), gone=st.booleans())
    def answer(self, data: Any, answer: Answer, stale: bool, gone: bool) -> None:
        attempts = [one for one in self.lab.world.every(Attempt) if one.verdict is Verdict.UNKNOWN]
        if not attempts:
            return
        attempt = data.draw(st.sampled_from(attempts))
        reports = self.lab.world.reports_of(attempt.attempt_id)
        late = data.draw(st.sampled_from(reports)).late_id if reports else None
        more: dict[str, Any] = {"item_version": 99} if stale else {}
        self.lab.answer(attempt.task_id, attempt.number, answer, late_id=late, tree_gone=gone, **more)

    def teardown(self) -> None:
        self.come_to_rest()
        assert self.lab.refolded().entities == self.lab.world.entities, (
            "the events alone do not make the state"
        )

    @invariant()
    def why_always_answers(self) -> None:
        world = self.lab.world
        open_items = [one for one in world.every(Attention) if one.open]
        for task in world.every(Task):
            facts = WhyFacts(
                task=task,
                attempt=self.lab.get(Attempt, attempt_id(task.task_id, task.attempts)),
                delivery=world.find(Delivery, task.lease) if task.lease else None,
                recipients=tuple(world.every(Recipient)),
                nodes={one.node_id: one for one in world.every(Node)},
                online=frozenset(self.nodes),
                attention=tuple(one for one in open_items if one.subject.partition("/")[0] == task.task_id),
                circuits=self.circuits(),
                accounts=self.accounts(),
                reviews={one.task_id: one for one in world.every(Review) if one.is_open},
            )
            reason = why(facts, self.lab.now.wall_ms)
            assert reason.code
            assert len(reason.sentence) > 10


CoreMachine.TestCase.settings = settings(
    max_examples=400, stateful_step_count=50, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
TestNoRuleBreaksInAnyOrder = CoreMachine.TestCase
