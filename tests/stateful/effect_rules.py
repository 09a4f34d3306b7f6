"""Agents that begin Effects, hubs that call for them, and a provider that counts what was really done.

The provider is honest and slow: a request may arrive at any time until its deadline, and what was done can be seen
only `SETTLING_S` later. The callers obey the protocol and no
more: who issued calls once, only while its own hub lives and its own waking clock says that there is time; its answer
may be lost, or come any time later, whatever became of the lease. Lookups are asked and recorded at different times."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule

from tenure.core import effect_commands as ec
from tenure.core.attention import Attention, AttentionKind
from tenure.core.delivery import Delivery, Now
from tenure.core.effect import Effect, EffectState
from tenure.core.effect_commands import CallEnd
from tenure.core.effect_kind import Comment, Params, PullRequest, Push
from tenure.core.ids import EffectId
from tenure.core.scope import EffectKind, Scope
from tests.core.lab import FORGE, OTHER_SHA, SHA, TREE, QuickLab

CALL_S = 8
SETTLING_S = 3
WHAT: tuple[Params, ...] = (
    PullRequest(head="tenure/one", base="main", title="One", tree=TREE),
    PullRequest(head="tenure/two", base="main", title="The same content", tree=TREE),
    PullRequest(head="tenure/one", base="main", title="Said otherwise"),
    Push(ref="tenure/one", old=OTHER_SHA, new=SHA),
    Comment(number=1, body="Done."),
)
SCOPE = Scope(
    kinds=(EffectKind.PULL_REQUEST, EffectKind.PUSH, EffectKind.COMMENT),
    targets=("forge:*",),
    branches=("tenure/*",),
    approval=(EffectKind.PUSH,),
    most=30,
)


def names_of(effect: Effect) -> list[str]:
    """By what nothing may be done twice."""
    if effect.again is not None:
        return [effect.effect_id]
    meant = f"{effect.task_id}:{effect.kind}:{effect.target}:{effect.subject}"
    return [effect.identity, meant, *([effect.twin] if effect.twin else [])]


@dataclass
class Call:
    effect_id: EffectId
    call_id: str
    began: Now
    sent: bool = False
    done: bool = False
    lost: bool = False
    flies: bool = False


@dataclass
class Look:
    """A lookup that was asked and is not recorded yet."""

    effect_id: EffectId
    asked: Now
    result: str | None


class Provider:
    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.done_at_ms: dict[str, int] = {}

    def do(self, effect: Effect, at_ms: int) -> None:
        for name in {*names_of(effect), effect.effect_id}:
            self.counts[name] += 1
            self.done_at_ms.setdefault(name, at_ms)

    def shows(self, effect: Effect, at_ms: int) -> bool:
        known = [
            self.done_at_ms[name] for name in {*names_of(effect), effect.effect_id} if name in self.done_at_ms
        ]
        return any(at_ms >= done + SETTLING_S * 1000 for done in known)


class EffectRules:
    """Rules beside those of the core's machine."""

    lab: QuickLab
    provider: Provider
    calls: list[Call]
    looks: list[Look]

    def begin_effects(self) -> None:
        self.provider, self.calls, self.looks = Provider(), [], []

    def _pick(self, data: Any, *states: EffectState) -> Effect | None:
        known = [one for one in self.lab.world.every(Effect) if not states or one.state in states]
        return data.draw(st.sampled_from(known)) if known else None

    @rule(
        data=st.data(),
        what=st.sampled_from(WHAT),
        key=st.sampled_from([None, None, "mine", "other"]),
        again=st.sampled_from([None, None, None, "closed by mistake"]),
        fence=st.sampled_from([None, None, None, None, 1, 2]),
    )
    def begin_effect(
        self, data: Any, what: Params, key: str | None, again: str | None, fence: int | None
    ) -> None:
        known = list(self.lab.world.every(Delivery))
        if not known:
            return
        holding = [one for one in known if self.lab.task(one.task_id).lease == one.delivery_id]
        delivery = data.draw(st.sampled_from(holding or known))
        more: dict[str, Any] = {"fence": fence} if fence is not None else {}
        self.lab.begin(
            delivery, what, target=FORGE, key=key, again=again, settling_ms=SETTLING_S * 1000,
            finds=what.kind is not EffectKind.COMMENT, **more,
        )  # fmt: skip

    @rule(data=st.data())
    def issue_effect(self, data: Any) -> None:
        effect = self._pick(data, EffectState.INTENDED) or self._pick(data)
        if effect is not None:
            self.issue_effect_of(effect.effect_id)

    def issue_effect_of(self, effect_id: EffectId) -> None:
        call = Call(effect_id, self.lab.fresh("call"), self.lab.now)
        answer = self.lab.issue(effect_id, call.call_id, CALL_S)
        if answer.state == EffectState.ISSUED and answer.problem is None:
            self.calls.append(call)

    @rule(data=st.data(), what=st.sampled_from(WHAT[:3]), is_lost=st.booleans())
    def perform_effect(self, data: Any, what: Params, is_lost: bool) -> None:
        """The usual path in one step."""
        self.begin_effect(data, what, None, None, None)
        before = len(self.calls)
        self.issue_effect(data)
        if len(self.calls) > before:
            self._send(self.calls[-1], is_done=True, is_lost=is_lost)

    @rule(data=st.data(), is_done=st.booleans(), is_lost=st.booleans())
    def send_call(self, data: Any, is_done: bool, is_lost: bool) -> None:
        waiting = [one for one in self.calls if not one.sent]
        if waiting:
            self._send(data.draw(st.sampled_from(waiting)), is_done, is_lost)

    def _send(self, call: Call, is_done: bool, is_lost: bool) -> None:
        now = self.lab.now
        if call.began.hub != now.hub or now.awake_ms - call.began.awake_ms >= CALL_S * 1000:
            return
        call.sent, call.done, call.lost = True, is_done, is_lost
        if is_done and is_lost and now.wall_ms < call.began.wall_ms + CALL_S * 1000:
            call.flies = True  # it may arrive later, even after its hub has died
        elif is_done:
            self.provider.do(self.lab.effect(call.effect_id), now.wall_ms)

    @rule()
    def land_calls(self) -> None:
        """A request that is on its way arrives until its time is over, and never after."""
        for call in self.calls:
            if call.flies and self.lab.now.wall_ms < call.began.wall_ms + CALL_S * 1000:
                self.provider.do(self.lab.effect(call.effect_id), self.lab.now.wall_ms)
            call.flies = False

    @rule(data=st.data(), is_known=st.booleans())
    def settle_effect(self, data: Any, is_known: bool) -> None:
        sent = [one for one in self.calls if one.sent]
        if not sent:
            return
        call = data.draw(st.sampled_from(sent))
        if call.lost or not is_known:
            self.lab.settle(call.effect_id, CallEnd.LOST, call.call_id)
        else:
            self.lab.settle(call.effect_id, CallEnd.CONFIRMED if call.done else CallEnd.ABSENT, call.call_id)

    @rule(data=st.data())
    def doubt_effect(self, data: Any) -> None:
        effect = self._pick(data, EffectState.ISSUED) or self._pick(data)
        if effect is not None:
            self.lab.doubt(effect.effect_id)

    @rule(data=st.data())
    def ask_provider(self, data: Any) -> None:
        effect = self._pick(data, EffectState.IN_DOUBT, EffectState.INTENDED) or self._pick(data)
        if effect is not None:
            self._ask(effect)

    def _ask(self, effect: Effect) -> None:
        result = "{}" if self.provider.shows(effect, self.lab.now.wall_ms) else None
        self.looks.append(Look(effect.effect_id, self.lab.now, result))

    @rule(
        data=st.data(), how=st.sampled_from(["said", "said", "said", "said", "unreachable", "contradiction"])
    )
    def record_lookup(self, data: Any, how: str) -> None:
        if not self.looks:
            return
        look = data.draw(st.sampled_from(self.looks))
        said: dict[str, Any] = {"result": look.result} if how == "said" else {how: "it says so"}
        self.lab.look_up(look.effect_id, look.asked, **said)

    @rule(data=st.data(), seconds=st.integers(0, 9))
    def look_up_now(self, data: Any, seconds: int) -> None:
        self.lab.pass_s(seconds)
        effect = self._pick(data, EffectState.IN_DOUBT)
        if effect is not None:
            self._ask(effect)
            self.lab.look_up(effect.effect_id, self.lab.now, result=self.looks[-1].result)

    @rule(data=st.data(), is_stale=st.booleans())
    def resolve_effect(self, data: Any, is_stale: bool) -> None:
        """A person looks, and says what is there."""
        effect = self._pick(data, EffectState.IN_DOUBT, EffectState.ISSUED, EffectState.ABSENT)
        if effect is not None:
            more: dict[str, Any] = {"item_version": 99} if is_stale else {}
            self.lab.resolve(effect.effect_id, self.provider.shows(effect, self.lab.now.wall_ms), **more)

    @rule(data=st.data(), approve=st.booleans(), version=st.sampled_from([None, None, None, 1]))
    def decide_approval(self, data: Any, approve: bool, version: int | None) -> None:
        kind = AttentionKind.APPROVAL
        asked = [one for one in self.lab.world.every(Attention) if one.kind is kind]
        if not asked:
            return
        item = data.draw(st.sampled_from(asked))
        task_id, _, rest = item.subject.partition("/")
        effect_id = EffectId(rest) if rest.startswith("e_") else None
        command = ec.Approve(
            self.lab.task(task_id).task_id, effect_id, approve, version or item.version, "ann", "I read it"
        )
        self.lab.run(command)

    @invariant()
    def nothing_is_done_twice(self) -> None:
        twice = {name: count for name, count in self.provider.counts.items() if count > 1}
        assert not twice, twice

    def come_to_rest(self) -> None:
        """With a new hub, honest lookups and a person: every Effect ends, and as the provider has it."""
        self.lab.restart_hub()
        for _ in range(4):
            self.lab.pass_s(100)
            self.lab.sweep()
            for effect in list(self.lab.world.every(Effect)):
                self.lab.doubt(effect.effect_id)
                result = "{}" if self.provider.shows(effect, self.lab.now.wall_ms) else None
                self.lab.look_up(effect.effect_id, result=result)
                self.lab.resolve(effect.effect_id, result is not None)
        for effect in self.lab.world.every(Effect):
            assert effect.has_ended, effect
            assert not effect.quarantined, effect
            was_done = any(self.provider.counts[name] for name in (effect.effect_id, *names_of(effect)))
            if effect.state is EffectState.CONFIRMED:
                assert was_done, effect
            else:
                assert not self.provider.counts[effect.effect_id], effect
