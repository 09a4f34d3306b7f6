"""What became of an Effect: heard from its call, found out at the provider, or said by a person.

Settling is no fenced write. It states a fact about an Effect that began under a valid fence, is guarded by the call's
own id, and is recorded whatever became of the lease; it changes the Effect, and lets a Task go on that only waited
for it. The hard case is two words that disagree (a call says it was done, the record says absent): the Effect is put
in quarantine, and a person decides."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from tenure.core import effect_events as ev
from tenure.core.asking import ask, settle, unread_refusal
from tenure.core.attention import Attention, AttentionKind, item_id
from tenure.core.commands import Done, Refusal
from tenure.core.concluding import go_on
from tenure.core.delivery import Term, is_over
from tenure.core.draft import Draft
from tenure.core.effect import Effect, EffectState, short_name
from tenure.core.effect_commands import (
    CallEnd,
    DoubtEffect,
    EffectAnswer,
    LookUpEffect,
    ResolveEffect,
    SettleEffect,
)
from tenure.core.ids import TaskId
from tenure.core.limits import EFFECT_RESULT_BYTES, REASON_LENGTH
from tenure.core.task import Task

LEAST_GAP_MS = 1_000
"""Between the two lookups that make an Effect absent, where the provider says that it settles at once."""


def decide_settle(draft: Draft, command: SettleEffect) -> EffectAnswer | Refusal:
    effect = draft.find(Effect, command.effect_id)
    if effect is None:
        return Refusal("not_found", f"there is no Effect {command.effect_id}.")
    if effect.call_id != command.call_id or effect.state not in (EffectState.ISSUED, EffectState.IN_DOUBT):
        return _settled_before(draft, effect, command)
    match command.end:
        case CallEnd.CONFIRMED:
            _close(draft, effect, Ending(EffectState.CONFIRMED, command.result, None, command.reason))
        case CallEnd.ABSENT:
            _close(draft, effect, Ending(EffectState.ABSENT, None, command.code, command.reason))
        case CallEnd.LOST:
            if effect.state is EffectState.ISSUED:
                _doubt(draft, effect, command.reason or "the answer was lost")
    return _answer(draft, effect)


def _settled_before(draft: Draft, effect: Effect, command: SettleEffect) -> EffectAnswer:
    if command.end is CallEnd.CONFIRMED and effect.state is not EffectState.CONFIRMED:
        _quarantine(
            draft, effect, f"call {command.call_id} says that it was done; the record says {effect.state}"
        )
    elif command.end is CallEnd.CONFIRMED and effect.call_id not in (None, command.call_id):
        # What is confirmed never changes, so only the question can say so.
        _ask_quarantine(
            draft, effect, f"calls {command.call_id} and {effect.call_id} both say that they did it"
        )
    return _answer(draft, effect, replayed=True)


def _answer(draft: Draft, effect: Effect, *, replayed: bool = False) -> EffectAnswer:
    return EffectAnswer(effect.effect_id, draft.get(Effect, effect.effect_id).state, replayed)


class Ending(Struct, frozen=True):
    """How an Effect ends. `by`: the person whose word about the provider this is."""

    state: EffectState
    result: str | None
    code: str | None
    reason: str
    by: str | None = None


def _close(draft: Draft, effect: Effect, ending: Ending) -> None:
    state, result, reason = ending.state, ending.result, ending.reason
    if result is not None and len(result.encode("utf-8", "surrogatepass")) > EFFECT_RESULT_BYTES:
        result, reason = None, f"the provider's answer has more than {EFFECT_RESULT_BYTES} bytes; {reason}"
    draft.emit(
        ev.EffectSettled(
            task_id=effect.task_id,
            effect_id=effect.effect_id,
            state=state,
            result=result,
            code=ending.code,
            reason=reason[:REASON_LENGTH],
            by=ending.by,
            is_word=ending.by is not None,
        )
    )
    # A quarantine is closed by a person's word only: what the machines say is what contradicts itself.
    for kind in (AttentionKind.EFFECT_IN_DOUBT, AttentionKind.APPROVAL):
        settle(draft, kind, effect.questions, f"it is {state}")
    go_on(draft, effect.task_id)


def _doubt(draft: Draft, effect: Effect, reason: str) -> None:
    draft.emit(
        ev.EffectDoubted(task_id=effect.task_id, effect_id=effect.effect_id, reason=reason[:REASON_LENGTH])
    )
    if not effect.finds:
        _ask_doubt(draft, effect, f"{reason}; its provider cannot be asked")


def _ask_doubt(draft: Draft, effect: Effect, reason: str) -> None:
    ask(
        draft,
        AttentionKind.EFFECT_IN_DOUBT,
        effect.questions,
        f"nobody can tell whether this happened: {short_name(effect)} ({reason}). Look there, then say so.",
        {"effect_id": effect.effect_id, "kind": str(effect.kind), "target": effect.target, "reason": reason},
    )


def _quarantine(draft: Draft, effect: Effect, reason: str) -> None:
    if not effect.quarantined:
        draft.emit(
            ev.EffectQuarantined(
                task_id=effect.task_id, effect_id=effect.effect_id, reason=reason[:REASON_LENGTH]
            )
        )
    _ask_quarantine(draft, effect, reason)


def _ask_quarantine(draft: Draft, effect: Effect, reason: str) -> None:
    ask(
        draft,
        AttentionKind.EFFECT_QUARANTINED,
        effect.questions,
        f"what is known of {short_name(effect)} contradicts itself: {reason}. Nothing is called for it until you say what is so.",
        {"effect_id": effect.effect_id, "kind": str(effect.kind), "target": effect.target, "reason": reason},
    )


def decide_doubt(draft: Draft, command: DoubtEffect) -> EffectAnswer | Refusal:
    effect = draft.find(Effect, command.effect_id)
    if effect is None:
        return Refusal("not_found", f"there is no Effect {command.effect_id}.")
    if effect.state is EffectState.ISSUED and effect.call_term is not None:
        if effect.called_by != draft.now.hub:
            _doubt(draft, effect, "the hub that called it is gone")
        elif is_over(effect.call_term, draft.now):
            _doubt(draft, effect, f"no answer came within {effect.call_term.length_ms / 1000:g} s")
    return _answer(draft, effect)


def end_effects(draft: Draft, task_id: TaskId, *, reported: bool) -> None:
    """What the end of a lease means for its Effects, in the same commit: those that were never called are absent.
    One under way is in doubt, unless its holder `reported`: then its live caller may still settle it."""
    for effect_id in draft.get(Task, task_id).open_effects:
        effect = draft.get(Effect, effect_id)
        if effect.state in (EffectState.INTENDED, EffectState.AWAITING_APPROVAL):
            draft.emit(
                ev.EffectSettled(
                    task_id=task_id,
                    effect_id=effect_id,
                    state=EffectState.ABSENT,
                    code="stale_fence",
                    reason="never called: the lease ended",
                )
            )
            settle(draft, AttentionKind.APPROVAL, effect.questions, "the attempt's lease ended")
        elif effect.state is EffectState.ISSUED and not reported:
            _doubt(draft, effect, "the lease was revoked while the call was under way")


def decide_look_up(draft: Draft, command: LookUpEffect) -> EffectAnswer | Refusal:
    effect = draft.find(Effect, command.effect_id)
    if effect is None:
        return Refusal("not_found", f"there is no Effect {command.effect_id}.")
    if effect.state is EffectState.INTENDED and not effect.quarantined:
        _before_call(draft, effect, command)
    if effect.state is not EffectState.IN_DOUBT or effect.quarantined:
        return _answer(draft, effect, replayed=True)
    if command.contradiction is not None:
        _quarantine(draft, effect, command.contradiction)
    elif command.unreachable is not None:
        _ask_doubt(draft, effect, command.unreachable)
    elif command.result is not None:
        _close(draft, effect, Ending(EffectState.CONFIRMED, command.result, None, "found at the provider"))
    else:
        _not_found(draft, effect, command)
    return _answer(draft, effect)


def _before_call(draft: Draft, effect: Effect, command: LookUpEffect) -> None:
    """Asked before a call: what is there already needs none, and what cannot be told apart gets none."""
    if command.contradiction is not None:
        _quarantine(draft, effect, command.contradiction)
    elif command.result is not None:
        reason = "the provider had it before the call"
        _close(draft, effect, Ending(EffectState.CONFIRMED, command.result, None, reason))


def _not_found(draft: Draft, effect: Effect, command: LookUpEffect) -> None:
    """It proves something only when it was asked after the call can no longer land and the provider has settled; and
    then once more."""
    call, first = effect.call_term, effect.not_found_term
    if first is None and call is not None and not is_over(_with_settling(call, effect), command.asked):
        return
    if first is None:
        gap = max(effect.settling_ms, LEAST_GAP_MS)
        draft.emit(ev.EffectLookedUp(task_id=effect.task_id, effect_id=effect.effect_id, again_after_ms=gap))
    elif is_over(first, command.asked):
        reason = "the provider does not have it, asked twice"
        _close(draft, effect, Ending(EffectState.ABSENT, None, "not_done", reason))


def _with_settling(call: Term, effect: Effect) -> Term:
    """After it the call can no longer land, and what it did can be seen."""
    more = effect.settling_ms
    return replace(call, ends_at_ms=call.ends_at_ms + more, length_ms=call.length_ms + more)


def decide_resolve(draft: Draft, command: ResolveEffect) -> Done | Refusal:
    effect = draft.find(Effect, command.effect_id)
    if effect is None:
        return Refusal("not_found", f"there is no Effect {command.effect_id}.")
    state = EffectState.CONFIRMED if command.confirmed else EffectState.ABSENT
    word = f"{command.by}: {'it is there' if command.confirmed else 'it is not there'}; {command.because}"
    word = word[:REASON_LENGTH]
    kinds = (AttentionKind.EFFECT_QUARANTINED, AttentionKind.EFFECT_IN_DOUBT)
    found = (draft.find(Attention, item_id(kind, effect.questions)) for kind in kinds)
    items = [one for one in found if one is not None]
    item = next((one for one in items if one.open), None)
    if item is None:
        if word in [one.closed_because for one in items] or (
            effect.state is state and not effect.quarantined
        ):
            return Done(replayed=True)
        return Refusal(
            "not_offered",
            f"{effect.effect_id} is {effect.state}; no person is asked about it.",
            {"state": str(effect.state)},
        )
    refusal = unread_refusal(item, command.item_version, command.because) or _early_refusal(
        draft, effect, command
    )
    if refusal is not None:
        return refusal
    settle(draft, item.kind, effect.questions, word)
    if effect.state is not EffectState.CONFIRMED:  # what is confirmed stays; the word stands at the question
        code = None if command.confirmed else "not_done"
        _close(draft, effect, Ending(state, command.result, code, command.because, command.by))
    return Done()


def _early_refusal(draft: Draft, effect: Effect, command: ResolveEffect) -> Refusal | None:
    """A person, too, can only say that it is not there once its call can no longer land."""
    call = effect.call_term
    lands = effect.state is EffectState.ISSUED or (
        effect.state is EffectState.IN_DOUBT
        and call is not None
        and not is_over(_with_settling(call, effect), draft.now)
    )
    if command.confirmed or not lands:
        return None
    return Refusal(
        "effect_pending",
        f"the call of {effect.effect_id} may still arrive; nobody can say yet that it did not. Look again in a while.",
        {"state": str(effect.state), "until_ms": _with_settling(call, effect).ends_at_ms if call else None},
    )
