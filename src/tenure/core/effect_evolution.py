"""What the events of Effects do.

`Task.open_effects` is kept here and nowhere else: an Effect is in it from its begin until it is confirmed or absent.
`due_at_ms` is when the hub must look at it: at the end of a call whose answer is missing, and when a lookup can prove
something. None while it waits for a call or a person."""

from __future__ import annotations

from msgspec.structs import replace

from tenure.core import effect_events as ev
from tenure.core.delivery import Now, Term, term_from
from tenure.core.effect import Effect, EffectState
from tenure.core.life_cycle import to_effect
from tenure.core.task import Task
from tenure.core.world import Space, get
from tenure.errors import InvariantError


def effect_begun(space: Space, event: ev.EffectBegun, now: Now) -> None:
    state = EffectState.AWAITING_APPROVAL if event.approval else EffectState.INTENDED
    before = space.find(Effect, event.effect_id)
    task = get(space, Task, event.task_id)
    if before is None:
        space.put(_first_row(event, state, now))
    elif before.idempotency_key != event.idempotency_key or before.quarantined:
        raise InvariantError(f"Effect {event.effect_id} is another one, or in quarantine")
    elif before.state is not EffectState.ABSENT:
        raise InvariantError(
            f"Effect {event.effect_id} is {before.state}; only an absent one is intended again"
        )
    else:
        space.put(
            to_effect(
                before,
                state,
                number=event.number,
                delivery_id=event.delivery_id,
                fence=event.fence,
                call_id=None,
                called_by=None,
                call_term=None,
                not_found_term=None,
                due_at_ms=None,
                finds=event.finds,
                settling_ms=event.settling_ms,
                code=None,
                reason=None,
                intended_at_ms=now.wall_ms,
                settled_at_ms=None,
            )
        )
    space.put(
        replace(
            task,
            effects=task.effects + (before is None),  # another try of the same is no other Effect
            open_effects=(*task.open_effects, event.effect_id),
            last_effect_of=event.delivery_id,
        )
    )


def _first_row(event: ev.EffectBegun, state: EffectState, now: Now) -> Effect:
    return Effect(
        effect_id=event.effect_id,
        task_id=event.task_id,
        kind=event.kind,
        target=event.target,
        idempotency_key=event.idempotency_key,
        subject=event.subject,
        params=event.params,
        params_digest=event.params_digest,
        identity=event.identity,
        twin=event.twin,
        finds=event.finds,
        settling_ms=event.settling_ms,
        again=event.again,
        again_of=event.again_of,
        number=event.number,
        delivery_id=event.delivery_id,
        fence=event.fence,
        state=state,
        quarantined=False,
        call_id=None,
        called_by=None,
        call_term=None,
        calls=0,
        not_found_term=None,
        due_at_ms=None,
        result=None,
        code=None,
        reason=None,
        intended_at_ms=now.wall_ms,
        settled_at_ms=None,
    )


def effect_adopted(space: Space, event: ev.EffectAdopted, _now: Now) -> None:
    task = get(space, Task, event.task_id)
    space.put(replace(task, effects=task.effects + 1))


def effect_approved(space: Space, event: ev.EffectApproved, _now: Now) -> None:
    effect = get(space, Effect, event.effect_id)
    if effect.state is not EffectState.AWAITING_APPROVAL:
        raise InvariantError(f"Effect {event.effect_id} is {effect.state}; it waits for nobody's word")
    space.put(to_effect(effect, EffectState.INTENDED))


def effect_issued(space: Space, event: ev.EffectIssued, now: Now) -> None:
    effect = get(space, Effect, event.effect_id)
    if effect.quarantined:
        raise InvariantError(f"Effect {event.effect_id} is in quarantine")
    term = term_from(now, event.within_ms)
    space.put(
        to_effect(
            effect,
            EffectState.ISSUED,
            call_id=event.call_id,
            called_by=event.caller,
            call_term=term,
            calls=effect.calls + 1,
            due_at_ms=term.ends_at_ms,
        )
    )


def effect_doubted(space: Space, event: ev.EffectDoubted, now: Now) -> None:
    effect = get(space, Effect, event.effect_id)
    asks = effect.finds and not effect.quarantined
    due = max(now.wall_ms, _conclusive_from(effect.call_term, effect.settling_ms)) if asks else None
    space.put(to_effect(effect, EffectState.IN_DOUBT, due_at_ms=due, reason=event.reason))


def _conclusive_from(call: Term | None, settling_ms: int) -> int:
    return 0 if call is None else call.ends_at_ms + settling_ms


def effect_looked_up(space: Space, event: ev.EffectLookedUp, now: Now) -> None:
    effect = get(space, Effect, event.effect_id)
    if effect.state is not EffectState.IN_DOUBT or effect.not_found_term is not None:
        raise InvariantError(f"Effect {event.effect_id} is not in doubt, or was looked up before")
    term = term_from(now, event.again_after_ms)
    space.put(replace(effect, not_found_term=term, due_at_ms=term.ends_at_ms))


def effect_settled(space: Space, event: ev.EffectSettled, now: Now) -> None:
    effect = get(space, Effect, event.effect_id)
    space.put(_settled(effect, event, now))
    task = get(space, Task, event.task_id)
    if event.effect_id in task.open_effects:
        left = tuple(one for one in task.open_effects if one != event.effect_id)
        space.put(replace(task, open_effects=left))


def _settled(effect: Effect, event: ev.EffectSettled, now: Now) -> Effect:
    """Only a person's word, or that it is confirmed, ends a quarantine: one that is merely absent could be called
    once more.

    Raises:
        InvariantError: a machine's word cannot confirm one that is absent or was never allowed.
    """
    is_word = event.is_word and effect.quarantined
    if event.state is EffectState.CONFIRMED and effect.state in _BY_WORD and not is_word:
        raise InvariantError(
            f"Effect {event.effect_id} is {effect.state}: only a person can say that it is there"
        )
    settled = replace(
        effect,
        result=event.result,
        code=event.code,
        reason=event.reason or None,
        due_at_ms=None,
        quarantined=effect.quarantined and event.state is EffectState.ABSENT and not is_word,
        settled_at_ms=now.wall_ms,
    )
    return settled if is_word and event.state is effect.state else to_effect(settled, event.state)


_BY_WORD = frozenset({EffectState.ABSENT, EffectState.AWAITING_APPROVAL})
"""From here a machine's word confirms nothing: it was never called, or everybody was told that it is not there."""


def effect_quarantined(space: Space, event: ev.EffectQuarantined, _now: Now) -> None:
    effect = get(space, Effect, event.effect_id)
    # A call that is under way stays due: until it is in doubt nobody can say what became of it.
    due = effect.due_at_ms if effect.state is EffectState.ISSUED else None
    space.put(replace(effect, quarantined=True, due_at_ms=due, reason=event.reason))
