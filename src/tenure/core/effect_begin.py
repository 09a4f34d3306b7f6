"""Beginning an Effect and issuing its call: the two fenced commits before anything happens outside.

The order of questions in a begin: is this very key recorded (`once`)? May the sender write now (`fenced_writes`)? Is
there an Effect that means the same, by kind and subject in this Task, or by identity at the provider? Only what is
none of these is new.

An Effect that proved absent is intended again under its own key. Nobody issues one whose lease is not open or whose
Task is to be canceled: it becomes absent instead, for it was never called."""

from __future__ import annotations

from msgspec.structs import asdict, replace

from tenure.core import effect_events as ev
from tenure.core.asking import ask
from tenure.core.attempt import AttemptState
from tenure.core.attention import AttentionKind
from tenure.core.canonical import canonical, digest
from tenure.core.commands import Proof, Refusal
from tenure.core.delivery import Delivery, is_over
from tenure.core.draft import Draft
from tenure.core.effect import Effect, EffectState, short_name
from tenure.core.effect_commands import BeginEffect, EffectAnswer, IssueEffect
from tenure.core.effect_key import key_problem, operation_digest, recorded_key
from tenure.core.ids import DeliveryId, TaskId
from tenure.core.late import LateKind
from tenure.core.limits import EFFECT_CALLS, OPEN_EFFECTS, REASON_LENGTH
from tenure.core.proof import hear_late, holds
from tenure.core.recipient import Node
from tenure.core.scope import Scope, may
from tenure.core.task import Task

NOTHING_DONE = " Nothing was done."
PROBLEM_OF = {
    EffectState.AWAITING_APPROVAL: "approval_needed",
    EffectState.ISSUED: "effect_pending",
    EffectState.IN_DOUBT: "effect_in_doubt",
}
"""Why a caller cannot go on now, by the state of the Effect that stands for what it asked."""


def decide_begin_effect(draft: Draft, command: BeginEffect) -> EffectAnswer | Refusal:
    delivery = draft.find(Delivery, command.delivery_id)
    if delivery is None:
        return _stale(command.delivery_id)
    task = draft.get(Task, delivery.task_id)
    key = recorded_key(command.key, command.again, task.task_id, command.target, command.params)
    refusal = _input_refusal(command, task, delivery)
    if refusal is not None:
        return refusal
    known = draft.world.effect_by_key(task.task_id, key)
    if known is not None and known.params_digest != operation_digest(command.target, command.params):
        return _mismatch(known, command)
    if known is not None and known.state is EffectState.CONFIRMED:
        later = _later_rival(draft, command, task, known)
        return _overwritten(later) if later else EffectAnswer(known.effect_id, known.state, replayed=True)
    refusal = authority(draft, delivery, command.fence) or _scope_refusal(draft, command, task, delivery)
    if refusal is not None:
        if refusal.code == "stale_fence":
            _hear_late(draft, delivery, command)
        return _with_known(refusal, known)
    if known is not None and _stands(known):
        return _stands_for(draft, known, task, delivery, key)
    if known is not None and known.number == delivery.number and known.code == "rejected":
        return EffectAnswer(known.effect_id, known.state, replayed=True, problem="rejected")
    return _begin_new(draft, command, task, delivery, known)


def _with_known(refusal: Refusal, known: Effect | None) -> Refusal:
    """What was asked for before may have been called: then nobody is told that nothing was done."""
    if known is None or known.has_ended or not known.calls:
        return refusal
    message = refusal.message.replace(
        NOTHING_DONE, f" What was asked for before, {known.effect_id}, is {known.state}."
    )
    return replace(
        refusal,
        message=message,
        facts={**refusal.facts, "effect_id": known.effect_id, "state": str(known.state)},
    )


def _begin_new(
    draft: Draft, command: BeginEffect, task: Task, delivery: Delivery, known: Effect | None
) -> EffectAnswer | Refusal:
    """Nothing stands under this key: adopt what means the same, or intend it."""
    key = recorded_key(command.key, command.again, task.task_id, command.target, command.params)
    same = None if command.again else _same_meaning(draft, command, task)
    if same is not None and _is_foreign(draft, same, task):
        return _taken()
    later = _later_rival(draft, command, task, same) if same is not None else None
    if later is not None:
        return _overwritten(later)
    if same is not None:
        return _stands_for(draft, same, task, delivery, key)
    refusal = _bound_refusal(draft, task, delivery) if known is None else _tries_refusal(known)
    if refusal is not None:
        return refusal
    return _intend(draft, command, task, delivery, known, key)


def _stands(effect: Effect) -> bool:
    """Is it the answer to whoever means the same? One that proved absent is not, unless that is contradicted."""
    return effect.state is not EffectState.ABSENT or effect.quarantined


def _input_refusal(command: BeginEffect, task: Task, delivery: Delivery) -> Refusal | None:
    if command.again is not None and not 0 < len(command.again.strip()) <= REASON_LENGTH:
        return Refusal("invalid", f"repeating on purpose needs a reason of 1 to {REASON_LENGTH} characters.")
    if command.key is None:
        return None
    texts = [text for text in asdict(command.params).values() if isinstance(text, str)]
    stable = [*texts, command.params.subject, command.target, delivery.attempt_id, *task.spec.labels.values()]
    problem = key_problem(command.key, task.task_id, stable)
    if problem is None:
        return None
    return Refusal("unstable_key", f"the key {command.key[:80]!r}: {problem}.", {"key": command.key[:80]})


def _mismatch(known: Effect, command: BeginEffect) -> Refusal:
    asked = operation_digest(command.target, command.params)
    return Refusal(
        "idempotency_mismatch",
        f"the key {known.idempotency_key!r} stands for {short_name(known)} with other parameters or target (recorded "
        f"{known.params_digest[:12]}, now {asked[:12]}). Another operation needs another key.",
        {"effect_id": known.effect_id, "recorded_digest": known.params_digest, "asked_digest": asked},
    )


def _stale(delivery_id: DeliveryId) -> Refusal:
    return Refusal(
        "stale_fence",
        f"this attempt was replaced or has ended: stop all work now.{NOTHING_DONE}",
        {"delivery_id": delivery_id},
    )


def authority(draft: Draft, delivery: Delivery, fence: int) -> Refusal | None:
    """Why the holder of this fence may not begin or issue an Effect now."""
    task = draft.get(Task, delivery.task_id)
    is_gone = draft.get(Node, delivery.node_id).revoked  # a person's word; its lease runs out by itself
    if is_gone or not holds(task, delivery, fence):
        return _stale(delivery.delivery_id)
    if task.is_cancel_requested or task.is_stopping:
        return Refusal(
            "canceled", f"this attempt was asked to stop: end now.{NOTHING_DONE}", {"task_id": task.task_id}
        )
    attempt = draft.attempt(task.task_id, delivery.number)
    if attempt.state is AttemptState.SUSPECT or is_over(delivery.term, draft.now):
        return Refusal(
            "lease_expired",
            f"the lease ran out and has not been renewed.{NOTHING_DONE} Wait a little, then repeat this.",
            {"delivery_id": delivery.delivery_id},
        )
    return None


def _scope_refusal(draft: Draft, command: BeginEffect, task: Task, delivery: Delivery) -> Refusal | None:
    scope = draft.attempt(task.task_id, delivery.number).spec.scope
    params = command.params
    problem = may(scope, params.kind, command.target, params.branch, folds=command.folds)
    if problem is not None:
        return Refusal(
            "out_of_scope",
            f"{problem}. Nothing was done; ask a person for a task whose scope lists it.",
            {"kind": str(params.kind), "target": command.target, "branch": params.branch},
        )
    return None


def _bound_refusal(draft: Draft, task: Task, delivery: Delivery) -> Refusal | None:
    """Asked only before something is recorded: what is recorded already is answered beyond every bound."""
    most = (draft.attempt(task.task_id, delivery.number).spec.scope or Scope()).most
    if task.effects >= most or len(task.open_effects) >= OPEN_EFFECTS:
        return Refusal(
            "out_of_scope",
            f"{task.task_id} has begun {task.effects} Effects ({len(task.open_effects)} of them open); its scope allows {most} "
            f"and {OPEN_EFFECTS} open at a time.",
            {"effects": task.effects, "most": most},
        )
    return None


def _tries_refusal(known: Effect) -> Refusal | None:
    if known.calls < EFFECT_CALLS:
        return None
    return Refusal(
        "out_of_scope",
        f"{known.effect_id} was called {known.calls} times and never done; that is enough. A person looks why.",
        {"effect_id": known.effect_id, "calls": known.calls},
    )


def _hear_late(draft: Draft, delivery: Delivery, command: BeginEffect) -> None:
    """Kept once for each operation; the capability was checked, so the sender did hold this Delivery."""
    incarnation = delivery.acknowledged_by or delivery.granted_to
    proof = Proof(delivery.delivery_id, command.fence, delivery.token_digest, incarnation)
    hear_late(draft, proof, delivery, LateKind.EFFECT, digest((command.target, command.params)))


def identity_of(target: str, identity: str | None, task_id: TaskId, key: str) -> str:
    """How the provider knows it, in full. What it knows only by our marker is one Effect for each key."""
    return f"{target}#{identity}" if identity is not None else f"{target}#key:{task_id}:{key}"


def _same_meaning(draft: Draft, command: BeginEffect, task: Task) -> Effect | None:
    params = command.params
    found = draft.world.effects_of(task.task_id, params.kind, params.subject)
    found = [one for one in found if one.target == command.target]
    for identity in filter(None, (params.identity, params.twin)):
        found += draft.world.effects_known_as(f"{command.target}#{identity}")
    standing = [one for one in found if _stands(one)]
    return next((one for one in standing if one.quarantined), standing[-1] if standing else None)


def _is_foreign(draft: Draft, effect: Effect, task: Task) -> bool:
    """Does it belong to another project? Then nothing of it is told, not even its id."""
    return draft.get(Task, effect.task_id).project != task.project


def _taken() -> Refusal:
    return Refusal(
        "conflict",
        f"outside of this project the same is done or under way at its provider already.{NOTHING_DONE} Look there, or ask a "
        "person; to do it nevertheless say why, with `again`.",
    )


def _later_rival(draft: Draft, command: BeginEffect, task: Task, effect: Effect) -> Effect | None:
    """What this Task has set in its place since: then it is no longer so, and nobody is told that it is."""
    return next(
        (
            one
            for subject in command.params.rivals
            for one in draft.world.effects_of(task.task_id, command.params.kind, subject)
            if one.target == effect.target and _stands(one) and _before(effect, one)
        ),
        None,
    )


def _before(one: Effect, other: Effect) -> bool:
    """Was it intended earlier? Ids of one hub grow, which tells two of one millisecond apart."""
    return (one.intended_at_ms, one.effect_id) < (other.intended_at_ms, other.effect_id)


def _overwritten(later: Effect) -> Refusal:
    return Refusal(
        "conflict",
        f"it was done, and {later.effect_id} ({later.subject}) has been set in its place since. To set it again say why, with "
        "`again`.",
        {"effect_id": later.effect_id},
    )


def _stands_for(draft: Draft, same: Effect, task: Task, delivery: Delivery, key: str) -> EffectAnswer:
    """What is there already is the answer: its result, or why it has none yet."""
    replayed = same.idempotency_key == key
    mine = same.delivery_id == delivery.delivery_id
    problem = PROBLEM_OF.get(same.state)
    if same.state is EffectState.INTENDED and not mine:
        problem = "effect_pending"
    if same.quarantined:
        problem = "quarantined"
    # Asked again within its own Attempt it says nothing new; beyond the bound it is answered and not recorded.
    most = (draft.attempt(task.task_id, delivery.number).spec.scope or Scope()).most
    is_news = not mine and task.effects < most
    if problem is None and is_news:
        draft.emit(
            ev.EffectAdopted(
                task_id=task.task_id,
                effect_id=same.effect_id,
                number=delivery.number,
                owner=same.task_id,
                idempotency_key=key,
            )
        )
    return EffectAnswer(same.effect_id, same.state, replayed, not replayed, problem)


def _intend(
    draft: Draft, command: BeginEffect, task: Task, delivery: Delivery, known: Effect | None, key: str
) -> EffectAnswer:
    params = command.params
    scope = draft.attempt(task.task_id, delivery.number).spec.scope or Scope()
    approval = params.kind in scope.approval
    before = _same_meaning(draft, command, task)
    if before is not None and (not before.has_ended or before.quarantined):
        return EffectAnswer(before.effect_id, before.state, adopted=True, problem="effect_pending")
    identity = identity_of(command.target, params.identity, task.task_id, key)
    twin = f"{command.target}#{params.twin}" if params.twin is not None else None
    if before is not None:  # the provider's own identity is taken by the one before
        identity, twin = f"{identity}#{digest(key)[:12]}", None
    again_of = before.effect_id if before is not None else None
    effect_id = known.effect_id if known is not None else command.effect_id
    draft.emit(
        ev.EffectBegun(
            task_id=task.task_id,
            effect_id=effect_id,
            number=delivery.number,
            delivery_id=delivery.delivery_id,
            fence=command.fence,
            kind=params.kind,
            target=command.target,
            idempotency_key=key,
            subject=params.subject,
            params=canonical(params).decode(),
            params_digest=operation_digest(command.target, params),
            identity=identity,
            twin=twin,
            finds=command.finds,
            settling_ms=command.settling_ms,
            again=command.again,
            again_of=again_of,
            approval=approval,
        )
    )
    effect = draft.get(Effect, effect_id)
    if approval:
        ask_approval(draft, effect)
    return EffectAnswer(effect_id, effect.state, problem=PROBLEM_OF.get(effect.state))


def ask_approval(draft: Draft, effect: Effect) -> None:
    ask(
        draft,
        AttentionKind.APPROVAL,
        effect.questions,
        f"may {effect.task_id}/{effect.number} do this: {short_name(effect)}?",
        {"effect_id": effect.effect_id, "kind": str(effect.kind), "target": effect.target, "params_digest": effect.params_digest,
         "fence": effect.fence},
    )  # fmt: skip


def decide_issue_effect(draft: Draft, command: IssueEffect) -> EffectAnswer | Refusal:
    effect = draft.find(Effect, command.effect_id)
    if effect is None:
        return Refusal("not_found", f"there is no Effect {command.effect_id}.")
    if effect.state is EffectState.ISSUED and effect.call_id == command.call_id:
        return EffectAnswer(effect.effect_id, effect.state, replayed=True)
    if effect.state is not EffectState.INTENDED or effect.quarantined:
        problem = "quarantined" if effect.quarantined else PROBLEM_OF.get(effect.state)
        return EffectAnswer(effect.effect_id, effect.state, problem=problem)
    refusal = authority(draft, draft.get(Delivery, effect.delivery_id), effect.fence)
    if refusal is not None and refusal.code == "lease_expired":
        return EffectAnswer(effect.effect_id, effect.state, problem="lease_expired")
    if refusal is not None:
        draft.emit(
            ev.EffectSettled(
                task_id=effect.task_id,
                effect_id=effect.effect_id,
                state=EffectState.ABSENT,
                code=refusal.code,
                reason=f"never called: {refusal.message}",
            )
        )
        return EffectAnswer(effect.effect_id, EffectState.ABSENT, problem=refusal.code)
    draft.emit(
        ev.EffectIssued(
            task_id=effect.task_id,
            effect_id=effect.effect_id,
            call_id=command.call_id,
            caller=draft.now.hub,
            within_ms=command.within_ms,
        )
    )
    return EffectAnswer(effect.effect_id, EffectState.ISSUED)
