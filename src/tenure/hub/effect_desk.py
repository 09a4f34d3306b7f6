"""What agents and people ask about Effects. The rules are in `core`; here texts become commands, and Effects bodies."""

from __future__ import annotations

from contextlib import suppress
from typing import final

from msgspec import Raw, Struct
from msgspec.structs import replace

from tenure import errors as er
from tenure.core import commands as cm
from tenure.core import effect_commands as ec
from tenure.core.attempt import Attempt
from tenure.core.attention import Attention, AttentionKind, item_id
from tenure.core.delivery import Delivery
from tenure.core.effect import Effect
from tenure.core.effect_begin import PROBLEM_OF
from tenure.core.effect_key import recorded_key
from tenure.core.effect_kind import WITNESSED, Params, parse
from tenure.core.effect_target import folded, target_problem
from tenure.core.ids import EffectId, TaskId, attempt_id
from tenure.core.proof import holds
from tenure.core.scope import EffectKind, Scope, may
from tenure.core.task import Task
from tenure.hub.access import Principal
from tenure.hub.effects.broker import Broker
from tenure.hub.effects.caller import result_text
from tenure.hub.effects.capability import Capability
from tenure.hub.effects.registry import Registry
from tenure.hub.recorded import recorded
from tenure.hub.service import Hub
from tenure.hub.views import scope_body
from tenure.providers.port import Result
from tenure.wire.codec import instant, instant_or_none
from tenure.wire.effects import (
    AgentContext,
    AttemptBefore,
    DecisionRequest,
    EffectBody,
    EffectRequest,
    ResolveRequest,
)

LONGEST_WAIT_S = 60.0

ADVICE = {
    "approval_needed": "a person must allow it; it stands on the attention list. Wait for it (ask again under the same key): the "
    "question ends with your turn",
    "effect_pending": "it is under way; ask again in a few seconds under the same key. Do not do it another way",
    "effect_in_doubt": "its answer was lost and the provider is being asked; ask again in a few seconds under the same key. Do "
    "not do it another way",
    "quarantined": "what is known of it contradicts itself; a person decides. Go on with something else, or end your turn",
    "provider_refused": "the provider said no, nothing was done; read `reason`, change the request, and ask again",
    "unavailable": "nothing was done; ask again later under the same key, not before the time that it names, if any",
    "overloaded": "nothing was done; ask again later under the same key",
    "lease_expired": "nothing was done; wait until the lease is renewed, then ask again under the same key",
    "stale_fence": "stop: this attempt was replaced",
    "not_found": "nothing was done; its provider is not configured here any more. Say so in your result",
    "fault": "nothing was done; the hub failed. Ask again later under the same key",
    "canceled": "stop: this task is being canceled",
    "not_done": "it did not happen, for certain; ask again under the same key if it is still wanted",
    "rejected": "a person said no; read `reason`. Do not ask for the same again",
}
"""What an agent is told to do, by the code of what keeps its Effect."""


class Means(Struct, frozen=True):
    """Where an Effect goes, in the provider's own spelling, and what its provider can say of it."""

    target: str
    finds: bool
    settling_ms: int
    folds: bool


@final
class EffectDesk:
    def __init__(self, hub: Hub, broker: Broker, gated: frozenset[EffectKind] = frozenset()) -> None:
        """`gated`: kinds that have a way in of their own, which looks at more than parameters; refused here."""
        self._hub = hub
        self._broker = broker
        self._gated = gated

    async def perform(self, who: Capability, asked: EffectRequest) -> EffectBody:
        """Have an Effect done, or find that it was. Safe to repeat: the key names the operation. An empty target stands
        for the first of the Attempt's scope that is named in full and whose provider does this kind.

        Raises:
            InvalidError: the parameters, the key or the target are none; or the key stands for other parameters.
            ForbiddenError: the Attempt's scope does not list it.
            ConflictError: the lease is not open, or the Task is being canceled; nothing was done.
            NotFoundError: there is no such provider, and it was not asked for before; or no target that could be meant.
            UnavailableError: nothing of it was done: its provider cannot be used, the record takes nothing, the hub is stopping.
            OverloadedError: nothing of it was done: too much is under way.
            OutcomeUnknownError: it cannot be told whether it was recorded; repeat it.
            FaultError: a bug.
        """
        params = parse(asked.kind, asked.params)
        if isinstance(params, str):
            raise er.InvalidError(f"{asked.kind}: {params}", kind=str(asked.kind))
        if asked.kind in WITNESSED:
            raise er.InvalidError(
                f"a {asked.kind} is made on the node; nobody does it for you.", kind=str(asked.kind)
            )
        if asked.kind in self._gated:
            raise er.InvalidError(
                f"a {asked.kind} is asked for with git itself: push to the remote `tenure`, as docs/guides/push.md says. Nothing was "
                "done.",
                kind=str(asked.kind),
            )
        if not asked.target:
            asked = replace(asked, target=await self._own_target(who, asked, params))
        problem = target_problem(asked.target)
        if problem is not None:
            raise er.InvalidError(f"{problem}. Nothing was done.", field="target")
        means = await self._means(who, asked, params)
        answer: ec.EffectAnswer = await self._hub.execute(
            ec.BeginEffect(
                effect_id=EffectId(self._hub.ids.new_id("e")),
                delivery_id=who.delivery_id,
                fence=who.fence,
                target=means.target,
                params=params,
                key=asked.key,
                again=asked.again,
                finds=means.finds,
                settling_ms=means.settling_ms,
                folds=means.folds,
            )
        )
        if answer.may_be_called:
            self._broker.start(answer.effect_id)
        with recorded():
            effect = await self._broker.settled(answer.effect_id, min(max(asked.wait_s, 0.0), LONGEST_WAIT_S))
        if effect is None:
            raise er.FaultError("the Effect is not in the record")
        return self.body(effect, replayed=answer.replayed, adopted=answer.adopted)

    async def _own_target(self, who: Capability, asked: EffectRequest, params: Params) -> str:
        """What is meant where no target is said. What was asked for before is found where it was, not begun elsewhere.

        Raises:
            StaleFenceError: the Attempt was replaced, and nothing can be meant.
            OutOfScopeError: its scope does not list this kind.
            NotFoundError: its scope names no target in full whose provider does this kind.
            UnavailableError: the provider of one that could be meant cannot be used as it is.
            InvalidError: this was asked for before, at another target than the one that would be meant now.
        """
        delivery = await self._hub.ledger.find(Delivery, who.delivery_id)
        attempt = await self._hub.ledger.find(Attempt, delivery.attempt_id) if delivery is not None else None
        if delivery is None or attempt is None:
            raise er.StaleFenceError(
                "stop: the hub knows nothing of this attempt", delivery_id=who.delivery_id
            )
        known = await self._hub.ledger.effects(delivery.task_id)
        before = [
            one.target
            for one in known
            if one.idempotency_key
            == recorded_key(asked.key, asked.again, delivery.task_id, one.target, params)
        ]
        try:
            meant = named_target(self._broker.registry, attempt.spec.scope, asked.kind)
        except (er.NotFoundError, er.OutOfScopeError, er.UnavailableError):
            if len(before) == 1:
                return before[0]
            await self._delivery(who)
            raise
        if before and meant not in before:
            raise er.InvalidError(
                f"this {asked.kind} was asked for before at {', '.join(before)}, and without a target {meant} would be meant "
                "now; say which one. Nothing was done.",
                field="target",
            )
        return meant

    async def _means(self, who: Capability, asked: EffectRequest, params: Params) -> Means:
        """Can its provider be asked for it, and how long does that settle? What is recorded under this key needs no
        provider to be answered, and has both in its row.

        Raises:
            NotFoundError: there is no such provider, and nothing is recorded.
            UnavailableError: it cannot be used as it is, and nothing is recorded.
        """
        try:
            reached = self._broker.registry.reach(asked.target, asked.kind)
        except (er.NotFoundError, er.UnavailableError):
            known = await self._recorded(who, asked, params)
            if known is None or not (known.is_done or known.quarantined or not known.has_ended):
                raise  # one that proved absent would be intended anew
            return Means(known.target, known.finds, known.settling_ms, folds=known.target != asked.target)
        can = reached.capabilities
        target = folded(asked.target) if can.folds_case else asked.target
        return Means(target, reached.finds(asked.kind), round(can.settling_s * 1000), can.folds_case)

    async def _recorded(self, who: Capability, asked: EffectRequest, params: Params) -> Effect | None:
        delivery = await self._hub.ledger.find(Delivery, who.delivery_id)
        if delivery is None:
            return None
        targets = dict.fromkeys((asked.target, folded(asked.target)))
        keys = {recorded_key(asked.key, asked.again, delivery.task_id, one, params) for one in targets}
        known = await self._hub.ledger.effects(delivery.task_id)
        return next((one for one in known if one.idempotency_key in keys and one.target in targets), None)

    def body(self, effect: Effect, *, replayed: bool = False, adopted: bool = False) -> EffectBody:
        """An Effect as it stands, with what keeps it from being called now."""
        body = effect_body(effect, replayed=replayed, adopted=adopted)
        kept = self._broker.kept_by(effect)
        if kept is not None:
            body = replace(body, problem=kept.code, reason=kept.message, advice=ADVICE.get(kept.code))
        rest_s = self._broker.rest_s(effect) if body.problem == er.UnavailableError.code else 0.0
        return replace(body, retry_after_s=round(rest_s, 1)) if rest_s > 0 else body

    async def of_agent(self, who: Capability) -> list[EffectBody]:
        """The Effects of the agent's own Task.

        Raises:
            ConflictError: this Attempt was replaced.
        """
        delivery = await self._delivery(who)
        return [self.body(one) for one in await self._hub.ledger.effects(delivery.task_id)]

    async def context(self, who: Capability) -> AgentContext:
        """What an agent may know of its own Task.

        Raises:
            ConflictError: this Attempt was replaced.
            FaultError: a bug.
        """
        delivery = await self._delivery(who)
        history = await self._hub.ledger.history(delivery.task_id)
        if history is None:
            raise er.FaultError("the Task is not in the record")
        task, mine = history.task, history.attempts[delivery.number - 1]
        return AgentContext(
            task_id=task.task_id,
            number=mine.number,
            state=str(task.state),
            objective=mine.spec.objective,
            repository=mine.spec.repository,
            base_sha=mine.spec.base_sha,
            labels=task.spec.labels,
            scope=scope_body(mine.spec.scope),
            fence=delivery.fence,
            lease=str(mine.state),
            cancel_requested=task.is_cancel_requested or task.is_stopping,
            hypothesis=mine.spec.hypothesis.because if mine.spec.hypothesis else None,
            before=tuple(_before(one) for one in history.attempts[: delivery.number - 1]),
            effects=tuple(self.body(one) for one in history.effects),
        )

    async def _delivery(self, who: Capability) -> Delivery:
        delivery = await self._hub.ledger.find(Delivery, who.delivery_id)
        task = await self._hub.ledger.find(Task, delivery.task_id) if delivery is not None else None
        if delivery is None or task is None or not holds(task, delivery, who.fence):
            raise er.StaleFenceError(
                "stop: this attempt was replaced or has ended.", delivery_id=who.delivery_id
            )
        return delivery

    # -- people

    async def of_task(self, task_id: str) -> list[EffectBody]:
        """Every Effect of a Task, oldest first.

        Raises:
            NotFoundError: there is no such Task.
        """
        if await self._hub.ledger.find(Task, task_id) is None:
            raise er.NotFoundError(f"there is no Task {task_id[:80]}.", task_id=task_id[:80])
        return [self.body(one) for one in await self._hub.ledger.effects(TaskId(task_id))]

    async def one(self, effect_id: str) -> EffectBody:
        """One Effect.

        Raises:
            NotFoundError: there is no such Effect.
        """
        return self.body(await self._effect(effect_id))

    async def _effect(self, effect_id: str) -> Effect:
        effect = await self._hub.ledger.find(Effect, effect_id)
        if effect is None:
            raise er.NotFoundError(f"there is no Effect {effect_id[:80]}.", effect_id=effect_id[:80])
        return effect

    async def decide(self, who: Principal, subject: str, asked: DecisionRequest, *, approve: bool) -> cm.Done:
        """Allow or reject an Effect (`e_…`) or a Task's newest Attempt (`t_…`).

        Raises:
            NotFoundError: there is none.
            ConflictError: nobody is asked any more, or what is asked has changed since it was read.
            InvalidError: the reason is missing or too long.
        """
        effect_id = EffectId(subject) if subject.startswith("e_") else None
        task_id = (await self._effect(subject)).task_id if effect_id is not None else TaskId(subject)
        return await self._hub.execute(
            ec.Approve(task_id, effect_id, approve, asked.item_version, who.name, asked.because)
        )

    async def resolve(self, who: Principal, effect_id: str, asked: ResolveRequest) -> cm.Done:
        """Say what became of an Effect in doubt or in quarantine.

        Raises:
            NotFoundError: there is none.
            ConflictError: nobody is asked about it, or the facts have changed since they were read.
            InvalidError: the reason is missing or too long.
        """
        result = result_text(Result(identity=asked.result)) if asked.result and asked.confirmed else None
        return await self._hub.execute(
            ec.ResolveEffect(
                effect_id=EffectId(effect_id),
                confirmed=asked.confirmed,
                item_version=asked.item_version,
                by=who.name,
                because=asked.because,
                result=result,
            )
        )

    async def question(self, subject: str) -> Attention | None:
        """The open approval that is asked about an Effect or a Task's newest Attempt."""
        if subject.startswith("e_"):
            name = (await self._effect(subject)).questions
        else:
            task = await self._hub.ledger.find(Task, subject)
            name = attempt_id(TaskId(subject), task.attempts if task is not None else 0)
        return await self._hub.ledger.find(Attention, item_id(AttentionKind.APPROVAL, name))


def named_target(registry: Registry, scope: Scope | None, kind: EffectKind) -> str:
    """The first target that a scope names in full and whose provider does this kind.

    Raises:
        OutOfScopeError: the scope does not list this kind.
        NotFoundError: there is no such target.
        UnavailableError: the provider of one cannot be used as it is, so that what it does is not known.
    """
    if scope is None or kind not in scope.kinds:
        raise er.OutOfScopeError(f"{may(scope, kind, '', None)}. Nothing was done.", kind=str(kind))
    named = [one for one in scope.targets if "*" not in one]
    for one in named:
        with suppress(er.NotFoundError):
            registry.reach(one, kind)
            return one
    raise er.NotFoundError(
        f"this task's scope names no target in full whose provider does a {kind} (it names {', '.join(named) or 'none'}); say "
        "where: a target is PROVIDER:WHAT, as github:owner/repo. Nothing was done.",
        kind=str(kind),
        field="target",
    )


def _before(attempt: Attempt) -> AttemptBefore:
    outcome = attempt.outcome
    return AttemptBefore(
        number=attempt.number,
        verdict=None if attempt.verdict is None else str(attempt.verdict),
        summary=outcome.summary if outcome else "",
        head_sha=outcome.head_sha if outcome else None,
    )


def effect_body(effect: Effect, *, replayed: bool = False, adopted: bool = False) -> EffectBody:
    problem = _problem(effect)
    return EffectBody(
        effect_id=effect.effect_id,
        task_id=effect.task_id,
        number=effect.number,
        kind=str(effect.kind),
        target=effect.target,
        key=effect.idempotency_key,
        subject=effect.subject,
        params=Raw(effect.params.encode()),
        params_digest=effect.params_digest,
        identity=effect.identity,
        state=str(effect.state),
        fence=effect.fence,
        quarantined=effect.quarantined,
        calls=effect.calls,
        again=effect.again,
        result=Raw(effect.result.encode()) if effect.result is not None else None,
        reason=effect.reason,
        intended_at=instant(effect.intended_at_ms),
        settled_at=instant_or_none(effect.settled_at_ms),
        replayed=replayed,
        adopted=adopted,
        problem=problem,
        advice=ADVICE.get(problem) if problem is not None else None,
    )


def _problem(effect: Effect) -> str | None:
    """The code of what keeps it, or of why it is absent."""
    if effect.quarantined:
        return "quarantined"
    if effect.code is not None:
        return effect.code
    return PROBLEM_OF.get(effect.state) or (None if effect.has_ended else "effect_pending")
