"""Nothing is done twice, in whatever order agents, hubs, providers and people act (`once`, `reconcile_first`).

The core's machine plays everything; here two nodes are at work all the time and nearly every step is about an Effect, so
that short runs reach a lost answer, a takeover and a second call."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from tenure.core import commands as cm
from tenure.core.attempt import Answer, Attempt, Verdict
from tenure.core.delivery import Delivery, DeliveryState, Terms
from tenure.core.effect import EffectState
from tenure.core.effect_commands import CallEnd
from tenure.core.effect_kind import Params
from tenure.core.scope import EffectKind
from tenure.core.task import Task
from tests.core.lab import QuickLab
from tests.stateful.effect_rules import CALL_S, SCOPE, SETTLING_S, WHAT, EffectRules

TERMS = Terms(lease_ttl_ms=20_000, suspect_grace_ms=5_000, cancel_grace_ms=5_000)


class EffectMachine(EffectRules, RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.begin_effects()
        self.lab = QuickLab(TERMS)
        self.nodes = [self.lab.node(name, capacity=2) for name in ("alpha", "beta")]
        self.what = WHAT[0]
        self.go_on()

    @initialize(what=st.sampled_from(WHAT))
    def choose(self, what: Params) -> None:
        """What everybody wants done in this run: the rarer the things, the oftener they meet."""
        self.what = what

    def held(self) -> list[Delivery]:
        every = self.lab.world.every(Delivery)
        return [one for one in every if one.ended_at_ms is None and one.state is DeliveryState.DELIVERED]

    @rule()
    def go_on(self) -> None:
        """Answer what is asked, renew what is held, take new work."""
        lab = self.lab
        for attempt in list(lab.world.every(Attempt)):
            if attempt.is_open_unknown:
                lab.answer(attempt.task_id, attempt.number, Answer.RERUN, tree_gone=True)
            elif attempt.verdict is Verdict.ASKED:
                lab.run(cm.Retry(attempt.task_id, "ann", "go on"))
        for delivery in self.held():
            lab.renew(delivery)
        waiting = [one for one in lab.world.every(Task) if one.queue_key is not None]
        if not waiting and len(self.held()) < 2:
            lab.submit(scope=SCOPE)
        for node in self.nodes:
            for delivery in lab.claim(node, 1):
                lab.ack(delivery)

    @rule(data=st.data(), is_done=st.sampled_from([True, True, False]), is_lost=st.booleans())
    def work(self, data: Any, is_done: bool, is_lost: bool) -> None:
        """Somebody at work wants this done: what is there already is the answer, or it is called for."""
        held = self.held()
        if not held:
            self.go_on()
            return
        delivery = data.draw(st.sampled_from(held))
        what = self.what
        finds = what.kind is not EffectKind.COMMENT
        key = data.draw(st.sampled_from([None, "said otherwise"])) if what is not WHAT[0] else None
        answer = self.lab.begin(delivery, what, finds=finds, settling_ms=SETTLING_S * 1000, key=key)
        if isinstance(answer, cm.Refusal) or answer.state != EffectState.INTENDED or answer.problem:
            return
        self.issue_effect_of(answer.effect_id)
        if data.draw(st.sampled_from([True, True, True, False])):
            self._send(self.calls[-1], is_done, is_lost)

    @rule(data=st.data())
    def find_out(self, data: Any) -> None:
        """Until it is known, and no longer than that: the doubt, two lookups with the time between, a person."""
        effect = self._pick(data, EffectState.ISSUED, EffectState.IN_DOUBT)
        if effect is None:
            return
        for call in self.calls:
            if call.effect_id == effect.effect_id and call.lost:
                self.lab.settle(call.effect_id, CallEnd.LOST, call.call_id)
        for seconds in data.draw(st.lists(st.sampled_from([0, SETTLING_S, CALL_S + SETTLING_S]), max_size=3)):
            self.lab.pass_s(seconds)
            for delivery in self.held():
                self.lab.renew(delivery)
            self.lab.doubt(effect.effect_id)
            is_there = self.provider.shows(effect, self.lab.now.wall_ms)
            self.lab.look_up(effect.effect_id, result="{}" if is_there else None)
            if data.draw(st.booleans()):
                self.lab.resolve(effect.effect_id, is_there)

    @rule(
        data=st.data(),
        how=st.sampled_from(["report", "hand back", "cancel", "lose", "sleep", "restart", "time"]),
    )
    def disturb(self, data: Any, how: str) -> None:
        lab, held = self.lab, self.held()
        delivery = data.draw(st.sampled_from(held)) if held else None
        if how == "report" and delivery is not None:
            lab.report(
                delivery, data.draw(st.sampled_from([Verdict.COMPLETED, Verdict.ASKED, Verdict.UNKNOWN]))
            )
        elif how == "hand back" and delivery is not None:
            lab.run(cm.HandBack(lab.proof(delivery), "nothing was started"))
        elif how == "cancel" and delivery is not None:
            lab.cancel(delivery.task_id)
        elif how == "lose":
            for seconds in (20, 5):
                lab.pass_s(seconds)
                lab.sweep()
        elif how == "sleep":
            lab.sleep_s(data.draw(st.sampled_from([1, 8, 60])))
        elif how == "restart":
            lab.restart_hub(data.draw(st.sampled_from([0, 1, 60])))
        else:
            lab.pass_s(data.draw(st.sampled_from([1, CALL_S, SETTLING_S])))

    def teardown(self) -> None:
        self.come_to_rest()
        assert self.lab.refolded().entities == self.lab.world.entities


EffectMachine.TestCase.settings = settings(
    max_examples=300, stateful_step_count=60, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
TestNothingIsDoneTwice = EffectMachine.TestCase
